//! A finding on a page: the sentence, what came in beside what was seen, the diff, and the line that
//! shows it again.

use std::fmt::Write as _;

use super::escape::html;
use crate::check::{ContextMoment, DiffLine, DiffSide, Finding};
use crate::report::text::{ContextRow, change_text, rows};

/// The finding as HTML.
pub(crate) fn found(finding: &Finding) -> String {
    let Finding { id, place, sentence, reproduce, context, diff, .. } = finding;
    let change = change_text(finding);
    let change = change.map(|text| format!("<p class=\"note\">{}</p>\n", html(&text)));
    format!(
        "<p class=\"finding\"><b>{}</b> {}: {}</p>\n{}{}{}<pre>{}</pre>\n",
        html(&id.to_string()),
        html(place),
        html(sentence),
        change.unwrap_or_default(),
        lanes(context),
        difference(diff),
        html(reproduce),
    )
}

/// What came in beside what was seen.
fn lanes(context: &[ContextMoment]) -> String {
    if context.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<table class=\"beside\"><thead><tr><th>time</th><th>what came in</th><th>what was seen</th>\
         </tr></thead><tbody>\n",
    );
    for ContextRow { time, input, output } in rows(context) {
        let (input, output) = (html(input), html(output));
        let _ = writeln!(out, "<tr><td>{time}</td><td>{input}</td><td>{output}</td></tr>");
    }
    out + "</tbody></table>\n"
}

/// An aligned diff.
pub(crate) fn difference(lines: &[DiffLine]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = String::from("<pre class=\"diff\">");
    for line in lines {
        let tag = match line.side {
            DiffSide::Both | DiffSide::Gap => "span",
            DiffSide::Expected => "del",
            DiffSide::Got => "ins",
        };
        let _ = write!(out, "<{tag}>{} ", line.side.mark());
        for (changed, text) in &line.parts {
            let text = html(text);
            let _ = if *changed { write!(out, "<b>{text}</b>") } else { write!(out, "{text}") };
        }
        let _ = write!(out, "</{tag}>");
    }
    out + "</pre>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::align_texts;

    #[test]
    fn a_diff_is_text() {
        let shown = difference(&align_texts("a\n<b>\n", "a\n<script>\n"));
        assert!(shown.contains("<del>- ") && shown.contains("<ins>+ "), "{shown}");
        assert!(!shown.contains("<script"), "{shown}");
    }
}
