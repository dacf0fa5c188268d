//! Writes ACP updates as entries of the `acp` lane: the kind is the `sessionUpdate` tag, the data is
//! the rest. The answer to `session/prompt` comes last, as `response`.

use clitape_gateway::BusEvent;
use clitape_gateway::acp::{AcpConverter, AcpSettings, TurnEnd};
use serde_json::{Map, Value, json};

use super::builtin::AcpClient;
use super::trace::object;
use crate::cassette::canon::MachineFolder;

/// The id of the one session of a replay.
const SESSION_ID: &str = "session-1";

/// The session of a client.
pub(super) fn session(client: AcpClient) -> AcpConverter {
    AcpConverter::new(AcpSettings {
        session_id: SESSION_ID.to_owned(),
        cwd: Some(MachineFolder::Project.path().to_owned()),
        terminal: client.terminal,
    })
}

/// Kinds and data of the entries that `event` makes.
#[allow(clippy::expect_used, reason = "the state is impossible")]
pub(super) fn entries(
    session: &mut AcpConverter,
    event: &BusEvent,
) -> Vec<(String, Map<String, Value>)> {
    let updates = session.on(event).into_iter();
    let mut entries: Vec<_> = updates
        .map(|update| {
            let update = serde_json::to_value(update);
            let mut data = object(update.expect("strings, numbers and JSON serialise"));
            let tag = data.shift_remove("sessionUpdate");
            (tag.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(), data)
        })
        .collect();
    let response = session.turn_end().map(|end| match end {
        TurnEnd::Stop(reason) => json!({ "stopReason": reason }),
        TurnEnd::Error { code, message } => {
            json!({ "error": { "code": code, "message": message } })
        }
    });
    entries.extend(response.map(|data| ("response".to_owned(), object(data))));
    entries
}
