use crate::check::recording::*;

#[test]
fn the_first_difference_is_told_with_its_line() {
    for (before, again, sentence) in [
        ("a\nb\n", "a\nb\n", None),
        ("a\nb\n", "a\nc\n", Some(r#"line 2, byte 2: "a\nb\n" was recorded before, now "a\nc\n""#)),
        ("a\n", "a\nb", Some(r#"line 2, byte 2: "a\n" was recorded before, now "a\nb""#)),
    ] {
        let found = first_difference(before.as_bytes(), again.as_bytes());
        assert_eq!(found.as_deref(), sentence);
    }
}
