//! Text in pieces of one style each, and the marks a profile puts around them
//! ([V8](crate::rules::V8)).
//!
//! [`read`] makes pieces of Markdown, `page` lays them out. Telegram takes no other entity within
//! code, so that a piece of code has no other style.

mod partial;
mod read;
mod style;
mod table;

pub(super) use partial::{finished, mend};
pub(super) use read::read;
#[cfg(test)]
pub(super) use style::Face;
pub(super) use style::{Style, StyledText, bold, escaped, italic, piece, plain};

#[cfg(test)]
pub(crate) mod properties;
#[cfg(test)]
pub(crate) mod tests {
    use super::super::page::pages;
    use super::*;
    use crate::profile::{DISCORD, Profile, SLACK, TELEGRAM};

    fn check(profile: &Profile, cases: &[(&str, &str)]) {
        for (markdown, expect) in cases {
            assert_eq!(pages(&read(markdown), profile), [*expect], "{markdown}");
        }
    }

    #[test]
    pub(crate) fn v8_markdown_becomes_html() {
        check(
            &TELEGRAM,
            &[
                ("plain", "plain"),
                ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
                ("<b>not bold</b>", "&lt;b&gt;not bold&lt;/b&gt;"),
                ("<div>\n<b>x\n</div>\n\ny", "&lt;div&gt;\n&lt;b&gt;x\n&lt;/div&gt;\n\ny"),
                ("&lt; \\*", "&lt; *"),
                ("use `a<b` now", "use <code>a&lt;b</code> now"),
                ("``a`b`` x", "<code>a`b</code> x"),
                ("a ` b", "a ` b"),
                ("a **bold & co** b", "a <b>bold &amp; co</b> b"),
                ("**a `x**y` b**", "<b>a </b><code>x**y</code><b> b</b>"),
                ("**a _b ~~c~~_** d", "<b>a <i>b <s>c</s></i></b> d"),
                ("2 ** 3 ** 4", "2 ** 3 ** 4"),
                ("**open", "**open"),
                ("snake_case_name", "snake_case_name"),
                ("# Head `x`\ntext", "<b>Head </b><code>x</code>\ntext"),
                ("one\ntwo  \nthree\n\n\nfour", "one\ntwo\nthree\n\nfour"),
                ("a\n\n---\n\nb", "a\n\n———\n\nb"),
            ],
        );
    }

    #[test]
    fn v8_lists_quotes_links_and_tables_become_html() {
        check(
            &TELEGRAM,
            &[
                ("Files:\n- a\n- b\n  - c\n    d\n- e", "Files:\n• a\n• b\n  • c\n    d\n• e"),
                ("3. x\n4. y\n\n   more", "3. x\n4. y\n\n  more"),
                ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
                ("> a **b**\n> c\n\nd", "<blockquote>a <b>b</b>\nc</blockquote>\n\nd"),
                (
                    "[a **b**](https://x.y/?q=\"&z) c",
                    "<a href=\"https://x.y/?q=&quot;&amp;z\">a <b>b</b></a> c",
                ),
                ("[main](src/main.rs)", "main (src/main.rs)"),
                ("<https://x.y>", "https://x.y"),
                ("**see https://x.y/a_b.**", "<b>see https://x.y/a_b.</b>"),
                ("![pic](https://x.y/z.png)", "<a href=\"https://x.y/z.png\">pic</a>"),
                ("[`x`](https://x.y)", "<a href=\"https://x.y\">x</a>"),
                (
                    "| a | b&c |\n|---|---|\n| `long` | 1 |\n",
                    "<pre>a    | b&amp;c\n-----+----\nlong | 1</pre>",
                ),
            ],
        );
    }

    #[test]
    fn v8_code_stays_code() {
        check(
            &TELEGRAM,
            &[
                (
                    "see\n```rust\nlet a = &b;\n\n**x**\n```\ndone",
                    "see\n<pre><code class=\"language-rust\">let a = &amp;b;\n\n**x**</code></pre>\ndone",
                ),
                ("```\ncode", "<pre>code</pre>"),
                ("```sh\"><b>\nx\n```", "<pre><code class=\"language-shb\">x</code></pre>"),
                ("~~~\na\n```\nb\n~~~", "<pre>a\n```\nb</pre>"),
                ("````\n```\n````", "<pre>```</pre>"),
                ("```inline``` x", "<code>inline</code> x"),
                ("a\n\n    b\n\nc", "a\n\n<pre>b</pre>\n\nc"),
            ],
        );
    }

    #[test]
    fn v10_an_address_is_left_as_it_is() {
        let markdown = "(https://x.y/a_b_c?d=1), http:// <https://z/*a*> a_b";
        check(&DISCORD, &[(markdown, "(https://x.y/a_b_c?d=1), http:// https://z/*a* a\\_b")]);
        check(&DISCORD, &[("https://x.y/?a&amp;b_c", "https://x.y/?a&b_c")]);
        let slack = "(https://x.y/a_b_c?d=1), http:// https://z/*a* a\u{200b}_\u{200b}b";
        check(&SLACK, &[(markdown, slack)]);
    }

    #[test]
    pub(crate) fn v10_discord_and_slack_have_marks_of_their_own() {
        let markdown = "# Head\n**b** *i* ~~s~~ `a<b` 2*3 <@1> [t](https://x.y)\n\n> q\n> r\n\n```rust\na ``` b\n```";
        check(
            &DISCORD,
            &[(
                markdown,
                "**Head**\n**b** *i* ~~s~~ `a<b` 2\\*3 \\<@\u{200b}1\\> [t](<https://x.y>)\n\n> q\n> r\n\n```rust\na ``\u{200b}` b\n```",
            )],
        );
        check(
            &SLACK,
            &[(
                markdown,
                "*Head*\n*b* _i_ ~s~ `a&lt;b` 2\u{200b}*\u{200b}3 &lt;@1&gt; <https://x.y|t>\n\n> q\n> r\n\n```\na ``\u{200b}` b\n```",
            )],
        );
    }
}
