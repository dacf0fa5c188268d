//! The requests of the control protocol, as data: what the host asks of the CLI, and what the CLI
//! asks of its host.
//!
//! Both sides write `control_request` records with a `request_id`, and answer with
//! `control_response` records that name it; `control_cancel_request` takes a request back. The SDK
//! 0.3.330 declares the 41 subtypes of [`CONTROL_KINDS`]. A subtype that is not in the table is
//! reported as unknown.

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

#[cfg(test)]
pub(crate) mod tests {
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
