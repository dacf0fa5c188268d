//! The `claude-codes` crate as a parser: stream-json on stdin or in files, lifecycle entries on stdout, as its own clients
//! read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};

use claude_codes::{ClaudeOutput, ContentBlock, StreamEventMessage};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        return read(io::stdin().lock());
    }
    for file in files {
        read(BufReader::new(File::open(file)?))?;
        println!();
    }
    Ok(())
}

/// Reads lines to their end; a line that the crate refuses is left out.
fn read(mut lines: impl BufRead) -> io::Result<()> {
    loop {
        let mut line = String::new();
        match lines.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) if line.trim().is_empty() => {}
            // All of this recording was read.
            Ok(_) if line.starts_with(r#"{"type":"clitape_end"#) => println!(),
            Ok(_) => match ClaudeOutput::parse_json_tolerant(line.trim()) {
                Ok(output) => tell(&output)?,
                Err(error) => unreadable(&error.error_message)?,
            },
            Err(error) => unreadable(&error.to_string())?,
        }
    }
}

/// Prints what a message of the crate says as entries.
fn tell(output: &ClaudeOutput) -> io::Result<()> {
    match output {
        ClaudeOutput::StreamEvent(StreamEventMessage {
            event, parent_tool_use_id: None, ..
        }) if event["delta"]["type"] == "text_delta" => {
            entry("text", json!({"delta": event["delta"]["text"]}))
        }
        ClaudeOutput::Assistant(message) => {
            message.message.content.iter().try_for_each(|block| match block {
                ContentBlock::ToolUse(call) => tool_start(&call.id, &call.name, &call.input),
                ContentBlock::ServerToolUse(call) => tool_start(&call.id, &call.name, &call.input),
                ContentBlock::McpToolUse(call) => tool_start(&call.id, &call.name, &call.input),
                // A subagent's messages come whole.
                ContentBlock::Text(block) if message.parent_tool_use_id.is_some() => {
                    entry("text", json!({"delta": block.text}))
                }
                _ => Ok(()),
            })
        }
        ClaudeOutput::Result(result) => {
            let status = if result.is_error { "error" } else { "ok" };
            entry("outcome", json!({"status": status, "text": result.result}))
        }
        _ => Ok(()),
    }
}

fn tool_start(id: &str, name: &str, args: &Value) -> io::Result<()> {
    entry("tool_start", json!({"id": id, "name": name, "args": args}))
}

fn unreadable(detail: &str) -> io::Result<()> {
    entry("diagnostic", json!({"kind": "unreadable", "detail": detail}))
}

fn entry(kind: &str, data: Value) -> io::Result<()> {
    writeln!(io::stdout(), "{}", json!({"at": 0, "lane": "lifecycle", "kind": kind, "data": data}))
}
