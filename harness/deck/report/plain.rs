//! Text as reports print it: on one line, with nothing in it that a terminal, an editor or a parser of
//! reports could obey.

/// `text` with control characters, direction marks and what XML can't hold as escapes (`\n`,
/// `\u{1b}`). What is plain already stays as it is.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) { plain.push(c) } else { plain.extend(c.escape_default()) }
    }
    plain
}

fn is_plain(c: char) -> bool {
    let obeyed = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let no_character = (c as u32) & 0xfffe == 0xfffe || c == '\u{feff}';
    !(c.is_control() || obeyed || no_character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_obeyed_is_escaped_and_the_rest_stays() {
        for (text, expect) in [
            ("Grüße 👩‍🚀 <b>&amp; \\n ]]>", "Grüße 👩‍🚀 <b>&amp; \\n ]]>"),
            ("\u{1b}[31mred\r\n\tend\u{7}", r"\u{1b}[31mred\r\n\tend\u{7}"),
            ("\u{202e}gpj.exe\u{85}\u{2028}\u{ffff}", r"\u{202e}gpj.exe\u{85}\u{2028}\u{ffff}"),
        ] {
            assert_eq!(plain(text), expect);
            assert_eq!(plain(expect), expect, "what is plain stays");
        }
    }
}
