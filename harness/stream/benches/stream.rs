//! Measures the speed of the parser: `cargo bench --bench stream`.
//!
//! The input is every committed cassette. The same run measures the least possible work (finding the
//! line ends) and what most readers of this output do (a `serde_json::Value` for each line). The
//! last line compares the two at their fastest; the goal is in `docs/performance.md`.

use std::path::Path;
use std::time::{Duration, Instant};

use clitape_stream::{Event, Parser};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::Value;
use walkdir::WalkDir;

/// Number of times that each side of the comparison reads the input.
const ROUNDS: usize = 100;

/// Length of the pieces that the compared parser is fed with.
const PIECE: usize = 65536;

fn main() {
    divan::main();
    if std::env::args().skip(1).eq(["--bench"]) {
        compare();
    }
}

/// Prints how many times faster the parser is than a `Value` for each line. The two take turns, so
/// that both meet the same load of the machine.
fn compare() {
    let runs = cassettes();
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(read_values(black_box(&runs)));
        let values = start.elapsed();
        black_box(read_events(black_box(&runs), PIECE));
        let events = start.elapsed() - values;
        fastest = [fastest[0].min(values), fastest[1].min(events)];
    }
    let [values, events] = fastest.map(|time| time.as_secs_f64());
    let megabytes = runs.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;
    let (rate, times) = (megabytes / events, values / events);
    println!(
        "lifecycle/{PIECE}: {rate:.0} MB/s, {times:.1} times value_per_line ({:.0} MB/s)",
        megabytes / values
    );
}

/// Returns the stdout of every committed cassette.
#[allow(clippy::expect_used, reason = "without the cassettes there is no input to measure with")]
fn cassettes() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
    let files = WalkDir::new(folder).sort_by_file_name().into_iter();
    let files = files.map(|file| file.expect("the folder can be read").into_path());
    let captures = files.filter(|path| path.ends_with("stdout.jsonl"));
    captures.map(|path| std::fs::read(path).expect("a capture can be read")).collect()
}

/// Reads each line of the runs as a `Value` and returns the number of values.
fn read_values(runs: &[Vec<u8>]) -> usize {
    let lines = runs.iter().flat_map(|run| run.split(|byte| *byte == b'\n'));
    lines.filter(|line| serde_json::from_slice::<Value>(line).is_ok()).count()
}

/// Feeds each run to a parser in pieces of this length and returns the number of events.
fn read_events(runs: &[Vec<u8>], piece: usize) -> u64 {
    let mut events = 0;
    for run in runs {
        let mut parser = Parser::new();
        let mut count = |_: Event<'_>| events += 1;
        for piece in run.chunks(piece) {
            parser.feed_with(piece, &mut count);
        }
        parser.finish_with(&mut count);
    }
    events
}

fn counter(runs: &[Vec<u8>]) -> BytesCount {
    BytesCount::new(runs.iter().map(Vec::len).sum::<usize>())
}

/// Finds the line ends.
#[divan::bench]
fn newline_scan(bencher: Bencher<'_, '_>) {
    let input = cassettes().concat();
    bencher
        .counter(BytesCount::new(input.len()))
        .bench(|| memchr::memchr_iter(b'\n', black_box(&input)).count());
}

/// Makes a tree of values for each line.
#[divan::bench]
fn value_per_line(bencher: Bencher<'_, '_>) {
    let runs = cassettes();
    bencher.counter(counter(&runs)).bench(|| read_values(black_box(&runs)));
}

/// Turns the bytes into lifecycle events, with a parser for each run that is fed in pieces of this
/// length.
#[divan::bench(args = [16, 4096, PIECE])]
fn lifecycle(bencher: Bencher<'_, '_>, piece: usize) {
    let runs = cassettes();
    bencher.counter(counter(&runs)).bench(|| read_events(black_box(&runs), piece));
}

/// Turns the bytes into an iterator of owned events.
#[divan::bench]
fn lifecycle_owned(bencher: Bencher<'_, '_>) {
    let runs = cassettes();
    bencher.counter(counter(&runs)).bench(|| {
        let mut events = 0;
        for run in black_box(&runs) {
            let mut parser = Parser::new();
            events += parser.feed(run).count();
            events += parser.finish().count();
        }
        events
    });
}
