//! Draws a fault of the agent's side that a capture can have.

use clitape_recording::capture::Capture;
use serde_json::Value;

use super::agent_fault::{AgentFault, AgentFaultKind, ROWS};
use super::plan::Plan;
use super::played::{Line, Lines};
use super::random::AgentDraw;

/// The most lines that are read in search of one that a kind of fault fits.
const SEARCHED: u64 = 256;
/// The last callback that fails.
const LAST_CALLBACK: u32 = 8;
/// Records between which the CLI may print others, such as the pieces of a text.
const ANYWHERE: [&str; 3] = ["rate_limit_event", "tool_progress", "keep_alive"];

impl Plan {
    /// The plan of `seed` with one fault of the agent's side: random cuts and delays, and the lines of the host at
    /// their places. The same seed gives the same plan for the same capture on every machine.
    pub(crate) fn seeded_agent_fault(capture: Capture<'_>, seed: u64, pace_ms: u64) -> Self {
        let total = capture.stdout.len() as u64;
        let mut plan = Self::random(capture.stdout, seed).with_dialogue(capture.stdin, pace_ms);
        plan.agent = drawn(capture, &mut AgentDraw::new(seed, total)).into_iter().collect();
        plan
    }
}

/// A fault of the first kind that fits the capture, from a random kind on.
fn drawn(capture: Capture<'_>, draw: &mut AgentDraw) -> Option<AgentFault> {
    let lines = Lines::of(capture.stdout);
    if lines.len() == 0 {
        return None;
    }
    let first = draw.below(ROWS.len() as u64) as usize;
    let kinds = ROWS.iter().cycle().skip(first).take(ROWS.len());
    kinds.map(|row| row.kind).find_map(|kind| of_kind(kind, capture, &lines, draw))
}

fn of_kind(
    kind: AgentFaultKind,
    capture: Capture<'_>,
    lines: &Lines<'_>,
    draw: &mut AgentDraw,
) -> Option<AgentFault> {
    let stdout = capture.stdout;
    let fault = |number, byte| AgentFault { number, kind, byte };
    let mut number = 1 + draw.below(lines.len());
    match kind {
        AgentFaultKind::Cut => {
            // The last line is the one in which an output often ends.
            if draw.below(3) == 0 {
                number = lines.len();
            }
            let size = lines.get(number)?.size();
            Some(fault(number, draw.below(size + 1)))
        }
        AgentFaultKind::LogLine
        | AgentFaultKind::Bom
        | AgentFaultKind::UnknownKind
        | AgentFaultKind::LongLine => Some(fault(number, 0)),
        AgentFaultKind::Crlf => Some(fault(1, 0)),
        AgentFaultKind::LogInside => {
            let line = lines.get(number).filter(|line| line.size() > 1)?;
            let byte = 1 + draw.below(line.size() - 1);
            let is_inside_character = draw.below(2) == 0;
            let text = line.text(stdout);
            let inside = (1..).zip(&text[1..]).find(|(_, byte)| **byte & 0xc0 == 0x80);
            let inside = inside.filter(|_| is_inside_character).map(|(at, _)| at);
            Some(fault(number, inside.unwrap_or(byte)))
        }
        AgentFaultKind::BadUtf8 => {
            let size = lines.get(number)?.size();
            Some(fault(number, draw.below(size + 1)))
        }
        AgentFaultKind::Twice => search(number, lines, |_, line| {
            says_the_same_twice(&record(line, stdout)?).then_some(0)
        })
        .map(|(number, byte)| fault(number, byte)),
        AgentFaultKind::Swapped if !capture.stdin.is_empty() => None,
        AgentFaultKind::Swapped => search(number, lines, |number, line| {
            let next = lines.get(number + 1)?;
            let (one, two) = (record(line, stdout)?, record(next, stdout)?);
            may_swap(&one, &two).then_some(0)
        })
        .map(|(number, byte)| fault(number, byte)),
        AgentFaultKind::UnknownField => {
            let is_inner = draw.below(2) == 0;
            search(number, lines, |_, line| {
                let text = line.text(stdout);
                record(line, stdout)?;
                let inner = ["\"message\":{\"", "\"event\":{\""].iter().find_map(|key| {
                    let at = text.windows(key.len()).position(|bytes| bytes == key.as_bytes())?;
                    (text[..at].last() != Some(&b'\\')).then_some((at + key.len() - 1) as u64)
                });
                let outer = text.starts_with(b"{\"").then_some(1);
                inner.filter(|_| is_inner).or(outer)
            })
            .map(|(number, byte)| fault(number, byte))
        }
        // A callback that shows a question is not told from the others here.
        AgentFaultKind::CallbackFails | AgentFaultKind::CallbackHangs => {
            let number = 1 + draw.below(u64::from(LAST_CALLBACK));
            capture.stdin.is_empty().then(|| fault(number, 0))
        }
    }
}

/// The first line from `number` on, and then from the beginning, that `fits`, with the byte that it gives.
fn search(
    number: u64,
    lines: &Lines<'_>,
    fits: impl Fn(u64, Line) -> Option<u64>,
) -> Option<(u64, u64)> {
    let all = lines.len();
    (0..all.min(SEARCHED)).find_map(|step| {
        let number = (number - 1 + step) % all + 1;
        Some((number, fits(number, lines.get(number)?)?))
    })
}

/// The record of a line.
fn record(line: Line, stdout: &[u8]) -> Option<Value> {
    serde_json::from_slice(line.text(stdout)).ok().filter(Value::is_object)
}

/// A field that is text; empty when it is not there.
fn text<'v>(record: &'v Value, key: &str) -> &'v str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a record is one that says nothing more when it comes again: a whole message, the result of a call, and
/// the result of a turn. A message that the CLI itself made up, one that it says was aborted, and a message of the host,
/// are told again.
fn says_the_same_twice(record: &Value) -> bool {
    match text(record, "type") {
        "assistant" if record["aborted"] == true => false,
        "assistant" => record.pointer("/message/model").is_none_or(|model| model != "<synthetic>"),
        "user" => record.pointer("/message/content/0/tool_use_id").is_some(),
        kind => kind == "result",
    }
}

/// Whether the CLI may print two records in either order: results of two calls, records of two subagents, a whole
/// text and the end of its block, and records that belong to no message between the pieces of a text.
fn may_swap(one: &Value, two: &Value) -> bool {
    let [of_one, of_two] = [one, two].map(|record| text(record, "parent_tool_use_id"));
    let is_between = |record: &Value| ANYWHERE.contains(&text(record, "type"));
    let is_piece = |record: &Value| {
        record.pointer("/event/type").is_some_and(|kind| kind == "content_block_delta")
    };
    let result = |record: &Value| {
        let id = record.pointer("/message/content/0/tool_use_id")?.as_str()?;
        (text(record, "type") == "user").then(|| id.to_owned())
    };
    let are_results = result(one).zip(result(two)).is_some_and(|(one, two)| one != two);
    let is_text = text(one, "type") == "assistant"
        && one.pointer("/message/content/0/type").is_some_and(|kind| kind == "text");
    let is_stop = two.pointer("/event/type").is_some_and(|kind| kind == "content_block_stop");
    let are_of_subagents = !of_one.is_empty() && !of_two.is_empty() && of_one != of_two;
    is_between(one) && is_piece(two)
        || is_piece(one) && is_between(two)
        || are_results && of_one == of_two
        || is_text && is_stop && of_one == of_two
        || are_of_subagents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_told_again_does_not_come_twice() {
        let check = |record: &str, expect: bool| {
            let record: Value = serde_json::from_str(record).unwrap();
            assert_eq!(says_the_same_twice(&record), expect, "{record}");
        };
        check(r#"{"type":"assistant","message":{"model":"claude"}}"#, true);
        check(r#"{"type":"assistant","message":{"model":"<synthetic>"}}"#, false);
        check(r#"{"type":"assistant","aborted":true,"message":{"model":"claude"}}"#, false);
        check(r#"{"type":"user","message":{"content":[{"tool_use_id":"t"}]}}"#, true);
        check(r#"{"type":"user","message":{"content":"hi"}}"#, false);
        check(r#"{"type":"result"}"#, true);
        check(r#"{"type":"system"}"#, false);
    }
}
