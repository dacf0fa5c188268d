//! The hosts that a gateway under test asked for in vain.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use clitape_recording::text::{Keep, plain, plural, truncate};

/// The most hosts that are listed by name; the requests for further ones are counted together.
const HOSTS: usize = 100;
/// The most bytes that are read of a name; a valid host name has at most 253.
const NAME: usize = 253;
/// The most columns that a name takes in a report.
const COLUMNS: usize = 100;

/// A list of refused hosts, each with the number of requests for it. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Refused {
    hosts: Arc<Mutex<Hosts>>,
}

#[derive(Debug, Default)]
struct Hosts {
    by_name: BTreeMap<String, u64>,
    /// The number of requests for hosts that are not listed.
    others: u64,
}

impl Refused {
    /// Adds a request for a host, by its name or its address. The name is cut and made safe to print.
    pub fn note(&self, host: &str) {
        let read = host.char_indices().take_while(|(at, c)| at + c.len_utf8() <= NAME);
        let name: String = read.map(|(_, c)| c.to_ascii_lowercase()).collect();
        let name = plain(name.trim_end_matches('.'));
        let name = truncate(&name, COLUMNS, Keep::Ends).into_owned();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = hosts.by_name.len() >= HOSTS;
        match hosts.by_name.get_mut(&name) {
            Some(count) => *count += 1,
            None if is_full => hosts.others += 1,
            None => {
                hosts.by_name.insert(name, 1);
            }
        }
    }

    /// Returns the hosts in the order of their names, each with the number of requests for it.
    pub fn hosts(&self) -> Vec<(String, u64)> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.by_name.iter().map(|(name, count)| (name.clone(), *count)).collect()
    }

    /// Returns a sentence for each host, such as "it asked for pypi.org: refused".
    pub fn sentences(&self) -> Vec<String> {
        let hosts = self.hosts();
        let mut sentences: Vec<String> =
            hosts.iter().map(|(name, count)| refused_host(name, *count)).collect();
        let others = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).others;
        if others > 0 {
            let times = plural(others, "time");
            sentences.push(format!("it asked for further hosts {times}: refused"));
        }
        sentences
    }
}

/// Returns the sentence about a refused host.
pub(crate) fn refused_host(name: &str, count: u64) -> String {
    match count {
        1 => format!("it asked for {name}: refused"),
        count => format!("it asked for {name} {}: refused", plural(count, "time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hosts: &[&str], expect: &[&str]) {
        let refused = Refused::default();
        hosts.iter().for_each(|host| refused.clone().note(host));
        assert_eq!(refused.sentences(), expect, "{hosts:?}");
    }

    #[test]
    fn refused_hosts_are_counted_by_their_names() {
        check(&[], &[]);
        check(
            &["pypi.org", "192.0.2.1", "PyPI.org."],
            &["it asked for 192.0.2.1: refused", "it asked for pypi.org 2 times: refused"],
        );
        check(&["a\u{1b}[31m\n"], &[r"it asked for a\u{1b}[31m\n: refused"]);
        let long = format!("{}.example", "x".repeat(10_000));
        let refused = Refused::default();
        refused.note(&long);
        assert!(refused.hosts()[0].0.chars().count() <= COLUMNS, "{:?}", refused.hosts());
    }

    #[test]
    fn hosts_past_the_limit_are_counted_together() {
        let refused = Refused::default();
        (0..HOSTS + 7).for_each(|number| refused.note(&format!("host-{number}")));
        assert_eq!(refused.hosts().len(), HOSTS);
        let sentences = refused.sentences();
        assert_eq!(sentences.last().unwrap(), "it asked for further hosts 7 times: refused");
    }
}
