use super::*;

mod changed;
mod pattern;

/// Returns the scenarios of the tests, each with its versions and tracks.
fn known() -> Vec<Candidate> {
    let candidate = |(name, versions, tracks): (&str, &[&str], Option<&[&str]>)| Candidate {
        name: name.parse().unwrap(),
        versions: versions.iter().map(|version| version.parse().unwrap()).collect(),
        tracks: tracks.map(|tracks| tracks.iter().map(|it| (*it).to_owned()).collect()),
    };
    [
        ("broken", &["2.1.329"][..], None),
        ("late-edit", &[][..], Some(&["openclaw#80046"][..])),
        ("plain-text", &["2.1.329", "2.1.332"], Some(&[])),
        (
            "three-tools",
            &["1.0.128", "2.1.329", "2.1.332"],
            Some(&["openclaw#80046", "claude-code#1"]),
        ),
        ("three-tools-live", &["2.1.332"], Some(&["claude-code#2"])),
    ]
    .map(candidate)
    .to_vec()
}

fn patterns(names: &[&str]) -> Vec<NamePattern> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// Checks the selection from [`known`], as words such as `three-tools/2.1.329+2.1.332`, or the error.
#[track_caller]
fn check(asked: &Selector, expect: Result<&[&str], &str>) -> Selection {
    let shown = |one: &Selected| match &one.versions {
        Some(versions) => format!("{}/{}", one.name, versions.join("+")),
        None => one.name.to_string(),
    };
    match (select(&known(), asked), expect) {
        (Ok(selection), Ok(expect)) => {
            let names: Vec<String> = selection.scenarios.iter().map(shown).collect();
            assert_eq!(names, expect, "{asked:?}");
            selection
        }
        (Err(error), Err(expect)) => {
            assert!(error.to_string().contains(expect), "{error}");
            Selection::default()
        }
        (got, expect) => panic!("{asked:?}: {got:?} and not {expect:?}"),
    }
}

#[test]
fn names_select_as_they_are_then_as_parts() {
    for (names, expect) in [
        (&["three-tools"][..], Ok(&["three-tools"][..])),
        (&["tools"], Ok(&["three-tools", "three-tools-live"])),
        (&["three-*"], Ok(&["three-tools", "three-tools-live"])),
        (&["plain-text", "late-edit"], Ok(&["plain-text", "late-edit"])),
        (&["late", "late-edit"], Ok(&["late-edit"])),
        (&["three-tools/2.1.329"], Ok(&["three-tools/2.1.329"])),
        (&["three-tools/2.*", "three-tools/1.0.128"], Ok(&["three-tools/2.1.329+2.1.332+1.0.128"])),
        (&["three-tools/2.1.329", "three-tools"], Ok(&["three-tools"])),
        (&["*/1.0.128"], Ok(&["three-tools/1.0.128"])),
        (&["tools/2.1.332"], Ok(&["three-tools/2.1.332", "three-tools-live/2.1.332"])),
        (&[""], Ok(&["broken", "late-edit", "plain-text", "three-tools", "three-tools-live"])),
        (&["three-tolls"], Err("did you mean `three-tools`? `clitape list` shows the 5 scenarios")),
        (&["plain-text", "nothing-like-it"], Err("no scenario is called `nothing-like-it`")),
        (&["x-*"], Err("no scenario's name fits `x-*`; `clitape list`")),
        (&["three-tools/9.9.9"], Err("no recording three-tools/9.9.9; there are 1.0.128, 2.1.329")),
        (&["late-edit/2.1.332"], Err("nothing of it is recorded; run `clitape record late-edit`")),
    ] {
        let asked = Selector { names: patterns(names), parts: true, ..Selector::default() };
        check(&asked, expect);
    }
    let whole = Selector { names: patterns(&["tools"]), ..Selector::default() };
    check(&whole, Err("there is no scenario `tools`; did you mean `three-tools` or"));
    let names = patterns(&["late-edit/2.1.333", "three-tools/2.1.332"]);
    let new = Selector { names, new_versions: true, ..Selector::default() };
    check(&new, Ok(&["late-edit/2.1.333", "three-tools/2.1.332"]));
}

#[test]
fn tracks_exclusions_and_changes_narrow_what_is_selected() {
    let tracks = |tracks: &[&str]| Selector {
        tracks: tracks.iter().map(|it| (*it).to_owned()).collect(),
        ..Selector::default()
    };
    // An unreadable scenario might track any issue.
    check(&tracks(&["openclaw#80046"]), Ok(&["broken", "late-edit", "three-tools"]));
    check(&tracks(&["claude-code#*"]), Ok(&["broken", "three-tools", "three-tools-live"]));
    check(
        &tracks(&["openclaw#80047"]),
        Err("no scenario tracks `openclaw#80047`; did you mean `openclaw#80046`?"),
    );
    let names = patterns(&["three-tools"]);
    check(&Selector { names, ..tracks(&["openclaw#80046"]) }, Ok(&["three-tools"]));

    let exclude = |names: &[&str]| Selector { exclude: patterns(names), ..Selector::default() };
    check(&exclude(&["three-*", "broken"]), Ok(&["late-edit", "plain-text"]));
    check(
        &exclude(&["*/2.1.332"]),
        Ok(&["broken", "late-edit", "plain-text/2.1.329", "three-tools/1.0.128+2.1.329"]),
    );
    check(&exclude(&["three-tols"]), Err("did you mean `three-tools`?"));

    let changed = |names: &[&str]| {
        let names = names.iter().map(|name| name.parse().unwrap()).collect();
        Selector { changed: Some(("main".to_owned(), names)), ..Selector::default() }
    };
    // The other scenario was removed.
    check(&changed(&["late-edit", "was-removed"]), Ok(&["late-edit"]));
    for (asked, why) in [
        (changed(&[]), "no scenario and no cassette changed since main"),
        (exclude(&["*"]), "no scenario is left after --exclude"),
        (
            Selector { shard: "6/6".parse().ok(), ..Selector::default() },
            "shard 6/6 of 5 scenarios is empty",
        ),
    ] {
        let selection = check(&asked, Ok(&[]));
        assert!(selection.nothing.is_some_and(|it| it.contains(why)), "{why}");
    }
}

#[test]
fn shards_are_everything_and_nothing_twice() {
    for of in 1..=7 {
        let mut all = Vec::new();
        for number in 1..=of {
            let shard = Some(Shard { number, of });
            let selection = select(&known(), &Selector { shard, ..Selector::default() }).unwrap();
            assert_eq!(selection.is_whole, number == 1, "one shard checks the workspace");
            all.extend(selection.scenarios.into_iter().map(|one| one.name.to_string()));
        }
        all.sort();
        let names: Vec<String> = known().iter().map(|it| it.name.to_string()).collect();
        assert_eq!(all, names, "{of} shards");
    }
}
