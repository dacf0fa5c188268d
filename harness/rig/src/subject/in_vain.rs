//! The requests that a gateway made in vain: hosts that were refused, and methods that the chat server does not have.
//! They are reported at the end of a run, and are not findings.

use std::collections::BTreeMap;

use clitape_recording::text::plain;

use super::boot::PersonSide;
use crate::reach::{Refused, refused_host};

/// The number of methods that the sentence lists.
const LISTED: usize = 12;

/// The hosts and methods that a gateway asked for in vain, each with the number of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InVain {
    hosts: BTreeMap<String, u64>,
    methods: BTreeMap<String, u64>,
}

impl InVain {
    /// Returns the requests in vain of one start of a gateway.
    pub(super) fn of(refused: &Refused, person: &PersonSide) -> Self {
        let methods = match person {
            PersonSide::Chat(chat) => chat.unknown_methods(),
            PersonSide::Editor(..) => BTreeMap::new(),
        };
        Self { hosts: refused.hosts().into_iter().collect(), methods }
    }

    /// Adds those of another start.
    pub(super) fn add(&mut self, other: &Self) {
        for (all, more) in [(&mut self.hosts, &other.hosts), (&mut self.methods, &other.methods)] {
            for (name, count) in more {
                *all.entry(name.clone()).or_default() += count;
            }
        }
    }

    /// Returns a sentence for each host, and one for the methods.
    pub fn sentences(&self) -> Vec<String> {
        let hosts = self.hosts.iter().map(|(host, count)| refused_host(host, *count));
        hosts.chain(self.of_methods()).collect()
    }

    fn of_methods(&self) -> Option<String> {
        let of = |(method, count): (&String, &u64)| format!("{} ×{count}", plain(method));
        let listed: Vec<String> = self.methods.iter().take(LISTED).map(of).collect();
        let more = match self.methods.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!listed.is_empty()).then(|| {
            format!(
                "it called methods that the chat server does not know: {}{more}; they were answered with 404",
                listed.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_added_up() {
        let counts = |counts: &[(&str, u64)]| {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let mut all = InVain::default();
        assert!(all.sentences().is_empty());
        for (hosts, methods) in [
            (&[("pypi.org", 1)][..], &[("sendDice", 2), ("sendGame", 1)][..]),
            (&[("pypi.org", 2), ("a.example", 1)], &[("sendDice", 1)]),
        ] {
            all.add(&InVain { hosts: counts(hosts), methods: counts(methods) });
        }
        assert_eq!(
            all.sentences(),
            [
                "it asked for a.example: refused",
                "it asked for pypi.org 3 times: refused",
                "it called methods that the chat server does not know: sendDice ×3, sendGame ×1; they were answered \
                 with 404",
            ]
        );
        let many: Vec<String> = (10..30).map(|number| format!("m{number}")).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|name| (name.as_str(), 1)).collect();
        let many = InVain { hosts: BTreeMap::new(), methods: counts(&many) };
        assert!(many.sentences()[0].contains("m21 ×1 and 8 more; they"), "{many:?}");
    }
}
