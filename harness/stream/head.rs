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
            let field = if key == "event" {
                head.event = Api::read(scan)?;
                return Ok(());
            } else if key == "type" {
                &mut head.kind
            } else if key == "subtype" {
                &mut head.subtype
            } else if key == "message" {
                head.message = Body::read(scan)?;
                return Ok(());
            } else if key == "parent_tool_use_id" {
                &mut head.parent
            } else if key == "uuid" {
                &mut head.uuid
            } else if key == "error" {
                &mut head.error
            } else if key == "is_api_error_message" {
                &mut head.api_error
            } else if key == "aborted" {
                &mut head.aborted
            } else if key == "supersedes" {
                &mut head.supersedes
            } else if key == "retracted_message_uuids" {
                &mut head.retracted
            } else if key == "refused_message_id" {
                &mut head.refused
            } else if key == "abandoned_blocks" {
                &mut head.abandoned
            } else if key == "isReplay" {
                &mut head.replay
            } else if key == "isSynthetic" {
                &mut head.synthetic
            } else if key == "session_id" {
                &mut head.session[0]
            } else if key == "sessionId" {
                &mut head.session[1]
            } else if key == "conversation_id" {
                &mut head.session[2]
            } else if key == "conversationId" {
                &mut head.session[3]
            } else {
                return scan.skip();
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
            let field = if key == "id" {
                &mut body.id
            } else if key == "model" {
                &mut body.model
            } else if key == "content" {
                &mut body.content
            } else {
                return scan.skip();
            };
            *field = scan.field()?;
            Ok(())
        })?;
        Ok((body.raw.get() != "null").then_some(body))
    }
}

impl<'a> Api<'a> {
    /// Takes the event ahead; `None` when it is `null`.
    #[inline]
    pub(crate) fn read(scan: &mut Scan<'a>) -> Read<Option<Self>> {
        let mut api = Self::default();
        api.raw = scan.object(&mut |key, scan| {
            let field = if key == "delta" {
                api.delta = Delta::read(scan)?;
                return Ok(());
            } else if key == "type" {
                &mut api.kind
            } else if key == "index" {
                &mut api.index
            } else if key == "message" {
                &mut api.message
            } else if key == "content_block" {
                &mut api.block
            } else if key == "usage" {
                &mut api.usage
            } else {
                return scan.skip();
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
            let field = if key == "type" {
                &mut delta.kind
            } else if key == "text" {
                &mut delta.text
            } else if key == "thinking" {
                &mut delta.thinking
            } else if key == "partial_json" {
                &mut delta.json
            } else if key == "stop_reason" {
                &mut delta.stop_reason
            } else {
                return scan.skip();
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
