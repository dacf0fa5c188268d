//! The head of a record: the fields by which it is told what it is and whose, and, of a stream
//! event, the API's event in it.

use crate::json::{self, Field, Raw};

/// The fields every record may have.
#[derive(Debug, Default)]
pub(crate) struct Head<'a> {
    pub(crate) kind: Field<'a>,
    pub(crate) subtype: Field<'a>,
    pub(crate) event: Option<Api<'a>>,
    pub(crate) message: Field<'a>,
    pub(crate) parent: Field<'a>,
    pub(crate) uuid: Field<'a>,
    pub(crate) error: Field<'a>,
    /// `is_api_error_message`.
    pub(crate) api_error: Field<'a>,
    pub(crate) aborted: Field<'a>,
    pub(crate) supersedes: Field<'a>,
    /// `retracted_message_uuids`, of a fallback to another model.
    pub(crate) retracted: Field<'a>,
    /// `refused_message_id`, of the record that asks the model for another answer.
    pub(crate) refused: Field<'a>,
    /// `abandoned_blocks`, beside a message's end that the CLI made up.
    pub(crate) abandoned: Field<'a>,
    /// `isReplay`.
    pub(crate) replay: Field<'a>,
    /// `isSynthetic`.
    pub(crate) synthetic: Field<'a>,
    /// The names a session id goes by, the first that is there counts.
    pub(crate) session: [Field<'a>; 4],
}

/// The API's event in a `stream_event`.
#[derive(Debug)]
pub(crate) struct Api<'a> {
    pub(crate) raw: Raw<'a>,
    pub(crate) kind: Field<'a>,
    pub(crate) index: Field<'a>,
    pub(crate) message: Field<'a>,
    pub(crate) block: Field<'a>,
    pub(crate) usage: Field<'a>,
    pub(crate) delta: Delta<'a>,
}

/// What an event adds to a block or a message.
#[derive(Debug, Default)]
pub(crate) struct Delta<'a> {
    pub(crate) raw: Field<'a>,
    pub(crate) kind: Field<'a>,
    pub(crate) text: Field<'a>,
    pub(crate) thinking: Field<'a>,
    pub(crate) json: Field<'a>,
    pub(crate) stop_reason: Field<'a>,
}

impl<'a> Head<'a> {
    /// Reads a record; `None` when the text is no JSON object.
    pub(crate) fn read(record: &'a str) -> Option<Self> {
        let names = [
            "type",
            "subtype",
            "event",
            "message",
            "parent_tool_use_id",
            "uuid",
            "error",
            "is_api_error_message",
            "aborted",
            "supersedes",
            "retracted_message_uuids",
            "refused_message_id",
            "abandoned_blocks",
            "isReplay",
            "isSynthetic",
            "session_id",
            "sessionId",
            "conversation_id",
            "conversationId",
        ];
        let found = json::fields(record, &names).ok()?;
        let [kind, subtype, event, message, parent, uuid, error, api_error, aborted, ..] = found;
        let [.., supersedes, retracted, refused, abandoned, replay, synthetic, a, b, c, d] = found;
        Some(Self {
            kind,
            subtype,
            event: event.map(Api::read),
            message,
            parent,
            uuid,
            error,
            api_error,
            aborted,
            supersedes,
            retracted,
            refused,
            abandoned,
            replay,
            synthetic,
            session: [a, b, c, d],
        })
    }
}

impl<'a> Api<'a> {
    fn read(raw: Raw<'a>) -> Self {
        let names = ["type", "index", "message", "content_block", "usage", "delta"];
        let [kind, index, message, block, usage, delta] = json::inner(Some(raw), &names);
        Self { raw, kind, index, message, block, usage, delta: Delta::read(delta) }
    }
}

impl<'a> Delta<'a> {
    fn read(raw: Field<'a>) -> Self {
        let names = ["type", "text", "thinking", "partial_json", "stop_reason"];
        let [kind, text, thinking, json, stop_reason] = json::inner(raw, &names);
        Self { raw, kind, text, thinking, json, stop_reason }
    }

    /// The raw text, to be shown.
    pub(crate) fn text(&self) -> &'a str {
        self.raw.map_or("", |raw| raw.get())
    }
}
