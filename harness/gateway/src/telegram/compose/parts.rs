//! The parts of a draft in their order. They are kept in chunks, so that a part is inserted among many, and a long row of
//! lines is passed over, without a look at each.

use super::text::TextPart;

/// The parts of a chunk, at most. Tests have few parts and want many chunks.
const CHUNK: usize = if cfg!(test) { 4 } else { 256 };

/// A part of a draft.
#[derive(Debug)]
pub(super) enum DraftPart {
    /// A text is large, and a turn may have many lines.
    Text(Box<TextPart>),
    /// A line, by its place among the lines.
    Line(usize),
}

impl DraftPart {
    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// The position of a part, until one is inserted or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartPosition {
    chunk: usize,
    index: usize,
}

/// The parts of a draft.
#[derive(Debug, Default)]
pub(super) struct DraftParts {
    /// No chunk is empty.
    chunks: Vec<DraftChunk>,
    /// The number of texts.
    texts: usize,
    /// The chunks that have texts, from the first.
    with_texts: Vec<usize>,
    /// The id of the chunk of each line, by the line's place; `None` if the line is not among the parts.
    chunk_of: Vec<Option<u64>>,
    /// The number of chunks that there have been.
    made: u64,
}

#[derive(Debug)]
struct DraftChunk {
    id: u64,
    parts: Vec<DraftPart>,
    texts: usize,
    /// True if all parts are lines that look the same; `None` if that is not known.
    is_uniform: Option<bool>,
    /// The row of chunks that ends with this one, if it is known.
    equal: Option<EqualChunks>,
}

impl DraftParts {
    /// The number of texts.
    pub(super) fn texts(&self) -> usize {
        self.texts
    }

    /// All parts, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &DraftPart> {
        self.chunks.iter().flat_map(|chunk| &chunk.parts)
    }

    /// The newest part.
    pub(super) fn last_mut(&mut self) -> Option<&mut DraftPart> {
        self.chunks.last_mut()?.parts.last_mut()
    }

    pub(super) fn get(&self, at: PartPosition) -> &DraftPart {
        &self.chunks[at.chunk].parts[at.index]
    }

    pub(super) fn get_mut(&mut self, at: PartPosition) -> &mut DraftPart {
        &mut self.chunks[at.chunk].parts[at.index]
    }

    /// The place of the line at a position, if it has a line.
    pub(super) fn line(&self, at: PartPosition) -> Option<usize> {
        match self.get(at) {
            DraftPart::Line(place) => Some(*place),
            DraftPart::Text(_) => None,
        }
    }

    /// The position of the newest part.
    pub(super) fn newest(&self) -> Option<PartPosition> {
        self.end_of(self.chunks.len().checked_sub(1)?)
    }

    /// The position before another one.
    pub(super) fn before(&self, at: PartPosition) -> Option<PartPosition> {
        match at.index.checked_sub(1) {
            Some(index) => Some(PartPosition { index, ..at }),
            None => self.end_of(at.chunk.checked_sub(1)?),
        }
    }

    /// The position behind another one.
    pub(super) fn behind(&self, at: PartPosition) -> Option<PartPosition> {
        if at.index + 1 < self.chunks[at.chunk].parts.len() {
            return Some(PartPosition { index: at.index + 1, ..at });
        }
        let chunk = at.chunk + 1;
        (chunk < self.chunks.len()).then_some(PartPosition { chunk, index: 0 })
    }

    /// The newest text up to a position.
    pub(super) fn text_up_to(&self, at: PartPosition) -> Option<PartPosition> {
        let in_chunk = |chunk: usize, end: usize| {
            let index = self.chunks[chunk].parts[..end].iter().rposition(DraftPart::is_text)?;
            Some(PartPosition { chunk, index })
        };
        in_chunk(at.chunk, at.index + 1).or_else(|| {
            let before = self.with_texts.partition_point(|chunk| *chunk < at.chunk);
            let chunk = self.with_texts[before.checked_sub(1)?];
            in_chunk(chunk, self.chunks[chunk].parts.len())
        })
    }

    /// The position of a line, if it is among the parts.
    pub(super) fn position(&self, place: usize) -> Option<PartPosition> {
        let chunk = self.chunk(place)?;
        let is_it = |part: &DraftPart| matches!(part, DraftPart::Line(it) if *it == place);
        let index = self.chunks[chunk].parts.iter().position(is_it)?;
        Some(PartPosition { chunk, index })
    }

    /// Returns the positions of the chunk of which a position is the last, from its first, and
    /// `true` if all its lines are known to look the same.
    pub(super) fn chunk_up_to(&self, at: PartPosition) -> Option<(PartChunk, Option<bool>)> {
        let chunk = &self.chunks[at.chunk];
        let length = chunk.parts.len();
        (at.index + 1 == length)
            .then_some((PartChunk { chunk: at.chunk, length }, chunk.is_uniform))
    }

    /// Remembers if all parts of a chunk are lines that look the same.
    pub(super) fn set_uniform(&mut self, chunk: PartChunk, is_uniform: bool) {
        self.chunks[chunk.chunk].is_uniform = Some(is_uniform);
    }

    /// The row of chunks, all lines of which look the same, that is known to end with a chunk; at least that chunk, whose
    /// lines do.
    pub(super) fn equal_up_to(&self, chunk: PartChunk) -> EqualChunks {
        let PartChunk { chunk, length } = chunk;
        let alone = EqualChunks { first: chunk, last: chunk, lines: length };
        self.chunks[chunk].equal.unwrap_or(alone)
    }

    /// Remembers that all lines of a row of chunks look the same, until one of them changes.
    pub(super) fn set_equal(&mut self, chunks: EqualChunks) {
        self.chunks[chunks.last].equal = Some(chunks);
    }

    /// A line looks different now.
    pub(super) fn changed(&mut self, place: usize) {
        if let Some(chunk) = self.chunk(place) {
            self.forget_looks(chunk);
        }
    }

    /// Forgets how the lines of a chunk look.
    fn forget_looks(&mut self, chunk: usize) {
        self.chunks[chunk].is_uniform = None;
        for later in &mut self.chunks[chunk..] {
            later.equal = later.equal.filter(|equal| equal.first > chunk);
        }
    }

    /// Counts anew where chunks are, from the first one that is elsewhere than before.
    fn moved(&mut self, from: usize) {
        for chunk in &mut self.chunks[from..] {
            chunk.equal = None;
        }
        self.with_texts.truncate(self.with_texts.partition_point(|chunk| *chunk < from));
        let behind = self.chunks.iter().enumerate().skip(from);
        let with_texts = behind.filter(|(_, chunk)| chunk.texts > 0).map(|(at, _)| at);
        self.with_texts.extend(with_texts);
    }

    /// Adds a part behind all others.
    pub(super) fn push(&mut self, part: DraftPart) {
        let newest = self.newest();
        self.insert_behind(newest, part);
    }

    /// Inserts a part behind the one at a position; before all others without one.
    pub(super) fn insert_behind(&mut self, at: Option<PartPosition>, part: DraftPart) {
        let (mut at, mut index) = at.map_or((0, 0), |at| (at.chunk, at.index + 1));
        if self.chunks.is_empty() {
            self.add_chunk(0, Vec::new());
        } else if self.chunks[at].parts.len() == CHUNK {
            // A part that is added at the end leaves full chunks behind.
            let from = if index == CHUNK { CHUNK } else { CHUNK / 2 };
            let rest = self.chunks[at].parts.split_off(from);
            self.chunks[at].count();
            self.add_chunk(at + 1, rest);
            self.moved(at);
            if index > from || from == CHUNK {
                (at, index) = (at + 1, index - from);
            }
        }
        self.forget_looks(at);
        let chunk = &mut self.chunks[at];
        match part {
            DraftPart::Line(place) => {
                self.chunk_of.resize(self.chunk_of.len().max(place + 1), None);
                self.chunk_of[place] = Some(chunk.id);
            }
            DraftPart::Text(_) => {
                self.texts += 1;
                chunk.texts += 1;
                if let Err(place) = self.with_texts.binary_search(&at) {
                    self.with_texts.insert(place, at);
                }
            }
        }
        chunk.parts.insert(index, part);
    }

    /// Keeps the parts for which `keep` holds.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut DraftPart) -> bool) {
        let chunk_of = &mut self.chunk_of;
        for chunk in &mut self.chunks {
            chunk.parts.retain_mut(|part| {
                let is_kept = keep(part);
                if let (DraftPart::Line(place), false) = (part, is_kept) {
                    chunk_of[*place] = None;
                }
                is_kept
            });
            chunk.count();
        }
        self.chunks.retain(|chunk| !chunk.parts.is_empty());
        self.moved(0);
        self.texts = self.chunks.iter().map(|chunk| chunk.texts).sum();
    }

    /// Takes a line away.
    pub(super) fn remove(&mut self, place: usize) {
        let Some(at) = self.position(place) else { return };
        let chunk = &mut self.chunks[at.chunk];
        chunk.parts.remove(at.index);
        self.chunk_of[place] = None;
        if chunk.parts.is_empty() {
            self.chunks.remove(at.chunk);
            self.moved(at.chunk);
        } else {
            self.forget_looks(at.chunk);
        }
    }

    fn end_of(&self, chunk: usize) -> Option<PartPosition> {
        let index = self.chunks[chunk].parts.len().checked_sub(1)?;
        Some(PartPosition { chunk, index })
    }

    /// The chunk of a line, which is searched from the newest.
    fn chunk(&self, place: usize) -> Option<usize> {
        let id = (*self.chunk_of.get(place)?)?;
        self.chunks.iter().rposition(|chunk| chunk.id == id)
    }

    fn add_chunk(&mut self, at: usize, parts: Vec<DraftPart>) {
        let id = self.made;
        self.made += 1;
        for part in &parts {
            if let DraftPart::Line(place) = part {
                self.chunk_of[*place] = Some(id);
            }
        }
        let mut chunk = DraftChunk { id, parts, texts: 0, is_uniform: None, equal: None };
        chunk.count();
        self.chunks.insert(at, chunk);
    }
}

impl DraftChunk {
    /// Counts the texts anew, after a change.
    fn count(&mut self) {
        self.texts = self.parts.iter().filter(|part| part.is_text()).count();
        self.is_uniform = None;
    }
}

/// A whole chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartChunk {
    chunk: usize,
    /// The number of its parts.
    length: usize,
}

impl PartChunk {
    /// The positions of its parts, from the first.
    pub(super) fn positions(self) -> impl Iterator<Item = PartPosition> {
        let chunk = self.chunk;
        (0..self.length).map(move |index| PartPosition { chunk, index })
    }
}

/// A row of chunks of lines that all look the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct EqualChunks {
    first: usize,
    last: usize,
    /// The number of lines of all of them.
    pub(super) lines: usize,
}

impl EqualChunks {
    /// The position of the first line.
    pub(super) fn top(self) -> PartPosition {
        PartPosition { chunk: self.first, index: 0 }
    }

    /// These, which look the same as `below`, which begin where these end.
    pub(super) fn and(self, below: Self) -> Self {
        Self { first: self.first, last: below.last, lines: self.lines + below.lines }
    }
}
