//! A Telegram for tests: answers as scripted, and writes down when it was asked what.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::bus::lock;
use crate::telegram::api::{
    BotApi, BotApiError, BotCall, BotMethod, CallFuture, SentMessage, SignalFuture,
};

/// The reply to one call.
#[derive(Clone)]
pub(crate) enum FakeReply {
    /// It goes well after so many milliseconds.
    After(u64),
    /// It fails at once.
    Fails(BotApiError),
    /// It never settles.
    Never,
}

/// The fake. Calls beyond the script go well at once; messages are numbered from 100.
pub(crate) struct FakeBotApi {
    script: Vec<FakeReply>,
    started: Instant,
    busy: AtomicBool,
    log: Mutex<Vec<String>>,
    calls: Mutex<Vec<BotCall>>,
    signals: Mutex<Vec<u128>>,
    next_id: Mutex<i64>,
}

impl FakeBotApi {
    pub(crate) fn new(script: Vec<FakeReply>) -> Self {
        Self {
            script,
            started: Instant::now(),
            busy: AtomicBool::new(false),
            log: Mutex::default(),
            calls: Mutex::default(),
            signals: Mutex::default(),
            next_id: Mutex::new(100),
        }
    }

    /// One line a call: `<ms> send|edit <message>|file [final] <text>`, and the buttons where there are any,
    /// `[Allow|Deny] [Always]`.
    pub(crate) fn log(&self) -> Vec<String> {
        lock(&self.log).clone()
    }

    /// The calls themselves.
    pub(crate) fn calls(&self) -> Vec<BotCall> {
        lock(&self.calls).clone()
    }

    /// The milliseconds of the typing signs.
    pub(crate) fn signals(&self) -> Vec<u128> {
        lock(&self.signals).clone()
    }
}

/// Marks the end of a call, also of one that was dropped.
struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl BotApi for FakeBotApi {
    fn typing(&self) -> SignalFuture<'_> {
        lock(&self.signals).push(self.started.elapsed().as_millis());
        Box::pin(async {
            sleep(Duration::from_millis(300)).await;
            Ok(())
        })
    }

    fn call(&self, call: BotCall) -> CallFuture<'_> {
        Box::pin(async move {
            assert!(!self.busy.swap(true, Ordering::SeqCst), "two calls at work at once");
            let _busy = Busy(&self.busy);
            let what = match (call.method, call.message_id) {
                (BotMethod::SendMessage, None) => "send".to_owned(),
                (BotMethod::EditMessageText, Some(id)) => format!("edit {id}"),
                (BotMethod::SendDocument, None) => "file".to_owned(),
                wrong => panic!("no such call: {wrong:?}"),
            };
            lock(&self.calls).push(call.clone());
            let index = {
                let mut log = lock(&self.log);
                let last = if call.is_final { " final" } else { "" };
                let at = self.started.elapsed().as_millis();
                let rows = call.buttons.iter().map(|row| {
                    let texts: Vec<&str> = row.iter().map(|button| &*button.text).collect();
                    format!(" [{}]", texts.join("|"))
                });
                let rows: String = rows.collect();
                log.push(format!("{at} {what}{last} {}{rows}", call.text));
                log.len() - 1
            };
            match self.script.get(index).cloned().unwrap_or(FakeReply::After(0)) {
                FakeReply::After(0) => {}
                FakeReply::After(ms) => sleep(Duration::from_millis(ms)).await,
                FakeReply::Fails(error) => return Err(error),
                FakeReply::Never => std::future::pending().await,
            }
            Ok(SentMessage {
                message_id: call.message_id.unwrap_or_else(|| {
                    let mut next = lock(&self.next_id);
                    *next += 1;
                    *next - 1
                }),
            })
        })
    }
}
