//! The lines of a turn's calls, which are found by the id of the call.

use std::collections::{BTreeSet, HashMap};

use tokio::time::Instant;

use super::line::{ToolLine, ToolLineState};

/// The lines of a turn, in the order in which they came. The place of a line among them never changes.
#[derive(Debug, Default)]
pub(super) struct ToolLines {
    all: Vec<ToolLine>,
    /// The place of the newest line of each id, which names the one before it.
    newest: HashMap<String, usize>,
    /// The places of the lines whose calls have not ended.
    open: BTreeSet<usize>,
    /// The number of lines that were taken away.
    dropped: usize,
}

impl ToolLines {
    /// Adds the line of a call, and returns its place; words that are no call's have no id.
    pub(super) fn add(&mut self, id: &str, mut line: ToolLine) -> usize {
        let place = self.all.len();
        line.before = self.newest.insert(id.to_owned(), place);
        if line.is_open() {
            self.open.insert(place);
        }
        self.all.push(line);
        place
    }

    /// The number of lines.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.dropped
    }

    pub(super) fn get(&self, place: usize) -> &ToolLine {
        &self.all[place]
    }

    pub(super) fn get_mut(&mut self, place: usize) -> &mut ToolLine {
        &mut self.all[place]
    }

    /// The newest line of a call that is so.
    pub(super) fn newest(&self, id: &str, is_so: impl Fn(&ToolLine) -> bool) -> Option<usize> {
        self.of(id).find(|place| is_so(&self.all[*place]))
    }

    /// The places of the lines of a call, the newest first.
    fn of(&self, id: &str) -> impl Iterator<Item = usize> {
        let newest = self.newest.get(id).copied();
        std::iter::successors(newest, |place| self.all[*place].before)
    }

    pub(super) fn set(&mut self, place: usize, state: ToolLineState) {
        let line = &mut self.all[place];
        line.state = state;
        line.change();
        if !line.is_open() {
            self.open.remove(&place);
        }
    }

    pub(super) fn set_title(&mut self, place: usize, title: &str) {
        let line = &mut self.all[place];
        if line.title != title {
            title.clone_into(&mut line.title);
            line.change();
        }
    }

    /// Lets every call have ended, and returns the places of the lines of those that had not.
    pub(super) fn end_all(&mut self) -> BTreeSet<usize> {
        let ended = std::mem::take(&mut self.open);
        for place in &ended {
            self.set(*place, ToolLineState::Done);
        }
        ended
    }

    /// Takes the open lines of a call away, and returns their places.
    pub(super) fn drop_open(&mut self, id: &str) -> Vec<usize> {
        let (dropped, kept): (Vec<usize>, Vec<usize>) =
            self.of(id).partition(|place| self.open.contains(place));
        let Some(newest) = self.newest.get_mut(id) else { return Vec::new() };
        match kept.first() {
            Some(kept) => *newest = *kept,
            None => {
                self.newest.remove(id);
            }
        }
        for (index, place) in kept.iter().enumerate() {
            self.all[*place].before = kept.get(index + 1).copied();
        }
        for place in &dropped {
            self.open.remove(place);
        }
        self.dropped += dropped.len();
        dropped.into_iter().rev().collect()
    }

    /// When the first of the running calls shows its time again.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.open.iter().filter_map(|place| self.all[*place].next_tick()).min()
    }
}
