//! Answers requests of the host that the cassette does not have, and makes the output of a one-shot run in the formats
//! `text` and `json`.

use clitape_recording::wire::{ControlRequest, ControlResponse};
use serde_json::{Value, json};

use super::arguments::OutputFormat;
use super::choose;
use super::printed::Role;
use super::running::PlayedCassette;
use super::settings::Settings;

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
pub(super) fn answer(running: &PlayedCassette, format: OutputFormat) -> Vec<u8> {
    let result = running.dialogue.lines.iter().rfind(|line| line.role == Role::Result);
    let Some(result) = result else { return Vec::new() };
    let line = running.ids.bind_text(&running.cassette.stdout[result.range.clone()]);
    if format == OutputFormat::Json {
        return line;
    }
    let value: Value = serde_json::from_slice(&line).unwrap_or_default();
    format!("{}\n", value["result"].as_str().unwrap_or_default()).into_bytes()
}
