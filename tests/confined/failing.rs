//! Tests of writes that fail halfway, as on a full disk. Each call that makes, fills or moves a file fails once; the
//! workspace must then be as before or complete, and the same command completes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use libtest_mimic::{Failed, Trial};

use crate::commands::COMMANDS;
use crate::place::{Place, serve};
use crate::row::Row;
use crate::with_strace;

/// The calls that fail, grouped by their effect.
const CALLS: [&str; 4] = [
    "mkdir,mkdirat",
    "write,pwrite64,writev,copy_file_range,sendfile,ftruncate",
    "rename,renameat,renameat2,link,linkat",
    "unlink,unlinkat,rmdir",
];

/// Returns a trial for each command that writes in the workspace.
pub(crate) fn trials() -> Vec<Trial> {
    let rows = COMMANDS.iter().filter(|row| row.writes.iter().any(|path| path.starts_with("work")));
    let trial = |row: &'static Row| {
        with_strace(format!("a_write_that_fails_leaves_nothing_half_done_in_{}", row.name), || {
            let failed =
                CALLS.iter().map(|calls| check(row, calls)).sum::<Result<usize, Failed>>()?;
            if failed > 0 { Ok(()) } else { Err("no call of it failed".into()) }
        })
    };
    rows.map(trial).collect()
}

/// Makes the workspace for a row, as it is before the row runs.
fn prepared(row: &Row) -> Place {
    let place = Place::new();
    (row.prepare)(&place);
    place
}

/// Returns the files and empty folders of the workspace, with the bytes of the files.
fn state(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = walkdir::WalkDir::new(&place.work).into_iter().map(Result::unwrap);
    let all = all.filter(|entry| {
        entry.file_type().is_file() || fs::read_dir(entry.path()).unwrap().next().is_none()
    });
    all.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap_or_default()))
        .map(|(path, bytes)| (path.strip_prefix(&place.work).unwrap().to_owned(), bytes))
        .collect()
}

/// Runs a command in the workspace, and returns its exit code and output.
fn run(place: &Place, program: &str, args: &[String]) -> (Option<i32>, String) {
    let output = place.command(program, args).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Returns the lists that show a person the state: the scenarios with their recordings, and the pending goldens.
fn lists(place: &Place) -> Vec<(Option<i32>, String)> {
    let lists = [&["list"][..], &["review", "--list"]];
    let program = env!("CARGO_BIN_EXE_clitape");
    lists.map(|args| run(place, program, &place.arguments(args, ""))).to_vec()
}

/// Returns whether a path is that of a file or folder that was not in its place yet.
fn is_unfinished(path: &Path) -> bool {
    let begins = |part: Component<'_>| {
        let name = part.as_os_str().to_string_lossy();
        [".clitape-", ".writing-", ".replaced-"].iter().any(|prefix| name.starts_with(prefix))
    };
    path.components().any(begins)
}

/// Runs the row under strace with these options of strace, and returns the exit code, the output, and the trace.
fn traced(row: &Row, place: &Place, options: &[&str]) -> (Option<i32>, String, String) {
    let url = if row.loopback { serve() } else { String::new() };
    let trace = place.base().join("trace");
    let words = ["-f", "-qq", "-y", "-o", trace.to_str().unwrap()].into_iter();
    let words = words.chain(options.iter().copied()).chain([env!("CARGO_BIN_EXE_clitape")]);
    let words: Vec<String> =
        words.map(str::to_owned).chain(place.arguments(row.args, &url)).collect();
    let (code, said) = run(place, "strace", &words);
    (code, said, fs::read_to_string(&trace).unwrap())
}

/// Returns the numbers, from 1, of the calls of one kind that a thread makes in the workspace.
fn numbers(trace: &str, place: &Place) -> BTreeSet<usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut numbers = BTreeSet::new();
    let calls = trace.lines().filter_map(|line| line.split_once(' '));
    for (thread, call) in calls.filter(|(_, call)| !call.contains(" resumed>")) {
        let count = counts.entry(thread).or_default();
        *count += 1;
        if call.contains(place.work.to_str().unwrap()) {
            numbers.insert(*count);
        }
    }
    numbers
}

/// Makes each call of these kinds fail once, and returns their number.
fn check(row: &Row, calls: &str) -> Result<usize, Failed> {
    let whole = prepared(row);
    let before = lists(&whole);
    let kinds = format!("trace={calls}");
    let (code, said, trace) = traced(row, &whole, &["-e", &kinds]);
    assert_eq!(code, Some(row.code), "without a fault\n{said}");
    let (after, expect) = (lists(&whole), state(&whole));
    let numbers = numbers(&trace, &whole);
    for &number in &numbers {
        let place = prepared(row);
        let fault = format!("inject={calls}:error=ENOSPC:when={number}");
        let (code, said, trace) = traced(row, &place, &["-e", &kinds, "-e", &fault]);
        let wrong = |what: &str, more: &str| {
            let calls = trace.lines().filter(|line| line.contains("(INJECTED)"));
            let calls = calls.collect::<Vec<_>>().join("\n");
            Err(format!("{what} (exit {code:?})\n{calls}\n{said}\n{more}").into())
        };
        if code.is_none_or(|code| [1, 101].contains(&code)) {
            return wrong("it did not end as documented", "");
        }
        let now = lists(&place);
        let is_one = |(now, (before, after)): (&_, (&_, &_))| now == before || now == after;
        if !now.iter().zip(before.iter().zip(&after)).all(is_one) {
            let now = format!("{now:?}");
            return wrong("the workspace is neither as it was nor as it should be", &now);
        }
        // A file outside its place may stay if removing fails; the next writer or `WS003` finds it.
        let left: Vec<_> = state(&place).into_keys().filter(|path| is_unfinished(path)).collect();
        if !calls.contains("unlink") && !left.is_empty() {
            return wrong("a file is left", &format!("{left:?}"));
        }
        let args = place.arguments(row.args, "");
        let (again, more) = run(&place, env!("CARGO_BIN_EXE_clitape"), &args);
        let mut done = state(&place);
        done.retain(|path, _| !is_unfinished(path));
        if done != expect {
            let differs = |path: &&PathBuf| done.get(*path) != expect.get(*path);
            let differ: Vec<_> = expect.keys().chain(done.keys()).filter(differs).collect();
            let more = format!("{again:?}\n{more}\nthese differ: {differ:?}");
            return wrong("the same command does not complete it", &more);
        }
    }
    Ok(numbers.len())
}
