//! The state of the control protocol: the requests of the CLI that wait for an answer, and the
//! requests of the host.

use std::collections::BTreeMap;

/// A request of the CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CliRequest {
    /// A question before a tool runs that waits for its answer, with the call that it names and the
    /// subagent that asks.
    Question { call: Option<String>, parent: Option<String> },
    /// Another request that waits for its answer.
    Other,
    /// The request was answered or taken back.
    Closed,
}

/// The fit of a host's answer to the requests of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerFit {
    /// It answers an open question.
    Question,
    /// It answers another open request.
    Other,
    /// It answers no open request.
    Nothing,
}

/// The requests of both sides.
#[derive(Debug, Default)]
pub(crate) struct Dialog {
    /// The requests of the CLI by id. Those that are closed stay, because the CLI repeats the host's
    /// answers.
    asked: BTreeMap<String, CliRequest>,
    /// Ids of the open questions, in order.
    questions: Vec<String>,
    /// Subtypes of the host's requests without an answer, by id.
    by_host: BTreeMap<String, String>,
    /// The call that started each task of a subagent, by the id of the task.
    tasks: BTreeMap<String, String>,
}

impl Dialog {
    /// Adds a request of the CLI. Returns false if its id is known, so that it is a repetition.
    pub(crate) fn ask(&mut self, id: &str, request: CliRequest) -> bool {
        if self.asked.contains_key(id) {
            return false;
        }
        if matches!(request, CliRequest::Question { .. }) {
            self.questions.push(id.to_owned());
        }
        self.asked.insert(id.to_owned(), request);
        true
    }

    /// Returns whether the CLI has sent a request with this id.
    pub(crate) fn is_asked(&self, id: &str) -> bool {
        self.asked.contains_key(id)
    }

    /// Finds the request that an answer with this id fits.
    pub(crate) fn fit(&self, id: &str) -> AnswerFit {
        match self.asked.get(id) {
            Some(CliRequest::Question { .. }) => AnswerFit::Question,
            Some(CliRequest::Other) => AnswerFit::Other,
            Some(CliRequest::Closed) | None => AnswerFit::Nothing,
        }
    }

    /// Closes a request of the CLI. Returns whether it was an open question.
    pub(crate) fn close(&mut self, id: &str) -> bool {
        if let Some(request) = self.asked.get_mut(id) {
            *request = CliRequest::Closed;
        }
        let found = self.questions.iter().position(|open| open == id);
        found.map(|at| self.questions.remove(at)).is_some()
    }

    /// Closes the questions about a call, because the call has its result.
    pub(crate) fn close_call(&mut self, call: &str) {
        if !self.questions.is_empty() {
            self.close_where(|asked, _| asked == Some(call));
        }
    }

    /// Closes the open questions for which `ends` returns true, given the call and the subagent that
    /// asks, and returns their ids.
    pub(crate) fn close_where(
        &mut self,
        ends: impl Fn(Option<&str>, Option<&str>) -> bool,
    ) -> Vec<String> {
        let Self { asked, questions, .. } = self;
        let is_closed = |id: &mut String| match asked.get(id) {
            Some(CliRequest::Question { call, parent }) => ends(call.as_deref(), parent.as_deref()),
            _ => true,
        };
        let closed: Vec<_> = questions.extract_if(.., is_closed).collect();
        for id in &closed {
            asked.insert(id.clone(), CliRequest::Closed);
        }
        closed
    }

    /// Adds a request of the host.
    pub(crate) fn ask_cli(&mut self, id: &str, subtype: &str) {
        self.by_host.insert(id.to_owned(), subtype.to_owned());
    }

    /// Returns the subtype of the host's request with this id, which the CLI has answered.
    pub(crate) fn answered_by_cli(&mut self, id: &str) -> Option<String> {
        self.by_host.remove(id)
    }

    /// Records which call has started the task of a subagent.
    pub(crate) fn task(&mut self, task: &str, call: &str) {
        self.tasks.insert(task.to_owned(), call.to_owned());
    }

    /// Returns the call of a subagent's task, or the id of the subagent if its call is unknown.
    pub(crate) fn call_of_task<'a>(&'a self, task: &'a str) -> &'a str {
        self.tasks.get(task).map_or(task, |call| call)
    }
}
