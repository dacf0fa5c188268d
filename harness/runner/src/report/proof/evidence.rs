//! Decides which words are evidence of real behaviour, and which are only about tests.

/// The words of tests, builds and checks, which are not real runs.
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

/// The addresses and endings of pictures, recordings and logs.
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

/// The lines that deny a test.
const DISCLAIMERS: [&str; 6] =
    ["not tested", "untested", "did not test", "didn't test", "could not test", "couldn't test"];

/// The start of the evidence in a proof by clitape, if its cassette was not recorded from the real CLI.
pub(super) const NOT_REAL: &str = "Not real behaviour:";

/// Returns whether the words are about tests.
pub(super) fn has_test_words(text: &str) -> bool {
    TEST_WORDS.iter().any(|word| has_word(text, word))
}

/// Returns whether the text shows something of a real run: a picture, a link to one, or the output of a command. A
/// sentence about evidence is none.
pub(super) fn has_real_evidence(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_asset =
        |line: &str| !has_test_words(line) && ASSETS.iter().any(|asset| line.contains(asset));
    lower.lines().any(is_asset) || has_full_fence(&lower)
}

/// Returns the clause in which a text itself reports a failure: `7 goldens compared, 6 held`.
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

/// Returns whether a line only says that no test was made.
pub(super) fn is_disclaimer(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', '>', ' ']).trim_end_matches('.');
    DISCLAIMERS.iter().any(|words| line.eq_ignore_ascii_case(words))
}

/// Returns whether clitape itself wrote that its cassette was not recorded.
pub(super) fn is_ours_not_real(evidence: &str) -> bool {
    evidence.contains(NOT_REAL)
}

/// Returns whether a fence contains a line that is not about tests. A fence may open on the line of the field.
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

/// Returns whether the text has the word, not as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let lower = text.to_lowercase();
    lower.match_indices(word).any(|(at, _)| {
        let is_edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        is_edge(lower[..at].chars().next_back()) && is_edge(lower[at + word.len()..].chars().next())
    })
}
