//! What the cassette says must be read in the chat, turn by turn.
//!
//! Both sides of the cassette go through the parser of `clitape-stream`. How much of an answer a gateway
//! shows is its own choice: the last part alone, or everything that the model said. Only the last part, which
//! is the `result` of the turn, must be there.

use std::collections::BTreeSet;

use clitape_gateway::sanitise;
use clitape_recording::cassette::Cassette;
use clitape_recording::text::asked::{AskedText, asked_texts};
use clitape_runner::replay::stdin_lines;
use clitape_stream::{Event, Outcome, Parser, RunStatus, ToolArguments};
use serde_json::Value;

use super::words::letters;

/// The answers with which an agent says that it has nothing to say.
const SILENT: [&str; 2] = ["NO_REPLY", "HEARTBEAT_OK"];
/// A secret with fewer characters may be in a text by chance.
const SHORT_SECRET: usize = 8;
/// Fields of a tool's input that say what it works on, the most telling first.
const MAIN_FIELDS: [&str; 12] = [
    "file_path",
    "notebook_path",
    "path",
    "command",
    "pattern",
    "query",
    "url",
    "description",
    "subject",
    "skill",
    "prompt",
    "text",
];

/// What must be read of a cassette.
#[derive(Debug, Default)]
pub struct Expected {
    /// The turns, in order.
    pub turns: Vec<ExpectedTurn>,
    /// What the agent printed and the person or the tools said beside the answers: thoughts, what subagents
    /// said, prompts, the inputs and the results of tools. A gateway may show it.
    pub others: Vec<String>,
    /// The secrets in inputs and results of tools that the model itself does not say.
    pub secrets: Vec<String>,
    /// Whether the CLI took text back that it had printed.
    pub has_retractions: bool,
    /// Whether work goes on in the background after an answer.
    pub has_background: bool,
}

/// What must be read of a turn.
#[derive(Debug)]
pub struct ExpectedTurn {
    /// The turn's `result`: the last text of the model.
    pub answer: Option<String>,
    /// All that the model said on the main thread, in pieces between which a tool ran or a new message began.
    pub segments: Vec<Segment>,
    /// The calls of tools on the main thread.
    pub tools: Vec<ExpectedTool>,
    /// What the CLI asked.
    pub questions: Vec<ExpectedQuestion>,
    /// How it ended.
    pub end: TurnEnd,
    /// Whether a turn that answers nobody follows it, so that its answer may be replaced.
    pub is_interim: bool,
}

/// A piece of the model's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The message that it is part of.
    pub message_id: String,
    /// The text.
    pub text: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedTool {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it works on, if its input says so.
    pub main_argument: Option<String>,
    /// Its input; absent if the CLI never had the whole of it.
    pub input: Option<Value>,
    /// How it ended; absent if the turn ended before it.
    pub outcome: Option<ToolOutcome>,
}

/// How a call of a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOutcome {
    /// With a result.
    Completed,
    /// With an error, or with a person’s no.
    Failed,
}

/// A question of the CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedQuestion {
    /// The tool that waits for the answer.
    pub name: String,
    /// The call that waits, if the CLI names it.
    pub call: Option<String>,
    /// What the person is asked: the words of the questions, or what the tool works on.
    pub words: Vec<String>,
    /// All that the person must be shown before the answer.
    pub texts: Vec<AskedText>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// With an answer.
    Answered,
    /// With an answer that says that there is nothing to say.
    Silent,
    /// The person stopped it.
    Interrupted,
    /// It failed; the sentence of the CLI.
    Failed(String),
    /// The CLI ended without a result.
    CutOff,
}

/// Reads what a cassette says.
pub fn expect(cassette: &Cassette) -> Expected {
    let mut reader = Reader::default();
    let mut parser = Parser::new();
    let mut lines = stdin_lines(&cassette.stdin, &cassette.timeline).into_iter().peekable();
    let mut read = 0;
    for record in cassette.stdout.split_inclusive(|&byte| byte == b'\n') {
        while let Some(line) = lines.next_if(|line| line.offset <= read) {
            parser.feed_stdin_with(&line.line, &mut |event| reader.on(event));
        }
        reader.result = result(record).or(reader.result.take());
        parser.feed_with(record, &mut |event| reader.on(event));
        read += record.len() as u64;
    }
    for line in lines {
        parser.feed_stdin_with(&line.line, &mut |event| reader.on(event));
    }
    parser.finish_with(&mut |event| reader.on(event));
    reader.expected(cassette)
}

/// The text of a `result` record.
fn result(record: &[u8]) -> Option<String> {
    let is_one = record.windows(8).any(|part| part == b"\"result\"");
    let value: Value = is_one.then(|| serde_json::from_slice(record).ok())??;
    (value.get("type")? == "result").then(|| value.get("result")?.as_str().map(str::to_owned))?
}

#[derive(Default)]
struct Reader {
    expected: Expected,
    /// The parts of the turn that is read.
    segments: Vec<Segment>,
    tools: Vec<ExpectedTool>,
    questions: Vec<ExpectedQuestion>,
    /// The text of the last `result` record.
    result: Option<String>,
    /// Whether the next text begins a piece.
    is_new_segment: bool,
    secrets: BTreeSet<String>,
}

impl Reader {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Text { message_id, delta, parent: None, .. } => self.text(&message_id, &delta),
            Event::Text { delta, .. } => self.subagent_text(&delta),
            Event::Thinking { delta, .. } => self.expected.others.push(delta.into_owned()),
            Event::Retract { message_id, parent, .. } => {
                self.expected.has_retractions = true;
                if parent.is_none() {
                    self.segments.retain(|segment| segment.message_id != *message_id);
                }
            }
            Event::ToolStart { id, name, args, parent, .. } => {
                let (input, text) = match args {
                    ToolArguments::Complete(json) => (json.value(), json.get().to_owned()),
                    ToolArguments::Truncated(text) => (Value::Null, text.into_owned()),
                };
                self.expected.has_background |= input["run_in_background"] == true;
                self.told_by_tool(&text);
                if parent.is_none() {
                    self.is_new_segment = true;
                    let main_argument = main_argument(&input);
                    self.tools.push(ExpectedTool {
                        id: id.into_owned(),
                        name: name.into_owned(),
                        main_argument,
                        input: Some(input).filter(|input| !input.is_null()),
                        outcome: None,
                    });
                }
            }
            Event::ToolResult { id, is_error, result, incomplete, .. } => {
                let text = strings(&result.value()).join("\n");
                self.told_by_tool(&text);
                let before = self.expected.turns.iter_mut().flat_map(|turn| &mut turn.tools);
                let mut tools = before.chain(&mut self.tools);
                let own = tools.find(|tool| tool.id == id && tool.outcome.is_none());
                if let (Some(tool), None) = (own, incomplete) {
                    tool.outcome = Some(match is_error {
                        true => ToolOutcome::Failed,
                        false => ToolOutcome::Completed,
                    });
                }
            }
            Event::Question { name, input, call, .. } => {
                let input = input.value();
                let asked = input["questions"].as_array().into_iter().flatten();
                let asked = asked.filter_map(|one| one["question"].as_str()).map(str::to_owned);
                let words: Vec<String> = asked.chain(main_argument(&input)).collect();
                let (name, call) = (name.into_owned(), call.map(std::borrow::Cow::into_owned));
                let is_empty = input.as_object().is_some_and(|fields| fields.is_empty());
                let of_call = self.tools.iter().find(|tool| Some(&tool.id) == call.as_ref());
                let of_call = of_call.and_then(|tool| tool.input.as_ref()).filter(|_| is_empty);
                let texts = asked_texts(&name, of_call.unwrap_or(&input));
                self.questions.push(ExpectedQuestion { name, call, words, texts });
            }
            Event::HostMessage { text: Some(text), .. } | Event::Heard { text, .. } => {
                self.expected.others.push(text.into_owned());
            }
            Event::Notice { detail, .. } => {
                self.expected.others.extend(strings(&Value::Object(detail.into_owned())));
            }
            Event::Outcome(outcome) => self.outcome(&outcome),
            _ => {}
        }
    }

    fn text(&mut self, message_id: &str, delta: &str) {
        match self.segments.last_mut() {
            Some(last) if last.message_id == message_id && !self.is_new_segment => {
                last.text.push_str(delta);
            }
            _ => {
                let (message_id, text) = (message_id.to_owned(), delta.trim_start().to_owned());
                self.segments.push(Segment { message_id, text });
            }
        }
        self.is_new_segment = false;
    }

    /// What a subagent says comes in small pieces, which are joined as they come.
    fn subagent_text(&mut self, delta: &str) {
        match self.expected.others.last_mut() {
            Some(last) => last.push_str(delta),
            None => self.expected.others.push(delta.to_owned()),
        }
    }

    fn told_by_tool(&mut self, text: &str) {
        let line = format!("{text}\n");
        for found in sanitise::find(&line) {
            let secret = &line[found.bytes];
            if secret.chars().count() >= SHORT_SECRET {
                self.secrets.insert(secret.trim().to_owned());
            }
        }
        self.expected.others.push(text.to_owned());
    }

    fn outcome(&mut self, outcome: &Outcome) {
        if outcome.origin.is_some()
            && let Some(before) = self.expected.turns.last_mut()
        {
            before.is_interim = true;
        }
        let segments = std::mem::take(&mut self.segments);
        let result = self.result.take().filter(|text| !text.trim().is_empty());
        // A text that the parser did not take for the answer is no answer.
        let is_whole = |text: &String| letters(&outcome.text).contains(&letters(text));
        let last = || segments.last().map(|segment| segment.text.clone());
        let answer = result.filter(is_whole).or_else(last);
        let end = match (outcome.status, &outcome.error) {
            (RunStatus::Incomplete, _) => TurnEnd::CutOff,
            (_, Some(error)) if error.kind == clitape_stream::FailureKind::Interrupted => {
                TurnEnd::Interrupted
            }
            (_, Some(error)) => TurnEnd::Failed(error.message.clone()),
            (RunStatus::Error, None) => TurnEnd::Failed(String::new()),
            (RunStatus::Ok, None) if answer.as_deref().is_some_and(is_silent) => TurnEnd::Silent,
            (RunStatus::Ok, None) => TurnEnd::Answered,
        };
        self.expected.turns.push(ExpectedTurn {
            answer,
            segments,
            tools: std::mem::take(&mut self.tools),
            questions: std::mem::take(&mut self.questions),
            end,
            is_interim: false,
        });
        self.is_new_segment = true;
    }

    fn expected(mut self, cassette: &Cassette) -> Expected {
        let said: Vec<&str> = self.expected.turns.iter().flat_map(ExpectedTurn::texts).collect();
        let is_said = |secret: &String| said.iter().any(|text| text.contains(secret.as_str()));
        self.secrets.retain(|secret| !is_said(secret));
        self.expected.secrets = self.secrets.into_iter().collect();
        self.expected.others.push(String::from_utf8_lossy(&cassette.stderr).into_owned());
        self.expected
    }
}

impl ExpectedTurn {
    /// All that the model said.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let segments = self.segments.iter().map(|segment| segment.text.as_str());
        segments.chain(self.answer.as_deref())
    }

    /// Whether the turn must end with an answer that a person reads.
    pub fn must_be_answered(&self) -> bool {
        self.end == TurnEnd::Answered && !self.is_interim
    }
}

/// Whether the answer says that there is nothing to say.
fn is_silent(answer: &str) -> bool {
    answer.trim().lines().last().is_some_and(|line| SILENT.contains(&line.trim()))
}

/// What a tool works on.
fn main_argument(input: &Value) -> Option<String> {
    MAIN_FIELDS.iter().find_map(|field| input.get(*field)?.as_str()).map(str::to_owned)
}

/// All strings in a value.
pub(super) fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(name: &str) -> Expected {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
        expect(&Cassette::load(&root.join(name)).unwrap())
    }

    #[test]
    fn the_last_part_is_the_answer_and_the_rest_may_be_read() {
        let expected = read("three-tools/2.1.329");
        let [turn] = &expected.turns[..] else { panic!("one turn") };
        let answer =
            "They do not agree: the server listens on port 8080, the client asks for port 8081.";
        assert_eq!(turn.answer.as_deref(), Some(answer));
        assert_eq!((turn.segments.len(), turn.tools.len(), &turn.end), (4, 3, &TurnEnd::Answered));
        assert_eq!(turn.tools[0].main_argument.as_deref(), Some("/clitape/project/server.conf"));
    }

    #[test]
    fn a_turn_says_how_it_ended() {
        for (name, ends) in [
            ("plain-text/2.1.329", vec![TurnEnd::Answered]),
            ("silent-run/2.1.329", vec![TurnEnd::Silent]),
            ("resume-killed-mid-text/2.1.329", vec![TurnEnd::CutOff]),
            ("live-interrupt-text/2.1.330", vec![TurnEnd::Interrupted]),
        ] {
            let found: Vec<TurnEnd> = read(name).turns.into_iter().map(|turn| turn.end).collect();
            assert_eq!(found, ends, "{name}");
        }
        let [turn] = &read("api-400/2.1.329").turns[..] else { panic!("one turn") };
        assert!(matches!(&turn.end, TurnEnd::Failed(words) if words.contains("400")), "{turn:?}");
    }

    #[test]
    fn questions_and_background_work_are_read() {
        let expected = read("permission-allow/2.1.330");
        assert_eq!(expected.turns[0].questions[0].name, "Bash");
        assert_eq!(expected.turns[0].answer.as_deref(), Some("The file made.txt is there."));
        let expected = read("ask-user/2.1.330");
        let question = &expected.turns[0].questions[0];
        assert_eq!(question.name, "AskUserQuestion");
        assert!(question.words[0].contains('?'), "{question:?}");
        assert!(read("bash-left-running/2.1.329").has_background);
    }
}
