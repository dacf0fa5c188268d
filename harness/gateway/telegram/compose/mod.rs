//! What the draft shows while the agent works: text and tool lines in the order they came (V3).

mod layout;

use layout::{Block, LINES_LIMIT, Row, fold, layout};

use super::Mode;
use super::markup::{Style, piece, read};
use super::page::{first_page, visible};
use crate::bus::Tool;

/// Characters of text that are worth a first message (V4).
const FIRST_TEXT: usize = 30;
/// Arrows before the line of a subagent's tool, at most.
const DEPTH_LIMIT: usize = 3;
/// The draft of one turn.
pub(super) struct Compositor {
    mode: Mode,
    parts: Vec<Part>,
    /// Bytes of the text so far that are in `parts`.
    seen: usize,
    /// Whether the last draft had no room for more of the last part.
    is_full: bool,
}

enum Part {
    Text(String),
    Line(Line),
}

/// The line of one tool call.
struct Line {
    id: String,
    title: String,
    depth: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    Done,
    Failed,
    Unknown,
}

impl State {
    fn mark(self) -> Option<&'static str> {
        match self {
            Self::Running => Some("running…"),
            Self::Done => None,
            Self::Failed => Some("⚠️ failed"),
            Self::Unknown => Some("⚠️ no result"),
        }
    }
}

impl Compositor {
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, parts: Vec::new(), seen: 0, is_full: false }
    }

    /// Takes the answer so far; what is new of it goes after what is there, and what was taken back
    /// of it goes. Says whether the draft may look different now.
    pub(super) fn text(&mut self, text: &str) -> bool {
        let shorter = text.len() < self.seen;
        if shorter {
            self.take_back(text);
        }
        let Some(new) = text.get(self.seen..).filter(|new| !new.is_empty()) else {
            return shorter;
        };
        self.seen = text.len();
        if self.mode != Mode::Partial {
            return false;
        }
        if let Some(Part::Text(last)) = self.parts.last_mut() {
            last.push_str(new);
            return !self.is_full;
        }
        self.parts.push(Part::Text(new.to_owned()));
        true
    }

    /// Keeps of the text what still is the beginning of the answer.
    fn take_back(&mut self, left: &str) {
        let mut rest = left;
        self.parts.retain_mut(|part| {
            let Part::Text(text) = part else { return true };
            let same = text.chars().zip(rest.chars()).take_while(|(a, b)| a == b);
            let same = same.map(|(c, _)| c.len_utf8()).sum();
            rest = if same == text.len() { &rest[same..] } else { "" };
            text.truncate(same);
            !text.is_empty()
        });
        let kept = |part: &Part| if let Part::Text(text) = part { text.len() } else { 0 };
        self.seen = match self.mode {
            Mode::Partial => self.parts.iter().map(kept).sum(),
            Mode::Off | Mode::Progress => left.len(),
        };
    }

    /// Takes the start or the result of a call. A line belongs to a call: the result changes the
    /// line the start made.
    pub(super) fn tool(&mut self, tool: &Tool) {
        match tool {
            Tool::Update { id, title, parent, .. } | Tool::Start { id, title, parent, .. } => {
                self.start(id, title, parent.as_deref());
            }
            Tool::Result { id, is_error, incomplete, .. } => {
                let state = match (incomplete, is_error) {
                    (Some(_), _) => State::Unknown,
                    (None, true) => State::Failed,
                    (None, false) => State::Done,
                };
                let is_open = |line: &&mut Line| line.id == *id && line.state == State::Running;
                if let Some(line) = self.lines_mut().rev().find(is_open) {
                    line.state = state;
                }
            }
        }
    }

    fn lines_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Line> {
        self.parts.iter_mut().filter_map(|part| match part {
            Part::Line(line) => Some(line),
            Part::Text(_) => None,
        })
    }

    /// A call whose line is there gets its new title. A subagent's call goes below the calls that
    /// are below its parent already.
    fn start(&mut self, id: &str, title: &str, parent: Option<&str>) {
        let is_open = |line: &&mut Line| line.id == *id && line.state == State::Running;
        if let Some(line) = self.lines_mut().rev().find(is_open) {
            title.clone_into(&mut line.title);
            return;
        }
        let depth_at = |part: &Part| match part {
            Part::Line(line) => Some(line.depth),
            Part::Text(_) => None,
        };
        let is_parent =
            |part: &Part| matches!(part, Part::Line(line) if Some(line.id.as_str()) == parent);
        let (at, depth) = match self.parts.iter().rposition(is_parent) {
            Some(place) => {
                let parent_depth = depth_at(&self.parts[place]).unwrap_or_default();
                let below = self.parts[place + 1..]
                    .iter()
                    .take_while(|part| depth_at(part).is_some_and(|depth| depth > parent_depth));
                (place + 1 + below.count(), parent_depth + 1)
            }
            None => (self.parts.len(), usize::from(parent.is_some())),
        };
        let line =
            Line { id: id.to_owned(), title: title.to_owned(), depth, state: State::Running };
        self.parts.insert(at, Part::Line(line));
    }

    /// The draft as HTML; `None` while there is nothing worth a first message.
    pub(super) fn draft(&mut self) -> Option<String> {
        let mut blocks = self.blocks();
        fold(&mut blocks);
        let has_rows = blocks.iter().any(|b| matches!(b, Block::Rows(_)));
        let shown: usize = (blocks.iter())
            .map(|block| match block {
                Block::Text(pieces) => visible(pieces, FIRST_TEXT),
                Block::Rows(_) => 0,
            })
            .sum();
        if !has_rows && shown < FIRST_TEXT {
            return None;
        }
        let (html, is_cut) = layout(&blocks);
        self.is_full = is_cut;
        Some(html)
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => {
                    let text = text.trim_start_matches('\n').trim_end();
                    if !text.trim_start().is_empty() {
                        blocks.push(Block::Text(read(text)));
                    }
                }
                Part::Line(line) => {
                    let html = line.html();
                    if !matches!(blocks.last(), Some(Block::Rows(_))) {
                        blocks.push(Block::Rows(Vec::new()));
                    }
                    let Some(Block::Rows(rows)) = blocks.last_mut() else {
                        continue;
                    };
                    match rows.last_mut() {
                        Some(last) if last.html == html => last.times += 1,
                        _ => rows.push(Row { html, times: 1 }),
                    }
                }
            }
        }
        blocks
    }
}

impl Line {
    fn html(&self) -> String {
        let mut pieces = vec![piece(
            Style::Plain,
            format!("{}{}", "↳ ".repeat(self.depth.min(DEPTH_LIMIT)), self.title),
        )];
        if let Some(mark) = self.state.mark() {
            pieces.push(piece(Style::Plain, " "));
            pieces.push(piece(Style::Italic, mark));
        }
        first_page(&pieces, LINES_LIMIT).map_or_else(String::new, |(html, _)| html)
    }
}

#[cfg(test)]
mod tests;
