//! The host of a CLI that reads stdin: a state machine that reads what the CLI printed and says which line
//! is due.
//!
//! A [`HostScript`] lists the lines of one run: the host's own first lines, then the steps of the scenario.
//! [`PrintedRecords`] reads stdout line by line, for the records that the steps wait for, each with its place. The host
//! does no IO and reads no clock.
//!
//! The steps fire in order: a step waits for its trigger and for the step before it. Requests that no step
//! answers (the calls of hooks, elicitations) are answered at once, in the order of their records, so that
//! the order of the lines does not depend on how stdout was cut into reads.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use clitape_recording::scenario::{
    ChosenLabels, HostProfile, NamedTool, PLAIN, RecordSpec, SayAction, SayAnswer, SayBehavior,
    SayInitialize, SayStep, SayTrigger,
};
use clitape_recording::wire::{
    ControlRequest, ControlResponse, JsonText, MessageTemplate, PermissionAnswer,
    PermissionDecision, PermissionQuestion, RegisteredHook, RequestKind, WireLine,
};
use clitape_stream::{Event, Parser};
use serde_json::{Value, json};

use crate::record::error::HostError;
use crate::record::workspace::Folders;

/// The time without output after the end of a turn until stdin is closed: a message that waits in the CLI's queue
/// begins the next turn within this time.
const QUIET: Duration = Duration::from_secs(1);

/// A line for stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueLine {
    /// The line, without its LF.
    pub(crate) text: String,
    /// The number of bytes of stdout up to the end of the record that fired it, or the line before it if that
    /// came later; 0 at the start.
    pub(crate) offset: u64,
}

/// The host of one run.
pub(crate) struct Host<'a> {
    script: &'a HostScript,
    printed: PrintedRecords<'a>,
    lines: LineMaker,
    /// The number of steps that have fired.
    fired: usize,
    /// The time when the last step fired, and the place of the record that fired it.
    last: RecordPlace,
    /// Lines that are due.
    due: VecDeque<DueLine>,
    /// The offset of the last line.
    offset: u64,
    /// True if a message was written after the last `result`.
    is_message_open: bool,
    /// True once a step has closed stdin.
    is_closed: bool,
    /// The time of the CLI's last output.
    heard: Instant,
}

impl<'a> Host<'a> {
    /// Returns a host at the start of a run.
    pub(crate) fn new(script: &'a HostScript, begin: Instant) -> Self {
        Self {
            script,
            printed: PrintedRecords::new(script),
            lines: LineMaker::new(script.profile),
            fired: 0,
            last: RecordPlace { at: begin, offset: 0 },
            due: VecDeque::new(),
            offset: 0,
            is_message_open: false,
            is_closed: false,
            heard: begin,
        }
    }

    /// Reads bytes of stdout that came at `at`.
    ///
    /// # Errors
    ///
    /// [`HostError`] when a step that fires now can't be written.
    pub(crate) fn feed(&mut self, at: Instant, bytes: &[u8]) -> Result<(), HostError> {
        self.heard = at;
        let mut rest = bytes;
        while let Some((after, place, call)) = self.printed.next_line(at, rest) {
            rest = after;
            if self.printed.results.last().is_some_and(|last| last.offset == place.offset) {
                self.is_message_open = false;
            }
            if let Some(call) = call {
                let text = self.lines.at_once(&call);
                self.push(text, place);
            }
            self.fire(at)?;
        }
        Ok(())
    }

    /// Returns the next line that is due.
    ///
    /// # Errors
    ///
    /// [`HostError`] when a step that fires now can't be written.
    pub(crate) fn next_due(&mut self, now: Instant) -> Result<Option<DueLine>, HostError> {
        self.fire(now)?;
        Ok(self.due.pop_front())
    }

    /// Returns whether stdin is to be closed: the scenario closes it, or every step was written and every request
    /// answered.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let Self { printed, .. } = self;
        let is_asking = printed.questions.iter().any(|question| !question.is_closed);
        self.is_closed && self.due.is_empty()
            || self.fired == self.script.steps.len()
                && self.due.is_empty()
                && !self.is_message_open
                && !printed.is_in_turn
                && !is_asking
                && printed.responses.len() as u64 >= self.lines.requests()
                && now.saturating_duration_since(self.heard) >= QUIET
    }

    /// Describes the first step that has not fired, and what it waits for.
    pub(crate) fn unfired(&self) -> Option<String> {
        let HostScriptStep { name, when, delay_ms, .. } = self.script.steps.get(self.fired)?;
        Some(match when {
            Some(when) if self.place_of(when).is_none() => {
                format!("{name} waits for `when = {when}`")
            }
            _ => format!("{name} waits for its delay of {delay_ms} ms"),
        })
    }

    /// Describes the first question that has no answer.
    pub(crate) fn unanswered(&self) -> Option<String> {
        let open = self.printed.questions.iter().find(|question| !question.is_closed)?;
        let question = &open.question;
        let call = question.tool_use_id.as_ref().map(|id| format!(" (call {id})"));
        Some(format!(
            "no step answers the question about `{}`{}: {}",
            question.tool_name,
            call.unwrap_or_default(),
            super::script::clip(question.input.as_str(), 200)
        ))
    }

    /// Fires the steps that are due.
    fn fire(&mut self, now: Instant) -> Result<(), HostError> {
        while let Some(step) = self.script.steps.get(self.fired) {
            let place = match &step.when {
                None => Some(self.last),
                Some(when) => self.place_of(when).map(|place| place.max(self.last)),
            };
            let delay = Duration::from_millis(step.delay_ms);
            // A read may have come before the previous step was written.
            let is_due = |place: &RecordPlace| delay.is_zero() || now >= place.at + delay;
            let Some(place) = place.filter(is_due) else { return Ok(()) };
            self.write(step, place)?;
            self.last = RecordPlace { at: now, offset: place.offset };
            self.fired += 1;
        }
        Ok(())
    }

    /// Returns the place at which the CLI printed the record of a trigger, if it has.
    fn place_of(&self, when: &SayTrigger) -> Option<RecordPlace> {
        let nth = |places: &[RecordPlace], n: u64| {
            let at = usize::try_from(n).ok()?.checked_sub(1)?;
            places.get(at).copied()
        };
        match when {
            SayTrigger::Result(n) => nth(&self.printed.results, *n),
            SayTrigger::Response(n) => nth(&self.printed.responses, *n),
            SayTrigger::Asked(named) => {
                self.question(named).map(|at| self.printed.questions[at].place)
            }
            SayTrigger::Tool(named) => self.call(named).map(|at| self.printed.calls[at].place),
            SayTrigger::Text(text) => self.printed.texts.iter().find(|(part, _)| part == text)?.1,
        }
    }

    fn question(&self, named: &NamedTool) -> Option<usize> {
        let questions = self.printed.questions.iter();
        pick(named, questions.map(|asked| (asked.question.tool_name.as_str(), asked.is_taken)))
    }

    fn call(&self, named: &NamedTool) -> Option<usize> {
        let calls = self.printed.calls.iter();
        pick(named, calls.map(|call| (call.tool.as_str(), call.is_taken)))
    }

    /// Adds the line of a step to those that are due.
    fn write(&mut self, step: &HostScriptStep, place: RecordPlace) -> Result<(), HostError> {
        let mut asked = None;
        match &step.when {
            Some(SayTrigger::Asked(named)) => {
                asked = self.question(named);
                if let Some(at) = asked {
                    self.printed.questions[at].is_taken = true;
                }
            }
            Some(SayTrigger::Tool(named)) => {
                if let Some(at) = self.call(named) {
                    self.printed.calls[at].is_taken = true;
                }
            }
            _ => {}
        }
        let question = asked.map(|at| &self.printed.questions[at]);
        let mut answered = None;
        let text = match (&step.action, question) {
            (HostAction::Begin(request), _) => self.lines.begin(request),
            (HostAction::Say(SayAction::Message { content, uuid }), _) => {
                self.is_message_open = true;
                self.lines.message(content, *uuid)
            }
            (HostAction::Say(SayAction::Interrupt), _) => self.lines.interrupt(),
            (HostAction::Say(SayAction::Initialize(initialize)), _) => {
                self.lines.initialize(initialize)
            }
            (HostAction::Say(SayAction::Raw(line)), _) => self.raw(line),
            (HostAction::Say(SayAction::Answer(answer)), Some(question)) => {
                answered = Some(question.request_id.clone());
                answer_line(question, answer, &step.name)?
            }
            (HostAction::Say(SayAction::Choose(chosen)), Some(question)) => {
                answered = Some(question.request_id.clone());
                choice(question, chosen.iter(), &step.name)?
            }
            (HostAction::Say(SayAction::Close), _) => {
                self.is_closed = true;
                return Ok(());
            }
            // A scenario with such a step and no question is refused when it is loaded.
            (HostAction::Say(SayAction::Answer(_) | SayAction::Choose(_)), None) => return Ok(()),
        };
        if let Some(id) = answered {
            self.printed.close(&id);
        }
        self.push(text, place);
        Ok(())
    }

    /// Adds a line to those that are due. A step with a delay may come after the answer to a later record; its
    /// offset does not fall behind.
    fn push(&mut self, text: String, place: RecordPlace) {
        self.offset = self.offset.max(place.offset);
        self.due.push_back(DueLine { text, offset: self.offset });
    }

    /// Counts a line that the scenario wrote itself by its kind.
    fn raw(&mut self, line: &str) -> String {
        // A line that is not JSON counts neither as a message nor as a request.
        match WireLine::read(line.as_bytes()) {
            Some(WireLine::Message(_)) => self.is_message_open = true,
            Some(WireLine::Request(_)) => self.lines.count_request(),
            _ => {}
        }
        line.to_owned()
    }
}

/// Returns the index of the question or call that a trigger means: the n-th of its tool, or the first that no step has
/// waited for.
fn pick<'t>(named: &NamedTool, mut all: impl Iterator<Item = (&'t str, bool)>) -> Option<usize> {
    match named.number {
        None => all.position(|(tool, is_taken)| tool == named.name && !is_taken),
        Some(number) => {
            let of_tool = all.enumerate().filter(|(_, (tool, _))| *tool == named.name);
            let skipped = usize::try_from(number).ok()?.checked_sub(1)?;
            of_tool.map(|(at, _)| at).nth(skipped)
        }
    }
}

/// The lines of a host, in order, with real folders.
#[derive(Debug, Clone)]
pub(crate) struct HostScript {
    /// The form in which the host writes.
    profile: &'static HostProfile,
    /// The steps.
    steps: Vec<HostScriptStep>,
}

/// A step, with the name that errors use for it.
#[derive(Debug, Clone)]
struct HostScriptStep {
    /// The step of the scenario and its action.
    name: String,
    /// The line to write.
    action: HostAction,
    /// The record that the CLI must have printed before.
    when: Option<SayTrigger>,
    /// The milliseconds between that record and the line.
    delay_ms: u64,
}

/// The line of a step.
#[derive(Debug, Clone)]
enum HostAction {
    /// The first request of a [`HostProfile`].
    Begin(&'static str),
    /// An action of the scenario.
    Say(SayAction),
}

impl HostScript {
    /// Returns the script of a scenario's host; `None` if the CLI has no stdin.
    pub(crate) fn new(record: &RecordSpec, folders: &Folders) -> Option<Self> {
        if record.host.is_none() && record.say.is_empty() {
            return None;
        }
        let profile = record.host.map_or(&PLAIN, |host| host.profile());
        let begin = profile.initialize.map(|request| HostScriptStep {
            name: "the `initialize` of `record.host`".into(),
            action: HostAction::Begin(request),
            when: None,
            delay_ms: 0,
        });
        let prompt = record.prompt.as_ref().filter(|_| record.host.is_some());
        let prompt = prompt.map(|prompt| HostScriptStep {
            name: "`record.prompt`".into(),
            action: HostAction::Say(SayAction::Message {
                content: Value::from(folders.expand(prompt)),
                uuid: None,
            }),
            when: begin.as_ref().map(|_| SayTrigger::Response(1)),
            delay_ms: 0,
        });
        let mut steps: Vec<HostScriptStep> = begin.into_iter().chain(prompt).collect();
        let begins = steps.len() == 1 && profile.initialize.is_some();
        for (number, step) in (1..).zip(&record.say) {
            let SayStep { action, when, delay_ms } = step;
            // Without a prompt, the first step of the scenario waits for the answer to `initialize`.
            let when = match when {
                None if begins && number == 1 => Some(SayTrigger::Response(1)),
                when => when.clone(),
            };
            steps.push(HostScriptStep {
                name: format!("step {number} of `[[record.say]]` (`{}`)", action.key()),
                action: HostAction::Say(expanded(action, folders)),
                when,
                delay_ms: *delay_ms,
            });
        }
        Some(Self { profile, steps })
    }

    /// Returns the texts that the triggers of the steps wait for.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match &step.when {
            Some(SayTrigger::Text(text)) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns whether a step waits for an event of the model, which takes a parser to read.
    fn reads_the_model(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.when, Some(SayTrigger::Tool(_) | SayTrigger::Text(_))))
    }
}

/// Returns the action with real folders.
fn expanded(action: &SayAction, folders: &Folders) -> SayAction {
    let text = |text: &String| folders.expand(text);
    match action {
        SayAction::Message { content, uuid } => {
            SayAction::Message { content: expanded_value(content, folders), uuid: *uuid }
        }
        SayAction::Answer(SayAnswer { behavior, input, message, suggestion }) => {
            let input = input.as_ref().map(|input| {
                input.iter().map(|(key, value)| (key.clone(), expanded_value(value, folders)))
            });
            SayAction::Answer(SayAnswer {
                behavior: *behavior,
                input: input.map(Iterator::collect),
                message: message.as_ref().map(text),
                suggestion: *suggestion,
            })
        }
        SayAction::Initialize(SayInitialize { hooks, append_system_prompt }) => {
            SayAction::Initialize(SayInitialize {
                hooks: hooks.clone(),
                append_system_prompt: append_system_prompt.as_ref().map(text),
            })
        }
        SayAction::Raw(line) => SayAction::Raw(text(line)),
        SayAction::Interrupt | SayAction::Choose(_) | SayAction::Close => action.clone(),
    }
}

fn expanded_value(value: &Value, folders: &Folders) -> Value {
    match value {
        Value::String(text) => Value::from(folders.expand(text)),
        Value::Array(items) => items.iter().map(|item| expanded_value(item, folders)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), expanded_value(value, folders)))
            .collect(),
        other => other.clone(),
    }
}

/// The place of a record: the time when it was read, and the offset of its end.
#[derive(Debug, Clone, Copy)]
struct RecordPlace {
    /// The time of the read that ended it.
    at: Instant,
    /// The number of bytes of stdout up to its end.
    offset: u64,
}

impl RecordPlace {
    /// Returns the later time and the later offset of two places.
    fn max(self, other: Self) -> Self {
        Self { at: self.at.max(other.at), offset: self.offset.max(other.offset) }
    }
}

/// A permission question of the CLI, with its place in stdout.
#[derive(Debug, Clone)]
struct PlacedQuestion {
    place: RecordPlace,
    request_id: String,
    question: PermissionQuestion,
    /// True if a step has waited for it.
    is_taken: bool,
    /// True if it was answered or withdrawn.
    is_closed: bool,
}

/// The start of a call.
#[derive(Debug, Clone)]
struct StartedCall {
    place: RecordPlace,
    tool: String,
    /// True if a step has waited for it.
    is_taken: bool,
}

/// The records that the CLI has printed so far.
struct PrintedRecords<'a> {
    line: Vec<u8>,
    offset: u64,
    results: Vec<RecordPlace>,
    /// The answers to requests of the host.
    responses: Vec<RecordPlace>,
    questions: Vec<PlacedQuestion>,
    calls: Vec<StartedCall>,
    /// The texts that steps wait for, with the place where the model first completed them.
    texts: Vec<(&'a str, Option<RecordPlace>)>,
    /// True while a turn goes on.
    is_in_turn: bool,
    asked: Vec<String>,
    parser: Option<Parser>,
    /// The text of each thread so far.
    said: HashMap<Option<String>, String>,
}

impl<'a> PrintedRecords<'a> {
    fn new(script: &'a HostScript) -> Self {
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
    fn next_line<'b>(
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
    fn close(&mut self, request_id: &str) {
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

/// The reason for a denial if the step has none.
const NO: &str = "The user does not want this.";

/// Makes lines, and counts the messages and requests in them, because their ids are numbered.
#[derive(Debug, Clone)]
struct LineMaker {
    profile: &'static HostProfile,
    messages: u64,
    requests: u64,
}

impl LineMaker {
    fn new(profile: &'static HostProfile) -> Self {
        Self { profile, messages: 0, requests: 0 }
    }

    /// Returns the number of requests so far.
    fn requests(&self) -> u64 {
        self.requests
    }

    /// Counts a request that the scenario wrote itself.
    fn count_request(&mut self) {
        self.requests += 1;
    }

    /// Returns a message of a person, with a uuid if the step or the host wants one.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn message(&mut self, content: &Value, uuid: Option<bool>) -> String {
        self.messages += 1;
        let template = MessageTemplate::read(self.profile.message);
        let template = template.expect("a test reads every template");
        let content = match content {
            Value::String(text) if !self.profile.plain_text => {
                json!([{"type": "text", "text": text}])
            }
            content => content.clone(),
        };
        let is_wanted = uuid.unwrap_or(template.has_uuid());
        let uuid = is_wanted.then(|| format!("c11fa9e0-0000-4000-8000-{:012}", self.messages));
        template.line(content, uuid)
    }

    /// Returns the id of the next request.
    fn next_id(&mut self) -> String {
        self.requests += 1;
        format!("clitape-{}", self.requests)
    }

    /// Returns the first request of a [`HostProfile`].
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn begin(&mut self, request: &str) -> String {
        let body: Value = serde_json::from_str(request).expect("a test reads every request");
        ControlRequest::of(self.next_id(), JsonText::of(&body)).to_string()
    }

    /// Returns an `initialize` of the scenario. Each hook has its event as the id of its callback.
    fn initialize(&mut self, initialize: &SayInitialize) -> String {
        let SayInitialize { hooks, append_system_prompt } = initialize;
        let hook = |event: &String| RegisteredHook {
            event: event.clone(),
            matcher: None,
            callback_id: event.clone(),
        };
        let hooks: Vec<RegisteredHook> = hooks.iter().map(hook).collect();
        let prompt = append_system_prompt.as_deref();
        ControlRequest::initialize(self.next_id(), &hooks, prompt).to_string()
    }

    /// Returns the request to stop the turn.
    fn interrupt(&mut self) -> String {
        ControlRequest::interrupt(self.next_id()).to_string()
    }

    /// Returns the answer to a request that no step answers: a hook gets its default or, from a host that allows every
    /// call, a yes; an elicitation is declined; the host knows no other request.
    fn at_once(&self, request: &ControlRequest) -> String {
        let id = &request.request_id;
        let answer = match &request.kind {
            RequestKind::Hook(call)
                if call.event == "PreToolUse" && self.profile.allows_every_call =>
            {
                ControlResponse::allow_call(id, call)
            }
            RequestKind::Hook(_) => ControlResponse::success(id, &json!({})),
            _ => match request.subtype() {
                "elicitation" => ControlResponse::success(id, &json!({"action": "decline"})),
                other => {
                    let error = format!("Unsupported control request subtype: {other}");
                    ControlResponse::error(id, &error)
                }
            },
        };
        answer.to_string()
    }
}

/// Returns the answer to a permission question.
fn answer_line(
    asked: &PlacedQuestion,
    answer: &SayAnswer,
    step: &str,
) -> Result<String, HostError> {
    let SayAnswer { behavior, input, message, suggestion } = answer;
    if *behavior != SayBehavior::Allow {
        let interrupt = *behavior == SayBehavior::DenyAndInterrupt;
        let message = Some(message.clone().unwrap_or_else(|| NO.to_owned()));
        return Ok(line(asked, PermissionDecision::Deny { message, interrupt }));
    }
    let suggestions = &asked.question.suggestions;
    let updated_permissions = match suggestion {
        None => None,
        Some(number) => {
            let found = usize::try_from(*number).ok().and_then(|n| n.checked_sub(1));
            let found = found.and_then(|at| suggestions.get(at));
            let found = found.ok_or_else(|| HostError::NoSuggestion {
                step: step.to_owned(),
                number: *number,
                count: suggestions.len(),
            })?;
            Some(vec![found.clone()])
        }
    };
    let input = input.as_ref().map(JsonText::of);
    let updated_input = Some(input.unwrap_or_else(|| asked.question.input.clone()));
    Ok(line(asked, PermissionDecision::Allow { updated_input, updated_permissions }))
}

/// Returns the line with the decision about a question.
fn line(asked: &PlacedQuestion, decision: PermissionDecision) -> String {
    let tool_use_id = asked.question.tool_use_id.clone();
    let answer = PermissionAnswer { decision, tool_use_id };
    ControlResponse::success(&asked.request_id, &answer).to_string()
}

/// Returns the answer to an `AskUserQuestion`: its input, with the labels that were chosen.
fn choice<'c>(
    asked: &PlacedQuestion,
    chosen: impl Iterator<Item = (&'c String, &'c ChosenLabels)>,
    step: &str,
) -> Result<String, HostError> {
    // If the input has no questions, each choice is an error below.
    let mut input = asked.question.input.value();
    let questions = input["questions"].as_array().into_iter().flatten();
    let texts: Vec<String> =
        questions.filter_map(|one| one["question"].as_str().map(str::to_owned)).collect();
    let mut answers = serde_json::Map::new();
    for (text, labels) in chosen {
        if !texts.contains(text) {
            return Err(HostError::NotAsked {
                step: step.to_owned(),
                chosen: text.clone(),
                asked: texts.join("`, `"),
            });
        }
        let labels = match labels {
            ChosenLabels::One(label) => label.clone(),
            ChosenLabels::Several(labels) => labels.join(", "),
        };
        answers.insert(text.clone(), Value::from(labels));
    }
    input["answers"] = Value::from(answers);
    let updated_input = Some(JsonText::of(&input));
    Ok(line(asked, PermissionDecision::Allow { updated_input, updated_permissions: None }))
}

#[cfg(test)]
mod tests;
