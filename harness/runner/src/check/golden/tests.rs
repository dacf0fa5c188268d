use super::*;

#[test]
fn the_header_is_not_part_of_the_text() {
    for (file, text) in [
        ("---\nsource: a\nexpression: b\n---\none\n---\ntwo\n", Some("one\n---\ntwo\n")),
        ("---\nsource: a\n---\n", Some("")),
        ("one\n", None),
        ("---\nsource: a\n", None),
    ] {
        assert_eq!(body(file), text, "{file:?}");
    }
}
