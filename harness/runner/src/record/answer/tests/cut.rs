use std::num::NonZeroUsize;

use crate::record::answer::*;

/// Checks the deltas with `{{project}}` at `project`, joined by bars.
#[track_caller]
fn check(text: &str, cut: DeltaCut, project: &str, expect: &str) {
    let folders = Folders { project: project.to_owned(), ..Folders::canonical() };
    let found = deltas(&Pieces::Whole(text.to_owned()), cut, &folders);
    let inner: Vec<_> = found.iter().map(|s| &s[1..s.len() - 1]).collect();
    assert_eq!(inner.join("|"), expect, "{text} {cut:?} {project}");
}

fn chars(n: usize) -> DeltaCut {
    DeltaCut::Chars(NonZeroUsize::new(n).unwrap())
}

fn utf16(n: usize) -> DeltaCut {
    DeltaCut::Utf16(NonZeroUsize::new(n).unwrap())
}

#[test]
fn texts_are_cut_after_so_many_characters_or_units() {
    for (text, cut, expect) in [
        ("", chars(3), ""),
        ("abc", chars(3), "abc"),
        ("abcd", chars(3), "abc|d"),
        ("abcdef", chars(3), "abc|def"),
        ("a😀b😀c", chars(2), "a😀|b😀|c"),
        ("a😀b", utf16(2), r"a\ud83d|\ude00b"),
        ("😀😀", utf16(1), r"\ud83d|\ude00|\ud83d|\ude00"),
        ("😀😀", utf16(2), "😀|😀"),
        ("a\"\n\u{1}", chars(1), r#"a|\"|\n|\u0001"#),
    ] {
        check(text, cut, "/clitape/project", expect);
    }
}

#[test]
fn a_cut_inside_a_folder_keeps_its_place_on_every_machine() {
    let text = "é {{project}}/a {{project}}";
    for (project, expect) in [
        ("/clitape/project", "é /clita|pe/proje|ct/a /cl|itape/pr|oject"),
        ("/tmp/clitape-1/project", "é /tmp/c|litape-1|/project/a /tm|p/clitap|e-1/project"),
        ("/p", "é /p||/a /p||"),
    ] {
        check(text, chars(8), project, expect);
    }
}

#[test]
fn a_list_is_its_own_deltas() {
    let listed = Pieces::Listed(vec!["{{tmp}}".into(), String::new(), "\"".into()]);
    let found = deltas(&listed, chars(1), &Folders::canonical());
    assert_eq!(found, [r#""/clitape/tmp""#, r#""""#, r#""\"""#]);
}

#[test]
fn a_failure_beyond_the_deltas_is_told() {
    let model = |deltas: &str| -> Model {
        toml::from_str(&format!(
            "cut = 8\n[[turn]]\nblock = []\n[[turn]]\n[[turn.block]]\ntext = '{{{{project}}}}'\n\
                 [[turn.failure]]\ndrop_after = {{ block = 1{deltas} }}"
        ))
        .unwrap()
    };
    assert_eq!(overrun(&model("")), None);
    assert_eq!(overrun(&model(", deltas = 2")), None);
    assert_eq!(
        overrun(&model(", deltas = 3")).unwrap(),
        "a failure in turn 2 of `main` comes after 3 deltas of block 1, which has 2; name \
             fewer, or leave `deltas` out to fail after the whole block"
    );
}
