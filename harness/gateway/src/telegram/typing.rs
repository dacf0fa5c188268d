//! The sign of a chat that says the agent is at work ([G6](crate::rules::G6)).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::caller::Caller;
use crate::bridge::Task;

/// How often it is sent: Telegram shows it for 5 s.
const EVERY: Duration = Duration::from_secs(5);

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
        let next = Instant::now() + EVERY;
        caller.signal().await;
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => return,
            () = sleep_until(next) => {}
        }
    }
}
