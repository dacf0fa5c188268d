//! The output that no cassette has: the answers to side calls (the version, the help, the login, completions for the
//! host's own use) and to requests that the cassette lacks, and a one-shot run's output in the formats `text` and
//! `json`.

use std::io::{self, BufRead as _, Write as _};

use clitape_recording::wire::{ControlRequest, ControlResponse};
use serde_json::{Value, json};

use super::adapt::fresh_uuid;
use super::arguments::{Arguments, OutputFormat, SideCall};
use super::choose;
use super::dialogue::{HostAct, Role};
use super::log::Log;
use super::running::PlayedCassette;
use super::settings::Settings;

/// The answer to every such completion.
const COMPLETION: &str = "A short answer.";

const HELP: &str = "\
Usage: claude [options] [command] [prompt]

This is `clitape stand-in`, which replays recorded runs of the claude command.

Options:
  -p, --print                    Print the response and exit
  --input-format <format>        text or stream-json
  --output-format <format>       text, json or stream-json
  --include-partial-messages     Include partial message chunks as they arrive
  --replay-user-messages         Re-emit user messages from stdin back on stdout
  --permission-prompt-tool <t>   stdio: ask permission questions on stdout
  --session-id <uuid>            Use a specific session ID
  -r, --resume [value]           Resume a conversation by session ID
  --fork-session                 Create a new session ID when resuming
  -v, --version                  Output the version number
  -h, --help                     Display help for command
";

/// Answers a side call and returns the exit code.
pub(super) fn side_call(
    call: &SideCall,
    arguments: &Arguments,
    settings: &Settings,
    log: &mut Log,
) -> u8 {
    let text = match call {
        SideCall::Version => match choose::version(settings) {
            Some(version) => format!("{version} (Claude Code)\n"),
            None => "0.0.0 (Claude Code)\n".to_owned(),
        },
        SideCall::Help => HELP.to_owned(),
        SideCall::AuthStatus => {
            let status = json!({
                "loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty",
            });
            format!("{status:#}\n")
        }
        SideCall::Completion => {
            log.note("a completion of the host's own plays no cassette");
            return complete(arguments, log);
        }
        SideCall::Other(command) => {
            log.note(&format!("the command `{command}` does nothing here"));
            String::new()
        }
    };
    print(&text)
}

fn print(text: &str) -> u8 {
    let mut stdout = io::stdout();
    u8::from(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err())
}

/// Returns the output of the CLI for a prompt of the host's own: always the same short answer.
pub(super) fn completion(output: OutputFormat, session: &str) -> String {
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 0, "duration_api_ms": 0,
        "num_turns": 1, "result": COMPLETION, "session_id": session, "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0}, "permission_denials": [], "uuid": fresh_uuid(),
    });
    let records = || {
        let init = json!({
            "type": "system", "subtype": "init", "session_id": session, "tools": [], "mcp_servers": [],
            "model": "stand-in", "permissionMode": "default", "uuid": fresh_uuid(),
        });
        let message = json!({
            "type": "assistant", "session_id": session, "parent_tool_use_id": null, "uuid": fresh_uuid(),
            "message": {
                "id": format!("msg_{}", fresh_uuid()), "type": "message", "role": "assistant",
                "model": "stand-in", "content": [{"type": "text", "text": COMPLETION}],
                "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        });
        format!("{init}\n{message}\n{result}\n")
    };
    match output {
        OutputFormat::Text => format!("{COMPLETION}\n"),
        OutputFormat::Json => format!("{result}\n"),
        OutputFormat::StreamJson => records(),
    }
}

/// Answers each prompt of a process and returns the exit code.
fn complete(arguments: &Arguments, log: &mut Log) -> u8 {
    let session = arguments.session_id.clone().unwrap_or_else(fresh_uuid);
    let answer = || completion(arguments.output, &session);
    if !arguments.reads_lines {
        return print(&answer());
    }
    for line in io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { break };
        log.stdin(&line);
        let code = match HostAct::read(&line) {
            HostAct::Message(_) => print(&answer()),
            HostAct::Request(request) => {
                let commands = json!({"commands": []});
                let response = ControlResponse::success(&request.request_id, &commands);
                print(&format!("{response}\n"))
            }
            _ => 0,
        };
        if code != 0 {
            return code;
        }
    }
    0
}

/// Returns the line that answers a request with a plain success.
pub(super) fn plain_success(request: &ControlRequest, settings: &Settings) -> String {
    let response = match request.subtype() {
        "initialize" => choose::initialize_answer(settings).unwrap_or_else(|| {
            json!({
                "commands": [], "agents": [], "output_style": "default",
                "available_output_styles": ["default"], "models": [], "account": {},
            })
        }),
        "interrupt" => json!({"still_queued": []}),
        "mcp_status" => json!({"mcpServers": []}),
        _ => json!({}),
    };
    format!("{}\n", ControlResponse::success(&request.request_id, &response))
}

/// Returns the answer of a one-shot run, or its `result` record; empty if it has none.
pub(super) fn one_shot(running: &PlayedCassette, format: OutputFormat) -> Vec<u8> {
    let result = running.dialogue.lines.iter().rfind(|line| line.role == Role::Result);
    let Some(result) = result else { return Vec::new() };
    let line = running.ids.bind_text(&running.cassette.stdout[result.range.clone()]);
    if format == OutputFormat::Json {
        return line;
    }
    let value: Value = serde_json::from_slice(&line).unwrap_or_default();
    format!("{}\n", value["result"].as_str().unwrap_or_default()).into_bytes()
}
