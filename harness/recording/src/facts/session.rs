//! The session of a run: its id, its model and its CLI.

use serde::Serialize;

use super::json::{records_with, text};

/// The session that a run states.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RecordedSession {
    /// The last id that a record has; `None` if no record has one.
    pub id: Option<String>,
    /// The model of the last `system/init` that names one.
    pub model: Option<String>,
    /// The version of the CLI of the last `system/init` that names one (2.0.70 and later).
    pub cli_version: Option<String>,
}

impl RecordedSession {
    /// Reads the session of the bytes that a run printed.
    pub fn read(stdout: &[u8]) -> Self {
        let mut session = Self::default();
        let read = ["type", "subtype", "session_id", "model", "claude_code_version"];
        for record in records_with(stdout, &read) {
            let field = |name: &str| record.get(name).and_then(text).map(str::to_owned);
            session.id = field("session_id").or(session.id.take());
            let is_init = field("type").as_deref() == Some("system")
                && field("subtype").as_deref() == Some("init");
            if is_init {
                session.model = field("model").or(session.model.take());
                session.cli_version = field("claude_code_version").or(session.cli_version.take());
            }
        }
        session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_session_counts_and_only_init_names_its_model() {
        let stdout = concat!(
            r#"{"type":"system","subtype":"init","session_id":"a","model":"m1","claude_code_version":"1"}"#,
            "\n",
            r#"{"type":"assistant","session_id":"b","model":"m2"}"#,
            "\nno record\n",
            r#"{"type":"result","session_id":" "}"#,
        );
        let session = RecordedSession::read(stdout.as_bytes());
        let words = [session.id, session.model, session.cli_version];
        assert_eq!(words.map(Option::unwrap_or_default), ["b", "m1", "1"]);
        assert_eq!(RecordedSession::read(b"").id, None);
    }
}
