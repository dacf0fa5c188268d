//! The rows of docs/conformance.md about the corpus: how often a parser of others gets the answer out of recorded and of
//! damaged bytes. A test reads the corpus with the parser and holds its row; `UPDATE_CONFORMANCE=1` writes it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that can't be set up fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{check, root};

/// The page with the rows.
const PAGE: &str = "docs/conformance.md";
/// The recordings that a row is about: those of the newest version, or all of them.
pub(crate) const NEWEST: &str = "2.1.332";
pub(crate) const ALL: &str = "all";
/// The kinds of bytes, in the order of the columns. An output that is cut has lost its answer.
const KINDS: [&str; 5] = ["recorded", "dropped", "log-inside", "twice", "unknown-kind"];
/// The most files that a parser gets at a time, because a command line has an end.
const AT_ONCE: usize = 500;

/// Some bytes of a corpus that have the answer of the last turn.
pub(crate) struct Asked {
    kind: String,
    path: PathBuf,
    answer: String,
}

/// Writes a corpus to `dir`; returns what parsers are asked about: outputs whose last turn is answered, and damaged ones
/// that still have this answer.
pub(crate) fn asked(dir: &Path, recordings: &str) -> Vec<Asked> {
    let corpus = dir.join("corpus");
    let out = corpus.to_str().unwrap();
    let newest = format!("*/{NEWEST}");
    let names: &[&str] = if recordings == ALL { &[] } else { &[&newest] };
    check(root(), &[&["--quiet", "corpus", "--out", out], names].concat(), 0, &[], &[]);
    let json =
        |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let mut asked = Vec::new();
    for recording in json(&corpus.join("index.json"))["recordings"].as_array().unwrap() {
        let path = corpus.join(recording["reading"].as_str().unwrap());
        let reading = json(&path);
        let run = &reading["runs"][0];
        let last = run["turns"].as_array().unwrap().last().unwrap();
        let answer = last["result"].as_str().filter(|text| !text.is_empty());
        let Some(answer) = answer.filter(|_| last["ending"] == "answered") else { continue };
        let answer = answer.to_owned();
        let recorded = path.with_file_name(run["stdout"].as_str().unwrap());
        asked.push(Asked { kind: KINDS[0].to_owned(), path: recorded, answer: answer.clone() });
        let Some(mutated) = recording["mutated"].as_str() else { continue };
        let path = corpus.join(mutated);
        for one in json(&path)["mutated"].as_array().unwrap() {
            let holds = &one["must_hold"];
            let kind = one["kind"].as_str().unwrap().to_owned();
            let has_answer = holds["same_final_text"] == true && holds["is_cut_off"] == false;
            if has_answer && KINDS.contains(&kind.as_str()) {
                let path = path.with_file_name(one["stdout"].as_str().unwrap());
                asked.push(Asked { kind, path, answer: answer.clone() });
            }
        }
    }
    asked
}

/// Returns the texts of the last outcomes that a parser prints for these files; none where it prints no outcome.
fn outcomes(parser: &dyn Fn() -> Command, asked: &[Asked]) -> Vec<Option<String>> {
    let mut outcomes = Vec::new();
    for asked in asked.chunks(AT_ONCE) {
        let mut command = parser();
        command.args(asked.iter().map(|it| &it.path)).stdin(Stdio::null());
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command:?}: {error}");
        let (mut last, mut read) = (None, 0);
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            if line.is_empty() {
                outcomes.push(last.take());
                read += 1;
                continue;
            }
            // A delta may be half of a character, which Python prints and which is no JSON to others.
            if !line.contains(r#""outcome""#) {
                continue;
            }
            let entry: Value = serde_json::from_str(line).unwrap();
            if entry["kind"] == "outcome" {
                last = entry["data"]["text"].as_str().map(str::to_owned);
            }
        }
        assert_eq!(read, asked.len(), "{command:?} ended early: {error}");
    }
    outcomes
}

/// Reads a corpus with a parser, and holds the row of this name to what it got.
#[track_caller]
pub(crate) fn hold_row(
    name: &str,
    recordings: &str,
    asked: &[Asked],
    parser: &dyn Fn() -> Command,
) {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (asked, text) in asked.iter().zip(outcomes(parser, asked)) {
        let has_answer = text.is_some_and(|text| text.trim().ends_with(asked.answer.as_str()));
        let [right, all] = counts.entry(&asked.kind).or_default();
        *right += usize::from(has_answer);
        *all += 1;
    }
    let cells = KINDS.map(|kind| match counts.get(kind) {
        Some([right, all]) => format!(" {right} of {all} |"),
        None => panic!("the corpus has nothing of the kind {kind}"),
    });
    let begin = format!("| {name} | {recordings} |");
    let row = format!("{begin}{}", cells.concat());
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let held = page.lines().find(|line| line.starts_with(&begin));
    let held = held.unwrap_or_else(|| panic!("{PAGE} has no row `{begin}`"));
    if std::env::var_os("UPDATE_CONFORMANCE").is_some() {
        std::fs::write(&path, page.replacen(held, &row, 1)).unwrap();
    } else {
        assert_eq!(held, row, "{PAGE}: UPDATE_CONFORMANCE=1 writes the row");
    }
}
