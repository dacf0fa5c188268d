//! Tests that the work of a replay, of its rules, of an import, of a verdict on a transcript and of the page of a proof
//! grows in proportion to the input, for many shapes of input; and that the memory of some of them grows less. The
//! measure is allocations, which are the same from run to run, unlike time.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "scale/transcript.rs"]
mod long_transcript;
#[path = "scale/shapes.rs"]
mod shapes;

use std::fs;
use std::process::{Command, ExitCode, Stdio};

use allocation_counter::measure;
use clitape_gateway::session::{resumability, transcript};
use clitape_judge::judge;
use clitape_recording::cassette::import;
use clitape_recording::scenario::{Seeds, Workspace};
use clitape_recording::secrets::scan;
use clitape_runner::report::page;
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{GatheredCases, OwnGateway, SuiteOptions, run};
use libtest_mimic::{Arguments, Failed, Trial};
use long_transcript::print_transcript;
use shapes::{Shape, entries_of, replayed};
use strum::IntoEnumIterator as _;

/// The bytes of the smaller run, which are enough to fill the first message of a chat.
const BYTES: usize = 400_000;
/// The factor by which the other run is larger.
const TIMES: usize = 4;
/// The factor by which the runs of a proof are shorter, because `clitape test` comes before the page.
const PAGE_SHARE: usize = 4;
/// The most by which the work may grow faster than the input.
const MOST: f64 = 1.2;
/// Runs whose replay, without a kept trace, needs little more memory when they are longer. Each has this factor of the
/// smaller run's bytes, because the data of many calls is written in parts, of which there must be several.
const BOUNDED: [(Shape, usize); 10] = [
    (Shape::Messages, 1),
    (Shape::Thinking, 1),
    (Shape::Notices, 1),
    (Shape::Retracted, 1),
    (Shape::Turns, 1),
    (Shape::Session, 1),
    (Shape::Calls, 20),
    (Shape::Edits, 20),
    (Shape::Subagents, 20),
    (Shape::UnknownKinds, 4),
];
/// The most bytes that the peak of such a replay's memory may grow for each byte of input. A kept trace takes more than
/// ten.
const MOST_KEPT: f64 = 0.3;
/// The most texts, each as long as a page, that the search for secrets in a page may have at a time.
const MOST_TEXTS: f64 = 3.0;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trial = |shape: Shape| {
        let name = format!("{shape:?}");
        Trial::test(name, move || grows_as_its_input(|bytes| work(shape, bytes)))
    };
    let bounded = |(shape, times): (Shape, usize)| {
        let name = format!("{shape:?}");
        Trial::test(name, move || takes_bounded_memory(shape, BYTES * times))
    };
    let transcript = || grows_as_its_input(work_of_transcript);
    let import = || grows_as_its_input(work_of_import);
    let page = || grows_as_its_input(|bytes| work_of_page(bytes / PAGE_SHARE));
    let others = [
        Trial::test("import", import),
        Trial::test("transcript", transcript),
        Trial::test("page_of_a_proof", page),
        Trial::test("search_for_secrets", searches_with_bounded_memory),
    ];
    let bounded = BOUNDED.into_iter().map(bounded);
    let trials = Shape::iter().map(trial).chain(bounded).chain(others);
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

/// Replays a run in every channel and applies every rule, after everything that is read once is read. Returns the bytes
/// of input, and the number and the bytes of the allocations.
fn work(shape: Shape, bytes: usize) -> [f64; 3] {
    let judged = |stdout: &[u8]| {
        let replay = replayed(stdout);
        assert_eq!(judge(&replay), [], "{shape}");
        replay.entries.len()
    };
    let stdout = shape.stdout(bytes);
    judged(&shape.stdout(bytes / 100));
    let mut shown = 0;
    let info = measure(|| shown = judged(&stdout));
    assert!(shown > 1, "{shape}: the run shows something");
    [stdout.len() as f64, info.count_total as f64, info.bytes_total as f64]
}

/// Measures making a cassette from a capture, whose ids are replaced.
fn work_of_import(bytes: usize) -> [f64; 3] {
    let stdout = Shape::Calls.stdout(bytes);
    let (scenario, version) = ("long".parse().unwrap(), "2.1.332".parse().unwrap());
    let mut replaced = 0;
    let info = measure(|| {
        let take = import(&scenario, &stdout, &[], Some(&version)).unwrap();
        replaced = take.manifest.canonical.values().sum::<u64>();
    });
    assert!(replaced > bytes as u64 / 2_000, "the ids of {bytes} bytes are replaced");
    [stdout.len() as f64, info.count_total as f64, info.bytes_total as f64]
}

/// Measures the verdict whether a session may be resumed.
fn work_of_transcript(bytes: usize) -> [f64; 3] {
    let mut lines = Vec::new();
    print_transcript(bytes, &mut lines).unwrap();
    let judged = || resumability(&transcript::read(&mut lines.as_slice()).unwrap()).resumable;
    let info = measure(|| assert!(judged(), "every call has its result"));
    [lines.len() as f64, info.count_total as f64, info.bytes_total as f64]
}

/// Measures writing the page of a live session.
fn work_of_page(bytes: usize) -> [f64; 3] {
    let dir = tempfile::tempdir().unwrap();
    let stdout = Shape::Session.stdout(bytes);
    fs::write(dir.path().join("long.jsonl"), &stdout).unwrap();
    let import = ["import", "long.jsonl", "--scenario", "long", "--cli-version", "2.1.332"];
    for args in [&["init", "first"][..], &import] {
        let mut clitape = Command::new(env!("CARGO_BIN_EXE_clitape"));
        let status = clitape.args(args).current_dir(dir.path()).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "{args:?}");
    }
    let workspace = Workspace::at(dir.path());
    let selection = Selection::everything(&workspace).unwrap();
    // A page shows the canonical replays.
    let (cases, seeds) = (GatheredCases::All, Some(Seeds::NONE));
    let options = SuiteOptions { cases, seeds, ..SuiteOptions::new(&selection) };
    let suite = run(&mut OwnGateway::new(&workspace), options, &mut |_| Ok(())).unwrap();
    assert_eq!(suite.cases.len(), 1);
    let mut length = 0;
    let info = measure(|| length = page(&suite.cases).len());
    assert!(length > bytes / 10, "the page shows the run");
    [stdout.len() as f64, info.count_total as f64, info.bytes_total as f64]
}

/// Returns the bytes of a run, and the peak of its replay's memory while it reads them.
fn peak(shape: Shape, bytes: usize) -> [f64; 2] {
    let stdout = shape.stdout(bytes);
    let mut shown = 0;
    let info = measure(|| shown = entries_of(stdout.as_slice()));
    assert!(shown > 1, "{shape}: the run shows something");
    [stdout.len() as f64, info.bytes_max as f64]
}

fn takes_bounded_memory(shape: Shape, bytes: usize) -> Result<(), Failed> {
    entries_of(shape.stdout(BYTES / 100).as_slice());
    let [read, kept] = peak(shape, bytes);
    let [more_read, more_kept] = peak(shape, bytes * TIMES);
    let growth = (more_kept - kept) / (more_read - read);
    if growth > MOST_KEPT {
        return Err(format!(
            "{shape}: {growth:.2} bytes are kept for each byte more that is read, and {MOST_KEPT} at most"
        )
        .into());
    }
    Ok(())
}

/// Checks the search in a page with JSON in JSON, whose escapes are undone level by level.
fn searches_with_bounded_memory() -> Result<(), Failed> {
    let part = format!("{}\\\\\\\\\\\\\\\\n\n", "some words ".repeat(50));
    let search = |page: &str| assert!(scan("page.html", page.as_bytes()).is_empty());
    search(&part);
    let page = part.repeat(TIMES * BYTES / part.len());
    let info = measure(|| search(&page));
    let texts = info.bytes_max as f64 / page.len() as f64;
    if texts > MOST_TEXTS {
        return Err(
            format!("{texts:.2} texts as long as the page, and {MOST_TEXTS} at most").into()
        );
    }
    Ok(())
}

/// Fails if the work on a longer run grows faster than its input.
fn grows_as_its_input(work: impl Fn(usize) -> [f64; 3]) -> Result<(), Failed> {
    let [read, count, bytes] = work(BYTES);
    let [more_read, more_count, more_bytes] = work(BYTES * TIMES);
    let input = more_read / read;
    for (what, growth) in [("allocations", more_count / count), ("bytes", more_bytes / bytes)] {
        if growth > input * MOST {
            let times = growth / input;
            return Err(format!(
                "{input:.2} times the input asks for {growth:.2} times the {what}, which is {times:.2} times as fast and \
                 {MOST} at most"
            )
            .into());
        }
    }
    Ok(())
}
