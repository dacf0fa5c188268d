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

impl<'a> Body<'a> {
    /// Takes the message ahead; `None` when it is `null`. Of equal keys the last counts.
    #[inline]
    pub(crate) fn read(scan: &mut Scan<'a>) -> Read<Option<Self>> {
        let mut body = Self::default();
        body.raw = scan.object(&mut |key, scan| {
            if key == "id" {
                body.id = scan.field()?;
            } else if key == "model" {
                body.model = scan.field()?;
            } else if key == "content" {
                (body.content, body.parts) = parts(scan)?;
            } else if key == "usage" {
                body.usage = Counts::read(scan)?;
            } else {
                scan.skip()?;
            }
            Ok(())
        })?;
        Ok((body.raw.get() != "null").then_some(body))
    }
}

/// Takes the value ahead, and, when it is an array, its elements.
#[inline]
fn parts<'a>(scan: &mut Scan<'a>) -> Read<(Field<'a>, Option<Vec<Part<'a>>>)> {
    if scan.ahead() != b'[' {
        return Ok((scan.field()?, None));
    }
    let mut parts = Vec::new();
    let raw = scan.array(&mut |scan| {
        parts.push(Part::take(scan)?);
        Ok(())
    })?;
    Ok((Some(raw), Some(parts)))
}

impl<'a> Part<'a> {
    /// Takes the block ahead; `None` when it is `null`.
    #[inline]
    pub(crate) fn read(scan: &mut Scan<'a>) -> Read<Option<Self>> {
        let part = Self::take(scan)?;
        Ok((part.raw.get() != "null").then_some(part))
    }

    /// Takes the block ahead, whatever it is.
    fn take(scan: &mut Scan<'a>) -> Read<Self> {
        let mut part = Self::default();
        part.raw = scan.object(&mut |key, scan| {
            let field = if key == "type" {
                &mut part.kind
            } else if key == "text" {
                &mut part.text
            } else if key == "thinking" {
                &mut part.thinking
            } else if key == "id" {
                &mut part.id
            } else if key == "name" {
                &mut part.name
            } else if key == "input" {
                &mut part.input
            } else if key == "tool_use_id" {
                &mut part.call
            } else if key == "content" {
                &mut part.content
            } else if key == "is_error" {
                &mut part.is_error
            } else {
                return scan.skip();
            };
            *field = scan.field()?;
            Ok(())
        })?;
        Ok(part)
    }
}

impl<'a> Counts<'a> {
    /// Takes the `usage` object ahead; `None` when it is `null`.
    #[inline]
    pub(crate) fn read(scan: &mut Scan<'a>) -> Read<Option<Self>> {
        let mut counts = Self::default();
        let raw = scan.object(&mut |key, scan| {
            let field = if key == "input_tokens" {
                &mut counts.input
            } else if key == "output_tokens" {
                &mut counts.output
            } else if key == "cache_read_input_tokens" {
                &mut counts.read
            } else if key == "cache_creation_input_tokens" {
                &mut counts.write
            } else {
                return scan.skip();
            };
            *field = scan.field()?;
            Ok(())
        })?;
        Ok((raw.get() != "null").then_some(counts))
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
