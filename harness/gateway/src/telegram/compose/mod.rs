//! Composes the draft that shows while the agent works: text and tool lines in the order they came
//! ([V3](crate::rules::V3)).
//!
//! A draft is composed of its newest parts, so that the work does not grow with the length of the turn. A message shows
//! [`LINES`] rows and one page of text; the parts are looked at from the end, until there is a row more and more text than
//! that ([`Compositor::window`]).

mod lines;
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
use text::{Shown, TextLook, TextPart};

pub(super) use text::TextLane;

/// Characters of text that are worth a first message (V4). A block that has ended always is.
const FIRST_TEXT: usize = 30;
/// Characters of a message of the person's that show.
const HEARD_LIMIT: usize = 200;

/// A part of a draft.
#[derive(Debug)]
enum DraftPart {
    /// A text is large, and a turn may have many lines.
    Text(Box<TextPart>),
    /// A line, by its place among the lines.
    Line(usize),
}

/// The draft of one turn.
#[derive(Debug)]
pub(super) struct Compositor {
    settings: TelegramSettings,
    started: Instant,
    /// The parts, the oldest first.
    parts: Vec<DraftPart>,
    lines: ToolLines,
    /// Bytes of the answer and of the reasoning so far that are in `parts`.
    seen: [usize; 2],
    /// True if the last draft had no space for more of the last part.
    is_full: bool,
    /// The line for the time in which neither text nor tools come.
    status: Option<StatusLine>,
}

/// The newest notice of a draft.
#[derive(Debug)]
struct StatusLine {
    line: ToolLine,
    /// True if it is [news](Notice::is_news).
    is_news: bool,
}

impl Compositor {
    pub(super) fn new(settings: TelegramSettings) -> Self {
        Self {
            settings,
            started: Instant::now(),
            parts: Vec::new(),
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
        self.parts.retain_mut(|part| match part {
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
        let line = ToolLine::of_no_call(&words);
        self.status = Some(StatusLine { line, is_news: notice.is_news() });
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
            self.lines.set(place, to);
        }
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
                    self.lines.set(place, state);
                }
            }
        }
    }

    /// Takes away the lines of calls that will never start.
    pub(super) fn drop_calls(&mut self, calls: &[String]) {
        for id in calls {
            for place in self.lines.drop_open(id) {
                if let Some(at) = self.position(place) {
                    self.parts.remove(at);
                }
            }
        }
    }

    /// Returns whether the draft ends with a notice that a person has to read even though the run has no message.
    pub(super) fn has_news(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.is_news)
    }

    /// Returns the draft that stays when no more events come: running calls lose their mark.
    pub(super) fn last_draft(&mut self) -> Option<String> {
        self.lines.end_all();
        self.draft()
    }

    /// A call whose line is there gets its new title. A subagent's call goes below the calls that
    /// are below its parent already.
    fn start(&mut self, id: &str, title: &str, parent: Option<&str>) {
        if let Some(place) = self.lines.newest(id, ToolLine::is_open) {
            self.lines.set_title(place, title);
            return;
        }
        let parent_line = parent.and_then(|parent| self.lines.newest(parent, |_| true));
        let (at, depth) = match parent_line {
            Some(parent) => (self.behind_newest_below(parent), self.lines.get(parent).depth + 1),
            None => (self.parts.len(), u32::from(parent.is_some())),
        };
        let place = self.lines.add(ToolLine::new(id, title, depth));
        self.parts.insert(at, DraftPart::Line(place));
    }

    /// The position of a line among the parts, if it is there. It is searched from the newest.
    fn position(&self, place: usize) -> Option<usize> {
        self.parts.iter().rposition(|part| matches!(part, DraftPart::Line(it) if *it == place))
    }

    /// The line at a position, if there is one.
    fn line(&self, at: usize) -> Option<&ToolLine> {
        match self.parts.get(at)? {
            DraftPart::Line(place) => Some(self.lines.get(*place)),
            DraftPart::Text(_) => None,
        }
    }

    /// The position behind the newest of the lines below the line of a parent; behind the parent's own if there is none,
    /// and before all parts if that is gone.
    fn behind_newest_below(&mut self, parent: usize) -> usize {
        let depth = self.lines.get(parent).depth;
        let newest = self.lines.newest_below(parent).and_then(|place| self.position(place));
        let Some(mut at) = newest.or_else(|| self.position(parent)) else { return 0 };
        while self.line(at + 1).is_some_and(|line| line.depth > depth) {
            at += 1;
        }
        if let DraftPart::Line(newest) = self.parts[at]
            && newest != parent
        {
            self.lines.set_newest_below(parent, newest);
        }
        at + 1
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
        let status = self.status.as_ref();
        let status = status.map(|status| status.line.text(&self.settings, self.started));
        let mut rows = usize::from(status.is_some());
        let mut calls = 0;
        let (mut room, mut has_more_text) = (limits.letters, false);
        // The parts that are still to be looked at.
        let mut left = self.parts.len();
        while let Some(at) = left.checked_sub(1) {
            let has_rows = rows >= limits.rows || calls == self.lines.len();
            if has_rows && has_more_text {
                break;
            }
            if let DraftPart::Line(_) = self.parts[at] {
                if has_rows {
                    left = at;
                    continue;
                }
                let row = self.row(at);
                (left, calls) = (left - row.times, calls + row.times);
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
            let is_newest = left == self.parts.len();
            left = at;
            let DraftPart::Text(text) = &mut self.parts[at] else { continue };
            if has_more_text {
                // It has no place, but it parts the rows above it from those below it.
                let parts_rows = matches!(blocks.last(), Some(DraftBlock::Rows(_)));
                if parts_rows && text.ended(how).is_some() {
                    blocks.push(DraftBlock::Text(Arc::default()));
                }
                continue;
            }
            let shown = match is_newest {
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

    /// The row of the line at a position, with the lines above it that look the same.
    fn row(&self, at: usize) -> DraftRow {
        let text = |line: &ToolLine| line.text(&self.settings, self.started);
        let lowest = self.line(at);
        let html = lowest.map(text).unwrap_or_default();
        let looks_so = |line: &ToolLine| {
            // To write a line takes long, and a row may have very many.
            let is_written_so = || text(line) == html;
            lowest.is_some_and(|lowest| line.is_like(lowest, &self.settings)) || is_written_so()
        };
        let above = (0..at).rev().map_while(|at| self.line(at));
        DraftRow { times: 1 + above.take_while(|line| looks_so(line)).count(), html }
    }
}

#[cfg(test)]
mod tests;
