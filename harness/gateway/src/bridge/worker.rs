//! The worker of a bridge: one callback at a time, and then the channel's final message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::bus::{BusData, Tool};
use crate::channel::{Callback, Channel, ChannelReport, Delivery, RunPath, panic_words};
use crate::ending::{FinalMessage, RunEnding};
use crate::messaging::Gate;
use crate::typing::TypingGuard;

/// How long a drain waits for the callbacks that are left (G2).
pub(super) const DRAIN_LIMIT: Duration = Duration::from_secs(15);

/// The end of a run, for the worker of a bridge.
#[derive(Debug, Clone)]
pub(super) struct Close {
    /// When the callbacks that are left are given up.
    pub(super) deadline: Instant,
    pub(super) last: Arc<FinalMessage>,
}

/// What the worker has on its state.
struct WorkerState {
    guard: TypingGuard,
    path: RunPath,
    gate: Gate,
    /// How long the final message may take.
    final_message: Duration,
    /// Answer and reasoning so far.
    text: String,
    thinking: String,
    report: ChannelReport,
}

/// What of an event is for the channel.
#[derive(Clone, Copy, PartialEq, Default)]
struct ChannelUpdates {
    text: bool,
    thinking: bool,
    tool: bool,
    notice: bool,
}

/// Hands `events` to `channel`, until there are no more; then the final message that `close` brings.
pub(super) async fn work(
    mut events: mpsc::UnboundedReceiver<BusData>,
    mut close: watch::Receiver<Option<Close>>,
    channel: Box<dyn Channel>,
    path: RunPath,
    gate: Gate,
    final_message: Duration,
) -> ChannelReport {
    let mut state = WorkerState {
        guard: TypingGuard::new(channel),
        path,
        gate,
        final_message,
        text: String::new(),
        thinking: String::new(),
        report: ChannelReport::new(),
    };
    while let Some(data) = events.recv().await {
        state.hand(&data, &mut close).await;
    }
    let end = close.borrow().clone();
    if let Some(Close { last, .. }) = end {
        state.finish(&last).await;
    }
    state.report
}

impl WorkerState {
    /// Takes one event to the channel, if it is to hear of it.
    async fn hand(&mut self, data: &BusData, close: &mut watch::Receiver<Option<Close>>) {
        let news = self.follow(data);
        let passes = self.gate.passes(data);
        if passes && news != ChannelUpdates::default() {
            if matches!(data, BusData::Tool(Tool::Update { .. } | Tool::Start { .. })) {
                self.typing(true);
            }
            self.call(data, news, close).await;
        }
        if self.gate.suppressed() {
            self.typing(false);
        }
    }

    /// Keeps the texts so far, and says what of `data` is for the channel.
    fn follow(&mut self, data: &BusData) -> ChannelUpdates {
        let mut news = ChannelUpdates::default();
        match data {
            BusData::Assistant { delta, parent: None, .. } => {
                self.text.push_str(delta);
                news.text = !delta.is_empty();
            }
            BusData::Thinking { delta, parent: None, .. } => {
                self.thinking.push_str(delta);
                news.thinking = !delta.is_empty();
            }
            BusData::Retract { text, thinking, calls, parent, .. } => {
                if parent.is_none() {
                    news.text = self.text != *text;
                    news.thinking = self.thinking != *thinking;
                    self.text.clone_from(text);
                    self.thinking.clone_from(thinking);
                }
                news.tool = !calls.is_empty();
            }
            BusData::Assistant { .. } | BusData::Thinking { .. } | BusData::Lifecycle(_) => {}
            BusData::Notice(_) => news.notice = true,
            BusData::Tool(_) => news.tool = true,
        }
        match self.path {
            RunPath::Main => news,
            RunPath::FollowUp => ChannelUpdates { tool: news.tool, ..ChannelUpdates::default() },
        }
    }

    async fn call(
        &mut self,
        data: &BusData,
        news: ChannelUpdates,
        close: &mut watch::Receiver<Option<Close>>,
    ) {
        let Self { guard: seat, text, thinking, .. } = self;
        let channel = &mut seat.channel;
        let callback: Callback<'_> = Box::pin(async move {
            let mut told = Ok(());
            if news.text {
                told = told.and(channel.text(text).await);
            }
            if news.thinking {
                told = told.and(channel.thinking(thinking).await);
            }
            told.and(match data {
                BusData::Tool(result @ Tool::Result { .. }) => channel.tool_result(result).await,
                BusData::Tool(tool) => channel.tool(tool).await,
                BusData::Retract { calls, .. } if news.tool => channel.tools_dropped(calls).await,
                BusData::Notice(notice) => channel.notice(notice).await,
                _ => Ok(()),
            })
        });
        let failure = tokio::select! {
            biased;
            settled = guarded(callback) => match settled {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(words) => panicked(&words),
            },
            () = expired(close) => {
                self.report.gave_up = true;
                format!("a channel's callback did not settle in {} s", DRAIN_LIMIT.as_secs())
            }
        };
        self.report.failed(failure);
    }

    fn typing(&mut self, on: bool) {
        if let Err(words) = self.guard.typing(on) {
            self.report.failed(panicked(&words));
        }
    }

    /// Lets the channel deliver the final message, once.
    async fn finish(&mut self, last: &FinalMessage) {
        let ending = match (self.gate.suppressed(), last.is_failure) {
            (false, _) => Some(last.ending.clone()),
            // The answer is sent; that the run failed is not.
            (true, true) => Some(RunEnding { answer: String::new(), ..last.ending.clone() }),
            (true, false) => None,
        };
        self.report.final_delivered = match ending {
            Some(ending) => self.deliver(&ending).await,
            None => self.leave().await,
        };
        self.typing(false);
    }

    async fn deliver(&mut self, ending: &RunEnding) -> Delivery {
        let final_message = self.final_message;
        let channel = &mut self.guard.channel;
        // Within a future of its own, so that a panic before the first await is caught as well.
        let finish = Box::pin(async move { channel.finish(ending).await });
        let finished = timeout(final_message, guarded(finish)).await;
        let failed = |reason: String| Delivery::Failed { reason };
        match finished {
            Ok(Ok(delivery)) => delivery,
            Ok(Err(words)) => failed(format!("the channel panicked: {words}; report it")),
            Err(_) => {
                self.report.gave_up = true;
                failed(format!(
                    "the channel took more than {} s; see whether the chat's server answers, or raise \
                     the limit (`--api-wait`)",
                    final_message.as_secs_f64()
                ))
            }
        }
    }

    async fn leave(&mut self) -> Delivery {
        let channel = &mut self.guard.channel;
        let leave = Box::pin(async move { channel.leave().await });
        match timeout(self.final_message, guarded(leave)).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => self.report.failed(error.to_string()),
            Ok(Err(words)) => self.report.failed(panicked(&words)),
            Err(_) => self.report.gave_up = true,
        }
        Delivery::ByTool
    }
}

fn panicked(words: &str) -> String {
    format!("a channel's callback panicked: {words}")
}

/// Settles when the run has ended and the limit after it has passed.
async fn expired(close: &mut watch::Receiver<Option<Close>>) {
    let deadline = match close.wait_for(Option::is_some).await {
        Ok(close) => close.as_ref().map(|close| close.deadline),
        Err(_) => None,
    };
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Runs `work`; a panic in it becomes its words.
async fn guarded<T>(mut work: Pin<Box<dyn Future<Output = T> + Send + '_>>) -> Result<T, String> {
    std::future::poll_fn(move |context| {
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(panic_words(panic.as_ref()))),
        }
    })
    .await
}
