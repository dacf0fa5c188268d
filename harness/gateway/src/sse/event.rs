//! One event of a run's stream, and its text on the wire.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// An event for those who listen: a name, and a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct SseEvent {
    /// `output`, `tool_use`, `status`, `error` or `complete`; `connected`, `gap` and `dropped` are the
    /// endpoint's own.
    pub name: &'static str,
    /// The particulars.
    pub data: Map<String, Value>,
}

impl SseEvent {
    pub(crate) fn new(name: &'static str, data: Value) -> Self {
        let data = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        Self { name, data }
    }

    /// The event as it is sent: `id`, `event` and `data`, each on a line, then an empty line.
    ///
    /// An event without `id` leaves the reader's last id as it was.
    pub fn frame(&self, id: Option<u64>) -> String {
        let mut frame = String::new();
        // Writing to a string can't fail, and JSON text has no line breaks.
        if let Some(id) = id {
            let _ = writeln!(frame, "id: {id}");
        }
        let data = serde_json::to_string(&self.data).unwrap_or_default();
        let _ = write!(frame, "event: {}\ndata: {data}\n\n", self.name);
        frame
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn s1_a_frame_is_one_line_a_field() {
        let event = SseEvent::new("output", json!({"type": "delta", "content": "a\r\nb\n"}));
        let data = "event: output\ndata: {\"type\":\"delta\",\"content\":\"a\\r\\nb\\n\"}\n\n";
        assert_eq!(event.frame(None), data);
        assert_eq!(event.frame(Some(7)), format!("id: 7\n{data}"));
    }
}
