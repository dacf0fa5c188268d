//! Shows proposed goldens to a reviewer, in a terminal and as a page: the chat before and after, and the entries that
//! differ.

use std::io::{self, Write};

use clitape_judge::{ChatDiff, GoldenChange};
use clitape_recording::text::plural;
use maud::{Markup, html};

use super::chat_diff::{PROPOSED, chat_markup, write_chat};
use super::page::found::difference;
use super::page::{PageFrame, STYLE, badge};
use super::style::DIM;
use super::terminal::write_diff;

/// A proposed golden, with its difference from the golden that was valid so far.
#[derive(Debug, Clone)]
pub struct ReviewedGolden {
    /// Its id in `clitape review --list`.
    pub id: String,
    /// The state, `new` or `changed`.
    pub state: String,
    /// The path that it gets when it is accepted.
    pub path: String,
    /// The reason for the proposal, in one sentence.
    pub sentence: String,
    /// The difference.
    pub change: GoldenChange,
}

/// Returns the chats of a change, each with a heading.
fn chats(change: &GoldenChange) -> impl Iterator<Item = (&'static str, &ChatDiff)> {
    let GoldenChange { first_chat: first, last_chat: last, .. } = change;
    let is_new = |last: &&ChatDiff| {
        first
            .as_ref()
            .is_none_or(|first| (&first.expected, &first.got) != (&last.expected, &last.got))
    };
    let first = first.iter().map(|chat| ("where they first differ", chat));
    first.chain(last.as_ref().filter(is_new).map(|chat| ("in the end", chat)))
}

/// Writes the difference of a proposed golden: the chat old and new, or else the entries.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_change(out: &mut dyn Write, change: &GoldenChange) -> io::Result<()> {
    let mut has_chat = false;
    for (what, chat) in chats(change) {
        writeln!(out, "  {DIM}{what}{DIM:#}")?;
        write_chat(out, chat, PROPOSED)?;
        has_chat = true;
    }
    if has_chat { Ok(()) } else { write_diff(out, &change.diff) }
}

/// Writes the page of proposed goldens: one file without a script and without resources from elsewhere.
pub fn review_page(goldens: &[ReviewedGolden]) -> String {
    let count = plural(goldens.len(), "proposed golden");
    let body = html! {
        header {
            h1 { "Review " (badge(goldens.is_empty(), &count)) }
            p { "Nothing is accepted yet: " code { "clitape review" } " settles what is shown here." }
        }
        "\n"
        main { @for golden in goldens { (section(golden)) } }
        "\n"
    };
    PageFrame { title: &format!("Review: {count}"), style: STYLE, body, script: None }.page()
}

fn section(golden: &ReviewedGolden) -> Markup {
    let ReviewedGolden { id, state, path, sentence, change } = golden;
    let has_chat = chats(change).next().is_some();
    html! {
        section {
            h2 { (id) " " small { (state) ", " (path) } } "\n"
            p.finding { (sentence) } "\n"
            @for (what, chat) in chats(change) {
                p.note { (what) } "\n"
                (chat_markup(chat, PROPOSED))
            }
            @if !change.diff.is_empty() {
                details open[!has_chat] {
                    summary { "The entries that differ" }
                    (difference(&change.diff))
                }
                "\n"
            }
        }
        "\n"
    }
}
