//! A transcript of a session, as it states itself: the rules hold the verdict of the gateway against it.

use std::collections::HashSet;

use serde_json::Value;

/// The calls and the lines that a transcript says of itself.
#[derive(Debug, Default)]
pub(crate) struct RawTranscript {
    /// True if it has the model's words, or a call, of the main conversation.
    pub(crate) has_answer: bool,
    /// The calls of its last message that have no result.
    pub(crate) open: Vec<String>,
    /// The lines of subagents.
    pub(crate) sidechain: u64,
}

impl RawTranscript {
    /// Reads a transcript with `serde_json` alone.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines: Vec<Value> =
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let is_sidechain = |line: &&Value| line["isSidechain"] == true;
        let main: Vec<&Value> =
            lines.iter().filter(|line| !is_sidechain(line) && is_said(line)).collect();
        Self {
            has_answer: main.iter().any(|line| line["type"] == "assistant"),
            open: open_calls(&main),
            sidechain: lines.iter().filter(is_sidechain).count() as u64,
        }
    }
}

/// Whether a line is of the conversation.
fn is_said(line: &Value) -> bool {
    let said = &line["message"]["role"];
    ["assistant", "user"].iter().any(|role| line["type"] == *role && said == role)
}

/// The calls without a result of the last message, which may have a line for each of its blocks.
fn open_calls(main: &[&Value]) -> Vec<String> {
    let Some(last) = main.iter().rposition(|line| line["type"] == "assistant") else {
        return Vec::new();
    };
    let id = &main[last]["message"]["id"];
    let is_prompt =
        |line: &Value| line["type"] == "user" && blocks(line).all(|block| !is_result(block));
    let first = (0..=last).rev().take_while(|place| !is_prompt(main[*place]));
    let is_of_it =
        |place: &usize| *place == last || !id.is_null() && main[*place]["message"]["id"] == *id;
    let first = first.filter(is_of_it).last().unwrap_or(last);
    let answered: HashSet<&str> = main[first..]
        .iter()
        .flat_map(|line| blocks(line))
        .filter(|block| is_result(block))
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    let lines = main[first..=last].iter().filter(|line| line["message"]["id"] == *id);
    let calls = lines.flat_map(|line| blocks(line)).filter(|block| is_call(block));
    let ids = calls.filter_map(|call| call["id"].as_str());
    ids.filter(|id| !answered.contains(id)).map(str::to_owned).collect()
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

fn is_call(block: &Value) -> bool {
    block["type"].as_str().is_some_and(|kind| kind.ends_with("tool_use"))
}

fn is_result(block: &Value) -> bool {
    block["type"].as_str().is_some_and(|kind| kind.ends_with("tool_result"))
}
