//! Reads a request to the scripted model, and chooses the answer by the request's content alone.

use std::borrow::Cow;
use std::collections::HashMap;

use clitape_recording::scenario::{Model, ModelConversation, ModelFailureKind, ModelTurn};
use clitape_recording::text::{Keep, plural, truncate};
use serde::Deserialize;
use serde_json::Value;

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptedAnswer<'a> {
    /// The conversation's name, a part of ids.
    pub(crate) conversation: &'a str,
    /// The turn's number from 1, a part of ids.
    pub(crate) number: usize,
    /// The message.
    pub(crate) turn: Cow<'a, ModelTurn>,
    /// The failure, if there is one.
    pub(crate) failure: Option<&'a ModelFailureKind>,
    /// The number of requests for the turn that failed before this one, a part of ids.
    pub(crate) failed: usize,
    /// True if the request is outside the conversation. The CLI does not wait for such an answer, so its tokens would
    /// be part of the sum in the `result` of some runs only.
    pub(crate) aside: bool,
}

/// The part of a request that identifies a question of the CLI itself.
enum KnownRequest {
    /// The system prompt has this text.
    System(&'static str),
    /// The last user text is this one.
    LastUser(&'static str),
}

const NO_FILES: &str = "<is_displaying_contents>\nfalse\n</is_displaying_contents>\n\n\
                        <filepaths>\n</filepaths>";

/// Requests of CLI versions up to 2.0 to a small model, outside the conversation, and harmless answers.
const QUESTIONS: &[(KnownRequest, &str)] = &[
    // The CLI asks whether a command may run without a question. `none`: no rule covers it.
    (KnownRequest::System("Your task is to process Bash commands"), "none"),
    // The CLI asks for the files that a command showed.
    (KnownRequest::System("Extract any file paths that this command reads"), NO_FILES),
    // The CLI asks whether an output needs a summary.
    (
        KnownRequest::System("output from a bash command to determine if it should be summarized"),
        "<should_summarize>false</should_summarize>",
    ),
    // The CLI asks for titles, of the terminal and in the list of sessions.
    (
        KnownRequest::System("indicates a new conversation topic"),
        r#"{"isNewTopic": false, "title": null}"#,
    ),
    (
        KnownRequest::System("Summarize this coding conversation in under 50 characters"),
        "A scripted run",
    ),
    // Version 2.0 asks each subagent once before it is needed.
    (KnownRequest::LastUser("Warmup"), "Ready."),
];

/// The number of requests for each turn, by conversation and number of the turn.
pub(crate) type Attempts = HashMap<(String, usize), usize>;

/// The run of the scenario that sends a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunStage {
    /// The number of runs before it.
    pub(crate) before: usize,
    /// Its prompt; empty for the first run if that reads stdin.
    pub(crate) prompt: String,
}

/// Returns the scripted answer to a request, and counts a request for a turn.
pub(crate) fn choose<'a>(
    model: &'a Model,
    asked: &ModelRequest,
    stage: &RunStage,
    attempts: &mut Attempts,
) -> Option<ScriptedAnswer<'a>> {
    side(model, asked).or_else(|| turn(model, asked, stage, attempts))
}

fn side<'a>(model: &'a Model, asked: &ModelRequest) -> Option<ScriptedAnswer<'a>> {
    let has = |text: &str| asked.system.contains(text) || asked.contains(text);
    let scripted = model.sides.iter().map(|side| (has(&side.contains), side.text.as_str()));
    let known = QUESTIONS.iter().map(|(known, text)| {
        let fits = match known {
            KnownRequest::System(part) => asked.system.contains(part),
            KnownRequest::LastUser(text) => asked.last_user == *text,
        };
        (fits, *text)
    });
    let (at, (_, text)) = scripted.chain(known).enumerate().find(|(_, (fits, _))| *fits)?;
    Some(ScriptedAnswer {
        conversation: "side",
        number: at + 1,
        turn: Cow::Owned(ModelTurn::at_once(text)),
        failure: None,
        failed: 0,
        aside: true,
    })
}

fn turn<'a>(
    model: &'a Model,
    asked: &ModelRequest,
    stage: &RunStage,
    attempts: &mut Attempts,
) -> Option<ScriptedAnswer<'a>> {
    let (conversation, turns, answered) = conversation(model, asked, stage);
    let number = answered + 1;
    let (turn, failure, failed) = match turns.get(answered) {
        Some(turn) => {
            let before = attempts.entry((conversation.to_owned(), number)).or_default();
            let (failure, failed) = turn.attempt(*before);
            *before += 1;
            (Cow::Borrowed(turn), failure, failed)
        }
        None => {
            let mut spares = model
                .spares
                .iter()
                .flat_map(|spare| std::iter::repeat_n(&spare.text, spare.times.get()));
            let text = spares.nth(answered - turns.len())?;
            (Cow::Owned(ModelTurn::saying(text)), None, 0)
        }
    };
    Some(ScriptedAnswer { conversation, number, turn, failure, failed, aside: false })
}

/// Returns the conversation of a request: its name, its turns, and how many of them were answered.
fn conversation<'a>(
    model: &'a Model,
    asked: &ModelRequest,
    stage: &RunStage,
) -> (&'a str, &'a [ModelTurn], usize) {
    let is_of = |one: &&ModelConversation| asked.first_user.contains(&one.marker);
    if let Some(one) = model.conversations.iter().find(is_of) {
        return (&one.name, &one.turns, asked.assistants());
    }
    match stage.before.checked_sub(1) {
        None => ("main", &model.turns, asked.assistants()),
        Some(at) => {
            let step = model.steps.get(at);
            let (name, turns) = step.map_or(("main", &[][..]), |step| (&step.name, &step.turns));
            (name, turns, asked.assistants_since(&stage.prompt))
        }
    }
}

/// Describes a request without an answer, and the script.
pub(crate) fn complaint(
    model: &Model,
    request: &str,
    asked: &ModelRequest,
    stage: &RunStage,
) -> String {
    let (conversation, _, answered) = conversation(model, asked, stage);
    let mut text = format!(
        "{request}, model {}, {}, conversation `{conversation}`\n  \
         asked: {}\n  scripted:",
        asked.model,
        plural(answered, "assistant message"),
        clip(&asked.last_user, 200),
    );
    for (name, turns) in model.all_turns() {
        text.push_str(&format!(" `{name}` with {},", plural(turns.len(), "turn")));
    }
    let times = model.spares.iter().map(|spare| spare.times.get());
    let spares = times.fold(0, usize::saturating_add);
    text + &format!(" {spares} spare")
}

/// The parts of a Messages API request that the script uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ModelRequest {
    /// The name of the model, which the answer repeats.
    pub(crate) model: String,
    /// True if the request asks for a streamed answer.
    pub(crate) stream: bool,
    /// The system prompt.
    pub(crate) system: String,
    /// The text of the first user message; it identifies the conversation.
    pub(crate) first_user: String,
    /// The last text of a user message, without the CLI's reminders.
    pub(crate) last_user: String,
    /// The messages, oldest first.
    pub(crate) messages: Vec<ModelMessage>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelMessage {
    /// True if the model wrote it.
    pub(crate) by_model: bool,
    /// Its texts, one per line.
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct RequestBody {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    system: Value,
    messages: Vec<RequestMessage>,
}

#[derive(Deserialize)]
struct RequestMessage {
    role: String,
    content: Value,
}

impl ModelRequest {
    /// Reads the body of a request; as an error, the reason why the body is invalid.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let body: RequestBody = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let mut asked = Self {
            model: body.model,
            stream: body.stream,
            system: texts(&body.system).concat(),
            ..Self::default()
        };
        let mut users = 0;
        for message in &body.messages {
            let texts = texts(&message.content);
            if message.role == "user" {
                users += 1;
                if users == 1 {
                    asked.first_user = texts.join("\n");
                }
                let text = texts.iter().rfind(|text| !text.starts_with("<system-reminder>"));
                if let Some(text) = text {
                    asked.last_user = (*text).to_owned();
                }
            }
            let by_model = message.role == "assistant";
            asked.messages.push(ModelMessage { by_model, text: texts.join("\n") });
        }
        Ok(asked)
    }

    /// Returns the number of assistant messages after the last user message that contains `prompt`, or of
    /// all assistant messages if no message contains it.
    fn assistants_since(&self, prompt: &str) -> usize {
        let has_prompt =
            |message: &ModelMessage| !message.by_model && message.text.contains(prompt);
        let from = self.messages.iter().rposition(has_prompt).unwrap_or(0);
        self.messages[from..].iter().filter(|message| message.by_model).count()
    }

    /// Returns the number of assistant messages.
    fn assistants(&self) -> usize {
        self.messages.iter().filter(|message| message.by_model).count()
    }

    /// Returns whether a message contains `text`.
    fn contains(&self, text: &str) -> bool {
        self.messages.iter().any(|message| message.text.contains(text))
    }
}

/// Returns the texts of a message's content, including those in tool results.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().flat_map(texts).collect(),
        Value::Object(block) => {
            ["text", "content"].iter().filter_map(|key| block.get(*key)).flat_map(texts).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the start of a text as one line of at most `columns` columns.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate(&line, columns, Keep::Start).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "
        [[turn]]
        block = [{ text = 'main 1' }]
        [[turn]]
        block = [{ text = 'main 2' }]
        [[conversation]]
        name = 'sub'
        marker = 'SUB'
        turn = [{ block = [{ text = 'sub 1' }] }]
        [[spare]]
        text = 'more'
        times = 2
        [[spare]]
        text = 'last'
        [[side]]
        contains = 'TITLE'
        text = 'a title'";

    fn asked(assistants: usize, first: &str, last: &str, system: &str) -> ModelRequest {
        let spoken = |by_model, text: &str| ModelMessage { by_model, text: text.into() };
        let mut messages = vec![spoken(false, first)];
        messages.extend(std::iter::repeat_n(spoken(true, ""), assistants));
        messages.push(spoken(false, last));
        ModelRequest {
            system: system.into(),
            first_user: first.into(),
            last_user: last.into(),
            messages,
            ..ModelRequest::default()
        }
    }

    #[test]
    fn a_request_gets_the_turn_its_content_asks_for() {
        let model: Model = toml::from_str(MODEL).unwrap();
        let prefix = "Your task is to process Bash commands that an AI …";
        for (request, expect) in [
            (asked(0, "hi", "hi", ""), "main 1: main 1"),
            (asked(1, "hi", "SUB", ""), "main 2: main 2"),
            (asked(0, "do SUB now", "", ""), "sub 1: sub 1"),
            (asked(1, "SUB", "", ""), "sub 2: more"),
            (asked(2, "hi", "", ""), "main 3: more"),
            (asked(3, "hi", "", ""), "main 4: more"),
            (asked(4, "hi", "", ""), "main 5: last"),
            (asked(5, "hi", "", ""), "nothing"),
            (asked(0, "hi", "", "a TITLE"), "side 1: a title"),
            (asked(9, "hi", "TITLE", ""), "side 1: a title"),
            (asked(0, "hi", "", prefix), "side 2: none"),
            (asked(0, prefix, "", ""), "main 1: main 1"),
            (asked(0, "hi", "Warmup", ""), "side 7: Ready."),
        ] {
            assert_eq!(found(&model, &request, &RunStage::default()), expect, "{request:?}");
        }
    }

    fn found(model: &Model, request: &ModelRequest, stage: &RunStage) -> String {
        choose(model, request, stage, &mut Attempts::new()).map_or("nothing".into(), |answer| {
            let text = answer.turn.blocks[0].content.pieces().joined();
            format!("{} {}: {text}", answer.conversation, answer.number)
        })
    }

    #[test]
    fn a_further_run_has_turns_of_its_own() {
        let text = format!("{MODEL}\n[[step]]\nturn = [{{ block = [{{ text = 'again 1' }}] }}]");
        let model: Model = toml::from_str(&text).unwrap();
        let mut request = asked(3, "hi", "Go on.", "");
        let mut stage = RunStage { before: 1, prompt: "Go on.".into() };
        assert_eq!(found(&model, &request, &stage), "run2 1: again 1");
        request.messages.push(ModelMessage { by_model: true, text: String::new() });
        assert_eq!(found(&model, &request, &stage), "run2 2: more");
        request.first_user = "SUB".into();
        assert_eq!(found(&model, &request, &stage), "nothing");
        stage.before = 2;
        let text = complaint(&model, "POST /", &asked(0, "hi", "Go on.", ""), &stage);
        assert!(text.contains("0 assistant messages, conversation `main`"), "{text}");
        assert!(text.contains("`run2` with 1 turn"), "{text}");
    }

    #[test]
    fn a_turn_counts_its_own_requests() {
        let model: Model = toml::from_str(
            "[[turn]]
             block = []
             failure = [{ status = 529, type = 'overloaded_error', message = '' }]
             [[turn]]
             block = []
             failure = [{ status = 500, type = 'api_error', message = '', times = 2 }]
             [[side]]
             contains = 'TITLE'
             text = ''",
        )
        .unwrap();
        let mut attempts = Attempts::new();
        let mut ask = |assistants, system| {
            let request = asked(assistants, "", "", system);
            let answer = choose(&model, &request, &RunStage::default(), &mut attempts).unwrap();
            (answer.failure.is_some(), answer.failed)
        };
        assert_eq!(ask(1, ""), (true, 0));
        assert_eq!(ask(0, ""), (true, 0));
        assert_eq!(ask(0, "TITLE"), (false, 0));
        assert_eq!(ask(0, ""), (false, 1));
        assert_eq!(ask(1, ""), (true, 1));
        assert_eq!(ask(1, ""), (false, 2));
        assert_eq!(ask(1, ""), (false, 2));
    }

    #[test]
    fn a_request_without_an_answer_is_told() {
        let model: Model = toml::from_str(MODEL).unwrap();
        let request =
            ModelRequest { model: "claude-x".into(), ..asked(7, "a SUB b", "and\nnow?", "") };
        assert_eq!(
            complaint(&model, "POST /v1/messages?beta=true", &request, &RunStage::default()),
            "POST /v1/messages?beta=true, model claude-x, 7 assistant messages, conversation `sub`\n  \
             asked: and now?\n  \
             scripted: `main` with 2 turns, `sub` with 1 turn, 3 spare"
        );
    }

    #[test]
    fn a_request_is_told_by_its_texts() {
        let body = br#"{"model":"m","max_tokens":9,"system":[{"type":"text","text":"S1"},{"type":"text","text":"S2"}],
            "messages":[
            {"role":"user","content":[{"type":"text","text":"<system-reminder>r"},{"type":"text","text":"Go MARK"}]},
            {"role":"system","content":"env"},
            {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"content":"no"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"out"}]},
                {"type":"text","text":"<system-reminder>late"}]}]}"#;
        let expect = ModelRequest {
            model: "m".into(),
            stream: false,
            system: "S1S2".into(),
            first_user: "<system-reminder>r\nGo MARK".into(),
            last_user: "out".into(),
            messages: [
                (false, "<system-reminder>r\nGo MARK"),
                (false, "env"),
                (true, ""),
                (false, "out\n<system-reminder>late"),
            ]
            .map(|(by_model, text)| ModelMessage { by_model, text: text.into() })
            .to_vec(),
        };
        let asked = ModelRequest::parse(body).unwrap();
        assert_eq!(asked, expect);
        assert!(asked.contains("MARK") && !asked.contains("MARK\nenv"));
        let since = |prompt| asked.assistants_since(prompt);
        assert_eq!((asked.assistants(), since("MARK"), since("late"), since("?")), (1, 1, 0, 1));
        assert_eq!(
            ModelRequest::parse(b"{}").unwrap_err(),
            "missing field `messages` at line 1 column 2"
        );
    }

    #[test]
    fn a_long_question_is_clipped_to_a_line() {
        assert_eq!(clip(" a\n\tb ", 9), "a b");
        assert_eq!(clip("éééé", 3), "éé…");
    }
}
