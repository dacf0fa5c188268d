//! The agent bus of one run: numbered events, handed at once to whoever listens.
//!
//! A bus belongs to one run, so events of another run can't come through (G3). It numbers the
//! events from 1 without gaps (B1) and takes nothing after the run's end (B3).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clitape_stream::{FailureKind, Incomplete};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// One event on the bus, in its envelope (B1).
#[derive(Debug, Clone, PartialEq)]
pub struct BusEvent {
    /// The run it belongs to.
    pub run_id: Arc<str>,
    /// Its number in the run, from 1 without gaps.
    pub seq: u64,
    /// Milliseconds since the bus was made, by tokio's clock.
    pub at: u64,
    /// What happened.
    pub data: Data,
}

impl BusEvent {
    /// The stream it belongs to: `assistant`, `thinking`, `tool` or `lifecycle`.
    pub fn stream(&self) -> &'static str {
        match self.data {
            Data::Assistant { .. } | Data::Retract { .. } => "assistant",
            Data::Thinking { .. } => "thinking",
            Data::Tool(_) => "tool",
            Data::Lifecycle(_) => "lifecycle",
        }
    }
}

/// What a bus event tells.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// More of the answer, as the model wrote it, or of what a subagent says.
    Assistant {
        /// Message the text belongs to; empty when the stream names none.
        message_id: String,
        /// The new piece.
        delta: String,
        /// Characters of the lane's text so far, `delta` included.
        length: u64,
        /// The subagent's tool call; its text is no part of the answer (T3).
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
    /// What was told does not all count any more: answer and reasoning are to be rewritten. What
    /// comes next goes after what is left.
    Retract {
        /// The answer that is left.
        text: String,
        /// Characters of it.
        length: u64,
        /// The reasoning that is left.
        thinking: String,
        /// Characters of it.
        thinking_length: u64,
        /// Calls that were told of while their input came and that will never start.
        calls: Vec<String>,
        /// The subagent's tool call.
        parent: Option<String>,
    },
    /// Something of a tool call.
    Tool(Tool),
    /// The run began or ended.
    Lifecycle(Phase),
}

/// A tool call while its input comes, its start, or its result, sanitised (B2).
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// More of the call's input came (U2), before its start; after it, a correction of what the
    /// start told.
    Update {
        /// Id of the call (G5).
        id: String,
        /// Name of the tool.
        name: String,
        /// The line a person reads, as far as the input so far says it (V2).
        title: String,
        /// The top-level fields that are new or have changed, whole; of a string that may go on,
        /// what is no part of a secret whatever comes.
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
        /// The arguments; `Null` when they are `truncated`.
        args: Value,
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
        /// Whether the tool failed.
        is_error: bool,
        /// The result.
        result: Value,
        /// Set when the run ended before a result came (U3).
        incomplete: Option<Incomplete>,
        /// The subagent's tool call.
        parent: Option<String>,
    },
}

/// Where the run stands (B3).
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
        /// Why.
        kind: FailureKind,
        /// A sentence a person can act on, sanitised.
        message: String,
    },
}

type Listener = Arc<Mutex<dyn FnMut(&BusEvent) + Send>>;

/// The bus of one run. Clones are handles to the same bus.
#[derive(Clone)]
pub struct Bus {
    inner: Arc<Inner>,
}

struct Inner {
    run_id: Arc<str>,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seq: u64,
    ended: bool,
    next_listener: u64,
    listeners: Vec<(u64, Listener)>,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Locks `mutex`; what a panicking holder left behind is used as it is.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bus {
    /// Makes the bus of the run `run_id`; its clock starts now.
    pub fn new(run_id: impl Into<Arc<str>>) -> Self {
        Self {
            inner: Arc::new(Inner {
                run_id: run_id.into(),
                started: Instant::now(),
                state: Mutex::default(),
            }),
        }
    }

    /// Numbers `data` and hands it to every listener before it returns.
    ///
    /// After an `End` or `Error` the bus is closed and `data` is dropped (B3). Publish from one
    /// task at a time, and not from within a listener.
    pub fn publish(&self, data: Data) {
        let ends = matches!(data, Data::Lifecycle(Phase::End { .. } | Phase::Error { .. }));
        let (seq, listeners) = {
            let mut state = self.inner.state();
            if state.ended {
                return;
            }
            state.ended = ends;
            state.seq += 1;
            let listeners: Vec<Listener> = state.listeners.iter().map(|(_, l)| l.clone()).collect();
            (state.seq, listeners)
        };
        let at = self.inner.started.elapsed().as_millis();
        let event = BusEvent {
            run_id: self.inner.run_id.clone(),
            seq,
            at: u64::try_from(at).unwrap_or(u64::MAX),
            data,
        };
        for listener in listeners {
            (lock(&listener))(&event);
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

    /// How many listen now (G7: none of the run's own, once it is over).
    pub fn listeners(&self) -> usize {
        self.inner.state().listeners.len()
    }
}

/// A listener's place on a bus; dropping it takes the listener off.
pub struct Subscription {
    bus: Weak<Inner>,
    id: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(bus) = self.bus.upgrade() else {
            return;
        };
        // The listener is dropped after the lock is released: what it holds may use the bus.
        let taken = {
            let mut state = bus.state();
            let place = state.listeners.iter().position(|(id, _)| *id == self.id);
            place.map(|place| state.listeners.remove(place))
        };
        drop(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(delta: &str) -> Data {
        Data::Assistant {
            message_id: "m".to_owned(),
            delta: delta.to_owned(),
            length: delta.len() as u64,
            parent: None,
        }
    }

    /// Publishes `data` and gives what a listener saw as `seq stream`.
    fn check(data: Vec<Data>, expect: &[&str]) {
        let bus = Bus::new("r1");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let subscription =
            bus.subscribe(move |e| lock(&log).push(format!("{} {}", e.seq, e.stream())));
        assert_eq!(bus.listeners(), 1);
        for item in data {
            bus.publish(item);
        }
        drop(subscription);
        assert_eq!(bus.listeners(), 0);
        bus.publish(text("unheard"));
        assert_eq!(*lock(&seen), expect);
    }

    #[test]
    fn b1_seq_from_one_without_gaps() {
        check(
            vec![
                Data::Lifecycle(Phase::Start),
                text("a"),
                Data::Thinking {
                    message_id: "m".into(),
                    delta: "b".into(),
                    length: 1,
                    parent: None,
                },
            ],
            &["1 lifecycle", "2 assistant", "3 thinking"],
        );
    }

    #[test]
    fn b3_nothing_after_the_end() {
        let end = || Data::Lifecycle(Phase::End { text: "".into() });
        let error =
            Data::Lifecycle(Phase::Error { kind: FailureKind::Other, message: "late".into() });
        check(
            vec![Data::Lifecycle(Phase::Start), end(), end(), text("late"), error],
            &["1 lifecycle", "2 lifecycle"],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn b1_at_is_tokio_time() {
        let bus = Bus::new("r1");
        let at = Arc::new(Mutex::new(0));
        let seen = at.clone();
        let _subscription = bus.subscribe(move |e| *lock(&seen) = e.at);
        tokio::time::advance(std::time::Duration::from_millis(1_234)).await;
        bus.publish(text("a"));
        assert_eq!(*lock(&at), 1_234);
    }
}
