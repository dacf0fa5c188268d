//! One message of a question: what the chat shows of it, what is to be sent next, and what became of that.

use std::time::Duration;

use super::super::api::{BotApiError, backoff};
use super::message::{AskedMessage, QuestionFace};
use crate::question::Closing;

/// New messages of one question whose answer may be lost.
const LOST_LIMIT: u32 = 2;
/// How often a call is made that comes to nothing once the run is over (V6).
const TRIES: u32 = 5;

/// A message and what the chat shows of it.
#[derive(Debug)]
pub(super) struct PostedMessage {
    pub(super) asked: AskedMessage,
    /// The messages that are there ahead of it.
    pub(super) ahead: Vec<i64>,
    pub(super) message_id: Option<i64>,
    pub(super) shown: Option<QuestionFace>,
    /// Whether it may have something else to show than it shows.
    pub(super) may_differ: bool,
    /// New messages whose answer was lost.
    pub(super) lost: u32,
    /// Calls in a row that came to nothing.
    pub(super) failures: u32,
    /// Why it is not shown any further.
    pub(super) given_up: Option<String>,
}

/// A call that is to be made for the message with this index.
pub(super) struct DueCall {
    pub(super) index: usize,
    pub(super) message_id: Option<i64>,
    pub(super) face: QuestionFace,
    /// Id of the question.
    pub(super) question: String,
    /// Whether it is one of those that go ahead.
    pub(super) is_ahead: bool,
}

impl PostedMessage {
    /// A message that is to be sent.
    pub(super) fn new(asked: AskedMessage) -> Self {
        Self {
            asked,
            ahead: Vec::new(),
            message_id: None,
            shown: None,
            may_differ: true,
            lost: 0,
            failures: 0,
            given_up: None,
        }
    }

    /// Whether all that goes ahead of it is there, or is given up.
    pub(super) fn is_next(&self) -> bool {
        self.asked.closed.is_some()
            || self.asked.unshown.is_some()
            || self.ahead.len() >= self.asked.ahead.len()
    }

    /// Whether a person may have seen all of what a button of it says yes to.
    pub(super) fn has_buttons(&self) -> bool {
        self.asked.unshown.is_none() && self.is_next()
    }

    /// Whether there is something to show.
    pub(super) fn is_due(&self, face: &QuestionFace) -> bool {
        let was_shown = self.shown.is_some() || self.lost > 0 || !self.ahead.is_empty();
        let closing = self.asked.closed.as_ref().map(|closed| &closed.closing);
        // A question that nobody saw leaves nothing behind, unless nobody could answer it.
        let is_moot = !was_shown && !matches!(closing, None | Some(Closing::Expired));
        self.given_up.is_none() && !is_moot && self.shown.as_ref() != Some(face)
    }

    /// Writes down what became of a call; how long to wait before the next one.
    pub(super) fn settle(
        &mut self,
        call: DueCall,
        submitted: Result<i64, BotApiError>,
        is_ending: bool,
    ) -> Option<Duration> {
        self.may_differ = true;
        match submitted {
            Ok(message_id) if call.is_ahead => {
                self.ahead.push(message_id);
                (self.failures, self.lost) = (0, 0);
                None
            }
            Ok(message_id) => {
                self.message_id = Some(message_id);
                self.shown = Some(call.face);
                self.failures = 0;
                None
            }
            Err(error @ (BotApiError::Network(_) | BotApiError::Lost(_))) => {
                self.failures += 1;
                if self.message_id.is_none() && matches!(error, BotApiError::Lost(_)) {
                    self.lost += 1;
                }
                if self.lost >= LOST_LIMIT && call.is_ahead {
                    self.asked.unshown = Some(error.to_string());
                    self.lost = 0;
                } else if self.lost >= LOST_LIMIT || (is_ending && self.failures >= TRIES) {
                    self.given_up = Some(error.to_string());
                }
                Some(backoff(self.failures))
            }
            Err(error) if call.is_ahead => {
                self.asked.unshown = Some(error.to_string());
                None
            }
            // A message that can't be edited, because it was deleted, is sent again while it is open.
            Err(BotApiError::Other(_))
                if self.message_id.is_some() && self.asked.closed.is_none() =>
            {
                self.message_id = None;
                self.shown = None;
                self.ahead.clear();
                None
            }
            Err(error) => {
                self.given_up = Some(error.to_string());
                None
            }
        }
    }
}
