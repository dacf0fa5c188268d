//! Copies of the workspace whose code has the mutants, and the programs that are built from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::listed::{Mutant, PACKAGES};
use super::switches::{Switched, switched};

/// The variable that has the number of the mutant that is on.
pub(crate) const SWITCH: &str = "CLITAPE_MUTANT";
/// The folder of the copy in which the mutants that do not compile are found.
const FITTED: &str = "fitted";
/// The folder of the copy that is built. It is written once, so that a second run builds only what has changed.
const BUILT: &str = "tree";
/// The file of the crate that the others depend on.
const LIBRARY: &str = "harness/stream/src/lib.rs";
/// What a mutant may do, although the compiler can tell that it panics.
const ALLOWED: &str = "-A arithmetic_overflow -A unconditional_panic";
/// Tells whether a mutant is on. No mutant has the number 0.
const ON: &str = "
#[doc(hidden)]
pub mod mutant {
    pub fn on(number: u32) -> bool {
        static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
        let read = || std::env::var(\"CLITAPE_MUTANT\").ok()?.parse().ok();
        *NUMBER.get_or_init(|| read().unwrap_or(0)) == number
    }
}
";

/// Two copies of the workspace with the mutants.
pub(crate) struct Tree {
    /// The workspace that is copied.
    source: PathBuf,
    target: PathBuf,
    mutants: Vec<Mutant>,
    /// The numbers of the mutants that a switch turns on; a number is a place in `mutants`, from 1.
    pub(crate) viable: BTreeSet<usize>,
    /// The numbers of those that no switch can be written for.
    pub(crate) left_out: BTreeSet<usize>,
}

/// A program of tests.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// The library or the test that it is made from.
    pub(crate) name: String,
    /// The folder of its package.
    pub(crate) folder: PathBuf,
}

/// What is built from the copy.
pub(crate) struct Programs {
    /// This test.
    pub(crate) suite: Program,
    /// The tests of the mutated packages.
    pub(crate) tests: Vec<Program>,
}

impl Tree {
    /// Copies the files that git knows of the workspace at `from`, but for those that get mutants.
    pub(crate) fn new(from: &Path, mutants: Vec<Mutant>) -> Result<Self> {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutants");
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(from).output()?;
        ensure!(listed.status.success(), "{} is no git checkout", from.display());
        let mutated: BTreeSet<&str> =
            mutants.iter().map(|mutant| mutant.file.as_str()).chain([LIBRARY]).collect();
        let listed = String::from_utf8(listed.stdout)?;
        let known: BTreeSet<&Path> = listed.split_terminator('\0').map(Path::new).collect();
        for copy in [FITTED, BUILT] {
            remove_others(&target.join(copy), &known)?;
        }
        for name in listed.split_terminator('\0') {
            if !mutated.contains(name) {
                let source = from.join(name);
                let bytes = fs::read(&source).context(name.to_owned())?;
                // Whether a program of a scenario can be run is a part of what its recording was made from.
                let mode = fs::metadata(&source)?.permissions();
                for copy in [FITTED, BUILT] {
                    let copy = target.join(copy).join(name);
                    write(&copy, &bytes)?;
                    fs::set_permissions(&copy, mode.clone())?;
                }
            }
        }
        let viable = (1..=mutants.len()).collect();
        Ok(Self { source: from.to_owned(), target, mutants, viable, left_out: BTreeSet::new() })
    }

    /// The mutant of a number.
    pub(crate) fn mutant(&self, number: usize) -> &Mutant {
        &self.mutants[number - 1]
    }

    /// Writes the mutants into the copy, less and less of them, until what is left compiles.
    pub(crate) fn fit(&mut self) -> Result<()> {
        loop {
            let files = self.write(FITTED)?;
            let bad = self.errors(&files)?;
            if bad.is_empty() {
                return Ok(());
            }
            eprintln!("{} mutants do not compile", bad.len());
            self.viable.retain(|number| !bad.contains(number));
        }
    }

    /// Writes the files with the mutants that are left.
    fn write(&mut self, copy: &str) -> Result<BTreeMap<String, Switched>> {
        let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for (number, mutant) in (1..).zip(&self.mutants) {
            files.entry(&mutant.file).or_default().push((number, mutant));
        }
        files.entry(LIBRARY).or_default();
        let mut written = BTreeMap::new();
        let mut left_out = Vec::new();
        for (file, mut mutants) in files {
            mutants.retain(|(number, _)| self.viable.contains(number));
            let source = fs::read_to_string(self.source.join(file))?;
            let is_library = file.starts_with("harness/stream/");
            let on = if is_library { "crate::mutant::on" } else { "::clitape_stream::mutant::on" };
            let mut switched = switched(&source, &mutants, on).with_context(|| file.to_owned())?;
            if file == LIBRARY {
                switched.text.push_str(ON);
            }
            write(&self.target.join(copy).join(file), switched.text.as_bytes())?;
            left_out.extend(switched.left_out.iter().copied());
            written.insert(file.to_owned(), switched);
        }
        self.viable.retain(|number| !left_out.contains(number));
        self.left_out.extend(left_out);
        Ok(written)
    }

    /// The mutants that the compiler refuses.
    fn errors(&self, files: &BTreeMap<String, Switched>) -> Result<BTreeSet<usize>> {
        let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
        let args = ["check", "--all-features"].into_iter().chain(packages);
        let (messages, success) = self.cargo(FITTED, &args.collect::<Vec<_>>())?;
        let mut bad = BTreeSet::new();
        for message in messages.iter().filter(|one| one["message"]["level"] == "error") {
            let message = &message["message"];
            let mut places = Vec::new();
            spans(message, &mut places);
            let of =
                |(file, bytes): &(String, Range<usize>)| files.get(file).map(|file| file.at(bytes));
            let mutants = places.iter().filter_map(of).find(|found| !found.is_empty());
            let is_summary = message["spans"].as_array().is_some_and(Vec::is_empty);
            ensure!(
                mutants.is_some() || is_summary,
                "no mutant makes this error:\n{}",
                message["rendered"].as_str().unwrap_or_default()
            );
            bad.extend(mutants.into_iter().flatten());
        }
        ensure!(success || !bad.is_empty(), "the copy does not compile");
        Ok(bad)
    }

    /// Builds this test and those of the mutated packages.
    pub(crate) fn build(&mut self) -> Result<Programs> {
        self.write(BUILT)?;
        let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
        let args = ["test", "--no-run", "--package", "clitape", "--test", "mutants"];
        let mut built = self.executables(&args)?;
        let suite = built.pop().context("cargo builds this test")?;
        let tests = ["test", "--no-run", "--tests", "--all-features"].into_iter().chain(packages);
        Ok(Programs { suite, tests: self.executables(&tests.collect::<Vec<_>>())? })
    }

    fn executables(&self, args: &[&str]) -> Result<Vec<Program>> {
        let (messages, success) = self.cargo(BUILT, args)?;
        ensure!(success, "`cargo {}` fails in {}", args.join(" "), self.target.display());
        let tests = messages.iter().filter(|message| message["profile"]["test"] == true);
        let program = |message: &Value| {
            let manifest = Path::new(message["manifest_path"].as_str()?);
            Some(Program {
                path: PathBuf::from(message["executable"].as_str()?),
                name: message["target"]["name"].as_str()?.to_owned(),
                folder: manifest.parent()?.to_owned(),
            })
        };
        Ok(tests.filter_map(program).collect())
    }

    /// Runs cargo in a copy; what it reports, and whether it succeeds.
    fn cargo(&self, copy: &str, args: &[&str]) -> Result<(Vec<Value>, bool)> {
        let mut command = Command::new("cargo");
        command.args(args).args(["--locked", "--message-format", "json"]).stderr(Stdio::inherit());
        let output = command
            .current_dir(self.target.join(copy))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUSTFLAGS", ALLOWED)
            .output()?;
        let lines = String::from_utf8(output.stdout)?;
        let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((messages, output.status.success()))
    }
}

/// The places that a message of the compiler names, those of macros that were called there included: the primary
/// ones first.
fn spans(message: &Value, places: &mut Vec<(String, Range<usize>)>) {
    let all = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (primary, other): (Vec<_>, Vec<_>) =
        all.iter().partition(|span| span["is_primary"] == true);
    for mut span in primary.into_iter().chain(other) {
        while !span.is_null() {
            let byte = |key: &str| span[key].as_u64().and_then(|at| usize::try_from(at).ok());
            if let (Some(file), Some(start), Some(end)) =
                (span["file_name"].as_str(), byte("byte_start"), byte("byte_end"))
            {
                places.push((file.to_owned(), start..end));
            }
            span = &span["expansion"]["span"];
        }
    }
    let children = message["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    children.iter().for_each(|child| spans(child, places));
}

/// Removes the files of an earlier copy that are no longer in the workspace, and the folders that are empty then.
fn remove_others(copy: &Path, known: &BTreeSet<&Path>) -> Result<()> {
    if !copy.is_dir() {
        return Ok(());
    }
    for entry in walkdir::WalkDir::new(copy).contents_first(true) {
        let entry = entry?;
        let is_known = entry.path().strip_prefix(copy).is_ok_and(|place| known.contains(place));
        if entry.file_type().is_dir() {
            // A folder that is not empty stays.
            let _ = fs::remove_dir(entry.path());
        } else if !is_known {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file that has other bytes, so that cargo builds only what has changed.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let folder = path.parent().context("a file has a folder")?;
    fs::create_dir_all(folder)?;
    fs::write(path, bytes).with_context(|| path.display().to_string())
}
