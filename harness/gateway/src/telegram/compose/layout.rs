//! Lays the parts of a draft out so that they fit one message: which rows show, and how much text.

use std::sync::Arc;

use super::super::markup::StyledText;
use super::super::page::first_page;
use crate::profile::{Profile, length};

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
pub(super) fn lines_limit(profile: &Profile) -> usize {
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

/// The blocks one below the other, and whether the last one is cut (V5).
///
/// Rows always show. Text gets the space they leave, the newest first, and shows as much of its
/// beginning as fits.
pub(super) fn layout(blocks: &[DraftBlock], profile: &Profile) -> (String, bool) {
    let size = |row: &DraftRow| length(&row.html()) + GAP.len();
    let rows: usize = rows(blocks).map(size).sum();
    // A sign for what is left out may be at the beginning and at the end of a text.
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
