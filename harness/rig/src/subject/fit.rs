//! Decides which cassettes a gateway can get, and gives the reason for the others.

use std::fmt;

use clitape_recording::cassette::Cassette;
use clitape_recording::scenario::{DeliverySpec, Scenario};

use super::dialogue::{Act, PersonDialogue, PersonStep};
use super::spec::{Front, GatewaySpec, HostKind};
use crate::stand_in;

/// The reason why a subject does not get a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfit {
    /// The subject's `except` names it, with this reason.
    Excepted(String),
    /// The scenario of this name has no recording of the wanted version.
    NotRecorded(String),
    /// The recorded host kept the CLI running, and the gateway does not.
    NeedsLiveHost,
    /// The recorded CLI held its end back until background tasks were done, and the gateway keeps it running.
    HeldBack,
    /// The recording breaks off in its last line, whose end a gateway that keeps the CLI running waits for.
    BreaksOff,
    /// The scenario runs the CLI several times.
    SeveralRuns,
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
    /// The gateway served only another person; a separate finding reports that.
    NotServed,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excepted(reason) => write!(f, "`except` says: {reason}"),
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
            Self::SeveralRuns => f.write_str("it runs the CLI several times"),
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
            Self::NotServed => {
                f.write_str("the gateway served another person only; see SB026 about the subject")
            }
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
    if !cassette.further.is_empty() {
        return Some(Misfit::SeveralRuns);
    }
    let session = argv.iter().find(|argument| SESSION_ARGUMENTS.contains(&argument.as_str()));
    if let Some(argument) = session {
        return Some(Misfit::Argument(argument.clone()));
    }
    match spec.host {
        HostKind::OneShot if !cassette.stdin.is_empty() => return Some(Misfit::NeedsLiveHost),
        HostKind::Live if stand_in::is_held_back(cassette) => return Some(Misfit::HeldBack),
        HostKind::Live if !cassette.stdout.ends_with(b"\n") => return Some(Misfit::BreaksOff),
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
        |step: &PersonStep| matches!(step.act, Act::Answer { allows: false } | Act::Choose(_));
    if !spec.traits.asks_questions && dialogue.steps.iter().any(decides) {
        return Some(Misfit::AnswersItself);
    }
    (!spec.writes_during_turn && dialogue.has_message_during_turn).then_some(Misfit::DuringTurn)
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
