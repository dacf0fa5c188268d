//! Hands the bus events of a run to a channel: one after another, in order, whatever a callback
//! does; and then the channel's final message.
//!
//! A worker makes one callback at a time. Its guard ends the typing signal however the run ends
//! ([G6](crate::rules::G6)). The channels of the next run wait until the [delivery](Delivered) of this one is over
//! ([Q8](crate::rules::Q8)).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until, timeout};

use crate::bus::{Bus, BusData, Subscription, Tool};
use crate::channel::{Callback, Channel, ChannelReport, Delivery, RunPath, panic_words};
use crate::ending::{FinalMessage, RunEnding};
use crate::messaging::Gate;
use crate::person_text::GrowingAnswer;

/// The time that a drain waits for the callbacks that are left (G2).
const DRAIN_LIMIT: Duration = Duration::from_secs(15);
/// The time after which a run that is at work shows the typing signal (G6).
const TYPING_AFTER: Duration = Duration::from_millis(500);

/// A spawned task that is aborted when its handle is dropped.
#[derive(Debug)]
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    pub(crate) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    pub(crate) async fn join(mut self) -> Result<T, JoinError> {
        (&mut self.0).await
    }

    /// Returns the result of the work if it is over; the last call then, because the task has
    /// handed it out.
    pub(crate) fn outcome(&mut self) -> Option<Result<T, JoinError>> {
        let mut nobody = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.0).poll(&mut nobody) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The way from the bus to one channel. Dropping it takes it off the bus and stops it.
#[derive(Debug)]
pub(crate) struct Bridge {
    // Dropped first: it owns the queue's sender, so that the worker sees the end.
    subscription: Option<Subscription>,
    close: watch::Sender<Option<Close>>,
    worker: Task<ChannelReport>,
}

impl Bridge {
    /// Puts `channel` on `bus`. The events wait for the delivery `after`.
    pub(crate) fn new(
        bus: &Bus,
        channel: Box<dyn Channel>,
        run: ShownRun,
        gate: Gate,
        after: Option<Delivered>,
    ) -> Self {
        let (queue, events) = mpsc::unbounded_channel();
        let (close, end) = watch::channel(None);
        let subscription = bus.subscribe(move |event| {
            // The worker ends only with the bridge, which is off the bus by then.
            let _ = queue.send(event.data.clone());
        });
        let setup = WorkerSetup { events, close: end, channel, run, gate, after };
        let worker = Task::spawn(work(setup));
        Self { subscription: Some(subscription), close, worker }
    }

    /// Takes the bridge off the bus, and lets the channel deliver its final message once the callbacks have
    /// settled. After [`DRAIN_LIMIT`] the one at work is given up, and of the later ones those that
    /// do not settle at once.
    pub(crate) fn close(&mut self, last: Arc<FinalMessage>) {
        self.subscription = None;
        self.close.send_replace(Some(Close { deadline: Instant::now() + DRAIN_LIMIT, last }));
    }

    /// Waits until a closed bridge has made its last call.
    pub(crate) async fn join(self) -> ChannelReport {
        self.worker.join().await.unwrap_or_else(|error| {
            let mut report = ChannelReport::new();
            let reason = format!("the bridge broke: {error}; start the run again");
            report.failed(reason.clone());
            ChannelReport { final_delivered: Delivery::Failed { reason }, ..report }
        })
    }
}

/// The delivery of a run: those that wait for it go on when all its channels have the final message.
#[derive(Debug, Clone)]
pub(crate) struct Delivered(watch::Receiver<bool>);

impl Delivered {
    /// Makes the two ends. The first one says `true` when everything is delivered; dropped, it ends
    /// the wait as well.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Waits until everything is delivered.
    async fn wait(mut self) {
        // The wait ends with a sender that is gone, too.
        drop(self.0.wait_for(|delivered| *delivered).await);
    }
}

/// The end of a run, for the worker of a bridge.
#[derive(Debug, Clone)]
struct Close {
    /// The time at which the callbacks that are left are given up.
    deadline: Instant,
    last: Arc<FinalMessage>,
}

/// The run that a channel shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownRun {
    pub(crate) path: RunPath,
    /// The longest time that the final message may take.
    pub(crate) final_message: Duration,
    /// True if the agent is at work from the start, because a person waits for its answer.
    pub(crate) is_asked: bool,
}

/// The state of a worker.
struct WorkerState {
    guard: TypingGuard,
    run: ShownRun,
    gate: Gate,
    /// The time at which it could take its first event: the limits of a drain count from it at the
    /// earliest.
    began: Instant,
    /// Answer and reasoning so far.
    text: GrowingAnswer,
    thinking: String,
    typing_start: TypingStart,
    /// Ids of the questions that wait for an answer; `resumes_typing` if typing goes on after the
    /// last.
    asked: Vec<String>,
    resumes_typing: bool,
    report: ChannelReport,
}

/// The time at which the typing signal begins.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TypingStart {
    /// [`TYPING_AFTER`] the first event of the agent's work.
    WithWork,
    At(Instant),
    /// It has begun.
    Past,
}

impl TypingStart {
    /// Returns the start of a run that is at work now.
    fn soon() -> Self {
        Self::At(Instant::now() + TYPING_AFTER)
    }

    /// Waits until the signal begins.
    async fn come(self) {
        match self {
            Self::At(at) => sleep_until(at).await,
            Self::WithWork | Self::Past => std::future::pending().await,
        }
    }
}

/// The parts of an event that are for the channel.
#[derive(Clone, Copy, PartialEq, Default)]
struct ChannelUpdates {
    text: bool,
    thinking: bool,
    tool: bool,
    notice: bool,
    question: bool,
    heard: bool,
}

/// The parts from which a worker starts.
struct WorkerSetup {
    events: mpsc::UnboundedReceiver<BusData>,
    close: watch::Receiver<Option<Close>>,
    channel: Box<dyn Channel>,
    run: ShownRun,
    gate: Gate,
    /// The end of the delivery of the run before; events wait for it (Q8).
    after: Option<Delivered>,
}

/// Hands the events to the channel until the last one; then the final message that `close` brings.
async fn work(setup: WorkerSetup) -> ChannelReport {
    let WorkerSetup { mut events, mut close, channel, run, gate, after } = setup;
    let mut state = WorkerState {
        guard: TypingGuard::new(channel),
        run,
        gate,
        began: Instant::now(),
        text: GrowingAnswer::default(),
        thinking: String::new(),
        typing_start: TypingStart::WithWork,
        asked: Vec::new(),
        resumes_typing: false,
        report: ChannelReport::new(),
    };
    if let Some(after) = after {
        after.wait().await;
        state.began = Instant::now();
    }
    if run.is_asked {
        state.typing_start = TypingStart::soon();
    }
    loop {
        tokio::select! {
            biased;
            () = state.typing_start.come() => match is_over(&close) {
                true => state.typing_start = TypingStart::Past,
                false => state.work_goes_on(),
            },
            data = events.recv() => {
                let Some(data) = data else { break };
                state.hand(&data, &mut close).await;
            }
        }
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
        let is_work = !matches!(data, BusData::Lifecycle(_) | BusData::Notice(_));
        if is_work && self.typing_start == TypingStart::WithWork {
            self.typing_start = TypingStart::soon();
        }
        // A person is asked whatever was sent: the tool waits (Q1).
        let passes = self.gate.passes(data) || news.question;
        if passes && news != ChannelUpdates::default() {
            if matches!(data, BusData::Tool(Tool::Update { .. } | Tool::Start { .. })) {
                self.work_goes_on();
            }
            self.follow_question(data, is_over(close));
            self.call(data, news, close).await;
        }
        if self.gate.suppressed() {
            self.typing(false);
            self.resumes_typing = false;
        }
    }

    /// The agent is at work: typing begins, or does when no question waits any more (G6).
    fn work_goes_on(&mut self) {
        self.typing_start = TypingStart::Past;
        if self.gate.suppressed() {
            return;
        }
        if self.asked.is_empty() {
            self.typing(true);
        } else {
            self.resumes_typing = true;
        }
    }

    /// Typing stops while a question waits for the person, and for good with one that the end of the run closes (G6).
    fn follow_question(&mut self, data: &BusData, is_over: bool) {
        match data {
            BusData::Question(question) => {
                if self.asked.is_empty() {
                    self.resumes_typing = self.guard.is_typing();
                }
                self.asked.push(question.id.clone());
                self.typing(false);
            }
            BusData::QuestionClosed(closed) => {
                self.asked.retain(|id| *id != closed.id);
                if self.asked.is_empty() && std::mem::take(&mut self.resumes_typing) {
                    self.typing(!is_over);
                }
            }
            _ => {}
        }
    }

    /// Keeps the texts so far, and returns the parts of `data` that are for the channel.
    fn follow(&mut self, data: &BusData) -> ChannelUpdates {
        let mut news = ChannelUpdates::default();
        match data {
            BusData::Assistant { delta, parent: None, .. } => {
                let shown = self.text.growing().len();
                self.text.push(delta);
                news.text = self.text.growing().len() > shown;
            }
            BusData::Thinking { delta, parent: None, .. } => {
                self.thinking.push_str(delta);
                news.thinking = !delta.is_empty();
            }
            BusData::Retract { text, thinking, calls, parent, .. } => {
                if parent.is_none() {
                    let shown = std::mem::take(&mut self.text);
                    self.text.push(text);
                    news.text = self.text.growing() != shown.growing();
                    news.thinking = self.thinking != *thinking;
                    self.thinking.clone_from(thinking);
                }
                news.tool = !calls.is_empty();
            }
            BusData::Assistant { .. } | BusData::Thinking { .. } | BusData::Lifecycle(_) => {}
            BusData::Notice(_) => news.notice = true,
            BusData::Tool(_) => news.tool = true,
            BusData::Question(_) | BusData::QuestionWaits(_) | BusData::QuestionClosed(_) => {
                news.question = true;
            }
            BusData::Heard { .. } => news.heard = true,
        }
        match self.run.path {
            RunPath::Main => news,
            RunPath::FollowUp => ChannelUpdates {
                tool: news.tool,
                question: news.question,
                ..ChannelUpdates::default()
            },
        }
    }

    async fn call(
        &mut self,
        data: &BusData,
        news: ChannelUpdates,
        close: &mut watch::Receiver<Option<Close>>,
    ) {
        let Self { guard, text, thinking, began, .. } = self;
        let (channel, began) = (&mut guard.channel, *began);
        let callback: Callback<'_> = Box::pin(async move {
            let mut told = Ok(());
            if news.text {
                told = told.and(channel.text(text.growing()).await);
            }
            if news.thinking {
                told = told.and(channel.thinking(thinking).await);
            }
            told.and(match data {
                BusData::Tool(result @ Tool::Result { .. }) => channel.tool_result(result).await,
                BusData::Tool(tool) => channel.tool(tool).await,
                BusData::Retract { calls, .. } if news.tool => channel.tools_dropped(calls).await,
                BusData::Notice(notice) => channel.notice(notice).await,
                BusData::Question(question) => channel.question(question).await,
                BusData::QuestionWaits(waits) => channel.question_waits(waits).await,
                BusData::QuestionClosed(closed) => channel.question_closed(closed).await,
                BusData::Heard { text, .. } => channel.heard(text).await,
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
            () = expired(close, began) => {
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
        let so_far = std::mem::take(&mut self.text).end();
        let ending = match (self.gate.suppressed(), last.is_failure) {
            _ if last.is_silent => Err(Delivery::Nobody),
            (false, _) => Ok(last.ending(&so_far.text)),
            // The answer is sent; that the run failed is not.
            (true, true) => Ok(RunEnding { answer: String::new(), ..last.ending(&so_far.text) }),
            (true, false) => Err(Delivery::ByTool),
        };
        self.report.final_delivered = match ending {
            Ok(ending) => self.deliver(&ending).await,
            Err(delivery) => {
                self.leave().await;
                delivery
            }
        };
        self.typing(false);
    }

    async fn deliver(&mut self, ending: &RunEnding) -> Delivery {
        let final_message = self.run.final_message;
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

    async fn leave(&mut self) {
        let channel = &mut self.guard.channel;
        let leave = Box::pin(async move { channel.leave().await });
        match timeout(self.run.final_message, guarded(leave)).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => self.report.failed(error.to_string()),
            Ok(Err(words)) => self.report.failed(panicked(&words)),
            Err(_) => self.report.gave_up = true,
        }
    }
}

fn panicked(words: &str) -> String {
    format!("a channel's callback panicked: {words}")
}

/// Returns whether the run has ended.
fn is_over(close: &watch::Receiver<Option<Close>>) -> bool {
    close.borrow().is_some()
}

/// Settles when the run has ended and the limit after it, or after `began`, has passed.
async fn expired(close: &mut watch::Receiver<Option<Close>>, began: Instant) {
    let deadline = match close.wait_for(Option::is_some).await {
        Ok(close) => close.as_ref().map(|close| close.deadline.max(began + DRAIN_LIMIT)),
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

/// Owns a channel. Dropping the guard ends the typing signal, however the run ended.
struct TypingGuard {
    channel: Box<dyn Channel>,
    is_typing: bool,
}

impl TypingGuard {
    pub(crate) fn new(channel: Box<dyn Channel>) -> Self {
        Self { channel, is_typing: false }
    }

    /// Returns whether the typing signal is on.
    fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Turns the typing signal on or off, unless it is so already.
    ///
    /// # Errors
    ///
    /// The message of a panic of the channel.
    fn typing(&mut self, on: bool) -> Result<(), String> {
        if std::mem::replace(&mut self.is_typing, on) == on {
            return Ok(());
        }
        catch_unwind(AssertUnwindSafe(|| self.channel.typing(on)))
            .map_err(|panic| panic_words(panic.as_ref()))
    }
}

impl Drop for TypingGuard {
    fn drop(&mut self) {
        // The report of the run is made already, so that a panic has no place to be reported.
        let _ = self.typing(false);
    }
}
