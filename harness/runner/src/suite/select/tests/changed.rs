use std::{env, fs, process};

use crate::suite::select::*;

#[test]
fn a_path_belongs_to_the_scenario_whose_folder_it_is_in() {
    let paths = [
        "scenarios/late-edit/golden/bus.snap",
        "cassettes/three-tools/2.1.329/stdout.jsonl",
        "cassettes/three-tools/2.1.332/stdout.jsonl",
        "scenarios/README.md",
        "scenarios/Late edit/a",
        "docs/late-edit/a",
        "",
    ];
    let names = of_paths(paths.into_iter());
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["late-edit", "three-tools"]);
}

#[test]
fn a_file_that_moves_changes_both_scenarios() {
    let root = env::temp_dir().join(format!("clitape-changed-{}", process::id()));
    let call = |args: &[&str]| git(&root, args).unwrap().unwrap();
    let file = |name: &str| root.join("cassettes").join(name).join("2.1.332/stdout.jsonl");
    for name in ["from", "to", "other"] {
        fs::create_dir_all(file(name).parent().unwrap()).unwrap();
        fs::write(file(name).with_file_name("cassette.toml"), name).unwrap();
    }
    fs::write(file("from"), "a line that git knows again\n".repeat(20)).unwrap();
    call(&["init", "--quiet"]);
    let commit = |why: &str| {
        call(&["add", "--all"]);
        let person = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        call(&[&person[..], &["commit", "--quiet", "-m", why]].concat());
    };
    commit("record");
    fs::rename(file("from"), file("to")).unwrap();
    commit("move");
    let names = changed_since(&Workspace::at(&root), "HEAD~1").unwrap();
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["from", "to"]);
}
