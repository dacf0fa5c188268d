//! The channel in its seat: whoever leaves it takes the typing signal off (G6).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::bridge::{Channel, panic_words};

/// Holds a channel. Dropping it ends the typing signal, however the run ended.
pub(crate) struct TypingGuard {
    pub(crate) channel: Box<dyn Channel>,
    is_typing: bool,
}

impl TypingGuard {
    pub(crate) fn new(channel: Box<dyn Channel>) -> Self {
        Self { channel, is_typing: false }
    }

    /// Tells the channel whether the agent is at work, if that is news.
    ///
    /// # Errors
    ///
    /// What the channel said when it panicked.
    pub(crate) fn typing(&mut self, on: bool) -> Result<(), String> {
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
