//! Composes the draft that shows while the agent works: text and tool lines in the order they came
//! ([V3](crate::rules::V3)).
//!
//! A draft is composed of its newest parts, so that the work does not grow with the length of the turn. A message shows
//! [`LINES`] rows and one page of text; the parts are looked at from the end, until there is a row more and more text than
//! that ([`Compositor::window`]). A long row of lines that look the same is passed over at once, as are lines that can't
//! show.

mod lines;
mod parts;
mod text;

use std::sync::Arc;

use tokio::time::Instant;

use super::page::visible;
use super::{DraftMode, TelegramSettings};
use crate::bus::Tool;
use crate::excerpt::short;
use crate::notice::Notice;
use lines::{
    DraftBlock, DraftRow, GAP, LINES, LITTLE_ROOM, ToolLine, ToolLineState, ToolLines, fold, layout,
};
use parts::{DraftPart, DraftParts, EqualChunks, PartPosition};
use text::{Shown, TextLook, TextPart};

pub(super) use text::TextLane;

/// Characters of text that are worth a first message (V4). A block that has ended always is.
const FIRST_TEXT: usize = 30;
/// Characters of a message of the person's that show.
const HEARD_LIMIT: usize = 200;

/// The draft of one turn.
#[derive(Debug)]
pub(super) struct Compositor {
    settings: TelegramSettings,
    started: Instant,
    parts: DraftParts,
    lines: ToolLines,
    /// Bytes of the answer and of the reasoning so far that are in `parts`.
    seen: [usize; 2],
    /// True if the last draft had no space for more of the last part.
    is_full: bool,
    /// The line for the time in which neither text nor tools come.
    status: Option<ToolLine>,
}

impl Compositor {
    pub(super) fn new(settings: TelegramSettings) -> Self {
        Self {
            settings,
            started: Instant::now(),
            parts: DraftParts::default(),
            lines: ToolLines::default(),
            seen: [0; 2],
            is_full: false,
            status: None,
        }
    }

    fn shows(&self, lane: TextLane) -> bool {
        match (lane, self.settings.mode) {
            (_, DraftMode::Off) | (TextLane::Answer, DraftMode::Progress) => false,
            (TextLane::Answer, DraftMode::Partial | DraftMode::Block) => true,
            (TextLane::Thought, _) => self.settings.reasoning,
        }
    }

    /// Takes the answer or the reasoning so far: new text goes after the parts that are there, and
    /// text that was taken back goes. Returns whether the draft may look different now.
    pub(super) fn text(&mut self, lane: TextLane, text: &str) -> bool {
        let shorter = text.len() < self.seen[lane as usize];
        if shorter {
            self.take_back(lane, text);
        }
        let seen = self.seen[lane as usize];
        let Some(new) = text.get(seen..).filter(|new| !new.is_empty()) else {
            return shorter;
        };
        self.seen[lane as usize] = text.len();
        if !self.shows(lane) {
            return false;
        }
        self.status = None;
        let limit = self.settings.profile.limit;
        match self.parts.last_mut() {
            Some(DraftPart::Text(last)) if last.lane == lane => {
                let is_beyond = last.is_beyond(limit);
                last.push(new, limit);
                // A block ends with a line.
                let waits = lane == TextLane::Answer && self.settings.mode == DraftMode::Block;
                shorter || !(self.is_full || is_beyond || waits && !new.contains('\n'))
            }
            _ => {
                self.parts.push(DraftPart::Text(Box::new(TextPart::new(lane, new, limit))));
                true
            }
        }
    }

    /// Keeps of the text what still is the beginning of `left`.
    fn take_back(&mut self, lane: TextLane, left: &str) {
        let mut rest = left;
        self.parts.retain(|part| match part {
            DraftPart::Text(text) if text.lane == lane => {
                rest = text.keep_beginning_of(rest);
                !text.is_empty()
            }
            _ => true,
        });
        let kept = |part: &DraftPart| match part {
            DraftPart::Text(text) if text.lane == lane => text.len(),
            _ => 0,
        };
        self.seen[lane as usize] =
            if self.shows(lane) { self.parts.iter().map(kept).sum() } else { left.len() };
    }

    /// Takes the state of a run that seems to stand still, until something else comes
    /// (openclaw#134697). Returns whether it has a line.
    pub(super) fn notice(&mut self, notice: &Notice) -> bool {
        let Some(words) = notice.line() else { return false };
        self.status = Some(ToolLine::of_no_call(&words));
        true
    }

    /// Takes a message of the person's that became part of the turn (Q9).
    pub(super) fn heard(&mut self, text: &str) {
        self.status = None;
        let words = format!("💬 Heard: {}", short(text, HEARD_LIMIT));
        let line = self.lines.add(ToolLine::of_no_call(&words));
        self.parts.push(DraftPart::Line(line));
    }

    /// A question holds the call `id` back, or does so no longer.
    pub(super) fn hold(&mut self, id: &str, holds: bool) {
        let (from, to) = match holds {
            true => (ToolLineState::Running, ToolLineState::Waiting),
            false => (ToolLineState::Waiting, ToolLineState::Running),
        };
        if let Some(place) = self.lines.newest(id, |line| line.state == from) {
            self.set(place, to);
        }
    }

    fn set(&mut self, place: usize, state: ToolLineState) {
        self.lines.set(place, state);
        self.parts.changed(place);
    }

    /// Takes the start or the result of a call. A line belongs to a call: the result changes the
    /// line the start made.
    pub(super) fn tool(&mut self, tool: &Tool) {
        self.status = None;
        match tool {
            Tool::Update { id, title, parent, .. } | Tool::Start { id, title, parent, .. } => {
                self.start(id, title, parent.as_deref());
            }
            Tool::Result { id, is_error, incomplete, .. } => {
                let state = match (incomplete, is_error) {
                    (Some(_), _) => ToolLineState::Unknown,
                    (None, true) => ToolLineState::Failed,
                    (None, false) => ToolLineState::Done,
                };
                if let Some(place) = self.lines.newest(id, ToolLine::is_open) {
                    self.set(place, state);
                }
            }
        }
    }

    /// Takes away the lines of calls that will never start.
    pub(super) fn drop_calls(&mut self, calls: &[String]) {
        for place in calls.iter().flat_map(|id| self.lines.drop_open(id)) {
            self.parts.remove(place);
        }
    }

    /// Returns the draft that stays when no more events come: running calls lose their mark.
    pub(super) fn last_draft(&mut self) -> Option<String> {
        for place in self.lines.end_all() {
            self.parts.changed(place);
        }
        self.draft()
    }

    /// A call whose line is there gets its new title. A subagent's call goes below the calls that
    /// are below its parent already.
    fn start(&mut self, id: &str, title: &str, parent: Option<&str>) {
        if let Some(place) = self.lines.newest(id, ToolLine::is_open) {
            self.lines.set_title(place, title);
            self.parts.changed(place);
            return;
        }
        let parent_line = parent.and_then(|parent| self.lines.newest(parent, |_| true));
        let (at, depth) = match parent_line {
            Some(parent) => (self.newest_below(parent), self.lines.get(parent).depth + 1),
            None => (self.parts.newest(), u32::from(parent.is_some())),
        };
        let place = self.lines.add(ToolLine::new(id, title, depth));
        self.parts.insert_behind(at, DraftPart::Line(place));
    }

    /// The position of the newest of the lines below the line of a parent; the parent's own if there is none.
    fn newest_below(&mut self, parent: usize) -> Option<PartPosition> {
        let depth = self.lines.get(parent).depth;
        let mut newest = self.lines.newest_below(parent);
        let known = newest.and_then(|place| self.parts.position(place));
        let mut at = known.or_else(|| self.parts.position(parent))?;
        while let Some(behind) = self.parts.behind(at) {
            let below = self.parts.line(behind).filter(|line| self.lines.get(*line).depth > depth);
            let Some(below) = below else { break };
            (at, newest) = (behind, Some(below));
        }
        if let Some(newest) = newest {
            self.lines.set_newest_below(parent, newest);
        }
        Some(at)
    }

    /// The draft as the profile writes it; `None` until it is worth a first message.
    pub(super) fn draft(&mut self) -> Option<String> {
        let profile = self.settings.profile;
        let (mut blocks, older) = self.window();
        fold(&mut blocks, older, profile);
        let has_rows = blocks.iter().any(|b| matches!(b, DraftBlock::Rows(_)));
        let enough = if self.settings.mode == DraftMode::Block { 1 } else { FIRST_TEXT };
        let shown: usize = (blocks.iter())
            .map(|block| match block {
                DraftBlock::Text(pieces) => visible(pieces, enough),
                DraftBlock::Rows(_) => 0,
            })
            .sum();
        if !has_rows && shown < enough {
            return None;
        }
        let (html, is_cut) = layout(&blocks, profile);
        self.is_full = is_cut;
        Some(html)
    }

    /// The time at which the draft looks different without an event (V9).
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.settings.reasoning.then(|| self.lines.next_tick()).flatten()
    }
}

/// The part of a draft that is looked at.
#[derive(Debug, Clone, Copy)]
struct WindowLimits {
    /// Rows.
    rows: usize,
    /// Letters of text.
    letters: usize,
}

impl Compositor {
    /// The blocks that may show, and the number of lines before them.
    fn window(&mut self) -> (Vec<DraftBlock>, usize) {
        let limits = WindowLimits { rows: LINES + 1, letters: self.settings.profile.limit };
        self.window_within(limits)
    }

    fn window_within(&mut self, limits: WindowLimits) -> (Vec<DraftBlock>, usize) {
        let how = Shown { mode: self.settings.mode, limit: self.settings.profile.limit };
        let mut blocks: Vec<DraftBlock> = Vec::new();
        // The line of it has a block of its own.
        let status = self.status.as_ref().map(|status| status.text(&self.settings, self.started));
        let mut rows = usize::from(status.is_some());
        let (mut calls, mut texts) = (0, 0);
        let (mut room, mut has_more_text) = (limits.letters, false);
        let newest = self.parts.newest();
        let mut next = newest;
        while let Some(at) = next {
            let has_rows = rows >= limits.rows || calls == self.lines.len();
            if has_rows && (has_more_text || texts == self.parts.texts()) {
                break;
            }
            if let DraftPart::Line(_) = self.parts.get(at) {
                if has_rows {
                    next = self.parts.text_up_to(at);
                    continue;
                }
                let (row, top) = self.row(at);
                (next, calls) = (self.parts.before(top), calls + row.times);
                match blocks.last_mut() {
                    // Blank text does not part rows.
                    Some(DraftBlock::Rows(all)) => match all.last_mut() {
                        Some(below) if below.html == row.html => below.times += row.times,
                        _ => {
                            all.push(row);
                            rows += 1;
                        }
                    },
                    _ => {
                        blocks.push(DraftBlock::Rows(vec![row]));
                        rows += 1;
                    }
                }
                continue;
            }
            (next, texts) = (self.parts.before(at), texts + 1);
            let DraftPart::Text(text) = self.parts.get_mut(at) else { continue };
            if has_more_text {
                // It has no place, but it parts the rows above it from those below it.
                let parts_rows = matches!(blocks.last(), Some(DraftBlock::Rows(_)));
                if parts_rows && text.ended(how).is_some() {
                    blocks.push(DraftBlock::Text(Arc::default()));
                }
                continue;
            }
            let shown = match Some(at) == newest {
                true => text.growing(how),
                false => text.ended(how),
            };
            if let Some(TextLook { pieces, letters }) = shown {
                has_more_text = room < LITTLE_ROOM;
                room = room.saturating_sub(letters + GAP.len());
                blocks.push(DraftBlock::Text(pieces.clone()));
            }
        }
        for block in &mut blocks {
            if let DraftBlock::Rows(rows) = block {
                rows.reverse();
            }
        }
        blocks.reverse();
        let status = status.map(|html| DraftBlock::Rows(vec![DraftRow { html, times: 1 }]));
        blocks.extend(status);
        (blocks, self.lines.len() - calls)
    }

    /// The row of the line at a position with the equal ones above it, and the position of the uppermost of them.
    fn row(&mut self, at: PartPosition) -> (DraftRow, PartPosition) {
        let html = self.written(at).map_or_else(String::new, |line| line.shown().to_owned());
        let (mut top, mut times) = (at, 1);
        let mut below: Option<EqualChunks> = None;
        while let Some(above) = self.parts.before(top) {
            if self.written(above).is_none_or(|line| line.shown() != html) {
                break;
            }
            let chunks = self.equal_chunks(above);
            (top, times) = match chunks {
                Some(chunks) => (chunks.top(), times + chunks.lines),
                None => (above, times + 1),
            };
            below = chunks.map(|chunks| below.map_or(chunks, |below| chunks.and(below)));
            if let Some(below) = below {
                self.parts.set_equal(below);
            }
        }
        (DraftRow { html, times }, top)
    }

    /// The chunks up to the one of which `last` is the last position, as far as all their lines are known to look the same;
    /// `None` if those of that chunk do not.
    fn equal_chunks(&mut self, last: PartPosition) -> Option<EqualChunks> {
        let (chunk, known) = self.parts.chunk_up_to(last)?;
        let is_uniform = match known {
            Some(known) => known,
            None => {
                let html = self.written(last)?.shown().to_owned();
                // Lines with a time that runs are looked at one by one.
                let is_so = chunk.positions().all(|at| {
                    let settings = self.settings;
                    let is_equal =
                        |line: &ToolLine| !line.has_ticks(&settings) && line.shown() == html;
                    self.written(at).is_some_and(is_equal)
                });
                self.parts.set_uniform(chunk, is_so);
                is_so
            }
        };
        is_uniform.then(|| self.parts.equal_up_to(chunk))
    }

    /// The line at a position as it looks now, if there is one.
    fn written(&mut self, at: PartPosition) -> Option<&ToolLine> {
        let place = self.parts.line(at)?;
        Some(self.lines.written(place, &self.settings, self.started))
    }
}

#[cfg(test)]
mod tests;
