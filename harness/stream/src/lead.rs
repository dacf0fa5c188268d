//! The leading reasoning section of a message (T6): some models write `<think>…</think>` into
//! their text. It is reasoning, not answer; a section that never closes was text after all.

/// Names of the tags, in any case.
const TAGS: [&str; 4] = ["think", "thinking", "thought", "antthinking"];

/// Where a message is in its leading section.
#[derive(Debug)]
pub(crate) enum Lead {
    /// What came so far may still become an opening tag.
    Maybe(String),
    /// An opening tag came, and the closing one has not.
    Inside {
        /// Everything so far, the tag included.
        held: String,
        /// Where the reasoning begins in it.
        body: usize,
        /// Which of [`TAGS`].
        tag: &'static str,
        /// Up to where no closing tag was found.
        searched: usize,
    },
    /// The section has closed; white space after it belongs to it.
    After,
    /// All that comes is text.
    Done,
}

impl Default for Lead {
    fn default() -> Self {
        Self::Maybe(String::new())
    }
}

/// A piece of text, sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// Of the answer.
    Visible(&'a str),
    /// Of the reasoning.
    Reasoning(&'a str),
}

/// What a beginning says of the tag it may be.
enum Opening {
    No,
    NotYet,
    Tag(&'static str, usize),
}

impl Lead {
    /// Sorts the next piece; withholds it only while it could belong to a section.
    pub(crate) fn push(&mut self, piece: &str, out: &mut dyn FnMut(Part<'_>)) {
        match self {
            Self::Done => out(Part::Visible(piece)),
            Self::After => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    *self = Self::Done;
                    out(Part::Visible(text));
                }
            }
            Self::Maybe(held) if held.is_empty() && matches!(opening(piece), Opening::No) => {
                *self = Self::Done;
                out(Part::Visible(piece));
            }
            Self::Maybe(held) => {
                held.push_str(piece);
                match opening(held) {
                    Opening::NotYet => {}
                    Opening::No => self.end(out),
                    Opening::Tag(tag, body) => {
                        let held = std::mem::take(held);
                        *self = Self::Inside { held, body, tag, searched: body };
                        self.close(out);
                    }
                }
            }
            Self::Inside { held, .. } => {
                held.push_str(piece);
                self.close(out);
            }
        }
    }

    /// The block has ended: what was withheld is shown as it is. White space decides nothing yet.
    pub(crate) fn end(&mut self, out: &mut dyn FnMut(Part<'_>)) {
        if let Self::Maybe(held) | Self::Inside { held, .. } = std::mem::replace(self, Self::Done) {
            if held.trim().is_empty() {
                *self = Self::default();
            }
            if !held.is_empty() {
                out(Part::Visible(&held));
            }
        }
    }

    /// Ends the section, when its closing tag has come.
    fn close(&mut self, out: &mut dyn FnMut(Part<'_>)) {
        let Self::Inside { held, body, tag, searched } = self else { return };
        let closing = format!("</{tag}>");
        let found = held[*searched..].to_ascii_lowercase().find(&closing);
        let Some(end) = found.map(|at| at + *searched) else {
            let next = held.len().saturating_sub(closing.len()).max(*body);
            *searched = (*body..=next).rev().find(|at| held.is_char_boundary(*at)).unwrap_or(*body);
            return;
        };
        let (held, body) = (std::mem::take(held), *body);
        *self = Self::After;
        out(Part::Reasoning(&held[body..end]));
        self.push(&held[end + closing.len()..], out);
    }
}

fn opening(held: &str) -> Opening {
    let text = held.trim_start();
    let Some(inside) = text.strip_prefix('<') else {
        return if text.is_empty() { Opening::NotYet } else { Opening::No };
    };
    match inside.split_once('>') {
        Some((name, _)) => match TAGS.iter().find(|tag| tag.eq_ignore_ascii_case(name)) {
            Some(tag) => Opening::Tag(tag, held.len() - inside.len() + name.len() + 1),
            None => Opening::No,
        },
        None => {
            let begun = |tag: &&str| {
                tag.get(..inside.len()).is_some_and(|t| t.eq_ignore_ascii_case(inside))
            };
            if TAGS.iter().any(begun) { Opening::NotYet } else { Opening::No }
        }
    }
}

/// A whole text without its leading section.
pub(crate) fn visible(text: &str) -> String {
    let (mut lead, mut shown) = (Lead::default(), String::new());
    let mut keep = |part: Part<'_>| {
        if let Part::Visible(text) = part {
            shown.push_str(text);
        }
    };
    lead.push(text, &mut keep);
    lead.end(&mut keep);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text`, cut into pieces of every size, as `(reasoning, visible)`.
    fn check(text: &str, expect: (&str, &str)) {
        for size in 1..=text.len().max(1) {
            let (mut lead, mut sorted) = (Lead::default(), (String::new(), String::new()));
            let mut keep = |part: Part<'_>| match part {
                Part::Reasoning(t) => sorted.0.push_str(t),
                Part::Visible(t) => sorted.1.push_str(t),
            };
            let mut piece = String::new();
            for c in text.chars() {
                piece.push(c);
                if piece.len() >= size {
                    lead.push(&std::mem::take(&mut piece), &mut keep);
                }
            }
            lead.push(&piece, &mut keep);
            lead.end(&mut keep);
            assert_eq!((sorted.0.as_str(), sorted.1.as_str()), expect, "{text:?} by {size}");
        }
        assert_eq!(visible(text), expect.1);
    }

    #[test]
    fn t6_a_leading_section_is_reasoning() {
        check("<think>plan é</think>\n\nHi <think>", ("plan é", "Hi <think>"));
        check(" \n<THINKING>a</think></Thinking>b", ("a</think>", "b"));
        check("<thought></thought>x", ("", "x"));
    }

    #[test]
    fn t6_anything_else_is_text() {
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
        let mut lead = Lead::default();
        let mut seen = Vec::new();
        for piece in ["<th", "x", "y"] {
            lead.push(piece, &mut |part| seen.push(format!("{part:?}")));
            seen.push("|".to_owned());
        }
        assert_eq!(seen.concat(), r#"|Visible("<thx")|Visible("y")|"#);
    }
}
