//! Cuts a cassette into steps: output of the CLI, and lines of the host for which it waited.
//!
//! A line that the CLI printed is classed by its role for the host, and a line of the host by its effect on the CLI.

use std::ops::Range;

use clitape_judge::observation::{ANSWER_TO_QUESTION, INTERRUPT};
use clitape_recording::cassette::{Cassette, Exit, Tick, TickKind};
use clitape_recording::wire::{
    AnswerDecision, ControlRequest, ControlResponse, PermissionDecision, RequestKind, UserMessage,
    WireLine,
};
use serde_json::Value;

/// The milliseconds without output after which a recording closes stdin: the CLI itself caused an earlier exit.
const QUIET_MS: u64 = 1_000;
/// The tools with questions about the wishes of the person, which the CLI asks in every permission mode.
const ASKED_IN_EVERY_MODE: [&str; 2] = ["AskUserQuestion", "ExitPlanMode"];

/// A cassette as a list of steps.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    /// The lines of stdout, in order.
    pub(super) lines: Vec<OutLine>,
    /// The steps, in order.
    pub(super) steps: Vec<Step>,
    /// The lines of the host for which the CLI waits; steps refer to them by index.
    pub(super) awaits: Vec<ExpectedLine>,
    /// The session id in the cassette.
    pub(super) session_id: Option<String>,
    /// True if the recorded host wrote lines to stdin.
    pub(super) is_live: bool,
    /// True if the CLI announces that it prints a line for each change of a message's state (`msg_lifecycle_v1`).
    pub(super) announces_lifecycle: bool,
    /// True if stdout has such a line.
    pub(super) has_lifecycle: bool,
    /// True if stdout repeats a message of the host.
    pub(super) has_replay: bool,
    /// True if the CLI ended before stdin was closed.
    pub(super) ends_itself: bool,
    /// True if the CLI ended before it read a line.
    pub(super) is_deaf: bool,
    /// True if the recording interrupted the CLI by SIGINT.
    pub(super) heeds_interrupt: bool,
}

/// One step of a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The CLI prints these bytes of stdout, up to the end of a line.
    Print(Range<usize>),
    /// The CLI prints these bytes of stderr.
    Stderr(Range<usize>),
    /// The CLI waits for this line of the host.
    Await(usize),
}

/// A line of the host for which the CLI waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedLine {
    /// The bytes of stdout that the host had read when it had a reason to write the line.
    pub(super) opens: usize,
    /// The kind of the line.
    pub(super) kind: ExpectedKind,
}

/// The kind of a line for which the CLI waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpectedKind {
    /// The request `initialize`.
    Initialize {
        /// The id of the request in the cassette.
        request_id: String,
    },
    /// A message of a person.
    Message {
        /// The uuid of the message in the cassette.
        uuid: Option<String>,
        /// True if the host gave it that uuid.
        has_uuid: bool,
        /// The text of the message in the cassette.
        text: String,
    },
    /// The answer to a question.
    Answer {
        /// The question.
        question: CliQuestion,
        /// The recorded answer.
        decision: AnswerDecision,
        /// The reason that the recorded host gave with a denial.
        reason: Option<String>,
    },
    /// The answer to the call of a hook.
    HookAnswer {
        /// The id of the request in the cassette.
        request_id: String,
        /// The event of the hook.
        event: String,
        /// The tool, if the event is about one.
        tool: Option<String>,
        /// The recorded answer.
        decision: AnswerDecision,
    },
    /// Another request of the host, such as `interrupt`.
    Request {
        /// The id of the request in the cassette.
        request_id: String,
        /// The `subtype` of the request.
        subtype: String,
    },
    /// A line that is not JSON.
    Unusable,
    /// The end of stdin.
    Close,
}

impl ExpectedKind {
    /// Returns a description of the line, such as `question q1 (Bash)`.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Initialize { .. } => "the request `initialize`".to_owned(),
            Self::Message { .. } => "a user message".to_owned(),
            Self::Answer { question, .. } => format!("{ANSWER_TO_QUESTION}{}", question.name()),
            Self::HookAnswer { event, tool, .. } => {
                let tool = tool.as_ref().map(|tool| format!(" ({tool})")).unwrap_or_default();
                format!("the answer to the hook {event}{tool}")
            }
            Self::Request { subtype, .. } if subtype == "interrupt" => INTERRUPT.to_owned(),
            Self::Request { subtype, .. } => format!("the request `{subtype}`"),
            Self::Unusable => "a line that is not JSON".to_owned(),
            Self::Close => "the end of stdin".to_owned(),
        }
    }
}

impl Dialogue {
    /// Cuts the run of a cassette.
    pub(super) fn cut(cassette: &Cassette) -> Self {
        let mut dialogue = Self::of(&cassette.stdout, &cassette.stdin, &cassette.timeline);
        dialogue.ends_itself = ends_itself(&cassette.timeline, cassette.manifest.exit);
        dialogue
    }

    /// Cuts the two sides of a process, without looking at how it ended.
    pub(super) fn of(stdout: &[u8], stdin: &[u8], timeline: &[Tick]) -> Self {
        let mut dialogue = Self { is_live: !stdin.is_empty(), ..Self::default() };
        dialogue.read_lines(stdout);
        dialogue.read_timeline(stdin, timeline);
        dialogue.wait_for_close(stdout);
        dialogue.name_messages(stdout);
        dialogue
    }

    /// Returns the number of turns that ended.
    pub(super) fn results(&self) -> usize {
        self.lines.iter().filter(|line| line.role == Role::Result).count()
    }

    /// Returns whether a session began or was resumed.
    pub(super) fn has_init(&self) -> bool {
        self.lines.iter().any(|line| line.role == Role::Init)
    }

    /// Returns whether it is a run of one prompt whose end the CLI held back until its background tasks were done.
    pub(super) fn is_held_back(&self) -> bool {
        let inits = self.lines.iter().filter(|line| line.role == Role::Init).count();
        !self.is_live && (self.results() > 1 || inits > 1)
    }

    /// Returns the messages of the host in order, each as its uuid and its text.
    pub(super) fn messages(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        self.awaits.iter().filter_map(|expected| match &expected.kind {
            ExpectedKind::Message { uuid, text, .. } => Some((uuid.as_deref(), text.as_str())),
            _ => None,
        })
    }

    /// Returns the permission questions that the recorded host denied, each with the reason that it gave.
    pub(super) fn denied(&self) -> impl Iterator<Item = (&CliQuestion, Option<&str>)> {
        self.awaits.iter().filter_map(|expected| match &expected.kind {
            ExpectedKind::Answer { question, decision: AnswerDecision::Deny, reason }
                if question.asks_permission =>
            {
                Some((question, reason.as_deref()))
            }
            _ => None,
        })
    }

    /// Returns whether one of the permission questions comes in every mode, because it is about the wishes of the
    /// person.
    pub(super) fn asks_person(&self) -> bool {
        let is_for_person = |line: &OutLine| match &line.role {
            Role::Question(question) => ASKED_IN_EVERY_MODE.contains(&question.about.as_str()),
            _ => false,
        };
        self.lines.iter().any(is_for_person)
    }

    /// Returns whether the request with this id asks for a permission.
    pub(super) fn is_permission(&self, id: &str) -> bool {
        self.lines.iter().any(|line| {
            matches!(&line.role, Role::Question(question) if question.request_id == id && question.asks_permission)
        })
    }

    /// Returns whether the host wrote only one message and answers to permission questions and hooks, so that the
    /// message can be the prompt of a one-shot run.
    pub(super) fn has_one_prompt(&self) -> bool {
        let is_answer = |expected: &ExpectedLine| match &expected.kind {
            ExpectedKind::Initialize { .. } | ExpectedKind::HookAnswer { .. } => true,
            ExpectedKind::Message { .. } => true,
            ExpectedKind::Answer { question, .. } => question.asks_permission,
            ExpectedKind::Request { .. } | ExpectedKind::Unusable | ExpectedKind::Close => false,
        };
        self.messages().count() == 1 && self.awaits.iter().all(is_answer)
    }

    /// Returns whether the CLI printed pieces of messages (`stream_event`).
    pub(super) fn has_pieces(&self) -> bool {
        self.lines.iter().any(|line| line.role == Role::Piece)
    }

    /// Returns whether this is the id of the request `initialize`.
    pub(super) fn is_initialize(&self, id: &str) -> bool {
        let is_it = |kind: &ExpectedKind| matches!(kind, ExpectedKind::Initialize { request_id } if request_id == id);
        self.awaits.iter().any(|expected| is_it(&expected.kind))
    }

    fn read_lines(&mut self, stdout: &[u8]) {
        let mut start = 0;
        let mut roles = Roles::default();
        for line in stdout.split_inclusive(|&byte| byte == b'\n') {
            let range = start..start + line.len();
            start = range.end;
            let role = roles.next(line);
            if self.session_id.is_none() || role == Role::Init {
                let value: Value = serde_json::from_slice(line).unwrap_or_default();
                let session_id = value["session_id"].as_str().map(str::to_owned);
                self.session_id = self.session_id.take().or(session_id);
                let announces = |word: &Value| word == "msg_lifecycle_v1";
                let capabilities = value["capabilities"].as_array();
                self.announces_lifecycle |=
                    role == Role::Init && capabilities.is_some_and(|all| all.iter().any(announces));
            }
            self.has_lifecycle |= role == Role::Lifecycle;
            self.has_replay |= role == Role::Replay;
            self.lines.push(OutLine { range, role });
        }
    }

    fn read_timeline(&mut self, stdin: &[u8], timeline: &[Tick]) {
        let lines: Vec<&[u8]> = stdin.split_inclusive(|&byte| byte == b'\n').collect();
        let (mut read, mut printed, mut errors) = (0, 0, 0);
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let mut print = |steps: &mut Vec<Step>, to: usize| {
            if to > printed {
                steps.push(Step::Print(printed..to));
                printed = to;
            }
        };
        let total = self.lines.last().map_or(0, |line| line.range.end);
        for tick in timeline {
            match &tick.kind {
                TickKind::Out(n) => read = size(*n).saturating_add(read).min(total),
                TickKind::Err(n) => {
                    let end = self.line_end(read);
                    print(&mut self.steps, end);
                    self.steps.push(Step::Stderr(errors..errors + size(*n)));
                    errors += size(*n);
                }
                TickKind::In { line, offset } => {
                    let line = size(*line).checked_sub(1).and_then(|index| lines.get(index));
                    let Some(kind) = line.and_then(|line| self.expected(line)) else { continue };
                    let end = self.line_end(read);
                    print(&mut self.steps, end);
                    self.steps.push(Step::Await(self.awaits.len()));
                    let opens = offset.map_or(read, size);
                    self.awaits.push(ExpectedLine { opens, kind });
                }
                TickKind::Marker(name) => self.heeds_interrupt |= name == "SIGINT",
                TickKind::Exit(_) => {}
            }
        }
        print(&mut self.steps, total);
        self.leave_out_unheard();
    }

    /// Returns the end of the line that contains the byte before `offset`: the CLI writes a line whole before it reads
    /// another.
    fn line_end(&self, offset: usize) -> usize {
        if offset == 0 {
            return 0;
        }
        let index = self.lines.partition_point(|line| line.range.end < offset);
        self.lines.get(index).map_or(0, |line| line.range.end).max(offset)
    }

    /// Returns the kind of a line of the recorded host; `None` if the CLI does not wait for such lines.
    fn expected(&self, line: &[u8]) -> Option<ExpectedKind> {
        match HostAct::read(line) {
            HostAct::Message(message) => Some(ExpectedKind::Message {
                has_uuid: message.uuid.is_some(),
                text: message.text(),
                uuid: message.uuid,
            }),
            HostAct::Answer { answer, .. } => self.lines.iter().find_map(|line| match &line.role {
                Role::Question(question) if question.request_id == answer.request_id => {
                    let question = question.clone();
                    let (decision, reason) = (answer.decision(), reason(&answer));
                    Some(ExpectedKind::Answer { question, decision, reason })
                }
                Role::Hook { request_id, event, tool, .. } if *request_id == answer.request_id => {
                    Some(ExpectedKind::HookAnswer {
                        request_id: request_id.clone(),
                        event: event.clone(),
                        tool: tool.clone(),
                        decision: answer.decision(),
                    })
                }
                _ => None,
            }),
            HostAct::Request(request) => Some(match request.kind {
                RequestKind::Initialize(_) => {
                    ExpectedKind::Initialize { request_id: request.request_id }
                }
                _ => ExpectedKind::Request {
                    subtype: request.subtype().to_owned(),
                    request_id: request.request_id,
                },
            }),
            HostAct::Unusable => Some(ExpectedKind::Unusable),
            HostAct::Other(_) | HostAct::Blank => None,
        }
    }

    /// Leaves out the lines that had no effect: answers to questions that the CLI had taken back, and all lines if the
    /// CLI did not answer even an `initialize`.
    fn leave_out_unheard(&mut self) {
        let answers = |id: &str| {
            self.lines
                .iter()
                .any(|line| matches!(&line.role, Role::Response { request_id } if request_id == id))
        };
        self.is_deaf = self.awaits.iter().any(|expected| {
            matches!(&expected.kind, ExpectedKind::Initialize { request_id } if !answers(request_id))
        });
        let mut printed = 0;
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in std::mem::take(&mut self.steps) {
            match &step {
                Step::Print(range) => printed = range.end,
                Step::Await(_) if self.is_deaf => continue,
                Step::Await(index) => {
                    if let ExpectedKind::Answer { question, .. } = &self.awaits[*index].kind
                        && self.cancelled_at(&question.request_id).is_some_and(|at| at <= printed)
                    {
                        continue;
                    }
                }
                Step::Stderr(_) => {}
            }
            match (steps.last_mut(), &step) {
                (Some(Step::Print(before)), Step::Print(range)) => before.end = range.end,
                _ => steps.push(step),
            }
        }
        self.steps = steps;
    }

    /// Returns the end of the line that takes the request with this id back.
    fn cancelled_at(&self, id: &str) -> Option<usize> {
        let cancels =
            |line: &&OutLine| matches!(&line.role, Role::Cancel { request_id } if request_id == id);
        self.lines.iter().find(cancels).map(|line| line.range.end)
    }

    /// Adds a step that waits for the end of stdin, where a question was neither answered nor taken back and its call
    /// failed.
    fn wait_for_close(&mut self, stdout: &[u8]) {
        let answered = |question: &CliQuestion| {
            self.awaits.iter().any(|expected| {
                matches!(&expected.kind, ExpectedKind::Answer { question: other, .. } if other == question)
            })
        };
        let open = self.lines.iter().position(|line| match &line.role {
            Role::Question(question) => {
                !answered(question) && self.cancelled_at(&question.request_id).is_none()
            }
            _ => false,
        });
        let Some(open) = open else { return };
        let Role::Question(CliQuestion { tool_use_id: Some(id), .. }) = &self.lines[open].role
        else {
            return;
        };
        let id = format!("\"tool_use_id\":\"{id}\"");
        let failed = self.lines[open + 1..].iter().find(|line| {
            let text = &stdout[line.range.clone()];
            contains(text, id.as_bytes())
                && matches!(WireLine::read(text), Some(WireLine::Message(_)))
        });
        let Some(at) = failed.map(|line| line.range.start) else { return };
        let is_around = |step: &Step| matches!(step, Step::Print(range) if range.contains(&at));
        let Some(index) = self.steps.iter().position(is_around) else { return };
        let Step::Print(range) = self.steps[index].clone() else { return };
        let close = Step::Await(self.awaits.len());
        let opens = self.lines[open].range.end;
        self.awaits.push(ExpectedLine { opens, kind: ExpectedKind::Close });
        let split = [Step::Print(range.start..at), close, Step::Print(at..range.end)];
        self.steps.splice(index..=index, split);
    }

    /// Finds the cassette's uuids of messages that the host sent without one, in the lines that repeat them.
    fn name_messages(&mut self, stdout: &[u8]) {
        let given: Vec<String> =
            self.messages().filter_map(|(uuid, _)| uuid.map(str::to_owned)).collect();
        let replays = self.lines.iter().filter(|line| line.role == Role::Replay);
        let uuids = replays.filter_map(|line| match WireLine::read(&stdout[line.range.clone()])? {
            WireLine::Message(message) => Some((line.range.start, message.uuid?)),
            _ => None,
        });
        let mut unknown = uuids.filter(|(_, uuid)| !given.contains(uuid));
        let mut found = Vec::new();
        for expected in &mut self.awaits {
            if let ExpectedKind::Message { uuid: uuid @ None, .. } = &mut expected.kind
                && let Some((_, name)) = unknown.find(|(at, _)| *at >= expected.opens)
            {
                *uuid = Some(name.clone());
                found.push(name);
            }
        }
    }
}

/// Returns the reason that a host gives with a denial.
fn reason(answer: &ControlResponse) -> Option<String> {
    match answer.permission()?.decision {
        PermissionDecision::Deny { message, .. } => message,
        _ => None,
    }
}

/// Returns whether the CLI ended before stdin did: by a signal, or with an error at once.
fn ends_itself(timeline: &[Tick], exit: Option<Exit>) -> bool {
    let waited = match timeline.last() {
        Some(Tick { after_ms, kind: TickKind::Exit(_) }) => *after_ms,
        _ => QUIET_MS,
    };
    match exit {
        Some(Exit::Signal(_)) => true,
        Some(Exit::Code(code)) => code != 0 && waited < QUIET_MS,
        None => false,
    }
}

/// A line of stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutLine {
    /// The bytes of the line, with its LF.
    pub(super) range: Range<usize>,
    /// The role of the line.
    pub(super) role: Role,
}

/// The role of a line of stdout for the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// The start of a turn.
    Init,
    /// A status of the CLI.
    Status,
    /// The end of a turn.
    Result,
    /// The state of a message: queued, worked on or done.
    Lifecycle,
    /// A message of the host, printed again.
    Replay,
    /// A piece of a message of the model (`stream_event`), printed only for a host that asks for pieces.
    Piece,
    /// The answer to a request of the host.
    Response {
        /// The id of the request.
        request_id: String,
    },
    /// The call of a hook.
    Hook {
        /// The id of the request.
        request_id: String,
        /// The event of the hook.
        event: String,
        /// The tool, if the event is about one.
        tool: Option<String>,
        /// The id under which the host registered the hook.
        callback_id: String,
    },
    /// Another request to the host, such as a permission question.
    Question(CliQuestion),
    /// The end of a request that the CLI takes back.
    Cancel {
        /// The id of the request.
        request_id: String,
    },
    /// An answer of the host, printed again.
    Echo {
        /// The id of the request.
        request_id: String,
    },
    /// A line of any other kind.
    Other,
}

/// A request of the CLI that does not call a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CliQuestion {
    /// The id of the request.
    pub(super) request_id: String,
    /// The number of the question in the run, from 1.
    number: usize,
    /// The tool that it is about, or else the `subtype` of the request.
    pub(super) about: String,
    /// The id of the call that it is about.
    pub(super) tool_use_id: Option<String>,
    /// True if it asks for a permission, so that it comes only with `--permission-prompt-tool`.
    pub(super) asks_permission: bool,
}

impl CliQuestion {
    /// Returns the name of the question in a sentence: `question q1 (Bash)`.
    pub(super) fn words(&self) -> String {
        format!("question {}", self.name())
    }

    fn name(&self) -> String {
        format!("q{} ({})", self.number, self.about)
    }
}

/// Returns whether `text` contains `part`.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The state for finding the roles of the lines of a process, one after another.
#[derive(Debug, Default)]
struct Roles {
    /// The number of questions so far.
    questions: usize,
    /// The ids of the CLI's requests so far.
    asked: Vec<String>,
}

impl Roles {
    /// Returns the role of the next line.
    pub(super) fn next(&mut self, line: &[u8]) -> Role {
        match WireLine::read(line) {
            Some(WireLine::Message(message)) if message.is_replay => Role::Replay,
            Some(WireLine::Request(request)) => self.request(request),
            Some(WireLine::Response(response)) => {
                let request_id = response.request_id;
                match self.asked.contains(&request_id) {
                    true => Role::Echo { request_id },
                    false => Role::Response { request_id },
                }
            }
            Some(WireLine::Cancel { request_id }) => Role::Cancel { request_id },
            Some(WireLine::Other { kind, subtype }) => match (kind.as_str(), subtype.as_str()) {
                ("system", "init") => Role::Init,
                ("system", "status") => Role::Status,
                ("result", _) => Role::Result,
                ("command_lifecycle", _) => Role::Lifecycle,
                ("stream_event", _) => Role::Piece,
                _ => Role::Other,
            },
            _ => Role::Other,
        }
    }

    fn request(&mut self, request: ControlRequest) -> Role {
        self.asked.push(request.request_id.clone());
        let subtype = request.subtype().to_owned();
        let ControlRequest { request_id, kind, .. } = request;
        let (about, tool_use_id, asks_permission) = match kind {
            RequestKind::Hook(call) => {
                return Role::Hook {
                    request_id,
                    event: call.event,
                    tool: call.tool_name,
                    callback_id: call.callback_id,
                };
            }
            RequestKind::Permission(question) => (question.tool_name, question.tool_use_id, true),
            RequestKind::Other { tool_use_id, .. } => (subtype, tool_use_id, false),
            _ => (subtype, None, false),
        };
        self.questions += 1;
        let number = self.questions;
        Role::Question(CliQuestion { request_id, number, about, tool_use_id, asks_permission })
    }
}

/// The meaning of a line of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostAct {
    /// A message of a person.
    Message(UserMessage),
    /// The answer to a request of the CLI.
    Answer {
        /// The response.
        answer: ControlResponse,
        /// The line itself, without its LF.
        line: Vec<u8>,
    },
    /// A request of the host.
    Request(ControlRequest),
    /// A record that the CLI ignores, such as `keep_alive`; its type.
    Other(String),
    /// A line that is not a JSON object.
    Unusable,
    /// A line of white space.
    Blank,
}

impl HostAct {
    /// Reads a line, with its LF or without.
    pub(super) fn read(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        match WireLine::read(line) {
            Some(WireLine::Message(message)) => Self::Message(message),
            Some(WireLine::Response(answer)) => Self::Answer { answer, line: line.to_vec() },
            Some(WireLine::Request(request)) => Self::Request(request),
            Some(other) => Self::Other(match other.kind() {
                "" => "a record without a type".to_owned(),
                kind => kind.to_owned(),
            }),
            None if line.is_empty() => Self::Blank,
            None => Self::Unusable,
        }
    }
}

#[cfg(test)]
mod tests;
