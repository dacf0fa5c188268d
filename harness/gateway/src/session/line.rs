//! The contents of one line of a transcript ([X1](crate::rules::X1)).

use clitape_stream::{ToolKind, lenient_value};
use serde_json::Value;

/// A line of a transcript that is one JSON object.
pub(super) struct TranscriptLine {
    /// The line's own id, by which later lines name it.
    pub(super) uuid: Option<String>,
    pub(super) parent: Parent,
    pub(super) kind: LineKind,
    pub(super) session: SessionKey,
}

/// Under which key a record names its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKey {
    /// `sessionId`, as lines of transcripts do.
    Transcript,
    /// `session_id`, as records on stdout do.
    Stdout,
    None,
}

/// The reference of a line to the one it follows.
pub(super) enum Parent {
    /// None: transcripts before the chains had no reference.
    Unsaid,
    /// It is the first line of a chain.
    Nothing,
    Line(String),
}

pub(super) enum LineKind {
    /// The main conversation.
    Conversation(LineContent),
    /// A subagent's conversation.
    Sidechain,
    /// Another line, by its `type`.
    Other(String),
}

/// A part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineContent {
    pub(super) by: Author,
    pub(super) timestamp: Option<String>,
    /// Texts, without blanks around them.
    pub(super) texts: Vec<String>,
    /// Answers to calls: those of the CLI's tools in user lines, those of the API's in assistant lines.
    pub(super) answers: Vec<ToolAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Author {
    User(UserTurn),
    Assistant(AssistantMessage),
}

/// The purpose of a user line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserTurn {
    /// The model is to answer it.
    Prompt,
    /// It ends the turn: `[Request interrupted by user]`.
    Interruption,
    /// A summary of the conversation before it: a compaction.
    Summary,
    /// A text without an answer: a local command, a note of the CLI's.
    Note,
}

/// A line of an API message; the CLI writes one for each block, all with the message's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AssistantMessage {
    pub(super) id: Option<String>,
    /// The CLI wrote it in the model's place: an API error, `No response requested.`
    pub(super) is_synthetic: bool,
    pub(super) stop: TranscriptEnd,
    pub(super) calls: Vec<TranscriptCall>,
}

/// The end of a message, as a message line reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptEnd {
    /// `tool_use`.
    ToolUse,
    /// It was still being written, or broken off.
    Open,
    /// It ended, or the CLI is one that does not say.
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TranscriptCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: ToolKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolAnswer {
    pub(super) call: String,
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// Reads a line; `None` when it is not one JSON object.
pub(super) fn read(line: &[u8]) -> Option<TranscriptLine> {
    let record = lenient_value(String::from_utf8_lossy(line).trim()).ok()?;
    record.is_object().then(|| TranscriptLine {
        uuid: string(&record, "uuid"),
        parent: parent(&record),
        kind: kind(&record),
        session: session_key(&record),
    })
}

fn session_key(record: &Value) -> SessionKey {
    match (record.get("sessionId"), record.get("session_id")) {
        (Some(_), _) => SessionKey::Transcript,
        (None, Some(_)) => SessionKey::Stdout,
        (None, None) => SessionKey::None,
    }
}

/// A compaction begins a new chain, and says which line it logically follows.
fn parent(record: &Value) -> Parent {
    match (string(record, "parentUuid"), string(record, "logicalParentUuid")) {
        (Some(line), _) | (None, Some(line)) => Parent::Line(line),
        (None, None) if record.get("parentUuid").is_some() => Parent::Nothing,
        (None, None) => Parent::Unsaid,
    }
}

fn kind(record: &Value) -> LineKind {
    // A line without a type is a line of another kind, whose name is empty.
    let name = string(record, "type").unwrap_or_default();
    let message = &record["message"];
    let by = match (name.as_str(), message["role"].as_str()) {
        _ if record["isSidechain"] == true => {
            return LineKind::Sidechain;
        }
        ("assistant", Some("assistant")) => Author::Assistant(self::message(record, message)),
        ("user", Some("user")) => Author::User(UserTurn::Prompt),
        _ => return LineKind::Other(name),
    };
    let content = &message["content"];
    let blocks = blocks(content);
    let texts: Vec<String> = match content {
        Value::String(text) => vec![text.trim().to_owned()],
        _ => blocks.iter().filter_map(text).collect(),
    };
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    let answers: Vec<ToolAnswer> = blocks.iter().filter_map(answer).collect();
    let by = match by {
        Author::User(_) => Author::User(turn(record, &texts, &answers)),
        by @ Author::Assistant(_) => by,
    };
    LineKind::Conversation(LineContent {
        by,
        timestamp: string(record, "timestamp"),
        texts,
        answers,
    })
}

fn turn(record: &Value, texts: &[String], answers: &[ToolAnswer]) -> UserTurn {
    const NOTES: [&str; 4] =
        ["<local-command-", "<command-name>", "<command-message>", "<bash-stdout>"];
    let begins = |mark: &str| texts.first().is_some_and(|text| text.starts_with(mark));
    if record["isCompactSummary"] == true {
        UserTurn::Summary
    } else if begins("[Request interrupted by user") {
        UserTurn::Interruption
    } else if answers.is_empty()
        && (record["isMeta"] == true || NOTES.iter().any(|note| begins(note)))
    {
        UserTurn::Note
    } else {
        UserTurn::Prompt
    }
}

/// Returns the blocks of a content. A content that is not an array has none.
fn blocks(content: &Value) -> &[Value] {
    content.as_array().map_or(&[], Vec::as_slice)
}

fn message(record: &Value, message: &Value) -> AssistantMessage {
    let blocks = blocks(&message["content"]);
    AssistantMessage {
        id: string(message, "id"),
        is_synthetic: message["model"] == "<synthetic>",
        stop: stop(record, message),
        calls: blocks.iter().filter_map(call).collect(),
    }
}

/// Version 1 of the CLI wrote `null` for messages that had ended.
fn stop(record: &Value, message: &Value) -> TranscriptEnd {
    let is_first_version = record["version"].as_str().is_none_or(|v| v.starts_with("1."));
    match message.get("stop_reason") {
        Some(Value::String(reason)) if reason == "tool_use" => TranscriptEnd::ToolUse,
        Some(Value::Null) if !is_first_version => TranscriptEnd::Open,
        _ => TranscriptEnd::Ended,
    }
}

fn call(block: &Value) -> Option<TranscriptCall> {
    const KINDS: [ToolKind; 3] = [ToolKind::ToolUse, ToolKind::ServerToolUse, ToolKind::McpToolUse];
    let kind = KINDS.into_iter().find(|kind| block["type"] == kind.as_str())?;
    // A call without a name can be answered all the same.
    let name = string(block, "name").unwrap_or_default();
    Some(TranscriptCall { id: string(block, "id")?, name, kind })
}

/// `tool_result`, `web_search_tool_result`, `mcp_tool_result` and whatever else ends so.
fn answer(block: &Value) -> Option<ToolAnswer> {
    block["type"].as_str().filter(|name| name.ends_with("tool_result"))?;
    let content = &block["content"];
    let text = match content {
        Value::String(text) => text.trim().to_owned(),
        _ => blocks(content).iter().filter_map(self::text).collect::<Vec<_>>().join("\n"),
    };
    let is_error = block["is_error"] == true;
    Some(ToolAnswer { call: string(block, "tool_use_id")?, is_error, text })
}

/// The text of a text block.
fn text(block: &Value) -> Option<String> {
    let text = block["text"].as_str().filter(|_| block["type"] == "text")?;
    Some(text.trim().to_owned())
}

/// A field that contains more than blanks, trimmed.
fn string(value: &Value, name: &str) -> Option<String> {
    let text = value[name].as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
