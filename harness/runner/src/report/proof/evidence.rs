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

/// Addresses and ends of names of what can be looked at.
const ASSETS: [&str; 13] = [
    "![",
    "<img",
    "<video",
    "user-attachments/assets",
    "/actions/runs/",
    "asciinema.org/a/",
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

/// Whether something of a real run is shown: a picture, a link to one, or what a command printed. A sentence that only
/// speaks of it shows nothing.
pub(super) fn has_real_evidence(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_asset =
        |line: &str| !has_test_words(line) && ASSETS.iter().any(|asset| line.contains(asset));
    lower.lines().any(is_asset) || has_full_fence(&lower)
}

/// What a text says itself that did not hold: `7 goldens compared, 6 held`.
pub(super) fn own_failure(text: &str) -> Option<String> {
    let clauses = text.split([';', '\n']).map(str::trim);
    let number = |words: &str| words.split_whitespace().next()?.parse::<u64>().ok();
    clauses.into_iter().find_map(|clause| {
        let (all, rest) = clause.rsplit_once(", ")?;
        if ["held", "equal"].iter().all(|word| !has_word(rest, word)) {
            return None;
        }
        let is_less = match number(rest) {
            Some(held) => number(all.rsplit([':', ',']).next()?).is_some_and(|all| held < all),
            None => has_word(rest, "not"),
        };
        is_less.then(|| clause.to_owned())
    })
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
