//! Single tokens: escapes, numbers, literals and blanks.

/// Returns the length of the escape in front of `rest`, including its backslash, which was passed
/// before; `None` if it is invalid.
#[inline(always)]
pub(super) fn escape(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|b| b.is_ascii_hexdigit()) => Some(6),
        _ => None,
    }
}

/// Returns the length of the number, `true`, `false` or `null` at the front.
#[inline(never)]
pub(super) fn scalar(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'n' => text.starts_with(b"null").then_some(4),
        b't' => text.starts_with(b"true").then_some(4),
        b'f' => text.starts_with(b"false").then_some(5),
        _ => number(text),
    }
}

/// Returns the length of the number at the front.
#[inline(always)]
fn number(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let rest = text.get(from..)?;
        let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        at = digits(at + usize::from(matches!(text.get(at), Some(b'+' | b'-'))))?;
    }
    Some(at)
}

/// Returns the number of blanks at the front, and the byte behind them.
#[cold]
pub(super) fn blanks(text: &[u8]) -> (usize, u8) {
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
    let blanks = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
    (blanks, text.get(blanks).copied().unwrap_or(0))
}
