//! The ranges of the numbers and lists in `scenario.toml` and `model.toml`, checked when they are
//! read: an untrusted scenario must not make a command run without end. The number of plans is limited by
//! the command that replays them ([`Scenario::check_work`](super::Scenario::check_work)).

use std::fmt::Display;
use std::ops::RangeInclusive;

/// A key and the range of its value, or of the number of its entries.
type Range = (&'static str, RangeInclusive<u64>);

/// The keys of `scenario.toml`.
pub const SCENARIO: [Range; 23] = [
    ("tracks (entries)", 0..=100),
    ("record.args (entries)", 0..=200),
    ("record.timeout_s", 1..=86_400),
    ("[[record.say]] (entries)", 0..=1_000),
    ("record.say.delay_ms", 0..=3_600_000),
    ("record.say.when.result", 1..=1_000_000),
    ("record.say.when.response", 1..=1_000_000),
    ("record.say.when.number", 1..=1_000_000),
    ("record.say.answer.suggestion", 1..=1_000),
    ("[[record.then]] (entries)", 0..=50),
    ("record.signal.delay_ms", 0..=3_600_000),
    ("record.signal.when.calls", 1..=1_000_000),
    ("run.limit_s", 1..=86_400),
    ("run.pace_ms", 1..=600_000),
    ("run.stuck_callback", 1..=1_000_000),
    ("session.fingerprints (entries)", 0..=51),
    ("[[channel]] (entries)", 0..=1_000),
    ("[[variant]] (entries)", 0..=50),
    ("chat.faults (entries)", 0..=1_000),
    ("sweep.plans", 0..=1_000_000_000),
    ("sweep.faults (entries)", 0..=50),
    ("[[plan]] (entries)", 0..=50),
    ("title and about (bytes)", 0..=10_000),
];

/// The keys of `model.toml`.
pub const MODEL: [Range; 7] = [
    ("[[turn]] (entries)", 0..=10_000),
    ("[[conversation]] (entries)", 0..=100),
    ("[[step]] (entries)", 0..=50),
    ("[[spare]] and [[side]] (entries)", 0..=1_000),
    ("delay_ms", 0..=600_000),
    ("end_delay_ms", 0..=600_000),
    ("times", 1..=10_000),
];

/// Returns a sentence about the first value of `values` that is out of the range of its key.
pub(super) fn first_outside<'a>(
    ranges: &[Range],
    values: impl IntoIterator<Item = (&'a str, u64)>,
) -> Option<String> {
    values.into_iter().find_map(|(key, value)| {
        let (_, range) = ranges.iter().find(|(known, _)| *known == key)?;
        (!range.contains(&value)).then(|| sentence(key, range, value))
    })
}

fn sentence(key: &str, range: &RangeInclusive<u64>, value: impl Display) -> String {
    let (least, most) = (range.start(), range.end());
    match key.split_once(" (") {
        Some((key, what)) => {
            let what = what.trim_end_matches(')');
            format!("`{key}` has {value} {what}; {most} are the most")
        }
        None => format!("`{key}` is {value}; write a number from {least} to {most}"),
    }
}

/// Checks the value of a key of `model.toml` that is read alone against its range.
pub(super) fn within(key: &str, value: u64) -> Result<u64, String> {
    first_outside(&MODEL, [(key, value)]).map_or(Ok(value), Err)
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;
    use crate::scenario::Scenario;

    /// Reads a scenario with these lines after those of `[record]`, and compares the sentence about it.
    #[track_caller]
    fn check(lines: &str, expect: Option<&str>) {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("a-scenario");
        fs::create_dir(&dir).unwrap();
        let text = format!("title = 't'\nabout = 'a'\n[record]\nprompt = 'p'\n{lines}");
        fs::write(dir.join("scenario.toml"), text).unwrap();
        let got = Scenario::load(&dir).err().map(|error| error.to_string());
        match (&got, expect) {
            (None, None) => {}
            (Some(got), Some(expect)) => assert!(got.contains(expect), "{got}"),
            _ => panic!("{}: {got:?}", &lines[..lines.len().min(80)]),
        }
    }

    #[test]
    fn every_number_of_a_scenario_has_a_range() {
        let plans = "`sweep.plans` is 9223372036854775807; write a number from 0 to 1000000000";
        check("[sweep]\nplans = 9223372036854775807", Some(plans));
        check("[sweep]\nplans = 1000000001", Some("from 0 to 1000000000"));
        check("[sweep]\nplans = 1000000000", None);
        let channels = "[[channel]]\nkind = 'acp'\n".repeat(3_000);
        check(&channels, Some("`[[channel]]` has 3000 entries; 1000 are the most"));
        // All of these are within the range, and the first one is meaningless.
        let twice = "`[[channel]]` 2 is the same as `[[channel]]` 1";
        check(&"[[channel]]\nkind = 'acp'\n".repeat(1_000), Some(twice));
        for (lines, key) in [
            ("timeout_s = 0", "`record.timeout_s` is 0; write a number from 1 to 86400"),
            ("timeout_s = 86401", "record.timeout_s"),
            ("[record.signal]\nsend = 'SIGINT'\nwhen = { calls = 0 }", "record.signal.when.calls"),
            (
                "[record.signal]\nsend = 'SIGINT'\nwhen = { calls = 1 }\ndelay_ms = 9223372036854775807",
                "record.signal.delay_ms",
            ),
            (
                "host = 'sdk'\n[[record.say]]\nmessage = 'x'\nwhen = { result = 0 }",
                "`record.say.when.result` is 0; write a number from 1 to 1000000",
            ),
            (
                "host = 'sdk'\n[[record.say]]\nmessage = 'x'\ndelay_ms = 3600001",
                "record.say.delay_ms",
            ),
            ("[run]\nlimit_s = 9223372036854775807", "run.limit_s"),
            ("[run]\npace_ms = 600001", "run.pace_ms"),
            ("[run]\nstuck_callback = 1000001", "run.stuck_callback"),
            ("[chat]\nfaults = ['1:rate-limit:86401s']", "86400"),
            ("[chat]\nfaults = ['1:slow:3600001ms']", "3600000"),
        ] {
            check(lines, Some(key));
        }
        let many = |entry: &str, n: usize| vec![entry; n].join(", ");
        check(&format!("args = [{}]", many("'x'", 201)), Some("`record.args` has 201 entries"));
        check(&format!("[chat]\nfaults = [{}]", many("'1:hang'", 1_001)), Some("`chat.faults`"));
        check(&format!("[sweep]\nfaults = [{}]", many("'hang'", 51)), Some("`sweep.faults`"));
        check(&"[[plan]]\nseed = 7\n".repeat(51), Some("`[[plan]]`"));
        let then = "[[record.then]]\nresume = 'id'\nprompt = 'p'\n".repeat(51);
        check(&then, Some("`[[record.then]]` has 51 entries; 50 are the most"));
        let settings = format!("[session]\nfingerprints = [{}]", many("'{}'", 52));
        check(&settings, Some("`session.fingerprints` has 52 entries; 51 are the most"));
        let variant =
            "[[variant]]\nname = 'a'\nview = 'telegram-partial'\nabout = 'x'\n".repeat(51);
        check(&variant, Some("`[[variant]]` has 51 entries; 50 are the most"));
    }

    #[test]
    fn every_range_has_a_sentence() {
        let value = |range: &RangeInclusive<u64>| range.end() + 1;
        for (key, range) in SCENARIO.iter().chain(&MODEL) {
            let said = sentence(key, range, value(range));
            assert!(said.contains(&range.end().to_string()), "{said}");
        }
    }
}
