//! Two recordings of one scenario: the first difference of their bytes, in one sentence.

/// Bytes shown on both sides of the difference.
const AROUND: usize = 40;

/// Where the bytes of two recordings part; `None` when they are identical.
pub fn first_difference(before: &[u8], again: &[u8]) -> Option<String> {
    if before == again {
        return None;
    }
    let at = before.iter().zip(again).take_while(|(a, b)| a == b).count();
    let line = before[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let excerpt = |bytes: &[u8]| {
        let end = (at + AROUND).min(bytes.len());
        format!("{:?}", String::from_utf8_lossy(&bytes[at.saturating_sub(AROUND).min(end)..end]))
    };
    Some(format!(
        "line {line}, byte {at}: {} was recorded before, now {}",
        excerpt(before),
        excerpt(again)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told_with_its_line() {
        for (before, again, sentence) in [
            ("a\nb\n", "a\nb\n", None),
            (
                "a\nb\n",
                "a\nc\n",
                Some(r#"line 2, byte 2: "a\nb\n" was recorded before, now "a\nc\n""#),
            ),
            ("a\n", "a\nb", Some(r#"line 2, byte 2: "a\n" was recorded before, now "a\nb""#)),
        ] {
            let found = first_difference(before.as_bytes(), again.as_bytes());
            assert_eq!(found.as_deref(), sentence);
        }
    }
}
