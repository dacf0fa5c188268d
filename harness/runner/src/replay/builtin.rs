//! The built-in subject, `stream` and `gateway` in process, with a plan for bytes that are all there.
//!
//! [`replay`] drives it in virtual time and keeps its whole trace, [`ParserReport`] runs the parser alone under the
//! cuts of a plan, and [`live`] plays into a real chat in real time.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clitape_gateway::limits::ChatLimits;
use clitape_gateway::telegram::{BotApi, Telegram, TelegramSettings};
use clitape_gateway::{Bus, Channel, Conversation, RunReport, RunSettings, Turn};
use clitape_judge::observation::{Observation, OwnReports};
use clitape_recording::capture::Capture;
use clitape_recording::facts::LazyFacts;
use clitape_recording::scenario::Setup;
use clitape_recording::trace::{Entries, millis};
use clitape_stream::{DiagnosticCode, Event, OwnedEvent, Parser, Stats};
use futures_util::future::join_all;

use super::chat::LATENCY;
use super::driver::{
    OverReplay, ReplayDriver, chat_settings, given_up, in_virtual_time, run_id, run_settings,
};
use super::plan::{Action, Plan};
use super::played::PlayedPlan;

/// The result of a replay: what was seen of clitape's own gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    observation: Observation,
}

/// A replay is an observation.
impl Deref for Replay {
    type Target = Observation;

    fn deref(&self) -> &Observation {
        &self.observation
    }
}

impl DerefMut for Replay {
    fn deref_mut(&mut self) -> &mut Observation {
        &mut self.observation
    }
}

impl Replay {
    /// Returns its entries alone.
    pub fn into_entries(self) -> Entries {
        self.observation.entries
    }

    /// Returns what the gateway and the replay report of themselves.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn own(&self) -> &OwnReports {
        self.observation.own.as_ref().expect("a replay is of clitape's own gateway")
    }

    /// Returns the same to change it.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub fn own_mut(&mut self) -> &mut OwnReports {
        self.observation.own.as_mut().expect("a replay is of clitape's own gateway")
    }

    /// Takes the facts of another replay if both read the same bytes, so that they are read once.
    pub(crate) fn share_facts(&mut self, facts: &Arc<LazyFacts>) {
        if self.facts == *facts {
            self.facts = facts.clone();
        }
    }
}

/// Replays a capture as `plan` says.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub fn replay<'a>(capture: impl Into<Capture<'a>>, plan: &Plan, setup: Setup) -> Replay {
    replay_all(capture.into(), plan, &[setup]).pop().expect("one setup gives one replay")
}

/// Replays `capture` as `plan` says, once in each of `setups`, which share how the run is run. One parse feeds
/// all of them, and none knows of the others.
pub(crate) fn replay_all(capture: Capture<'_>, plan: &Plan, setups: &[Setup]) -> Vec<Replay> {
    replay_played(&plan.played(capture), setups)
}

/// Replays a plan on the bytes that it plays, once in each of `setups`.
pub(crate) fn replay_played(played: &PlayedPlan<'_>, setups: &[Setup]) -> Vec<Replay> {
    debug_assert!(setups.iter().all(|setup| setup.run == setups[0].run), "one run: {setups:?}");
    let replays = in_virtual_time(run(played, setups));
    replay_ended();
    replays
}

async fn run(played: &PlayedPlan<'_>, setups: &[Setup]) -> Vec<Replay> {
    let plan = &*played.plan;
    let limits = played.limits();
    let line_limit = limits.line;
    let mut driver = ReplayDriver::start(setups, plan, limits);
    for (after_ms, action) in plan.actions(played.capture()) {
        if driver.step(after_ms, &action).await.is_break() {
            break;
        }
    }
    let (input, runs) = driver.end_of_input();
    let came = played.capture().stdout;
    let read = usize::try_from(input.counted.bytes).map_or(came, |bytes| &came[..bytes]);
    let facts = Arc::new(LazyFacts::new(read, line_limit));
    let replay = |(setup, over): (Setup, OverReplay)| {
        let own = OwnReports {
            stats: over.stats,
            counted: over.counted,
            reports: over.reports,
            is_faithful: played.is_faithful,
            latency_ms: millis(LATENCY),
            transcripts: Vec::new(),
        };
        let seen = Observation::new(setup, over.entries, facts.clone());
        Replay { observation: Observation { own: Some(own), ..seen } }
    };
    let over = join_all(runs.into_iter().map(|run| run.finish(input.clone()))).await;
    setups.iter().copied().zip(over).map(replay).collect()
}

/// The input with which the parser reports an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventCause {
    /// The bytes of stdout from the first of these places to the second.
    Piece(u64, u64),
    /// The line of the host that has this number, from 1.
    HostLine(u64),
    /// The end of the input.
    End,
}

impl EventCause {
    /// Returns whether an event that whole lines cause with `line` is reported with the piece that ends that line.
    fn ends(self, line: Self) -> bool {
        match (self, line) {
            (Self::Piece(from, to), Self::Piece(_, end)) => from < end && end <= to,
            _ => self == line,
        }
    }
}

/// An event of the parser.
struct ReportedEvent {
    event: OwnedEvent,
    cause: EventCause,
}

/// The events of the parser for whole lines, with which those under the cuts of a plan are compared. It runs the parser
/// alone, because cuts are the parser's business: the gateway is given events.
pub(crate) struct ParserReport {
    events: Vec<ReportedEvent>,
    stats: Stats,
}

impl ParserReport {
    /// Parses a plan that leaves lines whole.
    pub(crate) fn of(uncut: &PlayedPlan<'_>) -> Self {
        let mut events = Vec::new();
        let report = &mut |event: &Event<'_>, cause| {
            events.push(ReportedEvent { event: event.clone().into_owned(), cause });
        };
        let stats = parse(uncut, report);
        Self { events, stats }
    }

    /// Returns the first difference between this and the parser's events under the cuts of a plan, in a sentence. It is
    /// `None` if both have the same events and counts, and each event comes with the piece that ends its line.
    pub(crate) fn difference(&self, played: &PlayedPlan<'_>) -> Option<String> {
        let (mut count, mut difference) = (0, None);
        let stats = parse(played, &mut |event, cause| {
            let expected = self.events.get(count);
            count += 1;
            if difference.is_none() {
                difference = expected.map_or_else(
                    || {
                        Some(format!(
                            "event {count} comes with these cuts and not with whole lines"
                        ))
                    },
                    |expected| event_difference(count, event, cause, expected),
                );
            }
        });
        let is_short = count < self.events.len();
        let counts_differ = || "the counts of lines differ from those of whole lines".to_owned();
        difference
            .or_else(|| {
                is_short.then(|| format!("event {} comes with whole lines alone", count + 1))
            })
            .or_else(|| (stats != self.stats).then(counts_differ))
    }
}

/// Returns how the event with a number differs from the one that whole lines give.
fn event_difference(
    number: usize,
    event: &Event<'_>,
    cause: EventCause,
    expected: &ReportedEvent,
) -> Option<String> {
    if event.clone().without_texts() != expected.event {
        return Some(format!("event {number} is another one than with whole lines"));
    }
    // The parser gives a line up as soon as it is too long.
    let is_early = matches!(event, Event::Diagnostic { code: DiagnosticCode::LineTooLong, .. });
    let is_in_place = is_early || cause.ends(expected.cause);
    let late = || format!("event {number} does not come with the piece that ends its line");
    (!is_in_place).then(late)
}

/// Gives the parser both sides of a plan, and each event with its cause to `report`.
fn parse(played: &PlayedPlan<'_>, report: &mut dyn FnMut(&Event<'_>, EventCause)) -> Stats {
    let mut parser = Parser::with_limits(played.limits());
    let (mut from, mut written) = (0, 0);
    for (_, action) in played.plan.actions(played.capture()) {
        match action {
            Action::Print(piece) => {
                let to = from + piece.len() as u64;
                let cause = EventCause::Piece(from, to);
                parser.feed_with(piece, &mut |event| report(&event, cause));
                from = to;
            }
            Action::Write(line) => {
                written += 1;
                let cause = EventCause::HostLine(written);
                parser.feed_stdin_with(&line, &mut |event| report(&event, cause));
            }
        }
    }
    parser.finish_with(&mut |event| report(&event, EventCause::End))
}

/// Plays `capture` as `plan` says in real time, `speed` times as fast, and makes the chat's calls with `api`, which is
/// waited for as long as `limits` say. The first message of each turn replies to the message `reply_to`.
///
/// The channel is the one that a replay drives in virtual time; the answers of the server, waits it asks for included,
/// are its own. Works on the current tokio runtime, which must have IO and a clock that runs. A setup without a
/// chat makes no calls. Returns a report for each turn.
pub async fn live(
    capture: Capture<'_>,
    plan: &Plan,
    setup: Setup,
    api: Arc<dyn BotApi>,
    speed: f64,
    limits: ChatLimits,
    reply_to: Option<i64>,
) -> Vec<RunReport> {
    let channel = move || {
        let chat = setup.channel?;
        let settings = TelegramSettings { limits, reply_to, ..chat_settings(chat) };
        Some(Box::new(Telegram::new(settings, api.clone())) as Box<dyn Channel>)
    };
    let settings = RunSettings { final_message: limits.final_message, ..run_settings(setup) };
    let mut run = Conversation::new(settings, move |turn| Turn {
        bus: Bus::new(run_id(turn)),
        channels: channel().into_iter().collect(),
        delivered: Box::new(|_| ()),
    });
    let played = plan.played(capture);
    let mut parser = Parser::with_limits(played.limits());
    for (after_ms, action) in played.plan.actions(played.capture()) {
        let pause = Duration::from_millis(after_ms).div_f64(speed);
        tokio::select! {
            biased;
            () = tokio::time::sleep(pause) => {}
            // The gateway has given the agent up.
            () = given_up(&mut run) => break,
        }
        match action {
            Action::Print(piece) => {
                run.on_bytes();
                parser.feed_with(piece, &mut |event| run.on_event(&event));
            }
            Action::Write(line) => parser.feed_stdin_with(&line, &mut |event| run.on_event(&event)),
        }
    }
    parser.finish_with(&mut |event| run.on_event(&event));
    run.finish().await
}

thread_local! {
    /// The count of the thread, if a watcher has set one.
    static COUNT: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
}

/// Lets every replay that ends on this thread from now on add one to `count`, so that a watcher can distinguish a check
/// that takes long from one that hangs.
pub(crate) fn count_replays(count: Arc<AtomicU64>) {
    COUNT.set(Some(count));
}

/// A replay has ended on this thread.
fn replay_ended() {
    COUNT.with_borrow(|count| {
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
}

#[cfg(test)]
mod tests;
