//! A content block of a scripted message: text, thinking, a tool call or a block as it is, and how it is cut.
//!
//! `{{lines:N}}` in a text or an input becomes N numbered lines, so that a long text is one word in the file.

use std::cell::Cell;
use std::num::NonZeroUsize;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::limits::MODEL_LINES;
use crate::scenario::bounds;
use crate::text::distance;

/// The signature of thinking without a `signature` in the file.
const SIGNATURE: &str = "Y2xpdGFwZS1zY3JpcHRlZC10aGlua2luZw==";

/// One content block (`[[turn.block]]`); it has one of `text`, `thinking`, `tool`, `server_tool` and `raw`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BlockFile")]
pub struct ModelBlock {
    /// The content of the block.
    pub content: ModelContent,
    pub(super) cut: Option<DeltaCut>,
    pub(super) delay_ms: Option<u64>,
}

/// The content of a [`ModelBlock`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelContent {
    /// A piece of the answer with its `citations`: `text`.
    Text {
        /// The piece.
        text: Pieces,
        /// The citations: one `citations_delta` each, after the text.
        citations: Vec<Map<String, Value>>,
    },
    /// A piece of reasoning with its `signature`: `thinking`.
    Thinking {
        /// The reasoning.
        thinking: Pieces,
        /// The API's signature; a constant if the file has none.
        signature: String,
    },
    /// A call of a tool: `tool` or `server_tool`.
    Tool {
        /// The side that runs the tool.
        side: ToolSide,
        /// The tool's name.
        name: String,
        /// The `id` of the call; made of conversation, turn and block if absent.
        id: Option<String>,
        /// The JSON of the arguments: `input`, a table whose keys are sent in alphabetical order, or `input_json`, the
        /// text unchanged, valid or not. Without either, the call has no arguments.
        input: Pieces,
    },
    /// A block that starts and stops without a delta (`raw`), such as `redacted_thinking` or `web_search_tool_result`.
    /// `type` is sent first, the other keys in alphabetical order.
    Raw(Map<String, Value>),
}

/// The side that runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSide {
    /// The CLI: `tool`.
    Client,
    /// The API, while the message streams (`server_tool`); the result is a block of the same message.
    Server,
}

/// The way in which a text is cut into deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaCut {
    /// A cut after this number of characters: `cut`.
    Chars(NonZeroUsize),
    /// A cut after this number of UTF-16 units, also between the halves of a surrogate pair: `cut_utf16`.
    Utf16(NonZeroUsize),
}

/// A block as the file has it, before its keys are checked against each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockFile {
    /// A piece of the answer.
    text: Option<Pieces>,
    /// The citations of a text, one delta each, after it.
    #[serde(default)]
    citations: Vec<Map<String, Value>>,
    /// A piece of reasoning.
    thinking: Option<Pieces>,
    /// The API's signature of a piece of reasoning; a constant by default.
    signature: Option<String>,
    /// The name of a tool that the CLI runs.
    tool: Option<String>,
    /// The name of a tool that the API runs while the message streams.
    server_tool: Option<String>,
    /// The id of the call; made of conversation, turn and block by default.
    id: Option<String>,
    /// The arguments of the call, whose keys are sent in alphabetical order.
    input: Option<Map<String, Value>>,
    /// The JSON of the arguments as it is sent, valid or not.
    input_json: Option<Pieces>,
    /// A block that starts and stops without a delta, such as `redacted_thinking`. `type` is sent first, the other keys
    /// in alphabetical order.
    raw: Option<Map<String, Value>>,
    /// The characters of a delta; by default those of the file.
    cut: Option<NonZeroUsize>,
    /// The UTF-16 units of a delta, which may end between the halves of a surrogate pair.
    cut_utf16: Option<NonZeroUsize>,
    /// The milliseconds before each delta; by default those of the file.
    delay_ms: Option<u64>,
}

const ONE_OF: &str = "a block has one of `text`, `thinking`, `tool`, `server_tool` and `raw`";

impl TryFrom<BlockFile> for ModelBlock {
    type Error = String;

    fn try_from(file: BlockFile) -> Result<Self, String> {
        if file.signature.is_some() && file.thinking.is_none() {
            return Err("`signature` belongs to a block with `thinking`".into());
        }
        if !file.citations.is_empty() && file.text.is_none() {
            return Err("`citations` belong to a block with `text`".into());
        }
        let tool = match (file.tool, file.server_tool) {
            (Some(name), None) => Some((ToolSide::Client, name)),
            (None, Some(name)) => Some((ToolSide::Server, name)),
            (None, None) => None,
            _ => return Err(ONE_OF.into()),
        };
        let of_a_tool = file.id.is_some() || file.input.is_some() || file.input_json.is_some();
        if of_a_tool && tool.is_none() {
            return Err("`id`, `input` and `input_json` belong to a block with `tool` or \
                        `server_tool`"
                .into());
        }
        let cut = match (file.cut, file.cut_utf16) {
            (None, None) => None,
            (Some(n), None) => Some(DeltaCut::Chars(n)),
            (None, Some(n)) => Some(DeltaCut::Utf16(n)),
            _ => return Err("`cut` and `cut_utf16` exclude each other; keep one".into()),
        };
        let content = match (file.text, file.thinking, tool, file.raw) {
            (Some(text), None, None, None) => {
                ModelContent::Text { text: filled_pieces(text)?, citations: file.citations }
            }
            (None, Some(thinking), None, None) => ModelContent::Thinking {
                thinking: filled_pieces(thinking)?,
                signature: file.signature.unwrap_or_else(|| SIGNATURE.to_owned()),
            },
            (None, None, Some((side, name)), None) => {
                let input = tool_input(file.input, file.input_json)?;
                ModelContent::Tool { side, name, id: file.id, input }
            }
            (None, None, None, Some(raw)) => {
                if !raw.get("type").is_some_and(Value::is_string) {
                    return Err("`raw` is a whole block; write its `type`, such as \
                                \"redacted_thinking\""
                        .into());
                }
                if cut.is_some() || file.delay_ms.is_some() {
                    return Err("`raw` has no deltas; take `cut` and `delay_ms` away".into());
                }
                ModelContent::Raw(raw)
            }
            _ => return Err(ONE_OF.into()),
        };
        if cut.is_some() && matches!(content.pieces(), Pieces::Listed(_)) {
            return Err("a list says where to cut; take `cut` away, or write one string".into());
        }
        let delay_ms = file.delay_ms.map(|ms| bounds::within("delay_ms", ms)).transpose()?;
        Ok(Self { content, cut, delay_ms })
    }
}

fn tool_input(input: Option<Map<String, Value>>, json: Option<Pieces>) -> Result<Pieces, String> {
    match (input, json) {
        (Some(table), None) => Ok(Pieces::Whole(Value::Object(filled_table(table)?).to_string())),
        (None, Some(json)) => Ok(json),
        (None, None) => Ok(Pieces::Listed(Vec::new())),
        _ => Err("`input` and `input_json` exclude each other; keep one".into()),
    }
}

impl ModelContent {
    /// Returns the text that is cut into deltas; empty for a raw block.
    pub fn pieces(&self) -> &Pieces {
        const NONE: &Pieces = &Pieces::Listed(Vec::new());
        match self {
            Self::Text { text: pieces, .. }
            | Self::Thinking { thinking: pieces, .. }
            | Self::Tool { input: pieces, .. } => pieces,
            Self::Raw(_) => NONE,
        }
    }
}

impl ModelBlock {
    /// Makes a block of a text, with the cuts and delays of the file.
    pub(super) fn saying(text: &str) -> Self {
        Self::text(Pieces::Whole(text.to_owned()), None)
    }

    /// Makes a block of a text that comes as one delta, without a delay.
    pub(super) fn at_once(text: &str) -> Self {
        Self::text(Pieces::Listed(vec![text.to_owned()]), Some(0))
    }

    fn text(text: Pieces, delay_ms: Option<u64>) -> Self {
        let content = ModelContent::Text { text, citations: Vec::new() };
        Self { content, cut: None, delay_ms }
    }
}

/// A text, and the places of its cuts if the file lists them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a string, or a list of strings that are one delta each")]
pub enum Pieces {
    /// A text that a [`DeltaCut`] cuts.
    Whole(String),
    /// A text in pieces; a `{{…}}` must not span two of them.
    Listed(Vec<String>),
}

impl Pieces {
    /// Returns the whole text.
    pub fn joined(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Listed(pieces) => pieces.concat(),
        }
    }
}

thread_local! {
    /// The number of lines that the file being read may still ask for. It is a thread-local, because serde calls the
    /// conversions that write the lines out, and has no place for a count.
    static LEFT: Cell<FillLines> = const { Cell::new(FillLines { left: MODEL_LINES, most: MODEL_LINES }) };
}

/// The lines that a file may ask for.
#[derive(Debug, Clone, Copy)]
struct FillLines {
    left: usize,
    most: usize,
}

/// Reads one file, whose texts may ask for `most` lines.
pub(super) fn limited<T>(most: usize, read: impl FnOnce() -> T) -> T {
    LEFT.set(FillLines { left: most, most });
    read()
}

const OPEN: &str = "{{lines:";
const CLOSE: &str = "}}";

/// Returns the line of this number, with quotes and `é`, because a long text should have escapes and characters of more
/// than one byte.
fn line(number: usize) -> String {
    format!("{number:05} A \"line\" of a long text, all of the same length, même ici.\n")
}

/// Writes out every `{{lines:N}}` in a text.
fn filled_text(text: &str) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let number = after.split_once(CLOSE).and_then(|(n, after)| Some((n.parse().ok()?, after)));
        let Some((lines, after)) = number else {
            return Err(
                "`{{lines:…}}` says how many lines; write a number, as in `{{lines:500}}`".into()
            );
        };
        let FillLines { left, most } = LEFT.get();
        let left = left.checked_sub(lines).ok_or_else(|| {
            format!(
                "the `{{{{lines:…}}}}` of a file may ask for {most} lines in all, and \
                 `{{{{lines:{lines}}}}}` is past that; write a smaller number, or raise the limit with \
                 `--max-model-lines`"
            )
        })?;
        LEFT.set(FillLines { left, most });
        filled.push_str(before);
        filled.extend((1..=lines).map(line));
        rest = after;
    }
    misspelt_place(text).map_or(Ok(filled + rest), Err)
}

/// The placeholders that a recorder fills in, in the texts of a scenario and of its model.
const PLACES: [&str; 3] = ["project", "home", "tmp"];

/// Returns a sentence about a placeholder that is nearly one of these. Any other text in braces is text, which a model may
/// well write.
pub(crate) fn misspelt_place(text: &str) -> Option<String> {
    let named = text.split("{{").skip(1).filter_map(|rest| Some(rest.split_once(CLOSE)?.0));
    let mut words = named.filter(|word| {
        !PLACES.contains(word) && word.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
    });
    words.find_map(|word| {
        let near = PLACES.iter().find(|place| distance(word, place) <= 2)?;
        Some(format!("there is no `{{{{{word}}}}}`; did you mean `{{{{{near}}}}}`?"))
    })
}

/// Writes out every `{{lines:N}}` in the pieces.
fn filled_pieces(pieces: Pieces) -> Result<Pieces, String> {
    match pieces {
        Pieces::Whole(whole) => Ok(Pieces::Whole(filled_text(&whole)?)),
        Pieces::Listed(list) => Ok(Pieces::Listed(
            list.iter().map(|piece| filled_text(piece)).collect::<Result<_, _>>()?,
        )),
    }
}

/// Writes out every `{{lines:N}}` in the texts of a table.
fn filled_table(table: Map<String, Value>) -> Result<Map<String, Value>, String> {
    table.into_iter().map(|(key, value)| Ok((key, filled_value(value)?))).collect()
}

fn filled_value(value: Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(string) => Value::String(filled_text(&string)?),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(filled_value).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => Value::Object(filled_table(members)?),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_out_wherever_a_text_stands() {
        let two = line(1) + &line(2);
        assert_eq!(two.lines().count(), 2);
        assert_eq!(line(1).chars().count(), 65);
        for (from, expect) in [
            ("", String::new()),
            ("{{project}}", "{{project}}".to_owned()),
            ("a {{lines:2}}b{{lines:0}}", format!("a {two}b")),
        ] {
            assert_eq!(filled_text(from).unwrap(), expect, "{from}");
            assert_eq!(filled_pieces(Pieces::Listed(vec![from.into()])).unwrap().joined(), expect);
            let deep = serde_json::json!({"a": [{"b": from}, 1]});
            let expect = serde_json::json!({"a": [{"b": expect}, 1]});
            assert_eq!(filled_value(deep).unwrap(), expect);
        }
    }

    #[test]
    fn a_misspelt_placeholder_is_an_error_and_other_braces_are_text() {
        for (text, expect) in [
            ("in {{projct}}/a", Some("there is no `{{projct}}`; did you mean `{{project}}`?")),
            ("{{home}} {{Tmp}}", Some("there is no `{{Tmp}}`; did you mean `{{tmp}}`?")),
            ("{{ project }} {{user}} {{user.name}} {project} {{project}}", None),
        ] {
            assert_eq!(filled_text(text).err().as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn the_lines_of_a_file_have_a_limit() {
        let two = format!("{{{{lines:{}}}}} {{{{lines:2}}}}", MODEL_LINES - 2);
        let filled = limited(MODEL_LINES, || filled_text(&two)).unwrap();
        assert_eq!(filled.lines().count(), MODEL_LINES);
        for more in [&format!("{two}{{{{lines:1}}}}"), "{{lines:18446744073709551615}}"] {
            let error = limited(MODEL_LINES, || filled_text(more)).unwrap_err();
            assert!(error.contains("may ask for 100000 lines in all"), "{error}");
        }
        let error = limited(5, || filled_text("{{lines:2}}{{lines:4}}")).unwrap_err();
        assert!(error.contains("5 lines in all, and `{{lines:4}}` is past that"), "{error}");
        assert!(error.ends_with("raise the limit with `--max-model-lines`"), "{error}");
        assert!(
            limited(MODEL_LINES, || filled_text(&two)).is_ok(),
            "the next file has all of them again"
        );
    }

    #[test]
    fn a_number_is_asked_for() {
        let expect = "`{{lines:…}}` says how many lines; write a number, as in `{{lines:500}}`";
        for wrong in ["{{lines:}}", "{{lines:x}}", "{{lines:5"] {
            assert_eq!(filled_text(wrong).unwrap_err(), expect, "{wrong}");
        }
    }
}
