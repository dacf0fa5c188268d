//! The frame of every page: one file that neither loads nor sends data. A content security policy names its style and
//! script by their hashes, so that a browser runs no other.
//!
//! Pages and pictures are written with `maud`, which escapes every text that is put into its markup.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use sha2::{Digest, Sha256};

use clitape_recording::text::markup::visible;

/// A page without its frame.
pub(crate) struct PageFrame<'a> {
    /// The title in the browser's tab.
    pub(crate) title: &'a str,
    /// The style sheet, a constant of clitape.
    pub(crate) style: &'static str,
    /// The content of the page.
    pub(crate) body: Markup,
    /// The data that the script reads, and the script, a constant of clitape.
    pub(crate) script: Option<(ScriptData, &'static str)>,
}

impl PageFrame<'_> {
    /// Returns the whole page.
    pub(crate) fn page(self) -> String {
        let Self { title, style, body, script } = self;
        let scripts = script.as_ref().map(|(_, source)| csp_hash(source));
        let scripts = scripts.map(|hash| format!(" script-src '{hash}';")).unwrap_or_default();
        let policy = format!(
            "default-src 'none'; style-src '{}';{scripts} img-src data:; base-uri 'none'; \
             form-action 'none'",
            csp_hash(style)
        );
        document(html! {
            (DOCTYPE) "\n"
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    link rel="icon" href="data:,";
                    title { (title) }
                    // The style is a constant: an escape would change its meaning and its hash.
                    style { (PreEscaped(style)) }
                }
                "\n"
                body {
                    (body)
                    footer {
                        "Made by clitape " (env!("CARGO_PKG_VERSION"))
                        ". Nothing on this page is loaded or sent."
                    }
                    "\n"
                    @if let Some((data, source)) = script {
                        script type="application/json" id="data" { (data) } "\n"
                        // The script is a constant, like the style.
                        script { (PreEscaped(source)) }
                    }
                }
            }
            "\n"
        })
    }
}

/// Returns the text of a page or a picture. Control characters and other invisible characters are replaced by signs,
/// wherever they came from.
pub(crate) fn document(markup: Markup) -> String {
    visible(&markup.into_string())
}

/// A value as JSON that can't end the script element around it.
pub(crate) struct ScriptData(String);

impl ScriptData {
    #[expect(clippy::expect_used, reason = "what pages are made of always has JSON")]
    pub(crate) fn new(value: &impl Serialize) -> Self {
        let mut json = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut json, ScriptFormatter);
        value.serialize(&mut serializer).expect("texts, numbers and maps with text keys");
        Self(String::from_utf8(json).expect("JSON is UTF-8"))
    }
}

/// Writes JSON in which characters with a meaning in a script element are escaped.
struct ScriptFormatter;

impl Formatter for ScriptFormatter {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut written = 0;
        for (at, special) in fragment.match_indices(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            writer.write_all(&fragment.as_bytes()[written..at])?;
            special.chars().try_for_each(|c| write!(writer, "\\u{:04x}", u32::from(c)))?;
            written = at + special.len();
        }
        writer.write_all(&fragment.as_bytes()[written..])
    }
}

impl Render for ScriptData {
    /// Adds the JSON unchanged, because a script element has no entities.
    fn render_to(&self, into: &mut String) {
        into.push_str(&self.0);
    }
}

/// Returns the name of an inline style or script in a content security policy: `sha256-…`.
fn csp_hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source.as_bytes())))
}

/// Returns a word with a border: green if `holds`, red if not.
pub(crate) fn badge(holds: bool, text: &str) -> Markup {
    html! { span.badge.(if holds { "held" } else { "broken" }) { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_script_element() {
        let ScriptData(text) = ScriptData::new(&"</script><!--\u{2028}&");
        assert_eq!(text, r#""\u003c/script\u003e\u003c!--\u2028\u0026""#);
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "</script><!--\u{2028}&");
        let body = html! { script { (ScriptData::new(&"\"")) } };
        assert_eq!(document(body), r#"<script>"\""</script>"#);
    }

    #[test]
    fn html_has_no_markup_of_a_text() {
        let text = "<b a=\"'\">&\u{1b}[2J\u{9b}\u{200b}👩‍👩‍👧";
        let safe = "&lt;b a=&quot;'&quot;&gt;&amp;␛[2J⟨U+009B⟩⟨U+200B⟩👩‍👩‍👧";
        assert_eq!(document(html! { (text) }), safe);
        let attribute = document(html! { p title=(text) {} });
        assert_eq!(attribute, format!("<p title=\"{safe}\"></p>"));
    }

    #[test]
    fn a_page_has_its_style_and_script_as_they_are_hashed() {
        let frame = |script| PageFrame {
            title: "<t>",
            style: crate::report::page::STYLE,
            body: html! {},
            script,
        };
        let data = ScriptData::new(&1);
        let source = crate::report::page::SCRIPT;
        let page = frame(Some((data, source))).page();
        for (element, text) in [("style", crate::report::page::STYLE), ("script", source)] {
            assert!(page.contains(&format!("<{element}>{text}</{element}>")), "{element}");
            assert!(page.contains(&format!("{element}-src '{}'", csp_hash(text))), "{element}");
        }
        assert!(page.contains("<title>&lt;t&gt;</title>"), "{page}");
        let page = frame(None).page();
        assert!(!page.contains("<script") && !page.contains("script-src"), "{page}");
    }

    #[test]
    fn a_hash_is_that_of_the_standard() {
        assert_eq!(csp_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(csp_hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
