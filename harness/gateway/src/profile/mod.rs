//! The profile of a chat service, for text that a person reads: its limit, its marks and the characters that it
//! escapes ([V10](crate::rules::V10)).
//!
//! A profile is data. Reading Markdown, laying out pages and composing a draft are the same code
//! for all of them.

/// The marks before and after a stretch of text.
pub type MarkPair = (&'static str, &'static str);
/// Characters that must be escaped, each with the text that is written for it.
pub type Escapes = &'static [(char, &'static str)];

/// Returns the length of a text as the services count it: in code points. Telegram counts only the offsets of its
/// entities in UTF-16 units, and its limits as the others do.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// The markup of one chat service.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// The service.
    pub name: &'static str,
    /// The most code points that a message may have, marks included ([V5](crate::rules::V5)).
    pub limit: usize,
    /// Around bold text.
    pub bold: MarkPair,
    /// Around italic text.
    pub italic: MarkPair,
    /// Around text that is struck out.
    pub strike: MarkPair,
    /// Around code within a line.
    pub code: MarkPair,
    /// Around a block of code.
    pub block: MarkPair,
    /// Around a block of code in a language; `{language}` is replaced by its name.
    pub block_in: MarkPair,
    /// Around the words of a link; `{url}` is replaced by its address.
    pub link: MarkPair,
    /// Around a quotation.
    pub quote: MarkPair,
    /// The beginning of each further line of a quotation.
    pub quote_line: &'static str,
    /// In text ([V8](crate::rules::V8)).
    pub escapes: Escapes,
    /// In the address of a website within the text: the service makes a link of it, which a
    /// mark within would break.
    pub address_escapes: Escapes,
    /// In code within a line.
    pub code_escapes: Escapes,
    /// In a block of code.
    pub block_escapes: Escapes,
    /// In the address of a link.
    pub url_escapes: Escapes,
    /// The text that is written before the third of three backticks in a block of code, so that they do not end
    /// it.
    pub fence_break: &'static str,
}

const HTML: Escapes = &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")];

/// Telegram, `parse_mode: HTML`.
pub const TELEGRAM: Profile = Profile {
    name: "telegram",
    limit: 4_096,
    bold: ("<b>", "</b>"),
    italic: ("<i>", "</i>"),
    strike: ("<s>", "</s>"),
    code: ("<code>", "</code>"),
    block: ("<pre>", "</pre>"),
    block_in: ("<pre><code class=\"language-{language}\">", "</code></pre>"),
    link: ("<a href=\"{url}\">", "</a>"),
    quote: ("<blockquote>", "</blockquote>"),
    quote_line: "",
    escapes: HTML,
    address_escapes: HTML,
    code_escapes: HTML,
    block_escapes: HTML,
    url_escapes: &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")],
    fence_break: "",
};

/// Discord, whose Markdown escapes with a backslash. A link in `<…>` unfolds no preview.
pub const DISCORD: Profile = Profile {
    name: "discord",
    limit: 2_000,
    bold: ("**", "**"),
    italic: ("*", "*"),
    strike: ("~~", "~~"),
    code: ("`", "`"),
    block: ("```\n", "\n```"),
    block_in: ("```{language}\n", "\n```"),
    link: ("[", "](<{url}>)"),
    quote: ("> ", ""),
    quote_line: "> ",
    escapes: &[
        ('\\', "\\\\"),
        ('*', "\\*"),
        ('_', "\\_"),
        ('~', "\\~"),
        ('`', "\\`"),
        ('|', "\\|"),
        ('>', "\\>"),
        ('<', "\\<"),
        ('#', "\\#"),
        ('[', "\\["),
        (']', "\\]"),
        // A mention would call people.
        ('@', "@\u{200b}"),
    ],
    address_escapes: &[],
    // No backslash escapes anything in code.
    code_escapes: &[('`', "ˋ")],
    block_escapes: &[],
    url_escapes: &[('<', "%3C"), ('>', "%3E"), (')', "%29"), (' ', "%20")],
    fence_break: "\u{200b}",
};

/// Slack's mrkdwn. A message that is new may have 40,000 characters, one that is edited 4,000, and
/// a draft is edited.
pub const SLACK: Profile = Profile {
    name: "slack",
    limit: 4_000,
    bold: ("*", "*"),
    italic: ("_", "_"),
    strike: ("~", "~"),
    code: ("`", "`"),
    block: ("```\n", "\n```"),
    block_in: ("```\n", "\n```"),
    link: ("<{url}|", ">"),
    quote: ("> ", ""),
    quote_line: "> ",
    // Slack knows no backslash: a space without width keeps a mark from being one.
    escapes: &[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('*', "\u{200b}*\u{200b}"),
        ('_', "\u{200b}_\u{200b}"),
        ('~', "\u{200b}~\u{200b}"),
        ('`', "ˋ"),
    ],
    address_escapes: HTML,
    code_escapes: &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('`', "ˋ")],
    block_escapes: HTML,
    url_escapes: &[('&', "&amp;"), ('<', "%3C"), ('>', "%3E"), ('|', "%7C")],
    fence_break: "\u{200b}",
};
