//! Lists what a comparison did not cover, in sentences that are made from what was run.

use std::collections::BTreeSet;

use clitape_recording::scenario::{ChannelSpec, ChatMode, ChatProfile, Scenario};
use clitape_recording::text::plural;
use clitape_recording::trace::Lane;

use super::model::{Compared, named};
use super::select::CompareSelection;
use super::subject::CompareSubject;

/// The most names that a sentence lists; the others are counted.
const NAMES: usize = 8;

/// The facts about the comparison from which the sentences are made.
#[derive(Debug, Default)]
pub(super) struct ComparedRun {
    paces: BTreeSet<u64>,
    plans: u64,
    faulty: Vec<String>,
    drawn: BTreeSet<String>,
    further: usize,
    two_versions: bool,
    chats: Vec<(ChatMode, bool, ChatProfile)>,
    terminals: bool,
}

impl ComparedRun {
    /// Adds a cassette of a scenario.
    pub(super) fn add(&mut self, scenario: &Scenario, compared: &Compared, further: usize) {
        if compared.views == 0 {
            return;
        }
        self.paces.insert(scenario.run.pace_ms);
        self.plans += scenario.sweep.plans;
        self.further += usize::from(further > 0);
        self.two_versions |= compared.is_of_two_versions();
        if !scenario.chat.faults.is_empty()
            && !self.faulty.iter().any(|name| scenario.name == name.as_str())
        {
            self.faulty.push(scenario.name.to_string());
        }
        self.drawn.extend(scenario.sweep.faults.iter().map(|kind| kind.as_str().to_owned()));
        let first = scenario.first_chat();
        let chats = scenario.channels.iter().filter_map(|channel| match *channel {
            ChannelSpec::Telegram(chat) => Some(chat),
            ChannelSpec::Acp { .. } | ChannelSpec::Sse {} => None,
        });
        let seen = chats.chain([first]).map(|chat| (chat.mode, chat.reasoning, chat.profile));
        self.chats.extend(seen);
        let terminal =
            |channel: &ChannelSpec| matches!(channel, ChannelSpec::Acp { terminal: true });
        self.terminals |= scenario.channels.iter().any(terminal);
    }

    /// Returns the kinds of chats that none of the replays had.
    fn other_chats(&self) -> Vec<String> {
        let mut others = Vec::new();
        for mode in [ChatMode::Off, ChatMode::Partial, ChatMode::Block, ChatMode::Progress] {
            if !self.chats.iter().any(|(seen, _, _)| *seen == mode) {
                others.push(format!("mode {mode}"));
            }
        }
        for profile in [ChatProfile::Telegram, ChatProfile::Discord, ChatProfile::Slack] {
            if !self.chats.iter().any(|(_, _, seen)| *seen == profile) {
                others.push(format!("profile {profile}"));
            }
        }
        if !self.chats.iter().any(|(_, reasoning, _)| *reasoning) {
            others.push("with the reasoning shown".to_owned());
        }
        others
    }
}

/// Returns the sentences about areas that were not covered.
pub(super) fn uncovered(
    selection: &CompareSelection,
    sides: &[CompareSubject; 2],
    run: &ComparedRun,
    failed: usize,
) -> Vec<String> {
    let mut told = Vec::new();
    if failed > 0 {
        told.push(format!(
            "Replays that could not be compared: {failed}, listed with their reasons."
        ));
    }
    for (what, names) in [
        ("Scenarios that were not asked for", texts(&selection.unasked)),
        ("Scenarios without the recordings it takes", texts(&selection.unrecorded)),
        ("Recordings of other versions of the CLI", texts(&selection.other_versions)),
    ] {
        if !names.is_empty() {
            told.push(format!("{what}: {}.", list(&names)));
        }
    }
    for side in sides {
        let lanes = side.unknown();
        if !lanes.is_empty() {
            let (name, lanes) = (&side.about.name, named(&lanes));
            told.push(format!("Lanes that {name} does not know: {lanes}."));
        }
    }
    if sides.iter().all(CompareSubject::is_seen) {
        told.push(
            "What is real: the gateways, each run once in real time. What the CLI printed and what the person did is \
             recorded, and the chat is clitape's own server."
                .to_owned(),
        );
        told.push(
            "Times, typing signals and the numbers of messages: they differ from run to run and are left out."
                .to_owned(),
        );
        return told;
    }
    if run.paces.is_empty() {
        return told;
    }
    let paces = list(&run.paces.iter().map(u64::to_string).collect::<Vec<_>>());
    told.push(format!(
        "Other arrivals of the bytes: every replay brought whole lines, {paces} ms apart, without cuts \
         and delays at random ({} seeded plans of `clitape test`); the lane read is left out.",
        run.plans
    ));
    if run.two_versions {
        told.push(
            "What a version of the CLI says of itself when a session begins: its version, its model."
                .to_owned(),
        );
    }
    if run.further > 0 {
        let session = sides.iter().all(|side| !side.unknown().contains(&Lane::Session));
        let but = if session { ", beyond what the lane session says of them" } else { "" };
        told.push(format!(
            "What a chat shows of the further runs of a session, in {}{but}.",
            plural(run.further, "recording")
        ));
    }
    let drawn = match run.drawn.is_empty() {
        true => String::new(),
        false => {
            let drawn = run.drawn.iter().cloned().collect::<Vec<_>>().join(", ");
            format!(" (seeded plans draw {drawn})")
        }
    };
    told.push(match run.faulty.is_empty() {
        true => format!("Calls of the chat's server that go wrong{drawn}."),
        false => format!(
            "Calls of the chat's server that go wrong otherwise than in {}{drawn}.",
            list(&run.faulty)
        ),
    });
    let others = run.other_chats();
    if !others.is_empty() {
        told.push(format!("Chats that no scenario here has: {}.", others.join(", ")));
    }
    if !run.terminals {
        told.push("A client of the Agent Client Protocol that shows terminals.".to_owned());
    }
    for side in sides.iter().filter(|side| side.is_foreign()) {
        let name = &side.about.name;
        told.push(format!("Whether {name} does what it prints: its trace is taken at its word."));
    }
    told.push(
        "Whether either side is right: goldens and invariants are held by `clitape test`."
            .to_owned(),
    );
    told.push(
        "A live model and the network of a chat service: recordings were replayed.".to_owned(),
    );
    told
}

fn texts(names: &[impl ToString]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Lists the first names, and counts the others.
fn list(names: &[String]) -> String {
    match names.len() {
        n if n > NAMES => format!("{} and {} more", names[..NAMES].join(", "), n - NAMES),
        _ => names.join(", "),
    }
}
