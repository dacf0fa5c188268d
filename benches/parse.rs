//! How fast the parser and a whole replay are: `cargo bench`.
//!
//! The input is every committed cassette, over and over, so that the figures are of real output.

use std::path::Path;

use clitape_deck::replay::{Plan, Setup, replay};
use clitape_deck::scenario::{House, Mode};
use clitape_deck::tape::Cassette;
use clitape_stream::{Event, Parser};
use divan::Bencher;
use divan::counter::BytesCount;

/// Size of the input in bytes, about.
const SIZE: usize = 8 << 20;

fn main() {
    divan::main();
}

fn cassettes() -> Vec<Vec<u8>> {
    let house = House::at(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut all = Vec::new();
    for name in house.names().unwrap_or_default() {
        for version in house.recorded(&name).unwrap_or_default() {
            if let Ok(cassette) = Cassette::load(&house.cassette(&name, &version)) {
                all.push(cassette.stdout);
            }
        }
    }
    assert!(!all.is_empty(), "there is no cassette to measure with");
    all
}

/// Whole runs, one parser each, pushed in pieces of this size.
#[divan::bench(args = [16, 4096, 65536])]
fn parse_runs(bencher: Bencher<'_, '_>, piece: usize) {
    let runs = cassettes();
    let once: usize = runs.iter().map(Vec::len).sum();
    let rounds = SIZE.div_ceil(once);
    bencher.counter(BytesCount::new(once * rounds)).bench(|| {
        let mut events = 0u64;
        for _ in 0..rounds {
            for run in &runs {
                let mut parser = Parser::new();
                let mut count = |_: Event<'_>| events += 1;
                for piece in run.chunks(piece) {
                    parser.feed_with(piece, &mut count);
                }
                parser.finish_with(&mut count);
            }
        }
        events
    });
}

/// One parser for all of it, as in a session that never ends.
#[divan::bench]
fn parse_one_stream(bencher: Bencher<'_, '_>) {
    let once = cassettes().concat();
    let input = once.repeat(SIZE.div_ceil(once.len()));
    bencher.counter(BytesCount::new(input.len())).bench(|| {
        let mut events = 0u64;
        let mut count = |_: Event<'_>| events += 1;
        let mut parser = Parser::new();
        for piece in input.chunks(65_536) {
            parser.feed_with(piece, &mut count);
        }
        parser.finish_with(&mut count);
        events
    });
}

/// A replay with its Telegram channel, cut at random.
#[divan::bench]
fn replay_at_random(bencher: Bencher<'_, '_>) {
    let runs = cassettes();
    let once: usize = runs.iter().map(Vec::len).sum();
    let setup = Setup { silent: false, channel: Some(Mode::Partial) };
    bencher.counter(BytesCount::new(once)).bench(|| {
        let entries = runs
            .iter()
            .map(|run| replay(run, &Plan::random(run.len() as u64, 1), setup).entries.len());
        entries.sum::<usize>()
    });
}
