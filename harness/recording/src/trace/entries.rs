//! The entries of a whole trace, and where those of each lane are: the rules ask for lanes again and again.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use super::entry::{Entry, Lane};

/// The entries of a trace, in the order in which things happened.
#[derive(Debug, Clone)]
pub struct Entries {
    all: Vec<Entry>,
    /// The indices of the entries of each lane, once somebody has asked for one since the last change.
    by_lane: OnceLock<[Vec<usize>; Lane::ALL.len()]>,
}

impl Entries {
    /// Those of one lane.
    pub fn lane(&self, lane: Lane) -> impl Iterator<Item = &Entry> {
        let by_lane = self.by_lane.get_or_init(|| {
            let mut by_lane = [const { Vec::new() }; Lane::ALL.len()];
            for (index, entry) in self.all.iter().enumerate() {
                by_lane[entry.lane as usize].push(index);
            }
            by_lane
        });
        by_lane[lane as usize].iter().map(|index| &self.all[*index])
    }
}

impl Deref for Entries {
    type Target = Vec<Entry>;

    fn deref(&self) -> &Vec<Entry> {
        &self.all
    }
}

impl DerefMut for Entries {
    fn deref_mut(&mut self) -> &mut Vec<Entry> {
        self.by_lane.take();
        &mut self.all
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl From<Vec<Entry>> for Entries {
    fn from(all: Vec<Entry>) -> Self {
        Self { all, by_lane: OnceLock::new() }
    }
}

impl From<Entries> for Vec<Entry> {
    fn from(entries: Entries) -> Self {
        entries.all
    }
}

impl IntoIterator for Entries {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl<'e> IntoIterator for &'e Entries {
    type Item = &'e Entry;
    type IntoIter = std::slice::Iter<'e, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn a_lane_has_what_was_changed_since_it_was_asked_for() {
        let entry = |at, lane| Entry::new(at, lane, "text", Map::new());
        let mut entries = Entries::from(vec![entry(1, Lane::Bus), entry(2, Lane::Read)]);
        let times = |entries: &Entries, lane| -> Vec<u64> {
            entries.lane(lane).map(|entry| entry.at).collect()
        };
        for lane in Lane::ALL {
            let expect: Vec<u64> =
                entries.iter().filter(|entry| entry.lane == lane).map(|entry| entry.at).collect();
            assert_eq!(times(&entries, lane), expect, "{lane}");
        }
        entries.insert(0, entry(0, Lane::Bus));
        assert_eq!(times(&entries, Lane::Bus), [0, 1]);
        entries.retain(|entry| entry.at != 1);
        assert_eq!(times(&entries, Lane::Bus), [0]);
    }
}
