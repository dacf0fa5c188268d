//! Computes digests of the parts of a scenario that decide what the CLI prints.
//!
//! A digest covers the meaning of a part: comments, blanks and the order of keys do not count, and a key with its
//! default value equals a missing one. Keys that only decide how a recording is judged are left out.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use clitape_recording::cassette::hex;
use clitape_recording::scenario::{Scenario, read_toml};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::RecordError;
use super::workspace::{ScenarioFolder, WorkspaceLimits};

/// The characters of a digest.
const DIGITS: usize = 16;
/// The keys of `[record]` that decide whether a recording is taken, and that do not change its content.
const JUDGES: [&str; 3] = ["exit", "only", "timeout_s"];
/// The defaults of `[record]`, as JSON.
const DEFAULTS: [(&str, &str); 5] = [
    ("args", "[]"),
    ("login", "\"key\""),
    ("partial_messages", "true"),
    ("say", "[]"),
    ("then", "[]"),
];

/// Returns the digests of a recording's sources: of each key of `[record]`, of `model.toml` and of `workspace`.
///
/// # Errors
///
/// [`RecordError`] when a file can't be read, or the workspace is larger than its limits.
pub fn made_from(
    scenario: &Scenario,
    limits: WorkspaceLimits,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, String>, RecordError> {
    let read = |name: &str| read_toml::<Value>(&scenario.dir.join(name));
    let mut parts = of_record(read("scenario.toml")?.get("record").unwrap_or(&Value::Null));
    if scenario.has_model() {
        parts.insert("model.toml".to_owned(), of_value(&read("model.toml")?));
    }
    let folder = ScenarioFolder::read(&scenario.dir.join("workspace"), limits, stop)?;
    if folder.files().next().is_some() {
        let mut hash = Sha256::new();
        folder.hash(&mut hash, stop)?;
        parts.insert("workspace".to_owned(), short(hash));
    }
    Ok(parts)
}

/// Returns the digests of the keys of `[record]`.
fn of_record(record: &Value) -> BTreeMap<String, String> {
    let keys = record.as_object().into_iter().flatten();
    let says = |key: &str, value: &Value| {
        !JUDGES.contains(&key) && !DEFAULTS.contains(&(key, &value.to_string()))
    };
    let keys = keys.map(|(key, value)| (key, without_exits(value.clone())));
    let keys = keys.filter(|(key, value)| says(key, value));
    keys.map(|(key, value)| (key.clone(), of_value(&value))).collect()
}

/// Returns a value of `[record]` without the exits of further runs.
fn without_exits(mut value: Value) -> Value {
    let steps = value.as_array_mut().into_iter().flatten();
    steps.filter_map(Value::as_object_mut).for_each(|step| {
        step.remove("exit");
    });
    value
}

/// Returns the digest of a value, with its keys in alphabetical order.
fn of_value(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    short(Sha256::new_with_prefix(sorted.to_string()))
}

fn short(hash: Sha256) -> String {
    let mut digest = hex(&hash.finalize());
    digest.truncate(DIGITS);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(record: &str) -> BTreeMap<String, String> {
        of_record(&toml::from_str(record).unwrap())
    }

    /// Checks that exactly these parts differ between two tables.
    #[track_caller]
    fn check(before: &str, after: &str, expect: &[&str]) {
        let (before, after) = (parts(before), parts(after));
        let keys =
            before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key));
        let keys: std::collections::BTreeSet<&str> = keys.map(String::as_str).collect();
        assert_eq!(keys.into_iter().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_digest_is_of_what_a_part_says_not_of_how_it_is_written() {
        check("prompt = 'a'\nargs = ['b']", "# c\nargs=[ \"b\" ]\nprompt = \"a\"", &[]);
        check(
            "prompt = 'a'",
            "prompt = 'a'\nargs = []\nlogin = 'key'\npartial_messages = true",
            &[],
        );
        check("prompt = 'a'", "prompt = 'a'\nexit = 1\ntimeout_s = 9", &[]);
        check("then = [{ prompt = 'a' }]", "then = [{ prompt = 'a', exit = 7 }]", &[]);
        check(
            "say = [{ send = 'a', when = { calls = 1 } }]",
            "say = [{ when = { calls = 1 }, send = 'a' }]",
            &[],
        );
        check("prompt = 'a'", "prompt = 'b'", &["prompt"]);
        check("prompt = 'a'", "prompt = 'a'\npartial_messages = false", &["partial_messages"]);
        check("prompt = 'a'\nargs = ['x', 'y']", "args = ['y', 'x']", &["args", "prompt"]);
        check("then = [{ prompt = 'a' }]", "then = [{ prompt = 'b' }]", &["then"]);
    }
}
