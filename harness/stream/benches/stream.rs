//! How fast the parser is: `cargo bench --bench stream`.
//!
//! The input is every committed cassette, over and over, to 64 MB. Beside the parser stand, in the
//! same run, the least that must be done (finding the line ends) and what most readers of this
//! output do (`serde_json::Value` per line).

mod common;

use clitape_stream::{Event, Parser};
use common::cassettes;
use divan::Bencher;
use divan::counter::BytesCount;
use serde_json::Value;

/// Size of the input in bytes, about.
const SIZE: usize = 64 << 20;

fn main() {
    divan::main();
}

/// Runs, each with a parser of its own, that make up the input.
fn runs() -> Vec<Vec<u8>> {
    let runs = cassettes();
    let once: usize = runs.iter().map(Vec::len).sum();
    let rounds = SIZE.div_ceil(once);
    std::iter::repeat_n(runs, rounds).flatten().collect()
}

fn counter(runs: &[Vec<u8>]) -> BytesCount {
    BytesCount::new(runs.iter().map(Vec::len).sum::<usize>())
}

/// The line ends and no more.
#[divan::bench(sample_count = 10)]
fn newline_scan(bencher: Bencher<'_, '_>) {
    let input = runs().concat();
    bencher
        .counter(BytesCount::new(input.len()))
        .bench(|| memchr::memchr_iter(b'\n', divan::black_box(&input)).count());
}

/// A tree of values for each line.
#[divan::bench(sample_count = 3)]
fn value_per_line(bencher: Bencher<'_, '_>) {
    let input = runs().concat();
    bencher.counter(BytesCount::new(input.len())).bench(|| {
        let lines = divan::black_box(&input).split(|byte| *byte == b'\n');
        lines.filter(|line| serde_json::from_slice::<Value>(line).is_ok()).count()
    });
}

/// Bytes to lifecycle events, a parser for each run, fed in pieces of this size.
#[divan::bench(args = [16, 4096, 65536], sample_count = 10)]
fn lifecycle(bencher: Bencher<'_, '_>, piece: usize) {
    let runs = runs();
    bencher.counter(counter(&runs)).bench(|| {
        let mut events = 0_u64;
        for run in divan::black_box(&runs) {
            let mut parser = Parser::new();
            let mut count = |_: Event<'_>| events += 1;
            for piece in run.chunks(piece) {
                parser.feed_with(piece, &mut count);
            }
            parser.finish_with(&mut count);
        }
        events
    });
}

/// The same as an iterator of owned events.
#[divan::bench(sample_count = 10)]
fn lifecycle_owned(bencher: Bencher<'_, '_>) {
    let runs = runs();
    bencher.counter(counter(&runs)).bench(|| {
        let mut events = 0;
        for run in divan::black_box(&runs) {
            let mut parser = Parser::new();
            events += parser.feed(run).count();
            events += parser.finish().count();
        }
        events
    });
}
