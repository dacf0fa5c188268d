//! `preview.svg`: the chat as an animated picture without any script, which GitHub shows inline.

use std::fmt::Write as _;

use super::screen::{StyledRun, moments};
use crate::report::page::escape::html;
use crate::suite::Case;

/// Characters of a line, and lines of a picture.
const COLUMNS: usize = 64;
const LINES: usize = 26;
/// Size of a line and of the picture in user units.
const LINE: usize = 18;
const WIDTH: usize = 560;

/// How a mark looks: what SVG's `tspan` takes.
const LOOKS: [(&str, &str); 7] = [
    ("b", " font-weight=\"600\""),
    ("i", " font-style=\"italic\""),
    ("u", " text-decoration=\"underline\""),
    ("s", " text-decoration=\"line-through\""),
    ("link", " class=\"link\""),
    ("code", " font-family=\"ui-monospace,Menlo,Consolas,monospace\""),
    ("pre", ""),
];

const STYLE: &str = ".sky{fill:#cfe0c8}.bubble{fill:#fff}text{fill:#1d2329;font:13px system-ui,\
    -apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;white-space:pre}.link{fill:#2a7de1}\
    .clock{fill:#5c6773;font-size:11px}@media(prefers-color-scheme:dark){.sky{fill:#0e1621}\
    .bubble{fill:#182533}text{fill:#e6eaee}.clock{fill:#98a3ae}}";

/// Draws it.
pub fn picture(cases: &[Case]) -> String {
    let (moments, end) = moments(cases, COLUMNS);
    let tallest = moments
        .iter()
        .map(|moment| moment.messages.iter().map(|lines| lines.len() * LINE + 26).sum::<usize>());
    let height = (tallest.max().unwrap_or(0) + 34).min(LINES * LINE + 60);
    let names: Vec<String> = cases.iter().map(|case| html(&case.title)).collect();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n<rect class=\"sky\" width=\"{WIDTH}\" height=\"{height}\" rx=\"10\"/>\n",
        names.join(", ")
    );
    for (i, moment) in moments.iter().enumerate() {
        let until = moments.get(i + 1).map_or(end, |next| next.at);
        // Viewers that do not animate show the last moment.
        let display = if i + 1 == moments.len() { "inline" } else { "none" };
        let _ = write!(
            out,
            "<g display=\"{display}\">{}<text class=\"clock\" x=\"{}\" y=\"20\" \
             text-anchor=\"end\">{}.{:03} s</text>",
            animation(moment.at, until, end),
            WIDTH - 14,
            moment.at / 1000,
            moment.at % 1000
        );
        let taken: usize = moment.messages.iter().map(|lines| lines.len() * LINE + 26).sum();
        // What does not fit is above the picture, as in a chat.
        let mut y = i64::try_from(height).unwrap_or(0) - i64::try_from(taken + 4).unwrap_or(0);
        if taken + 34 < height {
            y = 30;
        }
        for lines in &moment.messages {
            let tall = lines.len() * LINE + 18;
            let _ = write!(
                out,
                "<rect class=\"bubble\" x=\"10\" y=\"{y}\" width=\"{}\" height=\"{tall}\" rx=\"10\"/>",
                WIDTH - 20
            );
            for (number, line) in (1i64..).zip(lines) {
                let base = y + number * LINE as i64 + 4;
                let runs: String = line.iter().map(run).collect();
                let _ = write!(out, "<text x=\"22\" y=\"{base}\">{runs}</text>");
            }
            y += i64::try_from(tall).unwrap_or(0) + 8;
        }
        out.push_str("</g>\n");
    }
    out + "</svg>\n"
}

/// Shows a group from one moment to another, over and over.
fn animation(from: u64, to: u64, end: u64) -> String {
    let share = |at: u64| at as f64 / end.max(1) as f64;
    let (values, times) = match (from, to >= end) {
        (0, true) => return String::new(),
        (0, false) => ("inline;none".to_owned(), format!("0;{:.5}", share(to))),
        (_, true) => ("none;inline".to_owned(), format!("0;{:.5}", share(from))),
        (_, false) => {
            ("none;inline;none".to_owned(), format!("0;{:.5};{:.5}", share(from), share(to)))
        }
    };
    format!(
        "<animate attributeName=\"display\" values=\"{values}\" keyTimes=\"{times}\" \
         calcMode=\"discrete\" dur=\"{end}ms\" repeatCount=\"indefinite\"/>"
    )
}

fn run((marks, text): &StyledRun) -> String {
    let look: String = LOOKS
        .iter()
        .filter(|(mark, _)| marks.split(' ').any(|of| of == *mark))
        .map(|(_, look)| *look)
        .collect();
    format!("<tspan{look}>{}</tspan>", html(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_shows_from_its_call_to_the_next() {
        assert!(animation(500, 1000, 2000).contains("keyTimes=\"0;0.25000;0.50000\""));
        assert!(animation(0, 1000, 2000).contains("values=\"inline;none\""));
        assert!(animation(1500, 2000, 2000).contains("values=\"none;inline\""));
    }

    #[test]
    fn recorded_text_is_text() {
        assert_eq!(
            run(&("b".into(), "<script>".into())),
            "<tspan font-weight=\"600\">&lt;script&gt;</tspan>"
        );
    }
}
