//! The work of a replay grows as what it reads does, whatever there is much of. It is measured by what is allocated, which
//! is the same from run to run: a clock is not.

#[path = "scale/shapes.rs"]
mod shapes;

use std::process::ExitCode;

use allocation_counter::measure;
use libtest_mimic::{Arguments, Failed, Trial};
use shapes::{Shape, entries, entries_of};
use strum::IntoEnumIterator as _;

/// The bytes of the smaller run. The first message of a chat is full by then.
const BYTES: usize = 400_000;
/// How many times as large the other one is.
const TIMES: u32 = 4;
/// How much faster than what it reads the work may grow.
const MOST: f64 = 1.2;
/// Runs whose replay needs no more memory when they are longer, while they are read and nothing of the trace is kept.
const BOUNDED: [Shape; 5] =
    [Shape::Messages, Shape::Thinking, Shape::Notices, Shape::Turns, Shape::Session];
/// How many bytes more the memory of such a replay may have at its peak, for each byte more that is read. A trace that is
/// kept takes more than ten.
const MOST_KEPT: f64 = 0.5;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trial = |shape: Shape| {
        let name = format!("issue_20_point_1_{shape:?}");
        Trial::test(name, move || grows_as_its_input(shape))
    };
    let bounded = |shape: Shape| {
        let name = format!("issue_20_point_2_{shape:?}");
        Trial::test(name, move || takes_bounded_memory(shape))
    };
    let trials = Shape::iter().map(trial).chain(BOUNDED.into_iter().map(bounded));
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

/// What a replay in every channel asks for, once everything that is read only once is read: the bytes that it reads, and the number and the bytes of its allocations.
fn work(shape: Shape, bytes: usize) -> [f64; 3] {
    let stdout = shape.stdout(bytes);
    entries(&shape.stdout(bytes / 100));
    let mut shown = 0;
    let info = measure(|| shown = entries(&stdout));
    assert!(shown > 1, "{shape}: the run shows something");
    [stdout.len() as f64, info.count_total as f64, info.bytes_total as f64]
}

/// The bytes of a run, and the most that its replay has at a time while it reads them.
fn peak(shape: Shape, bytes: usize) -> [f64; 2] {
    let stdout = shape.stdout(bytes);
    let mut shown = 0;
    let info = measure(|| shown = entries_of(stdout.as_slice()));
    assert!(shown > 1, "{shape}: the run shows something");
    [stdout.len() as f64, info.bytes_max as f64]
}

fn takes_bounded_memory(shape: Shape) -> Result<(), Failed> {
    entries_of(shape.stdout(BYTES / 100).as_slice());
    let [read, kept] = peak(shape, BYTES);
    let [more_read, more_kept] = peak(shape, BYTES * TIMES as usize);
    let growth = (more_kept - kept) / (more_read - read);
    if growth > MOST_KEPT {
        return Err(format!(
            "{shape}: {growth:.2} bytes are kept for each byte more that is read, and {MOST_KEPT} at most"
        )
        .into());
    }
    Ok(())
}

fn grows_as_its_input(shape: Shape) -> Result<(), Failed> {
    let [read, count, bytes] = work(shape, BYTES);
    let [more_read, more_count, more_bytes] = work(shape, BYTES * TIMES as usize);
    let input = more_read / read;
    for (what, growth) in [("allocations", more_count / count), ("bytes", more_bytes / bytes)] {
        if growth > input * MOST {
            let times = growth / input;
            return Err(format!(
                "{shape}: {input:.2} times the input asks for {growth:.2} times the {what}, which is {times:.2} times as \
                 fast and {MOST} at most"
            )
            .into());
        }
    }
    Ok(())
}
