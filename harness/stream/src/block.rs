//! The state of a content block while it streams: its text, or the input of its tool call (U1).

use std::borrow::Cow;

use crate::emitter::Emitter;
use crate::event::{Event, ToolKind};
use crate::json::{JsonField, SurrogateCarry};
use crate::partial::PartialInput;
use crate::payload::Json;
use crate::tool_args::SourceArguments;
use crate::transcript::TextKind;

/// Bytes reserved for the input of a call, so that short inputs need one allocation.
const ROOM: usize = 256;

/// A block that has started and is not settled yet.
#[derive(Debug)]
pub(crate) struct BlockState {
    pub(crate) index: u64,
    pub(crate) content: BlockContent,
    /// The CLI printed the start of the block. False if a delta opened the block.
    pub(crate) started: bool,
}

impl BlockState {
    /// Returns whether the block has this type.
    pub(crate) fn is_of_type(&self, block_type: &str) -> bool {
        match &self.content {
            BlockContent::Text(kind, _) => TextKind::of_block(block_type) == Some(*kind),
            BlockContent::Tool(input) => block_type == input.kind.as_str(),
            BlockContent::Quiet | BlockContent::Unknown => false,
        }
    }

    /// Returns whether the stop of the block is still missing.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.started && !self.is_stopped()
    }

    /// Returns whether the block has stopped and waits for a snapshot, because its deltas are not
    /// JSON.
    pub(crate) fn is_stopped(&self) -> bool {
        self.tool().is_some_and(|input| input.stopped)
    }

    /// The input of a tool block.
    pub(crate) fn tool(&self) -> Option<&BlockInput> {
        match &self.content {
            BlockContent::Tool(input) => Some(input),
            _ => None,
        }
    }

    /// Drops a surrogate half at the end of the text, because a snapshot has provided the character.
    pub(crate) fn clear_carry(&mut self) {
        if let BlockContent::Text(_, stream) = &mut self.content {
            stream.carry = SurrogateCarry::default();
        }
    }

    /// The text of a block that has this kind of text.
    pub(crate) fn text(&mut self, wanted: TextKind) -> Option<&mut BlockStream> {
        match &mut self.content {
            BlockContent::Text(kind, stream) if *kind == wanted => Some(stream),
            _ => None,
        }
    }
}

/// The content of a block.
#[derive(Debug)]
pub(crate) enum BlockContent {
    Text(TextKind, BlockStream),
    Tool(Box<BlockInput>),
    /// Deltas of this block cause no event: it is a result, redacted reasoning, or a call without
    /// an id.
    Quiet,
    /// The type of the block is unknown, so its deltas are reported as unknown.
    Unknown,
}

/// Returns the tool kind for a block type, or `None` if the block is not a tool call.
pub(crate) fn tool_kind(block_type: &str) -> Option<ToolKind> {
    [ToolKind::ToolUse, ToolKind::ServerToolUse, ToolKind::McpToolUse]
        .into_iter()
        .find(|kind| kind.as_str() == block_type)
}

/// The text of a block while it streams.
#[derive(Debug, Default)]
pub(crate) struct BlockStream {
    carry: SurrogateCarry,
    /// Text from the start of the block. It is emitted unless the deltas repeat it.
    prefill: String,
    /// Length of the part of the prefill that the deltas have repeated.
    repeated: usize,
}

impl BlockStream {
    pub(crate) fn new(prefill: String) -> Self {
        Self { prefill, ..Self::default() }
    }

    /// Writes the next piece without escapes.
    pub(crate) fn append(&mut self, escaped: &str, out: &mut String) {
        if self.prefill.is_empty() {
            self.carry.append(escaped, out);
            return;
        }
        let mut piece = String::new();
        self.carry.append(escaped, &mut piece);
        let rest = &self.prefill[self.repeated..];
        if rest.len() > piece.len() && rest.starts_with(&piece) {
            self.repeated += piece.len();
            return;
        }
        if !piece.starts_with(rest) {
            out.push_str(&self.prefill);
        }
        out.push_str(&self.prefill[..self.repeated]);
        out.push_str(&piece);
        self.prefill.clear();
    }

    /// Writes the withheld text at the end of the block.
    pub(crate) fn close(&mut self, out: &mut String) {
        self.write_prefill(out);
        self.carry.close(out);
    }

    /// Writes the prefill, if it is still withheld, before the text is compared with a snapshot.
    pub(crate) fn write_prefill(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.prefill));
    }
}

/// The input of a tool block so far.
#[derive(Debug)]
pub(crate) struct BlockInput {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: ToolKind,
    /// The block has stopped with deltas that are not JSON. A snapshot may still replace them.
    pub(crate) stopped: bool,
    /// A snapshot showed `{}` although there were deltas.
    pub(crate) empty_snapshot: bool,
    /// Input from the start of the block.
    start_input: Option<SourceArguments<'static>>,
    deltas: String,
    carry: SurrogateCarry,
    partial: PartialInput,
    /// An event has reported a part of the input.
    emitted: bool,
}

impl BlockInput {
    pub(crate) fn new(id: &str, name: &str, kind: ToolKind, own: JsonField<'_>) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
            stopped: false,
            empty_snapshot: false,
            start_input: Some(SourceArguments::read(own).into_owned())
                .filter(|own| !own.is_empty()),
            deltas: String::with_capacity(ROOM),
            carry: SurrogateCarry::default(),
            partial: PartialInput::default(),
            emitted: false,
        }
    }

    /// Adds the next piece of the JSON text and emits the fields that it completes or extends (U2).
    /// The piece that ends the object causes no event, because the start of the call follows with
    /// all fields.
    pub(crate) fn append(&mut self, piece: &str, parent: Option<&str>, emitter: &mut Emitter<'_>) {
        self.carry.append(piece, &mut self.deltas);
        let new = self.partial.update(&self.deltas);
        let Some(args) = new.filter(|_| !self.partial.is_over()) else { return };
        self.emitted = true;
        let (id, name) = (self.id.as_str().into(), self.name.as_str().into());
        emitter.emit(Event::ToolInput { id, name, args, parent: parent.map(Into::into) });
    }

    /// Returns whether an event has reported a part of the input.
    pub(crate) fn is_emitted(&self) -> bool {
        self.emitted
    }

    /// Returns whether the stream carried any input. If so, `{}` in a snapshot cannot be the whole
    /// input (#113631).
    pub(crate) fn has_input(&self) -> bool {
        self.start_input.is_some() || self.has_deltas()
    }

    /// Returns whether the deltas equal these arguments byte for byte.
    pub(crate) fn equals_deltas(&self, arguments: &SourceArguments<'_>) -> bool {
        matches!(arguments, SourceArguments::Whole(json) if json.get() == self.deltas)
    }

    /// Returns whether the deltas contain more than white space.
    fn has_deltas(&self) -> bool {
        !self.deltas.trim().is_empty()
    }

    /// Records the stop of the block.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.close();
    }

    /// Ends the input. A surrogate half without its partner becomes U+FFFD.
    pub(crate) fn close(&mut self) {
        self.carry.close(&mut self.deltas);
    }

    /// Returns the arguments that the stream alone gives. A block without stop and without input
    /// was cut off, so it does not count as `{}`.
    pub(crate) fn streamed(&self) -> SourceArguments<'_> {
        if self.has_deltas() {
            SourceArguments::parse(&self.deltas)
        } else if let Some(own) = &self.start_input {
            own.clone()
        } else if self.stopped {
            SourceArguments::Whole(Json::EMPTY)
        } else {
            SourceArguments::Cut(Cow::Borrowed(""))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::json;

    fn check(own: &str, deltas: &[&str], stopped: bool, expect: &str) {
        let mut input = BlockInput::new("t", "Bash", ToolKind::ToolUse, json::whole(own).ok());
        for delta in deltas {
            input.carry.append(delta, &mut input.deltas);
        }
        input.close();
        input.stopped = stopped;
        let printed = match input.streamed() {
            SourceArguments::Whole(json) => json.value().to_string(),
            SourceArguments::Cut(raw) => format!("cut {raw}"),
        };
        assert_eq!(printed, expect, "{deltas:?}");
    }

    #[test]
    pub(crate) fn u1_arguments_from_the_stream() {
        check("{}", &[r#"{\"a\":"#, "1}"], true, r#"{"a":1}"#);
        check("{}", &[r#"{\"a\":"#], true, r#"cut {"a":"#);
        check("{}", &[r#"{\"a\":\"\ud83d"#], true, "cut {\"a\":\"\u{fffd}");
        check("{}", &["", " "], true, "{}");
        check("{}", &[], false, "cut ");
        check(r#"{"q":1}"#, &[], true, r#"{"q":1}"#);
        check(r#"{"q":1}"#, &[r#"{\"q\":2}"#], true, r#"{"q":2}"#);
        check(r#""{\"q\":1}""#, &[], true, r#"{"q":1}"#);
        check(r#""{\"q\":""#, &[], true, r#"cut {"q":"#);
        check(r#"{"__unparsedToolInput":{"raw":"{\"q","len":3}}"#, &[], true, r#"cut {"q"#);
        check(r#"{"a":1,"__unparsedToolInput":{"raw":"{\"q","len":3}}"#, &[], true, r#"cut {"q"#);
        check("{}", &[r#"{\"a\":\"\ud83d"#, r#"\ude00\"}"#], true, r#"{"a":"😀"}"#);
    }

    #[test]
    pub(crate) fn r1_a_prefill_is_emitted_unless_deltas_repeat_it() {
        for (prefill, deltas, expect) in [
            ("Let me ", vec!["think"], "Let me think"),
            ("Let me ", vec!["Let", " me ", "think"], "Let me think"),
            ("Let me", vec!["Let me think"], "Let me think"),
            ("Let me", vec!["Let"], "Let me"),
            ("Let me", vec!["Let", "ter"], "Let meLetter"),
            ("Let me", vec![], "Let me"),
        ] {
            let (mut stream, mut out) = (BlockStream::new(prefill.to_owned()), String::new());
            for delta in &deltas {
                stream.append(delta, &mut out);
            }
            stream.close(&mut out);
            assert_eq!(out, expect, "{prefill:?} {deltas:?}");
        }
    }

    #[test]
    fn a_block_has_one_kind_of_text() {
        for (kind, wanted, expect) in [
            (TextKind::Answer, TextKind::Answer, true),
            (TextKind::Reasoning, TextKind::Reasoning, true),
            (TextKind::Answer, TextKind::Reasoning, false),
            (TextKind::Reasoning, TextKind::Answer, false),
        ] {
            let content = BlockContent::Text(kind, BlockStream::default());
            let mut block = BlockState { index: 0, content, started: true };
            assert_eq!(block.text(wanted).is_some(), expect, "{kind:?} {wanted:?}");
        }
        let mut quiet = BlockState { index: 0, content: BlockContent::Quiet, started: true };
        assert!(quiet.text(TextKind::Answer).is_none());
    }
}
