//! A report of two sides as a document: one description of what changed, written to the terminal, as Markdown for a
//! pull request or an issue, and as a page. In Markdown recorded text stands only in code; on the page it is escaped.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;
use clitape_judge::Class;
use clitape_recording::text::markdown::{block, code, inline};
use clitape_recording::text::{Keep, plain, truncate};
use maud::{Markup, html};

use super::page::{PageFrame, badge};
use super::text::{BAD, BOLD, COOL, DIM, GOOD, ODD};

/// The style of the proof page, followed by the style of two sides.
const STYLE: &str = concat!(include_str!("page/page.css"), include_str!("compare/compare.css"));
/// The most items of a part that the terminal and Markdown list.
const LISTED: usize = 60;
/// The most columns of an example there.
const EXAMPLE: usize = 100;

/// A report of two sides.
#[derive(Debug)]
pub struct Document {
    /// What was compared, in a few words.
    pub(super) title: String,
    /// The result, in one sentence.
    pub(super) verdict: String,
    /// Whether there is nothing to look at.
    pub(super) holds: bool,
    /// The sentence that a reader needs first; may be empty.
    pub(super) lead: &'static str,
    /// What A and B are, each with a name and the facts that identify it.
    pub(super) sides: [DocumentSide; 2],
    /// What was counted.
    pub(super) counts: Vec<(String, usize)>,
    /// The parts, in order; those without content are left out.
    pub(super) parts: Vec<DocumentPart>,
    /// Where a reader finds the items that a list leaves out.
    pub(super) rest: &'static str,
}

/// A side of a document.
#[derive(Debug)]
pub(super) struct DocumentSide {
    pub(super) name: String,
    pub(super) facts: Vec<(&'static str, String)>,
}

/// A part of a document: a title with a sentence, and a list.
#[derive(Debug, Default)]
pub(super) struct DocumentPart {
    pub(super) title: &'static str,
    /// May be empty.
    pub(super) sentence: String,
    pub(super) attention: Attention,
    pub(super) items: Vec<DocumentItem>,
    /// What the page shows in place of the list, and the other forms leave out.
    pub(super) drawn: Vec<Markup>,
}

/// The attention that a part asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Attention {
    /// A finding of the report.
    #[default]
    Change,
    /// A part of the work that failed.
    Failed,
    /// For information.
    Note,
    /// For information, and long: the terminal has the sentence alone, and the page folds the list.
    Folded,
}

/// One line of a list. All but `text` may be empty.
#[derive(Debug, Default)]
pub(super) struct DocumentItem {
    /// The gravity of a change.
    pub(super) class: Option<Class>,
    /// The place that it is about, as it is written in a record or a command.
    pub(super) place: String,
    pub(super) text: String,
    /// Where it was seen.
    pub(super) seen: String,
    /// A value, as it was recorded.
    pub(super) example: String,
}

impl DocumentItem {
    /// Returns a line that is a sentence.
    pub(super) fn sentence(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl DocumentPart {
    fn is_empty(&self) -> bool {
        self.sentence.is_empty() && self.items.is_empty() && self.drawn.is_empty()
    }

    /// Returns the items that a list has, and the number of those that it leaves out.
    fn listed(&self) -> (&[DocumentItem], usize) {
        let shown = self.items.len().min(LISTED);
        (&self.items[..shown], self.items.len() - shown)
    }
}

impl DocumentSide {
    /// Returns the side on one line: `this (revision 6ef1)`.
    fn line(&self) -> String {
        let facts = self.facts.iter().map(|(name, value)| format!("{name} {value}"));
        format!("{} ({})", self.name, facts.collect::<Vec<_>>().join(", "))
    }
}

impl Document {
    /// Returns the parts that have content in a form without drawings.
    fn written(&self) -> impl Iterator<Item = &DocumentPart> {
        self.parts.iter().filter(|part| !part.sentence.is_empty() || !part.items.is_empty())
    }

    /// Writes the document to the terminal.
    ///
    /// # Errors
    ///
    /// When `out` can't be written to.
    pub fn terminal(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = if self.holds { GOOD } else { BAD };
        let (title, verdict) = (plain(&self.title), plain(&self.verdict));
        writeln!(out, "{BOLD}{title}{BOLD:#}  {style}{verdict}{style:#}")?;
        for (letter, side) in ["A", "B"].iter().zip(&self.sides) {
            writeln!(out, "{DIM}{letter}{DIM:#}  {}", plain(&side.line()))?;
        }
        let counts = self.counts.iter().filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts.map(|(what, count)| format!("{what}: {count}")).collect();
        if !counts.is_empty() {
            writeln!(out, "{DIM}{}{DIM:#}", plain(&counts.join(" · ")))?;
        }
        for part in self.written() {
            let style = match part.attention {
                Attention::Change => BOLD,
                Attention::Failed => ODD,
                Attention::Note | Attention::Folded => DIM,
            };
            writeln!(out, "\n{style}{}{style:#}", part.title)?;
            if !part.sentence.is_empty() {
                writeln!(out, "  {}", plain(&part.sentence))?;
            }
            if part.attention == Attention::Folded {
                continue;
            }
            let (items, more) = part.listed();
            for item in items {
                terminal_item(out, item)?;
            }
            if more > 0 {
                writeln!(out, "  … and {more} more, {}", self.rest)?;
            }
        }
        Ok(())
    }

    /// Writes the document as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n\n**{}**", inline(&self.title), inline(&self.verdict));
        if !self.lead.is_empty() {
            let _ = write!(out, "\n\n{}", self.lead);
        }
        let [a, b] = self.sides.each_ref().map(|side| plain(&side.line()));
        let _ = writeln!(out, "\n\n{}", block("text", &format!("A  {a}\nB  {b}")));
        for (what, count) in &self.counts {
            let _ = writeln!(out, "- {}: {count}", inline(what));
        }
        for part in self.written() {
            let _ = writeln!(out, "\n## {}\n", part.title);
            if !part.sentence.is_empty() {
                let _ = writeln!(out, "{}", inline(&part.sentence));
            }
            if !part.sentence.is_empty() && !part.items.is_empty() {
                out.push('\n');
            }
            let (items, more) = part.listed();
            items.iter().for_each(|item| markdown_item(&mut out, item));
            if more > 0 {
                let _ = writeln!(out, "- … and {more} more, {}", self.rest);
            }
        }
        out
    }

    /// Writes the document as a page: one file without a script and without resources from elsewhere.
    pub fn page(&self) -> String {
        let Self { title, verdict, holds, lead, sides, counts, parts, .. } = self;
        let body = html! {
            header {
                h1 { (title) " " (badge(*holds, verdict)) }
                @if !lead.is_empty() { p { (lead) } }
                div.sides {
                    @for (letter, side) in ["A", "B"].iter().zip(sides) {
                        div.about {
                            h2 { span.tag.(letter.to_lowercase()) { (letter) } " " (side.name) }
                            dl { @for (name, value) in &side.facts { dt { (name) } dd { (value) } } }
                        }
                        "\n"
                    }
                }
                ul.counts { @for (what, count) in counts { li { b { (count) } " " (what) } } }
            }
            "\n"
            main {
                @for part in parts.iter().filter(|part| !part.is_empty()) {
                    @if part.drawn.is_empty() { (page_part(part)) }
                    @for drawn in &part.drawn { (drawn) }
                }
            }
            "\n"
        };
        let title = format!("{title}: {verdict}");
        PageFrame { title: &title, style: STYLE, body, script: None }.page()
    }
}

fn terminal_item(out: &mut dyn Write, item: &DocumentItem) -> io::Result<()> {
    let DocumentItem { class, place, text, seen, example } = item;
    let mut words = Vec::new();
    if let Some(class) = class {
        let style = class_style(*class);
        words.push(format!("{style}{:<8}{style:#}", class.to_string()));
    }
    if !place.is_empty() {
        words.push(format!("{COOL}{}{COOL:#}", plain(place)));
    }
    words.push(plain(text));
    if !seen.is_empty() {
        words.push(format!("{DIM}{}{DIM:#}", plain(seen)));
    }
    writeln!(out, "  {}", words.join(" "))?;
    match example.is_empty() {
        true => Ok(()),
        false => {
            let example = plain(example);
            writeln!(out, "      {DIM}{}{DIM:#}", truncate(&example, EXAMPLE, Keep::Start))
        }
    }
}

fn class_style(class: Class) -> Style {
    match class {
        Class::Timing => DIM,
        Class::Text => COOL,
        Class::Contract => BAD,
    }
}

fn markdown_item(out: &mut String, item: &DocumentItem) {
    let DocumentItem { class, place, text, seen, example } = item;
    out.push_str("- ");
    if !place.is_empty() {
        let _ = write!(out, "{} ", code(place));
    }
    if let Some(class) = class {
        let _ = write!(out, "({class}) ");
    }
    out.push_str(&inline(text));
    if !seen.is_empty() {
        let _ = write!(out, ", {}", inline(seen));
    }
    if !example.is_empty() {
        let _ = write!(out, ": {}", code(&truncate(example, EXAMPLE, Keep::Start)));
    }
    out.push('\n');
}

fn page_part(part: &DocumentPart) -> Markup {
    let DocumentPart { title, sentence, attention, items, .. } = part;
    let class = match attention {
        Attention::Change => None,
        Attention::Failed => Some("failed"),
        Attention::Note | Attention::Folded => Some("uncovered"),
    };
    let list = html! { ul { @for item in items { (page_item(item)) "\n" } } };
    html! {
        section class=[class] {
            h2 { (title) } "\n"
            @if *attention == Attention::Folded {
                details { summary { (sentence) } (list) }
            } @else {
                @if !sentence.is_empty() { p { (sentence) } "\n" }
                @if !items.is_empty() { (list) }
            }
        }
        "\n"
    }
}

fn page_item(item: &DocumentItem) -> Markup {
    let DocumentItem { class, place, text, seen, example } = item;
    html! {
        li {
            @if let Some(class) = class { span.badge.(class.to_string()) { (class.to_string()) } " " }
            @if !place.is_empty() { code { (place) } " " }
            (text)
            @if !seen.is_empty() { " " small.note { (seen) } }
            @if !example.is_empty() { br; small { code { (example) } } }
        }
    }
}
