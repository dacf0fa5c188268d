use crate::suite::select::*;

#[test]
fn a_name_may_have_a_version_and_the_folder_of_a_shell() {
    for (text, expect) in [
        ("three-tools", Some(("three-tools", None))),
        ("three-tools/2.1.329", Some(("three-tools", Some("2.1.329")))),
        ("*/2.*", Some(("*", Some("2.*")))),
        ("scenarios/three-tools/", Some(("three-tools", None))),
        ("./cassettes/three-tools/2.1.329", Some(("three-tools", Some("2.1.329")))),
        ("/project/scenarios/three-tools", Some(("three-tools", None))),
        ("", Some(("", None))),
        ("a/b/c", None),
        ("scenarios", None),
    ] {
        let read = text.parse::<NamePattern>().ok();
        let read = read.as_ref().map(|it| (it.name.as_str(), it.version.as_deref()));
        assert_eq!(read, expect, "{text}");
    }
}

#[test]
fn a_glob_matches_whole_names() {
    for (glob, name, expect) in [
        ("three-*", "three-tools", true),
        ("three-*", "a-three-tools", false),
        ("*-live", "three-tools-live", true),
        ("*tool*", "three-tools-live", true),
        ("t*o*s", "three-tools", true),
        ("t*o*x", "three-tools", false),
        ("thinkin?", "thinking", true),
        ("thinking?", "thinking", false),
        ("*", "a", true),
        ("**", "", true),
        ("2.1.*", "2.1.329", true),
        ("2.1.*", "2.11", false),
    ] {
        assert_eq!(matches(glob, name), expect, "{glob} {name}");
    }
}

#[test]
fn a_shard_is_one_of_several() {
    for (text, expect) in
        [("1/4", Some((1, 4))), ("4/4", Some((4, 4))), ("0/4", None), ("5/4", None), ("1", None)]
    {
        let read = text.parse::<Shard>().ok().map(|it| (it.number, it.of));
        assert_eq!(read, expect, "{text}");
    }
}
