//! The lines of a draft: one for each tool call, with its state ([V2](crate::rules::V2)), and their layout beside the
//! text, so that both fit one message.
//!
//! If reasoning shows, a line has the time at which the call began, and while it runs, every twenty
//! seconds its duration (V9, openclaw#82285).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use clitape_stream::IdIndex;
use tokio::time::Instant;

use super::super::TelegramSettings;
use super::super::markup::{Style, StyledText, piece};
use super::super::page::first_page;
use crate::profile::{Profile, length};

/// Arrows before the line of a subagent's tool, at most.
const DEPTH_LIMIT: u32 = 3;
/// The time between two updates of a running call's duration.
const TICK: Duration = Duration::from_secs(20);
/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The line of one tool call. A turn may have very many, so that it is small.
#[derive(Debug)]
pub(super) struct ToolLine {
    /// The id of the call; empty for other words.
    id: Box<str>,
    pub(super) title: Box<str>,
    pub(super) depth: u32,
    pub(super) state: ToolLineState,
    began: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ToolLineState {
    Running,
    /// A person decides if it may run.
    Waiting,
    Done,
    Failed,
    Unknown,
}

impl ToolLine {
    /// The line of a call that begins now.
    pub(super) fn new(id: &str, title: &str, depth: u32) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            depth,
            state: ToolLineState::Running,
            began: Instant::now(),
        }
    }

    /// A line of words that belong to no call.
    pub(super) fn of_no_call(words: &str) -> Self {
        Self { state: ToolLineState::Done, ..Self::new("", words, 0) }
    }

    /// Returns whether the call has not ended.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, ToolLineState::Running | ToolLineState::Waiting)
    }

    /// The time at which a running call shows its duration again.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        (self.state == ToolLineState::Running).then(|| self.began + TICK * (self.ticks() + 1))
    }

    fn ticks(&self) -> u32 {
        let ticks = self.began.elapsed().as_secs() / TICK.as_secs();
        u32::try_from(ticks).unwrap_or(u32::MAX - 1)
    }

    /// Returns whether it certainly looks as another one does now.
    pub(super) fn is_like(&self, other: &Self, settings: &TelegramSettings) -> bool {
        let looks = |line: &Self| (line.state, line.depth);
        !settings.reasoning && looks(self) == looks(other) && self.title == other.title
    }

    /// The line as the profile writes it.
    pub(super) fn text(&self, settings: &TelegramSettings, started: Instant) -> String {
        let began = settings.time_of_day + self.began.saturating_duration_since(started);
        let at = if settings.reasoning { format!("[{}] ", clock(began)) } else { String::new() };
        let arrows: String = (0..self.depth.min(DEPTH_LIMIT)).map(|_| "↳ ").collect();
        let mut pieces = vec![piece(Style::PLAIN, format!("{arrows}{at}{}", self.title))];
        let mark = match self.state {
            ToolLineState::Running if settings.reasoning && self.ticks() > 0 => {
                let ran = TICK * self.ticks();
                Some(format!("{}s — {}", ran.as_secs(), clock(began + ran)))
            }
            ToolLineState::Running => Some("running…".to_owned()),
            ToolLineState::Waiting => Some("⏸️ waits for your answer".to_owned()),
            ToolLineState::Done => None,
            ToolLineState::Failed => Some("⚠️ failed".to_owned()),
            ToolLineState::Unknown => Some("⚠️ no result".to_owned()),
        };
        if let Some(mark) = mark {
            pieces.push(piece(Style::PLAIN, " "));
            pieces.push(piece(Style::ITALIC, mark));
        }
        let limit = lines_limit(settings.profile);
        first_page(&pieces, settings.profile, limit).map_or_else(String::new, |(line, _)| line)
    }
}

/// `HH:MM:SS` of a time since midnight.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs() % DAY;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

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
        if !line.is_open() {
            self.open.remove(&place);
        }
    }

    pub(super) fn set_title(&mut self, place: usize, title: &str) {
        self.all[place].title = title.into();
    }

    /// Lets every call have ended.
    pub(super) fn end_all(&mut self) {
        for place in std::mem::take(&mut self.open) {
            self.set(place, ToolLineState::Done);
        }
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

    /// The time at which the first of the running calls shows its duration again.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.open.iter().filter_map(|place| self.all[*place].next_tick()).min()
    }
}

/// Tool lines that show; older ones fold (V2).
pub(super) const LINES: usize = 8;
/// Percent of a message that all the tool lines may fill, so that text always has space.
const LINES_SHARE: usize = 73;
/// The text between two blocks.
pub(super) const GAP: &str = "\n\n";
/// The sign for text that is left out.
const MORE: &str = "…";
/// Characters in which a text is not worth beginning.
pub(super) const LITTLE_ROOM: usize = 100;

/// A line as it shows: `times` equal calls that are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DraftRow {
    pub(super) html: String,
    pub(super) times: usize,
}

/// A stretch of text, or the rows between two of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DraftBlock {
    Text(Arc<[StyledText]>),
    Rows(Vec<DraftRow>),
}

/// Characters that tool lines may have together.
fn lines_limit(profile: &Profile) -> usize {
    profile.limit * LINES_SHARE / 100
}

impl DraftRow {
    fn html(&self) -> String {
        match self.times {
            1 => self.html.clone(),
            times => format!("{} ×{times}", self.html),
        }
    }
}

/// Takes the oldest rows away until the others are few and short enough, and says how many calls
/// they were of, with the `older` ones that are in no block. Where there are older ones, the blocks have more rows than
/// can show.
pub(super) fn fold(blocks: &mut Vec<DraftBlock>, older: usize, profile: &Profile) {
    let size = |row: &DraftRow| length(&row.html()) + GAP.len();
    let mut sizes: Vec<usize> = rows(blocks).map(size).collect();
    sizes.reverse();
    let mut used = 0;
    let kept = sizes
        .iter()
        .take(LINES)
        .take_while(|size| {
            used += **size;
            used <= lines_limit(profile)
        })
        .count()
        .max(1);
    let mut surplus = sizes.len().saturating_sub(kept);
    if surplus == 0 {
        return;
    }
    let folded: usize = rows(blocks).take(surplus).map(|row| row.times).sum();
    let earlier = folded + older;
    for block in &mut *blocks {
        if let DraftBlock::Rows(rows) = block {
            let here = surplus.min(rows.len());
            rows.drain(..here);
            surplus -= here;
            if !rows.is_empty() {
                let html = format!("+{earlier} earlier");
                rows.insert(0, DraftRow { html, times: 1 });
                break;
            }
        }
    }
    blocks.retain(|block| !matches!(block, DraftBlock::Rows(rows) if rows.is_empty()));
}

fn rows(blocks: &[DraftBlock]) -> impl Iterator<Item = &DraftRow> {
    blocks.iter().flat_map(|block| match block {
        DraftBlock::Rows(rows) => rows.as_slice(),
        DraftBlock::Text(_) => &[],
    })
}

/// Lays the blocks out one below the other, and returns `true` with them if the last one is cut
/// (V5).
///
/// Rows always show. Text gets the space they leave, the newest first, and shows as much of its
/// beginning as fits.
pub(super) fn layout(blocks: &[DraftBlock], profile: &Profile) -> (String, bool) {
    let size = |row: &DraftRow| length(&row.html()) + GAP.len();
    let rows: usize = rows(blocks).map(size).sum();
    // A sign for text that is left out may be at the beginning and at the end of a text.
    let mut room = profile.limit.saturating_sub(rows + 2 * (MORE.len() + GAP.len()));
    let mut parts = Vec::new();
    let mut is_cut = false;
    let mut is_left_out = false;
    for (index, block) in blocks.iter().enumerate().rev() {
        match block {
            DraftBlock::Rows(rows) => {
                parts.push(rows.iter().map(DraftRow::html).collect::<Vec<_>>().join("\n"));
            }
            DraftBlock::Text(_) if room < LITTLE_ROOM => is_left_out = true,
            DraftBlock::Text(pieces) => {
                let Some((mut html, is_whole)) = first_page(pieces, profile, room) else {
                    continue;
                };
                room = room.saturating_sub(length(&html) + GAP.len());
                if !is_whole {
                    html.push_str(MORE);
                    room = 0;
                    is_cut |= index + 1 == blocks.len();
                }
                parts.push(html);
            }
        }
    }
    parts.extend(is_left_out.then(|| MORE.to_owned()));
    parts.reverse();
    (parts.join(GAP), is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::TELEGRAM;
    use crate::telegram::markup::{Style, piece};

    /// A row of so many letters.
    fn row(letters: usize) -> DraftBlock {
        DraftBlock::Rows(vec![DraftRow { html: "r".repeat(letters), times: 1 }])
    }

    /// A text of so many letters.
    fn text(letter: &str, letters: usize) -> DraftBlock {
        DraftBlock::Text([piece(Style::PLAIN, letter.repeat(letters))].into())
    }

    /// The parts of the draft: the letter and how many of it, and `true` where a text is cut.
    fn check(blocks: &[DraftBlock], expect: &[(&str, usize, bool)], is_cut: bool) {
        let part = |(letter, letters, is_cut): &(&str, usize, bool)| {
            format!("{}{}", letter.repeat(*letters), if *is_cut { MORE } else { "" })
        };
        let expect: Vec<_> = expect.iter().map(part).collect();
        let (draft, found) = layout(blocks, &TELEGRAM);
        assert_eq!((draft, found), (expect.join(GAP), is_cut));
    }

    #[test]
    fn v5_text_fills_what_the_rows_leave() {
        // Two signs, each with a gap, and a row with its gap.
        let room = TELEGRAM.limit - 2 * 5;
        let rest = room - 52;
        check(&[text("a", room)], &[("a", room, false)], false);
        check(&[text("a", room + 1)], &[("a", room, true)], true);
        check(&[row(50), text("a", rest)], &[("r", 50, false), ("a", rest, false)], false);
        check(&[row(50), text("a", rest + 1)], &[("r", 50, false), ("a", rest, true)], true);
        check(&[text("a", rest + 1), row(50)], &[("a", rest, true), ("r", 50, false)], false);
        let two = |letters: usize| [text("b", 5_000), row(50), text("a", letters)];
        let shown = |b: usize, a: usize| [("b", b, true), ("r", 50, false), ("a", a, false)];
        check(&two(1_000), &shown(rest - 1_002, 1_000), false);
        // Fewer than 100 letters are not worth beginning.
        check(&two(rest - 102), &shown(100, rest - 102), false);
        check(&two(rest - 101), &shown(0, rest - 101), false);
    }
}
