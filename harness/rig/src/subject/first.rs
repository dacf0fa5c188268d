//! The acts of a person in a chat before the first prompt: makes the topic, and does the steps of `first`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clitape_judge::observation::ObservedEnding;
use clitape_recording::chat::ChatView;
use clitape_recording::trace::Entry;

use super::part::{ChatPart, TYPING, last_words};
use super::persons::Seat;
use super::placeholders::Places;
use super::spec::{ChatKind, FirstStep, GatewaySpec};
use crate::chat_server::{ChatServer, PressTarget};

/// The time without a call before the next step.
const QUIET: Duration = Duration::from_secs(1);
/// The longest wait for the answer to a step; some commands have no answer.
const ANSWER: Duration = Duration::from_secs(10);
/// The longest wait for a button that a step presses.
const BUTTON: Duration = Duration::from_secs(15);
/// The time without a call before a run begins, and the longest wait for it.
const SETTLED: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(30));
/// The time between two looks at a chat.
const CHAT_LOOK: Duration = Duration::from_millis(50);

/// The chats of one start in which the person has done the first steps.
#[derive(Debug, Default)]
pub(crate) struct OpenedChats(Mutex<BTreeMap<i64, FirstStepsResult>>);

/// The result of the first steps in a chat.
#[derive(Debug, Clone)]
struct FirstStepsResult {
    topic: Option<i64>,
    /// The last words of the chat after the steps, in quotes.
    words: Option<String>,
    /// The ending of the run, if a step could not be done.
    failed: Option<ObservedEnding>,
}

impl OpenedChats {
    fn get(&self, seat: Seat) -> Option<FirstStepsResult> {
        // A poisoned lock is safe: reading and setting a value can't panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&seat.number).cloned()
    }

    fn set(&self, seat: Seat, opened: FirstStepsResult) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(seat.number, opened);
    }
}

/// A chat in which a recording can't begin.
#[derive(Debug)]
pub(crate) struct NotOpened {
    /// The ending of the run; `None` if the caller stops it.
    pub(crate) ending: Option<ObservedEnding>,
    /// The entries of the chat.
    pub(crate) entries: Vec<Entry>,
}

impl From<Option<ObservedEnding>> for NotOpened {
    fn from(ending: Option<ObservedEnding>) -> Self {
        Self { ending, entries: Vec::new() }
    }
}

/// A check that the start still goes on. The error is the ending of the gateway, or `None` if the caller stops the
/// runs.
pub(crate) type GoesOn<'a> = &'a dyn Fn() -> Result<(), Option<ObservedEnding>>;

/// A chat in which a recording can begin.
#[derive(Debug)]
pub(crate) struct OpenedChat<'a> {
    /// The part of the chat for the recording.
    pub(crate) part: ChatPart<'a>,
    /// The last words of the chat after the steps of `first`, in quotes.
    pub(crate) words: Option<String>,
}

/// Does the first steps in a chat, once for each start of the gateway, and waits until the chat is quiet.
///
/// # Errors
///
/// [`NotOpened`] if a step can't be done, if the gateway has ended, or if the caller stops it.
pub(crate) fn open<'a>(
    server: &'a ChatServer,
    places: &'a Places,
    seat: Seat,
    spec: &GatewaySpec,
    chats: &OpenedChats,
    goes_on: GoesOn<'_>,
) -> Result<OpenedChat<'a>, NotOpened> {
    settle(server, seat, goes_on)?;
    let opened = match chats.get(seat) {
        Some(opened) => opened,
        None => {
            let topic = match seat.kind {
                ChatKind::Topic => {
                    server.make_topic(seat.chat, &format!("Recording {}", seat.number)).ok()
                }
                ChatKind::Private | ChatKind::Group => None,
            };
            // The whole chat is watched, because the bot may answer in a topic that it makes.
            let whole = ChatPart::new(server, places, seat, None);
            let written = ChatPart::new(server, places, seat, topic);
            let steps = spec.writers.first.iter();
            let done = steps.map(|step| take(step, &whole, &written, goes_on));
            let failed = match done.collect::<Result<Vec<()>, _>>() {
                Ok(_) => None,
                Err(ending) => ending.map(Some).ok_or(None::<ObservedEnding>)?,
            };
            let topic = whole.new_topics().pop().filter(|_| topic.is_some()).or(topic);
            let opened = FirstStepsResult { topic, words: last_words(&whole.entries()), failed };
            chats.set(seat, opened.clone());
            if let Some(ending) = opened.failed {
                return Err(NotOpened { ending: Some(ending), entries: whole.entries() });
            }
            opened
        }
    };
    match opened.failed {
        Some(ending) => Err(Some(ending).into()),
        None => Ok(OpenedChat {
            part: ChatPart::new(server, places, seat, opened.topic),
            words: opened.words,
        }),
    }
}

/// Waits until no call of the chat is under way, and the last call, typing signals aside, is a moment ago.
fn settle(
    server: &ChatServer,
    seat: Seat,
    goes_on: GoesOn<'_>,
) -> Result<(), Option<ObservedEnding>> {
    let (quiet, most) = SETTLED;
    let quiet = u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX);
    let is_quiet = || {
        server.last_call(seat.chat).is_none_or(|last| {
            let is_old = server.now_ms().saturating_sub(last.at_ms) >= quiet;
            last.under_way == 0 && (is_old || last.kind == TYPING)
        })
    };
    wait(goes_on, most, || is_quiet().then_some(())).map(drop)
}

/// Does a step, and waits until the chat has an answer and is quiet.
fn take(
    step: &FirstStep,
    whole: &ChatPart<'_>,
    written: &ChatPart<'_>,
    goes_on: GoesOn<'_>,
) -> Result<(), Option<ObservedEnding>> {
    let known = match step {
        FirstStep::Say(text) => {
            let known = whole.entries().len();
            // A full chat has no answer either.
            let _ = written.say(&written.fill(text));
            known
        }
        FirstStep::Press(label) => {
            let find = || {
                let view = ChatView::after(&whole.entries());
                let buttons = view.numbered().flat_map(|(id, message)| {
                    message.buttons.iter().flatten().map(move |label| (id, label.clone()))
                });
                let wanted = buttons.filter(|(_, button)| label.is_match(button));
                wanted.max_by_key(|(id, _)| *id)
            };
            let Some((id, button)) = wait(goes_on, BUTTON, find)? else {
                let says = match last_words(&whole.entries()) {
                    Some(words) => format!("it says {words}"),
                    None => "it has no message".to_owned(),
                };
                return Err(Some(ObservedEnding::Hung {
                    waited_s: BUTTON.as_secs(),
                    waited_for: format!(
                        "no button in the chat matches `{label}` of `first`; {says}"
                    ),
                    last_words: String::new(),
                }));
            };
            let known = whole.entries().len();
            let target = i64::try_from(id).map_or(PressTarget::Last, PressTarget::Message);
            let _ = whole.press(target, &button);
            known
        }
    };
    let mut last = (0, Instant::now());
    let is_answered = || {
        let entries = whole.entries();
        let new = entries.get(known..).unwrap_or_default();
        let calls = || new.iter().filter(|entry| is_answer(&entry.kind));
        let is_done = calls().all(|entry| entry.field("took_ms").is_some());
        if last.0 != calls().count() {
            last = (calls().count(), Instant::now());
        }
        (last.0 > 0 && is_done && last.1.elapsed() >= QUIET).then_some(())
    };
    wait(goes_on, ANSWER, is_answered).map(drop)
}

/// Returns whether a call of this kind answers a person.
fn is_answer(kind: &str) -> bool {
    kind != TYPING && !kind.starts_with('(')
}

/// Looks for something repeatedly for a time; `None` if it does not come. The error is that of [`GoesOn`].
fn wait<T>(
    goes_on: GoesOn<'_>,
    most: Duration,
    mut find: impl FnMut() -> Option<T>,
) -> Result<Option<T>, Option<ObservedEnding>> {
    let begin = Instant::now();
    loop {
        goes_on()?;
        match find() {
            Some(found) => return Ok(Some(found)),
            None if begin.elapsed() >= most => return Ok(None),
            None => std::thread::sleep(CHAT_LOOK),
        }
    }
}
