//! The requests of the control protocol, as data: the questions of the host to the CLI, and those of
//! the CLI to its host; and the state of the requests that are open.
//!
//! Both sides write `control_request` records with a `request_id`, and answer with
//! `control_response` records that name it; `control_cancel_request` takes a request back. The SDK
//! 0.3.330 declares the 41 subtypes of [`CONTROL_KINDS`]. A subtype that is not in the table is
//! reported as unknown.

use std::collections::BTreeMap;

/// The side that sends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The host asks the CLI, on stdin.
    Host,
    /// The CLI asks its host, on stdout, and waits for the answer.
    Cli,
}

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlKind {
    /// Its name in the records.
    pub subtype: &'static str,
    /// The side that sends it.
    pub asker: Asker,
    /// The paths of the fields that an event shows: those of the request if the CLI asks, and those
    /// of the answer if the host asks. The last name of a path names the field.
    pub shown: &'static [&'static str],
}

const fn host(subtype: &'static str, shown: &'static [&'static str]) -> ControlKind {
    ControlKind { subtype, asker: Asker::Host, shown }
}

const fn cli(subtype: &'static str, shown: &'static [&'static str]) -> ControlKind {
    ControlKind { subtype, asker: Asker::Cli, shown }
}

/// The question whether a tool may run; its name, input and suggestions are fields of their own.
pub(crate) const CAN_USE_TOOL: &str = "can_use_tool";

/// All kinds of requests.
pub const CONTROL_KINDS: [ControlKind; 41] = [
    cli(
        CAN_USE_TOOL,
        &[
            "title",
            "display_name",
            "description",
            "blocked_path",
            "decision_reason",
            "decision_reason_type",
            "default_to_no",
            "suppress_always_allow_rule",
            "requires_user_interaction",
        ],
    ),
    cli(
        "elicitation",
        &["mcp_server_name", "message", "mode", "url", "elicitation_id", "requested_schema"],
    ),
    cli(
        "hook_callback",
        &["callback_id", "input.hook_event_name", "input.tool_name", "tool_use_id"],
    ),
    cli("mcp_message", &["server_name", "message.method"]),
    cli("request_user_dialog", &["dialog_kind", "tool_use_id", "payload"]),
    host("apply_flag_settings", &[]),
    host("background_tasks", &[]),
    host("cancel_async_message", &["cancelled"]),
    host("file_suggestions", &[]),
    host("get_binary_version", &["version"]),
    host("get_context_usage", &["totalTokens", "maxTokens", "percentage", "model"]),
    host("get_hooks_listing", &[]),
    host("get_session_cost", &[]),
    host("get_settings", &[]),
    host("get_task_output", &[]),
    host("get_usage", &["subscription_type", "rate_limits_available"]),
    host("initialize", &["claude_code_version", "current_permission_mode", "session_state"]),
    host("interrupt", &["still_queued", "cancelled"]),
    host("list_models", &[]),
    host("list_permission_rules", &[]),
    host("mcp_call", &[]),
    host("mcp_read_resource", &[]),
    host("mcp_reconnect", &[]),
    host("mcp_set_servers", &["added", "removed", "errors"]),
    host("mcp_status", &[]),
    host("mcp_toggle", &[]),
    host("read_file", &["absPath", "truncated"]),
    host("register_repo_root", &[]),
    host("reload_output_styles", &[]),
    host("reload_plugins", &["error_count", "held"]),
    host("reload_skills", &[]),
    host("rename_session", &["title"]),
    host("rewind_files", &["canRewind", "error", "filesChanged"]),
    host("seed_read_state", &[]),
    host("set_color", &[]),
    host("set_has_subscribers", &[]),
    host("set_max_thinking_tokens", &[]),
    host("set_model", &["model"]),
    host("set_permission_mode", &["mode"]),
    host("stop_task", &[]),
    host("update_settings", &[]),
];

/// Returns the kind of request with this subtype that `asker` sends.
pub fn control_kind(subtype: &str, asker: Asker) -> Option<&'static ControlKind> {
    CONTROL_KINDS.iter().find(|kind| kind.subtype == subtype && kind.asker == asker)
}

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    pub(crate) fn each_kind_of_request_is_in_the_table_once() {
        let names: BTreeSet<_> = CONTROL_KINDS.iter().map(|kind| kind.subtype).collect();
        assert_eq!(names.len(), CONTROL_KINDS.len());
        let asked = CONTROL_KINDS.iter().filter(|kind| kind.asker == Asker::Cli);
        let asked: Vec<_> = asked.map(|kind| kind.subtype).collect();
        assert_eq!(
            asked,
            ["can_use_tool", "elicitation", "hook_callback", "mcp_message", "request_user_dialog"]
        );
        assert!(control_kind("interrupt", Asker::Host).is_some());
        assert_eq!(control_kind("interrupt", Asker::Cli), None);
        assert_eq!(control_kind("holo", Asker::Host), None);
    }
}
