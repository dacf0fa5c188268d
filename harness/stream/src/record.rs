//! A record, sliced in the pass that validates it: the fields that give its kind and its conversation,
//! and its message or API event, with content blocks and token counts.

use std::borrow::Cow;

use crate::json::{self, JsonCursor, JsonField, JsonResult, RawJson, ReadJson, json_object};
use crate::outcome::Usage;
use crate::transcript::TextKind;

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

/// The message of a record or of a `message_start` event.
#[derive(Debug, Default)]
pub(crate) struct MessageBody<'a> {
    pub(crate) raw: RawJson<'a>,
    pub(crate) id: JsonField<'a>,
    pub(crate) model: JsonField<'a>,
    pub(crate) content: Option<MessageContent<'a>>,
    pub(crate) usage: Option<TokenCounts<'a>>,
}

json_object!(MessageBody {
    "id" => id,
    "model" => model;
    "content" => content,
    "usage" => usage
});

/// The content of a message: an array of blocks, or another value.
#[derive(Debug, Default)]
pub(crate) struct MessageContent<'a> {
    pub(crate) raw: RawJson<'a>,
    /// The first element; most messages have exactly one.
    first: Option<RecordBlock<'a>>,
    /// The next elements, up to [`FEW`].
    next_few: Vec<RecordBlock<'a>>,
    /// Number of elements.
    count: usize,
    /// A cursor behind the stored elements, if the array has more.
    rest: Option<JsonCursor<'a>>,
}

/// Number of elements that are stored while the message is read. A message has a few blocks; the
/// rest of a longer array is read again on demand, so that memory stays bounded by the text.
const FEW: usize = 64;

/// A content block.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RecordBlock<'a> {
    pub(crate) raw: RawJson<'a>,
    pub(crate) kind: JsonField<'a>,
    pub(crate) text: JsonField<'a>,
    pub(crate) thinking: JsonField<'a>,
    pub(crate) id: JsonField<'a>,
    pub(crate) name: JsonField<'a>,
    pub(crate) input: JsonField<'a>,
    /// `tool_use_id` of a result.
    pub(crate) call: JsonField<'a>,
    pub(crate) content: JsonField<'a>,
    pub(crate) is_error: JsonField<'a>,
}

json_object!(RecordBlock {
    "type" => kind,
    "text" => text,
    "thinking" => thinking,
    "id" => id,
    "name" => name,
    "input" => input,
    "tool_use_id" => call,
    "content" => content,
    "is_error" => is_error
});

/// Token counts as JSON fields.
#[derive(Debug, Default)]
pub(crate) struct TokenCounts<'a> {
    raw: RawJson<'a>,
    input: JsonField<'a>,
    output: JsonField<'a>,
    read: JsonField<'a>,
    write: JsonField<'a>,
}

json_object!(TokenCounts {
    "input_tokens" => input,
    "output_tokens" => output,
    "cache_read_input_tokens" => read,
    "cache_creation_input_tokens" => write
});

impl<'a> MessageBody<'a> {
    /// Iterates over the content blocks, parsing those behind the stored ones lazily; `None` if the
    /// content is not an array.
    pub(crate) fn parts(&self) -> Option<impl Iterator<Item = RecordBlock<'a>>> {
        let content = self.content.as_ref().filter(|content| content.raw.get().starts_with('['))?;
        let mut rest = content.rest;
        let more = std::iter::from_fn(move || {
            let cursor = rest.as_mut()?;
            let mut part = RecordBlock::default();
            (cursor.has_next_element() && part.fill(cursor).is_ok()).then_some(part)
        });
        Some(content.first.iter().chain(&content.next_few).copied().chain(more))
    }

    /// The content, if it is a string, or else the texts of its text blocks, each on its own line.
    pub(crate) fn text(&self) -> String {
        if let Some(text) = json::string(self.content.as_ref().map(|content| content.raw)) {
            return text.into_owned();
        }
        let texts = self.parts().into_iter().flatten();
        let texts: Vec<_> = texts.filter_map(|part| json::string(part.text)).collect();
        texts.join("\n")
    }

    /// Returns whether the content has exactly one block.
    pub(crate) fn is_single(&self) -> bool {
        self.content.as_ref().is_some_and(|content| content.count == 1)
    }
}

impl<'a> ReadJson<'a> for MessageContent<'a> {
    #[inline]
    fn fill(&mut self, cursor: &mut JsonCursor<'a>) -> JsonResult<bool> {
        self.raw = cursor.array(&mut |cursor| {
            self.count += 1;
            if self.count > FEW {
                return cursor.skip();
            }
            if self.count == 1 {
                self.first.insert(RecordBlock::default()).fill(cursor)?;
            } else {
                let mut part = RecordBlock::default();
                part.fill(cursor)?;
                self.next_few.push(part);
            }
            self.rest = (self.count == FEW).then_some(*cursor);
            Ok(())
        })?;
        Ok(self.raw.get() != "null")
    }
}

impl<'a> RecordBlock<'a> {
    /// The text of a block that has this kind of text.
    pub(crate) fn text_of(&self, kind: TextKind) -> Cow<'a, str> {
        let field = match kind {
            TextKind::Answer => self.text,
            TextKind::Reasoning => self.thinking,
        };
        json::string(field).unwrap_or_default()
    }
}

impl TokenCounts<'_> {
    /// Returns the counts; a count that the record lacks comes from `base`.
    pub(crate) fn usage(&self, base: Usage) -> Usage {
        let or = |field: JsonField<'_>, base: u64| field.map_or(base, |_| json::count(field));
        Usage {
            input: or(self.input, base.input),
            output: or(self.output, base.output),
            cache_read: or(self.read, base.cache_read),
            cache_write: or(self.write, base.cache_write),
        }
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

    /// Reads a content array of `count` elements and checks each of them.
    fn check_body(count: usize) {
        let element = |at: usize| match at % 3 {
            0 => format!(r#"{{"id":"{at}", "text":"]"}}"#),
            1 => "[null]".to_owned(),
            _ => at.to_string(),
        };
        let content = (0..count).map(element).collect::<Vec<_>>().join(" , ");
        let message = format!(r#"{{"content":[ {content} ],"id":"m"}}"#);
        let mut body = MessageBody::default();
        assert_eq!(body.fill(&mut JsonCursor::new(&message)), Ok(true));
        let parts: Vec<_> = body.parts().unwrap().collect();
        assert_eq!(body.is_single(), count == 1);
        assert_eq!(parts.len(), count);
        for (at, part) in parts.iter().enumerate() {
            let id = (at % 3 == 0).then(|| at.to_string());
            assert_eq!(
                (part.raw.get(), json::string(part.id).as_deref()),
                (&*element(at), id.as_deref())
            );
        }
    }

    #[test]
    fn every_element_of_a_content_is_read_however_many_there_are() {
        for count in [0, 1, 2, FEW - 1, FEW, FEW + 1, 3 * FEW] {
            check_body(count);
        }
    }

    #[test]
    fn of_equal_keys_the_last_counts() {
        let mut body = MessageBody::default();
        let message = r#"{"content":[{}],"usage":{"input_tokens":1},"usage":null,"content":"x"}"#;
        assert_eq!(body.fill(&mut JsonCursor::new(message)), Ok(true));
        assert!(body.parts().is_none() && body.usage.is_none() && !body.is_single());
    }
}
