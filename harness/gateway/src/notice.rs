//! Records for a person that are neither text nor tool calls: a conversation that is compacted or cleared, API retries,
//! hooks.

use serde_json::{Map, Value};

use crate::excerpt::short;
use crate::sanitise::sanitise_open_args;

/// The most characters of the CLI's own words in a line.
const WORDS_LIMIT: usize = 120;

/// A known record that a person may want to know of, sanitised ([B2](crate::rules::B2)).
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// Type of the CLI's record, such as `system`.
    pub kind: String,
    /// Its subtype, such as `api_retry`.
    pub subtype: Option<String>,
    /// The fields worth showing.
    pub detail: Map<String, Value>,
}

/// Makes the line of a notice; `None` where a person who waits need not read it.
type NoticeLine = fn(&Notice) -> Option<String>;

/// `type`, `subtype`, and the line.
const LINES: [(&str, Option<&str>, NoticeLine); 4] = [
    ("system", Some("status"), compaction),
    ("system", Some("compact_boundary"), |_| Some(COMPACTED.to_owned())),
    ("system", Some("api_retry"), retry),
    (RESET, None, |_| Some(CLEARED.to_owned())),
];

const COMPACTED: &str = "🗜️ The conversation was compacted";
const CLEARED: &str = "🧹 The conversation was cleared";
/// The type of the record of a conversation that begins anew.
const RESET: &str = "conversation_reset";

impl Notice {
    pub(crate) fn new(kind: &str, subtype: Option<&str>, detail: &Map<String, Value>) -> Self {
        let detail = sanitise_open_args(detail, None);
        Self { kind: kind.to_owned(), subtype: subtype.map(str::to_owned), detail }
    }

    /// The line a person reads while the run seems to stand still (openclaw#134697): that the
    /// conversation is compacted, that the API is asked again, or that the conversation was cleared. `None` for every
    /// other notice.
    pub fn line(&self) -> Option<String> {
        let is_mine = |(kind, subtype, _): &&(&str, Option<&str>, NoticeLine)| {
            *kind == self.kind && *subtype == self.subtype.as_deref()
        };
        LINES.iter().find(is_mine).and_then(|(_, _, line)| line(self))
    }

    /// Returns whether the notice says how something ended that no later record reports: a compaction, or the
    /// conversation itself.
    pub(crate) fn is_news(&self) -> bool {
        self.subtype.as_deref() == Some("compact_boundary")
            || self.text("compact_result").is_some()
            || self.kind == RESET
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.detail.get(key)?.as_str()
    }

    fn number(&self, key: &str) -> Option<u64> {
        let value = self.detail.get(key)?;
        value.as_u64().or_else(|| Some(value.as_f64()?.max(0.0) as u64))
    }
}

fn compaction(notice: &Notice) -> Option<String> {
    if notice.text("status") == Some("compacting") {
        return Some("🗜️ Compacting the conversation…".to_owned());
    }
    match notice.text("compact_result")? {
        "success" => Some(COMPACTED.to_owned()),
        _ => Some(match notice.text("compact_error") {
            Some(words) => format!("⚠️ Compacting failed: {}", short(words, WORDS_LIMIT)),
            None => "⚠️ Compacting failed".to_owned(),
        }),
    }
}

fn retry(notice: &Notice) -> Option<String> {
    let mut line = "⏳ The API failed".to_owned();
    match (notice.number("error_status"), notice.text("error")) {
        (Some(status), _) => line += &format!(" ({status})"),
        (None, Some(words)) => line += &format!(" ({})", short(words, WORDS_LIMIT)),
        (None, None) => {}
    }
    line += "; trying again";
    if let Some(ms) = notice.number("retry_delay_ms").filter(|ms| *ms > 0) {
        line += &format!(" in {} s", ms.div_ceil(1_000));
    }
    if let (Some(attempt), Some(most)) = (notice.number("attempt"), notice.number("max_retries")) {
        line += &format!(", {attempt} of {most}");
    }
    Some(line)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    fn check(subtype: &str, detail: Value, expect: Option<&str>) {
        check_kind(("system", Some(subtype)), detail, expect);
    }

    fn check_kind(kind: (&str, Option<&str>), detail: Value, expect: Option<&str>) {
        let Value::Object(detail) = detail else { panic!("{detail}") };
        let notice = Notice::new(kind.0, kind.1, &detail);
        assert_eq!(notice.line().as_deref(), expect);
    }

    #[test]
    fn a_cleared_conversation_has_a_line() {
        let detail = json!({"new_conversation_id": "a", "trigger": "clear"});
        check_kind(("conversation_reset", None), detail, Some(CLEARED));
    }

    #[test]
    fn r134697_compaction_and_retries_have_a_line() {
        check("status", json!({"status": "compacting"}), Some("🗜️ Compacting the conversation…"));
        check("status", json!({"compact_result": "success"}), Some(COMPACTED));
        check("compact_boundary", json!({"trigger": "auto"}), Some(COMPACTED));
        check(
            "status",
            json!({"compact_result": "failed", "compact_error": "TOKEN=abcdefgh\n broke"}),
            Some("⚠️ Compacting failed: TOKEN=*** broke"),
        );
        check(
            "api_retry",
            json!({"attempt": 2, "max_retries": 10, "retry_delay_ms": 1_100.5, "error_status": 529,
                "error": "overloaded"}),
            Some("⏳ The API failed (529); trying again in 2 s, 2 of 10"),
        );
        check(
            "api_retry",
            json!({"retry_delay_ms": 0, "error": "overloaded"}),
            Some("⏳ The API failed (overloaded); trying again"),
        );
        check("api_retry", json!({}), Some("⏳ The API failed; trying again"));
        check("status", json!({"permissionMode": "plan"}), None);
        check("hook_response", json!({"exit_code": 2}), None);
    }

    #[test]
    pub(crate) fn b2_notices_are_sanitised() {
        let detail = json!({"stderr": "TOKEN=abcdefgh", "api_key": "hunter2"});
        let Value::Object(detail) = detail else { panic!("{detail}") };
        let notice = Notice::new("system", Some("hook_response"), &detail);
        let shown = Value::Object(notice.detail);
        assert_eq!(shown, json!({"stderr": "TOKEN=***", "api_key": "***"}));
    }
}
