//! Makes a chat's calls: one at a time, each within its limit, and none before the time for which Telegram asked; and
//! sends the sign that the agent is at work ([G6](crate::rules::G6)).

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::api::{BotApi, BotApiError, BotCall, pause};
use crate::bridge::Task;
use crate::bus::lock;
use crate::limits::ChatLimits;

/// The longest time of a typing signal; the final message may have to wait for it.
const SIGNAL_LIMIT: Duration = Duration::from_secs(1);
/// The time between two signs: Telegram shows one for 5 s.
const SIGNAL_EVERY: Duration = Duration::from_secs(5);

/// Makes the calls of one chat: those of the draft, of the questions and of the final message. Each of
/// them knows itself when it may call again (V6), and learns here what Telegram asked of the others.
pub(super) struct Caller {
    api: Arc<dyn BotApi>,
    /// The limits on waits for the server.
    pub(super) limits: ChatLimits,
    /// The time before which Telegram wants no call, as the answers to calls say.
    not_before: Mutex<Option<Instant>>,
    /// The time before which it wants no typing signal, as the answers to both say.
    no_signal_before: Mutex<Option<Instant>>,
    /// The message of the person to which the first message of the turn replies; `None` once it is sent (V12).
    reply_to: Mutex<Option<i64>>,
    /// Owned by the call that is under way.
    turn: AsyncMutex<()>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Caller {
    pub(super) fn new(api: Arc<dyn BotApi>, limits: ChatLimits, reply_to: Option<i64>) -> Self {
        Self {
            api,
            limits,
            reply_to: Mutex::new(reply_to),
            not_before: Mutex::default(),
            no_signal_before: Mutex::default(),
            turn: AsyncMutex::default(),
        }
    }

    /// Returns the time before which Telegram wants no call; `None` if a call may be made now.
    pub(super) fn not_before(&self) -> Option<Instant> {
        lock(&self.not_before).filter(|until| Instant::now() < *until)
    }

    /// Makes `call` once no other is under way. It may take [`ChatLimits::call`], and as long again
    /// for a text whose markup was refused. `NotModified` is success.
    pub(super) async fn submit(&self, call: BotCall) -> Result<i64, BotApiError> {
        let _turn = self.turn.lock().await;
        self.make(call).await
    }

    /// Makes `call` as [`submit`](Self::submit) does, and says when it was made, after those before it.
    pub(super) async fn submit_timed(&self, call: BotCall) -> (Instant, Result<i64, BotApiError>) {
        let _turn = self.turn.lock().await;
        let made = Instant::now();
        (made, self.make(call).await)
    }

    /// Makes a call, and once more without markup if that is refused (V6).
    async fn make(&self, mut call: BotCall) -> Result<i64, BotApiError> {
        if let Some(until) = self.not_before() {
            // Another call was asked to wait while this one stood in line.
            let left = until.saturating_duration_since(Instant::now());
            return Err(BotApiError::RetryAfter {
                seconds: left.as_millis().div_ceil(1_000) as u64,
            });
        }
        let is_new = call.message_id.is_none();
        if is_new {
            call.reply_to = *lock(&self.reply_to);
        }
        let plain = without_markup(&call);
        let answer = match (self.answer(call).await, plain) {
            (Err(BotApiError::Markup(_)), Some(plain)) => self.answer(plain).await,
            (answer, _) => answer,
        };
        if is_new && answer.is_ok() {
            *lock(&self.reply_to) = None;
        }
        answer.map_err(|error| match error {
            BotApiError::Markup(words) => BotApiError::Other(words),
            error => error,
        })
    }

    /// Makes a call once, and returns the number of its message.
    async fn answer(&self, call: BotCall) -> Result<i64, BotApiError> {
        let message_id = call.message_id;
        match timeout(self.limits.call, self.api.call(call)).await {
            Ok(Ok(sent)) => Ok(sent.message_id),
            Ok(Err(BotApiError::NotModified)) => message_id.ok_or(BotApiError::NotModified),
            Ok(Err(error)) => {
                self.heed(&error, &[&self.not_before, &self.no_signal_before]);
                Err(error)
            }
            Err(_) => Err(BotApiError::Lost(late(self.limits.call))),
        }
    }

    /// Sends the sign that the agent is at work, unless Telegram asked to wait. Such a signal may
    /// fail, because no call depends on it.
    async fn signal(&self) {
        let waits = lock(&self.no_signal_before).is_some_and(|until| Instant::now() < until);
        if waits {
            return;
        }
        if let Ok(Err(error)) = timeout(SIGNAL_LIMIT, self.api.typing()).await {
            self.heed(&error, &[&self.no_signal_before]);
        }
    }

    fn heed(&self, error: &BotApiError, places: &[&Mutex<Option<Instant>>]) {
        if let BotApiError::RetryAfter { seconds } = error {
            let wait = pause(*seconds, 1, self.limits.retry_after);
            let until = Some(Instant::now() + wait);
            places.iter().for_each(|place| *lock(place) = until);
        }
    }
}

/// Returns the call with the text that a person reads, without tags; `None` if it has none. What is no tag stays escaped.
fn without_markup(call: &BotCall) -> Option<BotCall> {
    let mut parts = call.text.split('<');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let shown = parts.map(|part| part.split_once('>').map_or(part, |(_, shown)| shown));
    text.extend(shown);
    (text != call.text).then(|| BotCall { text, ..call.clone() })
}

/// The words about an answer that did not come within `limit`.
pub(super) fn late(limit: Duration) -> String {
    format!("none came in {} s, the most that `--api-timeout` allows", limit.as_secs_f64())
}

/// The sign while it is on. Dropping it sends no more.
#[derive(Debug)]
pub(super) struct Typing {
    stop: watch::Sender<bool>,
    task: Task<()>,
}

impl Typing {
    pub(super) fn start(caller: Arc<Caller>) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self { stop, task: Task::spawn(keep_typing(caller, stopped)) }
    }

    /// Sends no more, and waits for a signal that is under way: it must not come after the final message.
    pub(super) async fn end(self) {
        self.stop.send_replace(true);
        // The task does not panic, and its end is all that is waited for.
        let _ = self.task.join().await;
    }
}

async fn keep_typing(caller: Arc<Caller>, mut stopped: watch::Receiver<bool>) {
    loop {
        let next = Instant::now() + SIGNAL_EVERY;
        caller.signal().await;
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => return,
            () = sleep_until(next) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telegram::tests::fake::{FakeBotApi, FakeReply};

    /// Returns a call that edits the message of this number, or sends a new one.
    fn call(message_id: Option<i64>) -> BotCall {
        BotCall {
            method: crate::telegram::draft::method(message_id),
            message_id,
            text: "x".to_owned(),
            file: None,
            reply_to: None,
            buttons: Vec::new(),
            question: None,
            is_final: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn v12_the_first_message_of_a_turn_is_a_reply() {
        let refused = FakeReply::Fails(BotApiError::Network("down".to_owned()));
        let fake = Arc::new(FakeBotApi::new(vec![refused]));
        let caller = Caller::new(fake.clone(), ChatLimits::default(), Some(7));
        for message_id in [None, None, Some(100), None] {
            // The first one fails.
            let _ = caller.submit(call(message_id)).await;
        }
        let replies: Vec<_> = fake.calls().iter().map(|call| call.reply_to).collect();
        assert_eq!(replies, [Some(7), Some(7), None, None]);
    }

    #[tokio::test(start_paused = true)]
    async fn v6_a_call_may_come_when_the_wait_is_over() {
        let script = vec![FakeReply::Fails(BotApiError::RetryAfter { seconds: 2 })];
        let fake = Arc::new(FakeBotApi::new(script));
        let caller = Caller::new(fake.clone(), ChatLimits::default(), None);
        let call = || call(None);
        let wait = |seconds| Err(BotApiError::RetryAfter { seconds });
        assert_eq!((caller.not_before(), caller.submit(call()).await), (None, wait(2)));
        let until = Instant::now() + Duration::from_secs(2);
        for (advance_ms, expect) in [(0, wait(2)), (1_500, wait(1)), (499, wait(1))] {
            tokio::time::advance(Duration::from_millis(advance_ms)).await;
            assert_eq!(caller.not_before(), Some(until));
            assert_eq!(caller.submit(call()).await, expect);
            caller.signal().await;
        }
        assert_eq!((fake.log().len(), fake.signals().len()), (1, 0));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!((caller.not_before(), caller.submit(call()).await), (None, Ok(100)));
        caller.signal().await;
        assert_eq!((fake.log().len(), fake.signals()), (2, vec![2_000]));
    }
}
