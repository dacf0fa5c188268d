//! Reads what the CLI printed, line by line: the records that the steps of a host wait for, each with its
//! place in stdout.

use std::collections::HashMap;
use std::time::Instant;

use clitape_stream::{Event, Parser};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::script::HostScript;

/// When a record was read, and where it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// When the read that ended it came.
    pub(super) at: Instant,
    /// The number of bytes of stdout up to its end.
    pub(super) offset: u64,
}

impl Place {
    /// The later of two places.
    pub(super) fn max(self, other: Self) -> Self {
        Self { at: self.at.max(other.at), offset: self.offset.max(other.offset) }
    }
}

/// A permission question of the CLI.
#[derive(Debug, Clone)]
pub(super) struct PermissionQuestion {
    pub(super) place: Place,
    pub(super) request_id: String,
    pub(super) tool: String,
    /// The id of the call, where the CLI names one.
    pub(super) tool_use_id: Option<String>,
    pub(super) input: Box<RawValue>,
    pub(super) suggestions: Vec<Box<RawValue>>,
    /// Whether a step has waited for it.
    pub(super) is_taken: bool,
    /// Whether it was answered or withdrawn.
    pub(super) is_closed: bool,
}

/// The start of a call.
#[derive(Debug, Clone)]
pub(super) struct StartedCall {
    pub(super) place: Place,
    pub(super) tool: String,
    /// Whether a step has waited for it.
    pub(super) is_taken: bool,
}

/// A request of the CLI that the host answers at once.
#[derive(Debug)]
pub(super) struct HostCall {
    pub(super) request_id: String,
    pub(super) subtype: String,
    /// The name of the event of a hook; empty for another request.
    pub(super) hook_event: String,
    /// The input of the call before which a hook runs.
    pub(super) tool_input: Option<Box<RawValue>>,
}

/// What the CLI has printed so far.
pub(super) struct Printed<'a> {
    line: Vec<u8>,
    offset: u64,
    pub(super) results: Vec<Place>,
    /// The answers to requests of the host.
    pub(super) responses: Vec<Place>,
    pub(super) questions: Vec<PermissionQuestion>,
    pub(super) calls: Vec<StartedCall>,
    /// The texts that steps wait for, and where the model first said them.
    pub(super) texts: Vec<(&'a str, Option<Place>)>,
    /// Whether a turn has begun and not ended.
    pub(super) is_in_turn: bool,
    asked: Vec<String>,
    parser: Option<Parser>,
    /// The text of each thread so far.
    said: HashMap<Option<String>, String>,
}

/// The parts of every record that are read.
#[derive(Deserialize)]
struct RecordKind {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    subtype: String,
}

/// A control record of the CLI.
#[derive(Deserialize)]
struct ControlRecord {
    #[serde(default)]
    request_id: String,
    request: Option<ControlRequest>,
    response: Option<ControlAnswer>,
}

#[derive(Deserialize)]
struct ControlRequest {
    subtype: String,
    tool_name: Option<String>,
    tool_use_id: Option<String>,
    input: Option<Box<RawValue>>,
    permission_suggestions: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct ControlAnswer {
    request_id: String,
}

/// The input of a hook.
#[derive(Deserialize)]
struct HookInput {
    hook_event_name: String,
    tool_input: Option<Box<RawValue>>,
}

impl<'a> Printed<'a> {
    pub(super) fn new(script: &'a HostScript) -> Self {
        Self {
            line: Vec::new(),
            offset: 0,
            results: Vec::new(),
            responses: Vec::new(),
            questions: Vec::new(),
            calls: Vec::new(),
            texts: script.texts().map(|text| (text, None)).collect(),
            is_in_turn: false,
            asked: Vec::new(),
            parser: script.reads_the_model().then(Parser::new),
            said: HashMap::new(),
        }
    }

    /// Reads the start of `bytes` up to the end of a line. Returns the rest, and the request in this line that
    /// the host answers at once; `None` if no line ends in `bytes`.
    pub(super) fn next_line<'b>(
        &mut self,
        at: Instant,
        bytes: &'b [u8],
    ) -> Option<(&'b [u8], Place, Option<HostCall>)> {
        let end = bytes.iter().position(|&byte| byte == b'\n').map(|end| end + 1);
        let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        self.line.extend_from_slice(piece);
        self.offset += piece.len() as u64;
        end?;
        let line = std::mem::take(&mut self.line);
        let place = Place { at, offset: self.offset };
        self.read_model(place, &line);
        Some((rest, place, self.read(place, &line)))
    }

    fn read(&mut self, place: Place, line: &[u8]) -> Option<HostCall> {
        let head: RecordKind = serde_json::from_slice(line).ok()?;
        match head.kind.as_str() {
            "result" => {
                self.results.push(place);
                self.is_in_turn = false;
            }
            // A `user` record may also come after its turn, such as the echo of a command.
            "assistant" | "stream_event" => self.is_in_turn = true,
            "system" if head.subtype == "init" => self.is_in_turn = true,
            "control_request" | "control_response" | "control_cancel_request" => {
                let record: ControlRecord = serde_json::from_slice(line).ok()?;
                return self.read_control(place, &head.kind, record);
            }
            _ => {}
        }
        None
    }

    fn read_control(
        &mut self,
        place: Place,
        kind: &str,
        record: ControlRecord,
    ) -> Option<HostCall> {
        let ControlRecord { request_id, request, response } = record;
        match (kind, request, response) {
            // Later CLIs print the host's own answers again.
            ("control_response", _, Some(response)) => {
                if !self.asked.contains(&response.request_id) {
                    self.responses.push(place);
                }
                None
            }
            ("control_cancel_request", ..) => {
                self.close(&request_id);
                None
            }
            ("control_request", Some(request), _) => {
                self.asked.push(request_id.clone());
                self.read_request(place, request_id, request)
            }
            _ => None,
        }
    }

    fn read_request(
        &mut self,
        place: Place,
        request_id: String,
        request: ControlRequest,
    ) -> Option<HostCall> {
        let ControlRequest { subtype, tool_name, tool_use_id, input, permission_suggestions } =
            request;
        match (subtype.as_str(), tool_name, input) {
            ("can_use_tool", Some(tool), Some(input)) => {
                self.is_in_turn = true;
                self.questions.push(PermissionQuestion {
                    place,
                    request_id,
                    tool,
                    tool_use_id,
                    input,
                    // Many questions have no suggestion.
                    suggestions: permission_suggestions.unwrap_or_default(),
                    is_taken: false,
                    is_closed: false,
                });
                None
            }
            (_, _, input) => {
                let hook = input
                    .and_then(|input| serde_json::from_str::<HookInput>(input.get()).ok())
                    .map(|hook| (hook.hook_event_name, hook.tool_input));
                let (hook_event, tool_input) = hook.unzip();
                Some(HostCall {
                    request_id,
                    subtype,
                    // Only a hook has an event.
                    hook_event: hook_event.unwrap_or_default(),
                    tool_input: tool_input.flatten(),
                })
            }
        }
    }

    /// Notes that a question was answered or withdrawn.
    pub(super) fn close(&mut self, request_id: &str) {
        for question in &mut self.questions {
            question.is_closed |= question.request_id == request_id;
        }
    }

    fn read_model(&mut self, place: Place, line: &[u8]) {
        let Self { parser: Some(parser), calls, texts, said, .. } = self else { return };
        parser.feed_with(line, &mut |event| match event {
            Event::ToolStart { name, .. } => {
                calls.push(StartedCall { place, tool: name.into_owned(), is_taken: false });
            }
            Event::Text { delta, parent, .. } => {
                let text = said.entry(parent.map(|parent| parent.into_owned())).or_default();
                text.push_str(&delta);
                for (part, found) in texts.iter_mut().filter(|(_, found)| found.is_none()) {
                    if text.contains(*part) {
                        *found = Some(place);
                    }
                }
            }
            _ => {}
        });
    }
}
