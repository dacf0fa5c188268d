//! Drives a replay step by step: one parser feeds the gateway's conversations, each in a setup of its own.
//!
//! At one virtual millisecond what is due in the channel happens before the bytes that arrive, so that the trace does not
//! hang on which timer was set first.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use clitape_gateway::{Conversation, RunReport};
use clitape_judge::observation::ReplayCounts;
use clitape_recording::scenario::Setup;
use clitape_recording::trace::{Entry, Lane, object};
use clitape_stream::{Event, Parser, ParserLimits, Stats};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::dialogue::Action;
use super::lanes::lifecycle_entry;
use super::listener::Listeners;
use super::log::{EntryParts, TraceLog};
use super::person::Person;
use super::pieces::line_feeds;
use super::plan::Plan;
use super::turns::{Outside, conversation, given_up};
use super::virtual_time::nothing_is_due;

/// How long a replay goes on after the end of the last run, in virtual time: no call may come any more.
const AFTERMATH: Duration = Duration::from_secs(60);

/// Counts a piece that is handed to the parser.
fn count(counted: &mut ReplayCounts, piece: &[u8]) {
    counted.bytes += piece.len() as u64;
    counted.line_feeds += line_feeds(piece);
    counted.is_line_open = piece.last().map_or(counted.is_line_open, |&last| last != b'\n');
}

/// A replay whose input still comes. It works on the current tokio runtime, whose time is paused.
pub(super) struct ReplayDriver {
    runs: Vec<ObservedConversation>,
    parser: Parser,
    counted: ReplayCounts,
    /// The particulars of the entries of the lane `read`, by the bytes that they say.
    read: HashMap<usize, Arc<Map<String, Value>>>,
}

/// What the runs of one parse share when the input is over.
#[derive(Clone)]
pub(super) struct ReplayInput {
    pub(super) stats: Stats,
    pub(super) counted: ReplayCounts,
}

/// A replay that is over: the fields of [`Replay`](super::Replay) with these names.
pub(super) struct OverReplay {
    pub(super) entries: Vec<Entry>,
    pub(super) stats: Stats,
    pub(super) counted: ReplayCounts,
    pub(super) reports: Vec<RunReport>,
}

impl ReplayDriver {
    /// Starts a conversation in each of `setups`, whose chats and agents have the faults of `plan`.
    pub(super) fn start(setups: &[Setup], plan: &Plan, limits: ParserLimits) -> Self {
        let runs = setups.iter().map(|setup| ObservedConversation::start(*setup, plan)).collect();
        Self {
            runs,
            parser: Parser::with_limits(limits),
            counted: ReplayCounts::default(),
            read: HashMap::new(),
        }
    }

    /// Waits, and then does what comes next; breaks when the gateway has given the agent up, so that what it would
    /// print is never read.
    pub(super) async fn step(&mut self, after_ms: u64, action: &Action<'_>) -> ControlFlow<()> {
        let Self { runs, parser, counted, read } = self;
        if after_ms > 0 {
            tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_millis(after_ms)) => {
                    if may_bring_events(action) {
                        nothing_is_due().await;
                    }
                }
                () = all_given_up(runs) => return ControlFlow::Break(()),
            }
        }
        let (kind, bytes) = match action {
            Action::Print(piece) => ("chunk", piece.len()),
            Action::Write(line) => ("written", line.len()),
        };
        let said = read.entry(bytes).or_insert_with(|| object(json!({ "bytes": bytes })).into());
        for run in runs.iter() {
            run.log.add(Lane::Read, kind, said.clone());
        }
        match action {
            Action::Print(piece) => {
                count(counted, piece);
                runs.iter_mut().for_each(|run| run.conversation.on_bytes());
                parser.feed_with(piece, &mut |event| dispatch(runs, &event));
            }
            Action::Write(line) => {
                runs.iter_mut().for_each(|run| run.answer(line));
                parser.feed_stdin_with(line, &mut |event| dispatch(runs, &event));
            }
        }
        ControlFlow::Continue(())
    }

    /// The entries of the first setup that nothing changes any more, which the trace gives away.
    pub(super) fn settled(&self) -> impl Iterator<Item = Entry> {
        let log = self.runs.first().map(|run| run.log.clone());
        std::iter::from_fn(move || log.as_ref()?.settled())
    }

    /// The reports of the turns of the first setup that are delivered, which [`end_of_input`](Self::end_of_input) does not
    /// have again.
    pub(super) fn delivered(&mut self) -> Vec<RunReport> {
        let run = self.runs.first_mut();
        run.map(|run| run.conversation.take_delivered()).unwrap_or_default()
    }

    /// Says that nothing more comes; the runs are to be finished.
    pub(super) fn end_of_input(mut self) -> (ReplayInput, Vec<ObservedConversation>) {
        let runs = &mut self.runs;
        let stats = self.parser.finish_with(&mut |event| dispatch(runs, &event));
        (ReplayInput { stats, counted: self.counted }, self.runs)
    }
}

/// Settles when the gateway has given the agent up in every run. The runs share the watchdog's settings and the
/// bytes, so that they do it at the same moment.
async fn all_given_up(runs: &mut [ObservedConversation]) {
    join_all(runs.iter_mut().map(|run| given_up(&mut run.conversation))).await;
}

/// Hands an event of the parser to every run. They share its entry.
fn dispatch(runs: &mut [ObservedConversation], event: &Event<'_>) {
    let entry: Option<EntryParts> =
        lifecycle_entry(event).map(|(kind, data)| (kind.into(), data.into()));
    for run in runs {
        if let Some((kind, data)) = &entry {
            run.log.add(Lane::Lifecycle, kind.clone(), data.clone());
        }
        run.person.on_event(event);
        run.conversation.on_event(event);
    }
}

/// The gateway's conversation in one setup, and the trace of it.
pub(super) struct ObservedConversation {
    log: TraceLog,
    conversation: Conversation,
    outside: Outside,
    person: Person,
}

impl ObservedConversation {
    /// Starts the conversation of a setup, whose chat and agent have the faults of `plan`.
    fn start(setup: Setup, plan: &Plan) -> Self {
        let log = TraceLog::new();
        let outside = Outside::new(setup, plan, log.clone());
        let client = setup.acp.filter(|_| !setup.run.silent);
        let listeners = Listeners::new(log.clone(), client);
        let conversation = conversation(setup, log.clone(), outside.clone(), listeners);
        let person = Person::new(outside.keyboards.clone());
        Self { log, conversation, outside, person }
    }

    /// The host writes a line; if it is an answer, the person gives it in the chat.
    fn answer(&mut self, line: &[u8]) {
        let Self { person, outside, .. } = self;
        person.answer(line, |question| outside.chat.asking(question));
    }

    /// Ends the conversation, and waits for calls that come too late.
    pub(super) async fn finish(self, input: ReplayInput) -> OverReplay {
        let Self { log, conversation, outside, person } = self;
        let reports = conversation.finish().await;
        outside.end_of_stream();
        tokio::time::sleep(AFTERMATH).await;
        let ReplayInput { stats, counted } = input;
        let counted = ReplayCounts {
            listeners_left: outside.listeners_left(),
            overlapping_calls: outside.chat.overlapping_calls(),
            misunderstood: person.misunderstood,
            ..counted
        };
        OverReplay { entries: log.take(), stats, counted, reports }
    }
}

/// Whether the parser may have events of it: it has none before a line ends.
fn may_bring_events(action: &Action<'_>) -> bool {
    match action {
        Action::Print(piece) => memchr::memchr(b'\n', piece).is_some(),
        Action::Write(_) => true,
    }
}
