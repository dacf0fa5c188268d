//! The head of a record: the fields that give its kind and its conversation, and the message or API
//! event in it.

use crate::body::{MessageBody, RecordBlock, TokenCounts};
use crate::json::{JsonCursor, JsonField, RawJson, ReadJson, json_object};

/// The fields that a record may have. Each record has only some of them.
#[derive(Debug, Default)]
pub(crate) struct RecordHead<'a> {
    /// The whole record.
    pub(crate) raw: RawJson<'a>,
    pub(crate) kind: JsonField<'a>,
    pub(crate) subtype: JsonField<'a>,
    pub(crate) event: Option<ApiEvent<'a>>,
    pub(crate) message: Option<MessageBody<'a>>,
    pub(crate) parent: JsonField<'a>,
    pub(crate) uuid: JsonField<'a>,
    pub(crate) error: JsonField<'a>,
    /// `is_api_error_message`.
    pub(crate) api_error: JsonField<'a>,
    pub(crate) aborted: JsonField<'a>,
    pub(crate) supersedes: JsonField<'a>,
    /// `retracted_message_uuids` of a fallback to another model.
    pub(crate) retracted: JsonField<'a>,
    /// `refused_message_id` of the record that asks the model for another answer.
    pub(crate) refused: JsonField<'a>,
    /// `response` of an answer to a request.
    pub(crate) response: JsonField<'a>,
    /// `abandoned_blocks`, beside the end of a message that the CLI made up.
    pub(crate) abandoned: JsonField<'a>,
    /// `isReplay`.
    pub(crate) replay: JsonField<'a>,
    /// `isSynthetic`.
    pub(crate) synthetic: JsonField<'a>,
    /// The four names of the session id; the first that is present counts.
    pub(crate) session: [JsonField<'a>; 4],
    /// `model` of an `init` record.
    pub(crate) model: JsonField<'a>,
    /// `claude_code_version` of an `init` record.
    pub(crate) version: JsonField<'a>,
    /// This field and all below are fields of a `result` record.
    pub(crate) is_error: JsonField<'a>,
    pub(crate) status: JsonField<'a>,
    pub(crate) result: JsonField<'a>,
    pub(crate) errors: JsonField<'a>,
    pub(crate) content: JsonField<'a>,
    pub(crate) usage: Option<TokenCounts<'a>>,
    pub(crate) stop_reason: JsonField<'a>,
    /// `terminal_reason`.
    pub(crate) reason: JsonField<'a>,
    /// `api_error_status`.
    pub(crate) api_status: JsonField<'a>,
}

/// The API's event in a `stream_event` record.
#[derive(Debug, Default)]
pub(crate) struct ApiEvent<'a> {
    pub(crate) raw: RawJson<'a>,
    pub(crate) kind: JsonField<'a>,
    pub(crate) index: JsonField<'a>,
    pub(crate) message: Option<MessageBody<'a>>,
    pub(crate) block: Option<RecordBlock<'a>>,
    pub(crate) usage: Option<TokenCounts<'a>>,
    pub(crate) delta: Option<ApiDelta<'a>>,
}

/// The change to a block or a message in an event.
#[derive(Debug, Default)]
pub(crate) struct ApiDelta<'a> {
    pub(crate) raw: RawJson<'a>,
    pub(crate) kind: JsonField<'a>,
    pub(crate) text: JsonField<'a>,
    pub(crate) thinking: JsonField<'a>,
    pub(crate) json: JsonField<'a>,
    pub(crate) stop_reason: JsonField<'a>,
}

json_object!(RecordHead {
    "type" => kind,
    "session_id" => session[0],
    "parent_tool_use_id" => parent,
    "uuid" => uuid,
    "subtype" => subtype,
    "error" => error,
    "is_api_error_message" => api_error,
    "aborted" => aborted,
    "supersedes" => supersedes,
    "retracted_message_uuids" => retracted,
    "refused_message_id" => refused,
    "response" => response,
    "abandoned_blocks" => abandoned,
    "isReplay" => replay,
    "isSynthetic" => synthetic,
    "sessionId" => session[1],
    "conversation_id" => session[2],
    "conversationId" => session[3],
    "model" => model,
    "claude_code_version" => version,
    "is_error" => is_error,
    "status" => status,
    "result" => result,
    "errors" => errors,
    "content" => content,
    "stop_reason" => stop_reason,
    "terminal_reason" => reason,
    "api_error_status" => api_status;
    "event" => event,
    "message" => message,
    "usage" => usage
});

json_object!(ApiEvent {
    "type" => kind,
    "index" => index;
    "message" => message,
    "content_block" => block,
    "usage" => usage,
    "delta" => delta
});

json_object!(ApiDelta {
    "type" => kind,
    "text" => text,
    "thinking" => thinking,
    "partial_json" => json,
    "stop_reason" => stop_reason
});

impl<'a> RecordHead<'a> {
    /// Reads a record in one pass into an empty head. Returns false if the text is not one JSON
    /// object.
    pub(crate) fn fill_from(&mut self, record: &'a str) -> bool {
        let mut cursor = JsonCursor::new(record);
        self.fill(&mut cursor).is_ok() && self.raw.get().starts_with('{') && cursor.end().is_ok()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::json;

    /// Reads a record into a new head.
    pub(crate) fn head_of(record: &str) -> Option<RecordHead<'_>> {
        let mut head = RecordHead::default();
        head.fill_from(record).then_some(head)
    }

    /// Records of each kind that this module reads.
    const RECORDS: [&str; 10] = [
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"more":{}},"a":1}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","ttft_ms":0}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{}}},"session_id":"s","parent_tool_use_id":null,"uuid":"u"}"#,
        r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":94}},"session_id":"s","parent_tool_use_id":null,"uuid":"u"}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_stop","index":0},"session_id":"s"}"#,
        r#"{"type":"stream_event","event":null,"parent_tool_use_id":"p","uuid":"u"}"#,
        r#"{"type":"assistant","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"a\nb"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}},"parent_tool_use_id":null,"session_id":"s","uuid":"u","request_id":"r"}"#,
        r#"{"type":"assistant","message":{"model":"x","id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}"#,
        r#"{"type":"assistant","message":{"id":"m","type":"message","role":"assistant","model":null,"content":[{"type":"tool_use","id":"t","name":"n","input":{"a":[1,"]"]},"caller":{}},7]},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"ok","is_error":false}]},"parent_tool_use_id":"p","session_id":"s","uuid":"u"}"#,
        r#"{"type":"user","message":{"role":"user","content":"hello"},"session_id":"s","uuid":"u"}"#,
    ];

    /// A text has a head exactly if it is a JSON object.
    fn check(record: &str) {
        let is_object = json::whole(record).is_ok_and(|raw| raw.get().starts_with('{'));
        assert_eq!(head_of(record).is_some(), is_object, "{record}");
    }

    #[test]
    fn every_edit_of_a_record_is_read_as_strictly_as_json() {
        for record in RECORDS {
            check(record);
            assert!(head_of(record).is_some(), "{record}");
            for at in 0..record.len() {
                check(&record[..at]);
                check(&format!("{}{}", &record[..at], &record[at + 1..]));
                for bits in
                    ["\"", "{", "}", ",", "null", "\"uuid\":\"v\",", "{\"type\":\"x\",\"id\":1"]
                {
                    check(&format!("{}{bits}{}", &record[..at], &record[at..]));
                }
            }
        }
    }
}
