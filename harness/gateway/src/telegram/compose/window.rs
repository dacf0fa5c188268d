//! The newest parts of a draft, back to where nothing more can show.
//!
//! A message shows [`LINES`] rows and one page of text. The parts are looked at from the end, until there is a row more
//! and more text than that. A long row of lines that look the same is passed over at once, as are lines that can't show.

use std::sync::Arc;

use super::Compositor;
use super::layout::{DraftBlock, DraftRow, GAP, LINES, LITTLE_ROOM};
use super::line::ToolLine;
use super::parts::{DraftPart, EqualChunks, PartPosition};
use super::text::{Shown, TextLook};

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
            (next, texts) = (self.parts.before(at), texts + 1);
            let DraftPart::Text(text) = self.parts.get_mut(at) else { continue };
            if has_more_text {
                // It has no place, but rows above it are no neighbours of those below it.
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
