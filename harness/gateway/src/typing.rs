//! A guard that ends the typing signal of a channel when it is dropped ([G6](crate::rules::G6)).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::channel::{Channel, panic_words};

/// Owns a channel. Dropping the guard ends the typing signal, however the run ended.
pub(crate) struct TypingGuard {
    pub(crate) channel: Box<dyn Channel>,
    is_typing: bool,
}

impl TypingGuard {
    pub(crate) fn new(channel: Box<dyn Channel>) -> Self {
        Self { channel, is_typing: false }
    }

    /// Whether the typing signal is on.
    pub(crate) fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Turns the typing signal on or off, unless it is so already.
    ///
    /// # Errors
    ///
    /// The message of a panic of the channel.
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
