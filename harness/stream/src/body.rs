//! Messages, their content blocks and their token counts, sliced in the pass that validates them.

use std::borrow::Cow;

use crate::json::{self, JsonCursor, JsonField, JsonResult, RawJson, ReadJson, json_object};
use crate::outcome::Usage;
use crate::transcript::TextKind;

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
mod tests {
    use super::*;

    /// Reads a content array of `count` elements and checks each of them.
    fn check(count: usize) {
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
            check(count);
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
