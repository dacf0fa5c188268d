//! The rules of the chat's server: what it refuses is sent again, and it is left in peace.

use std::collections::HashSet;

use clitape_recording::text::markup::without_tags;
use clitape_recording::trace::Entry;

use crate::judge::case::Case;
use crate::judge::violation::Found;
use crate::judge::words::{quoted, seconds};

/// A call may come this much before the end of a wait, in ms, because clocks differ.
const EARLY_MS: u64 = 250;
/// Edits within a time that no server takes, in ms. Telegram allows about one a second in a chat.
const WINDOW_MS: u64 = 10_000;
const MOST_EDITS: usize = 25;
/// Of a hundred words of a refused text, so many are shown later if the text was sent again.
const SENT_AGAIN_PERCENT: usize = 80;

/// A text whose markup the server refuses is sent again, so that it is not lost.
pub(super) fn markup_refused(case: &Case<'_>) -> Option<Found> {
    let what = "because of its markup, and nothing of it was sent again as plain text";
    lost(case, &["can't parse entities", "cant parse entities"], what)
}

/// A text that is longer than 4,096 code points is sent in pages.
pub(super) fn too_long(case: &Case<'_>) -> Option<Found> {
    let what = "because it is too long, and it was not sent in pages";
    lost(case, &["message is too long", "MESSAGE_TOO_LONG", "caption is too long"], what)
}

/// A refused text whose words the chat does not show afterwards.
fn lost(case: &Case<'_>, reasons: &[&str], what: &str) -> Option<Found> {
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
            Found::by(
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

/// After a 429, no text is sent to the chat before the time that the server asked to wait is over.
pub(super) fn wait_ignored(case: &Case<'_>) -> Option<Found> {
    let texts: Vec<(usize, &Entry)> = case.calls().filter(|(_, entry)| entry.sets_text()).collect();
    texts.iter().find_map(|(_, limited)| {
        let wait = limited.wait_s()?;
        let wait_ms = wait * 1_000;
        let told = limited.answered_at();
        let (index, early) = texts.iter().find(|(_, entry)| {
            entry.at > told + EARLY_MS && entry.at + EARLY_MS < told + wait_ms
        })?;
        Found::by(
            *index,
            format!(
                "at {} the server asked to wait {wait} s, and {} came at {}",
                seconds(told),
                early.kind,
                seconds(early.at)
            ),
        )
    })
}

/// A chat is edited about once a second at most; what no server takes is far more.
pub(super) fn too_many_calls(case: &Case<'_>) -> Option<Found> {
    let edits: Vec<(usize, &Entry)> =
        case.calls().filter(|(_, entry)| entry.kind == "editMessageText").collect();
    let pairs = edits.iter().zip(edits.iter().skip(MOST_EDITS));
    let ((_, first), (index, last)) =
        pairs.into_iter().find(|((_, first), (_, last))| last.at < first.at + WINDOW_MS)?;
    Found::by(
        *index,
        format!(
            "from {} to {} the chat was edited {} times; about once a second is what a server takes",
            seconds(first.at),
            seconds(last.at),
            MOST_EDITS + 1
        ),
    )
}
