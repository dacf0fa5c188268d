//! Measures the speed of a whole replay: `cargo bench --bench replay`.

use std::path::Path;

use clitape_runner::cassette::Cassette;
use clitape_runner::replay::{Plan, Setup, replay};
use clitape_runner::scenario::{Chat, ChatMode, RunSpec, Workspace};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

/// Replays every cassette with its Telegram channel, cut at random.
#[divan::bench]
fn replay_at_random(bencher: Bencher<'_, '_>) {
    let runs = cassettes();
    let once: usize = runs.iter().map(Vec::len).sum();
    let setup =
        Setup { run: RunSpec::default(), channel: Some(Chat::of(ChatMode::Partial)), acp: None };
    bencher.counter(BytesCount::new(once)).bench(|| {
        let entries =
            runs.iter().map(|run| replay(run, &Plan::seeded(run, 1), setup).entries.len());
        entries.sum::<usize>()
    });
}

/// Returns the stdout of every committed cassette.
fn cassettes() -> Vec<Vec<u8>> {
    let workspace = Workspace::at(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut all = Vec::new();
    for name in workspace.names().unwrap_or_default() {
        for version in workspace.recorded(&name).unwrap_or_default() {
            if let Ok(cassette) = Cassette::load(&workspace.cassette(&name, &version)) {
                all.push(cassette.stdout);
            }
        }
    }
    assert!(!all.is_empty(), "there is no cassette to measure with");
    all
}
