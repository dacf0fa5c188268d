//! Reads both versions of Telegram's Markdown: MarkdownV2, and the first version, whose entities do not nest.

use super::text::{EntityOutput, FormattedText, is_link};

/// The characters that are markup outside code.
const RESERVED: &[u8] = b"_*[]()~`>#+-=|{}.!\n";

/// An entity of MarkdownV2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Code,
    Pre,
    TextUrl,
    CustomEmoji,
    BlockQuote,
}

/// The entities, each with its name in the Bot API, its name in errors, and the length of its mark.
const KINDS: [(Kind, &str, &str, usize); 10] = [
    (Kind::Bold, "bold", "Bold", 1),
    (Kind::Italic, "italic", "Italic", 1),
    (Kind::Underline, "underline", "Underline", 2),
    (Kind::Strikethrough, "strikethrough", "Strikethrough", 1),
    (Kind::Spoiler, "spoiler", "Spoiler", 2),
    (Kind::Code, "code", "Code", 1),
    (Kind::Pre, "pre", "Pre", 3),
    (Kind::TextUrl, "text_link", "TextUrl", 1),
    (Kind::CustomEmoji, "custom_emoji", "CustomEmoji", 1),
    (Kind::BlockQuote, "blockquote", "BlockQuote", 1),
];

/// An entity that is still open.
struct OpenEntity {
    kind: Kind,
    /// The language of a `pre`.
    argument: String,
    offset: usize,
    start: usize,
    /// The start of its mark, in bytes of the text as it was sent.
    begin: usize,
}

impl OpenEntity {
    fn row(&self) -> (&'static str, &'static str, usize) {
        let row = KINDS.iter().find(|(kind, ..)| *kind == self.kind);
        row.map_or(("", "", 1), |(_, name, words, mark)| (*name, *words, *mark))
    }

    fn no_end(&self) -> String {
        let name = match self.kind {
            Kind::Pre if !self.argument.is_empty() => "PreCode",
            _ => self.row().1,
        };
        format!("Can't find end of {name} entity at byte offset {}", self.begin)
    }
}

/// The state of the reader of MarkdownV2.
struct MarkdownV2Reader<'t> {
    bytes: &'t [u8],
    text: &'t str,
    at: usize,
    output: EntityOutput,
    open: Vec<OpenEntity>,
    in_quote: bool,
    can_quote: bool,
}

/// Reads a text in MarkdownV2; the error is in Telegram's words.
pub(super) fn parse_v2(text: &str) -> Result<FormattedText, String> {
    let mut reader = MarkdownV2Reader {
        bytes: text.as_bytes(),
        text,
        at: 0,
        output: EntityOutput::default(),
        open: Vec::new(),
        in_quote: false,
        can_quote: true,
    };
    while reader.at < text.len() {
        reader.step()?;
    }
    reader.finish()
}

impl MarkdownV2Reader<'_> {
    /// Returns the byte `ahead` of the position; zero past the end.
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is_escape(&self) -> bool {
        self.byte(0) == b'\\' && (1..=126).contains(&self.byte(1))
    }

    fn push_char(&mut self) {
        let c = self.text.get(self.at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
        self.at += c.len_utf8();
        self.output.push(c);
        if c != '\r' {
            self.can_quote = c == '\n';
        }
    }

    fn step(&mut self) -> Result<(), String> {
        if self.is_escape() {
            self.at += 1;
            self.push_char();
            return Ok(());
        }
        let in_code =
            self.open.last().is_some_and(|open| matches!(open.kind, Kind::Code | Kind::Pre));
        let reserved: &[u8] = if in_code { b"`" } else { RESERVED };
        if !reserved.contains(&self.byte(0)) {
            self.push_char();
            return Ok(());
        }
        if self.is_end() { self.end() } else { self.begin() }
    }

    /// Returns whether the mark at the position ends the innermost entity.
    fn is_end(&self) -> bool {
        let Some(open) = self.open.last() else { return false };
        let c = self.byte(0);
        if self.in_quote && c == b'\n' && self.byte(1) != b'>' {
            return true;
        }
        match open.kind {
            Kind::Bold => c == b'*',
            Kind::Italic => c == b'_' && self.byte(1) != b'_',
            Kind::Underline => c == b'_' && self.byte(1) == b'_',
            Kind::Strikethrough => c == b'~',
            Kind::Spoiler => c == b'|' && self.byte(1) == b'|',
            Kind::Code => c == b'`',
            Kind::Pre => c == b'`' && self.byte(1) == b'`' && self.byte(2) == b'`',
            Kind::TextUrl | Kind::CustomEmoji => c == b']',
            Kind::BlockQuote => false,
        }
    }

    fn reserved(&self) -> String {
        let c = char::from(self.byte(0));
        format!("Character '{c}' is reserved and must be escaped with the preceding '\\'")
    }

    /// Opens the entity whose mark is at the position.
    fn begin(&mut self) -> Result<(), String> {
        let begin = self.at;
        let mut argument = String::new();
        let kind = match (self.byte(0), self.byte(1)) {
            (b'\n', _) => {
                self.push_char();
                return Ok(());
            }
            (b'>', _) if self.can_quote && self.in_quote => {
                self.at += 1;
                return Ok(());
            }
            (b'>', _) if self.can_quote => {
                self.in_quote = true;
                Kind::BlockQuote
            }
            (b'_', b'_') => Kind::Underline,
            (b'_', _) => Kind::Italic,
            (b'*', _) => Kind::Bold,
            (b'~', _) => Kind::Strikethrough,
            (b'|', b'|') => Kind::Spoiler,
            (b'[', _) => Kind::TextUrl,
            (b'!', b'[') => {
                self.at += 1;
                Kind::CustomEmoji
            }
            (b'`', b'`') if self.byte(2) == b'`' => Kind::Pre,
            (b'`', _) => Kind::Code,
            _ => return Err(self.reserved()),
        };
        let row = KINDS.iter().find(|(known, ..)| *known == kind);
        self.at += row.map_or(1, |(.., mark)| *mark);
        if kind == Kind::Pre {
            argument = self.language();
        }
        let (offset, start) = (self.output.length, self.output.text.len());
        self.open.push(OpenEntity { kind, argument, offset, start, begin });
        Ok(())
    }

    /// Reads the language of a `pre` and the line break behind it.
    fn language(&mut self) -> String {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(rest.len());
        let language = match rest[end..].starts_with('`') || end == rest.len() {
            true => "",
            false => &rest[..end],
        };
        self.at += language.len();
        let is_break = |byte: u8| byte == b'\n' || byte == b'\r';
        if is_break(self.byte(0)) {
            let two = is_break(self.byte(1)) && self.byte(0) != self.byte(1);
            self.at += if two { 2 } else { 1 };
        }
        language.to_owned()
    }

    /// Ends the innermost entity, whose mark is at the position.
    fn end(&mut self) -> Result<(), String> {
        let Some(mut open) = self.open.pop() else { return Ok(()) };
        let mut name = open.row().0;
        if self.byte(0) == b'\n' && open.kind != Kind::BlockQuote {
            // Two bars at the end of a quote make it expandable.
            if open.kind != Kind::Spoiler || open.begin + 2 != self.at {
                return Err(open.no_end());
            }
            open = self.open.pop().ok_or_else(|| open.no_end())?;
            if open.kind != Kind::BlockQuote {
                return Err(open.no_end());
            }
            name = "expandable_blockquote";
        }
        let (mark, offset) = (open.row().2, open.offset);
        match open.kind {
            Kind::BlockQuote => {
                self.in_quote = false;
                self.push_char();
                self.output.close(name, offset, &[]);
            }
            Kind::TextUrl => {
                self.at += mark;
                let own = self.output.text[open.start..].to_owned();
                let url = if self.byte(0) == b'(' { self.url()? } else { own };
                if is_link(&url) {
                    self.output.close(name, offset, &[("url", &url)]);
                }
            }
            Kind::CustomEmoji => {
                self.at += mark;
                if self.byte(0) != b'(' {
                    return Err("The entity must contain a tg://emoji or tg://time URL".to_owned());
                }
                let url = self.url()?;
                let Some(id) = url.strip_prefix("tg://emoji?id=") else {
                    return Err("Invalid tg://emoji or tg://time URL specified".to_owned());
                };
                self.output.close(name, offset, &[("custom_emoji_id", id)]);
            }
            Kind::Pre if !open.argument.is_empty() => {
                self.at += mark;
                self.output.close(name, offset, &[("language", &open.argument)]);
            }
            _ => {
                self.at += mark;
                self.output.close(name, offset, &[]);
            }
        }
        Ok(())
    }

    /// Reads the address in parentheses.
    fn url(&mut self) -> Result<String, String> {
        self.at += 1;
        let begin = self.at;
        let mut url = String::new();
        while self.at < self.bytes.len() && self.byte(0) != b')' {
            self.at += usize::from(self.is_escape());
            let c = self.text.get(self.at..).and_then(|rest| rest.chars().next());
            let c = c.unwrap_or_default();
            self.at += c.len_utf8();
            url.push(c);
        }
        if self.byte(0) != b')' {
            return Err(format!("Can't find end of a URL at byte offset {begin}"));
        }
        self.at += 1;
        Ok(url)
    }

    fn finish(mut self) -> Result<FormattedText, String> {
        if self.in_quote {
            let mut name = "blockquote";
            let is_fold = self.open.last().is_some_and(|open| {
                open.kind == Kind::Spoiler && open.begin + 2 == self.bytes.len()
            });
            if is_fold {
                self.open.pop();
                name = "expandable_blockquote";
            }
            if let Some(open) = self.open.pop_if(|open| open.kind == Kind::BlockQuote) {
                self.output.close(name, open.offset, &[]);
            }
        }
        match self.open.last() {
            Some(open) => Err(open.no_end()),
            None => Ok(self.output.done()),
        }
    }
}

/// Reads a text in the first version of Markdown; the error is in Telegram's words.
pub(super) fn parse_v1(text: &str) -> Result<FormattedText, String> {
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
    use super::super::text::checks::check;
    use super::*;

    #[test]
    fn marks_of_the_second_kind_nest() {
        for (markdown, text, entities) in [
            ("a\\.b", "a.b", ""),
            (
                "*b _i_* __u__ ~s~ ||x||",
                "b i u s x",
                "italic 2+1, bold 0+3, underline 4+1, strikethrough 6+1, spoiler 8+1",
            ),
            ("`a.b` ```sh\nls -l\n```", "a.b ls -l\n", "code 0+3, pre 4+6"),
            ("[t](https://e.org/a_b)", "t", "text_link 0+1"),
            (">q\n>r\nx", "q\nr\nx", "blockquote 0+4"),
            (">q\n>r||", "q\nr", "expandable_blockquote 0+3"),
            ("😀*b*", "😀b", "bold 2+1"),
        ] {
            check(parse_v2, markdown, text, entities);
        }
    }

    #[test]
    fn errors_are_those_of_telegram() {
        for (markdown, expect) in [
            ("a.b", "Character '.' is reserved and must be escaped with the preceding '\\'"),
            ("a > b", "Character '>' is reserved and must be escaped with the preceding '\\'"),
            ("é *b", "Can't find end of Bold entity at byte offset 3"),
            ("```sh\nx", "Can't find end of PreCode entity at byte offset 0"),
            ("[t](https://e.org", "Can't find end of a URL at byte offset 4"),
        ] {
            assert_eq!(parse_v2(markdown).unwrap_err(), expect, "{markdown}");
        }
    }

    #[test]
    fn marks_of_the_first_kind_do_not_nest() {
        for (markdown, text, entities) in [
            ("*b* _i_ `c` a.b", "b i c a.b", "bold 0+1, italic 2+1, code 4+1"),
            ("```sh\nls```", "ls", "pre 0+2"),
            ("[t](https://e.org) [u]", "t u", "text_link 0+1"),
            ("a\\_b", "a_b", ""),
        ] {
            check(parse_v1, markdown, text, entities);
        }
    }

    #[test]
    fn a_mark_without_an_end_is_an_error() {
        let expect = "Can't find end of the entity starting at byte offset 2";
        assert_eq!(parse_v1("a _b").unwrap_err(), expect);
    }
}
