//! The head of a record: the fields by which it is told what it is and whose, and, of a stream
//! event, the API's event in it.

use crate::json::{Field, Raw, Read, Scan};

/// The fields every record may have.
#[derive(Debug, Default)]
pub(crate) struct Head<'a> {
    pub(crate) kind: Field<'a>,
    pub(crate) subtype: Field<'a>,
    pub(crate) event: Option<Api<'a>>,
    pub(crate) message: Option<Body<'a>>,
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

/// The message of a record.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Body<'a> {
    pub(crate) raw: Raw<'a>,
    pub(crate) id: Field<'a>,
    pub(crate) model: Field<'a>,
    pub(crate) content: Field<'a>,
}

/// The API's event in a `stream_event`.
#[derive(Debug, Default)]
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
    /// Reads a record in one pass; `None` when the text is no JSON object. Of equal keys the last
    /// counts.
    pub(crate) fn read(record: &'a str) -> Option<Self> {
        let mut head = Self::default();
        let mut scan = Scan::new(record);
        let whole = scan.object(&mut |key, scan| {
            let field = match key.bytes() {
                b"event" => {
                    head.event = Api::read(scan)?;
                    return Ok(());
                }
                b"type" => &mut head.kind,
                b"subtype" => &mut head.subtype,
                b"message" => {
                    head.message = Body::read(scan)?;
                    return Ok(());
                }
                b"parent_tool_use_id" => &mut head.parent,
                b"uuid" => &mut head.uuid,
                b"error" => &mut head.error,
                b"is_api_error_message" => &mut head.api_error,
                b"aborted" => &mut head.aborted,
                b"supersedes" => &mut head.supersedes,
                b"retracted_message_uuids" => &mut head.retracted,
                b"refused_message_id" => &mut head.refused,
                b"abandoned_blocks" => &mut head.abandoned,
                b"isReplay" => &mut head.replay,
                b"isSynthetic" => &mut head.synthetic,
                b"session_id" => &mut head.session[0],
                b"sessionId" => &mut head.session[1],
                b"conversation_id" => &mut head.session[2],
                b"conversationId" => &mut head.session[3],
                _ => return scan.skip(),
            };
            *field = scan.field()?;
            Ok(())
        });
        let whole = whole.and_then(|whole| scan.end().map(|()| whole)).ok()?;
        whole.get().starts_with('{').then_some(head)
    }
}

impl<'a> Body<'a> {
    #[inline]
    fn read(scan: &mut Scan<'a>) -> Read<Option<Self>> {
        let mut body = Self::default();
        body.raw = scan.object(&mut |key, scan| {
            let field = match key.bytes() {
                b"id" => &mut body.id,
                b"model" => &mut body.model,
                b"content" => &mut body.content,
                _ => return scan.skip(),
            };
            *field = scan.field()?;
            Ok(())
        })?;
        Ok((body.raw.get() != "null").then_some(body))
    }
}

impl<'a> Api<'a> {
    #[inline]
    fn read(scan: &mut Scan<'a>) -> Read<Option<Self>> {
        let mut api = Self::default();
        api.raw = scan.object(&mut |key, scan| {
            let field = match key.bytes() {
                b"delta" => {
                    api.delta = Delta::read(scan)?;
                    return Ok(());
                }
                b"type" => &mut api.kind,
                b"index" => &mut api.index,
                b"message" => &mut api.message,
                b"content_block" => &mut api.block,
                b"usage" => &mut api.usage,
                _ => return scan.skip(),
            };
            *field = scan.field()?;
            Ok(())
        })?;
        Ok((api.raw.get() != "null").then_some(api))
    }
}

impl<'a> Delta<'a> {
    #[inline]
    fn read(scan: &mut Scan<'a>) -> Read<Self> {
        let mut delta = Self::default();
        let raw = scan.object(&mut |key, scan| {
            let field = match key.bytes() {
                b"type" => &mut delta.kind,
                b"text" => &mut delta.text,
                b"thinking" => &mut delta.thinking,
                b"partial_json" => &mut delta.json,
                b"stop_reason" => &mut delta.stop_reason,
                _ => return scan.skip(),
            };
            *field = scan.field()?;
            Ok(())
        })?;
        delta.raw = (raw.get() != "null").then_some(raw);
        Ok(delta)
    }

    /// The raw text, to be shown.
    pub(crate) fn text(&self) -> &'a str {
        self.raw.map_or("", |raw| raw.get())
    }
}
