//! The line protocol of `clitape serve`: the greeting, the requests of a test runner, and the answers to them.
//!
//! A test runner of another language writes a [`PlayRequest`] as one line of JSON. [`play`] plays the recording at the
//! gateway with the suite's own loop, and a [`PlayAnswer`] says what a person saw, with the findings. A request that can't
//! be played gets an [`ErrorAnswer`], after which the next one is read.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use clitape_judge::{Finding, FindingId, RULES, finally_read};
use clitape_recording::chat::{ChatView, SeenMessage};
use clitape_recording::text::plain;
use clitape_recording::trace::{Entry, millis};
use clitape_runner::suite::select::{NamePattern, Selection, Selector};
use clitape_runner::suite::{SuiteOptions, SuiteRun, TrialEvent, run as run_suite};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chat_server::Faults;
use crate::subject::{
    Conditions, DriveResult, GatewaySubject, Job, NamedGateway, Printing, RigHost, RunEvent,
    SubjectError,
};

/// The version of the protocol. Fields may be added within a version, and none is taken away.
pub const PROTOCOL: u32 = 1;
/// The most bytes of a request.
pub const REQUEST_BYTES: u64 = 64 * 1024;

/// The seconds after which a caller may give a recording up.
const TIMEOUT_S: RangeInclusive<u64> = 1..=86_400;

/// A request in the messages about wrong ones.
const EXAMPLE: &str = r#"{"id":1,"play":"three-tools"}"#;
/// The page about the protocol.
const PAGE: &str = "`clitape help test-runners` lists the fields";

/// The first line that `clitape serve` prints, once it reads requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Greeting {
    /// The version of the protocol: 1.
    pub protocol: u32,
    /// The version of clitape.
    pub clitape: String,
    /// The gateway under test, `NAME` or `NAME@VERSION`.
    pub subject: String,
}

impl Greeting {
    /// Returns the greeting of this version of the protocol.
    pub fn new(clitape: &str, gateway: NamedGateway<'_>) -> Self {
        Self { protocol: PROTOCOL, clitape: clitape.to_owned(), subject: gateway.shown() }
    }
}

/// A request to play a recording, one line of JSON. The options are those of `clitape rig`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlayRequest {
    /// A whole number that the answer repeats.
    pub id: u64,
    /// The scenario: `NAME` for its newest recording, or `NAME/VERSION`.
    pub play: String,
    /// The version of the CLI, if `play` has none.
    #[serde(default)]
    pub version: Option<String>,
    /// The milliseconds after which `claude` prints each next line, from 1 to 60000, instead of the recorded times.
    #[serde(default)]
    pub pace: Option<u64>,
    /// The seed by which the output of `claude` is cut and delayed.
    #[serde(default)]
    pub seed: Option<u64>,
    /// True to let lines come whole where they were recorded so.
    #[serde(default)]
    pub whole_lines: bool,
    /// The seconds for which a `claude` of one message lives on after its result, at most 600.
    #[serde(default)]
    pub lives_on: u64,
    /// The faults of what `claude` prints, such as `crlf` and `cut`.
    #[serde(default)]
    pub agent_faults: Vec<String>,
    /// True to start the gateway with `LC_ALL=C`.
    #[serde(default)]
    pub c_locale: bool,
    /// The calls of the chat that go wrong, such as `2:rate-limit:30s`.
    #[serde(default)]
    pub chat_faults: Vec<String>,
    /// The seed by which calls of the chat go wrong at random.
    #[serde(default)]
    pub chat_seed: Option<u64>,
    /// With `chat_seed`: how many calls of a hundred go wrong, from 1 to 100; 20 by default.
    #[serde(default)]
    pub chat_rate: Option<u8>,
    /// The seconds after which the recording is given up, which is a finding.
    #[serde(default)]
    pub timeout: Option<u64>,
}

/// The reason why a request gets no answer with a chat.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The line is no request, or a field has a value that it can't have.
    #[error("{message}")]
    Request {
        /// The id of the request, if it has one.
        id: Option<u64>,
        /// The mistake, and what to write.
        message: String,
    },
    /// The recording does not exist, or does not fit the gateway.
    #[error("{0}")]
    Recording(String),
    /// The gateway can't be played, or the run was stopped.
    #[error(transparent)]
    Subject(#[from] SubjectError),
}

/// The kinds of errors, for a test runner that treats them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PlayErrorKind {
    /// The line is no request, or a field has a value that it can't have.
    Request,
    /// The recording does not exist, or does not fit the gateway.
    Recording,
    /// The gateway did not start, or could not be observed.
    Subject,
    /// The run was stopped before its end.
    Stopped,
}

/// The answer to a request that could not be played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorAnswer {
    /// The id of the request; null if the line has none that can be read.
    pub id: Option<u64>,
    /// The error.
    pub error: ServedError,
}

/// An error as a test runner gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedError {
    /// The kind of the error.
    pub kind: PlayErrorKind,
    /// What failed, and what to do next.
    pub message: String,
}

/// The answer to a request: what a person saw, and the findings.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlayAnswer {
    /// The id of the request.
    pub id: u64,
    /// The recording that was played, `NAME/VERSION`.
    pub recording: String,
    /// True if nothing was found.
    pub passed: bool,
    /// The ending of the run, in words.
    pub ending: String,
    /// The duration of the run in milliseconds, without the start of the gateway.
    pub took_ms: u64,
    /// The messages of the gateway as a person sees them in the end, the oldest first.
    pub messages: Vec<ServedMessage>,
    /// The texts of these messages, with an empty line between two.
    pub final_text: String,
    /// The calls of the gateway, and the acts of the person, which are in parentheses.
    pub calls: Vec<ServedCall>,
    /// What is wrong; empty if the gateway kept every rule.
    pub findings: Vec<ServedFinding>,
    /// Sentences about the run that are no findings, such as hosts that the gateway asked for in vain.
    pub notes: Vec<String>,
    /// The last lines that the gateway printed.
    pub printed: Vec<String>,
}

/// A message of a chat as a person sees it in the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedMessage {
    /// Its number in the chat; absent in an editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<u64>,
    /// Its text without markup.
    pub text: String,
    /// The number of edits that led to this text.
    pub edits: u64,
    /// The time from which this text was there, in milliseconds since the person wrote.
    pub at: u64,
    /// The labels of its buttons, row by row.
    pub buttons: Vec<Vec<String>>,
    /// The name of its file, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A call of the gateway, or an act of the person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedCall {
    /// The time in milliseconds since the person wrote.
    pub at: u64,
    /// The method of the Bot API, the kind of the update, or the act.
    pub kind: String,
    /// Its fields, those of an entry in `schemas/trace.json`.
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub data: Arc<Map<String, Value>>,
}

/// A finding about the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedFinding {
    /// Its id, such as `SB003`, which stays the same.
    pub id: String,
    /// Its name, such as `answer-altered`.
    pub title: String,
    /// What happened, in a sentence.
    pub message: String,
    /// The demand of the rule that was broken; absent if it comes from no rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demand: Option<String>,
    /// The command that shows it again.
    pub reproduce: String,
}

impl PlayError {
    /// Makes the error of a request with an id.
    fn wrong(id: u64, message: impl Into<String>) -> Self {
        Self::Request { id: Some(id), message: message.into() }
    }

    /// Returns whether the caller stopped the run.
    pub fn is_stop(&self) -> bool {
        self.kind() == PlayErrorKind::Stopped
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> PlayErrorKind {
        match self {
            Self::Request { .. } => PlayErrorKind::Request,
            Self::Recording(_) => PlayErrorKind::Recording,
            Self::Subject(error) if error.is_stop() => PlayErrorKind::Stopped,
            Self::Subject(SubjectError::Select(_)) => PlayErrorKind::Recording,
            Self::Subject(_) => PlayErrorKind::Subject,
        }
    }

    /// Returns the answer with this error.
    pub fn answer(&self, id: Option<u64>) -> ErrorAnswer {
        let id = match self {
            Self::Request { id, .. } => *id,
            _ => id,
        };
        ErrorAnswer { id, error: ServedError { kind: self.kind(), message: self.to_string() } }
    }
}

impl PlayRequest {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// [`PlayError::Request`] if the line is no request of this protocol.
    pub fn parse(line: &[u8]) -> Result<Self, PlayError> {
        let wrong = |message: String| PlayError::Request { id: None, message };
        let value: Value = serde_json::from_slice(line).map_err(|error| {
            wrong(format!(
                "the line is no JSON ({error}); write one object on each line: {EXAMPLE}"
            ))
        })?;
        let Some(fields) = value.as_object() else {
            return Err(wrong(format!("a request is an object on one line: {EXAMPLE}")));
        };
        let Some(id) = fields.get("id").and_then(Value::as_u64) else {
            let message = "`id` is missing or no whole number, and the answer repeats it; write";
            return Err(wrong(format!("{message} {EXAMPLE}")));
        };
        if !fields.contains_key("play") {
            let message = format!(
                "the request is of no kind that protocol {PROTOCOL} has: it has no `play`; write {EXAMPLE}"
            );
            return Err(PlayError::wrong(id, message));
        }
        serde_json::from_value(value)
            .map_err(|error| PlayError::wrong(id, format!("{error}; {PAGE}")))
    }

    /// Returns the conditions that the request asks for.
    ///
    /// # Errors
    ///
    /// [`PlayError::Request`] if a field has a value that it can't have, or if two exclude each other.
    pub fn conditions(&self) -> Result<Conditions, PlayError> {
        let wrong = |message: String| PlayError::wrong(self.id, message);
        let within = |key: &str, value: u64, range: RangeInclusive<u64>| {
            let message =
                || format!("`{key}` is {value}; write {} to {}", range.start(), range.end());
            if range.contains(&value) { Ok(value) } else { Err(wrong(message())) }
        };
        let printing = match (self.pace, self.seed) {
            (None, None) => Printing::Recorded,
            (Some(ms), None) => Printing::Paced(within("pace", ms, Conditions::PACE_MS)?),
            (None, Some(seed)) => Printing::Seeded(seed),
            (Some(_), Some(_)) => {
                return Err(wrong("`pace` and `seed` exclude each other; write one".to_owned()));
            }
        };
        let rate = self.chat_rate.unwrap_or(Conditions::USUAL_CHAT_RATE);
        let rates = Conditions::CHAT_RATE;
        within("chat_rate", rate.into(), (*rates.start()).into()..=(*rates.end()).into())?;
        let listed: Result<Vec<_>, _> =
            self.chat_faults.iter().map(|fault| fault.parse()).collect();
        let listed = listed.map_err(|error| wrong(format!("`chat_faults`: {error}")))?;
        let faults = match self.chat_seed {
            None if self.chat_rate.is_some() => {
                return Err(wrong("`chat_rate` needs `chat_seed`; write both".to_owned()));
            }
            None if listed.is_empty() => Faults::None,
            None => Faults::Listed(listed),
            Some(seed) if listed.is_empty() => Faults::Seeded { seed, percent: rate },
            Some(_) => {
                let message = "`chat_faults` and `chat_seed` exclude each other; write one";
                return Err(wrong(message.to_owned()));
            }
        };
        let agent: Result<Vec<_>, _> =
            self.agent_faults.iter().map(|fault| fault.parse()).collect();
        Ok(Conditions {
            printing,
            whole_lines: self.whole_lines,
            faults,
            lives_on_s: within("lives_on", self.lives_on, Conditions::LIVES_ON_S)?,
            agent_faults: agent.map_err(|error| wrong(format!("`agent_faults`: {error}")))?,
            c_locale: self.c_locale,
            interlude: None,
        })
    }

    /// Returns the time after which the recording is given up.
    fn time(&self) -> Result<Option<Duration>, PlayError> {
        let Some(seconds) = self.timeout else { return Ok(None) };
        let (least, most) = (TIMEOUT_S.start(), TIMEOUT_S.end());
        if !TIMEOUT_S.contains(&seconds) {
            let message = format!("`timeout` is {seconds}; write the seconds, {least} to {most}");
            return Err(PlayError::wrong(self.id, message));
        }
        Ok(Some(Duration::from_secs(seconds)))
    }

    /// Returns the selection of the one recording that the request names.
    fn selection(&self, rig: RigHost<'_>) -> Result<Selection, PlayError> {
        let wrong = |message: String| PlayError::wrong(self.id, message);
        let mut pattern: NamePattern =
            self.play.parse().map_err(|error| wrong(format!("`play`: {error}")))?;
        match (&pattern.version, &self.version) {
            (_, None) => {}
            (None, Some(version)) => pattern.version = Some(version.clone()),
            (Some(_), Some(_)) => {
                let message = "`play` has a version already; leave `version` out".to_owned();
                return Err(wrong(message));
            }
        }
        let names = vec![pattern];
        let selection = Selector { names, ..Selector::default() }.choose(rig.workspace);
        let selection = selection.map_err(SubjectError::from)?;
        match &selection.scenarios[..] {
            [one] if one.versions.as_ref().is_none_or(|versions| versions.len() == 1) => {
                Ok(selection)
            }
            _ => Err(wrong(format!(
                "`play` is `{}`, which means several recordings; name one scenario and at most one version",
                plain(&self.play)
            ))),
        }
    }
}

/// Plays the recording of a request at a gateway under its conditions, and returns what a person saw. `report` gets the
/// progress.
///
/// # Errors
///
/// [`PlayError`] if the recording does not exist or does not fit, or if the gateway can't be played.
pub fn play(
    gateway: NamedGateway<'_>,
    request: &PlayRequest,
    conditions: &Conditions,
    rig: RigHost<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<PlayAnswer, PlayError> {
    let scenario_time = request.time()?;
    let selection = request.selection(rig)?;
    let options = SuiteOptions { scenario_time, ..SuiteOptions::new(&selection) };
    let mut printed = Vec::new();
    let mut watch = |event: RunEvent<'_>| {
        if let RunEvent::Stopped { printed: lines, .. } = event {
            printed = lines;
        }
    };
    let subject = GatewaySubject::new(gateway, conditions, rig).watched(&mut watch);
    let mut subject = subject.with_all_scenarios();
    let run = run_suite(&mut subject, options, report)?;
    let played = std::mem::take(&mut subject.played);
    drop(subject);
    match played.first() {
        Some((job, seen)) => Ok(answer(request.id, job, seen, run, printed)),
        None if run.is_stopped => Err(SubjectError::Stopped.into()),
        None => Err(PlayError::Recording(not_played(&request.play, &run))),
    }
}

/// Returns the answer about a recording that was played.
fn answer(
    id: u64,
    job: &Job,
    seen: &DriveResult,
    run: SuiteRun,
    printed: Vec<String>,
) -> PlayAnswer {
    let checks = run.scenarios.iter().flat_map(|scenario| &scenario.checks).chain(&run.workspace);
    let findings: Vec<_> =
        checks.flat_map(|check| &check.findings).map(ServedFinding::of).collect();
    PlayAnswer {
        id,
        recording: job.name(),
        passed: findings.is_empty(),
        ending: seen.how(),
        took_ms: millis(seen.took),
        messages: messages(&seen.entries),
        final_text: finally_read(&seen.entries).join("\n\n"),
        calls: seen.entries.iter().map(ServedCall::of).collect(),
        findings,
        notes: run.notes,
        printed,
    }
}

/// Returns the reason why a recording was not played.
fn not_played(name: &str, run: &SuiteRun) -> String {
    let left_out = run.left_out.iter().map(|one| format!("{} was left out: {}", one.name, one.why));
    let found = run.workspace.iter().flat_map(|check| &check.findings);
    let found = found.map(|finding| finding.sentence.clone());
    let reasons: Vec<String> = left_out.chain(found).collect();
    match reasons.is_empty() {
        true => format!("{} was not played; `clitape list` names the recordings", plain(name)),
        false => reasons.join("; "),
    }
}

/// Returns the messages that a person sees in the end. In an editor that is the text of the model.
fn messages(entries: &[Entry]) -> Vec<ServedMessage> {
    let view = ChatView::after(entries);
    let messages: Vec<ServedMessage> =
        view.numbered().map(|(id, message)| ServedMessage::of(id, message)).collect();
    if !messages.is_empty() {
        return messages;
    }
    let at = entries.last().map_or(0, |entry| entry.at);
    let of_editor = |text: String| ServedMessage {
        message_id: None,
        text,
        edits: 0,
        at,
        buttons: Vec::new(),
        file: None,
    };
    finally_read(entries).into_iter().map(of_editor).collect()
}

impl ServedMessage {
    fn of(id: u64, message: &SeenMessage) -> Self {
        Self {
            message_id: Some(id),
            text: message.plain_text().to_owned(),
            edits: message.edits,
            at: message.at,
            buttons: message.buttons.clone(),
            file: message.file.as_ref().map(|file| file.name.clone()),
        }
    }
}

impl ServedCall {
    fn of(entry: &Entry) -> Self {
        Self { at: entry.at, kind: entry.kind.clone().into_owned(), data: entry.data.clone() }
    }
}

impl ServedFinding {
    fn of(finding: &Finding) -> Self {
        let named = finding.id.to_string();
        let (id, title) = named.split_once(' ').unwrap_or((&named, ""));
        let rule = RULES.iter().find(|rule| match &finding.id {
            FindingId::Known(kind) => rule.is_about(*kind),
            FindingId::Other(_) => false,
        });
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            message: finding.sentence.clone(),
            demand: rule.map(|rule| rule.demand.to_owned()),
            reproduce: finding.reproduce.as_str().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (Option<u64>, String) {
        match PlayRequest::parse(line.as_bytes()) {
            Err(PlayError::Request { id, message }) => (id, message),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_wrong_line_says_what_to_write() {
        for (line, id, part) in [
            ("{", None, "the line is no JSON"),
            ("", None, "the line is no JSON"),
            ("[1]", None, "a request is an object"),
            (r#"{"play":"a"}"#, None, "`id` is missing"),
            (r#"{"id":"1","play":"a"}"#, None, "no whole number"),
            (r#"{"id":1,"list":true}"#, Some(1), "it has no `play`; write {\"id\":1"),
            (r#"{"id":1,"play":"a","pase":3}"#, Some(1), "unknown field `pase`, expected one of"),
            (r#"{"id":1,"play":["a"]}"#, Some(1), "clitape help test-runners"),
        ] {
            let (got, message) = refused(line);
            assert!(got == id && message.contains(part), "{line}: {got:?} {message}");
        }
    }

    #[test]
    fn the_fields_of_a_request_are_conditions() {
        let conditions = |fields: &str| {
            let line = format!(r#"{{"id":7,"play":"a"{fields}}}"#);
            let request = PlayRequest::parse(line.as_bytes()).unwrap();
            request.conditions().map_err(|error| {
                let ErrorAnswer { id, error } = error.answer(None);
                assert_eq!((id, error.kind), (Some(7), PlayErrorKind::Request), "{fields}");
                error.message
            })
        };
        assert!(conditions("").unwrap().are_recorded());
        assert_eq!(conditions(r#","pace":200"#).unwrap().printing, Printing::Paced(200));
        assert_eq!(conditions(r#","seed":3"#).unwrap().printing, Printing::Seeded(3));
        let all = r#","whole_lines":true,"lives_on":8,"agent_faults":["crlf"],"c_locale":true,"chat_seed":7"#;
        let all = conditions(all).unwrap();
        assert!(all.whole_lines && all.c_locale && all.lives_on_s == 8, "{all:?}");
        assert_eq!(all.faults, Faults::Seeded { seed: 7, percent: Conditions::USUAL_CHAT_RATE });
        for (fields, part) in [
            (r#","pace":0"#, "`pace` is 0; write 1 to 60000"),
            (r#","pace":1,"seed":1"#, "exclude each other"),
            (r#","lives_on":601"#, "`lives_on` is 601; write 0 to 600"),
            (r#","chat_rate":5"#, "needs `chat_seed`"),
            (r#","chat_seed":1,"chat_rate":101"#, "`chat_rate` is 101"),
            (r#","chat_seed":1,"chat_faults":["2:reset"]"#, "exclude each other"),
            (r#","chat_faults":["x"]"#, "`chat_faults`: "),
            (r#","agent_faults":["x"]"#, "`agent_faults`: `x` is no fault"),
        ] {
            let message = conditions(fields).unwrap_err();
            assert!(message.contains(part), "{fields}: {message}");
        }
    }
}
