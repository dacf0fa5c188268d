//! One scenario on the page: the lanes that differ, A's beside B's, and what a person ends up reading.

use std::fmt::Write as _;

use crate::compare::{Cell, Chats, Compared, DiffRow, LaneDiff};
use crate::report::page::chat::frames;
use crate::report::page::escape::html;
use crate::report::page::waterfall::seconds;
use crate::text::plural;

/// Draws it; the first one on the page is open. `brief` leaves out the rows.
pub(super) fn section(out: &mut String, number: usize, group: &[&Compared], brief: bool) {
    let Some(first) = group.first() else { return };
    let _ = writeln!(
        out,
        "<section class=\"case\"><h2>{} <small>{}</small></h2>",
        html(&first.title),
        html(&first.scenario)
    );
    for (at, compared) in group.iter().enumerate() {
        let views: Vec<&str> = compared.lanes.iter().map(|lane| lane.view.as_str()).collect();
        let head = format!(
            "{} claude {} <small>{} of {}: {}</small>",
            badge(compared),
            html(&compared.version()),
            views.len(),
            plural(compared.views, "lane"),
            html(&views.join(", ")),
        );
        if let Some(like) = group[..at].iter().find(|other| same(other, compared)) {
            let like = html(&like.version());
            let _ = writeln!(out, "<p>{head}<br>It differs in the same way as {like}.</p>");
            continue;
        }
        let open = if number == 0 && at == 0 { " open" } else { "" };
        let _ = writeln!(out, "<details{open}><summary>{head}</summary>");
        for chats in compared.chats.iter().filter(|_| !brief) {
            bubbles(out, chats);
        }
        for diff in &compared.lanes {
            lane(out, diff, brief);
        }
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

/// Whether two cassettes differ in the same way; their commands differ anyway.
fn same(a: &Compared, b: &Compared) -> bool {
    let told = |one: &Compared| {
        let lanes = one.lanes.iter();
        lanes
            .map(|lane| (lane.view.clone(), lane.first.clone(), lane.rows.clone()))
            .collect::<Vec<_>>()
    };
    a.lanes.len() == b.lanes.len() && a.chats == b.chats && told(a) == told(b)
}

fn badge(compared: &Compared) -> String {
    let class = compared.class().map(|class| class.to_string()).unwrap_or_default();
    format!("<span class=\"badge {class}\">{class}</span>")
}

fn lane(out: &mut String, diff: &LaneDiff, brief: bool) {
    let LaneDiff { view, class, first, consequences, rows, commands } = diff;
    let _ = writeln!(
        out,
        "<div class=\"lane\"><h3>{} <span class=\"badge {class}\">{class}</span></h3>\n<p>{}</p>",
        html(view),
        html(first)
    );
    if !consequences.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">Then {}.</p>", html(&consequences.join(", ")));
    }
    if brief {
        out.push_str("<p class=\"note\">The page is full: compare this scenario alone.</p>\n");
    } else {
        out.push_str("<div class=\"rows\">\n");
        rows.iter().for_each(|one| row(out, one));
        out.push_str("</div>\n");
    }
    let [a, b] = commands;
    let _ = writeln!(out, "<pre>A  {}\nB  {}</pre></div>", html(a), html(b));
}

fn row(out: &mut String, row: &DiffRow) {
    let _ = match row {
        DiffRow::Gap => writeln!(out, "<div class=\"row rest\"><div>⋯</div></div>"),
        DiffRow::More(words) => {
            writeln!(out, "<div class=\"row rest\"><div>{}</div></div>", html(words))
        }
        DiffRow::Same { at, words } => writeln!(
            out,
            "<div class=\"row same\"><div><span class=\"at\">{}</span>{}</div></div>",
            seconds(*at),
            html(words)
        ),
        DiffRow::Differ { class, a, b } => writeln!(
            out,
            "<div class=\"row {class}\">{}{}</div>",
            cell("A", a.as_ref(), "del"),
            cell("B", b.as_ref(), "ins")
        ),
    };
}

fn cell(letter: &str, cell: Option<&Cell>, mark: &str) -> String {
    let class = letter.to_lowercase();
    let mut out = format!("<div class=\"{class}\"><span class=\"tag\">{letter}</span> ");
    let Some(Cell { at, words, fields }) = cell else {
        return out + "<span class=\"none\">nothing</span></div>";
    };
    let _ = write!(out, "<span class=\"at\">{}</span>{}", seconds(*at), html(words));
    for (name, parts) in fields {
        let _ = write!(out, "<div class=\"field\"><span>{}</span> ", html(name));
        for (changed, text) in parts {
            let text = html(text);
            let _ = match changed {
                true => write!(out, "<{mark}>{text}</{mark}>"),
                false => write!(out, "{text}"),
            };
        }
        out.push_str("</div>");
    }
    out + "</div>"
}

/// What a person ends up reading on both sides.
fn bubbles(out: &mut String, chats: &Chats) {
    let _ = writeln!(
        out,
        "<h3>What a person ends up reading <small>{}</small></h3>\n<div class=\"chats\">",
        html(&chats.chats.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    );
    for (letter, entries) in ["A", "B"].iter().zip(&chats.last) {
        let class = letter.to_lowercase();
        let _ = write!(
            out,
            "<div class=\"phone {class}\"><span class=\"tag\">{letter}</span><div class=\"chat\">"
        );
        let messages = frames(entries, chats.profile()).pop().map(|frame| frame.messages);
        for message in messages.iter().flatten() {
            out.push_str("<div class=\"bubble\">");
            for span in &message.spans {
                let (marks, text) = (&span.marks, html(&span.text));
                let _ = write!(out, "<span class=\"{marks}\">{text}</span>");
            }
            out.push_str("</div>");
        }
        if messages.is_none() {
            out.push_str("<p class=\"nothing\">nothing</p>");
        }
        out.push_str("</div></div>\n");
    }
    out.push_str("</div>\n");
}
