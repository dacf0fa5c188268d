//! Tests of links that a repository brings, at every place that a command writes and in place of every folder on the
//! way: no command writes, moves or removes a file through one of them.
//!
//! The places are found by a run of the command without links, so that a new command, or a new option in its row, is
//! tested without a list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};

use crate::commands::COMMANDS;
use crate::common;
use crate::place::{Place, serve};
use crate::row::Row;

/// The options that name a file or folder which the command only reads, or in which it starts a program.
const READ: &[&str] = &[
    "--root",
    "chat-server --script",
    "conform --schema",
    "editor --folder",
    "import --from-log",
    "import --stdin",
    "proof --check",
    "replay --plan",
    "session --config-dir",
    "session --cwd",
    "shrink --plan",
];

/// Returns a trial for each command that writes, and one for the list of them.
pub(crate) fn trials() -> Vec<Trial> {
    let writes = |row: &&Row| {
        row.writes.iter().any(|path| path.starts_with("out") || path.starts_with("work"))
    };
    let rows = COMMANDS.iter().filter(writes);
    let trial = |row: &'static Row| {
        Trial::test(format!("links_are_never_written_through_by_{}", row.name), || check(row))
    };
    let mut trials: Vec<Trial> = rows.map(trial).collect();
    trials.push(Trial::test("every_option_that_writes_a_file_is_in_the_table", || {
        check_options();
        Ok(())
    }));
    trials
}

/// The exit code of a command, and the text that it printed.
struct Ran {
    code: Option<i32>,
    said: String,
}

fn run(row: &Row, place: &Place) -> Ran {
    let url = if row.loopback { serve() } else { String::new() };
    let args = place.arguments(row.args, &url);
    let output = place.command(env!("CARGO_BIN_EXE_clitape"), &args).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Ran { code: output.status.code(), said: String::from_utf8_lossy(&said).into_owned() }
}

/// Makes the workspace of a row, as it is before the row runs. The output folder is inside of it, unless the row makes
/// a workspace of that folder.
fn prepared(row: &Row) -> Place {
    let place = match row.args.contains(&"--root") {
        true => Place::new(),
        false => Place::with_output_inside(),
    };
    (row.prepare)(&place);
    place
}

/// Returns the files of the workspace and of the output, with their bytes.
fn files(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let below = |path: PathBuf| path.strip_prefix(place.base()).unwrap().to_owned();
    let all = [&place.work, &place.out].into_iter().flat_map(|dir| common::tree(dir));
    all.map(|(path, bytes)| (below(path), bytes)).collect()
}

fn check(row: &Row) -> Result<(), Failed> {
    let plain = prepared(row);
    let before = files(&plain);
    let ran = run(row, &plain);
    assert_eq!(ran.code, Some(row.code), "without a link\n{}", ran.said);
    let after = files(&plain);
    let changed = after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes));
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    let places: BTreeSet<&PathBuf> = changed.chain(gone).map(|(path, _)| path).collect();
    assert!(!places.is_empty(), "the command wrote nothing\n{}", ran.said);
    // The root of a workspace is the user's choice, and may be a link.
    let is_inside = |folder: &&Path| folder.components().count() > 1;
    let folders: BTreeSet<&Path> =
        places.iter().flat_map(|path| path.ancestors().skip(1)).filter(is_inside).collect();
    let mut wrong = Vec::new();
    for place in places {
        wrong.extend(at_the_place(row, place, after.contains_key(place)));
    }
    for folder in folders {
        wrong.extend(as_a_folder(row, folder));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Returns the files outside with their bytes, and all entries there.
fn outside(place: &Place) -> (Vec<(PathBuf, Vec<u8>)>, Vec<PathBuf>) {
    let all = walkdir::WalkDir::new(&place.outside).sort_by_file_name().into_iter();
    (place.outside(), all.map(|entry| entry.unwrap().into_path()).collect())
}

/// Returns whether a path is one that an option names.
fn is_report(path: &Path) -> bool {
    path.starts_with("work/out")
}

/// Returns a sentence about the failure with a link at a place that the command writes; `None` if it passes.
fn at_the_place(row: &Row, path: &Path, is_left: bool) -> Option<String> {
    let place = prepared(row);
    let link = place.base().join(path);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&link);
    symlink(place.outside.join("precious"), &link).unwrap();
    let before = outside(&place);
    let Ran { code, said } = run(row, &place);
    // The stand-in does not overwrite another program, and the job summary is appended to.
    let refuses = ["is there already", "can't write the job summary"];
    let replaces = is_report(path) && !refuses.iter().any(|part| said.contains(part));
    let what = match code {
        _ if outside(&place) != before => "something outside was changed",
        None | Some(1 | 101) => "it did not end as documented",
        Some(code) if replaces && code != row.code => "it did not replace the link",
        Some(_) if replaces && is_left && link.is_symlink() => "the link is there still",
        _ => return None,
    };
    Some(format!("a link at {}: {what} (exit {code:?})\n{said}", path.display()))
}

/// Returns a sentence about the failure with a folder on the way that is a link to a folder outside with the same
/// files; `None` if it passes.
fn as_a_folder(row: &Row, path: &Path) -> Option<String> {
    let place = prepared(row);
    let (folder, away) = (place.base().join(path), place.outside.join("away"));
    fs::create_dir(&away).unwrap();
    if folder.is_dir() {
        common::copy(&folder, &away);
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    symlink(&away, &folder).unwrap();
    let before = outside(&place);
    let Ran { code, said } = run(row, &place);
    // A corpus takes no folder that has anything in it.
    let refuses =
        ["is a link in the repository or workspace", "a corpus takes a folder of its own"];
    let is_named = refuses.iter().any(|part| said.contains(part));
    let what = match code {
        _ if outside(&place) != before => "something outside was changed",
        None | Some(1 | 101) => "it did not end as documented",
        Some(_) if is_report(path) && !is_named => "it did not refuse the link",
        Some(_) => return None,
    };
    Some(format!("{} as a link: {what} (exit {code:?})\n{said}", path.display()))
}

/// Compares the table of commands with the help: each option that names a file or folder is in a row or in [`READ`].
fn check_options() {
    let mut named = 0;
    for command in commands(&[]) {
        for option in options_with_a_file(&command) {
            let is_written = COMMANDS.iter().any(|row| {
                let words = row.args.iter().filter(|word| !word.starts_with('{'));
                let begins = command.iter().zip(words).all(|(a, b)| a == b);
                begins && row.args.contains(&option.as_str())
            });
            let shown = format!("{} {option}", command.join(" "));
            let is_read = READ.contains(&option.as_str()) || READ.contains(&shown.as_str());
            assert!(
                is_written || is_read,
                "{shown}: put it into a row of tests/confined/commands.rs if it writes, or into READ if it does not"
            );
            named += usize::from(is_written);
        }
    }
    assert!(named >= 20, "only {named} options that write were read from the help");
}

fn help(command: &[String]) -> String {
    let output = common::clitape().args(command).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns all commands at and below this one that have an effect, as words.
fn commands(above: &[String]) -> Vec<Vec<String>> {
    let text = help(above);
    let Some((_, below)) = text.split_once("\nCommands:\n") else { return vec![above.to_vec()] };
    let lines = below.lines().map_while(|line| line.strip_prefix("  "));
    let names = lines.filter(|line| !line.starts_with(' ')).filter_map(|l| l.split(' ').next());
    let below = names.filter(|name| *name != "help");
    below.flat_map(|name| commands(&[above, &[name.to_owned()]].concat())).collect()
}

/// Returns the options of a command whose value is named after a file or a folder.
fn options_with_a_file(command: &[String]) -> Vec<String> {
    let text = help(command);
    let lines = text.lines().filter_map(|line| {
        let (option, rest) = line.trim_start().split_once(" <")?;
        let mut names = rest.split('>').next()?.split('|');
        let is_file = names.any(|name| ["FILE", "DIR", "PATH"].contains(&name));
        let option = option.rsplit(' ').next()?;
        (is_file && option.starts_with("--")).then(|| option.to_owned())
    });
    lines.collect()
}
