//! The agent bus of one run: numbered events, which each listener gets at once.
//!
//! A bus belongs to one run, so that events of another run never come through
//! ([G3](crate::rules::G3)). It numbers the events from 1 without gaps ([B1](crate::rules::B1)) and
//! drops every event after the end of the run ([B3](crate::rules::B3)).

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clitape_stream::{FailureKind, Incomplete};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::notice::Notice;
use crate::question::{Question, QuestionClosed, QuestionWaits};

/// One event on the bus, in its envelope ([B1](crate::rules::B1)).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BusEvent {
    /// The run it belongs to.
    pub run_id: Arc<str>,
    /// Its number in the run, from 1 without gaps.
    pub seq: u64,
    /// Milliseconds since the bus was made, by tokio's clock.
    pub at: u64,
    /// The message itself.
    pub data: BusData,
}

impl BusEvent {
    /// The stream it belongs to: `assistant`, `thinking`, `tool`, `question`, `heard`, `notice` or
    /// `lifecycle`.
    pub fn stream(&self) -> &'static str {
        match self.data {
            BusData::Assistant { .. } | BusData::Retract { .. } => "assistant",
            BusData::Thinking { .. } => "thinking",
            BusData::Tool(_) => "tool",
            BusData::Question(_) | BusData::QuestionWaits(_) | BusData::QuestionClosed(_) => {
                "question"
            }
            BusData::Heard { .. } => "heard",
            BusData::Notice(_) => "notice",
            BusData::Lifecycle(_) => "lifecycle",
        }
    }
}

/// The content of a bus event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BusData {
    /// More of the answer, as the model wrote it, or of a subagent's text.
    Assistant {
        /// Message the text belongs to; empty when the stream names none.
        message_id: String,
        /// The new piece.
        delta: String,
        /// Characters of the lane's text so far, `delta` included.
        length: u64,
        /// The subagent's tool call; its text is not part of the answer (T3).
        parent: Option<String>,
    },
    /// More of the reasoning, or of a subagent's.
    Thinking {
        /// Message the reasoning belongs to; empty when the stream names none.
        message_id: String,
        /// The new piece.
        delta: String,
        /// Characters of the lane's reasoning so far, `delta` included.
        length: u64,
        /// The subagent's tool call.
        parent: Option<String>,
    },
    /// A part of the published text is retracted: answer and reasoning are to be rewritten. Later
    /// pieces go after the text that is left.
    Retract {
        /// The answer that is left.
        text: String,
        /// Characters of it.
        length: u64,
        /// The reasoning that is left.
        thinking: String,
        /// Characters of it.
        thinking_length: u64,
        /// Calls whose input was published and that will never start.
        calls: Vec<String>,
        /// The subagent's tool call.
        parent: Option<String>,
    },
    /// A tool call: its input, its start or its result.
    Tool(Tool),
    /// The CLI asks a person before a tool runs ([Q1](crate::rules::Q1)).
    Question(Question),
    /// A question has waited so long for its answer that the person is reminded
    /// ([Q5](crate::rules::Q5)).
    QuestionWaits(QuestionWaits),
    /// A question was answered or needs no answer any more; once for each question
    /// ([Q1](crate::rules::Q1)).
    QuestionClosed(QuestionClosed),
    /// A message that a person sent while the turn was under way is part of the turn now
    /// ([Q9](crate::rules::Q9)).
    Heard {
        /// Its uuid, where the host gave it one.
        id: Option<String>,
        /// Its text, as the person wrote it.
        text: String,
    },
    /// Something else that a person may want to know, such as that the conversation is compacted.
    Notice(Notice),
    /// The run began or ended.
    Lifecycle(Phase),
}

/// A tool call while its input comes, its start, or its result, sanitised ([B2](crate::rules::B2)).
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// More of the call's input came ([U2](crate::rules::U2)), before its start; after the start, a
    /// correction of its arguments.
    Update {
        /// Id of the call (G5).
        id: String,
        /// Name of the tool.
        name: String,
        /// The line a person reads, as far as the input so far says it (V2).
        title: String,
        /// The top-level fields that are new or have changed, whole; of a string that may go on,
        /// only the part that can't belong to a secret.
        args: Map<String, Value>,
        /// The subagent's tool call.
        parent: Option<String>,
    },
    /// The call began.
    Start {
        /// Id of the call (G5).
        id: String,
        /// Name of the tool.
        name: String,
        /// The line a person reads, `📖 Read: from /etc/hosts` (V2). It is made of the whole
        /// arguments, so that a count of characters is right where `args` is cut.
        title: String,
        /// The arguments, which listeners may share; `Null` when they are `truncated`.
        args: Arc<Value>,
        /// The raw arguments where they never became valid JSON (U1).
        truncated: Option<String>,
        /// The subagent's tool call.
        parent: Option<String>,
    },
    /// The call ended.
    Result {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// True if the tool failed.
        is_error: bool,
        /// The result.
        result: Value,
        /// Set when the run ended before a result came (U3).
        incomplete: Option<Incomplete>,
        /// The subagent's tool call.
        parent: Option<String>,
    },
}

impl Tool {
    /// Id of the call ([G5](crate::rules::G5)).
    pub fn id(&self) -> &str {
        match self {
            Self::Update { id, .. } | Self::Start { id, .. } | Self::Result { id, .. } => id,
        }
    }

    /// The line a person reads; a result has none of its own, it changes the line of its call.
    pub fn title(&self) -> &str {
        match self {
            Self::Update { title, .. } | Self::Start { title, .. } => title,
            Self::Result { .. } => "",
        }
    }
}

/// The beginning and the end of a run ([B3](crate::rules::B3)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The run began; the first event of a run.
    Start,
    /// The run came to its end.
    End {
        /// The final text.
        text: String,
    },
    /// The run failed or was cut off.
    Error {
        /// The kind of the failure.
        kind: FailureKind,
        /// A sentence a person can act on, sanitised.
        message: String,
    },
}

type Listener = Arc<Mutex<dyn FnMut(&BusEvent) + Send>>;

/// The bus of one run. Clones are handles to the same bus.
#[derive(Debug, Clone)]
pub struct Bus {
    inner: Arc<BusInner>,
}

#[derive(Debug)]
struct BusInner {
    run_id: Arc<str>,
    started: Instant,
    state: Mutex<BusState>,
}

#[derive(Default)]
struct BusState {
    seq: u64,
    has_started: bool,
    has_ended: bool,
    /// Numbered events that are not handed out yet; `is_handing_out` while a call of `publish`
    /// hands them out.
    queue: VecDeque<BusEvent>,
    is_handing_out: bool,
    next_listener: u64,
    listeners: Vec<(u64, Listener)>,
    listener_panics: u64,
}

impl fmt::Debug for BusState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusState")
            .field("seq", &self.seq)
            .field("has_started", &self.has_started)
            .field("has_ended", &self.has_ended)
            .field("listeners", &self.listeners.len())
            .finish_non_exhaustive()
    }
}

impl BusState {
    /// Returns whether `data` may be published now (B3): one start, one end, and then the bus is
    /// silent.
    fn takes(&mut self, data: &BusData) -> bool {
        let starts = matches!(data, BusData::Lifecycle(Phase::Start));
        if self.has_ended || (starts && self.has_started) {
            return false;
        }
        self.has_started |= starts;
        self.has_ended =
            matches!(data, BusData::Lifecycle(Phase::End { .. } | Phase::Error { .. }));
        true
    }
}

impl BusInner {
    fn state(&self) -> MutexGuard<'_, BusState> {
        lock(&self.state)
    }

    /// The next event to hand out, and who listens now.
    fn next(&self) -> Option<(BusEvent, Vec<Listener>)> {
        let mut state = self.state();
        let event = state.queue.pop_front();
        state.is_handing_out = event.is_some();
        Some((event?, state.listeners.iter().map(|(_, listener)| listener.clone()).collect()))
    }
}

/// Locks `mutex`. After a panic of a holder, the value is used as the holder left it.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bus {
    /// Makes the bus of the run `run_id`; its clock starts now.
    pub fn new(run_id: impl Into<Arc<str>>) -> Self {
        Self {
            inner: Arc::new(BusInner {
                run_id: run_id.into(),
                started: Instant::now(),
                state: Mutex::default(),
            }),
        }
    }

    /// Numbers `data` and hands it to every listener before it returns.
    ///
    /// After an `End` or `Error` the bus is closed and `data` is dropped ([B3](crate::rules::B3)),
    /// and so is a second `Start`. A listener, or another task, may publish while an event is
    /// handed out: that event comes right after it, to all in the same order. A listener that
    /// panics keeps its place, and the others hear the event all the same.
    pub fn publish(&self, data: BusData) {
        {
            let mut state = self.inner.state();
            if !state.takes(&data) {
                return;
            }
            state.seq += 1;
            let at = u64::try_from(self.inner.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let event = BusEvent { run_id: self.inner.run_id.clone(), seq: state.seq, at, data };
            state.queue.push_back(event);
            if state.is_handing_out {
                return;
            }
            state.is_handing_out = true;
        }
        while let Some((event, listeners)) = self.inner.next() {
            for listener in listeners {
                let heard = catch_unwind(AssertUnwindSafe(|| (lock(&listener))(&event)));
                self.inner.state().listener_panics += u64::from(heard.is_err());
            }
        }
    }

    /// Calls `listener` with every later event, until the subscription is dropped.
    #[must_use = "dropping the subscription ends it"]
    pub fn subscribe(&self, listener: impl FnMut(&BusEvent) + Send + 'static) -> Subscription {
        let mut state = self.inner.state();
        let id = state.next_listener;
        state.next_listener += 1;
        state.listeners.push((id, Arc::new(Mutex::new(listener))));
        Subscription { bus: Arc::downgrade(&self.inner), id }
    }

    /// The number of listeners. None of the run's own are left once it is over (G7).
    pub fn listeners(&self) -> usize {
        self.inner.state().listeners.len()
    }

    /// Returns the number of times that a listener panicked ([G2](crate::rules::G2)).
    pub fn listener_panics(&self) -> u64 {
        self.inner.state().listener_panics
    }
}

/// A listener's registration on a bus; dropping it removes the listener.
#[derive(Debug)]
pub struct Subscription {
    bus: Weak<BusInner>,
    id: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(bus) = self.bus.upgrade() else {
            return;
        };
        // The listener is dropped after the lock is released, because its owned values may use the
        // bus.
        let taken = {
            let mut state = bus.state();
            let place = state.listeners.iter().position(|(id, _)| *id == self.id);
            place.map(|place| state.listeners.remove(place))
        };
        drop(taken);
    }
}

#[cfg(test)]
pub(crate) mod tests;
