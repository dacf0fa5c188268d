//! Translates the lines of the recorded host into acts of a person in a chat: messages, answers, interruptions.
//!
//! The answers are found by the tool call that waited for each. A gateway that allows some of the acts only does not
//! get each cassette; a misfit is the reason.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use clitape_recording::cassette::{Cassette, Origin};
use clitape_recording::facts::texts_in;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{
    DeliverySpec, RecordSpec, Resume, SayAction, SayStep, SayTrigger, Scenario,
};
use clitape_recording::text::shown::letters;
use clitape_recording::wire::{
    ControlResponse, PermissionAnswer, PermissionDecision, RequestKind, WireLine,
};
use clitape_runner::replay::{StdinLine, stdin_lines};
use clitape_runner::suite::select::Selected;

use super::spec::{Front, GatewaySpec, HostKind};
use crate::editor::PermissionChoice;
use crate::stand_in;

/// The acts of a person in a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonDialogue {
    /// The first message.
    pub(crate) prompt: String,
    /// The later acts, in order.
    pub(crate) steps: Vec<PersonStep>,
    /// The act of the host that no person can do, if there is one.
    impossible: Option<&'static str>,
    /// The bytes of stdout of each result.
    pub(crate) results: Vec<Range<u64>>,
    /// True if a message comes before the result of the turn before it.
    has_message_during_turn: bool,
}

/// An act with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonStep {
    /// The bytes of stdout that the CLI had printed when the host acted.
    pub(crate) offset: u64,
    /// The act to do.
    pub(crate) act: Act,
    /// True if the act is the prompt of a further run, which the person writes once the run before it has ended.
    pub(crate) begins_run: bool,
}

/// An act of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Writes this message.
    Say(String),
    /// Answers a permission question.
    Answer {
        /// True for yes, false for no.
        allows: bool,
        /// The letters by which the message of the question is known among others: those of its longest text.
        about: String,
        /// True if no other question was open.
        is_only: bool,
    },
    /// Chooses these labels in a question.
    Choose(Vec<String>),
    /// Interrupts the turn.
    Stop,
}

impl PersonDialogue {
    /// Reads the dialogue of a cassette; `record` is the recording part of its scenario.
    pub(crate) fn of(cassette: &Cassette, record: &RecordSpec) -> Self {
        let lines = stdin_lines(&cassette.stdin, &cassette.timeline);
        let mut questions = questions(&cassette.stdout);
        let mut impossible = None;
        let mut steps = Vec::new();
        for line in &lines {
            match act(line, &mut questions) {
                Ok(Some(act)) => {
                    steps.push(PersonStep { offset: line.offset, act, begins_run: false });
                }
                Ok(None) => {}
                Err(what) => impossible = impossible.or(Some(what)),
            }
        }
        impossible = impossible.or(closes_early(&record.say));
        let first = steps.iter().position(|step| matches!(step.act, Act::Say(_)));
        let prompt = match first.map(|first| steps.remove(first).act) {
            Some(Act::Say(text)) => text,
            _ => record.prompt.clone().unwrap_or_default(),
        };
        if prompt.is_empty() {
            impossible = impossible.or(Some("writes no message"));
        }
        let mut results = results(&cassette.stdout, 0);
        let has_message_during_turn = is_during_turn(&results, &steps);
        let mut offset = cassette.stdout.len() as u64;
        for (then, run) in record.then.iter().zip(&cassette.further) {
            let act = Act::Say(then.prompt.clone());
            steps.push(PersonStep { offset, act, begins_run: true });
            results.extend(self::results(&run.stdout, offset));
            offset += run.stdout.len() as u64;
        }
        Self { prompt, steps, results, impossible, has_message_during_turn }
    }
}

/// Returns the act in a line of the host; `None` for lines that a gateway writes by itself. The error is an act that no
/// person can do.
fn act(
    line: &StdinLine,
    questions: &mut HashMap<String, PendingQuestion>,
) -> Result<Option<Act>, &'static str> {
    match WireLine::read(&line.line) {
        None => Err("writes a line that is not JSON"),
        Some(WireLine::Message(message)) => match message.text_alone() {
            Some(text) => Ok(Some(Act::Say(text))),
            None => Err("writes a message that is not text alone"),
        },
        Some(WireLine::Request(request)) => match request.kind {
            RequestKind::Interrupt => Ok(Some(Act::Stop)),
            RequestKind::Other { .. } => Err("asks claude for what no chat can ask for"),
            _ => Ok(None),
        },
        // Answers to hooks come from the gateway, so only those to permission questions count.
        Some(WireLine::Response(response)) => {
            let question = questions.remove(&response.request_id);
            let is_only = questions.values().all(|other| other.offset > line.offset);
            let about = question.map(|question| question.about).unwrap_or_default();
            Ok(response.permission().map(|answer| answer_of(&answer, about, is_only)))
        }
        Some(_) => Err("writes a line of no known type"),
    }
}

/// Returns the act of a person who gives this answer.
fn answer_of(answer: &PermissionAnswer, about: String, is_only: bool) -> Act {
    let allows = matches!(answer.decision, PermissionDecision::Allow { .. });
    match answer.chosen_labels() {
        Some(labels) => Act::Choose(labels),
        None => Act::Answer { allows, about, is_only },
    }
}

/// The most letters by which a question is known, because a chat may cut its text.
const ABOUT: usize = 40;

/// A permission question of a recording that has no answer yet.
struct PendingQuestion {
    /// The letters of its longest text.
    about: String,
    /// The bytes of stdout that had been printed when it was there.
    offset: u64,
}

/// Returns the permission questions, by the id of the request.
fn questions(stdout: &[u8]) -> HashMap<String, PendingQuestion> {
    let asked = records(stdout).filter_map(|(range, record)| match record {
        WireLine::Request(request) => Some((range.end, request)),
        _ => None,
    });
    let questions = asked.filter_map(|(offset, request)| {
        let RequestKind::Permission(question) = &request.kind else { return None };
        let input = question.input.value();
        let texts = texts_in(&input).into_iter().map(letters);
        let about: String = texts.max_by_key(String::len)?.chars().take(ABOUT).collect();
        Some((request.request_id, PendingQuestion { about, offset }))
    });
    questions.collect()
}

/// Returns the reason if the host closed stdin at another time than after the last result.
fn closes_early(steps: &[SayStep]) -> Option<&'static str> {
    let is_early = |step: &SayStep| {
        step.action == SayAction::Close && !matches!(step.when, Some(SayTrigger::Result(_)))
    };
    steps.iter().any(is_early).then_some("closes stdin in the middle of a turn")
}

/// Iterates over the records of stdout, each with its bytes.
fn records(stdout: &[u8]) -> impl Iterator<Item = (Range<u64>, WireLine)> + '_ {
    let mut end = 0;
    stdout.split_inclusive(|&byte| byte == b'\n').filter_map(move |line| {
        let start = end;
        end += line.len() as u64;
        Some((start..end, WireLine::read(line)?))
    })
}

/// Returns the bytes of each result of a run, whose stdout begins at `offset`.
fn results(stdout: &[u8], offset: u64) -> Vec<Range<u64>> {
    let results = records(stdout).filter(|(_, record)| record.kind() == "result");
    results.map(|(range, _)| offset + range.start..offset + range.end).collect()
}

/// Returns whether a message comes before the result of the turn before it.
fn is_during_turn(results: &[Range<u64>], steps: &[PersonStep]) -> bool {
    let messages = steps.iter().filter(|step| matches!(step.act, Act::Say(_)));
    (1..).zip(messages).any(|(turn, step)| {
        results.iter().filter(|result| result.end <= step.offset).count() < turn
    })
}

/// An answer of the recorded host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedAnswer {
    /// The id of the call that waited; `None` in recordings of old CLIs, which do not name it.
    call: Option<String>,
    /// The bytes of stdout that the CLI had printed when the host answered; `None` if it never did.
    pub(crate) offset: Option<u64>,
    /// The answer, as a choice of a person.
    pub(crate) choice: PermissionChoice,
}

/// The answers that are not given yet, in the order of the questions.
#[derive(Debug)]
pub(crate) struct RecordedAnswers(Vec<RecordedAnswer>);

impl RecordedAnswers {
    /// Reads the answers of a cassette. A question without an answer is included.
    pub(crate) fn of(cassette: &Cassette) -> Self {
        let lines = stdin_lines(&cassette.stdin, &cassette.timeline);
        let answers: Vec<(u64, ControlResponse)> = lines
            .iter()
            .filter_map(|line| match WireLine::read(&line.line)? {
                WireLine::Response(response) => Some((line.offset, response)),
                _ => None,
            })
            .collect();
        let question = |record: WireLine| {
            let WireLine::Request(request) = record else { return None };
            let RequestKind::Permission(question) = request.kind else { return None };
            let answer =
                answers.iter().find(|(_, response)| response.request_id == request.request_id);
            let (offset, choice) =
                answer.map(|(offset, response)| (*offset, choice(response))).unzip();
            Some(RecordedAnswer {
                call: question.tool_use_id,
                offset,
                choice: choice.unwrap_or(PermissionChoice::Cancel),
            })
        };
        Self(records(&cassette.stdout).filter_map(|(_, record)| question(record)).collect())
    }

    /// Returns the answer to a question about a tool call.
    pub(crate) fn find(&self, call: Option<&str>) -> Option<&RecordedAnswer> {
        self.place(call).map(|place| &self.0[place])
    }

    /// Removes the answer to a question about a tool call, once it is given.
    pub(crate) fn take(&mut self, call: Option<&str>) {
        if let Some(place) = self.place(call) {
            self.0.remove(place);
        }
    }

    fn place(&self, call: Option<&str>) -> Option<usize> {
        let named =
            self.0.iter().position(|answer| call.is_some() && answer.call.as_deref() == call);
        named.or_else(|| self.0.iter().position(|answer| answer.call.is_none()))
    }
}

/// Returns the choice of a person that has the effect of this answer.
fn choice(response: &ControlResponse) -> PermissionChoice {
    let answer = response.permission();
    if let Some(labels) = answer.as_ref().and_then(PermissionAnswer::chosen_labels) {
        return PermissionChoice::Labels(labels);
    }
    match answer.map(|answer| answer.decision) {
        Some(PermissionDecision::Allow { .. }) => PermissionChoice::Option("allow_once".to_owned()),
        _ => PermissionChoice::Option("reject_once".to_owned()),
    }
}

/// The reason why a subject does not get a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfit {
    /// The subject's `except` names it, with this reason.
    Excepted(String),
    /// No CLI prints its records, and neither the command line nor the subject names its scenario.
    Synthetic,
    /// The scenario of this name has no recording of the wanted version.
    NotRecorded(String),
    /// The recorded host kept the CLI running, and the gateway does not.
    NeedsLiveHost,
    /// The recorded CLI held its end back until background tasks were done, and the gateway keeps it running.
    HeldBack,
    /// The recording breaks off in its last line, whose end a gateway that keeps the CLI running waits for.
    BreaksOff,
    /// The scenario runs the CLI several times, and the subject is an agent, whose editor opens a session itself.
    SeveralRuns,
    /// The CLI resumes a session in a further run, and the gateway resumes none.
    ResumesNone,
    /// The CLI found no session to resume in the run with this number.
    SessionLost(usize),
    /// The scenario sets an option of clitape's own gateway that other gateways do not have.
    OwnGateway(&'static str),
    /// The recorded CLI was started with an argument that a gateway would not give.
    Argument(String),
    /// The recorded host did this, which a person in a chat can't do.
    NoPersonCan(&'static str),
    /// The recorded host interrupted a turn, and the subject sets no `stop`.
    NoStop,
    /// The recorded host wrote a message during a turn, and the gateway does not.
    DuringTurn,
    /// The recorded person said no or chose, and the gateway answers questions itself.
    AnswersItself,
    /// The gateway, which asks nobody, denied by itself what the recorded person allowed.
    DeniedByItself,
    /// The gateway served only another person; a separate finding reports that.
    NotServed,
    /// The recording has no moment for a restart or a further act of the person, for this reason.
    NoMoment(&'static str),
}

impl Misfit {
    /// Returns the reason if a recording of this origin is left out, because neither the selection nor the subject's
    /// `scenarios` name it.
    pub(super) fn of_origin(
        origin: Origin,
        selected: &Selected,
        scenarios: &[ScenarioName],
    ) -> Option<Self> {
        let is_named = selected.asks_for_synthetic() || scenarios.contains(&selected.name);
        (origin == Origin::Synthetic && !is_named).then_some(Self::Synthetic)
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excepted(reason) => write!(f, "`except` says: {reason}"),
            Self::Synthetic => f.write_str("no CLI prints its records; name it to play it"),
            Self::NotRecorded(name) => {
                write!(f, "it is not recorded, or not with that version; run `clitape record {name}`")
            }
            Self::NeedsLiveHost => f.write_str(
                "the recorded host kept the CLI running and wrote to its stdin (host = \"live\")",
            ),
            Self::HeldBack => f.write_str(
                "it was recorded with one prompt: the CLI held its end back until background tasks were done, which \
                 it does not for a live host",
            ),
            Self::BreaksOff => f.write_str(
                "its last line has no end, for which a live host waits as long as the CLI runs",
            ),
            Self::SeveralRuns => {
                f.write_str("it runs the CLI several times, and an editor resumes no session")
            }
            Self::ResumesNone => f.write_str(
                "the CLI resumes a session, and the gateway begins one for each message (sessions_resumed = true)",
            ),
            Self::SessionLost(run) => {
                write!(f, "the CLI finds no session to resume in run {run}, and what comes then is not recorded")
            }
            Self::OwnGateway(what) => write!(f, "it sets {what} of clitape's own gateway"),
            Self::Argument(argument) => write!(f, "the recorded CLI was started with {argument}"),
            Self::NoPersonCan(what) => {
                write!(f, "the recorded host {what}, which no person can do")
            }
            Self::NoStop => {
                f.write_str("the recorded host interrupts a turn, and the subject names no `stop`")
            }
            Self::AnswersItself => f.write_str(
                "the recorded person says no or chooses, and the gateway does not pass questions on \
                 (questions_asked = true)",
            ),
            Self::DeniedByItself => f.write_str(
                "the gateway denied by itself what the recorded person allowed, and what `claude` does then is not \
                 recorded",
            ),
            Self::NotServed => {
                f.write_str("the gateway served another person only; see SB026 about the subject")
            }
            Self::NoMoment(why) => write!(f, "it does not have the moment: {why}"),
            Self::DuringTurn => f.write_str(
                "the recorded host writes a message during a turn (writes_during_turn = true)",
            ),
        }
    }
}

/// The arguments of a recorded CLI that a gateway passes only to continue a session.
const SESSION_ARGUMENTS: [&str; 4] = ["--resume", "--continue", "--fork-session", "-c"];

/// Returns the reason why a gateway does not get a cassette; `None` if it does.
pub(crate) fn misfit(
    spec: &GatewaySpec,
    scenario: &Scenario,
    cassette: &Cassette,
    dialogue: &PersonDialogue,
) -> Option<Misfit> {
    if let Some(reason) = spec.except.get(&scenario.name) {
        return Some(Misfit::Excepted(reason.clone()));
    }
    if let Some(what) = of_own_gateway(scenario) {
        return Some(Misfit::OwnGateway(what));
    }
    let argv = &cassette.manifest.cli.argv;
    if let Some(why) = misfit_of_runs(spec, cassette) {
        return Some(why);
    }
    let session = argv.iter().find(|argument| SESSION_ARGUMENTS.contains(&argument.as_str()));
    if let Some(argument) = session {
        return Some(Misfit::Argument(argument.clone()));
    }
    match spec.host {
        HostKind::OneShot if !cassette.stdin.is_empty() => return Some(Misfit::NeedsLiveHost),
        HostKind::Live if stand_in::is_held_back(cassette) => return Some(Misfit::HeldBack),
        HostKind::Live if cassette.outputs().any(|stdout| !stdout.ends_with(b"\n")) => {
            return Some(Misfit::BreaksOff);
        }
        HostKind::OneShot | HostKind::Live => {}
    }
    if let Some(what) = dialogue.impossible {
        return Some(Misfit::NoPersonCan(what));
    }
    let can_stop = spec.front == Front::Editor || spec.stop.is_some();
    if !can_stop && dialogue.steps.iter().any(|step| step.act == Act::Stop) {
        return Some(Misfit::NoStop);
    }
    let decides =
        |step: &PersonStep| matches!(step.act, Act::Answer { allows: false, .. } | Act::Choose(_));
    if !spec.traits.asks_questions && dialogue.steps.iter().any(decides) {
        return Some(Misfit::AnswersItself);
    }
    (!spec.writes_during_turn && dialogue.has_message_during_turn).then_some(Misfit::DuringTurn)
}

/// Returns the reason why a gateway does not get the further runs of a cassette.
fn misfit_of_runs(spec: &GatewaySpec, cassette: &Cassette) -> Option<Misfit> {
    const FORK: &str = "--fork-session";
    match &cassette.further[..] {
        [] => None,
        _ if spec.front == Front::Editor => Some(Misfit::SeveralRuns),
        _ if !spec.traits.resumes_sessions => Some(Misfit::ResumesNone),
        runs if runs.iter().any(|run| run.facts.resume == Resume::Fork) => {
            Some(Misfit::Argument(FORK.to_owned()))
        }
        _ => stand_in::lost_session(cassette).map(Misfit::SessionLost),
    }
}

/// Returns the option of clitape's own gateway that a scenario sets, if it sets one.
pub(crate) fn of_own_gateway(scenario: &Scenario) -> Option<&'static str> {
    let run = &scenario.run;
    let own = [
        ("a silent run", run.silent),
        ("the delivery by a tool", run.delivery != DeliverySpec::Automatic),
        ("a stuck callback", run.stuck_callback.is_some()),
        ("faults of the chat", !scenario.chat.faults.is_empty()),
    ];
    own.into_iter().find_map(|(what, is_set)| is_set.then_some(what))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_recording::scenario::Workspace;

    use super::*;
    use crate::subject::config::tests::gateway;

    fn dialogue(name: &str) -> PersonDialogue {
        let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
        let cassette = Cassette::load(&workspace.cassettes().join(name)).unwrap();
        let scenario = workspace.load(name.split_once('/').unwrap().0).unwrap();
        PersonDialogue::of(&cassette, &scenario.record)
    }

    fn acts(name: &str) -> Vec<Act> {
        dialogue(name).steps.into_iter().map(|step| step.act).collect()
    }

    #[test]
    fn the_acts_of_recorded_hosts_are_read() {
        let ports = "Do the ports in server.conf and client.conf agree?";
        assert_eq!(dialogue("three-tools/2.1.329").prompt, ports);
        let allow = dialogue("permission-allow/2.1.332");
        assert_eq!(allow.prompt, "Make a file that is called made.txt.");
        let answer =
            |allows, about: &str, is_only| Act::Answer { allows, about: about.to_owned(), is_only };
        let answered = |allows, about: &str| [answer(allows, about, true)];
        assert_eq!(
            acts("permission-allow/2.1.332"),
            answered(true, "touchclitapeprojectmadetxtlsclitapeproje")
        );
        assert_eq!(acts("permission-deny/2.1.332"), answered(false, "rmrfclitapeprojectlogs"));
        let two = acts("two-questions-open/2.1.332");
        let [src, docs] = ["src", "docs"].map(|it| format!("mkdirclitapeproject{it}echomade{it}"));
        assert_eq!(two, [answer(true, &docs, false), answer(false, &src, true)]);
        assert_eq!(acts("ask-user/2.1.332"), [Act::Choose(vec!["Blue".to_owned()])]);
        let next = Act::Say("And how many lines do they have?".to_owned());
        assert_eq!(acts("live-multi-turn/2.1.332"), [next]);
        assert_eq!(acts("live-interrupt-text/2.1.332"), [Act::Stop]);
    }

    #[test]
    fn what_no_person_can_do_and_what_comes_during_a_turn_is_known() {
        for (name, impossible, during) in [
            ("live-multi-turn/2.1.332", None, false),
            ("live-queue/2.1.332", None, true),
            ("bad-line/2.1.332", Some("writes a line that is not JSON"), false),
            (
                "permission-stdin-closed/2.1.332",
                Some("closes stdin in the middle of a turn"),
                false,
            ),
            ("permission-unanswered/2.1.332", None, false),
        ] {
            let dialogue = dialogue(name);
            let found = (dialogue.impossible, dialogue.has_message_during_turn);
            assert_eq!(found, (impossible, during), "{name}");
        }
    }

    #[test]
    fn the_prompts_of_further_runs_are_acts_of_the_person() {
        let dialogue = dialogue("resume-twice/2.1.332");
        assert_eq!(dialogue.prompt, "Wait for the build.");
        let said = |text: &str| Act::Say(text.to_owned());
        assert_eq!(
            acts("resume-twice/2.1.332"),
            [said("What happened to the build?"), said("And now?")]
        );
        assert!(dialogue.steps.iter().all(|step| step.begins_run));
        // The first run was killed before its result.
        let [second, third] = &dialogue.results[..] else { panic!("{:?}", dialogue.results) };
        assert!(dialogue.steps[0].offset < second.start && second.end < third.start);
        assert_eq!(dialogue.steps[1].offset, second.end);
    }

    #[test]
    fn a_gateway_gets_the_further_runs_that_it_can_resume() {
        let check = |name: &str, spec: &GatewaySpec, expect: Option<Misfit>| {
            let workspace = Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
            let cassette = Cassette::load(&workspace.cassettes().join(name)).unwrap();
            let scenario = workspace.load(name.split_once('/').unwrap().0).unwrap();
            let dialogue = PersonDialogue::of(&cassette, &scenario.record);
            assert_eq!(misfit(spec, &scenario, &cassette, &dialogue), expect, "{name}");
        };
        let [one_shot, live] = ["", "host = 'live'"].map(gateway);
        for spec in [&one_shot, &live] {
            check("resume-good/2.1.332", spec, None);
            check("resume-killed-mid-tool/1.0.128", spec, None);
            let fork = Misfit::Argument("--fork-session".to_owned());
            check("resume-fork/2.1.332", spec, Some(fork));
            check("resume-unknown-id/2.1.332", spec, Some(Misfit::SessionLost(2)));
            check("resume-killed-mid-text/1.0.128", spec, Some(Misfit::SessionLost(2)));
        }
        check("resume-killed-background/2.1.332", &one_shot, None);
        check("resume-killed-background/2.1.332", &live, Some(Misfit::HeldBack));
        let none = gateway("sessions_resumed = false");
        check("resume-good/2.1.332", &none, Some(Misfit::ResumesNone));
        let agent = GatewaySpec { front: Front::Editor, ..gateway("") };
        check("resume-good/2.1.332", &agent, Some(Misfit::SeveralRuns));
    }

    #[test]
    fn the_answers_of_recorded_hosts_are_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
        let answers = |name: &str| RecordedAnswers::of(&Cassette::load(&root.join(name)).unwrap());
        let option = |word: &str| PermissionChoice::Option(word.to_owned());
        for (name, choice) in [
            ("permission-allow/2.1.332", option("allow_once")),
            ("permission-deny/2.1.332", option("reject_once")),
            ("ask-user/2.1.332", PermissionChoice::Labels(vec!["Blue".to_owned()])),
        ] {
            let mut answers = answers(name);
            let call = answers.0[0].call.clone();
            assert_eq!(answers.find(call.as_deref()).unwrap().choice, choice, "{name}");
            answers.take(call.as_deref());
            assert_eq!(answers.find(call.as_deref()), None);
        }
        assert_eq!(answers("permission-unanswered/2.1.332").0[0].offset, None);
    }
}
