//! Tests that the repository keeps its own rules: files of a readable size that say what they are for, goldens and
//! cassettes without a trace of the machine that made them, pages that name existing tests.

#![allow(clippy::expect_used, clippy::panic, reason = "a file that can't be read fails the test")]

mod common;
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{files, root};
use imports::{FileImports, definer, imports};

/// The most lines of a file; a longer one must be split into modules.
const MAX_LINES: usize = 900;

/// Texts that would reveal the machine that recorded.
const LEAKS: [&str; 8] = [
    "/tmp/",
    "/root",
    "/home/",
    "/Users/",
    "/var/folders/",
    "\"osVersion\"",
    "\"gitBranch\"",
    "\"systemPrompt\"",
];

fn sources() -> Vec<std::path::PathBuf> {
    ["harness", "tests", "benches"]
        .iter()
        .flat_map(|folder| files(&root().join(folder), ".rs"))
        .collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_file_says_what_it_is_for() {
    let is_tests =
        |path: &Path| path.ends_with("tests.rs") || path.to_string_lossy().contains("tests/");
    for path in sources() {
        let text = read(&path);
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines, {MAX_LINES} are enough", path.display());
        if !is_tests(path.strip_prefix(root()).unwrap()) {
            assert!(text.starts_with("//!"), "{} has no doc comment on top", path.display());
        }
    }
}

#[test]
fn goldens_end_lines_with_lf_and_have_a_header() {
    let goldens = files(&root().join("scenarios"), ".snap");
    assert!(!goldens.is_empty());
    for path in goldens {
        let text = read(&path);
        assert!(!text.contains('\r'), "{} has a CR", path.display());
        let body = clitape_judge::body(&text);
        assert!(body.is_some(), "{} has no header", path.display());
        for line in body.unwrap().lines() {
            let entry: Result<clitape_recording::trace::Entry, _> = serde_json::from_str(line);
            assert!(entry.is_ok(), "{}: {line}", path.display());
        }
    }
}

#[test]
fn no_cassette_knows_the_machine_that_recorded_it() {
    let mut seen = 0;
    for path in files(&root().join("cassettes"), "") {
        seen += 1;
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        // The canonical places, and the emptied fields of a transcript, are allowed.
        let text = ["/clitape/tmp/", "/clitape/home/", r#""gitBranch":"""#]
            .iter()
            .fold(text, |text, canonical| text.replace(canonical, ""));
        for leak in LEAKS {
            assert!(!text.contains(leak), "{} holds `{leak}`", path.display());
        }
    }
    assert!(seen > 0);
}

#[test]
fn every_scenario_has_the_parts_a_reader_looks_for() {
    for dir in fs::read_dir(root().join("scenarios")).unwrap() {
        let dir = dir.unwrap().path();
        for part in ["scenario.toml", "golden"] {
            assert!(dir.join(part).exists(), "{} has no {part}", dir.display());
        }
    }
}

/// Returns the tests and scenarios that a page names in backquotes: `file.rs: function`, or `scenarios/name`.
fn named(page: &str) -> impl Iterator<Item = &str> {
    let is_name = |span: &&str| span.contains(".rs: ") || span.starts_with("scenarios/");
    page.split('`').skip(1).step_by(2).filter(is_name)
}

/// The pages that name tests, each with the crate in which their files are.
const PAGES: [(&str, &str); 4] = [
    ("docs/stream.md", "harness/stream"),
    ("docs/rules.md", "harness/gateway"),
    ("docs/differences.md", "harness/gateway"),
    ("SECURITY.md", ""),
];

/// The least rows that the tables of these pages have together.
const MIN_ROWS: usize = 220;

/// Panics unless a test or a scenario that a page names is there. The file of a test is in the folder of the crate, in its
/// `src` or in the repository.
fn assert_is_there(page: &str, place: &str, name: &str) {
    let place = root().join(place);
    let Some((file, test)) = name.split_once(".rs: ") else {
        let scenario = root().join(name).join("scenario.toml");
        return assert!(scenario.exists(), "{page}: there is no {name}");
    };
    let mut files = [place.join("src"), place, root().to_owned()].into_iter();
    let file = files.find_map(|folder| fs::read_to_string(folder.join(format!("{file}.rs"))).ok());
    let code = file.unwrap_or_else(|| panic!("{page}: the file of {name} does not exist"));
    // The rows of a table and the named trials of a program are tests, too.
    let items = [format!("fn {test}("), format!("const {test}: "), format!("\"{test}")];
    assert!(
        items.iter().any(|item| code.contains(item.as_str())),
        "{page}: there is no test {name}"
    );
}

#[test]
fn the_pages_name_tests_that_are_there() {
    let mut rows = 0;
    for (page, place) in PAGES {
        let text = read(&root().join(page));
        let mut is_table = false;
        for line in text.lines() {
            let is_head = line.ends_with("held by |");
            is_table = is_head || is_table && line.starts_with('|');
            let is_row = is_table && !is_head && !line.starts_with("|-");
            assert!(!is_row || named(line).next().is_some(), "{page}: no test holds {line}");
            rows += usize::from(is_row);
            named(line).for_each(|name| assert_is_there(page, place, name));
        }
    }
    assert!(rows >= MIN_ROWS, "the tables have {rows} rows");

    let rules = read(&root().join("docs/rules.md"));
    let ids = rules.lines().filter_map(|line| line.strip_prefix("- **")?.split_once("**"));
    for (rule, _) in ids.filter(|(rule, _)| !rule.starts_with(['T', 'U', 'R'])) {
        let row = format!("\n| {rule} | ");
        assert!(rules.contains(&row), "docs/rules.md names no test of {rule}");
    }
}

#[test]
fn tests_are_named_by_the_behaviour_that_they_hold() {
    let folders = ["harness", "tests"].map(|folder| files(&root().join(folder), ".rs"));
    for path in folders.concat() {
        let numbered = concat!("issue", "_");
        let text = read(&path);
        let mut names = text.split(numbered).skip(1).filter_map(|rest| rest.chars().next());
        let shown = path.display();
        assert!(!names.any(|c| c.is_ascii_digit()), "{shown}: a name has the number of an issue");
    }
}

#[test]
fn one_file_calls_git() {
    let mut callers = Vec::new();
    for path in files(&root().join("harness"), ".rs") {
        let text = read(&path);
        let code = text.split("#[cfg(test)]").next().expect("a first part");
        if code.contains("(\"git\")") && !path.ends_with("tests.rs") {
            callers.push(path);
        }
    }
    assert_eq!(callers, [root().join("harness/process/src/git.rs")]);
}

/// The items of the product that may be for tests alone: whole ones, of which no other code has a part.
const FOR_TESTS: [&str; 3] = ["mod ", "use ", "macro_rules!"];

#[test]
fn the_product_has_no_code_for_tests() {
    let mut found = Vec::new();
    for src in ["harness/stream/src", "harness/gateway/src"] {
        for path in files(&root().join(src), ".rs") {
            let text = read(&path);
            let place = path.display();
            let planted = text.lines().filter(|line| line.contains("planted("));
            found.extend(planted.map(|line| format!("{place}: {}", line.trim())));
            let mut lines = text.lines().map(str::trim_start);
            while let Some(line) = lines.next() {
                if !line.starts_with("#[cfg(test)]") && !line.starts_with("#[cfg(all(test") {
                    continue;
                }
                let item = lines.find(|line| !line.starts_with("#[")).unwrap_or_default();
                let visible = item.split_once(") ").filter(|(start, _)| start.starts_with("pub("));
                let item = visible.map_or(item, |(_, item)| item);
                if !FOR_TESTS.iter().any(|start| item.starts_with(start)) {
                    found.push(format!("{place}: {item}"));
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "a test is a module, and a planted bug a row of tests/history/plants.toml: {found:#?}"
    );
}

/// The words of the control protocol, each as a whole string of JSON or of Rust.
const CONTROL_WORDS: [&str; 4] =
    ["control_request", "control_response", "control_cancel_request", "can_use_tool"];

/// The folders that may name them: the module that reads and writes the lines of both sides; the product, which has its
/// own reader because it is under test; and the facts, which read stdout independently of both.
const PROTOCOL: [&str; 4] = [
    "harness/recording/src/wire.rs",
    "harness/recording/src/facts/",
    "harness/stream/",
    "harness/gateway/",
];

/// Returns the words of the control protocol in the strings of a file's code, without its tests.
fn control_words(text: &str) -> impl Iterator<Item = &'static str> {
    let code = text.split("#[cfg(test)]").next().expect("a first part");
    let is_named = |word: &&str| {
        [format!("\"{word}\""), format!("\\\"{word}\\\"")].iter().any(|it| code.contains(it))
    };
    CONTROL_WORDS.into_iter().filter(is_named)
}

#[test]
fn one_module_reads_and_writes_the_control_protocol() {
    let (mut found, mut own) = (Vec::new(), BTreeSet::new());
    for path in files(&root().join("harness"), ".rs") {
        let place = path.strip_prefix(root()).expect("it is in the repository").to_string_lossy();
        if place.ends_with("tests.rs") || place.contains("/tests/") {
            continue;
        }
        let text = read(&path);
        match PROTOCOL.iter().any(|allowed| place.starts_with(allowed)) {
            true if place.starts_with(PROTOCOL[0]) => own.extend(control_words(&text)),
            true => {}
            false => found.extend(control_words(&text).map(|word| format!("{place}: {word}"))),
        }
    }
    assert_eq!(
        own,
        CONTROL_WORDS.into(),
        "the module does not name them, so this test reads nothing"
    );
    assert!(found.is_empty(), "use {} instead: {found:#?}", PROTOCOL[0]);

    for line in
        [r#"Some("can_use_tool")"#, r##"r#"{"type":"can_use_tool"}"#"##, r#""{\"can_use_tool\"}""#]
    {
        assert_eq!(control_words(line).collect::<Vec<_>>(), ["can_use_tool"], "{line}");
    }
    assert_eq!(control_words("/// `can_use_tool`\n#[cfg(test)]\n\"can_use_tool\"").next(), None);
}

/// The folders whose workflows run actions of others, and the pages that show one.
const WORKFLOWS: [(&str, &str); 3] = [(".github", ".yml"), ("harness", ".yml"), ("docs", ".md")];

/// The action of this repository, as pages show it.
const OWN_ACTION: &str = concat!("OWNER/clitape@COMMIT # v", env!("CARGO_PKG_VERSION"));

#[test]
fn workflows_name_the_commit_of_every_action() {
    let mut seen = 0;
    let paths = WORKFLOWS.map(|(folder, ending)| files(&root().join(folder), ending)).concat();
    for path in paths.into_iter().chain([root().join("action.yml")]) {
        let text = read(&path);
        let uses = text.lines().map(|line| line.trim().trim_start_matches("- "));
        let uses = uses.filter_map(|line| line.strip_prefix("uses: "));
        // A page can't name the commit of the release that it is in.
        for action in uses.filter(|action| *action != OWN_ACTION) {
            seen += 1;
            let commit = action.split_once('@').and_then(|(_, rest)| rest.split_once(" # v"));
            let is_commit = commit.is_some_and(|(commit, _)| {
                commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit())
            });
            assert!(is_commit, "{}: {action}: write COMMIT # vVERSION", path.display());
        }
    }
    assert!(seen > 10, "only {seen} actions were read");
}

/// The folders of the library crates.
const LIBRARIES: [&str; 7] = [
    "harness/stream",
    "harness/gateway",
    "harness/recording",
    "harness/process",
    "harness/judge",
    "harness/runner",
    "harness/rig",
];

/// The modules of the recording and of the runner above it, in the order of the data flow. A module may use the rows
/// above its own, and in its own row only itself.
const LAYERS: [&[&str]; 14] = [
    &["clock", "files", "limits", "text", "wire"],
    &["names", "toml_text", "trace"],
    &["scenario"],
    &["cassette"],
    &["capture", "chat", "rename", "secrets"],
    &["facts"],
    &["cache"],
    &["record", "replay"],
    &["check", "observed"],
    &["conform"],
    &["suite"],
    &["compare", "corpus"],
    &["drift"],
    &["baseline"],
];

#[test]
fn the_modules_of_recording_and_runner_depend_in_one_direction() {
    let layer = |module: &str| match LAYERS.iter().position(|layer| layer.contains(&module)) {
        None if module == "report" => LAYERS.len(),
        None => panic!("`{module}` has no layer in tests/tidy.rs"),
        Some(layer) => layer,
    };
    let mut uses = 0;
    let crates =
        ["harness/recording/src", "harness/runner/src"].map(|src| imports(&root().join(src)));
    let is_of_both = |path: &&Vec<String>| {
        path.len() > 1 && ["crate", "clitape_recording"].contains(&path[0].as_str())
    };
    for file in crates.into_iter().flatten() {
        let Some(own) = file.module.first() else { continue };
        for path in file.paths.iter().filter(is_of_both) {
            let used = &path[1];
            if used != own && used.chars().next().is_some_and(char::is_lowercase) {
                uses += 1;
                let place = file.place.display();
                assert!(layer(used) < layer(own), "{place} uses {}", path.join("::"));
            }
        }
    }
    assert!(uses > 100, "only {uses} imports were read");
}

/// The names that several types may have, each with the reason.
const NAMED_TWICE: [(&str, &str); 2] = [
    ("Args", "the arguments of a subcommand, whose name is that of the module"),
    (
        "Supervisor",
        "a process between clitape and a program, and nothing where the system has none",
    ),
];

#[test]
fn a_type_name_stands_for_one_concept() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let sources = LIBRARIES.map(|library| format!("{library}/src"));
    for src in sources.into_iter().chain(["harness/cli".into()]) {
        for file in imports(&root().join(&src)) {
            let place = format!("{src}/{}", file.place.display());
            for name in file.types {
                places.entry(name).or_default().push(place.clone());
            }
        }
    }
    assert!(places.len() > 1_000, "only {} types were read", places.len());
    for (name, why) in NAMED_TWICE {
        let files = places.remove(name).unwrap_or_default();
        assert!(files.len() > 1, "{name} stands once: it needs no exception ({why})");
    }
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "give each concept a name of its own: {places:#?}");
}

#[test]
fn no_test_is_named_after_a_tracker() {
    let mut tests = 0;
    for path in sources() {
        let text = read(&path);
        for name in text.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")) {
            let is_number =
                |part: &str| part.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
            let names_issue = name.split("issue_").skip(1).any(is_number);
            assert!(
                !names_issue,
                "{}: say what {name} shows, not where it was asked for",
                path.display()
            );
            tests += 1;
        }
    }
    assert!(tests > 1_000, "only {tests} functions were read");
}

#[test]
fn no_parameter_is_a_tuple_without_a_name() {
    let mut found = Vec::new();
    for src in
        LIBRARIES.map(|library| format!("{library}/src")).into_iter().chain(["harness/cli".into()])
    {
        for file in imports(&root().join(&src)) {
            let place = file.place.display();
            found.extend(file.tuple_parameters.iter().map(|name| format!("{src}/{place}: {name}")));
        }
    }
    assert!(found.is_empty(), "give each part a name, or all of them a type: {found:#?}");
}

/// The crates that each crate of the harness may use, without tests. `judge` knows no subject, and `recording` starts
/// no program.
const USES: [(&str, &[&str]); 6] = [
    ("gateway", &["stream"]),
    ("recording", &["gateway", "stream"]),
    ("process", &["gateway", "recording"]),
    ("judge", &["gateway", "recording", "stream"]),
    ("runner", &["gateway", "judge", "process", "recording", "stream"]),
    ("rig", &["gateway", "judge", "process", "recording", "runner", "stream"]),
];

#[test]
fn each_crate_uses_those_below_it() {
    for (own, allowed) in USES {
        let manifest = read(&root().join(format!("harness/{own}/Cargo.toml")));
        let dependencies = manifest.split("[dependencies]").nth(1).expect("a crate has some");
        let dependencies = dependencies.split("\n[").next().expect("a first part");
        let uses: BTreeSet<&str> = dependencies
            .lines()
            .filter_map(|line| line.strip_prefix("clitape-"))
            .map(|rest| rest.split(['.', ' ']).next().expect("a first part"))
            .collect();
        assert_eq!(uses, allowed.iter().copied().collect(), "clitape-{own}");
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for crate_ in LIBRARIES {
        let all = imports(&root().join(crate_).join("src"));
        let edges = |(own, file): (usize, &FileImports)| -> Vec<usize> {
            let inner =
                file.paths.iter().filter(|path| path.first().is_some_and(|it| it == "crate"));
            inner.filter_map(|path| definer(&all, path)).filter(|to| *to != own).collect()
        };
        let edges: Vec<Vec<usize>> = all.iter().enumerate().map(edges).collect();
        assert!(edges.iter().map(Vec::len).sum::<usize>() > 100, "too few imports were read");
        let place = |file: &usize| root().join(crate_).join("src").join(&all[*file].place);
        found.extend(circles(&edges).iter().map(|it| it.iter().map(place).collect::<Vec<_>>()));
    }
    assert!(found.is_empty(), "these files import each other: {found:#?}");
}

/// The paths that only `harness/cli` may name: the arguments, the environment, the temporary folder and the terminal.
const OUTSIDE: [&[&str]; 6] = [
    &["std", "io", "stdout"],
    &["std", "io", "stderr"],
    &["anstream", "stdout"],
    &["anstream", "stderr"],
    &["std", "env"],
    &["std", "io", "stdin"],
];

/// The number of these paths, from the first on, that print.
const PRINTS: usize = 4;

/// The exceptions for libraries: functions that read no state, and those that the supervisor and bubblewrap need. These
/// two run in a separate process, which clitape starts and talks to by stdin.
const ALLOWED: [&str; 12] = [
    "harness/process/src/confine/enter.rs: std::env::current_dir",
    "harness/process/src/confine/enter.rs: std::io::stdin",
    "harness/process/src/confine/namespaces.rs: std::env::current_dir",
    "harness/process/src/confine/namespaces.rs: std::env::set_current_dir",
    "harness/process/src/confine/syscalls.rs: std::env::consts::ARCH",
    "harness/process/src/host.rs: std::env::split_paths",
    "harness/process/src/supervise.rs: std::env::set_current_dir",
    "harness/process/src/supervise.rs: std::io::stdin",
    "harness/rig/src/subject/boot.rs: std::env::join_paths",
    "harness/rig/src/subject/boot.rs: std::env::split_paths",
    "harness/rig/src/subject/packages.rs: std::env::split_paths",
    "harness/runner/src/record/claude.rs: std::env::join_paths",
];

/// The folder of the stand-in, a separate program that a gateway starts: it may use the arguments, the pipes and the
/// folder of its process.
const STAND_IN: &str = "harness/rig/src/stand_in/";

/// Returns whether a path begins with these names.
fn begins(path: &[String], start: &[&str]) -> bool {
    path.len() >= start.len() && path.iter().zip(start).all(|(part, name)| part == name)
}

/// The macros that print.
const PRINTING: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];

/// Returns the uses of `outside` by the files in `src`, and their macros that print, each with its file.
fn named_outside(src: &str, outside: &[&[&str]]) -> Vec<String> {
    let mut found = Vec::new();
    for file in imports(&root().join(src)) {
        let place = format!("{src}/{}", file.place.display());
        let paths =
            file.paths.iter().filter(|path| outside.iter().any(|start| begins(path, start)));
        found.extend(paths.map(|path| format!("{place}: {}", path.join("::"))));
        let printing = file.macros.iter().filter(|name| PRINTING.contains(&name.as_str()));
        found.extend(printing.map(|name| format!("{place}: {name}!")));
    }
    found
}

#[test]
fn only_the_command_reads_arguments_environment_and_terminal() {
    let found: Vec<String> =
        LIBRARIES.iter().flat_map(|it| named_outside(&format!("{it}/src"), &OUTSIDE)).collect();
    let found = found.iter().map(String::as_str).filter(|named| !named.starts_with(STAND_IN));
    let found: BTreeSet<&str> = found.collect();
    assert_eq!(found, ALLOWED.into(), "these are named, and these may be");
}

#[test]
fn one_file_prints() {
    let found = named_outside("harness/cli", &OUTSIDE[..PRINTS]);
    let (own, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|it| it.starts_with("harness/cli/terminal.rs"));
    assert!(!own.is_empty(), "the terminal's file does not print, so this test reads nothing");
    assert!(others.is_empty(), "{others:#?}");
}

/// The functions that write, make, move or remove a file.
const WRITING: [&[&str]; 20] = [
    &["std", "fs", "File", "create"],
    &["std", "fs", "OpenOptions"],
    &["std", "fs", "copy"],
    &["std", "fs", "create_dir"],
    &["std", "fs", "create_dir_all"],
    &["std", "fs", "hard_link"],
    &["std", "fs", "remove_dir_all"],
    &["std", "fs", "remove_file"],
    &["std", "fs", "rename"],
    &["std", "fs", "write"],
    &["fs_err", "OpenOptions"],
    &["fs_err", "copy"],
    &["fs_err", "create_dir"],
    &["fs_err", "create_dir_all"],
    &["fs_err", "hard_link"],
    &["fs_err", "remove_dir_all"],
    &["fs_err", "remove_file"],
    &["fs_err", "rename"],
    &["fs_err", "write"],
    &["tempfile"],
];

/// The files that may name them, each with the target of its writes. All other writes, in a workspace or at a path of
/// an option, go through the first one, which does not follow links of a repository and replaces files whole.
const WRITERS: [(&str, &str); 10] = [
    ("harness/recording/src/files/", "whatever a caller puts in its place"),
    ("harness/runner/src/cache.rs", "the cache folder of the user"),
    ("harness/runner/src/compare/subject.rs", "the cache folder of the user"),
    ("harness/runner/src/drift/side.rs", "the cache folder of the user"),
    ("harness/process/src/", "temporary folders, and the cache folder of the user"),
    (
        "harness/runner/src/record/",
        "temporary folders, and the cache and state folders of the user",
    ),
    ("harness/rig/src/reach/", "the temporary folder of a gateway"),
    ("harness/rig/src/subject/boot.rs", "the temporary folder of a gateway"),
    ("harness/rig/src/subject/replay.rs", "the temporary folder of a replay"),
    (STAND_IN, "the log, the queue and the transcripts that the stand-in's caller names"),
];

#[test]
fn one_module_puts_files_in_their_places() {
    let sources = LIBRARIES[2..].iter().map(|library| format!("{library}/src"));
    let sources: Vec<String> = sources.chain(["harness/cli".to_owned()]).collect();
    let named = sources.iter().flat_map(|src| named_outside(src, &WRITING));
    let (allowed, others): (Vec<String>, Vec<String>) = named
        .filter(|named| !named.ends_with('!'))
        .partition(|named| WRITERS.iter().any(|(place, _)| named.starts_with(place)));
    assert!(others.is_empty(), "use harness/recording/src/files/ instead: {others:#?}");
    for (place, what) in WRITERS {
        let is_used = allowed.iter().any(|named| named.starts_with(place));
        assert!(is_used, "{place} writes nothing any more ({what})");
    }
}

/// The functions that start a thread, and the methods that do.
const STARTING: [&[&str]; 2] = [&["std", "thread", "spawn"], &["std", "thread", "Builder"]];
const STARTING_METHODS: [&str; 3] = ["scope.spawn(", ".spawn_scoped(", ".spawn_blocking("];

#[test]
fn one_file_starts_threads() {
    let sources = LIBRARIES.iter().map(|it| format!("{it}/src")).chain(["harness/cli".to_owned()]);
    let mut found = BTreeSet::new();
    for src in sources {
        found.extend(named_outside(&src, &STARTING).into_iter().filter(|it| !it.ends_with('!')));
        for path in files(&root().join(&src), ".rs").iter().filter(|it| !it.ends_with("tests.rs")) {
            let text = read(path);
            let code = text.split("#[cfg(test)]").next().expect("a first part");
            let used = STARTING_METHODS.iter().filter(|it| code.contains(**it));
            let place = path.strip_prefix(root()).expect("it is in the repository").display();
            found.extend(used.map(|method| format!("{place}: {method}")));
        }
    }
    let is_own = |named: &String| named.starts_with("harness/process/src/threads.rs: ");
    let (own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_own);
    assert!(!own.is_empty(), "this test reads nothing: {own:?}");
    assert!(others.is_empty(), "use harness/process/src/threads.rs instead: {others:#?}");
}

/// Returns the groups of nodes that lead to each other, and the nodes that lead to themselves.
fn circles(edges: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let reached = |from: usize| {
        let (mut seen, mut open) = (BTreeSet::new(), edges[from].clone());
        while let Some(node) = open.pop() {
            if seen.insert(node) {
                open.extend(&edges[node]);
            }
        }
        seen
    };
    let reached: Vec<BTreeSet<usize>> = (0..edges.len()).map(reached).collect();
    let group = |node: usize| -> BTreeSet<usize> {
        reached[node].iter().copied().filter(|other| reached[*other].contains(&node)).collect()
    };
    let groups: BTreeSet<_> =
        (0..edges.len()).map(group).filter(|group| !group.is_empty()).collect();
    groups.into_iter().collect()
}
