//! The newest parts of a draft, back to where nothing more can show.
//!
//! A message shows [`LINES`] rows and one page of text. The parts are looked at from the end, until there is a row more
//! and more text than that. What was counted of the parts before them is kept with their lines, so that a long row of
//! lines is passed over in one step.

use super::layout::{DraftBlock, DraftRow, GAP, LINES, LITTLE_ROOM};
use super::line::{Known, ToolLine};
use super::text::Shown;
use super::{Compositor, DraftPart};

/// How much of a draft is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowLimits {
    /// Rows.
    pub(super) rows: usize,
    /// Letters of text.
    pub(super) letters: usize,
}

impl Compositor {
    /// The blocks that may show, and the number of lines before them.
    pub(super) fn window(&mut self) -> (Vec<DraftBlock>, usize) {
        let limits = WindowLimits { rows: LINES + 1, letters: self.settings.profile.limit };
        self.window_within(limits)
    }

    pub(super) fn window_within(&mut self, limits: WindowLimits) -> (Vec<DraftBlock>, usize) {
        let how = Shown { mode: self.settings.mode, limit: self.settings.profile.limit };
        let mut blocks: Vec<DraftBlock> = Vec::new();
        // What is shown of it has a block of its own.
        let status = self.status.as_ref().map(|status| status.text(&self.settings, self.started));
        let mut rows = usize::from(status.is_some());
        let (mut calls, mut texts) = (0, 0);
        let (mut room, mut has_more_text) = (limits.letters, false);
        let mut end = self.parts.len();
        while let Some(at) = end.checked_sub(1) {
            let has_rows = rows >= limits.rows || calls == self.lines.len();
            if has_rows && (has_more_text || texts == self.texts) {
                break;
            }
            if let DraftPart::Line(_) = self.parts[at] {
                if has_rows {
                    end -= self.streak(at);
                    continue;
                }
                let row = self.row(at);
                (end, calls) = (end - row.times, calls + row.times);
                match blocks.last_mut() {
                    // Blank text is nothing between rows.
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
            let is_open = end == self.parts.len();
            (end, texts) = (at, texts + 1);
            let DraftPart::Text(text) = &mut self.parts[at] else { continue };
            if has_more_text {
                // It has no place, but rows above it are no neighbours of those below it.
                let parts_rows = matches!(blocks.last(), Some(DraftBlock::Rows(_)));
                if parts_rows && text.ended(how).is_some() {
                    blocks.push(DraftBlock::Text(Vec::new()));
                }
                continue;
            }
            let shown = match is_open {
                true => text.growing(how),
                false => text.ended(how).map(|(pieces, letters)| (pieces.to_vec(), letters)),
            };
            if let Some((pieces, letters)) = shown {
                has_more_text = room < LITTLE_ROOM;
                room = room.saturating_sub(letters + GAP.len());
                blocks.push(DraftBlock::Text(pieces));
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

    /// The row of the line at a place of the parts, with the equal ones above it.
    fn row(&mut self, at: usize) -> DraftRow {
        let (mut top, mut times) = (at, 1);
        self.write(at);
        while let Some(line) = self.line(top) {
            if let Some(known) = line.equal_above.filter(|known| known.moves == self.moves) {
                times += known.count;
                break;
            }
            let Some(above) = top.checked_sub(1) else { break };
            self.write(above);
            let is_equal =
                |line: &ToolLine| Some(line.shown()) == self.line(at).map(ToolLine::shown);
            if !self.line(above).is_some_and(is_equal) {
                break;
            }
            (top, times) = (above, times + 1);
        }
        let moves = self.moves;
        let DraftPart::Line(place) = self.parts[at] else {
            return DraftRow { html: String::new(), times };
        };
        let line = self.lines.get_mut(place);
        // A call that has ended stays as it is, and so do those that look the same.
        line.equal_above = (!line.is_open()).then_some(Known { moves, count: times - 1 });
        DraftRow { html: line.shown().to_owned(), times }
    }

    /// The number of lines up to a place, with it, that no text is between.
    fn streak(&mut self, at: usize) -> usize {
        let mut count = 0;
        while let Some(line) = (at + 1).checked_sub(count + 1).and_then(|place| self.line(place)) {
            if let Some(known) = line.streak.filter(|known| known.moves == self.moves) {
                count += known.count;
                break;
            }
            count += 1;
        }
        let moves = self.moves;
        if let DraftPart::Line(place) = self.parts[at] {
            self.lines.get_mut(place).streak = Some(Known { moves, count });
        }
        count
    }

    /// The line at a place of the parts, if there is one.
    fn line(&self, at: usize) -> Option<&ToolLine> {
        match self.parts.get(at)? {
            DraftPart::Line(place) => Some(self.lines.get(*place)),
            DraftPart::Text(_) => None,
        }
    }

    /// Writes the line at a place of the parts, if there is one and it has changed.
    fn write(&mut self, at: usize) {
        if let Some(DraftPart::Line(place)) = self.parts.get(at) {
            self.lines.get_mut(*place).write(&self.settings, self.started);
        }
    }
}
