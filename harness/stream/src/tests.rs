//! Tests of the whole parser: records in, events out, cut at every byte.

pub(crate) mod blocks;
pub(crate) mod conversations;
pub(crate) mod dialog;
pub(crate) mod facts;
pub(crate) mod framing;
pub(crate) mod host;
pub(crate) mod input;
pub(crate) mod kinds;
pub(crate) mod limits;
pub(crate) mod notext;
pub(crate) mod odd;
pub(crate) mod outcome;
pub(crate) mod random;
pub(crate) mod retract;
mod snapshots;
pub(crate) mod text;
pub(crate) mod thinking;
pub(crate) mod tools;
pub(crate) mod turns;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::{Event, Parser, Stats, ToolArguments, ToolKind};

/// Feeds `bytes` in the pieces that `cut` asks for and prints the events.
fn run(bytes: &[u8], cut: impl FnMut() -> usize) -> (Vec<String>, Stats) {
    feed(Parser::new(), bytes, cut)
}

/// Feeds any parser.
fn feed(mut parser: Parser, bytes: &[u8], mut cut: impl FnMut() -> usize) -> (Vec<String>, Stats) {
    let mut seen = Vec::new();
    let mut so_far = TextSoFar::default();
    let mut sink = |event: Event<'_>| {
        so_far.check(&event);
        seen.push(show(&event));
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(cut().clamp(1, rest.len()));
        parser.feed_with(piece, &mut sink);
        rest = tail;
    }
    let stats = parser.finish_with(&mut sink);
    so_far.check_end();
    (seen, stats)
}

/// The texts of each conversation, joined from the deltas: answer and reasoning, and the number of
/// turns that have ended.
#[derive(Default)]
struct TextSoFar(HashMap<Option<String>, [String; 2]>, u64);

impl TextSoFar {
    /// There is at least one outcome, and text of the main thread has one behind it.
    fn check_end(&self) {
        assert!(self.1 > 0 && !self.0.contains_key(&None));
    }

    fn check(&mut self, event: &Event<'_>) {
        let (parent, at, delta, text, length) = match event {
            Event::Text { delta, text, message_text, length, parent, .. } => {
                assert!(
                    text.ends_with(message_text)
                        && message_text.ends_with(delta.trim_start_matches('\n'))
                );
                (parent, 0, delta, text, length)
            }
            Event::Thinking { delta, text, block_text, length, parent, .. } => {
                assert!(
                    text.ends_with(block_text)
                        && block_text.ends_with(delta.trim_start_matches('\n'))
                );
                (parent, 1, delta, text, length)
            }
            Event::Retract { text, thinking, length, thinking_length, parent, .. } => {
                let left = [(*text).to_owned(), (*thinking).to_owned()];
                assert_eq!(
                    [*length, *thinking_length],
                    left.each_ref().map(|t| t.chars().count() as u64)
                );
                self.0.insert(parent.as_deref().map(str::to_owned), left);
                return;
            }
            Event::Outcome(outcome) => {
                self.1 += 1;
                assert_eq!(outcome.turn, self.1, "each turn has one outcome");
                // Each turn starts afresh.
                self.0.remove(&None);
                return;
            }
            _ => return,
        };
        let whole = &mut self.0.entry(parent.as_deref().map(str::to_owned)).or_default()[at];
        whole.push_str(delta);
        assert_eq!(whole, text, "the deltas of a conversation make up its text");
        assert_eq!(*length, text.chars().count() as u64);
    }
}

/// Runs `bytes` whole, cut at every byte, and in random pieces; all must give the same events.
fn run_all(bytes: &[u8]) -> (Vec<String>, Stats) {
    let whole = run(bytes, || usize::MAX);
    for at in 1..bytes.len() {
        let mut next = at;
        let cut = run(bytes, || std::mem::replace(&mut next, usize::MAX));
        assert_eq!(cut, whole, "cut at byte {at}");
    }
    assert_eq!(run(bytes, || 1), whole, "byte by byte");
    for seed in 1..20_u64 {
        let mut state = seed;
        let random = run(bytes, || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % 97
        });
        assert_eq!(random, whole, "random pieces, seed {seed}");
    }
    let Stats { lines, blank, records, unknown, unusable, .. } = whole.1;
    assert_eq!(lines, blank + records + unknown + unusable, "every line is accounted for");
    whole
}

/// Compares the events of `records`, each of which is one line.
fn check(records: &[String], expect: &[&str]) {
    let bytes: String = records.iter().map(|record| format!("{record}\n")).collect();
    let (seen, stats) = run_all(bytes.as_bytes());
    assert_eq!(seen, expect, "of\n{bytes}");
    let diagnostics = seen.iter().filter(|event| event.starts_with("diagnostic")).count();
    assert_eq!(stats.diagnostics, diagnostics as u64);
}

fn show(event: &Event<'_>) -> String {
    let or_dash = |word: &Option<Cow<'_, str>>| word.as_deref().unwrap_or("-").to_owned();
    let mut line = match event {
        Event::Session { session_id, model, cli_version } => {
            [Some(session_id), model.as_ref(), cli_version.as_ref()]
                .into_iter()
                .flatten()
                .fold("session".to_owned(), |line, part| line + " " + part)
        }
        Event::Text { message_id, delta, .. } => format!("text {message_id} {delta:?}"),
        Event::Thinking { message_id, block, delta, .. } => {
            format!("think {message_id}#{block} {delta:?}")
        }
        Event::Retract { message_id, text, thinking, calls, .. } => {
            format!("retract {message_id} leaves {text:?} {thinking:?} without {calls:?}")
        }
        Event::ToolInput { id, name, args, .. } => {
            format!("input {id} {name} {}", Value::Object(args.to_map()))
        }
        Event::ToolStart { id, name, kind, args, .. } => {
            let kind = if *kind == ToolKind::ToolUse { "" } else { kind.as_str() };
            let args = match args {
                ToolArguments::Complete(json) => json.value().to_string(),
                ToolArguments::Truncated(raw) => format!("cut {raw:?}"),
            };
            format!("start {id} {name} {kind}{args}")
        }
        Event::ToolResult { id, name, is_error, result, incomplete, .. } => {
            let how = incomplete.map_or(if *is_error { "error " } else { "" }, |how| how.as_str());
            format!("result {id} {name} {how}{}", result.value())
        }
        Event::Usage { usage: u, is_final } => {
            let end = if *is_final { " final" } else { "" };
            format!("usage {} {} {} {}{end}", u.input, u.output, u.cache_read, u.cache_write)
        }
        Event::Notice { kind, subtype, detail } => {
            let detail = serde_json::to_string(detail).unwrap();
            format!("notice {kind}/{} {detail}", or_dash(subtype))
        }
        Event::Record { kind, subtype, .. } => format!("record {kind}/{}", or_dash(subtype)),
        Event::Unknown { kind, raw, .. } => format!("unknown {kind} {raw}"),
        Event::Diagnostic { code, line, .. } => format!("diagnostic {} {line}", code.as_str()),
        Event::Outcome(outcome) => {
            let mut line = format!("{} {:?}", outcome.status.as_str(), outcome.text);
            if let Some(error) = &outcome.error {
                write!(line, " {}", error.kind.as_str()).unwrap();
            }
            if let Some(usage) = outcome.usage {
                write!(line, " of {}", usage.input).unwrap();
            }
            if outcome.turn > 1 {
                write!(line, " turn {}", outcome.turn).unwrap();
            }
            for (word, list) in [("answers", &outcome.answers), ("began", &outcome.message_ids)] {
                if !list.is_empty() {
                    write!(line, " {word} {list:?}").unwrap();
                }
            }
            if let Some(origin) = &outcome.origin {
                write!(line, " from {origin}").unwrap();
            }
            line
        }
        Event::Question { id, name, call, input, suggestions, detail, .. } => {
            let detail = serde_json::to_string(detail).unwrap();
            let (call, input) = (or_dash(call), input.value());
            let suggestions = suggestions.value();
            format!("question {id} {name} {call} {input} {suggestions} {detail}")
        }
        Event::QuestionWithdrawn { id } => format!("withdrawn {id}"),
        Event::Answered { id, decision, message, input } => {
            format!("answered {id} {decision} {} {}", or_dash(message), input.value())
        }
        Event::Control { id, subtype, error, detail } => {
            let detail = serde_json::to_string(detail).unwrap();
            format!("control {id} {} {} {detail}", or_dash(subtype), or_dash(error))
        }
        Event::Request { id, subtype, detail } => {
            format!("request {id} {subtype} {}", serde_json::to_string(detail).unwrap())
        }
        Event::HostMessage { id, kind, text } => {
            format!("host {} {kind} {}", or_dash(id), or_dash(text))
        }
        Event::Heard { id, text, folded } => {
            format!("heard {} {text:?}{}", or_dash(id), if *folded { " folded" } else { "" })
        }
    };
    let data = &serde_json::to_value(event).unwrap()["data"];
    if let Some(parent) = data["parent"].as_str() {
        write!(line, " @{parent}").unwrap();
    }
    line
}

fn event(event: &str) -> String {
    format!(r#"{{"type":"stream_event","event":{event},"parent_tool_use_id":null,"uuid":"0-1"}}"#)
}

/// A record of a subagent.
fn under(parent: &str, record: &str) -> String {
    let open = record.replace(r#","parent_tool_use_id":null"#, "");
    format!(r#"{{"parent_tool_use_id":"{parent}",{}"#, &open[1..])
}

fn message(id: &str) -> String {
    event(&format!(r#"{{"type":"message_start","message":{{"id":"{id}","content":[]}}}}"#))
}

fn over() -> String {
    event(r#"{"type":"message_stop"}"#)
}

fn block(index: u64, block: &str) -> String {
    event(&format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#))
}

fn tool(index: u64, id: &str, input: &str) -> String {
    block(index, &call(id, input))
}

/// A tool_use block.
fn call(id: &str, input: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{input}}}"#)
}

fn delta(index: u64, kind: &str, field: &str, escaped: &str) -> String {
    event(&format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":"{escaped}"}}}}"#
    ))
}

fn text(index: u64, escaped: &str) -> String {
    delta(index, "text_delta", "text", escaped)
}

fn think(index: u64, escaped: &str) -> String {
    delta(index, "thinking_delta", "thinking", escaped)
}

fn json(index: u64, json: &str) -> String {
    let literal = serde_json::to_string(json).unwrap();
    delta(index, "input_json_delta", "partial_json", &literal[1..literal.len() - 1])
}

fn stop(index: u64) -> String {
    event(&format!(r#"{{"type":"content_block_stop","index":{index}}}"#))
}

fn snapshot(id: &str, blocks: &str) -> String {
    format!(r#"{{"message":{{"content":[{blocks}],"id":"{id}"}},"type":"assistant"}}"#)
}

fn text_block(escaped: &str) -> String {
    format!(r#"{{"type":"text","text":"{escaped}"}}"#)
}

/// A record of the main thread's user with these blocks.
fn user(blocks: &str) -> String {
    format!(r#"{{"type":"user","message":{{"role":"user","content":[{blocks}]}}}}"#)
}

fn system(subtype: &str, fields: &str) -> String {
    format!(r#"{{"type":"system","subtype":"{subtype}"{fields}}}"#)
}

fn tool_result(id: &str, content: &str) -> String {
    format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{content}"}}]}}}}"#
    )
}

/// The end of a run whose only result is `result("x")`.
const END: &str = r#"ok "x""#;

fn result(escaped: &str) -> String {
    format!(r#"{{"is_error":false,"result":"{escaped}","subtype":"success","type":"result"}}"#)
}

/// Joins single records and lists of them.
macro_rules! records {
    ($($part:expr),* $(,)?) => { [$(Vec::from_iter($part)),*].concat() };
}
use records;

/// One record as a list.
fn one(record: impl Into<String>) -> [String; 1] {
    [record.into()]
}

/// A message with one streamed text block.
fn spoken(id: &str, escaped: &str) -> Vec<String> {
    vec![message(id), text(0, escaped), stop(0), over()]
}

/// The beginning of a message with a streamed call: its block is open, and its input has begun.
fn opened(input: &str) -> [String; 3] {
    [message("a"), tool(0, "t", "{}"), json(0, input)]
}

/// A message with one streamed call.
fn called(id: &str, call: &str) -> Vec<String> {
    vec![message(id), tool(0, call, "{}"), json(0, r#"{"a":1}"#), stop(0), over()]
}
