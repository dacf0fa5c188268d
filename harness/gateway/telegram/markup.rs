//! Reads a model's markdown as pieces of one style each (V8), and writes pieces as Telegram HTML.
//!
//! Fenced and inline code and `**bold**` are understood; everything else is text. Telegram allows
//! no entity inside code, so no piece has two styles.

/// Characters of a language's name.
const LANGUAGE_LIMIT: usize = 30;

/// How a piece looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Bold,
    Italic,
    Code,
    /// A fenced block; the language may be empty.
    Block(String),
}

impl Style {
    /// The tags around a piece.
    pub(super) fn tags(&self) -> (String, &'static str) {
        match self {
            Self::Plain => (String::new(), ""),
            Self::Bold => ("<b>".to_owned(), "</b>"),
            Self::Italic => ("<i>".to_owned(), "</i>"),
            Self::Code => ("<code>".to_owned(), "</code>"),
            Self::Block(language) if language.is_empty() => ("<pre>".to_owned(), "</pre>"),
            Self::Block(language) => {
                (format!("<pre><code class=\"language-{language}\">"), "</code></pre>")
            }
        }
    }
}

/// A stretch of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) style: Style,
    pub(super) text: String,
}

/// A piece of `text`.
pub(super) fn piece(style: Style, text: impl Into<String>) -> Piece {
    Piece { style, text: text.into() }
}

/// The HTML for one character, if it needs any.
pub(super) fn escape(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}

/// `markdown` as pieces. A fence that is not closed reaches to the end.
pub(super) fn read(markdown: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut plain_from = 0;
    let mut at = 0;
    while at < markdown.len() {
        let line_end = end_of_line(markdown, at);
        let Some(fence) = Fence::open(&markdown[at..line_end]) else {
            at = line_end;
            continue;
        };
        read_inline(&markdown[plain_from..at], &mut out);
        let (code_end, after) = fence.close(markdown, line_end);
        let code = markdown[line_end..code_end].trim_end();
        out.push(piece(Style::Block(fence.language), code));
        // The newline after the closing fence belongs to the text that follows.
        plain_from = after;
        at = end_of_line(markdown, after);
    }
    read_inline(&markdown[plain_from..], &mut out);
    out.retain(|piece| !piece.text.is_empty());
    out
}

/// The place after the newline of the line at `at`.
fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |n| at + n + 1)
}

struct Fence {
    mark: char,
    length: usize,
    language: String,
}

impl Fence {
    fn open(line: &str) -> Option<Self> {
        let (mark, length, rest) = marks(line)?;
        // A backtick further on makes it inline code.
        if mark == '`' && rest.contains('`') {
            return None;
        }
        let language = rest.split_whitespace().next().unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_+#.-".contains(c);
        Some(Self {
            mark,
            length,
            language: (language.chars().filter(|c| is_name(*c))).take(LANGUAGE_LIMIT).collect(),
        })
    }

    /// Where the code that begins at `from` ends, and where the text after it begins.
    fn close(&self, text: &str, from: usize) -> (usize, usize) {
        let mut at = from;
        while at < text.len() {
            let end = end_of_line(text, at);
            if let Some((mark, length, rest)) = marks(&text[at..end])
                && mark == self.mark
                && length >= self.length
                && rest.trim().is_empty()
            {
                let has_newline = text[at..end].ends_with('\n');
                return (at, if has_newline { end - 1 } else { end });
            }
            at = end;
        }
        (text.len(), text.len())
    }
}

/// The mark of a fence line, how many there are, and the rest of the line.
fn marks(line: &str) -> Option<(char, usize, &str)> {
    let body = line.trim_start_matches(' ');
    let mark = body.chars().next().filter(|c| ['`', '~'].contains(c))?;
    let rest = body.trim_start_matches(mark);
    let length = body.len() - rest.len();
    (length >= 3 && line.len() - body.len() <= 3).then_some((mark, length, rest))
}

fn read_inline(text: &str, out: &mut Vec<Piece>) {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let mark = if rest.starts_with('`') { '`' } else { '*' };
        let opened = if mark == '`' { code(rest) } else { bold(rest) };
        let (found, after) = opened.unwrap_or_else(|| {
            // A run of marks that opens nothing is text as a whole.
            let after = rest.trim_start_matches(mark);
            plain.push_str(&rest[..rest.len() - after.len()]);
            (Vec::new(), after)
        });
        if !found.is_empty() {
            out.push(piece(Style::Plain, std::mem::take(&mut plain)));
            out.extend(found);
        }
        rest = after;
    }
    plain.push_str(rest);
    out.push(piece(Style::Plain, plain));
}

/// Inline code at the start of `text`, and what comes after it.
fn code(text: &str) -> Option<(Vec<Piece>, &str)> {
    let body = text.trim_start_matches('`');
    let mark = &text[..text.len() - body.len()];
    let mut at = 0;
    loop {
        let start = at + body[at..].find(['`', '\n'])?;
        let end = body.len() - body[start..].trim_start_matches('`').len();
        if end == start {
            // The line ends first.
            return None;
        }
        if end - start == mark.len() {
            let inner = &body[..start];
            let is_blank = inner.trim().is_empty();
            return (!is_blank).then(|| (vec![piece(Style::Code, inner)], &body[end..]));
        }
        at = end;
    }
}

/// Bold text at the start of `text`, and what comes after it. Code within stays code.
fn bold(text: &str) -> Option<(Vec<Piece>, &str)> {
    let body = text.strip_prefix("**")?;
    let end = body.find("**")?;
    let inner = &body[..end];
    let edges = |c: char| c.is_whitespace() || c == '*';
    let cuts_code = inner.matches('`').count() % 2 == 1;
    let many_lines = inner.contains('\n');
    if many_lines
        || inner.is_empty()
        || inner.starts_with(edges)
        || inner.ends_with(edges)
        || cuts_code
    {
        return None;
    }
    let mut pieces = Vec::new();
    read_inline(inner, &mut pieces);
    for piece in &mut pieces {
        if piece.style == Style::Plain {
            piece.style = Style::Bold;
        }
    }
    pieces.retain(|piece| !piece.text.is_empty());
    Some((pieces, &body[end + 2..]))
}

#[cfg(test)]
mod tests {
    use super::super::page::pages;
    use super::*;

    #[test]
    fn v8_markdown_becomes_html() {
        let cases = [
            ("plain", "plain"),
            ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
            ("<b>not bold</b>", "&lt;b&gt;not bold&lt;/b&gt;"),
            ("&lt;", "&amp;lt;"),
            ("use `a<b` now", "use <code>a&lt;b</code> now"),
            ("``a`b`` x", "<code>a`b</code> x"),
            ("a ` b", "a ` b"),
            ("`open\nnext` x", "`open\nnext` x"),
            ("a **bold & co** b", "a <b>bold &amp; co</b> b"),
            ("**a `x**y` b**", "**a <code>x**y</code> b**"),
            ("**see `x`**", "<b>see </b><code>x</code>"),
            ("2 ** 3 ** 4", "2 ** 3 ** 4"),
            ("**open", "**open"),
            ("****", "****"),
            ("**a\nb** c", "**a\nb** c"),
            ("========", "========"),
            (
                "see\n```rust\nlet a = &b;\n\n**x**\n```\ndone",
                "see\n<pre><code class=\"language-rust\">let a = &amp;b;\n\n**x**</code></pre>\ndone",
            ),
            ("```\ncode", "<pre>code</pre>"),
            ("```sh\"><b>\nx\n```", "<pre><code class=\"language-shb\">x</code></pre>"),
            ("~~~\na\n```\nb\n~~~", "<pre>a\n```\nb</pre>"),
            ("````\n```\n````", "<pre>```</pre>"),
            ("```inline``` x", "<code>inline</code> x"),
            ("    ```\nx", "```\nx"),
        ];
        for (markdown, expect) in cases {
            assert_eq!(pages(&read(markdown), 4_096), [expect], "{markdown}");
        }
    }
}
