//! The text of `timeline.jsonl`: what is read is written in the same words, every refusal names a
//! line of the text, and what a timeline adds up to never overflows unnoticed.

use clitape_recording::cassette::{TickKind, parse_timeline, render_timeline};

/// Reads, writes and reads again.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let ticks = match parse_timeline(text) {
        Ok(ticks) => ticks,
        Err((line, what)) => {
            assert!((1..=text.lines().count()).contains(&line), "line {line} is not in the text");
            assert!(!what.is_empty());
            return;
        }
    };
    assert_eq!(ticks.len(), text.lines().count());
    let written = render_timeline(&ticks);
    assert_eq!(written.lines().count(), ticks.len(), "one line for each entry");
    assert_eq!(parse_timeline(&written).as_ref(), Ok(&ticks));
    assert_eq!(render_timeline(&parse_timeline(&written).expect("it was just read")), written);

    let sizes = ticks.iter().filter_map(|tick| match tick.kind {
        TickKind::Out(n) => Some(n),
        _ => None,
    });
    let total = sizes.clone().try_fold(0_u64, u64::checked_add);
    let duration = ticks.iter().try_fold(0_u64, |sum, tick| sum.checked_add(tick.after_ms));
    // A replay is only made of a timeline that adds up, which is what loading a cassette demands.
    if let (Some(total), Some(duration)) = (total, duration) {
        let plan = clitape_runner::replay::Plan::recorded(&ticks);
        assert_eq!(plan.steps.iter().map(|step| step.bytes).sum::<u64>(), total);
        assert!(plan.steps.iter().map(|step| step.after_ms).sum::<u64>() <= duration);
        assert_eq!(plan.steps.len(), sizes.count());
    }
}
