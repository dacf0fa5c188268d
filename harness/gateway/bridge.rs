//! Hands the bus events of a run to a channel: one after another, in order, whatever a callback
//! does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until};

use crate::bus::{Bus, Data, Subscription, Tool};
use crate::ending::Ending;

/// How long a drain waits for the callbacks that are left (G2).
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(15);

/// A callback at work.
pub type Callback<'a> = Pin<Box<dyn Future<Output = Result<(), CallbackError>> + Send + 'a>>;
/// The last word of a run at work.
pub type Finish<'a> = Pin<Box<dyn Future<Output = Delivery> + Send + 'a>>;

/// Why a callback failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a channel's callback failed: {0}; later events still reach it")]
pub struct CallbackError(
    /// The channel's own words.
    pub String,
);

/// What became of a run's last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// There was nobody to deliver to.
    Nobody,
    /// It was sent.
    Sent {
        /// The messages that carry it, in order.
        message_ids: Vec<i64>,
    },
    /// The message a person sees already said exactly this, so that no call was needed.
    AlreadyShown {
        /// That message.
        message_id: i64,
    },
    /// It did not arrive.
    Failed {
        /// A sentence that says why.
        reason: String,
    },
}

/// Where a person sees the run.
///
/// The bridge runs one callback at a time, in the order of the events (G1). A callback that fails
/// or panics is counted, the later ones still come; one that never settles is dropped at the end
/// of the run (G2).
pub trait Channel: Send {
    /// There is more of the answer, or some of it was taken back; `text` is all of it so far.
    fn text<'a>(&'a mut self, text: &'a str) -> Callback<'a>;
    /// There is more of the reasoning; `text` is all of it so far.
    fn thinking<'a>(&'a mut self, text: &'a str) -> Callback<'a>;
    /// A tool call began or ended (G5).
    fn tool<'a>(&'a mut self, tool: &'a Tool) -> Callback<'a>;
    /// The run is over: deliver its last word, once (V7). No other callback comes after it.
    fn finish<'a>(&'a mut self, ending: &'a Ending) -> Finish<'a>;
}

/// A spawned task that ends when nobody wants it any more.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    pub(crate) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    pub(crate) async fn join(mut self) -> Result<T, JoinError> {
        (&mut self.0).await
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The way from the bus to one channel. Dropping it takes it off the bus and stops it.
pub(crate) struct Bridge {
    // Dropped first: it holds the queue's sender, so that the worker sees the end.
    subscription: Subscription,
    deadline: watch::Sender<Option<Instant>>,
    worker: Task<Drained>,
}

/// What is left when every event was handed over or given up.
pub(crate) struct Drained {
    /// The channel, for its last word.
    pub(crate) channel: Box<dyn Channel>,
    /// Callbacks that failed, panicked or were given up.
    pub(crate) failures: u64,
    /// Why the first of them did.
    pub(crate) first_failure: Option<String>,
    /// Whether the drain limit was reached.
    pub(crate) gave_up: bool,
}

impl Bridge {
    /// Puts `channel` on `bus`.
    pub(crate) fn new(bus: &Bus, channel: Box<dyn Channel>) -> Self {
        let (queue, events) = mpsc::unbounded_channel();
        let (deadline, limit) = watch::channel(None);
        let subscription = bus.subscribe(move |event| {
            // The worker ends only with the bridge, which is off the bus by then.
            let _ = queue.send(event.data.clone());
        });
        Self { subscription, deadline, worker: Task::spawn(work(events, limit, channel)) }
    }

    /// Takes the bridge off the bus and waits until the callbacks settled, at most
    /// [`DRAIN_LIMIT`]: then the one at work is given up, and of the later ones those that do not
    /// settle at once.
    pub(crate) async fn drain(self) -> Result<Drained, JoinError> {
        drop(self.subscription);
        self.deadline.send_replace(Some(Instant::now() + DRAIN_LIMIT));
        self.worker.join().await
    }
}

async fn work(
    mut events: mpsc::UnboundedReceiver<Data>,
    mut limit: watch::Receiver<Option<Instant>>,
    channel: Box<dyn Channel>,
) -> Drained {
    let mut drained = Drained { channel, failures: 0, first_failure: None, gave_up: false };
    let (mut text, mut thinking) = (String::new(), String::new());
    while let Some(data) = events.recv().await {
        match &data {
            Data::Assistant { delta, parent: None, .. } => text.push_str(delta),
            Data::Thinking { delta, parent: None, .. } => thinking.push_str(delta),
            Data::Retract { text: left, thinking: thought, parent: None, .. } => {
                text.clone_from(left);
                thinking.clone_from(thought);
            }
            _ => {}
        }
        let channel = &mut drained.channel;
        let callback: Callback<'_> = Box::pin(async {
            match &data {
                Data::Assistant { parent: None, .. } | Data::Retract { parent: None, .. } => {
                    channel.text(&text).await
                }
                Data::Thinking { parent: None, .. } => channel.thinking(&thinking).await,
                Data::Tool(tool) => channel.tool(tool).await,
                _ => Ok(()),
            }
        });
        let failure = tokio::select! {
            biased;
            settled = guarded(callback) => match settled {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(words) => format!("a channel's callback panicked: {words}"),
            },
            () = expired(&mut limit) => {
                drained.gave_up = true;
                format!("a channel's callback did not settle in {} s", DRAIN_LIMIT.as_secs())
            }
        };
        drained.failures += 1;
        drained.first_failure.get_or_insert(failure);
    }
    drained
}

/// Settles when the deadline is set and has passed.
async fn expired(limit: &mut watch::Receiver<Option<Instant>>) {
    let deadline = match limit.wait_for(Option::is_some).await {
        Ok(deadline) => *deadline,
        Err(_) => None,
    };
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Runs `work`; a panic in it becomes its words.
pub(crate) async fn guarded<T>(
    mut work: Pin<Box<dyn Future<Output = T> + Send + '_>>,
) -> Result<T, String> {
    std::future::poll_fn(move |context| {
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(panic_words(panic.as_ref()))),
        }
    })
    .await
}

fn panic_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words").to_owned()
}
