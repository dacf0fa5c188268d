//! The rules of the chat's server: what it refuses is sent again.

use std::collections::HashSet;

use clitape_recording::text::markup::without_tags;

use super::violation::{Broken, by_index};
use crate::case::Case;
use crate::words::{quoted, seconds};

/// Of a hundred words of a refused text, so many are shown later if the text was sent again.
const SENT_AGAIN_PERCENT: usize = 80;

/// A text whose markup the server refuses is sent again, so that it is not lost.
pub(crate) fn markup_refused(case: Case<'_>) -> Option<Broken<'_>> {
    let what = "because of its markup, and nothing of it was sent again as plain text";
    lost(case, &["can't parse entities", "cant parse entities"], what)
}

/// A text that is longer than 4,096 code points is sent in pages.
pub(crate) fn too_long(case: Case<'_>) -> Option<Broken<'_>> {
    let what = "because it is too long, and it was not sent in pages";
    lost(case, &["message is too long", "MESSAGE_TOO_LONG", "caption is too long"], what)
}

/// A refused text whose words the chat does not show afterwards.
fn lost<'c>(case: Case<'c>, reasons: &[&str], what: &str) -> Option<Broken<'c>> {
    case.calls().find_map(|(index, entry)| {
        let reason = entry.text("refused");
        if !reasons.iter().any(|part| reason.to_lowercase().contains(&part.to_lowercase())) {
            return None;
        }
        let text = entry.sent_text()?;
        let is_html = entry.text("parse_mode").eq_ignore_ascii_case("html");
        let words = if is_html { words(&without_tags(text)) } else { words(text) };
        let mut shown = HashSet::new();
        for (_, later) in case.shown().filter(|(later, _)| *later > index) {
            shown.extend(self::words(&later.plain_text()));
        }
        let there = words.iter().filter(|word| shown.contains(*word)).count();
        (there * 100 < words.len() * SENT_AGAIN_PERCENT).then(|| {
            by_index(
                case,
                index,
                format!(
                    "at {} the server refused {} of {} {what}; it said {}",
                    seconds(entry.at),
                    entry.kind,
                    quoted(text),
                    quoted(reason)
                ),
            )
        })?
    })
}

/// The words of a text of three letters and more.
fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
}
