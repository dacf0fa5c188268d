//! Reads the CLI's stdout line by line: the records that the steps of a host wait for, each with its place.

use std::collections::HashMap;
use std::time::Instant;

use clitape_recording::wire::{ControlRequest, PermissionQuestion, RequestKind, WireLine};
use clitape_stream::{Event, Parser};

use super::script::HostScript;

/// The place of a record: the time when it was read, and the offset of its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPlace {
    /// The time of the read that ended it.
    pub(super) at: Instant,
    /// The number of bytes of stdout up to its end.
    pub(super) offset: u64,
}

impl RecordPlace {
    /// Returns the later time and the later offset of two places.
    pub(super) fn max(self, other: Self) -> Self {
        Self { at: self.at.max(other.at), offset: self.offset.max(other.offset) }
    }
}

/// A permission question of the CLI, with its place in stdout.
#[derive(Debug, Clone)]
pub(super) struct PlacedQuestion {
    pub(super) place: RecordPlace,
    pub(super) request_id: String,
    pub(super) question: PermissionQuestion,
    /// True if a step has waited for it.
    pub(super) is_taken: bool,
    /// True if it was answered or withdrawn.
    pub(super) is_closed: bool,
}

/// The start of a call.
#[derive(Debug, Clone)]
pub(super) struct StartedCall {
    pub(super) place: RecordPlace,
    pub(super) tool: String,
    /// True if a step has waited for it.
    pub(super) is_taken: bool,
}

/// The records that the CLI has printed so far.
pub(super) struct PrintedRecords<'a> {
    line: Vec<u8>,
    offset: u64,
    pub(super) results: Vec<RecordPlace>,
    /// The answers to requests of the host.
    pub(super) responses: Vec<RecordPlace>,
    pub(super) questions: Vec<PlacedQuestion>,
    pub(super) calls: Vec<StartedCall>,
    /// The texts that steps wait for, with the place where the model first completed them.
    pub(super) texts: Vec<(&'a str, Option<RecordPlace>)>,
    /// True while a turn goes on.
    pub(super) is_in_turn: bool,
    asked: Vec<String>,
    parser: Option<Parser>,
    /// The text of each thread so far.
    said: HashMap<Option<String>, String>,
}

impl<'a> PrintedRecords<'a> {
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
    ) -> Option<(&'b [u8], RecordPlace, Option<ControlRequest>)> {
        let end = bytes.iter().position(|&byte| byte == b'\n').map(|end| end + 1);
        let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        self.line.extend_from_slice(piece);
        self.offset += piece.len() as u64;
        end?;
        let line = std::mem::take(&mut self.line);
        let place = RecordPlace { at, offset: self.offset };
        self.read_model(place, &line);
        Some((rest, place, self.read(place, &line)))
    }

    fn read(&mut self, place: RecordPlace, line: &[u8]) -> Option<ControlRequest> {
        match WireLine::read(line)? {
            WireLine::Request(request) => {
                self.asked.push(request.request_id.clone());
                return self.read_request(place, request);
            }
            // Later CLIs print the host's own answers again.
            WireLine::Response(response) if !self.asked.contains(&response.request_id) => {
                self.responses.push(place);
            }
            WireLine::Cancel { request_id } => self.close(&request_id),
            WireLine::Other { kind, subtype } => match (kind.as_str(), subtype.as_str()) {
                ("result", _) => {
                    self.results.push(place);
                    self.is_in_turn = false;
                }
                ("assistant" | "stream_event", _) | ("system", "init") => self.is_in_turn = true,
                _ => {}
            },
            // A `user` record may also come after its turn, such as the echo of a command.
            _ => {}
        }
        None
    }

    /// Stores a question, for which a step waits. Returns any other request.
    fn read_request(
        &mut self,
        place: RecordPlace,
        request: ControlRequest,
    ) -> Option<ControlRequest> {
        let RequestKind::Permission(question) = request.kind else { return Some(request) };
        self.is_in_turn = true;
        self.questions.push(PlacedQuestion {
            place,
            request_id: request.request_id,
            question,
            is_taken: false,
            is_closed: false,
        });
        None
    }

    /// Marks a question as answered or withdrawn.
    pub(super) fn close(&mut self, request_id: &str) {
        for question in &mut self.questions {
            question.is_closed |= question.request_id == request_id;
        }
    }

    fn read_model(&mut self, place: RecordPlace, line: &[u8]) {
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
