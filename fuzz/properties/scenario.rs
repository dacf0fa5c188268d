//! The texts of `scenario.toml` and `model.toml`: a refusal names a line of the file or a key, and
//! a model that loads can be served, its answers being valid JSON of a bounded size.
//!
//! An input is the two files with [`BETWEEN`] in between.

use std::path::Path;

use clitape_recording::scenario::{Model, Scenario, ScenarioError};
use clitape_runner::record::fuzzing;

/// The line between the two files of an input.
const BETWEEN: &str = "\n=== model.toml\n";

/// The largest input that is looked at, and how many bytes of answers it may give for each of its
/// own: every part is said in a stream, once in deltas, and again as one message, for each attempt.
const LIMIT: usize = 32 << 10;
const ANSWERS_LIMIT: usize = 64 << 20;

/// Loads both files and serves the model.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.len() > LIMIT {
        return;
    }
    let (scenario, model) = text.split_once(BETWEEN).unwrap_or((text, ""));
    let dir = super::scratch("scenario").join("fuzzed");
    std::fs::create_dir_all(&dir).expect("a folder can be made");
    check_scenario(&dir, scenario);
    check_model(&dir, model);
}

fn check_scenario(dir: &Path, text: &str) {
    std::fs::write(dir.join("scenario.toml"), text).expect("a file can be written");
    match Scenario::load(dir) {
        Ok(scenario) => {
            assert_eq!(scenario.name.to_string(), "fuzzed");
            assert!(
                scenario.record.only.as_ref().is_none_or(|only| !only.reason.trim().is_empty())
            );
            assert!(scenario.record.prompt.is_some() || !scenario.record.say.is_empty());
            assert!(scenario.run.pace_ms > 0 && scenario.run.limit_s > 0);
            for fault in &scenario.chat.faults {
                assert_eq!(fault.to_string().parse().as_ref(), Ok(fault));
            }
        }
        Err(error) => check_error(&error, text),
    }
}

fn check_model(dir: &Path, text: &str) {
    std::fs::write(dir.join("model.toml"), text).expect("a file can be written");
    let model = match Model::load(dir) {
        Ok(model) => model,
        Err(error) => return check_error(&error, text),
    };
    let mut total = 0;
    for answer in fuzzing::answers(&model) {
        total += answer.len();
        assert!(total <= ANSWERS_LIMIT, "the answers of {} bytes are over a limit", text.len());
        let text = std::str::from_utf8(&answer).expect("an answer is UTF-8");
        let parts: Vec<&str> = match text.starts_with("event: ") {
            true => text.lines().filter_map(|line| line.strip_prefix("data: ")).collect(),
            false => vec![text],
        };
        for part in parts {
            let json: Result<serde::de::IgnoredAny, _> = serde_json::from_str(part);
            assert!(json.is_ok(), "{part}");
        }
    }
}

/// A refusal says which line is meant, or which key.
fn check_error(error: &ScenarioError, text: &str) {
    match error {
        ScenarioError::Parse { line, what, .. } => {
            // A key that is missing at the end is missed in the line after the last.
            assert!((1..=text.matches('\n').count() + 1).contains(line), "{error}");
            assert!(!what.is_empty() && !what.contains('\n'), "{error}");
        }
        ScenarioError::Invalid { what, .. } => assert!(what.contains('`'), "{error}"),
        other => panic!("{other}"),
    }
}
