//! Writes `proof.md`, the text to paste into a pull request, with its fields filled from the run; and writes and reads
//! `proof.json`, the findings of that run, for `clitape proof --check`.

use std::fmt::Write as _;

use clitape_recording::cassette::Origin;
use clitape_recording::chat::ChatView;
use clitape_recording::secrets::scan;
use clitape_recording::text::markdown::{block, code, inline};
use clitape_recording::text::markup::{plain, visible};
use clitape_recording::text::{Keep, plural, shell_quote, truncate};
use clitape_recording::trace::{Entry, Lane};
use serde::{Deserialize, Serialize};

use crate::replay::Replay;
use crate::report::chat::{PersonAct, STOP, act};
use crate::report::page::waterfall::seconds;
use crate::report::page::{confinement, origin, own_bridge};
use crate::report::{footer, write_entry};
use crate::suite::ProofCase;

/// The parts that no replay can test.
const NEVER_TESTED: &str = "delivery over the network of a chat service (the Bot API's calls were \
                            answered in memory), and answers of a live model (the model was scripted)";

/// The start of the evidence in a proof by clitape, if its cassette was not recorded from the real CLI.
pub(super) const NOT_REAL: &str = "Not real behaviour:";

/// Writes the text.
pub fn text(cases: &[ProofCase]) -> String {
    let mut out = format!("{}\n\n## Real behavior proof\n\n", own_bridge());
    let each = |of: &dyn Fn(&ProofCase) -> String| -> String {
        let mut parts: Vec<String> = Vec::new();
        for part in cases.iter().map(|case| one_line(&of(case))) {
            if !part.is_empty() && !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts.join("; ")
    };
    let _ = writeln!(out, "- Behavior or issue addressed: {}", each(&behaviour));
    let _ = writeln!(out, "- Real environment tested: {}", each(&environment));
    let _ = writeln!(out, "- Exact steps or command run after this patch: {}", each(&steps));
    let evidence_at = out.len();
    for case in cases {
        if case.manifest.origin != Origin::Recorded {
            let origin = origin(case.manifest.origin);
            let _ =
                writeln!(out, "\n{NOT_REAL} the cassette of {} was {origin}.", inline(&case.name));
        }
        for run in &case.runs {
            if let Some(how) = run.resumed() {
                let asked = run.prompt().map(|prompt| format!(": {}", code(prompt)));
                let asked = asked.unwrap_or_default();
                let _ = writeln!(out, "\nRun {} {how}{asked}", run.number);
            }
            for entry in &run.entries {
                let at = seconds(entry.at);
                let _ = match act(entry) {
                    Some(PersonAct::Writes(text)) => {
                        writeln!(out, "\nThe person writes at {at}: {}", code(text))
                    }
                    Some(PersonAct::Interrupts) => {
                        writeln!(out, "\nThe person interrupts at {at}: {STOP}")
                    }
                    None => Ok(()),
                };
            }
            let shown = visible(&format!("$ {}\n{}", run.command(), terminal(&run.replay)));
            let _ = write!(out, "\n{}", block("text", shown.trim_end()));
        }
    }
    out.push('\n');
    let _ = writeln!(out, "- Observed result after fix: {}", each(&observed));
    let own = each(&not_tested);
    let and = if own.is_empty() { "" } else { "; " };
    let _ = writeln!(out, "- What was not tested: {own}{and}{NEVER_TESTED}");
    // The claim needs a scan of the text.
    let is_clean = scan("proof.md", out.as_bytes()).is_empty();
    let redacted = if is_clean { ", secrets redacted" } else { "" };
    let evidence = format!("- Evidence after fix: terminal output of the commands{redacted}\n");
    out.insert_str(evidence_at, &evidence);
    out
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

/// Returns the line of the text about the observed result of a recording.
fn observed_line(case: &ProofCase) -> String {
    one_line(&observed(case))
}

fn observed(case: &ProofCase) -> String {
    let invariants = case.invariants();
    let held = invariants.iter().filter(|(_, broken)| broken.is_none()).count();
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
        "{}: {}; {}; {}; {}, {held} held",
        inline(&case.name),
        seen.collect::<Vec<_>>().join(", "),
        case.goldens_word(),
        case.sweep_word(),
        plural(invariants.len(), "invariant")
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

/// Returns the output of `clitape replay` for the chat, without colours.
#[allow(clippy::expect_used, reason = "memory takes every write")]
fn terminal(replay: &Replay) -> String {
    let mut out = Vec::new();
    let written = replay.lane(Lane::Telegram).try_for_each(|entry| write_entry(&mut out, entry));
    written.and_then(|()| footer(&mut out, &replay.summary())).expect("memory takes every write");
    anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The version of the format.
const PROOF_FORMAT: u32 = 1;

/// The report of the run behind a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofRunReport {
    /// The version of the format, [`PROOF_FORMAT`].
    format: u32,
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

impl ProofRunReport {
    /// Makes the report of these recordings.
    pub fn of(cases: &[ProofCase]) -> Self {
        let case = |case: &ProofCase| ReportedCase {
            name: format!("{}/{}", case.name, case.version()),
            observed: observed_line(case),
            findings: case.findings().map(|one| format!("{} {}", one.id, one.sentence)).collect(),
        };
        Self { format: PROOF_FORMAT, cases: cases.iter().map(case).collect() }
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
