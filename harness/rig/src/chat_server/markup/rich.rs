//! Rich messages of the Bot API 10.1 to 10.3: what a bot sends, and what the server makes of it.
//!
//! A bot sends HTML, Markdown, or blocks (<https://core.telegram.org/bots/api#inputrichmessage>). HTML and Markdown
//! become blocks (`rich_tree`), and blocks become the text that a person reads (`rich_blocks`). The words of the errors
//! are those of the live server, as gateways report them: the structural ones in
//! <https://github.com/openclaw/openclaw>, which has verified them against Bot API 10.2, the one about addresses in
//! <https://github.com/openclaw/openclaw/issues/96363>.

use serde_json::{Value, json};

use super::rich_blocks::{RichUse, draw};
use super::rich_tree::{html_blocks, markdown_blocks};
use super::text::FormattedText;
use crate::limits::json_bytes;

/// A rich message as the server keeps it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::chat_server) struct RichMessage {
    /// The message as the Bot API describes it.
    pub(in crate::chat_server) json: Value,
    /// The text that a person reads.
    pub(in crate::chat_server) text: FormattedText,
    /// The rows of the buttons within it, each button with a plain text.
    pub(in crate::chat_server) rows: Vec<Vec<Value>>,
}

impl RichMessage {
    /// Returns the bytes of memory that it takes.
    pub(in crate::chat_server) fn bytes(&self) -> usize {
        let rows = self.rows.iter().flatten().map(json_bytes).sum::<usize>();
        json_bytes(&self.json) + self.text.text.capacity() + rows
    }
}

/// The forms in which a bot sends a rich message: the field, and the mode of the text in an entry.
const FORMS: [(&str, &str); 3] =
    [("html", "rich html"), ("markdown", "rich markdown"), ("blocks", "rich blocks")];

/// A rich message as a bot sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::chat_server) struct SentRich {
    /// The mode of the text in an entry, such as `rich html`.
    pub(in crate::chat_server) mode: &'static str,
    /// The text; blocks are JSON.
    pub(in crate::chat_server) source: String,
    is_rtl: bool,
}

impl SentRich {
    /// Reads the text of an entry; `None` if it has another mode.
    pub(super) fn of(mode: &str, source: &str) -> Option<Self> {
        let (_, mode) = FORMS.into_iter().find(|(_, known)| *known == mode)?;
        Some(Self { mode, source: source.to_owned(), is_rtl: false })
    }

    /// Reads the parameter of a call, an `InputRichMessage`.
    pub(in crate::chat_server) fn parameter(input: &Value) -> Result<Self, String> {
        let given =
            |field: &&(&str, &str)| input.get(field.0).is_some_and(|value| !value.is_null());
        let mut forms = FORMS.iter().filter(given);
        let (field, mode) = forms.next().ok_or("rich message must be non-empty")?;
        if forms.next().is_some() {
            // The Bot API says so in its documentation; the server's own words are unknown.
            return Err(
                "exactly one of the fields html, markdown, or blocks must be used".to_owned()
            );
        }
        let source = match &input[*field] {
            Value::String(text) if *field != "blocks" => text.clone(),
            Value::Array(blocks) if *field == "blocks" => Value::Array(blocks.clone()).to_string(),
            _ => {
                return Err(format!(
                    "can't parse InputRichMessage: field \"{field}\" has a wrong type"
                ));
            }
        };
        Ok(Self { mode, source, is_rtl: input["is_rtl"] == true })
    }

    /// Reads the message; the error is in the server's words.
    pub(in crate::chat_server) fn read(&self, using: RichUse) -> Result<RichMessage, String> {
        let is_blank = self.source.trim().is_empty();
        let blocks = match self.mode {
            "rich markdown" if is_blank => return Err("RICH_MESSAGE_MARKDOWN_INVALID".to_owned()),
            "rich html" if is_blank => return Err("RICH_MESSAGE_HTML_INVALID".to_owned()),
            "rich markdown" => markdown_blocks(&self.source)?,
            "rich html" => html_blocks(&self.source)?,
            _ => serde_json::from_str(&self.source).unwrap_or_default(),
        };
        let (text, rows) = draw(&blocks, using)?;
        let mut json = json!({ "blocks": blocks });
        if self.is_rtl {
            json["is_rtl"] = true.into();
        }
        Ok(RichMessage { json, text, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::html;
    use super::*;

    /// Reads a message, and compares its HTML or its error.
    fn check(mode: &str, source: &str, expect: Result<&str, &str>) {
        let read = SentRich::of(mode, source).unwrap().read(RichUse::Message);
        let read = read.map(|rich| html(&rich.text));
        assert_eq!(read.as_deref().map_err(String::as_str), expect, "{source}");
    }

    #[test]
    fn markdown_is_read_as_the_live_server_reads_it() {
        for (source, expect) in [
            ("**a** _b_ `c` ~~d~~", "<b>a</b> <i>b</i> <code>c</code> <s>d</s>"),
            ("# Head\n\ntwo\nlines", "<b>Head</b>\n\ntwo lines"),
            ("- a\n- b\n  1. c\n", "• a\n• b\n  1. c"),
            ("- [ ] a\n- [x] b", "☐ a\n☑ b"),
            ("> a\n>\n> b", "<blockquote>a\n\nb</blockquote>"),
            ("| H | I |\n|---|:-:|\n| a | **b** |", "<b>H</b> | <b>I</b>\na | <b>b</b>"),
            ("```sh\nls <b>\n```", "<pre><code class=\"language-sh\">ls &lt;b&gt;</code></pre>"),
            ("a\n\n---\n\nb", "a\n\n———\n\nb"),
            ("[x](https://e.org/)", "<a href=\"https://e.org/\">x</a>"),
            ("[x](javascript:y)", "x"),
            ("==a== ||b||", "a <tg-spoiler>b</tg-spoiler>"),
            // A run of two underscores emphasises even inside a word.
            ("mcp__brain__auth EXA_API_KEY", "mcp<b>brain</b>auth EXA_API_KEY"),
            ("<u>a</u> <script>b</script>", "<u>a</u> "),
            (
                "<details><summary>S</summary>\n\n- a\n\n</details>",
                "<b>S</b>\n<blockquote>• a</blockquote>",
            ),
            ("costs $5 to $10, $x^2$", "costs $5 to $10, <code>x^2</code>"),
            ("![](https://e.org/a.png \"cap\")", "📎 a.png\ncap"),
            ("a[^1]\n\n[^1]: b", "a[1]\n\n[1] b"),
            ("## ", ""),
        ] {
            let expect =
                if expect.is_empty() { Err("RICH_MESSAGE_EMPTY") } else { Ok(expect.trim_end()) };
            check("rich markdown", source, expect);
        }
    }

    #[test]
    fn html_is_read_with_its_blocks() {
        for (source, expect) in [
            ("<h1>A &amp; b</h1><p>c<br/>d</p>", "<b>A &amp; b</b>\n\nc\nd"),
            ("text <b>bold\n and</b> more", "text <b>bold and</b> more"),
            ("<ul><li>a</li><li><input type=\"checkbox\" checked>b</li></ul>", "• a\n☑ b"),
            ("<ol start=\"3\"><li>a</li><li>b</li></ol>", "3. a\n4. b"),
            ("<table><tr><th>a</th><td>b</td></tr></table>", "<b>a</b> | b"),
            (
                "<blockquote expandable>a<cite>c</cite></blockquote>",
                "<blockquote>a\n— c</blockquote>",
            ),
            (
                "<figure><img src=\"tg://photo?id=x\"/><figcaption>c</figcaption></figure>",
                "📎 x\nc",
            ),
            (
                "<footer>f</footer><hr/><tg-math-block>x</tg-math-block>",
                "f\n\n———\n\n<code>x</code>",
            ),
            ("&hellip;&nbsp;&#33;", "…\u{a0}!"),
        ] {
            check("rich html", source, Ok(expect));
        }
    }

    #[test]
    fn limits_and_errors_have_the_words_of_the_live_server() {
        let many = |part: &str, count: usize| part.repeat(count);
        let deep = format!("{}a", "> ".repeat(17));
        for (mode, source, error) in [
            ("rich markdown", " \n".to_owned(), "RICH_MESSAGE_MARKDOWN_INVALID"),
            ("rich html", String::new(), "RICH_MESSAGE_HTML_INVALID"),
            ("rich html", "<b>a".to_owned(), "RICH_MESSAGE_HTML_INVALID"),
            ("rich html", "<b>a</i>".to_owned(), "RICH_MESSAGE_HTML_INVALID"),
            ("rich html", "a <b".to_owned(), "RICH_MESSAGE_HTML_INVALID"),
            ("rich markdown", many("---\n\n", 60), "RICH_MESSAGE_EMPTY"),
            ("rich blocks", "[]".to_owned(), "RICH_MESSAGE_EMPTY"),
            ("rich markdown", many("x", 32_769), "RICH_MESSAGE_TEXT_TOO_LONG"),
            ("rich markdown", many("a\n\n", 501), "RICH_MESSAGE_BLOCKS_TOO_MANY"),
            ("rich markdown", deep, "RICH_MESSAGE_DEPTH_INVALID"),
            (
                "rich markdown",
                many("![](https://e.org/a.png)\n\n", 51),
                "RICH_MESSAGE_MEDIA_TOO_MANY",
            ),
            (
                "rich html",
                format!("<table><tr>{}</tr></table>", many("<td>a</td>", 21)),
                "RICH_MESSAGE_TABLE_COLS_TOO_MANY",
            ),
            (
                "rich markdown",
                "[a](mailto:openai:a@e.org)".to_owned(),
                "RICH_MESSAGE_EMAIL_INVALID",
            ),
            ("rich markdown", "[a](notes)".to_owned(), "RICH_MESSAGE_URL_INVALID"),
            ("rich markdown", "[a](/x/notes.md)".to_owned(), "RICH_MESSAGE_URL_INVALID"),
            (
                "rich blocks",
                r#"[{"type":"heading","text":"","size":1}]"#.to_owned(),
                "RICH_MESSAGE_CONTENT_REQUIRED",
            ),
            (
                "rich blocks",
                r#"[{"type":"table"}]"#.to_owned(),
                "can't parse InputRichBlock: can't find field \"cells\"",
            ),
            (
                "rich blocks",
                r#"[{"type":"sectionHeading","text":"a"}]"#.to_owned(),
                "can't parse InputRichBlock: type \"sectionHeading\" is unsupported",
            ),
            (
                "rich blocks",
                r#"[{"type":"thinking","text":"a"}]"#.to_owned(),
                "RICH_VALIDATE_CTOR_NOT_ALLOWED",
            ),
        ] {
            check(mode, &source, Err(error));
        }
        check("rich markdown", &many("😀", 32_768), Ok(&many("😀", 32_768)));
        let draft = SentRich::of("rich html", "<tg-thinking>Hm</tg-thinking>").unwrap();
        assert_eq!(draft.read(RichUse::Draft).unwrap().text.text, "Hm");
    }

    #[test]
    fn blocks_and_buttons_are_read() {
        let blocks = json!([
            { "type": "paragraph", "text": ["a ", { "type": "bold", "text": "b" }] },
            { "type": "buttons", "buttons": [
                { "text": ["Go", { "type": "custom_emoji", "custom_emoji_id": "1", "alternative_text": "!" }],
                  "callback_data": "g" },
                { "text": "Docs", "url": "https://e.org" }] },
        ]);
        let rich = SentRich::of("rich blocks", &blocks.to_string()).unwrap();
        let rich = rich.read(RichUse::Message).unwrap();
        assert_eq!(html(&rich.text), "a <b>b</b>");
        assert_eq!(rich.rows[0][0], json!({ "text": "Go!", "callback_data": "g" }));
        assert_eq!(rich.rows[0][1]["text"], "Docs");
        let inline = "<p>x <tg-button type=\"callback_data\" data=\"d\">Yes</tg-button></p>";
        let rich = SentRich::of("rich html", inline).unwrap().read(RichUse::Message).unwrap();
        assert_eq!(rich.rows, [[json!({ "text": "Yes", "callback_data": "d" })]]);
    }
}
