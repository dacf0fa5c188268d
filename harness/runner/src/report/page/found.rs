//! Writes a finding on a page: the sentence, the expected chat beside the actual one, the input beside the output, the
//! diff, and the command that reproduces it.

use clitape_judge::{ContextMoment, DiffLine, DiffSide, Finding};
use maud::{Markup, display, html};

use crate::report::chat_diff::{EXPECTED, chat_markup};
use crate::report::text::{ContextRow, change_text, commands, rows};

/// Returns the finding as HTML.
pub(crate) fn found(finding: &Finding) -> Markup {
    let Finding { id, place, sentence, context, chat, diff, .. } = finding;
    html! {
        p.finding { b { (display(id)) } " " (place) ": " (sentence) } "\n"
        @if let Some(change) = change_text(finding) { p.note { (change) } "\n" }
        @if let Some(chat) = chat { (chat_markup(chat, EXPECTED)) }
        // If there is a chat, the lane is folded.
        @if chat.is_none() { (lane(context, diff)) }
        @else if !context.is_empty() || !diff.is_empty() {
            details { summary { "What came in, and the lane" } (lane(context, diff)) } "\n"
        }
        @for (label, command) in commands(finding) {
            p.label { (label) }
            pre { (command) } "\n"
        }
    }
}

/// Returns the input beside the output, and the lane's diff.
fn lane(context: &[ContextMoment], diff: &[DiffLine]) -> Markup {
    html! {
        @if !context.is_empty() {
            table.beside {
                thead { tr { th { "time" } th { "what came in" } th { "what was seen" } } }
                tbody {
                    @for ContextRow { time, input, output } in rows(context) {
                        tr { td { (time) } td { (input) } td { (output) } } "\n"
                    }
                }
            }
        }
        @if !diff.is_empty() { (difference(diff)) "\n" }
    }
}

/// Returns an aligned diff.
pub(crate) fn difference(lines: &[DiffLine]) -> Markup {
    let text = |line: &DiffLine| {
        html! {
            (line.side.mark()) " "
            @for (changed, text) in &line.parts {
                @if *changed { b { (text) } } @else { (text) }
            }
        }
    };
    html! {
        pre.diff {
            @for line in lines {
                @match line.side {
                    DiffSide::Both | DiffSide::Gap => { span { (text(line)) } }
                    DiffSide::Expected => { del { (text(line)) } }
                    DiffSide::Got => { ins { (text(line)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clitape_judge::align_texts;

    use super::*;

    #[test]
    fn a_diff_is_text() {
        let shown = difference(&align_texts("a\n<b>\n", "a\n<script>\n")).into_string();
        assert!(shown.contains("<del>- ") && shown.contains("<ins>+ "), "{shown}");
        assert!(!shown.contains("<script"), "{shown}");
    }
}
