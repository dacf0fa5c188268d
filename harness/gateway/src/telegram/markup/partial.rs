//! Markdown that is still being written.
//!
//! A draft shows text before its marks are closed. What it shows must look as it will when they
//! are, and not jump from one meaning to another with each piece that comes.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::read::events;

/// Marks that can be alone at the end, and mean something else with the next character.
const MARKS: &[char] = &['*', '_', '~', '`', '#', '-', '=', '+', '|', '>', '[', ']', '!', ' '];
/// Marks that are closed for the reader when they are open at the end.
const PAIRS: [&str; 2] = ["**", "~~"];

/// `text` as it looks when the marks that are open at its end are closed. Marks at its very end say
/// nothing yet and are left out.
pub(in super::super) fn mend(text: &str) -> Cow<'_, str> {
    let text = without_open_marks(text);
    let (start, is_code) = last_block(text);
    if is_code {
        return Cow::Borrowed(text);
    }
    let close = open_marks(&text[start..]);
    if close.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.trim_end().to_owned() + &close)
}

/// Returns the part of `text` in blocks that have ended: a paragraph ends with a blank line or where
/// something else begins, a block of code with its fence.
pub(in super::super) fn finished(text: &str) -> &str {
    // What would come next goes into the last block, or begins one if the last has ended.
    let is_at_line_start = text.trim_end_matches([' ', '\t']).ends_with('\n');
    let probe = if is_at_line_start { "x" } else { "" };
    let whole = format!("{text}{probe}");
    let (start, _) = last_block(&whole);
    text[..start.min(text.len())].trim_end()
}

/// Where the last block begins that is in no other, and whether it is fenced code.
fn last_block(text: &str) -> (usize, bool) {
    let (mut depth, mut last) = (0_usize, (0, false));
    for (event, place) in events(text) {
        let is_code = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    last = (place.start, is_code);
                } else if is_code {
                    last.1 = true;
                }
                depth += 1;
            }
            // Code within a list or a quotation that goes on after it.
            Event::End(TagEnd::CodeBlock) => {
                depth = depth.saturating_sub(1);
                last.1 &= place.end == text.len();
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => last = (place.start, false),
            _ => {}
        }
    }
    last
}

/// `text` without an unfinished last line, or the end of one, that is marks alone.
fn without_open_marks(text: &str) -> &str {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let is_number = |line: &str| line.trim_end_matches(['.', ')']).parse::<u64>().is_ok();
    let rest = &text[line..];
    if rest.chars().all(|c| MARKS.contains(&c)) || is_number(rest) {
        return text[..line].trim_end();
    }
    // A fence that is about to close, or emphasis that may open or not.
    text.trim_end_matches(['*', '~', '`'])
}

/// The marks that close what is open at the end of `block`, the innermost first.
fn open_marks(block: &str) -> String {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = block;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        if c == '\\' {
            length += rest[1..].chars().next().map_or(0, char::len_utf8);
        } else if c == '`' {
            let run = &rest[..rest.len() - rest.trim_start_matches('`').len()];
            match closing(&rest[run.len()..], run) {
                Some(end) => length = run.len() + end,
                // The rest is code.
                None => {
                    open.push(run);
                    break;
                }
            }
        } else if let Some(mark) = PAIRS.into_iter().find(|mark| rest.starts_with(mark)) {
            length = mark.len();
            let opens = rest[length..].starts_with(|c: char| !c.is_whitespace());
            if open.last() == Some(&mark) {
                open.pop();
            } else if opens && !before.is_alphanumeric() {
                open.push(mark);
            }
        }
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    open.iter().rev().copied().collect()
}

/// Where the code ends that a run of backticks like `run` closes.
fn closing(text: &str, run: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|start| at + start) {
        let end = text.len() - text[start..].trim_start_matches('`').len();
        if end - start == run.len() {
            return Some(end);
        }
        at = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v8_open_marks_of_a_draft_are_closed() {
        let cases = [
            ("plain", "plain"),
            ("a **bo", "a **bo**"),
            ("a **bo **", "a **bo**"),
            ("a **", "a "),
            ("**a** b", "**a** b"),
            ("**a ~~b", "**a ~~b~~**"),
            ("say `x", "say `x`"),
            ("say ``a ` b", "say ``a ` b``"),
            ("say `a` b **c", "say `a` b **c**"),
            ("say ``a ` b ``` c`` d **e", "say ``a ` b ``` c`` d **e**"),
            ("say \\`a **b", "say \\`a **b**"),
            ("**see `x", "**see `x`**"),
            ("2 ** 3", "2 ** 3"),
            ("2**3", "2**3"),
            ("one **x\n\ntwo", "one **x\n\ntwo"),
            ("Title\n--", "Title"),
            ("Title\n- ", "Title"),
            ("Steps\n12.", "Steps"),
            ("```\nlet **x", "```\nlet **x"),
            ("```\ncode\n``", "```\ncode"),
            ("- a\n- **b", "- a\n- **b**"),
            ("- a\n  ```\n  x **y", "- a\n  ```\n  x **y"),
        ];
        for (text, expect) in cases {
            assert_eq!(mend(text), expect, "{text}");
        }
    }

    #[test]
    fn v1_a_block_has_ended_when_nothing_more_can_come_into_it() {
        let cases = [
            ("one", ""),
            ("one\n", ""),
            ("one\n\n", "one"),
            ("one\n\ntwo", "one"),
            ("# Head\n", "# Head"),
            ("# Head\ntext", "# Head"),
            ("one\n```\ncode\n\nmore", "one"),
            ("one\n```\ncode\n```", "one"),
            ("one\n```\ncode\n```\n", "one\n```\ncode\n```"),
            ("- a\n- b", ""),
            ("- a\n- b\n\n", "- a\n- b"),
            ("one\n\n---", "one"),
        ];
        for (text, expect) in cases {
            assert_eq!(finished(text), expect, "{text}");
        }
    }
}
