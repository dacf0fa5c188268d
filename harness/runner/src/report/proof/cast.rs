//! Writes `preview.cast`: the chat as an asciicast, version 3.

use std::fmt::Write as _;

use clitape_recording::text::markup::BUTTON;
use clitape_recording::text::{self, plain};
use serde_json::json;

use super::picture::moments;
use crate::report::page::chat::{StyledRun, columns};
use crate::suite::ProofCase;

/// The columns and rows of the terminal.
const COLUMNS: usize = 72;
const ROWS: usize = 24;
/// The columns of a line of a message.
const WIDTH: usize = COLUMNS - 4;

/// The number of the terminal style for each mark.
const SGR: [(&str, u8); 7] =
    [("b", 1), ("i", 3), ("u", 4), ("link", 4), ("s", 9), ("code", 36), (BUTTON, 1)];

/// Writes the asciicast. Its only control characters are those of the format.
pub fn cast(cases: &[ProofCase]) -> String {
    let names: Vec<String> = cases.iter().map(|case| plain(&case.title)).collect();
    let header = json!({
        "version": 3, "term": { "cols": COLUMNS, "rows": ROWS }, "title": names.join(", "),
    });
    let mut out = format!("{}\n", text::json(&header.to_string()));
    let (moments, end) = moments(cases, WIDTH);
    let mut before = 0;
    for moment in moments {
        let mut lines = Vec::new();
        for message in &moment.messages {
            let title = if message.is_own { " You ─" } else { "" };
            lines.push(format!("╭{title:─>0$}╮", WIDTH + 2));
            lines.extend(message.lines.iter().map(|line| {
                let text: String = line.iter().map(run).collect();
                let before = " ".repeat(WIDTH.saturating_sub(columns(line)));
                if message.is_own {
                    format!("  {before}{} │", text.trim_end())
                } else {
                    format!("│ {text}")
                }
            }));
            lines.push(format!("╰{}╯", "─".repeat(WIDTH + 2)));
        }
        let from = lines.len().saturating_sub(ROWS - 1);
        let screen = format!("\u{1b}[H\u{1b}[2J{}\r\n", lines[from..].join("\r\n"));
        event(&mut out, moment.at - before, "o", &screen);
        before = moment.at;
    }
    event(&mut out, end - before, "x", "0");
    out
}

fn event(out: &mut String, after_ms: u64, code: &str, data: &str) {
    let seconds = after_ms as f64 / 1000.0;
    let _ = writeln!(out, "{}", text::json(&json!([seconds, code, data]).to_string()));
}

fn run((marks, text): &StyledRun) -> String {
    let codes: Vec<String> = SGR
        .iter()
        .filter(|(mark, _)| marks.split(' ').any(|of| of == *mark))
        .map(|(_, code)| code.to_string())
        .collect();
    if codes.is_empty() {
        return text.clone();
    }
    format!("\u{1b}[{}m{text}\u{1b}[0m", codes.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_colours_and_nothing_recorded_does() {
        assert_eq!(run(&("b code".into(), "x".into())), "\u{1b}[1;36mx\u{1b}[0m");
        assert_eq!(run(&("quote".into(), "x".into())), "x");
        assert_eq!(run(&("button".into(), "[ x ]".into())), "\u{1b}[1m[ x ]\u{1b}[0m");
    }
}
