//! Messages, their content blocks and their token counts, sliced in the pass that validates them.

use crate::json::{self, JsonCursor, JsonField, JsonKey, JsonResult, RawJson};
use crate::outcome::Usage;

/// The message of a record or of a `message_start` event.
#[derive(Debug, Default)]
pub(crate) struct MessageBody<'a> {
    pub(crate) raw: RawJson<'a>,
    pub(crate) id: JsonField<'a>,
    pub(crate) model: JsonField<'a>,
    pub(crate) content: JsonField<'a>,
    /// Whether `content` is an array.
    is_list: bool,
    /// The first element; most messages have exactly one.
    first: Option<RecordBlock<'a>>,
    /// The next elements, up to [`FEW`].
    next_few: Vec<RecordBlock<'a>>,
    /// Number of elements.
    count: usize,
    /// A cursor behind the stored elements, if the array has more.
    rest: Option<JsonCursor<'a>>,
    pub(crate) usage: Option<TokenCounts<'a>>,
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

/// Token counts as JSON fields.
#[derive(Debug, Default)]
pub(crate) struct TokenCounts<'a> {
    input: JsonField<'a>,
    output: JsonField<'a>,
    read: JsonField<'a>,
    write: JsonField<'a>,
}

/// Fills an optional value. `fill` returns whether the value is present.
#[inline]
pub(crate) fn filled<T: Default>(
    place: &mut Option<T>,
    fill: impl FnOnce(&mut T) -> JsonResult<bool>,
) -> JsonResult<()> {
    if !fill(place.insert(T::default()))? {
        *place = None;
    }
    Ok(())
}

impl<'a> MessageBody<'a> {
    /// Reads the message at the cursor; returns false if it is `null`. The last of equal keys
    /// counts.
    #[inline]
    pub(crate) fn fill(&mut self, scan: &mut JsonCursor<'a>) -> JsonResult<bool> {
        self.raw = scan.object(&mut |key, scan| self.member(key, scan))?;
        Ok(self.raw.get() != "null")
    }

    #[inline(always)]
    fn member(&mut self, key: JsonKey<'_>, scan: &mut JsonCursor<'a>) -> JsonResult<()> {
        let field = if key == "id" {
            &mut self.id
        } else if key == "model" {
            &mut self.model
        } else if key == "content" {
            return self.content(scan);
        } else if key == "usage" {
            return filled(&mut self.usage, |counts| counts.fill(scan));
        } else {
            return scan.skip();
        };
        *field = scan.field()?;
        Ok(())
    }

    /// Reads the value at the cursor and, if it is an array, its elements.
    #[inline]
    fn content(&mut self, scan: &mut JsonCursor<'a>) -> JsonResult<()> {
        (self.is_list, self.first, self.count, self.rest) = (false, None, 0, None);
        self.next_few.clear();
        if scan.ahead() != b'[' {
            self.content = scan.field()?;
            return Ok(());
        }
        self.is_list = true;
        let raw = scan.array(&mut |scan| {
            self.count += 1;
            if self.count > FEW {
                return scan.skip();
            }
            let mut part = RecordBlock::default();
            if self.count == 1 {
                self.first.insert(part).fill(scan)?;
            } else {
                part.fill(scan)?;
                self.next_few.push(part);
            }
            self.rest = (self.count == FEW).then_some(*scan);
            Ok(())
        })?;
        self.content = Some(raw);
        Ok(())
    }

    /// Iterates over the content blocks, parsing those behind the stored ones lazily; `None` if the
    /// content is not an array.
    pub(crate) fn parts(&self) -> Option<impl Iterator<Item = RecordBlock<'a>>> {
        let mut rest = self.rest;
        let more = std::iter::from_fn(move || {
            let scan = rest.as_mut()?;
            let mut part = RecordBlock::default();
            (scan.has_next_element() && part.fill(scan).is_ok()).then_some(part)
        });
        let few = self.first.iter().chain(&self.next_few).copied();
        self.is_list.then(|| few.chain(more))
    }

    /// Whether the content has exactly one element.
    pub(crate) fn is_single(&self) -> bool {
        self.count == 1
    }
}

impl<'a> RecordBlock<'a> {
    /// Reads the block at the cursor, whatever value it is; returns false if it is `null`.
    pub(crate) fn fill(&mut self, scan: &mut JsonCursor<'a>) -> JsonResult<bool> {
        self.raw = scan.fields(self, Self::field)?;
        Ok(self.raw.get() != "null")
    }

    #[inline(always)]
    fn field(&mut self, key: JsonKey<'_>) -> Option<&mut JsonField<'a>> {
        Some(match key {
            key if key == "type" => &mut self.kind,
            key if key == "text" => &mut self.text,
            key if key == "thinking" => &mut self.thinking,
            key if key == "id" => &mut self.id,
            key if key == "name" => &mut self.name,
            key if key == "input" => &mut self.input,
            key if key == "tool_use_id" => &mut self.call,
            key if key == "content" => &mut self.content,
            key if key == "is_error" => &mut self.is_error,
            _ => return None,
        })
    }
}

impl<'a> TokenCounts<'a> {
    /// Reads the `usage` object at the cursor; returns false if it is `null`.
    #[inline]
    pub(crate) fn fill(&mut self, scan: &mut JsonCursor<'a>) -> JsonResult<bool> {
        Ok(scan.fields(self, Self::field)?.get() != "null")
    }

    #[inline(always)]
    fn field(&mut self, key: JsonKey<'_>) -> Option<&mut JsonField<'a>> {
        Some(match key {
            key if key == "input_tokens" => &mut self.input,
            key if key == "output_tokens" => &mut self.output,
            key if key == "cache_read_input_tokens" => &mut self.read,
            key if key == "cache_creation_input_tokens" => &mut self.write,
            _ => return None,
        })
    }

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
