//! Writes `proof.md`, the text to paste into a pull request, with its fields filled from the run; and writes and reads
//! `proof.json`, the findings of that run, for `clitape proof --check`.

use std::fmt::Write as _;

use clitape_judge::Finding;
use clitape_recording::cassette::Origin;
use clitape_recording::chat::ChatView;
use clitape_recording::scenario::ChatProfile;
use clitape_recording::secrets::scan;
use clitape_recording::text::markdown::{block, code, inline};
use clitape_recording::text::markup::{plain, visible};
use clitape_recording::text::{Keep, plural, shell_quote, truncate};
use clitape_recording::trace::Entry;
use serde::{Deserialize, Serialize};

use crate::report::chat::drawn;
use crate::report::model::Tally;
use crate::report::page::frames::{ChatFrames, key_frames};
use crate::report::page::{NEVER_TESTED, OWN_BRIDGE, SeenRun, confinement, origin, own_bridge};
use crate::report::text::verdict;
use crate::suite::{CaseRun, ProofCase};

/// The start of the evidence in a proof by clitape, if its cassette was not recorded from the real CLI.
pub(super) const NOT_REAL: &str = "Not real behaviour:";

/// The claims of a proof: what was tested, how, and what came.
struct ProofClaims {
    /// The sentence about what was under test, above everything else.
    head: String,
    /// The subject, its revision, and the run.
    tested: TestedSubject,
    /// What is said of each case, under a field of the policy.
    fields: Vec<CaseFields>,
    /// The end of what was not tested, for all cases.
    never_tested: String,
    /// The chats, each under its heading.
    chats: Vec<ProvenChat>,
}

/// What was under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestedSubject {
    /// Its name.
    pub subject: String,
    /// Its version, or the revision of its repository.
    pub revision: String,
    /// The command that ran it, and the day.
    pub run: String,
}

/// What a case says under the fields of the policy.
struct CaseFields {
    behaviour: String,
    environment: String,
    steps: String,
    ends: String,
    observed: String,
    not_tested: String,
}

/// A chat of a proof.
struct ProvenChat {
    heading: String,
    notes: Vec<String>,
    drawn: String,
}

/// Writes the text about clitape's own bridge.
pub fn text(cases: &[ProofCase]) -> String {
    let fields = cases.iter().map(|case| CaseFields {
        behaviour: behaviour(case),
        environment: environment(case),
        steps: steps(case),
        ends: ends(case),
        observed: observed(case),
        not_tested: not_tested(case),
    });
    written(&ProofClaims {
        head: own_bridge(),
        tested: own_subject(cases),
        fields: fields.collect(),
        never_tested: NEVER_TESTED.to_owned(),
        chats: cases.iter().flat_map(chats).collect(),
    })
}

/// Writes the text about runs at a subject. `further` are sentences of the run about what it did not try.
pub fn subject_text(tested: &TestedSubject, seen: &[SeenRun], further: &[String]) -> String {
    let fields = seen.iter().map(|run| CaseFields {
        behaviour: inline(run.about.trim_end_matches('.')),
        environment: legs(run, &["gateway", "claude", "chat", "editor"]),
        steps: tested.run.clone(),
        ends: seen_ends(run),
        observed: seen_observed(run),
        not_tested: legs(run, &["not covered"]),
    });
    let chat = |seen: &SeenRun| ProvenChat {
        heading: heading(&seen.title, &seen.name, seen.findings.len()),
        notes: seen
            .findings
            .iter()
            .map(|one| inline(&format!("{} {}", one.id, one.sentence)))
            .collect(),
        drawn: moments(&seen.run, ChatProfile::Telegram),
    };
    written(&ProofClaims {
        head: seen_head(tested),
        tested: tested.clone(),
        fields: fields.collect(),
        never_tested: further.iter().map(|line| inline(line)).collect::<Vec<_>>().join("; "),
        chats: seen.iter().map(chat).collect(),
    })
}

fn written(claims: &ProofClaims) -> String {
    let ProofClaims { head, tested, fields, never_tested, chats } = claims;
    let each = |of: &dyn Fn(&CaseFields) -> &str| -> String {
        let mut parts: Vec<String> = Vec::new();
        for part in fields.iter().map(|case| one_line(of(case))) {
            if !part.is_empty() && !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts.join("; ")
    };
    let TestedSubject { subject, revision, run } = tested;
    let mut out = format!("{head}\n\n## Real behavior proof\n\n");
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(out, "- {name}: {value}");
    };
    field("Subject", subject);
    field("Revision", revision);
    field("Run", run);
    field("Behavior or issue addressed", &each(&|case| &case.behaviour));
    field("Real environment tested", &each(&|case| &case.environment));
    field("Exact steps or command run after this patch", &each(&|case| &case.steps));
    let evidence_at = out.len();
    let ends: Vec<&str> = fields.iter().map(|case| case.ends.as_str()).collect();
    let _ = write!(out, "\n{}\n", block("text", ends.join("\n").trim_end()));
    let _ = writeln!(out, "- Observed result after fix: {}", each(&|case| &case.observed));
    let not_tested = [each(&|case| &case.not_tested), never_tested.clone()];
    let not_tested: Vec<_> = not_tested.into_iter().filter(|part| !part.is_empty()).collect();
    let _ = writeln!(out, "- What was not tested: {}", not_tested.join("; "));
    out.push_str("\n## Evidence\n");
    for ProvenChat { heading, notes, drawn } in chats {
        let _ = writeln!(out, "\n### {heading}");
        for note in notes {
            let _ = writeln!(out, "\n{note}");
        }
        let _ = write!(out, "\n{}", block("text", visible(drawn).trim_end()));
    }
    // The claim needs a scan of the text.
    let is_clean = scan("proof.md", out.as_bytes()).is_empty();
    let redacted = if is_clean { ", secrets redacted" } else { "" };
    let evidence = format!(
        "- Evidence after fix: what a person ends up reading{redacted}; the chats are drawn below\n"
    );
    out.insert_str(evidence_at, &evidence);
    out
}

/// Returns the sentence about a gateway that was under test.
pub fn seen_head(tested: &TestedSubject) -> String {
    let TestedSubject { subject, revision, run } = tested;
    format!(
        "What was run is {subject}, revision {revision}, under test by clitape {}: {run}.",
        env!("CARGO_PKG_VERSION")
    )
}

/// Returns the heading of a chat.
fn heading(title: &str, name: &str, findings: usize) -> String {
    let state = verdict(&Tally::of_findings(findings));
    format!("{} ({}): {state}", inline(title), inline(name))
}

/// Returns what was under test when no other gateway was.
fn own_subject(cases: &[ProofCase]) -> TestedSubject {
    let commands: Vec<String> = cases
        .iter()
        .map(|case| code(&format!("clitape test {}", shell_quote(&case.name))))
        .collect();
    TestedSubject {
        subject: OWN_BRIDGE.to_owned(),
        revision: format!("clitape {}", env!("CARGO_PKG_VERSION")),
        run: commands.join(", "),
    }
}

/// Draws the chats of a case, one for each run of the CLI.
fn chats(case: &ProofCase) -> impl Iterator<Item = ProvenChat> {
    case.runs.iter().map(|run| {
        let mut name = format!("{}/{}", case.name, case.version());
        if case.runs.len() > 1 {
            let _ = write!(name, ", run {}", run.number);
        }
        let mut notes = Vec::new();
        if case.manifest.origin != Origin::Recorded {
            let origin = origin(case.manifest.origin);
            notes.push(format!("{NOT_REAL} the cassette of {} was {origin}.", inline(&case.name)));
        }
        if let Some(how) = run.resumed() {
            let asked = run.prompt().map(|prompt| format!(": {}", code(prompt)));
            notes.push(format!("Run {} {how}{}", run.number, asked.unwrap_or_default()));
        }
        notes.push(format!("{} shows every call.", code(&run.command())));
        ProvenChat {
            heading: heading(&case.title, &name, case.findings().count()),
            notes,
            drawn: moments(run, case.chat.profile),
        }
    })
}

/// Draws the chat of a run at its last key frame before the final one, where tools show, and at the end.
fn moments(run: &CaseRun, profile: ChatProfile) -> String {
    let chat = ChatFrames::of(&run.entries, profile, run.prompt());
    let mut keys: Vec<usize> =
        key_frames(&run.entries, &chat).iter().map(|key| key.frame).collect();
    keys.retain(|key| chat.frames[*key].is_answered());
    let end = chat.frames.len().saturating_sub(1);
    let before = keys.into_iter().rfind(|key| *key < end);
    let at: Vec<usize> = before
        .into_iter()
        .chain([end])
        .filter_map(|key| Some(chat.frames.get(key)?.entry))
        .collect();
    drawn(run.prompt(), &run.entries, &at)
}

/// Returns a line for each run of a case with what the person ends up reading.
fn ends(case: &ProofCase) -> String {
    let line = |run: &CaseRun| format!("{}/{}: {}", case.name, case.version(), read(&run.entries));
    let mut lines: Vec<String> = case.runs.iter().map(line).collect();
    if case.manifest.origin != Origin::Recorded {
        lines.push(format!("{NOT_REAL} {}", origin(case.manifest.origin)));
    }
    lines.join("\n")
}

fn seen_ends(seen: &SeenRun) -> String {
    format!("{}: {}", seen.name, read(&seen.run.entries))
}

fn read(entries: &[Entry]) -> String {
    match last_seen(entries) {
        text if text.is_empty() => "the chat got nothing".to_owned(),
        text => visible(&text),
    }
}

fn seen_observed(seen: &SeenRun) -> String {
    let state = verdict(&Tally::of_findings(seen.findings.len()));
    format!("{}: {state}; the run: {}", inline(&seen.name), inline(&seen.ending))
}

/// Returns these parts of a run, in words.
fn legs(seen: &SeenRun, wanted: &[&str]) -> String {
    let legs = seen.legs.iter().filter(|(what, _)| wanted.contains(what));
    let words = legs.map(|(what, how)| match *what {
        "not covered" => inline(how),
        what => format!("{what} ({})", inline(how)),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn behaviour(case: &ProofCase) -> String {
    let what = case.proof.behaviour.as_ref().unwrap_or(&case.about);
    let tracks = if case.tracks.is_empty() {
        String::new()
    } else {
        let tracks: Vec<String> = case.tracks.iter().map(|issue| inline(issue)).collect();
        format!(" ({})", tracks.join(", "))
    };
    format!("{}{tracks}", inline(what.trim_end_matches('.')))
}

fn environment(case: &ProofCase) -> String {
    let cli = &case.manifest.cli;
    let platform = if cli.platform.is_empty() { "a platform not known" } else { &cli.platform };
    let origin = origin(case.manifest.origin);
    let sha256 = cli.sha256.as_deref().map_or("not known".to_owned(), code);
    let confined = confinement(&case.manifest).map(|how| format!(", {how}")).unwrap_or_default();
    format!(
        "the `claude` command {} (sha256 {sha256}) on {}, {origin}{confined} on {}, replayed through the bridge of clitape {}",
        inline(&cli.version),
        inline(platform),
        inline(&cli.date),
        env!("CARGO_PKG_VERSION")
    )
}

/// Returns the commands that give the same again; the recording was made before.
fn steps(case: &ProofCase) -> String {
    let name = shell_quote(&case.name);
    let record = match case.manifest.origin {
        Origin::Recorded => {
            let version = shell_quote(&format!("npm:{}", case.version()));
            let again = code(&format!("clitape record --check {name} --claude {version}"));
            format!(" (recorded before; {again} records it again and compares)")
        }
        _ => String::new(),
    };
    let replays: Vec<String> = case.runs.iter().map(|run| code(&run.command())).collect();
    format!("{}, {}{record}", code(&format!("clitape test {name}")), replays.join(", "))
}

fn observed(case: &ProofCase) -> String {
    let seen = case.runs.iter().map(|run| {
        let seen = match last_seen(&run.entries) {
            text if text.is_empty() => "the chat got nothing".to_owned(),
            text => format!("the person ends up reading {}", code(&text)),
        };
        match run.resume {
            None => seen,
            Some(_) => format!("in run {} {seen}", run.number),
        }
    });
    format!(
        "{}: {}; {}; {}; {}",
        inline(&case.name),
        seen.collect::<Vec<_>>().join(", "),
        case.goldens_word(),
        case.sweep_word(),
        case.rules_word()
    )
}

fn not_tested(case: &ProofCase) -> String {
    let own = case.proof.not_tested.as_deref().map(inline);
    let further = (case.runs.len() > 1).then(|| {
        "cuts and delays of the further runs of a session (they were replayed line by line)"
            .to_owned()
    });
    own.into_iter().chain(further).collect::<Vec<_>>().join("; ")
}

/// The most columns of the final text.
const LAST_SEEN: usize = 200;

/// Returns the final text; a long one without its middle.
pub(crate) fn last_seen(entries: &[Entry]) -> String {
    let text = one_line(&plain(&ChatView::after(entries).final_text().join(" ")));
    truncate(&text, LAST_SEEN, Keep::Ends).into_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The version of the format.
const PROOF_FORMAT: u32 = 2;

/// The report of the run behind a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofRunReport {
    /// The version of the format, [`PROOF_FORMAT`].
    format: u32,
    /// What was under test.
    tested: TestedSubject,
    /// The recordings of the proof.
    cases: Vec<ReportedCase>,
}

/// A recording of the proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportedCase {
    /// The scenario and the version.
    name: String,
    /// The text of the proof about it under `Observed result after fix`.
    observed: String,
    /// The findings: id and sentence.
    findings: Vec<String>,
}

/// Returns the id and the sentence of each finding.
fn told<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<String> {
    findings.into_iter().map(|one| format!("{} {}", one.id, one.sentence)).collect()
}

impl ProofRunReport {
    /// Makes the report of these recordings, replayed by clitape's own bridge.
    pub fn of(cases: &[ProofCase]) -> Self {
        let case = |case: &ProofCase| ReportedCase {
            name: format!("{}/{}", case.name, case.version()),
            observed: one_line(&observed(case)),
            findings: told(case.findings()),
        };
        Self {
            format: PROOF_FORMAT,
            tested: own_subject(cases),
            cases: cases.iter().map(case).collect(),
        }
    }

    /// Makes the report of these runs at a subject.
    pub fn of_subject(tested: &TestedSubject, seen: &[SeenRun]) -> Self {
        let case = |seen: &SeenRun| ReportedCase {
            name: seen.name.clone(),
            observed: one_line(&seen_observed(seen)),
            findings: told(&seen.findings),
        };
        Self {
            format: PROOF_FORMAT,
            tested: tested.clone(),
            cases: seen.iter().map(case).collect(),
        }
    }

    /// Returns the report as text.
    ///
    /// # Errors
    ///
    /// When it can't be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads a report.
    ///
    /// # Errors
    ///
    /// When the text is not such a report.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Returns a sentence about the first part of the report that the text of the proof lacks.
    pub(super) fn contradicts(&self, text: &str) -> Option<String> {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(text);
        let TestedSubject { subject, revision, run } = &self.tested;
        let unsaid = [("subject", subject), ("revision", revision), ("run", run)];
        let unsaid = unsaid.into_iter().find(|(_, value)| !said.contains(&words(value)));
        if let Some((what, value)) = unsaid {
            return Some(format!("the text does not name the {what} that was tested: {value}"));
        }
        self.cases.iter().find_map(|ReportedCase { name, observed, findings }| {
            if let Some(first) = findings.first() {
                let count = plural(findings.len(), "finding");
                return Some(format!("the run of {name} has {count}; the first is {first}"));
            }
            let is_said = said.contains(&words(observed));
            (!is_said)
                .then(|| format!("the text does not say what the run of {name} gave: {observed}"))
        })
    }
}
