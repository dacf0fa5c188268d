//! Recorded text in a page: as HTML, as JSON within a script, and with its control characters shown.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::text::marked;

/// Adds a character as people can see it: control characters as signs, and others that `hides` by
/// their number. Line breaks and tabs stay.
fn shown((c, hides): (char, bool), into: &mut String) {
    match c {
        '\n' | '\t' => into.push(c),
        '\0'..='\u{1f}' => into.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or(c)),
        '\u{7f}' => into.push('␡'),
        c if hides => {
            let _ = write!(into, "⟨U+{:04X}⟩", u32::from(c));
        }
        c => into.push(c),
    }
}

/// A text in which control characters, direction marks and what else no reader sees are shown as signs.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    marked(text).for_each(|c| shown(c, &mut visible));
    visible
}

/// A text for HTML and SVG, between tags or in a quoted attribute.
pub(crate) fn html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for (c, hides) in marked(text) {
        match c {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => shown((c, hides), &mut html),
        }
    }
    html
}

/// A value as JSON that no script element can be left with.
pub(crate) fn json(value: &impl Serialize) -> String {
    // Values of text, numbers and maps with text keys always serialise.
    let json = serde_json::to_string(value).unwrap_or_default();
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// How a content security policy names an inline style or script: `sha256-…`.
pub(crate) fn csp_hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_script_element() {
        let text = json(&"</script><!--\u{2028}&");
        assert_eq!(text, r#""\u003c/script\u003e\u003c!--\u2028\u0026""#);
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "</script><!--\u{2028}&");
    }

    #[test]
    fn html_has_no_markup_of_a_text() {
        assert_eq!(
            html("<b a=\"'\">&\u{1b}[2J\u{9b}\u{200b}👩‍👩‍👧"),
            "&lt;b a=&quot;&#39;&quot;&gt;&amp;␛[2J⟨U+009B⟩⟨U+200B⟩👩‍👩‍👧"
        );
    }

    #[test]
    fn a_hash_is_that_of_the_standard() {
        assert_eq!(csp_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(csp_hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
