//! Messages, their blocks and their token counts, each read in the pass that validates them.

use crate::json::{self, Field, Raw, Read, Scan};
use crate::outcome::Usage;

/// The message of a record, or of a `message_start`.
#[derive(Debug, Default)]
pub(crate) struct Body<'a> {
    pub(crate) raw: Raw<'a>,
    pub(crate) id: Field<'a>,
    pub(crate) model: Field<'a>,
    pub(crate) content: Field<'a>,
    /// The elements of `content`; `None` when it is no array.
    pub(crate) parts: Option<Vec<Part<'a>>>,
    pub(crate) usage: Option<Counts<'a>>,
}

/// A content block.
#[derive(Debug, Default)]
pub(crate) struct Part<'a> {
    pub(crate) raw: Raw<'a>,
    pub(crate) kind: Field<'a>,
    pub(crate) text: Field<'a>,
    pub(crate) thinking: Field<'a>,
    pub(crate) id: Field<'a>,
    pub(crate) name: Field<'a>,
    pub(crate) input: Field<'a>,
    /// `tool_use_id`, of a result.
    pub(crate) call: Field<'a>,
    pub(crate) content: Field<'a>,
    pub(crate) is_error: Field<'a>,
}

/// Token counts.
#[derive(Debug, Default)]
pub(crate) struct Counts<'a> {
    input: Field<'a>,
    output: Field<'a>,
    read: Field<'a>,
    write: Field<'a>,
}

/// Fills what may be there; `fill` says whether it is.
#[inline]
pub(crate) fn filled<T: Default>(
    place: &mut Option<T>,
    fill: impl FnOnce(&mut T) -> Read<bool>,
) -> Read<()> {
    if !fill(place.insert(T::default()))? {
        *place = None;
    }
    Ok(())
}

impl<'a> Body<'a> {
    /// Takes the message ahead; false when it is `null`. Of equal keys the last counts.
    #[inline]
    pub(crate) fn fill(&mut self, scan: &mut Scan<'a>) -> Read<bool> {
        self.raw = scan.object(&mut |key, scan| {
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
        })?;
        Ok(self.raw.get() != "null")
    }

    /// Takes the value ahead, and, when it is an array, its elements.
    #[inline]
    fn content(&mut self, scan: &mut Scan<'a>) -> Read<()> {
        self.parts = None;
        if scan.ahead() != b'[' {
            self.content = scan.field()?;
            return Ok(());
        }
        let parts = self.parts.insert(Vec::new());
        let raw = scan.array(&mut |scan| {
            parts.push(Part::default());
            parts.last_mut().map_or(Ok(()), |part| part.fill(scan).map(drop))
        })?;
        self.content = Some(raw);
        Ok(())
    }
}

impl<'a> Part<'a> {
    /// Takes the block ahead, whatever it is; false when it is `null`.
    pub(crate) fn fill(&mut self, scan: &mut Scan<'a>) -> Read<bool> {
        self.raw = scan.object(&mut |key, scan| {
            let field = if key == "type" {
                &mut self.kind
            } else if key == "text" {
                &mut self.text
            } else if key == "thinking" {
                &mut self.thinking
            } else if key == "id" {
                &mut self.id
            } else if key == "name" {
                &mut self.name
            } else if key == "input" {
                &mut self.input
            } else if key == "tool_use_id" {
                &mut self.call
            } else if key == "content" {
                &mut self.content
            } else if key == "is_error" {
                &mut self.is_error
            } else {
                return scan.skip();
            };
            *field = scan.field()?;
            Ok(())
        })?;
        Ok(self.raw.get() != "null")
    }
}

impl<'a> Counts<'a> {
    /// Takes the `usage` object ahead; false when it is `null`.
    #[inline]
    pub(crate) fn fill(&mut self, scan: &mut Scan<'a>) -> Read<bool> {
        let raw = scan.object(&mut |key, scan| {
            let field = if key == "input_tokens" {
                &mut self.input
            } else if key == "output_tokens" {
                &mut self.output
            } else if key == "cache_read_input_tokens" {
                &mut self.read
            } else if key == "cache_creation_input_tokens" {
                &mut self.write
            } else {
                return scan.skip();
            };
            *field = scan.field()?;
            Ok(())
        })?;
        Ok(raw.get() != "null")
    }

    /// The counts; what they do not name is taken from `base`.
    pub(crate) fn usage(&self, base: Usage) -> Usage {
        let or = |field: Field<'_>, base: u64| field.map_or(base, |_| json::count(field));
        Usage {
            input: or(self.input, base.input),
            output: or(self.output, base.output),
            cache_read: or(self.read, base.cache_read),
            cache_write: or(self.write, base.cache_write),
        }
    }
}
