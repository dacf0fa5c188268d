//! The work of a replay grows as what it reads does, whatever there is much of. It is measured by what is allocated, which
//! is the same from run to run: a clock is not.

#[path = "scale/shapes.rs"]
mod shapes;

use std::process::ExitCode;

use allocation_counter::measure;
use libtest_mimic::{Arguments, Failed, Trial};
use shapes::{Shape, entries};
use strum::IntoEnumIterator as _;

/// The bytes of the smaller run. The first message of a chat is full by then.
const BYTES: usize = 400_000;
/// How many times as large the other one is.
const TIMES: u32 = 4;
/// How much faster than what it reads the work may grow.
const MOST: f64 = 1.2;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trial = |shape: Shape| {
        let name = format!("issue_20_point_1_{shape:?}");
        Trial::test(name, move || grows_as_its_input(shape))
    };
    libtest_mimic::run(&args, Shape::iter().map(trial).collect()).exit_code()
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
