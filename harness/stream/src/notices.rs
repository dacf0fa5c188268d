//! The table of records that are neither text nor tool calls, and the fields of each that a notice
//! shows.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::emitter::Emitter;
use crate::event::Event;
use crate::json::{self, Malformed, RawJson};
use crate::payload;

/// Condition under which a known record becomes a notice.
#[derive(Debug, Clone, Copy)]
enum NoticeRule {
    Always,
    /// The record is known and never a notice.
    Never,
    /// The field at this path has a value that is neither `null` nor one of these.
    Unless(&'static str, &'static [&'static str]),
    /// One of these fields is present and is not `requesting`.
    Any(&'static [&'static str]),
}

/// A row of the table: `type`, `subtype`, the condition, and the paths of the fields to show. The
/// last name of a path names the field in the notice.
type NoticeRow = (&'static str, Option<&'static str>, NoticeRule, &'static [&'static str]);

use NoticeRule::{Always, Any, Never, Unless};

const fn system(
    subtype: &'static str,
    when: NoticeRule,
    fields: &'static [&'static str],
) -> NoticeRow {
    ("system", Some(subtype), when, fields)
}

const fn silent(kind: &'static str) -> NoticeRow {
    (kind, None, Never, &[])
}

const HOOK: &[&str] = &["hook_name", "hook_event", "exit_code", "outcome", "stderr"];
const TASK: &[&str] = &["task_id", "tool_use_id", "description", "task_type", "subagent_type"];
const REFUSAL: &[&str] = &["content", "original_model", "fallback_model", "direction", "trigger"];
const PROGRESS: &[&str] = &["task_id", "tool_use_id", "description", "last_tool_name", "summary"];
const RETRY: &[&str] = &["attempt", "max_retries", "retry_delay_ms", "error_status", "error"];
const COMPACT: &[&str] = &["status", "compact_result", "compact_error"];
const LIMIT: &[&str] = &[
    "rate_limit_info.status",
    "rate_limit_info.rateLimitType",
    "rate_limit_info.resetsAt",
    "rate_limit_info.utilization",
];

const ROWS: &[NoticeRow] = &[
    ("error", None, Always, &["error.type", "error.message"]),
    ("rate_limit_event", None, Unless("rate_limit_info.status", &["allowed"]), LIMIT),
    ("auth_status", None, Any(&["error"]), &["error"]),
    ("conversation_reset", None, Always, &["new_conversation_id", "trigger"]),
    silent("keep_alive"),
    silent("tool_progress"),
    silent("tool_use_summary"),
    silent("prompt_suggestion"),
    silent("active_goal"),
    silent("command_lifecycle"),
    silent("post_turn_summary"),
    silent("transcript_mirror"),
    system("api_retry", Always, RETRY),
    system(
        "compact_boundary",
        Always,
        &["compact_metadata.trigger", "compact_metadata.pre_tokens"],
    ),
    system("status", Any(COMPACT), COMPACT),
    system("hook_response", Unless("exit_code", &["0"]), HOOK),
    system("hook_started", Never, &[]),
    system("hook_progress", Never, &[]),
    system("informational", Always, &["level", "content"]),
    system("notification", Always, &["key", "text", "priority"]),
    system("permission_denied", Always, &["tool_name", "tool_use_id", "message"]),
    system("model_fallback", Always, REFUSAL),
    system("model_refusal_fallback", Always, REFUSAL),
    system("model_refusal_no_fallback", Always, REFUSAL),
    system("task_started", Always, TASK),
    system("task_progress", Always, PROGRESS),
    system("task_updated", Always, &["task_id", "patch.status", "patch.error"]),
    system("task_notification", Always, &["task_id", "tool_use_id", "status", "summary"]),
    system("local_command_output", Always, &["content"]),
    system(
        "control_request_progress",
        Always,
        &["request_id", "status", "attempt", "error_status"],
    ),
    system("plugin_install", Any(&["error"]), &["name", "status", "error"]),
    system("files_persisted", Never, &[]),
    system("mirror_error", Always, &["error"]),
    system("session_writes_lost", Always, &[]),
    system("worker_shutting_down", Always, &["reason"]),
    system("turn_preempted", Always, &["reason"]),
    system("peer_message_hold", Always, &["from_name", "state", "cause"]),
    system("file_attachments_missing", Always, &["missing", "sent_count"]),
    system("instruction_size_warning", Always, &["total_chars", "total_limit_chars"]),
    system("code_change_published", Always, &["action", "url"]),
    system("ui_toast", Always, &["plugin", "text"]),
    system("background_tasks_changed", Never, &[]),
    system("thinking_tokens", Never, &[]),
    system("session_state_changed", Never, &[]),
    system("session_title_changed", Never, &[]),
    system("commands_changed", Never, &[]),
    system("memory_recall", Never, &[]),
    system("elicitation_complete", Never, &[]),
    system("cloud_session_delta", Never, &[]),
    system("dev_intent", Never, &[]),
    system("feedback_draft_queued", Never, &[]),
    system("inherited_asks_settled", Never, &[]),
    system("per_turn_effort_changed", Never, &[]),
    system("permission_check_status", Never, &[]),
    system("turn_handoff_available", Never, &[]),
    system("ui_focus", Never, &[]),
    system("ui_invalidate", Never, &[]),
    system("ui_log", Never, &[]),
    system("ui_panes", Never, &[]),
    system("ui_placed", Never, &[]),
    system("ui_scroll", Never, &[]),
    system("ui_status", Never, &[]),
    system("vcs_state_changed", Never, &[]),
];

/// Emits a record by its row in the table: as a notice, as a plain record, or as unknown.
#[allow(clippy::expect_used, reason = "the caller has read the record as a JSON object")]
pub(crate) fn notice(kind: &str, subtype: Option<&str>, record: &str, emitter: &mut Emitter<'_>) {
    emitter.record(kind, subtype);
    let row = ROWS.iter().find(|(k, s, ..)| (s.is_none() || *s == subtype) && *k == kind);
    let Some((_, _, when, fields)) = row else {
        return emitter.unknown(kind, subtype, record);
    };
    if matches!(when, Never) {
        return pass(kind, subtype, record, emitter);
    }
    if !is_shown(*when, record) {
        return pass(kind, subtype, record, emitter);
    }
    let detail = named_fields(record, fields.iter()).expect("the record was read before");
    emitter.emit(Event::Notice {
        kind: kind.into(),
        subtype: subtype.map(Into::into),
        detail: Cow::Owned(detail),
    });
}

/// Returns whether the record fulfils the condition.
#[allow(clippy::expect_used, reason = "the caller has read the record as a JSON object")]
fn is_shown(when: NoticeRule, record: &str) -> bool {
    let is_word = |field: RawJson<'_>, word: &str| match json::string(Some(field)) {
        Some(text) => text == word,
        None => field.get() == word,
    };
    match when {
        Always => true,
        Never => false,
        Unless(path, values) => {
            let mut names = path.split('.');
            let first = names.next().expect("a split text has at least one part");
            let [mut found] = json::fields(record, &[first]).expect("the record was read before");
            for name in names {
                [found] = json::inner(found, &[name]);
            }
            found.is_some_and(|found| !values.iter().any(|value| is_word(found, value)))
        }
        Any(names) => {
            let mut found = vec![None; names.len()];
            let read = json::members(record, &mut |key, scan| {
                match names.iter().position(|name| key == *name) {
                    Some(at) => found[at] = scan.field()?,
                    None => scan.skip()?,
                }
                Ok(())
            });
            read.is_ok() && found.into_iter().flatten().any(|found| !is_word(found, "requesting"))
        }
    }
}

/// Emits a recognised record without an event of its own, verbatim.
pub(crate) fn pass(kind: &str, subtype: Option<&str>, record: &str, emitter: &mut Emitter<'_>) {
    let (kind, subtype) = (kind.into(), subtype.map(Into::into));
    emitter.emit(Event::Record { kind, subtype, raw: record.into() });
}

/// Emits a notice about a message that is not part of its content.
pub(crate) fn of_message(
    what: &'static str,
    mut detail: Map<String, Value>,
    parent: Option<&str>,
    emitter: &mut Emitter<'_>,
) {
    if let Some(parent) = parent {
        detail.insert("parent".to_owned(), parent.into());
    }
    emitter.emit(Event::Notice {
        kind: "assistant".into(),
        subtype: Some(what.into()),
        detail: Cow::Owned(detail),
    });
}

/// Returns the fields of a record at these paths that are present; what no path needs is not parsed.
///
/// # Errors
///
/// Returns [`Malformed`] if the text is not one JSON value.
pub(crate) fn named_fields<'p>(
    record: &str,
    paths: impl Iterator<Item = &'p &'static str> + Clone,
) -> Result<Map<String, Value>, Malformed> {
    let begins_a_path = |name: &str| paths.clone().any(|path| path.split('.').next() == Some(name));
    let fields = Value::Object(payload::lenient_fields(record, begins_a_path)?);
    let named = |path: &&'static str| Some((shown_name(path), look_up(&fields, path)?.clone()));
    Ok(paths.filter_map(named).collect())
}

/// Returns the name of a field in the notice: the last name of its path. `type` and `subtype`,
/// which the notice uses itself, get the name before them as a prefix.
fn shown_name(path: &str) -> String {
    match path.rsplit_once('.') {
        Some((before, name @ ("type" | "subtype"))) => format!("{before}_{name}"),
        Some((_, name)) => name.to_owned(),
        None => path.to_owned(),
    }
}

fn look_up<'v>(record: &'v Value, path: &str) -> Option<&'v Value> {
    let found = path.split('.').try_fold(record, |value, name| value.get(name));
    found.filter(|value| !value.is_null())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::emitter::LineCounts;

    fn check(record: &str, expect: &str) {
        let value: Value = serde_json::from_str(record).unwrap();
        let mut seen = String::new();
        let mut sink = |event: Event<'_>| {
            seen = match event {
                Event::Notice { detail, .. } => Value::Object(detail.into_owned()).to_string(),
                Event::Record { raw, .. } => raw.into_owned(),
                other => format!("{other:?}"),
            };
        };
        let mut counts = LineCounts::default();
        let kind = value["type"].as_str().unwrap();
        notice(kind, value["subtype"].as_str(), record, &mut Emitter::line(&mut counts, &mut sink));
        assert_eq!(seen, expect, "{record}");
    }

    #[test]
    pub(crate) fn records_for_a_person_become_notices() {
        check(
            r#"{"type":"system","subtype":"api_retry","attempt":1,"error":"overloaded","uuid":"u"}"#,
            r#"{"attempt":1,"error":"overloaded"}"#,
        );
        check(
            r#"{"type":"system","subtype":"status","status":"compacting"}"#,
            r#"{"status":"compacting"}"#,
        );
        check(
            r#"{"type":"system","subtype":"status","status":null,"compact_result":"success"}"#,
            r#"{"compact_result":"success"}"#,
        );
        check(
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}"#,
            r#"{"status":"rejected"}"#,
        );
        check(
            r#"{"type":"system","subtype":"hook_response","exit_code":2,"stderr":"no"}"#,
            r#"{"exit_code":2,"stderr":"no"}"#,
        );
    }

    #[test]
    pub(crate) fn other_known_records_are_passed_through() {
        for record in [
            r#"{"type":"system","subtype":"status","status":"requesting"}"#,
            r#"{"type":"system","subtype":"status","status":null,"permissionMode":"plan"}"#,
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#,
            r#"{"type":"rate_limit_event"}"#,
            r#"{"type":"system","subtype":"hook_response","exit_code":0}"#,
            r#"{"type":"keep_alive"}"#,
        ] {
            check(record, record);
        }
    }

    #[test]
    fn unknown_types_and_subtypes_are_kept_raw() {
        let record = r#"{"type":"system","subtype":"new_thing"}"#;
        let unknown: Event<'_> = Event::Unknown {
            kind: "system".into(),
            subtype: Some("new_thing".into()),
            raw: record.into(),
        };
        check(record, &format!("{unknown:?}"));
    }
}
