//! Reads the first version of Telegram's Markdown, whose entities do not nest.

use super::output::{EntityOutput, FormattedText, is_link};

/// Reads a text in the first version of Markdown; the error is in Telegram's words.
pub(super) fn parse(text: &str) -> Result<FormattedText, String> {
    let mut output = EntityOutput::default();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c == '\\' && rest[1..].starts_with(['_', '*', '`', '[']) {
            output.push(rest[1..].chars().next().unwrap_or_default());
            at += 2;
            continue;
        }
        let (mark, end, kind) = match c {
            '_' => ("_", "_", "italic"),
            '*' => ("*", "*", "bold"),
            '`' if rest.starts_with("```") => ("```", "```", "pre"),
            '`' => ("`", "`", "code"),
            '[' => ("[", "]", "text_link"),
            _ => {
                output.push(c);
                at += c.len_utf8();
                continue;
            }
        };
        let inner = &rest[mark.len()..];
        let Some(length) = inner.find(end) else {
            return Err(format!("Can't find end of the entity starting at byte offset {at}"));
        };
        let offset = output.length;
        let mut content = &inner[..length];
        at += mark.len() + length + end.len();
        let mut language = "";
        if kind == "pre" {
            let first = content.split(char::is_whitespace).next().unwrap_or_default();
            if first.len() < content.len() {
                language = first;
                content = content[first.len()..].trim_start_matches(['\n', '\r']);
            }
        }
        content.chars().for_each(|c| output.push(c));
        if kind == "text_link" {
            let url = text[at..].strip_prefix('(').and_then(|url| url.split_once(')'));
            let Some((url, _)) = url else { continue };
            at += url.len() + 2;
            if is_link(url) {
                output.close(kind, offset, &[("url", url)]);
            }
        } else if language.is_empty() {
            output.close(kind, offset, &[]);
        } else {
            output.close(kind, offset, &[("language", language)]);
        }
    }
    Ok(output.done())
}

#[cfg(test)]
mod tests {
    use super::super::output::checks::check;
    use super::*;

    #[test]
    fn marks_of_the_first_kind_do_not_nest() {
        for (markdown, text, entities) in [
            ("*b* _i_ `c` a.b", "b i c a.b", "bold 0+1, italic 2+1, code 4+1"),
            ("```sh\nls```", "ls", "pre 0+2"),
            ("[t](https://e.org) [u]", "t u", "text_link 0+1"),
            ("a\\_b", "a_b", ""),
        ] {
            check(parse, markdown, text, entities);
        }
    }

    #[test]
    fn a_mark_without_an_end_is_an_error() {
        let expect = "Can't find end of the entity starting at byte offset 2";
        assert_eq!(parse("a _b").unwrap_err(), expect);
    }
}
