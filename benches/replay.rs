//! Measures the speed of a whole replay: `cargo bench --bench replay`.

mod cassettes;

use cassettes::cassettes;
use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Setup};
use clitape_runner::replay::{Plan, replay};
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
