//! The lines of a turn's calls, which are found by the id of the call.

use std::collections::{BTreeSet, HashMap, VecDeque};

use clitape_stream::IdIndex;
use tokio::time::Instant;

use super::super::TelegramSettings;
use super::line::{ToolLine, ToolLineState};

/// The number of lines of which it is remembered how they look. A draft shows few of them, and looks at a chunk of equal
/// ones at most.
const REMEMBERED_LOOKS: usize = 4_096;

/// The lines of a turn, in the order in which they came. The place of a line among them never changes.
#[derive(Debug, Default)]
pub(super) struct ToolLines {
    all: Vec<ToolLine>,
    /// Finds the newest line of each id.
    newest: IdIndex,
    /// The place of the line before that has the same id, of each line that has one.
    before: HashMap<usize, usize>,
    /// The place of a line below a line; of the newest one when it was looked for last.
    newest_below: HashMap<usize, usize>,
    /// The places of the lines whose calls have not ended.
    open: BTreeSet<usize>,
    /// The number of lines that were taken away.
    dropped: usize,
    /// The places of lines that were written, from the one that was written first.
    written: VecDeque<usize>,
}

impl ToolLines {
    /// Adds a line, and returns its place.
    pub(super) fn add(&mut self, line: ToolLine) -> usize {
        let place = self.all.len();
        if line.is_open() {
            self.open.insert(place);
        }
        self.all.push(line);
        if let Some(before) = self.newest.insert(place, |place| &self.all[place].id) {
            self.before.insert(place, before);
        }
        place
    }

    /// The number of lines.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.dropped
    }

    pub(super) fn get(&self, place: usize) -> &ToolLine {
        &self.all[place]
    }

    /// A line below the one at a place: the newest one when it was looked for last.
    pub(super) fn newest_below(&self, place: usize) -> Option<usize> {
        self.newest_below.get(&place).copied()
    }

    /// Remembers the newest line below the one at a place.
    pub(super) fn set_newest_below(&mut self, place: usize, below: usize) {
        self.newest_below.insert(place, below);
    }

    /// The newest line of a call that is so.
    pub(super) fn newest(&self, id: &str, is_so: impl Fn(&ToolLine) -> bool) -> Option<usize> {
        self.of(id).find(|place| is_so(&self.all[*place]))
    }

    /// The places of the lines of a call, the newest first.
    fn of(&self, id: &str) -> impl Iterator<Item = usize> {
        let newest = self.newest.get(id, |place| &self.all[place].id);
        std::iter::successors(newest, |place| self.before.get(place).copied())
    }

    pub(super) fn set(&mut self, place: usize, state: ToolLineState) {
        let line = &mut self.all[place];
        line.state = state;
        line.forget_look();
        if !line.is_open() {
            self.open.remove(&place);
        }
    }

    pub(super) fn set_title(&mut self, place: usize, title: &str) {
        let line = &mut self.all[place];
        if *line.title != *title {
            line.title = title.into();
            line.forget_look();
        }
    }

    /// The line at a place as it looks now.
    pub(super) fn written(
        &mut self,
        place: usize,
        settings: &TelegramSettings,
        started: Instant,
    ) -> &ToolLine {
        if self.all[place].write(settings, started) {
            self.written.push_back(place);
            if self.written.len() > REMEMBERED_LOOKS
                && let Some(first) = self.written.pop_front()
                && first != place
            {
                self.all[first].forget_look();
            }
        }
        &self.all[place]
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
        match kept.first() {
            Some(kept) => drop(self.newest.insert(*kept, |place| &self.all[place].id)),
            None => self.newest.remove(id, |place| &self.all[place].id),
        }
        for place in &dropped {
            self.open.remove(place);
            self.before.remove(place);
        }
        for (index, place) in kept.iter().enumerate() {
            match kept.get(index + 1) {
                Some(before) => drop(self.before.insert(*place, *before)),
                None => drop(self.before.remove(place)),
            }
        }
        self.dropped += dropped.len();
        dropped.into_iter().rev().collect()
    }

    /// When the first of the running calls shows its time again.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.open.iter().filter_map(|place| self.all[*place].next_tick()).min()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Forgets how every line looks, so that [`written`] counts those that are looked at from now on.
    pub(in super::super) fn forget_looks(lines: &mut ToolLines) {
        lines.all.iter_mut().for_each(ToolLine::forget_look);
        lines.written.clear();
    }

    /// Returns the number of lines that were written since.
    pub(in super::super) fn written(lines: &ToolLines) -> usize {
        lines.written.len()
    }
}
