//! Checks whether a pull request's text proves its claim: what was under test, the fields that OpenClaw's policy asks
//! for, the values that count as missing, and the words that count as evidence of real behaviour, or are only about
//! tests.
//!
//! It applies the third version of that policy, and reports the verdict of the newest one, which asks for the sections
//! "What Problem This Solves" and "Evidence".

use std::fmt;

use super::text::{NOT_REAL, ProofRunReport};

/// A field of the section "Real behavior proof".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofField {
    /// The field "Subject", which the policy does not ask for: the gateway that was under test.
    Subject,
    /// The field "Revision", nor this one: its version or revision.
    Revision,
    /// The field "Run", nor this one: the command that ran it.
    Run,
    /// The field "Behavior or issue addressed".
    Behavior,
    /// The field "Real environment tested".
    Environment,
    /// The field "Exact steps or command run after this patch".
    Steps,
    /// The field "Evidence after fix".
    Evidence,
    /// The field "Observed result after fix".
    ObservedResult,
    /// The field "What was not tested".
    NotTested,
}

/// The fields, each with the name to write first, and its other names.
const FIELDS: [(ProofField, &[&str]); 9] = [
    (ProofField::Subject, &["Subject"]),
    (ProofField::Revision, &["Revision"]),
    (ProofField::Run, &["Run"]),
    (
        ProofField::Behavior,
        &["Behavior or issue addressed", "Issue addressed", "Behavior addressed"],
    ),
    (
        ProofField::Environment,
        &["Real environment tested", "Environment tested", "Real setup tested"],
    ),
    (
        ProofField::Steps,
        &[
            "Exact steps or command run after this patch",
            "Exact steps or command run after the patch",
            "Exact steps or command run after fix",
            "Steps run after the patch",
            "Command run after the patch",
        ],
    ),
    (
        ProofField::Evidence,
        &[
            "Evidence after fix",
            "After-fix evidence",
            "Evidence link or embedded proof",
            "Evidence",
        ],
    ),
    (
        ProofField::ObservedResult,
        &["Observed result after fix", "Observed result after the fix", "Observed result"],
    ),
    (ProofField::NotTested, &["What was not tested", "Not tested"]),
];

/// The name of an optional field, which ends the field before it.
const BEFORE: &str = "Before evidence";

/// The values that count as missing.
const EMPTY: [&str; 20] = [
    "",
    "-",
    "---",
    "n/a",
    "na",
    "not applicable",
    "tbd",
    "todo",
    "unknown",
    "unsure",
    "none provided",
    "no evidence",
    "not tested",
    "untested",
    "did not test",
    "didn't test",
    "could not test",
    "couldn't test",
    "not run",
    "nothing provided",
];

/// The verdict of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofStatus {
    /// The section has every field and real evidence.
    Passed,
    /// The text has no such section.
    NoSection,
    /// These fields are missing or empty.
    Missing(Vec<ProofField>),
    /// The text itself says that no test was made.
    NotTested,
    /// All evidence is about tests, mocks, or a capture of unknown origin.
    MockOnly,
    /// The text mentions evidence, and shows none.
    Insufficient,
    /// The text itself says that something failed.
    Failed(String),
    /// The report of the run contradicts the text.
    Contradicted(String),
}

/// The verdicts about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The verdict about the section "Real behavior proof".
    pub proof: ProofStatus,
    /// The missing sections of the newest policy, unless the fields have their content.
    pub context_missing: Vec<&'static str>,
}

impl Checked {
    /// Returns whether the stricter policy accepts the text.
    pub fn passed(&self) -> bool {
        self.proof == ProofStatus::Passed
    }
}

impl ProofField {
    fn name(self) -> &'static str {
        FIELDS.iter().find(|(field, _)| *field == self).map_or("", |(_, names)| names[0])
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.proof {
            ProofStatus::Passed => {
                f.write_str("passed: the proof has every field and real evidence")?;
            }
            ProofStatus::NoSection => f.write_str(
                "missing: there is no section `## Real behavior proof` (level 2 to 6); write one \
                 with `clitape proof SCENARIO --out DIR`",
            )?,
            ProofStatus::Missing(fields) => {
                f.write_str("missing: these fields say nothing; write `- Name: value` for each")?;
                for field in fields {
                    write!(f, "\n  {}", field.name())?;
                }
            }
            ProofStatus::NotTested => f.write_str(
                "insufficient: a line of the proof says that it was not tested; test it, or say so \
                 under `What was not tested`",
            )?,
            ProofStatus::MockOnly => f.write_str(
                "mock only: tests, mocks, CI and imported captures are no real behaviour; add what \
                 the real command printed",
            )?,
            ProofStatus::Insufficient => f.write_str(
                "insufficient: the evidence shows nothing; add what a command printed between two \
                 lines of ```, a screenshot or a link to a recording",
            )?,
            ProofStatus::Failed(what) => write!(
                f,
                "failed: the text says itself that not everything held: {what}; mend that, and \
                 write the proof again"
            )?,
            ProofStatus::Contradicted(what) => {
                write!(f, "contradicted: {what}; write the proof again")?;
            }
        }
        match self.context_missing.as_slice() {
            [] => f.write_str("\nproblem and evidence: both are there"),
            missing => write!(f, "\nproblem and evidence: missing {}", missing.join(", ")),
        }
    }
}

/// Checks a text against the report of its run.
pub fn check_against(text: &str, report: &ProofRunReport) -> Checked {
    let checked = check(text);
    match report.contradicts(text).filter(|_| checked.passed()) {
        Some(what) => Checked { proof: ProofStatus::Contradicted(what), ..checked },
        None => checked,
    }
}

/// Checks a text by itself.
pub fn check(text: &str) -> Checked {
    let text = text.replace("\r\n", "\n");
    let proof = section(&text, "real behavior proof");
    let fields = proof.as_deref().map(fields).unwrap_or_default();
    let has = |field: ProofField| !is_empty(field, value(&fields, field));
    let context_missing = [
        ("What Problem This Solves", "what problem this solves", ProofField::Behavior),
        ("Evidence", "evidence", ProofField::Evidence),
    ]
    .into_iter()
    .filter(|(_, heading, field)| {
        let own = section(&text, heading).map(|text| without_comments(&text));
        !own.is_some_and(|text| !is_empty(*field, &text) && text.trim() != "none") && !has(*field)
    })
    .map(|(name, ..)| name)
    .collect();
    Checked { proof: proof.map_or(ProofStatus::NoSection, |_| judge(&fields)), context_missing }
}

fn judge(fields: &[(ProofField, String)]) -> ProofStatus {
    let missing: Vec<ProofField> = FIELDS
        .iter()
        .map(|(field, _)| *field)
        .filter(|field| is_empty(*field, value(fields, *field)))
        .collect();
    if !missing.is_empty() {
        return ProofStatus::Missing(missing);
    }
    let [steps, evidence, observed] =
        [ProofField::Steps, ProofField::Evidence, ProofField::ObservedResult]
            .map(|field| value(fields, field));
    if [steps, evidence, observed].iter().any(|text| text.lines().any(is_disclaimer)) {
        return ProofStatus::NotTested;
    }
    let real = has_real_evidence(&format!("{evidence}\n{observed}"));
    if is_ours_not_real(evidence) {
        return ProofStatus::MockOnly;
    }
    if let Some(what) = own_failure(observed) {
        return ProofStatus::Failed(what);
    }
    match (real, has_test_words(&format!("{evidence}\n{observed}\n{steps}"))) {
        (true, _) => ProofStatus::Passed,
        (false, true) => ProofStatus::MockOnly,
        (false, false) => ProofStatus::Insufficient,
    }
}

fn value(fields: &[(ProofField, String)], field: ProofField) -> &str {
    fields.iter().rfind(|(of, _)| *of == field).map_or("", |(_, value)| value)
}

/// Returns whether a value counts as missing; "none" does so only for evidence.
fn is_empty(field: ProofField, value: &str) -> bool {
    // The line of a fence has no further backquotes; a span of code with as many has.
    let is_fence = |line: &str| {
        let line = line.trim_start();
        line.starts_with("```") && !line.trim_start_matches('`').contains('`')
    };
    let words = value.lines().filter(|line| !is_fence(line));
    let words = words.collect::<Vec<_>>().join("\n").trim().to_lowercase();
    let words = words.trim_start_matches("```").trim_start_matches(['-', '*']).trim();
    let words = words.trim_end_matches('.');
    let placeholder = words.starts_with('[') && words.ends_with(']') && !words.contains("](");
    EMPTY.contains(&words) || placeholder || (field == ProofField::Evidence && words == "none")
}

/// Returns the last section under a heading of level 2 to 6 that begins with these words, up to the next heading;
/// headings within fences do not count.
fn section(text: &str, title: &str) -> Option<String> {
    let mut fence: Option<String> = None;
    let mut found: Option<String> = None;
    let mut inside = false;
    for line in text.lines() {
        let ticks: String = line.trim_start().chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                if let Some((level, words)) = heading(line) {
                    inside = level >= 2 && is_titled(words, title);
                    if inside {
                        found = Some(String::new());
                        continue;
                    }
                }
            }
            Some(_) => {}
        }
        if let Some(text) = found.as_mut().filter(|_| inside) {
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.chars().take_while(|c| *c == '#').count();
    let words = line.get(level..)?;
    ((1..=6).contains(&level) && words.starts_with([' ', '\t'])).then(|| (level, words.trim()))
}

fn is_titled(words: &str, title: &str) -> bool {
    let words = words.to_lowercase();
    let rest = words.strip_prefix(title);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// Parses lines such as `- Name: value`, with or without bullet and bold; a value extends to the next name.
fn fields(section: &str) -> Vec<(ProofField, String)> {
    let mut fields: Vec<(ProofField, String)> = Vec::new();
    let mut open = false;
    for line in section.lines() {
        match named(line) {
            Some((Some(field), value)) => {
                fields.push((field, value.to_owned()));
                open = true;
            }
            Some((None, _)) => open = false,
            None => {
                if let Some((_, value)) = fields.last_mut().filter(|_| open) {
                    value.push('\n');
                    value.push_str(line);
                }
            }
        }
    }
    fields
}

/// Returns the field that a line begins, and its value; the field is `None` for [`BEFORE`].
fn named(line: &str) -> Option<(Option<ProofField>, &str)> {
    let line = line.trim_start().trim_start_matches(['-', '*', '+', ' ']);
    let (name, value) = line.split_once(':')?;
    let name = name.split('(').next().unwrap_or(name).trim_matches(['*', ' ']);
    let value = value.trim_start_matches("**").trim();
    let of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let field = FIELDS.iter().find(|(_, names)| of(names)).map(|(field, _)| *field);
    (field.is_some() || of(&[BEFORE])).then_some((field, value))
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    out + rest
}

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

/// Returns whether the words are about tests.
fn has_test_words(text: &str) -> bool {
    TEST_WORDS.iter().any(|word| has_word(text, word))
}

/// Returns whether the text shows something of a real run: a picture, a link to one, or the output of a command. A
/// sentence about evidence is none.
fn has_real_evidence(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_asset =
        |line: &str| !has_test_words(line) && ASSETS.iter().any(|asset| line.contains(asset));
    lower.lines().any(is_asset) || has_full_fence(&lower)
}

/// Returns the clause in which a text itself reports a failure: `7 goldens compared, 6 held`.
fn own_failure(text: &str) -> Option<String> {
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
fn is_disclaimer(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', '>', ' ']).trim_end_matches('.');
    DISCLAIMERS.iter().any(|words| line.eq_ignore_ascii_case(words))
}

/// Returns whether clitape itself wrote that its cassette was not recorded.
fn is_ours_not_real(evidence: &str) -> bool {
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

#[cfg(test)]
mod tests;
