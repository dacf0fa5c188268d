//! What the draft shows while the agent works: text and tool lines in the order they came
//! ([V3](crate::rules::V3)).

mod layout;
mod line;

use clitape_stream::plant::{Plant, planted};
use layout::{DraftBlock, DraftRow, fold, layout};
use line::{ToolLine, ToolLineState};
use tokio::time::Instant;

use super::markup::{Style, finished, mend, piece, read};
use super::page::visible;
use super::{DraftMode, TelegramSettings};
use crate::bus::Tool;
use crate::excerpt::short;
use crate::notice::Notice;

/// Characters of text that are worth a first message (V4). A block that has ended always is.
const FIRST_TEXT: usize = 30;
/// Characters of one stretch of reasoning that show, the newest.
const THOUGHT_LIMIT: usize = 1_000;
/// Characters of a message of the person's that show.
const HEARD_LIMIT: usize = 200;

/// The draft of one turn.
#[derive(Debug)]
pub(super) struct Compositor {
    settings: TelegramSettings,
    started: Instant,
    parts: Vec<DraftPart>,
    /// Bytes of the answer and of the reasoning so far that are in `parts`.
    seen: [usize; 2],
    /// Whether the last draft had no space for more of the last part.
    is_full: bool,
    /// What goes on while neither text nor tools come.
    status: Option<ToolLine>,
}

/// What a text is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TextLane {
    Answer,
    Thought,
}

#[derive(Debug)]
enum DraftPart {
    Text(TextLane, String),
    Line(ToolLine),
}

impl Compositor {
    pub(super) fn new(settings: TelegramSettings) -> Self {
        Self {
            settings,
            started: Instant::now(),
            parts: Vec::new(),
            seen: [0; 2],
            is_full: false,
            status: None,
        }
    }

    fn shows(&self, lane: TextLane) -> bool {
        match (lane, self.settings.mode) {
            (_, DraftMode::Off) | (TextLane::Answer, DraftMode::Progress) => false,
            (TextLane::Answer, DraftMode::Partial | DraftMode::Block) => true,
            (TextLane::Thought, _) => {
                self.settings.reasoning || planted(Plant::ThinkingShownWithoutLeave)
            }
        }
    }

    /// Takes the answer or the reasoning so far; what is new of it goes after what is there, and
    /// what was taken back of it goes. Says whether the draft may look different now.
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
        match self.parts.last_mut() {
            Some(DraftPart::Text(last, text)) if *last == lane => {
                text.push_str(new);
                // A block ends with a line.
                let waits = lane == TextLane::Answer && self.settings.mode == DraftMode::Block;
                shorter || !(self.is_full || waits && !new.contains('\n'))
            }
            _ => {
                self.parts.push(DraftPart::Text(lane, new.to_owned()));
                true
            }
        }
    }

    /// Keeps of the text what still is the beginning of `left`.
    fn take_back(&mut self, lane: TextLane, left: &str) {
        let mut rest = left;
        self.parts.retain_mut(|part| {
            let DraftPart::Text(of, text) = part else { return true };
            if *of != lane {
                return true;
            }
            let same = text.chars().zip(rest.chars()).take_while(|(a, b)| a == b);
            let same = same.map(|(c, _)| c.len_utf8()).sum();
            rest = if same == text.len() { &rest[same..] } else { "" };
            text.truncate(same);
            !text.is_empty()
        });
        let kept = |part: &DraftPart| match part {
            DraftPart::Text(of, text) if *of == lane => text.len(),
            _ => 0,
        };
        self.seen[lane as usize] =
            if self.shows(lane) { self.parts.iter().map(kept).sum() } else { left.len() };
    }

    /// Takes what goes on while the run seems to stand still, until something else comes
    /// (openclaw#134697). Says whether there is anything to show of it.
    pub(super) fn notice(&mut self, notice: &Notice) -> bool {
        let Some(words) = notice.line() else { return false };
        self.status = Some(ToolLine { state: ToolLineState::Done, ..ToolLine::new("", &words, 0) });
        true
    }

    /// Takes a message of the person's that became part of the turn (Q9).
    pub(super) fn heard(&mut self, text: &str) {
        self.status = None;
        let words = format!("💬 Heard: {}", short(text, HEARD_LIMIT));
        let line = ToolLine { state: ToolLineState::Done, ..ToolLine::new("", &words, 0) };
        self.parts.push(DraftPart::Line(line));
    }

    /// A question holds the call `id` back, or does so no longer.
    pub(super) fn hold(&mut self, id: &str, holds: bool) {
        let (from, to) = match holds {
            true => (ToolLineState::Running, ToolLineState::Waiting),
            false => (ToolLineState::Waiting, ToolLineState::Running),
        };
        let is_it = |line: &&mut ToolLine| line.id == id && line.state == from;
        if let Some(line) = self.lines_mut().rev().find(is_it) {
            line.state = to;
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
                let is_open = |line: &&mut ToolLine| line.id == *id && line.is_open();
                if let Some(line) = self.lines_mut().rev().find(is_open) {
                    line.state = state;
                }
            }
        }
    }

    /// Takes away the lines of calls that will never start.
    pub(super) fn drop_calls(&mut self, calls: &[String]) {
        let is_dropped = |line: &ToolLine| line.is_open() && calls.contains(&line.id);
        self.parts.retain(|part| !matches!(part, DraftPart::Line(line) if is_dropped(line)));
    }

    /// Returns the draft that stays when no more events come: running calls lose their mark.
    pub(super) fn last_draft(&mut self) -> Option<String> {
        for line in self.lines_mut().filter(|line| line.is_open()) {
            line.state = ToolLineState::Done;
        }
        self.draft()
    }

    fn lines_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut ToolLine> {
        self.parts.iter_mut().filter_map(|part| match part {
            DraftPart::Line(line) => Some(line),
            DraftPart::Text(..) => None,
        })
    }

    /// A call whose line is there gets its new title. A subagent's call goes below the calls that
    /// are below its parent already.
    fn start(&mut self, id: &str, title: &str, parent: Option<&str>) {
        let is_open = |line: &&mut ToolLine| line.id == *id && line.is_open();
        let known = self.lines_mut().rev().find(is_open);
        if let Some(line) = known.filter(|_| !planted(Plant::StartAndUpdateAsRows)) {
            title.clone_into(&mut line.title);
            return;
        }
        let is_text = |part: &DraftPart| matches!(part, DraftPart::Text(..));
        if planted(Plant::NoLinesAfterText) && self.parts.iter().any(is_text) {
            return;
        }
        let depth_at = |part: &DraftPart| match part {
            DraftPart::Line(line) => Some(line.depth),
            DraftPart::Text(..) => None,
        };
        let parent_line = |(place, part): (usize, &DraftPart)| match part {
            DraftPart::Line(line) if Some(line.id.as_str()) == parent => Some((place, line.depth)),
            _ => None,
        };
        let (at, depth) = match self.parts.iter().enumerate().rev().find_map(parent_line) {
            Some((place, parent_depth)) => {
                let below = self.parts[place + 1..]
                    .iter()
                    .take_while(|part| depth_at(part).is_some_and(|depth| depth > parent_depth));
                (place + 1 + below.count(), parent_depth + 1)
            }
            None => (self.parts.len(), usize::from(parent.is_some())),
        };
        self.parts.insert(at, DraftPart::Line(ToolLine::new(id, title, depth)));
    }

    /// The draft as the profile writes it; `None` while there is nothing worth a first message.
    pub(super) fn draft(&mut self) -> Option<String> {
        let profile = self.settings.profile;
        let mut blocks = self.blocks();
        fold(&mut blocks, profile);
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

    /// When the draft looks different without that anything happens (V9).
    pub(super) fn next_tick(&self) -> Option<Instant> {
        let lines = self.parts.iter().filter_map(|part| match part {
            DraftPart::Line(line) if self.settings.reasoning => line.next_tick(),
            _ => None,
        });
        lines.min()
    }

    fn blocks(&self) -> Vec<DraftBlock> {
        let mut blocks = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                DraftPart::Text(lane, text) => {
                    let is_open = index + 1 == self.parts.len();
                    blocks.extend(self.block(*lane, text, is_open));
                }
                DraftPart::Line(line) => {
                    let html = line.text(&self.settings, self.started);
                    if !matches!(blocks.last(), Some(DraftBlock::Rows(_))) {
                        blocks.push(DraftBlock::Rows(Vec::new()));
                    }
                    let Some(DraftBlock::Rows(rows)) = blocks.last_mut() else {
                        continue;
                    };
                    match rows.last_mut() {
                        Some(last) if last.html == html => last.times += 1,
                        _ => rows.push(DraftRow { html, times: 1 }),
                    }
                }
            }
        }
        if let Some(status) = &self.status {
            let html = status.text(&self.settings, self.started);
            blocks.push(DraftBlock::Rows(vec![DraftRow { html, times: 1 }]));
        }
        blocks
    }

    /// What shows of a text, which may still grow if it `is_open`.
    fn block(&self, lane: TextLane, text: &str, is_open: bool) -> Option<DraftBlock> {
        let text = text.trim_start_matches('\n');
        let pieces = match (lane, self.settings.mode) {
            // Reasoning is no Markdown.
            (TextLane::Thought, _) => vec![piece(Style::ITALIC, newest(text.trim()))],
            (TextLane::Answer, DraftMode::Block) if is_open => read(finished(text)),
            (TextLane::Answer, _) if is_open => read(&mend(text.trim_end())),
            (TextLane::Answer, _) => read(text.trim_end()),
        };
        pieces.iter().any(|piece| !piece.text.trim().is_empty()).then_some(DraftBlock::Text(pieces))
    }
}

/// The end of `text`, from a word.
fn newest(text: &str) -> String {
    let surplus = text.chars().count().saturating_sub(THOUGHT_LIMIT);
    if surplus == 0 {
        return text.to_owned();
    }
    let end: String = text.chars().skip(surplus).collect();
    // A text without a blank begins inside a word.
    let word = end.find(char::is_whitespace).unwrap_or_default();
    format!("…{}", &end[word..])
}

#[cfg(test)]
pub(crate) mod tests;
