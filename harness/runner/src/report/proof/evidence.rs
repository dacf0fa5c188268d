//! What counts as evidence of real behaviour, and what only tells of tests.

/// Words of tests, builds and checks; what they tell of is no real run.
const TEST_WORDS: [&str; 19] = [
    "vitest",
    "jest",
    "unit test",
    "unit tests",
    "mock",
    "mocks",
    "mocked",
    "snapshot",
    "snapshots",
    "lint",
    "typecheck",
    "typechecks",
    "ci",
    "pnpm test",
    "npm test",
    "cargo test",
    "pytest",
    "pnpm build",
    "tsc",
];

/// Words for what people show of a real run.
const SHOWN: [&str; 13] = [
    "screenshot",
    "screen recording",
    "recording",
    "terminal output",
    "terminal capture",
    "console output",
    "runtime log",
    "redacted log",
    "live output",
    "stdout",
    "video",
    "linked artifact",
    "asciinema",
];

/// Commands of a real run.
const LIVE: [&str; 11] = [
    "openclaw",
    "node",
    "docker",
    "curl",
    "gh",
    "ssh",
    "adb",
    "xcrun",
    "open",
    "npm run",
    "pnpm openclaw",
];

/// Addresses and ends of names of what can be looked at.
const ASSETS: [&str; 12] = [
    "![",
    "<img",
    "<video",
    "user-attachments/assets",
    "/actions/runs/",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".webm",
    ".mp4",
    ".cast",
];

/// Lines that take back what a proof says.
const DISCLAIMERS: [&str; 6] =
    ["not tested", "untested", "did not test", "didn't test", "could not test", "couldn't test"];

/// How a proof made by clitape begins the evidence of a cassette it did not record.
pub(super) const NOT_REAL: &str = "Not real behaviour:";

/// Whether the words speak of tests.
pub(super) fn has_test_words(text: &str) -> bool {
    TEST_WORDS.iter().any(|word| has_word(text, word))
}

/// Whether something of a real run is shown.
pub(super) fn has_real_evidence(text: &str) -> bool {
    let lower = text.to_lowercase();
    let shows = lower.lines().any(|line| {
        !has_test_words(line)
            && (SHOWN.iter().any(|word| has_word(line, word))
                || ASSETS.iter().any(|asset| line.contains(asset)))
    });
    shows || LIVE.iter().any(|word| has_word(&lower, word)) || has_full_fence(&lower)
}

/// Whether a line alone says that nothing was tested.
pub(super) fn is_disclaimer(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', '>', ' ']).trim_end_matches('.');
    DISCLAIMERS.iter().any(|words| line.eq_ignore_ascii_case(words))
}

/// Whether clitape itself said that its cassette was not recorded.
pub(super) fn is_ours_not_real(evidence: &str) -> bool {
    evidence.contains(NOT_REAL)
}

/// Whether a fence holds a line that is no line of a test. A fence may open on the line of the field.
fn has_full_fence(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") || line.trim_end().ends_with("```") {
            inside = !inside;
        } else if inside && !line.trim().is_empty() && !has_test_words(line) {
            return true;
        }
    }
    false
}

/// Whether a word stands in the text, not as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let lower = text.to_lowercase();
    lower.match_indices(word).any(|(at, _)| {
        let is_edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        is_edge(lower[..at].chars().next_back()) && is_edge(lower[at + word.len()..].chars().next())
    })
}
