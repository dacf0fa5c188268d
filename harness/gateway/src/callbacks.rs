//! A channel made of closures, for a gateway that has its own way to talk.

use std::fmt;

use crate::bus::Tool;
use crate::channel::{Callback, Channel, Delivery, FinishFuture, done};
use crate::ending::RunEnding;
use crate::notice::Notice;
use crate::question::{Question, QuestionClosed, QuestionWaits};

type OnFinish = Option<Box<dyn for<'a> FnMut(&'a RunEnding) -> FinishFuture<'a> + Send>>;
type On<T> = Option<Box<dyn for<'a> FnMut(&'a T) -> Callback<'a> + Send>>;

/// A [`Channel`] of closures; an event without a closure is ignored.
///
/// A closure gives a future that settles when the callback is done; [`done`] is one that has
/// settled. The bridge keeps them in order and one at a time ([G1](crate::rules::G1)).
///
/// ```
/// use clitape_gateway::{CallbackError, Callbacks, Delivery, done};
///
/// let _channel = Callbacks::new()
///     .on_text(|text| {
///         println!("{text}");
///         done()
///     })
///     .on_tool(|tool| Box::pin(async move { show(tool.title()).await.map_err(CallbackError::new) }))
///     .on_finish(|ending| {
///         println!("{ending}");
///         Box::pin(async { Delivery::Sent { message_ids: vec![1] } })
///     });
///
/// async fn show(line: &str) -> std::io::Result<()> {
///     println!("{line}");
///     Ok(())
/// }
/// ```
#[derive(Default)]
pub struct Callbacks {
    text: On<str>,
    thinking: On<str>,
    tool: On<Tool>,
    tool_result: On<Tool>,
    tools_dropped: On<[String]>,
    notice: On<Notice>,
    question: On<Question>,
    question_waits: On<QuestionWaits>,
    question_closed: On<QuestionClosed>,
    heard: On<str>,
    typing: Option<Box<dyn FnMut(bool) + Send>>,
    finish: OnFinish,
}

impl Callbacks {
    /// Makes a channel without callbacks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hears the answer so far: [`Channel::text`].
    #[must_use]
    pub fn on_text(
        mut self,
        f: impl for<'a> FnMut(&'a str) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.text = Some(Box::new(f));
        self
    }

    /// Hears the reasoning so far: [`Channel::thinking`].
    #[must_use]
    pub fn on_thinking(
        mut self,
        f: impl for<'a> FnMut(&'a str) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.thinking = Some(Box::new(f));
        self
    }

    /// Hears of calls that begin, and of their input: [`Channel::tool`].
    #[must_use]
    pub fn on_tool(
        mut self,
        f: impl for<'a> FnMut(&'a Tool) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.tool = Some(Box::new(f));
        self
    }

    /// Hears of calls that ended: [`Channel::tool_result`].
    #[must_use]
    pub fn on_tool_result(
        mut self,
        f: impl for<'a> FnMut(&'a Tool) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.tool_result = Some(Box::new(f));
        self
    }

    /// Hears of calls that will never start: [`Channel::tools_dropped`].
    #[must_use]
    pub fn on_tools_dropped(
        mut self,
        f: impl for<'a> FnMut(&'a [String]) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.tools_dropped = Some(Box::new(f));
        self
    }

    /// Hears of what else happens: [`Channel::notice`].
    #[must_use]
    pub fn on_notice(
        mut self,
        f: impl for<'a> FnMut(&'a Notice) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.notice = Some(Box::new(f));
        self
    }

    /// Hears of questions of the CLI: [`Channel::question`].
    #[must_use]
    pub fn on_question(
        mut self,
        f: impl for<'a> FnMut(&'a Question) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.question = Some(Box::new(f));
        self
    }

    /// Hears of questions that have waited for some time: [`Channel::question_waits`].
    #[must_use]
    pub fn on_question_waits(
        mut self,
        f: impl for<'a> FnMut(&'a QuestionWaits) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.question_waits = Some(Box::new(f));
        self
    }

    /// Hears of questions that are closed: [`Channel::question_closed`].
    #[must_use]
    pub fn on_question_closed(
        mut self,
        f: impl for<'a> FnMut(&'a QuestionClosed) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.question_closed = Some(Box::new(f));
        self
    }

    /// Hears of messages of the person that became part of the turn: [`Channel::heard`].
    #[must_use]
    pub fn on_heard(
        mut self,
        f: impl for<'a> FnMut(&'a str) -> Callback<'a> + Send + 'static,
    ) -> Self {
        self.heard = Some(Box::new(f));
        self
    }

    /// Hears of the agent's work, `true` when it begins: [`Channel::typing`]. Must return at once.
    #[must_use]
    pub fn on_typing(mut self, f: impl FnMut(bool) + Send + 'static) -> Self {
        self.typing = Some(Box::new(f));
        self
    }

    /// Delivers the final message, once: [`Channel::finish`]. Without this closure it is not
    /// delivered.
    #[must_use]
    pub fn on_finish(
        mut self,
        f: impl for<'a> FnMut(&'a RunEnding) -> FinishFuture<'a> + Send + 'static,
    ) -> Self {
        self.finish = Some(Box::new(f));
        self
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks")
            .field("text", &self.text.is_some())
            .field("thinking", &self.thinking.is_some())
            .field("tool", &self.tool.is_some())
            .field("tool_result", &self.tool_result.is_some())
            .field("tools_dropped", &self.tools_dropped.is_some())
            .field("notice", &self.notice.is_some())
            .field("question", &self.question.is_some())
            .field("question_waits", &self.question_waits.is_some())
            .field("question_closed", &self.question_closed.is_some())
            .field("heard", &self.heard.is_some())
            .field("typing", &self.typing.is_some())
            .field("finish", &self.finish.is_some())
            .finish()
    }
}

/// Calls `f` with `what`, if there is a closure; otherwise the callback is done.
fn call<'a, T: ?Sized>(f: &mut On<T>, what: &'a T) -> Callback<'a> {
    match f {
        Some(f) => f(what),
        None => done(),
    }
}

impl Channel for Callbacks {
    fn text<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        call(&mut self.text, text)
    }

    fn thinking<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        call(&mut self.thinking, text)
    }

    fn tool<'a>(&'a mut self, tool: &'a Tool) -> Callback<'a> {
        call(&mut self.tool, tool)
    }

    fn tool_result<'a>(&'a mut self, result: &'a Tool) -> Callback<'a> {
        call(&mut self.tool_result, result)
    }

    fn tools_dropped<'a>(&'a mut self, calls: &'a [String]) -> Callback<'a> {
        call(&mut self.tools_dropped, calls)
    }

    fn notice<'a>(&'a mut self, notice: &'a Notice) -> Callback<'a> {
        call(&mut self.notice, notice)
    }

    fn question<'a>(&'a mut self, question: &'a Question) -> Callback<'a> {
        call(&mut self.question, question)
    }

    fn question_waits<'a>(&'a mut self, waits: &'a QuestionWaits) -> Callback<'a> {
        call(&mut self.question_waits, waits)
    }

    fn question_closed<'a>(&'a mut self, closed: &'a QuestionClosed) -> Callback<'a> {
        call(&mut self.question_closed, closed)
    }

    fn heard<'a>(&'a mut self, text: &'a str) -> Callback<'a> {
        call(&mut self.heard, text)
    }

    fn typing(&mut self, on: bool) {
        if let Some(f) = &mut self.typing {
            f(on);
        }
    }

    fn finish<'a>(&'a mut self, ending: &'a RunEnding) -> FinishFuture<'a> {
        match &mut self.finish {
            Some(f) => f(ending),
            None => Box::pin(std::future::ready(Delivery::Nobody)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_closure_is_kept() {
        let channel = Callbacks::new()
            .on_text(|_| done())
            .on_thinking(|_| done())
            .on_tool(|_| done())
            .on_tool_result(|_| done())
            .on_tools_dropped(|_| done())
            .on_notice(|_| done())
            .on_question(|_| done())
            .on_question_waits(|_| done())
            .on_question_closed(|_| done())
            .on_heard(|_| done())
            .on_typing(|_| ())
            .on_finish(|_| Box::pin(async { Delivery::Nobody }));
        let shown = format!("{channel:?}");
        assert!(shown.contains("text: true") && !shown.contains("false"), "{shown}");
        let shown = format!("{:?}", Callbacks::new());
        assert!(shown.contains("text: false") && !shown.contains("true"), "{shown}");
    }

    #[tokio::test]
    async fn q2_a_question_that_waits_is_heard_of() {
        let seconds = Arc::new(AtomicUsize::new(0));
        let heard = seconds.clone();
        let mut channel = Callbacks::new().on_question_waits(move |waits| {
            heard.fetch_add(waits.after.as_secs() as usize, Ordering::SeqCst);
            done()
        });
        let (after, denied_in) = (Duration::from_secs(60), Duration::from_secs(540));
        let waits = QuestionWaits { id: "q1".to_owned(), after, denied_in };
        channel.question_waits(&waits).await.expect("the closure does not fail");
        assert_eq!(seconds.load(Ordering::SeqCst), 60);
    }
}
