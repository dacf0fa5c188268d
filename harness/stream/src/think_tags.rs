//! Separates the leading reasoning section of a message (T6). Some models write `<think>…</think>`
//! into their text. That section is reasoning, not answer; a section that never closes is text
//! after all.

use crate::transcript::TextKind;

/// Names of the tags, in lower case; any case matches.
const TAGS: [&str; 4] = ["think", "thinking", "thought", "antthinking"];

/// The position of a message relative to its leading section.
#[derive(Debug)]
pub(crate) enum ThinkTagFilter {
    /// The text so far could still become an opening tag.
    Maybe(String),
    /// After an opening tag, before its closing tag.
    Inside {
        /// The text so far, including the tag.
        retained: String,
        /// Position at which the reasoning begins.
        body: usize,
        /// The entry of [`TAGS`].
        tag: &'static str,
        /// Position up to which no closing tag was found.
        searched: usize,
    },
    /// The section has closed. White space after it belongs to it.
    After,
    /// All further text is answer.
    Done,
}

impl Default for ThinkTagFilter {
    fn default() -> Self {
        Self::Maybe(String::new())
    }
}

/// Result of looking for an opening tag at the beginning of a text.
enum TagOpening {
    No,
    NotYet,
    Tag(&'static str, usize),
}

impl ThinkTagFilter {
    /// Sorts the next piece, and withholds it only while it could belong to a section.
    pub(crate) fn push(&mut self, piece: &str, out: &mut dyn FnMut(TextKind, &str)) {
        match self {
            Self::Done => out(TextKind::Answer, piece),
            Self::After => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    *self = Self::Done;
                    out(TextKind::Answer, text);
                }
            }
            Self::Maybe(retained)
                if retained.is_empty() && matches!(opening(piece), TagOpening::No) =>
            {
                *self = Self::Done;
                out(TextKind::Answer, piece);
            }
            Self::Maybe(retained) => {
                retained.push_str(piece);
                match opening(retained) {
                    TagOpening::NotYet => {}
                    TagOpening::No => self.end(out),
                    TagOpening::Tag(tag, body) => {
                        let retained = std::mem::take(retained);
                        *self = Self::Inside { retained, body, tag, searched: body };
                        self.close(out);
                    }
                }
            }
            Self::Inside { retained, .. } => {
                retained.push_str(piece);
                self.close(out);
            }
        }
    }

    /// Ends the block and releases the withheld text as answer. White space alone leaves the
    /// question open.
    pub(crate) fn end(&mut self, out: &mut dyn FnMut(TextKind, &str)) {
        if let Self::Maybe(retained) | Self::Inside { retained, .. } =
            std::mem::replace(self, Self::Done)
        {
            if retained.trim().is_empty() {
                *self = Self::default();
            }
            if !retained.is_empty() {
                out(TextKind::Answer, &retained);
            }
        }
    }

    /// Ends the section if its closing tag has come.
    fn close(&mut self, out: &mut dyn FnMut(TextKind, &str)) {
        let Self::Inside { retained, body, tag, searched } = self else { return };
        let closing = format!("</{tag}>");
        let found = retained[*searched..].to_ascii_lowercase().find(&closing);
        let Some(end) = found.map(|at| at + *searched) else {
            let next = retained.len().saturating_sub(closing.len()).max(*body);
            *searched =
                (*body..=next).rev().find(|at| retained.is_char_boundary(*at)).unwrap_or(*body);
            return;
        };
        let (retained, body) = (std::mem::take(retained), *body);
        *self = Self::After;
        out(TextKind::Reasoning, &retained[body..end]);
        self.push(&retained[end + closing.len()..], out);
    }
}

fn opening(retained: &str) -> TagOpening {
    let text = retained.trim_start();
    let Some(inside) = text.strip_prefix('<') else {
        return if text.is_empty() { TagOpening::NotYet } else { TagOpening::No };
    };
    match inside.split_once('>') {
        Some((name, _)) => match TAGS.iter().find(|tag| tag.eq_ignore_ascii_case(name)) {
            Some(tag) => TagOpening::Tag(tag, retained.len() - inside.len() + name.len() + 1),
            None => TagOpening::No,
        },
        None => {
            let begun = |tag: &&str| {
                tag.get(..inside.len()).is_some_and(|t| t.eq_ignore_ascii_case(inside))
            };
            if TAGS.iter().any(begun) { TagOpening::NotYet } else { TagOpening::No }
        }
    }
}

/// Returns a whole text without its leading section.
pub(crate) fn visible(text: &str) -> String {
    let (mut filter, mut shown) = (ThinkTagFilter::default(), String::new());
    let mut keep = |kind, piece: &str| {
        if kind == TextKind::Answer {
            shown.push_str(piece);
        }
    };
    filter.push(text, &mut keep);
    filter.end(&mut keep);
    shown
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Feeds `text` in pieces of every size, and compares its `(reasoning, visible)` parts.
    fn check(text: &str, expect: (&str, &str)) {
        for size in 1..=text.len().max(1) {
            let (mut filter, mut sorted) =
                (ThinkTagFilter::default(), (String::new(), String::new()));
            let mut keep = |kind, piece: &str| match kind {
                TextKind::Reasoning => sorted.0.push_str(piece),
                TextKind::Answer => sorted.1.push_str(piece),
            };
            let mut piece = String::new();
            for c in text.chars() {
                piece.push(c);
                if piece.len() >= size {
                    filter.push(&std::mem::take(&mut piece), &mut keep);
                }
            }
            filter.push(&piece, &mut keep);
            filter.end(&mut keep);
            assert_eq!((sorted.0.as_str(), sorted.1.as_str()), expect, "{text:?} by {size}");
        }
        assert_eq!(visible(text), expect.1);
    }

    #[test]
    pub(crate) fn t6_a_leading_section_is_reasoning() {
        check("<think>plan é</think>\n\nHi <think>", ("plan é", "Hi <think>"));
        check(" \n<THINKING>a</think></Thinking>b", ("a</think>", "b"));
        check("<thought></thought>x", ("", "x"));
    }

    #[test]
    pub(crate) fn t6_anything_else_is_text() {
        for text in [
            "plain",
            "",
            "  ",
            " <b>x</b>",
            "<thinker>x",
            "<think>never closed",
            "x<think>y</think>",
            "<",
        ] {
            check(text, ("", text));
        }
    }

    #[test]
    fn t6_text_is_withheld_only_while_it_could_be_a_tag() {
        let mut filter = ThinkTagFilter::default();
        let mut seen = Vec::new();
        for piece in ["<th", "x", "y"] {
            filter.push(piece, &mut |kind, piece| seen.push(format!("{kind:?} {piece}")));
            seen.push("|".to_owned());
        }
        assert_eq!(seen.concat(), "|Answer <thx|Answer y|");
    }
}
