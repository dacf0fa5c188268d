//! Writes a drift as a page: the verdict and the changes by part, then every scenario whose replay differs, with both
//! chats side by side. It has no script and no resources from elsewhere; recorded text is escaped.

use maud::{Markup, html};

use super::words::{cost, counted, follows, shown_by, verdict};
use crate::drift::{Drift, DriftChange, NotCompared, Part};
use crate::report::compare::{STYLE, sections};
use crate::report::page::{PageFrame, badge};

/// Writes the page.
pub fn drift_page(drift: &Drift) -> String {
    let versions = format!("claude {} → {}", drift.from.version, drift.to.version);
    let person_sees = drift.of(Part::Person).next().is_some();
    let holds = !person_sees && drift.not_compared.is_empty();
    let body = html! {
        header {
            h1 { (versions) " " (badge(holds, &verdict(drift))) }
            p { (counted(drift)) }
            div.sides {
                @for (letter, about) in [("A", &drift.from), ("B", &drift.to)] {
                    div.about {
                        h2 { span.tag.(letter.to_lowercase()) { (letter) } " " (about.version) }
                        dl { dt { "recordings" } dd { (about.recordings) } }
                    }
                    "\n"
                }
            }
            ul.counts {
                @for part in Part::ALL {
                    li { b { (drift.of(part).count()) } " " (part.title()) }
                }
            }
        }
        "\n"
        main {
            @for part in Part::ALL { (changes(part, &drift.of(part).collect::<Vec<_>>())) }
            @if let Some(sentence) = follows(drift) {
                section {
                    h2 { "What follows" }
                    p { (sentence) }
                    ul { @for change in &drift.follows { (line(change)) } }
                }
                "\n"
            }
            @if !drift.not_compared.is_empty() {
                section.failed { h2 { "Not compared" } (list(&drift.not_compared)) }
                "\n"
            }
            @for section in sections(&drift.lanes) { (section) }
            section.uncovered {
                h2 { "Time and size" }
                p { "For information: " (cost(drift)) "." }
                @if !drift.left_out.is_empty() { h2 { "Left out" } (list(&drift.left_out)) }
            }
        }
        "\n"
    };
    let title = format!("{versions}: {}", verdict(drift));
    PageFrame { title: &title, style: STYLE, body, script: None }.page()
}

/// Returns the changes of a part.
fn changes(part: Part, changes: &[&DriftChange]) -> Markup {
    if changes.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { (part.title()) } "\n"
            ul {
                @for change in changes { (line(change)) }
            }
        }
        "\n"
    }
}

fn line(change: &DriftChange) -> Markup {
    html! {
        li {
            code { (change.place) } " " (change.what) " "
            small.note { (shown_by(change)) }
            @if let Some(example) = &change.example { br; small { code { (example) } } }
        }
        "\n"
    }
}

fn list(all: &[NotCompared]) -> Markup {
    html! {
        ul { @for NotCompared { what, why } in all { li { (what) ": " (why) } "\n" } }
    }
}
