//! A channel one of whose callbacks never settles, as a gateway's own may (G2).

use clitape_gateway::question::{Question, QuestionClosed, QuestionWaits};
use clitape_gateway::{Callback, Channel, FinishFuture, Notice, RunEnding, Tool};

/// Passes everything on to `channel` but for one callback.
pub(super) struct Stuck {
    channel: Box<dyn Channel>,
    /// Callbacks until the one that never settles, itself included.
    left: u64,
}

impl Stuck {
    /// The callback with this `number`, from 1, never settles; typing and the final message are none.
    pub(super) fn new(channel: Box<dyn Channel>, number: u64) -> Self {
        Self { channel, left: number }
    }

    /// The callback that `pass` makes, or one that never settles.
    fn call<'a>(
        &'a mut self,
        pass: impl FnOnce(&'a mut dyn Channel) -> Callback<'a>,
    ) -> Callback<'a> {
        let is_stuck = self.left == 1;
        self.left = self.left.saturating_sub(1);
        if is_stuck { Box::pin(std::future::pending()) } else { pass(self.channel.as_mut()) }
    }
}

impl Channel for Stuck {
    fn text<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.call(move |channel| channel.text(text))
    }

    fn thinking<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.call(move |channel| channel.thinking(text))
    }

    fn tool<'a>(&'a mut self, tool: &'a Tool) -> Callback<'a> {
        self.call(move |channel| channel.tool(tool))
    }

    fn tool_result<'a>(&'a mut self, result: &'a Tool) -> Callback<'a> {
        self.call(move |channel| channel.tool_result(result))
    }

    fn tools_dropped<'a>(&'a mut self, calls: &'a [String]) -> Callback<'a> {
        self.call(move |channel| channel.tools_dropped(calls))
    }

    fn notice<'a>(&'a mut self, notice: &'a Notice) -> Callback<'a> {
        self.call(move |channel| channel.notice(notice))
    }

    fn question<'a>(&'a mut self, question: &'a Question) -> Callback<'a> {
        self.call(move |channel| channel.question(question))
    }

    fn question_waits<'a>(&'a mut self, waits: &'a QuestionWaits) -> Callback<'a> {
        self.call(move |channel| channel.question_waits(waits))
    }

    fn question_closed<'a>(&'a mut self, closed: &'a QuestionClosed) -> Callback<'a> {
        self.call(move |channel| channel.question_closed(closed))
    }

    fn heard<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        self.call(move |channel| channel.heard(text))
    }

    fn typing(&mut self, on: bool) {
        self.channel.typing(on);
    }

    fn finish<'a>(&'a mut self, ending: &'a RunEnding) -> FinishFuture<'a> {
        self.channel.finish(ending)
    }

    fn leave(&mut self) -> Callback<'_> {
        self.channel.leave()
    }
}
