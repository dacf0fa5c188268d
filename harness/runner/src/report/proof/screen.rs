//! The chat as lines of runs, wrapped at words: what both pictures draw.

use crate::replay::Entry;
use crate::report::page::chat::{ChatFrame, ChatMessage, frames};
use crate::report::page::markup::Span;

use crate::suite::Case;

/// A run on a line: its marks and its text.
pub(super) type StyledRun = (String, String);

/// One moment of a picture.
pub(super) struct PictureMoment {
    /// Since the beginning, in ms.
    pub(super) at: u64,
    /// The messages, each a list of lines.
    pub(super) messages: Vec<Vec<Vec<StyledRun>>>,
}

/// What a tab is in a picture.
const TAB: &str = "    ";
/// Time between two runs of a picture, in ms.
const PAUSE: u64 = 2_000;

/// The moments of all cases one after another, and when the last one has been seen.
pub(super) fn moments(cases: &[Case], width: usize) -> (Vec<PictureMoment>, u64) {
    let mut moments = Vec::new();
    let mut began = 0;
    for case in cases {
        // What a run left in the chat stays there in the next one.
        let mut before = Vec::new();
        for run in &case.runs {
            let end = run.entries.iter().map(|entry: &Entry| entry.at).max().unwrap_or(0);
            moments.push(PictureMoment { at: began, messages: before.clone() });
            let mut now = before.clone();
            for ChatFrame { at, messages, .. } in frames(&run.entries, case.chat.profile) {
                now.truncate(before.len());
                now.extend(messages.iter().map(|message| lines(message, width)));
                moments.push(PictureMoment { at: began + at, messages: now.clone() });
            }
            before = now;
            began += end + PAUSE;
        }
    }
    (moments, began)
}

/// A message in lines no wider than `width` characters.
fn lines(message: &ChatMessage, width: usize) -> Vec<Vec<StyledRun>> {
    let mut lines: Vec<Vec<StyledRun>> = vec![Vec::new()];
    let mut used = 0;
    for Span { text, marks, .. } in &message.spans {
        for (i, part) in text.replace('\t', TAB).split('\n').enumerate() {
            if i > 0 {
                lines.push(Vec::new());
                used = 0;
            }
            for word in part.split_inclusive(' ') {
                let long = word.trim_end().chars().count();
                if used > 0 && used + long > width {
                    lines.push(Vec::new());
                    used = 0;
                }
                for piece in pieces(word, width) {
                    if used > 0 && used + piece.trim_end().chars().count() > width {
                        lines.push(Vec::new());
                        used = 0;
                    }
                    used += piece.chars().count();
                    add(&mut lines, marks, &piece);
                }
            }
        }
    }
    lines
}

/// A word longer than a line, cut.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    if chars.len() <= width {
        return vec![word.to_owned()];
    }
    chars.chunks(width).map(|piece| piece.iter().collect()).collect()
}

fn add(lines: &mut [Vec<StyledRun>], marks: &str, text: &str) {
    let Some(line) = lines.last_mut() else { return };
    match line.last_mut() {
        Some((of, last)) if of == marks => last.push_str(text),
        _ => line.push((marks.to_owned(), text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::markup::spans;

    #[test]
    fn lines_break_at_words_and_keep_their_marks() {
        let message = ChatMessage {
            edits: 0,
            is_final: false,
            spans: spans("one <b>two th</b>ree\nabcdefghijk"),
        };
        let lines: Vec<String> = lines(&message, 8)
            .iter()
            .map(|line| line.iter().map(|(marks, text)| format!("{marks}:{text}|")).collect())
            .collect();
        assert_eq!(lines, [":one |b:two |", "b:th|:ree|", ":abcdefgh|", ":ijk|"]);
    }
}
