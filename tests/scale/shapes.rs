//! Makes the output of runs that are long in one way (many calls, one long text, one large result, and so on), and
//! replays such a run in every channel.

#![allow(clippy::expect_used, reason = "a run that can't be printed or read fails")]

use std::io::{BufReader, Read, Write};
use std::ops::ControlFlow;

use clitape_recording::scenario::{AcpClient, Chat, ChatMode, RunSpec, Setup};
use clitape_runner::replay::{CapturePieces, Plan, Replay, replay, replay_streamed};
use serde_json::{Value, json};
use strum::{Display, EnumIter};

/// The bytes of a result or an input that comes many times.
const SMALL: usize = 200;
/// The bytes of a delta of text, and of a delta of a tool's input.
const TEXT_DELTA: usize = 12;
const INPUT_DELTA: usize = 64;

/// The milliseconds between two lines of a replay.
const PACE_MS: u64 = 200;

/// Returns the setup of a run in every channel.
fn setup() -> Setup {
    let chat = Some(Chat::of(ChatMode::Partial));
    let acp = Some(AcpClient { terminal: false });
    Setup { run: RunSpec::default(), channel: chat, acp }
}

/// Replays a run in every channel, and returns the replay with its trace.
#[allow(dead_code, reason = "only the test keeps traces")]
pub(crate) fn replayed(stdout: &[u8]) -> Replay {
    replay(stdout, &Plan::canonical(stdout, PACE_MS), setup())
}

/// Replays a run while it is read, drops the trace, and returns the number of its entries.
pub(crate) fn entries_of(stdout: impl Read) -> u64 {
    let pieces = CapturePieces::paced(BufReader::new(stdout), PACE_MS);
    let pass = |_| ControlFlow::Continue(());
    let replayed = replay_streamed(pieces, Vec::new(), setup(), pass);
    replayed.expect("the run can be read").expect("all of it is taken").entries
}

/// The way in which a run is long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter)]
pub(crate) enum Shape {
    /// One text in short deltas.
    Text,
    /// One text in long deltas.
    TextInLongDeltas,
    /// Messages with a text each.
    Messages,
    /// One whole message with many texts.
    TextsOfAMessage,
    /// Stretches of reasoning, each followed by a text.
    Thinking,
    /// Calls, one after another.
    Calls,
    /// The same call again and again.
    EqualCalls,
    /// Calls that all run at the same time.
    CallsAtOnce,
    /// A text that fills a message, followed by calls.
    TextAndCalls,
    /// Edits of a file.
    Edits,
    /// Subagents, one after another, each with a call.
    Subagents,
    /// Subagents that all run at the same time.
    SubagentsAtOnce,
    /// Calls of one subagent.
    CallsOfASubagent,
    /// Reports of a retry.
    Notices,
    /// Texts that are taken back.
    Retracted,
    /// One large result.
    Result,
    /// One large input of a tool.
    Input,
    /// An input with many fields.
    Fields,
    /// A list of tasks that is written again and again.
    Todos,
    /// Quotations within quotations, without a text to show.
    Quotations,
    /// Brackets that never close.
    Brackets,
    /// Records of unknown kinds.
    UnknownKinds,
    /// Turns of one session.
    Turns,
    /// A live session, whose turns each have some of everything.
    Session,
}

impl Shape {
    /// Returns the stdout of a run of about this many bytes.
    #[allow(dead_code, reason = "the benchmark has runs in files")]
    pub(crate) fn stdout(self, bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        self.print(bytes, &mut out);
        out
    }

    /// Prints a run of about this many bytes.
    pub(crate) fn print(self, bytes: usize, out: &mut dyn Write) {
        let mut run = PrintedRun::new(out);
        run.record(json!({"type": "system", "subtype": "init", "cwd": "/project", "tools": ["Bash"], "model": "m"}));
        match self {
            Self::Text => run.one_text(&"lorem ipsum ".repeat(bytes / 240), TEXT_DELTA),
            Self::TextInLongDeltas => {
                run.one_text(&"Some words of a line.\n".repeat(bytes / 50), 4_096);
            }
            Self::Messages => run.until(bytes, |run, n| {
                run.message(None, |run| run.text(&format!("Message number {n}."), TEXT_DELTA));
            }),
            Self::TextsOfAMessage => {
                run.message = "msg_0".to_owned();
                let texts: Vec<Value> = (0..bytes / 70)
                    .map(|n| json!({ "type": "text", "text": format!("This is text number {n}.") }))
                    .collect();
                let message = run.snapshot(&texts.iter().collect::<Vec<_>>());
                run.record(json!({ "type": "assistant", "message": message }));
            }
            Self::Thinking => run.until(bytes, |run, n| {
                run.message(None, |run| {
                    run.thinking(&format!("What is {n}?"));
                    run.text(&format!("It is {n}."), TEXT_DELTA);
                });
            }),
            Self::Calls => run.until(bytes, |run, n| {
                run.call(None, n, "Bash", &json!({ "command": format!("echo {n}") }));
            }),
            Self::EqualCalls => run.until(bytes, |run, n| {
                run.call(None, n, "Bash", &json!({ "command": "git status" }));
            }),
            Self::CallsAtOnce => run.at_once(bytes, |run, n| {
                run.tool(n, "Bash", &json!({ "command": format!("echo {n}") }));
            }),
            Self::TextAndCalls => {
                run.message(None, |run| run.text(&"words of a text ".repeat(1_000), 4_096));
                run.until(bytes, |run, n| {
                    run.call(None, n, "Read", &json!({ "file_path": format!("/project/{n}.txt") }));
                });
            }
            Self::Edits => run.until(bytes, |run, n| {
                let (old, new) = (format!("line {n}"), format!("line {}", n + 1));
                let input =
                    json!({"file_path": "/project/a.txt", "old_string": old, "new_string": new});
                run.call(None, n, "Edit", &input);
            }),
            Self::Subagents => run.until(bytes, |run, n| {
                run.message(None, |run| run.tool(n, "Task", &task(n)));
                let parent = id(n);
                run.call(Some(&parent), n + 1_000_000, "Bash", &json!({ "command": "ls" }));
                run.result(None, &parent, "done");
            }),
            Self::SubagentsAtOnce => {
                let many = bytes / 2_000;
                run.message(None, |run| (0..many).for_each(|n| run.tool(n, "Task", &task(n))));
                for n in 0..many {
                    let input = json!({ "command": format!("echo {n}") });
                    run.call(Some(&id(n)), n + 1_000_000, "Bash", &input);
                }
                (0..many).for_each(|n| run.result(None, &id(n), "done"));
            }
            Self::CallsOfASubagent => {
                run.message(None, |run| run.tool(0, "Task", &task(0)));
                run.until(bytes, |run, n| {
                    let input = json!({ "command": format!("echo {n}") });
                    run.call(Some(&id(0)), n + 1, "Bash", &input);
                });
                run.result(None, &id(0), "done");
            }
            Self::Notices => run.until(bytes, |run, n| {
                run.record(json!({
                    "type": "system", "subtype": "api_retry", "attempt": n, "max_retries": n + 1,
                    "retry_delay_ms": 1, "error_status": 529, "error": "overloaded",
                }));
            }),
            Self::Retracted => run.until(bytes, |run, n| {
                // A message that begins anew retracts the text of the one before.
                run.begin(None);
                let text = format!("The beginning of {n}. ").repeat(20);
                run.begin_block(&json!({ "type": "text", "text": "" }));
                run.deltas("text", "text", &text, 4_096);
                run.record(json!({
                    "type": "system", "subtype": "api_retry", "attempt": n, "max_retries": n + 1,
                    "retry_delay_ms": 1, "error_status": 529, "error": "overloaded",
                }));
            }),
            Self::Result => {
                run.message(None, |run| run.tool(0, "Bash", &json!({ "command": "cat log" })));
                run.result(None, &id(0), &"A line of output.\n".repeat(bytes / 38));
            }
            Self::Input => {
                let content = "A line of a file.\n".repeat(bytes / 110);
                let input = json!({ "file_path": "/project/a.txt", "content": content });
                run.call(None, 0, "Write", &input);
            }
            Self::Fields => {
                let fields = (0..bytes / 75).map(|n| (format!("key{n}"), json!(n)));
                run.call(None, 0, "mcp__a__b", &Value::Object(fields.collect()));
            }
            Self::Todos => run.until(bytes, |run, n| {
                let task = |of: usize| {
                    let status = if of < n % 10 { "completed" } else { "pending" };
                    json!({ "content": format!("Task {of}"), "status": status, "activeForm": "Doing" })
                };
                let todos: Vec<Value> = (0..10).map(task).collect();
                run.call(None, n, "TodoWrite", &json!({ "todos": todos }));
            }),
            Self::Quotations => run.one_text(&">".repeat(bytes / 20), TEXT_DELTA),
            Self::Brackets => run.one_text(&"[".repeat(bytes / 20), TEXT_DELTA),
            Self::UnknownKinds => run.until(bytes, |run, n| {
                run.record(json!({ "type": format!("kind_{n}"), "value": n }));
            }),
            Self::Turns => run.until(bytes, |run, n| {
                let text = format!("Turn {n}.");
                run.message(None, |run| run.text(&text, TEXT_DELTA));
                run.end(&text);
            }),
            Self::Session => run.until(bytes, |run, n| {
                run.message(None, |run| run.thinking(&format!("What is {n}?")));
                for call in n * 10..n * 10 + 5 {
                    run.call(None, call, "Bash", &json!({ "command": format!("echo {call}") }));
                }
                let (old, new) = (format!("line {n}"), format!("line {}", n + 1));
                let path = format!("/project/{}.txt", n % 100);
                let input = json!({ "file_path": path, "old_string": old, "new_string": new });
                run.call(None, n * 10 + 5, "Edit", &input);
                run.message(None, |run| run.tool(n * 10 + 6, "Task", &task(n)));
                let parent = id(n * 10 + 6);
                run.call(Some(&parent), n * 10 + 7, "Bash", &json!({ "command": "ls" }));
                run.result(None, &parent, "done");
                let text = format!("This is what came of turn {n}. ").repeat(20);
                run.message(None, |run| run.text(&text, TEXT_DELTA));
                run.end(&text);
            }),
        }
        if !matches!(self, Self::Turns | Self::Session) {
            run.message(None, |run| run.text("Done.", TEXT_DELTA));
            run.end("Done.");
        }
    }
}

/// Returns the input of a tool that starts a subagent.
fn task(number: usize) -> Value {
    json!({ "description": format!("Look at {number}"), "prompt": "Look at it.", "subagent_type": "general-purpose" })
}

/// Returns the id of a call.
fn id(number: usize) -> String {
    format!("toolu_{number}")
}

/// The output of a run, written record by record.
struct PrintedRun<'a> {
    out: &'a mut dyn Write,
    /// The bytes printed so far.
    printed: usize,
    messages: usize,
    /// The id of the present message, the number of its blocks, and the call of the subagent to which it belongs.
    message: String,
    blocks: usize,
    parent: Option<String>,
}

impl<'a> PrintedRun<'a> {
    fn new(out: &'a mut dyn Write) -> Self {
        Self { out, printed: 0, messages: 0, message: String::new(), blocks: 0, parent: None }
    }

    fn record(&mut self, mut record: Value) {
        record["session_id"] = "00000000-0000-4000-8000-000000000001".into();
        let line = format!("{record}\n");
        self.out.write_all(line.as_bytes()).expect("there is room for the run");
        self.printed += line.len();
    }

    /// Repeats a step, which gets its number, until this many bytes are printed.
    fn until(&mut self, bytes: usize, mut step: impl FnMut(&mut Self, usize)) {
        let mut number = 0;
        while self.printed < bytes {
            step(self, number);
            number += 1;
        }
    }

    fn event(&mut self, event: &Value) {
        let parent = self.parent.clone();
        self.record(json!({"type": "stream_event", "event": event, "parent_tool_use_id": parent}));
    }

    fn begin(&mut self, parent: Option<&str>) {
        self.messages += 1;
        self.message = format!("msg_{}", self.messages);
        self.blocks = 0;
        self.parent = parent.map(str::to_owned);
        let message = self.snapshot(&[]);
        self.event(&json!({ "type": "message_start", "message": message }));
    }

    /// Prints a message with its blocks.
    fn message(&mut self, parent: Option<&str>, blocks: impl FnOnce(&mut Self)) {
        self.begin(parent);
        blocks(self);
        self.event(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}));
        self.event(&json!({ "type": "message_stop" }));
    }

    fn snapshot(&self, content: &[&Value]) -> Value {
        json!({
            "id": self.message, "type": "message", "role": "assistant", "model": "m",
            "content": content, "stop_reason": null, "usage": {"input_tokens": 10, "output_tokens": 1},
        })
    }

    fn begin_block(&mut self, start: &Value) {
        let index = self.blocks;
        self.event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
    }

    /// Prints a block: its start, its deltas, its whole, and its stop.
    fn block(&mut self, start: &Value, deltas: impl FnOnce(&mut Self), whole: &Value) {
        self.begin_block(start);
        deltas(self);
        let index = self.blocks;
        let (message, parent) = (self.snapshot(&[whole]), self.parent.clone());
        self.record(json!({"type": "assistant", "message": message, "parent_tool_use_id": parent}));
        self.event(&json!({ "type": "content_block_stop", "index": index }));
        self.blocks += 1;
    }

    /// Prints the deltas of a block, of this many bytes each.
    fn deltas(&mut self, kind: &str, key: &str, text: &str, bytes: usize) {
        let index = self.blocks;
        for part in text.as_bytes().chunks(bytes) {
            let part = String::from_utf8_lossy(part);
            let delta = json!({ "type": format!("{kind}_delta"), key: part });
            self.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
    }

    fn text(&mut self, text: &str, bytes: usize) {
        let start = json!({ "type": "text", "text": "" });
        let whole = json!({ "type": "text", "text": text });
        self.block(&start, |run| run.deltas("text", "text", text, bytes), &whole);
    }

    fn one_text(&mut self, text: &str, bytes: usize) {
        self.message(None, |run| run.text(text, bytes));
    }

    fn thinking(&mut self, text: &str) {
        let start = json!({ "type": "thinking", "thinking": "" });
        let whole = json!({ "type": "thinking", "thinking": text });
        self.block(&start, |run| run.deltas("thinking", "thinking", text, TEXT_DELTA), &whole);
    }

    fn tool(&mut self, number: usize, name: &str, input: &Value) {
        let call = |input: &Value| json!({"type": "tool_use", "id": id(number), "name": name, "input": input});
        let (start, whole, text) = (call(&json!({})), call(input), input.to_string());
        let deltas = |run: &mut Self| run.deltas("input_json", "partial_json", &text, INPUT_DELTA);
        self.block(&start, deltas, &whole);
    }

    fn result(&mut self, parent: Option<&str>, id: &str, content: &str) {
        let result = json!({"tool_use_id": id, "type": "tool_result", "content": content, "is_error": false});
        let message = json!({ "role": "user", "content": [result] });
        self.record(json!({"type": "user", "message": message, "parent_tool_use_id": parent}));
    }

    /// Prints a message with one call, and its result.
    fn call(&mut self, parent: Option<&str>, number: usize, name: &str, input: &Value) {
        self.message(parent, |run| run.tool(number, name, input));
        self.result(parent, &id(number), &"x".repeat(SMALL));
    }

    /// Prints a message with many calls, and then their results.
    fn at_once(&mut self, bytes: usize, call: impl Fn(&mut Self, usize)) {
        let mut calls = 0;
        self.message(None, |run| {
            // The results take the last third of the bytes.
            while run.printed < bytes / 3 * 2 {
                call(run, calls);
                calls += 1;
            }
        });
        (0..calls).for_each(|number| self.result(None, &id(number), &"x".repeat(SMALL)));
    }

    fn end(&mut self, text: &str) {
        self.record(json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "num_turns": 1,
            "result": text, "total_cost_usd": 0, "usage": {"input_tokens": 1, "output_tokens": 1},
        }));
    }
}
