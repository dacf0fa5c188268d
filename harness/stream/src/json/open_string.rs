//! Finds how much of an unfinished string literal is final.

use super::special_bytes::SpecialBytes;

/// The longest escape: `\u` and four digits.
const UNIT: usize = 6;

/// Returns the part of an unfinished string literal that later text cannot change, or `None` if the
/// text cannot become a string.
///
/// The literal includes its opening quote; the result is the text behind it, with escapes, but
/// without an unfinished escape or the first half of a surrogate pair at its end. `known` is the
/// length of the part that was final before.
pub(crate) fn stable_prefix(literal: &str, known: usize) -> Option<&str> {
    let bytes = literal.as_bytes();
    let mut specials = SpecialBytes::NONE;
    let mut at = 1 + known;
    while let Some(special) = specials.next(bytes, at) {
        let OpenEscape::Whole(length) = OpenEscape::read(&bytes[special..])? else {
            return literal.get(1..special);
        };
        let (this, next) = bytes[special..].split_at(length);
        if is_high(this) && (next.is_empty() || OpenEscape::read(next) == Some(OpenEscape::Cut)) {
            return literal.get(1..special);
        }
        at = special + length;
    }
    literal.get(1..)
}

/// An escape at the front of a text.
#[derive(PartialEq, Eq)]
enum OpenEscape {
    /// A complete escape with its length in bytes.
    Whole(usize),
    /// The escape has not ended yet.
    Cut,
}

impl OpenEscape {
    /// Reads the escape, or returns `None` if the text begins with none.
    fn read(text: &[u8]) -> Option<Self> {
        match text {
            [b'\\'] => Some(Self::Cut),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => {
                Some(Self::Whole(2))
            }
            [b'\\', b'u', ..] => {
                let unit = &text[..text.len().min(UNIT)];
                let is_hex = unit[2..].iter().all(u8::is_ascii_hexdigit);
                let whole = if unit.len() == UNIT { Self::Whole(UNIT) } else { Self::Cut };
                is_hex.then_some(whole)
            }
            _ => None,
        }
    }
}

/// Returns whether an escape is the first half of a surrogate pair.
fn is_high(escape: &[u8]) -> bool {
    matches!(escape, [_, b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(literal: &str, expect: Option<&str>) {
        assert_eq!(stable_prefix(literal, 0), expect, "{literal}");
        for known in (1..literal.len()).filter(|end| literal.is_char_boundary(*end)) {
            if let Some(shown) = stable_prefix(&literal[..known], 0) {
                assert_eq!(stable_prefix(literal, shown.len()), expect, "{literal} from {shown}");
            }
        }
    }

    #[test]
    fn u2_an_open_string_is_shown_up_to_what_may_change() {
        for whole in ["\"", "\"abc  ", "\"é😀", r#""\n\"\\"#, r#""\u00e9x"#, r#""\ud83d\ude00"#]
        {
            check(whole, Some(&whole[1..]));
        }
        for cut in [r"\", r"\u", r"\u1", r"\u12a", r"\uD83D", r"\udbFf\", r"\ud83d\ude0"] {
            check(&format!("\"ab{cut}"), Some("ab"));
        }
        check(r#""\ud83dx"#, Some(r"\ud83dx"));
        check(r#""\ud83d\n"#, Some(r"\ud83d\n"));
        check(r#""\ude00"#, Some(r"\ude00"));
        check(r#""\ud83d\ud83d"#, Some(r"\ud83d"));
    }

    #[test]
    fn u2_what_can_be_no_string_is_not_shown() {
        for bad in ["\"a\n", "\"\u{0}", r#""\q"#, r#""\u12g"#, r#""a" "#] {
            check(bad, None);
        }
        check(&format!("\"{}\t", "long ".repeat(99)), None);
    }
}
