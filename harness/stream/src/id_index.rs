//! Many ids in little memory, because a run may have very many calls and messages: an index of the entries of a list, which
//! has no copy of their ids, and a set.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// The place of the newest entry of each id in a list.
///
/// The list keeps the ids: each method asks `id_at` for the id of the entry at a place. The id of an entry that is in
/// the index never changes.
///
/// ```
/// use clitape_stream::IdIndex;
///
/// let calls = ["toolu_1", "toolu_2", "toolu_1"];
/// let mut index = IdIndex::default();
/// for place in 0..calls.len() {
///     index.insert(place, |at| calls[at]);
/// }
/// assert_eq!(index.get("toolu_1", |at| calls[at]), Some(2));
/// assert_eq!(index.get("toolu_3", |at| calls[at]), None);
/// ```
#[derive(Debug, Default)]
pub struct IdIndex {
    places: HashTable<usize>,
    hasher: RandomState,
}

impl IdIndex {
    /// The place of the newest entry with an id.
    pub fn get<'i>(&self, id: &str, id_at: impl Fn(usize) -> &'i str) -> Option<usize> {
        self.places.find(self.hasher.hash_one(id), |at| id_at(*at) == id).copied()
    }

    /// Makes the entry at a place the newest of its id, and returns the place of the one that was it before.
    pub fn insert<'i>(&mut self, place: usize, id_at: impl Fn(usize) -> &'i str) -> Option<usize> {
        let Self { places, hasher } = self;
        let id = id_at(place);
        let (is_same, hash_at) =
            (|at: &usize| id_at(*at) == id, |at: &usize| hasher.hash_one(id_at(*at)));
        match places.entry(hasher.hash_one(id), is_same, hash_at) {
            Entry::Occupied(mut newest) => Some(std::mem::replace(newest.get_mut(), place)),
            Entry::Vacant(none) => {
                none.insert(place);
                None
            }
        }
    }

    /// Forgets the entries with an id.
    pub fn remove<'i>(&mut self, id: &str, id_at: impl Fn(usize) -> &'i str) {
        if let Ok(newest) = self.places.find_entry(self.hasher.hash_one(id), |at| id_at(*at) == id)
        {
            newest.remove();
        }
    }
}

/// A set of ids, which are one text.
///
/// ```
/// use clitape_stream::IdSet;
///
/// let mut ended = IdSet::default();
/// assert!(ended.insert("toolu_1"));
/// assert!(!ended.insert("toolu_1"));
/// assert!(ended.contains("toolu_1") && !ended.contains("toolu_2"));
/// ```
#[derive(Debug, Default)]
pub struct IdSet {
    ids: IdList,
    index: IdIndex,
}

/// Ids one after another.
#[derive(Debug, Default)]
struct IdList {
    text: String,
    /// The end of each id in the text.
    ends: Vec<usize>,
}

impl IdSet {
    /// Adds an id, and says whether it is new.
    pub fn insert(&mut self, id: &str) -> bool {
        let is_new = !self.contains(id);
        if is_new {
            let Self { ids, index } = self;
            ids.text.push_str(id);
            ids.ends.push(ids.text.len());
            index.insert(ids.ends.len() - 1, |at| ids.id(at));
        }
        is_new
    }

    /// Returns whether an id is in the set.
    pub fn contains(&self, id: &str) -> bool {
        self.index.get(id, |at| self.ids.id(at)).is_some()
    }
}

impl IdList {
    fn id(&self, at: usize) -> &str {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[from..self.ends[at]]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_index_without_ids_finds_what_a_map_finds(
            happens in proptest::collection::vec((any::<bool>(), "[a-c]{0,2}"), 0..60),
        ) {
            let (mut index, mut map) = (IdIndex::default(), HashMap::new());
            let mut list: Vec<String> = Vec::new();
            for (is_new, id) in happens {
                if is_new {
                    list.push(id.clone());
                    let place = list.len() - 1;
                    let before = index.insert(place, |at| &list[at]);
                    prop_assert_eq!(before, map.insert(id.clone(), place));
                } else {
                    index.remove(&id, |at| &list[at]);
                    map.remove(&id);
                }
                for id in &list {
                    prop_assert_eq!(index.get(id, |at| &list[at]), map.get(id).copied());
                }
            }
        }

        #[test]
        fn a_set_of_ids_has_what_a_set_of_strings_has(
            ids in proptest::collection::vec("[a-c]{0,3}", 0..60),
        ) {
            let (mut set, mut strings) = (IdSet::default(), HashSet::new());
            for id in &ids {
                prop_assert_eq!(set.contains(id), strings.contains(id));
                prop_assert_eq!(set.insert(id), strings.insert(id));
            }
            prop_assert!(ids.iter().all(|id| set.contains(id)));
        }
    }
}
