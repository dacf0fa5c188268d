//! The person in the chat, who gives each answer of the recording: with the buttons that the chat shows, or with a
//! reply where no button says it (Q2).
//!
//! The host that was recorded has written the answer, and the replay goes on with its line. At that moment this module
//! presses or replies as well, and compares what the gateway makes of it with the line. Where the chat shows no button
//! of the question, because its server refused it or the answer is late, there is nothing to press. Options are not
//! chosen, because each choice changes the message of its question.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clitape_gateway::question::{Answer, OpenQuestions, Press, PressedButton, QuestionTimes};
use clitape_gateway::telegram::{Button, Keyboard, Pressing};
use clitape_recording::wire::{PermissionAnswer, PermissionDecision, WireLine};
use clitape_stream::Event;
use serde_json::Value;

/// What the model reads when a person denies a call and gives no reason.
const DENIED: &str = "The person said no.";

/// The turns whose keyboards are kept. A question that is still open when its turn ends is asked again in the next one.
const KEYBOARDS: usize = 64;

/// The keyboards of the last turns; a clone has the same ones.
#[derive(Clone, Default)]
pub(super) struct Keyboards(Arc<Mutex<VecDeque<Keyboard>>>);

impl Keyboards {
    pub(super) fn add(&self, keyboard: Keyboard) {
        let mut keyboards = self.lock();
        if keyboards.len() == KEYBOARDS {
            keyboards.pop_front();
        }
        keyboards.push_back(keyboard);
    }

    /// Hands an action to the keyboard of each turn until one of them knows it.
    fn take(&self, act: impl Fn(&Keyboard) -> Pressing) -> Pressing {
        let pressings = self.lock().iter().map(act).find(|taken| *taken != Pressing::Unknown);
        pressings.unwrap_or(Pressing::Unknown)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Keyboard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message of a question as the chat shows it.
#[derive(Debug, Clone)]
pub(super) struct AskingMessage {
    pub(super) id: i64,
    /// The buttons, one row after the other.
    pub(super) buttons: Vec<Button>,
}

/// What the person does with a message.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    Press(Button),
    Reply(String),
}

/// Gives the recorded answers, and notes what comes of it.
pub(super) struct Person {
    keyboards: Keyboards,
    questions: OpenQuestions,
    /// The input of each question.
    inputs: HashMap<String, Value>,
    /// A sentence for each answer that came out as another one.
    pub(super) misunderstood: Vec<String>,
}

impl Person {
    pub(super) fn new(keyboards: Keyboards) -> Self {
        let questions = OpenQuestions::new(QuestionTimes::default());
        Self { keyboards, questions, inputs: HashMap::new(), misunderstood: Vec::new() }
    }

    /// Takes the parser's next event.
    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        if let Event::Question { id, input, .. } = event {
            self.inputs.insert(id.to_string(), input.value());
        }
        self.questions.on_event(event);
    }

    /// Gives the answer of a line of the host, if it is one. `shown` are the messages of a question that have buttons.
    pub(super) fn answer(&mut self, line: &[u8], shown: impl Fn(&str) -> Vec<AskingMessage>) {
        if self.questions.ids().next().is_none() {
            return;
        }
        let Some((id, recorded)) = permission(line) else { return };
        let id = id.as_str();
        let messages = shown(id);
        if messages.is_empty() || self.questions.ids().all(|open| open != id) {
            return;
        }
        let input = self.inputs.get(id);
        let Some((message, deed)) = input.and_then(|input| deed(&recorded, input, &messages))
        else {
            return;
        };
        if let Err(what) = self.perform(id, message, &deed, &recorded) {
            self.misunderstood.push(format!("question {id}: {what}"));
        }
    }

    /// Does what the person does with a message. An error says how the answer is not the one that was `recorded`.
    fn perform(
        &mut self,
        id: &str,
        message: i64,
        deed: &Deed,
        recorded: &PermissionAnswer,
    ) -> Result<(), String> {
        let taken = match deed {
            Deed::Press(Button { text, data }) => {
                let press = Press::parse(data)
                    .ok_or_else(|| format!("nobody can read what “{text}” means: {data}"))?;
                self.keyboards.take(|keyboard| keyboard.press(&press))
            }
            Deed::Reply(text) => self.keyboards.take(|keyboard| keyboard.reply(message, text)),
        };
        let (question, answer): (String, Answer) = match taken {
            Pressing::Answer { question, answer } => (question, answer),
            Pressing::Unknown => return Err("its message is of no open question".to_owned()),
            _ => return Err("what the person says is no answer".to_owned()),
        };
        if question != id {
            return Err(format!("what the person says answers question {question}"));
        }
        let line = self.questions.answer(&question, &answer).map_err(|error| error.to_string())?;
        match permission(line.as_bytes()) {
            Some((_, written)) if written == *recorded => Ok(()),
            Some((_, written)) => {
                Err(format!("the person answers {recorded}, and the CLI reads {written}"))
            }
            None => Err(format!("the line for the CLI is no answer: {line}")),
        }
    }
}

/// Returns the answer to a permission question in a line, with the id of the question. It has no id of its call, which
/// only some hosts write.
fn permission(line: &[u8]) -> Option<(String, PermissionAnswer)> {
    let WireLine::Response(response) = WireLine::read(line)? else { return None };
    let answer = response.permission()?;
    Some((response.request_id, PermissionAnswer { tool_use_id: None, ..answer }))
}

/// What a person does to give the answer `recorded`, and with which message; none where the chat has no one way to say
/// it, because the host changed the input or stopped the turn.
fn deed(
    recorded: &PermissionAnswer,
    input: &Value,
    messages: &[AskingMessage],
) -> Option<(i64, Deed)> {
    let first = messages.first()?;
    if input.get("questions").is_some() {
        return None;
    }
    let deed = match &recorded.decision {
        PermissionDecision::Deny { interrupt: false, message: Some(words) } if words != DENIED => {
            Deed::Reply(words.clone())
        }
        PermissionDecision::Deny { interrupt: false, .. } => {
            Deed::Press(button(first, PressedButton::Deny)?)
        }
        PermissionDecision::Allow { updated_input: Some(updated), updated_permissions: None }
            if updated.value() == *input =>
        {
            Deed::Press(button(first, PressedButton::Allow)?)
        }
        _ => return None,
    };
    Some((first.id, deed))
}

/// The button of a message that says `meaning` to a person.
fn button(message: &AskingMessage, meaning: PressedButton) -> Option<Button> {
    let word = if meaning == PressedButton::Allow { "Allow" } else { "Deny" };
    message.buttons.iter().find(|button| button.text.ends_with(word)).cloned()
}
