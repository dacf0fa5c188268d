//! A channel some of whose callbacks fail or never settle, as a gateway's own may (G2).

use clitape_gateway::question::{Question, QuestionClosed, QuestionWaits};
use clitape_gateway::{Callback, CallbackError, Channel, FinishFuture, Notice, RunEnding, Tool};

use super::agent_fault::{AgentFault, AgentFaultKind};

/// A callback that goes wrong. Typing and the final message are none.
#[derive(Debug, Clone, Copy)]
pub(super) struct StuckCallback {
    /// Its number, from 1.
    number: u64,
    /// Whether it never settles; otherwise it fails.
    hangs: bool,
}

impl StuckCallback {
    /// The callback with this number, which never settles.
    pub(super) fn hangs(number: u64) -> Self {
        Self { number, hangs: true }
    }

    /// The callback of a fault of a plan; none for a fault that changes the bytes.
    pub(super) fn of_fault(fault: &AgentFault) -> Option<Self> {
        let hangs = fault.kind == AgentFaultKind::CallbackHangs;
        fault.kind.is_of_channel().then_some(Self { number: fault.number, hangs })
    }
}

/// Passes everything on to `channel` but for some callbacks.
pub(super) struct Stuck {
    channel: Box<dyn Channel>,
    callbacks: Vec<StuckCallback>,
    /// The number of callbacks so far.
    count: u64,
}

impl Stuck {
    /// The channel with these callbacks.
    pub(super) fn new(channel: Box<dyn Channel>, callbacks: Vec<StuckCallback>) -> Self {
        Self { channel, callbacks, count: 0 }
    }

    /// The callback that `pass` makes, or one that goes wrong.
    fn call<'a>(
        &'a mut self,
        pass: impl FnOnce(&'a mut dyn Channel) -> Callback<'a>,
    ) -> Callback<'a> {
        self.count += 1;
        match self.callbacks.iter().find(|callback| callback.number == self.count) {
            None => pass(self.channel.as_mut()),
            Some(StuckCallback { hangs: true, .. }) => Box::pin(std::future::pending()),
            Some(_) => Box::pin(std::future::ready(Err(CallbackError::new("planned")))),
        }
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
