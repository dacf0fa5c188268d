//! A folder that may be a cassette: whatever is in it, loading ends with a cassette whose sizes
//! add up and that is the same again once written, or with an error that names a file of the folder.
//!
//! An input is the folder's files, each after a line `=== NAME`. The characters before the first of
//! them say what is made right before loading, so that a change of a file is not always refused at
//! its hash: `h` the hashes, the seal and an earlier format, `c` the counts.

use std::collections::BTreeMap;
use std::path::Path;

use clitape_recording::cassette::{Cassette, FORMAT, Take, Tick, TickKind, sealed};
use clitape_recording::scenario::Workspace;
use clitape_runner::replay::Plan;
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

/// What begins a file.
const FILE: &[u8] = b"=== ";
const MANIFEST: &str = "cassette.toml";
const STDOUT: &str = "stdout.jsonl";
const TIMELINE: &str = "timeline.jsonl";

/// Makes the folder and loads it.
pub fn check(bytes: &[u8]) {
    if bytes.len() > 64 << 10 {
        return;
    }
    let (flags, mut files) = files(bytes);
    repair(&mut files, flags.contains(&b'h'), flags.contains(&b'c'));
    let root = super::scratch("cassette");
    let dir = root.join("fuzzed");
    std::fs::create_dir(&dir).expect("a folder can be made");
    for (name, content) in &files {
        std::fs::write(dir.join(name), content).expect("a file can be written");
    }
    match Cassette::load(&dir) {
        Ok(cassette) => check_cassette(&root, &cassette),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The characters before the first file, and the files by their names.
fn files(bytes: &[u8]) -> (&[u8], BTreeMap<String, Vec<u8>>) {
    let mut files = BTreeMap::new();
    let mut flags: &[u8] = &[];
    let mut current = None;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_prefix(FILE) {
            Some(name) => {
                let name = String::from_utf8_lossy(name).trim().to_owned();
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                let is_plain = !name.starts_with('.') && name.chars().all(is_plain);
                current = (is_plain && !name.is_empty() && name.len() < 80).then_some(name);
                if let Some(name) = &current {
                    files.insert(name.clone(), Vec::new());
                }
            }
            None => match &current {
                Some(name) => files.entry(name.clone()).or_default().extend_from_slice(line),
                None if files.is_empty() => flags = line,
                None => {}
            },
        }
    }
    (flags, files)
}

/// Makes the hashes and counts in `cassette.toml` those of the files, and seals it.
fn repair(files: &mut BTreeMap<String, Vec<u8>>, hashes: bool, counts: bool) {
    let text = files.get(MANIFEST).and_then(|text| std::str::from_utf8(text).ok());
    let Some(Ok(mut manifest)) = text.map(toml::from_str::<Table>) else { return };
    if hashes && let Some(Value::Table(named)) = manifest.get_mut("sha256") {
        for (name, content) in files.iter().filter(|(name, _)| *name != MANIFEST) {
            let hash = Sha256::digest(content);
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            named.insert(name.clone(), hash.into());
        }
        named.retain(|name, _| files.contains_key(name) || !is_of_a_cassette(name));
    }
    if counts {
        if let Some(Value::Table(table)) = manifest.get_mut("counts") {
            *table = self::counts(files, 1);
        }
        if let Some(Value::Array(runs)) = manifest.get_mut("run") {
            for (number, run) in (2..).zip(runs) {
                if let Value::Table(run) = run {
                    run.insert("counts".to_owned(), self::counts(files, number).into());
                }
            }
        }
    }
    let mut text = manifest.to_string();
    if hashes {
        let is_earlier = |format: &Value| {
            format.as_integer().is_some_and(|format| (1..i64::from(FORMAT)).contains(&format))
        };
        if manifest.get("format").is_some_and(is_earlier) {
            manifest.insert("format".to_owned(), i64::from(FORMAT).into());
        }
        manifest.remove("seal");
        text = sealed(&manifest.to_string());
    }
    files.insert(MANIFEST.to_owned(), text.into_bytes());
}

/// Whether a name of a hash could be that of a file, so that it is only right if the file is there.
fn is_of_a_cassette(name: &str) -> bool {
    name.ends_with(".jsonl") || name.ends_with(".txt")
}

/// The counts of run `number`, as `cassette.toml` has them.
fn counts(files: &BTreeMap<String, Vec<u8>>, number: usize) -> Table {
    let name = |stem: &str| match number {
        1 => format!("{stem}.jsonl"),
        _ => format!("{stem}.{number}.jsonl"),
    };
    let empty = Vec::new();
    let stdout = files.get(&name("stdout")).unwrap_or(&empty);
    let timeline = files.get(&name("timeline")).unwrap_or(&empty);
    let reads = timeline.split(|&byte| byte == b'\n');
    let reads = reads.filter(|line| line.windows(3).any(|part| part == b"\"o\"")).count();
    let lines = stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
    let blank = stdout.windows(2).filter(|pair| pair == b"\n\n").count();
    let blank = blank + usize::from(stdout.starts_with(b"\n"));
    let number = |n: usize| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    Table::from_iter([
        ("bytes".to_owned(), number(stdout.len())),
        ("lines".to_owned(), number(lines + blank)),
        ("reads".to_owned(), number(reads)),
    ])
}

/// What holds for every cassette that loads.
fn check_cassette(root: &Path, cassette: &Cassette) {
    let first = (&cassette.stdout, &cassette.timeline, cassette.manifest.counts);
    let further = cassette.further.iter().map(|run| (&run.stdout, &run.timeline, run.facts.counts));
    for (stdout, timeline, counts) in std::iter::once(first).chain(further) {
        assert_eq!(total(timeline), Some(stdout.len() as u64));
        assert_eq!(counts.bytes, stdout.len() as u64);
        let duration = timeline.iter().try_fold(0_u64, |sum, tick| sum.checked_add(tick.after_ms));
        assert!(duration.is_some(), "a cassette takes longer than there are milliseconds");
        let plan = Plan::recorded(timeline);
        let pieces: Vec<u8> = plan.pieces(stdout).flat_map(|(_, piece)| piece).copied().collect();
        assert_eq!(pieces, *stdout);
    }
    assert_eq!(cassette.manifest.runs.len(), cassette.further.len());

    let mut take = Take {
        manifest: cassette.manifest.clone(),
        stdout: cassette.stdout.clone(),
        timeline: cassette.timeline.clone(),
        stderr: Vec::new(),
        stdin: Vec::new(),
        transcript: cassette.transcript.clone(),
        further: cassette.further.clone(),
    };
    take.manifest.sha256.clear();
    let written = take.write(&Workspace::at(root)).expect("what was loaded can be written");
    assert!(written.starts_with(root), "{} is outside of {}", written.display(), root.display());
    let again = Cassette::load(&written).expect("what was written can be loaded");
    assert_eq!(again.stdout, cassette.stdout);
    assert_eq!(again.timeline, cassette.timeline);
    assert_eq!(again.transcript, cassette.transcript);
    assert_eq!(again.further, cassette.further);
    assert_eq!(again.manifest.counts, cassette.manifest.counts);
    assert_eq!(again.version(), cassette.version());
    for name in [STDOUT, TIMELINE] {
        let is_named = again.manifest.sha256.keys().any(|file| file.to_string() == name);
        assert!(is_named, "{name} has no hash");
    }
}

/// The bytes that the reads of a timeline brought, unless they are more than a number can count.
fn total(timeline: &[Tick]) -> Option<u64> {
    timeline.iter().try_fold(0, |sum: u64, tick| match tick.kind {
        TickKind::Out(n) => sum.checked_add(n),
        _ => Some(sum),
    })
}
