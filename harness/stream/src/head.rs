//! The head of a record: the fields that give its kind and its conversation, and the message or API
//! event in it.

use crate::body::{MessageBody, RecordBlock, TokenCounts, filled};
use crate::json::{JsonCursor, JsonField, JsonKey, JsonResult, RawJson};

/// The fields that a record may have. Each record has only some of them.
#[derive(Debug, Default)]
pub(crate) struct RecordHead<'a> {
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
    pub(crate) delta: ApiDelta<'a>,
}

/// The change to a block or a message in an event.
#[derive(Debug, Default)]
pub(crate) struct ApiDelta<'a> {
    pub(crate) raw: JsonField<'a>,
    pub(crate) kind: JsonField<'a>,
    pub(crate) text: JsonField<'a>,
    pub(crate) thinking: JsonField<'a>,
    pub(crate) json: JsonField<'a>,
    pub(crate) stop_reason: JsonField<'a>,
}

impl<'a> RecordHead<'a> {
    /// Reads a record in one pass into a head without fields. Returns false if the text is not a
    /// JSON object. The last of equal keys counts.
    #[inline]
    pub(crate) fn fill(&mut self, record: &'a str) -> bool {
        let mut cursor = JsonCursor::new(record);
        let whole = cursor.object(&mut |key, cursor| self.member(key, cursor));
        whole.is_ok_and(|whole| whole.get().starts_with('{')) && cursor.end().is_ok()
    }

    #[inline(always)]
    fn member(&mut self, key: JsonKey<'_>, scan: &mut JsonCursor<'a>) -> JsonResult<()> {
        let Some(field) = self.field(key) else {
            return if key == "event" {
                filled(&mut self.event, |api| api.fill(scan))
            } else if key == "message" {
                filled(&mut self.message, |body| body.fill(scan))
            } else if key == "usage" {
                filled(&mut self.usage, |counts| counts.fill(scan))
            } else {
                scan.skip()
            };
        };
        *field = scan.field()?;
        Ok(())
    }

    /// Reads a record into a new head.
    #[cfg(test)]
    pub(crate) fn read(record: &'a str) -> Option<Self> {
        let mut head = Self::default();
        head.fill(record).then_some(head)
    }

    /// Returns the place for the field with this key. The match on the length comes first, because
    /// most keys are not read.
    #[inline(always)]
    fn field(&mut self, key: JsonKey<'_>) -> Option<&mut JsonField<'a>> {
        Some(match key.len() {
            4 if key == "type" => &mut self.kind,
            4 if key == "uuid" => &mut self.uuid,
            5 if key == "error" => &mut self.error,
            5 if key == "model" => &mut self.model,
            6 if key == "result" => &mut self.result,
            6 if key == "status" => &mut self.status,
            6 if key == "errors" => &mut self.errors,
            7 if key == "subtype" => &mut self.subtype,
            7 if key == "aborted" => &mut self.aborted,
            7 if key == "content" => &mut self.content,
            8 if key == "is_error" => &mut self.is_error,
            8 if key == "isReplay" => &mut self.replay,
            9 if key == "sessionId" => &mut self.session[1],
            10 if key == "session_id" => &mut self.session[0],
            10 if key == "supersedes" => &mut self.supersedes,
            11 if key == "isSynthetic" => &mut self.synthetic,
            11 if key == "stop_reason" => &mut self.stop_reason,
            14 if key == "conversationId" => &mut self.session[3],
            15 if key == "conversation_id" => &mut self.session[2],
            15 if key == "terminal_reason" => &mut self.reason,
            16 if key == "api_error_status" => &mut self.api_status,
            16 if key == "abandoned_blocks" => &mut self.abandoned,
            18 if key == "parent_tool_use_id" => &mut self.parent,
            18 if key == "refused_message_id" => &mut self.refused,
            19 if key == "claude_code_version" => &mut self.version,
            20 if key == "is_api_error_message" => &mut self.api_error,
            23 if key == "retracted_message_uuids" => &mut self.retracted,
            _ => return None,
        })
    }
}

impl<'a> ApiEvent<'a> {
    /// Reads the event at the cursor; returns false if it is `null`.
    #[inline]
    pub(crate) fn fill(&mut self, cursor: &mut JsonCursor<'a>) -> JsonResult<bool> {
        self.raw = cursor.object(&mut |key, cursor| self.member(key, cursor))?;
        Ok(self.raw.get() != "null")
    }

    #[inline(always)]
    fn member(&mut self, key: JsonKey<'_>, scan: &mut JsonCursor<'a>) -> JsonResult<()> {
        let field = if key == "type" {
            &mut self.kind
        } else if key == "index" {
            &mut self.index
        } else if key == "delta" {
            self.delta = ApiDelta::default();
            return self.delta.fill(scan);
        } else if key == "content_block" {
            return filled(&mut self.block, |part| part.fill(scan));
        } else if key == "message" {
            return filled(&mut self.message, |body| body.fill(scan));
        } else if key == "usage" {
            return filled(&mut self.usage, |counts| counts.fill(scan));
        } else {
            return scan.skip();
        };
        *field = scan.field()?;
        Ok(())
    }
}

impl<'a> ApiDelta<'a> {
    #[inline]
    fn fill(&mut self, scan: &mut JsonCursor<'a>) -> JsonResult<()> {
        let raw = scan.fields(self, Self::field)?;
        self.raw = (raw.get() != "null").then_some(raw);
        Ok(())
    }

    #[inline(always)]
    fn field(&mut self, key: JsonKey<'_>) -> Option<&mut JsonField<'a>> {
        Some(match key {
            key if key == "type" => &mut self.kind,
            key if key == "text" => &mut self.text,
            key if key == "thinking" => &mut self.thinking,
            key if key == "partial_json" => &mut self.json,
            key if key == "stop_reason" => &mut self.stop_reason,
            _ => return None,
        })
    }

    /// The raw text of the delta, for messages.
    pub(crate) fn text(&self) -> &'a str {
        self.raw.map_or("", |raw| raw.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

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
        assert_eq!(RecordHead::read(record).is_some(), is_object, "{record}");
    }

    #[test]
    fn every_edit_of_a_record_is_read_as_strictly_as_json() {
        for record in RECORDS {
            check(record);
            assert!(RecordHead::read(record).is_some(), "{record}");
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
