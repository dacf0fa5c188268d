use crate::suite::select::*;

#[test]
fn a_path_belongs_to_the_scenario_whose_folder_it_is_in() {
    let paths = [
        "scenarios/late-edit/golden/bus.snap",
        "cassettes/three-tools/2.1.329/stdout.jsonl",
        "cassettes/three-tools/2.1.330/stdout.jsonl",
        "scenarios/README.md",
        "scenarios/Late edit/a",
        "docs/late-edit/a",
        "",
    ];
    let names = of_paths(paths.into_iter());
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["late-edit", "three-tools"]);
}
