//! One event of a run's stream, and its form on the wire.

use serde_json::{Map, Value};

/// An event for the readers of a stream: a name and a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct SseEvent {
    /// `output`, `tool_use`, `question`, `answered`, `status`, `error` or `complete`. The endpoint adds `connected`, `gap`
    /// and `dropped`.
    pub name: &'static str,
    /// The fields of the event.
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
}

/// An event as a backlog keeps it: its data is JSON text, which clones share.
#[cfg(feature = "sse-http")]
#[derive(Debug, Clone)]
pub(super) struct WireEvent {
    /// An event without an id leaves the reader's last id as it was.
    id: Option<u64>,
    name: &'static str,
    data: std::sync::Arc<str>,
}

#[cfg(feature = "sse-http")]
impl WireEvent {
    pub(super) fn new(id: Option<u64>, event: &SseEvent) -> Self {
        let data = Value::from(event.data.clone()).to_string().into();
        Self { id, name: event.name, data }
    }

    /// Returns the bytes of the name and the data.
    pub(super) fn size(&self) -> usize {
        self.name.len() + self.data.len()
    }
}

#[cfg(feature = "sse-http")]
impl From<WireEvent> for axum::response::sse::Event {
    fn from(WireEvent { id, name, data }: WireEvent) -> Self {
        let event = match id {
            Some(id) => Self::default().id(id.to_string()),
            None => Self::default(),
        };
        event.event(name).data(data)
    }
}

#[cfg(all(test, feature = "sse-http"))]
#[allow(clippy::unwrap_used, reason = "a test that fails may panic")]
pub(super) mod tests {
    use std::convert::Infallible;

    use axum::response::IntoResponse as _;
    use axum::response::sse::{Event, Sse};
    use serde_json::json;

    use super::*;

    /// Returns the bytes that a reader gets of `event`.
    pub(in crate::sse) async fn on_the_wire(event: Event) -> String {
        let events = futures_util::stream::iter([Ok::<_, Infallible>(event)]);
        let body = Sse::new(events).into_response().into_body();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn s1_an_event_has_one_line_for_each_field() {
        let event = SseEvent::new("output", json!({"type": "delta", "content": "a\r\nb\n"}));
        let data = "event: output\ndata: {\"type\":\"delta\",\"content\":\"a\\r\\nb\\n\"}\n\n";
        let wire = |id| on_the_wire(WireEvent::new(id, &event).into());
        assert_eq!(wire(None).await, data);
        assert_eq!(wire(Some(7)).await, format!("id: 7\n{data}"));
    }
}
