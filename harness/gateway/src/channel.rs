//! A channel: where a person sees a run, and what becomes of the run there.

use std::any::Any;
use std::pin::Pin;

use crate::bus::Tool;
use crate::ending::RunEnding;
use crate::notice::Notice;
use crate::question::{Question, QuestionClosed, QuestionWaits};

/// The future of a callback.
pub type Callback<'a> = Pin<Box<dyn Future<Output = Result<(), CallbackError>> + Send + 'a>>;
/// The future that delivers a run's final message.
pub type FinishFuture<'a> = Pin<Box<dyn Future<Output = Delivery> + Send + 'a>>;

/// The reason why a callback failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a channel's callback failed: {0}; later events still reach it")]
pub struct CallbackError(
    /// The channel's own words.
    pub String,
);

impl CallbackError {
    /// Takes the words of any error.
    pub fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The fate of a run's final message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The run has no recipient, or the turn answers no message and has no text
    /// ([Q10](crate::rules::Q10)).
    Nobody,
    /// It was sent.
    Sent {
        /// The messages that carry it, in order.
        message_ids: Vec<i64>,
    },
    /// The message that a person sees has exactly this text already, so that no call was needed.
    AlreadyShown {
        /// That message.
        message_id: i64,
    },
    /// The agent has sent its message with a tool, so that no second one was sent on top of it
    /// ([G4](crate::rules::G4)).
    ByTool,
    /// It did not arrive.
    Failed {
        /// A sentence that says why.
        reason: String,
    },
}

/// The kind of a run, which decides what its channels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunPath {
    /// The run answers a person's message: its channels get all events.
    #[default]
    Main,
    /// The run follows up on another one: of its progress, its channels get only the tools. Its final
    /// message is delivered like any other.
    FollowUp,
}

/// A place in which a person sees the run.
///
/// The bridge runs one callback at a time, in the order of the events ([G1](crate::rules::G1)). A
/// callback that fails or panics is counted, the later ones still come; one that never settles is
/// dropped at the end of the run ([G2](crate::rules::G2)). The default of a callback ignores its
/// event.
pub trait Channel: Send {
    /// The answer has grown, or some of it was taken back; `text` is all of it so far.
    fn text<'a>(&'a mut self, text: &'a str) -> Callback<'a>;

    /// The reasoning has grown, or some of it was taken back; `text` is all of it so far.
    fn thinking<'a>(&'a mut self, text: &'a str) -> Callback<'a>;

    /// A tool call begins, or more of its input came: [`Tool::Start`] or [`Tool::Update`], with the
    /// call's id ([G5](crate::rules::G5)).
    fn tool<'a>(&'a mut self, tool: &'a Tool) -> Callback<'a>;

    /// A tool call ended: [`Tool::Result`], with the call's id ([G5](crate::rules::G5)).
    fn tool_result<'a>(&'a mut self, result: &'a Tool) -> Callback<'a> {
        let _ = result;
        done()
    }

    /// Calls whose input was shown will never start, so that their lines are removed.
    fn tools_dropped<'a>(&'a mut self, calls: &'a [String]) -> Callback<'a> {
        let _ = calls;
        done()
    }

    /// Something else came that a person may want to know, such as that the conversation is
    /// compacted.
    fn notice<'a>(&'a mut self, notice: &'a Notice) -> Callback<'a> {
        let _ = notice;
        done()
    }

    /// The CLI asks a person before a tool runs, and waits ([Q1](crate::rules::Q1)).
    fn question<'a>(&'a mut self, question: &'a Question) -> Callback<'a> {
        let _ = question;
        done()
    }

    /// A question has waited for some time: the person is reminded ([Q5](crate::rules::Q5)).
    fn question_waits<'a>(&'a mut self, waits: &'a QuestionWaits) -> Callback<'a> {
        let _ = waits;
        done()
    }

    /// A question was answered or needs no answer any more, so that its buttons go. It comes once
    /// for each question, before the run is over ([Q1](crate::rules::Q1)).
    fn question_closed<'a>(&'a mut self, closed: &'a QuestionClosed) -> Callback<'a> {
        let _ = closed;
        done()
    }

    /// A message that the person sent meanwhile is part of this turn ([Q9](crate::rules::Q9)).
    fn heard<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        let _ = text;
        done()
    }

    /// Turns the sign on or off that says the agent is at work ([G6](crate::rules::G6)). It goes on
    /// half a second after the run began, or sooner beside the callback of the first tool, and off when the run is over, aborted and broken ones
    /// included, and while a question is open. Must return at once: a channel that has to make a call starts a task of its own.
    fn typing(&mut self, on: bool) {
        let _ = on;
    }

    /// The run is over: deliver its final message, once ([V7](crate::rules::V7)). No other callback
    /// comes after it.
    fn finish<'a>(&'a mut self, ending: &'a RunEnding) -> FinishFuture<'a>;

    /// The run is over, and the agent has sent its message with a tool ([G4](crate::rules::G4)), or
    /// has no message ([Q10](crate::rules::Q10)): show the rest that is not shown yet, and send no
    /// message. It comes in the place of [`finish`](Self::finish).
    fn leave(&mut self) -> Callback<'_> {
        done()
    }
}

/// Returns a callback that has already succeeded.
pub fn done() -> Callback<'static> {
    Box::pin(std::future::ready(Ok(())))
}

/// The report on a run in one of its channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelReport {
    /// Callbacks that failed, panicked or were given up ([G2](crate::rules::G2)).
    pub callback_failures: u64,
    /// The reason why the first of them failed.
    pub first_failure: Option<String>,
    /// True if a callback or the final message did not settle in time and was given up
    /// ([G2](crate::rules::G2)).
    pub gave_up: bool,
    /// The fate of the final message ([V7](crate::rules::V7)).
    pub final_delivered: Delivery,
}

impl ChannelReport {
    pub(crate) fn new() -> Self {
        let final_delivered = Delivery::Nobody;
        Self { callback_failures: 0, first_failure: None, gave_up: false, final_delivered }
    }

    pub(crate) fn failed(&mut self, why: String) {
        self.callback_failures += 1;
        self.first_failure.get_or_insert(why);
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words").to_owned()
}
