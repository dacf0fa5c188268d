//! The chat of a replay: its server, and the person who gives the recorded answers.
//!
//! The server takes the calls of the Bot API, writes them down, and answers as the plan's faults say. The person gives
//! each answer of the recording with the buttons that the chat shows, or with a reply where no button says it (Q2).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clitape_gateway::question::{Answer, OpenQuestions, Press, PressedButton, QuestionTimes};
use clitape_gateway::telegram::{
    BotApi, BotApiError, BotCall, Button, CallFuture, FILE_NAME, Keyboard, Pressing, SentMessage,
    SignalFuture,
};
use clitape_recording::scenario::{Fault, FaultKind};
use clitape_recording::trace::{Entry, Lane, millis};
use clitape_recording::wire::{PermissionAnswer, PermissionDecision, WireLine};
use clitape_stream::Event;
use serde_json::{Map, Value};

use super::lanes::{TraceLog, turn_field};

/// The duration of a successful call, in virtual time.
pub(crate) const LATENCY: Duration = Duration::from_millis(80);

/// A server that knows its messages. Its calls are numbered from 1, and so are its messages.
pub(super) struct ReplayChatServer {
    log: TraceLog,
    faults: Vec<Fault>,
    chat: Mutex<ChatState>,
}

#[derive(Default)]
struct ChatState {
    calls: u64,
    /// The hash of each message's text, which shows whether an edit changes the text.
    texts: BTreeMap<i64, u64>,
    /// The messages that ask a question, with its id.
    asking: BTreeMap<i64, (String, AskingMessage)>,
    /// The calls that are made and not answered, by their numbers; those that the client gave up are left out.
    under_way: BTreeMap<u64, ChatCallState>,
    /// The numbers of the calls that were made while another one was under way.
    overlapping: Vec<u64>,
}

/// The server's state of a call that is under way.
#[derive(Default)]
struct ChatCallState {
    /// Set if another call was under way at some time of this one.
    overlaps: bool,
    /// When it was done, in milliseconds since the replay began.
    done_at: Option<u64>,
}

/// The result of a call.
#[derive(Clone, Copy, PartialEq)]
struct CallOutcome {
    /// The message it is about; none when a new one is refused.
    message_id: Option<i64>,
    /// Its fault.
    fault: Option<Fault>,
}

impl CallOutcome {
    /// Returns the outcome of a call that the client has sent and that has no answer yet.
    fn sent(call: &BotCall) -> Self {
        Self { message_id: call.message_id, fault: None }
    }
}

impl ReplayChatServer {
    pub(super) fn new(log: TraceLog, faults: Vec<Fault>) -> Self {
        Self { log, faults, chat: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, ChatState> {
        self.chat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of the calls that were made while another one was under way.
    pub(super) fn overlapping_calls(&self) -> Vec<u64> {
        self.state().overlapping.clone()
    }

    /// The messages with which the question `id` waits for an answer, in order. There are none while a call is under
    /// way, which may be about to change one of them, and none where calls go wrong.
    pub(super) fn asking(&self, id: &str) -> Vec<AskingMessage> {
        let chat = self.state();
        if !chat.under_way.is_empty() || !self.faults.is_empty() {
            return Vec::new();
        }
        let asking = chat
            .asking
            .values()
            .filter(|(question, message)| question == id && !message.buttons.is_empty());
        asking.map(|(_, message)| message.clone()).collect()
    }

    /// Takes a call, and returns its number and its fault.
    fn take(&self, call: &BotCall) -> (u64, Option<Fault>) {
        let mut chat = self.state();
        chat.calls += 1;
        let number = chat.calls;
        let overlaps = !chat.under_way.is_empty();
        if overlaps {
            chat.overlapping.push(number);
            chat.under_way.values_mut().for_each(|other| other.overlaps = true);
        }
        chat.under_way.insert(number, ChatCallState { overlaps, done_at: None });
        let fault = self.faults.iter().find(|fault| fault.call == number).copied();
        // The server never answers "not modified" to a new message.
        let is_possible =
            |fault: &Fault| call.message_id.is_some() || fault.kind != FaultKind::NotModified;
        (number, fault.filter(is_possible))
    }

    /// Does the call with this number, unless it is refused.
    fn apply(&self, number: u64, call: &BotCall, fault: Option<Fault>) -> CallOutcome {
        let mut chat = self.state();
        if let Some(state) = chat.under_way.get_mut(&number) {
            state.done_at = Some(self.log.now());
        }
        if fault.is_some_and(is_refusal) {
            return CallOutcome { message_id: call.message_id, fault };
        }
        let id = call.message_id.unwrap_or(chat.texts.len() as i64 + 1);
        let text = BuildHasherDefault::<DefaultHasher>::default().hash_one(&call.text);
        let before = chat.texts.insert(id, text);
        if let Some(question) = &call.question {
            let buttons = call.buttons.iter().flatten().cloned().collect();
            chat.asking.insert(id, (question.clone(), AskingMessage { id, buttons }));
        }
        let same = (before == Some(text)).then_some(Fault {
            call: number,
            kind: FaultKind::NotModified,
            amount: 0,
        });
        CallOutcome { message_id: Some(id), fault: fault.or(same) }
    }
}

/// A call that is under way until this is dropped: when it is answered, or when the client gives it up.
///
/// The server does it half-way, so that calls that overlap are done in the order in which they get there, which may
/// be another one than that in which they were made. One that the client gives up before is done then.
struct CallUnderWay {
    server: Arc<ReplayChatServer>,
    call: BotCall,
    turn: u64,
    number: u64,
    /// The index of its entry, which says at first only what the client sent.
    entry: usize,
    fault: Option<Fault>,
    outcome: Option<CallOutcome>,
}

impl CallUnderWay {
    /// Makes a call in `turn`, and writes its entry.
    fn make(server: Arc<ReplayChatServer>, call: BotCall, turn: u64) -> Self {
        let (number, fault) = server.take(&call);
        let mut data = call_data(&call, CallOutcome::sent(&call));
        data.extend(turn_field(turn));
        let entry = server.log.add_open(Lane::Telegram, call.method.as_str(), data);
        Self { server, call, turn, number, entry, fault, outcome: None }
    }

    /// Waits for the moment at which the server does the call, and then for that of its answer.
    async fn outcome(&mut self) -> CallOutcome {
        let is_of = |kind| self.fault.filter(|fault| fault.kind == kind);
        let time =
            is_of(FaultKind::Slow).map_or(LATENCY, |fault| Duration::from_millis(fault.amount));
        let is_answered = is_of(FaultKind::Hang).is_none();
        let half = time / 2;
        tokio::time::sleep(half).await;
        let outcome = self.apply();
        if is_answered {
            tokio::time::sleep(time.saturating_sub(half)).await;
        } else {
            std::future::pending::<()>().await;
        }
        outcome
    }

    /// Has the server do the call, unless it is done, and completes its entry.
    fn apply(&mut self) -> CallOutcome {
        if let Some(outcome) = self.outcome {
            return outcome;
        }
        let outcome = self.server.apply(self.number, &self.call, self.fault);
        self.outcome = Some(outcome);
        if outcome != CallOutcome::sent(&self.call) {
            let mut data = call_data(&self.call, outcome);
            data.extend(turn_field(self.turn));
            self.server.log.change(self.entry, |entry| *entry = data);
        }
        outcome
    }
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        self.apply();
        let state = self.server.state().under_way.remove(&self.number);
        let overlapping = state.filter(|state| state.overlaps);
        if let Some(at) = overlapping.and_then(|state| state.done_at) {
            self.server.log.change(self.entry, |entry| {
                entry.insert("done_at".into(), at.into());
            });
        }
        self.server.log.close(self.entry);
    }
}

/// Returns whether the server refuses the call and changes no message.
fn is_refusal(fault: Fault) -> bool {
    matches!(fault.kind, FaultKind::RateLimit | FaultKind::ServerError)
}

/// The entry of a call that a real server took, `after` the replay began.
pub fn call_entry(after: Duration, call: &BotCall, message_id: i64) -> Entry {
    let outcome = CallOutcome { message_id: Some(message_id), fault: None };
    Entry::new(millis(after), Lane::Telegram, call.method.as_str(), call_data(call, outcome))
}

/// The data of a call's entry.
fn call_data(call: &BotCall, outcome: CallOutcome) -> Map<String, Value> {
    let mut data = Map::new();
    if let Some(id) = outcome.message_id {
        data.insert("message_id".into(), id.into());
    }
    data.insert("text".into(), call.text.as_str().into());
    data.insert("parse_mode".into(), "HTML".into());
    if call.is_final {
        data.insert("final".into(), true.into());
    }
    if let Some(question) = &call.question {
        data.insert("question".into(), question.as_str().into());
    }
    if let Some(content) = &call.file {
        data.insert("file".into(), FILE_NAME.into());
        data.insert("content".into(), content.as_str().into());
    }
    if !call.buttons.is_empty() {
        let row = |row: &Vec<Button>| row.iter().map(|button| button.text.clone()).collect();
        data.insert("buttons".into(), call.buttons.iter().map(row).collect::<Vec<Value>>().into());
    }
    if let Some(fault) = outcome.fault {
        data.insert("answer".into(), fault.answer().into());
        if is_refusal(fault) {
            data.insert("shown".into(), false.into());
        }
    }
    data
}

/// The chat's server as the channel of one turn reaches it.
pub(super) struct TurnChat {
    server: Arc<ReplayChatServer>,
    turn: u64,
}

impl TurnChat {
    pub(super) fn new(server: Arc<ReplayChatServer>, turn: u64) -> Self {
        Self { server, turn }
    }
}

impl BotApi for TurnChat {
    fn typing(&self) -> SignalFuture<'_> {
        let mut data = Map::new();
        data.insert("action".into(), "typing".into());
        data.extend(turn_field(self.turn));
        self.server.log.add(Lane::Telegram, "sendChatAction", data);
        Box::pin(async {
            tokio::time::sleep(LATENCY).await;
            Ok(())
        })
    }

    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn call(&self, call: BotCall) -> CallFuture<'_> {
        let mut under_way = CallUnderWay::make(self.server.clone(), call, self.turn);
        Box::pin(async move {
            let outcome = under_way.outcome().await;
            let (kind, amount) =
                outcome.fault.map_or((None, 0), |fault| (Some(fault.kind), fault.amount));
            match kind {
                Some(FaultKind::RateLimit) => Err(BotApiError::RetryAfter { seconds: amount }),
                Some(FaultKind::NotModified) => Err(BotApiError::NotModified),
                Some(FaultKind::ServerError) => {
                    Err(BotApiError::Network("Internal Server Error".to_owned()))
                }
                Some(FaultKind::LostReply) => {
                    Err(BotApiError::Lost("the connection was closed".to_owned()))
                }
                None | Some(FaultKind::Slow | FaultKind::Hang) => {
                    let message_id =
                        outcome.message_id.expect("only a refused call has no message");
                    Ok(SentMessage { message_id })
                }
            }
        })
    }
}

/// The text that the model reads when a person denies a call and gives no reason.
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
    id: i64,
    /// The buttons, one row after the other.
    buttons: Vec<Button>,
}

/// The person's action at a message.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    Press(Button),
    Reply(String),
}

/// Gives the recorded answers, and notes what comes of it.
///
/// The host that was recorded has written the answer, and the replay goes on with its line. At that moment the person
/// presses or replies as well, and what the gateway makes of it is compared with the line. Where the chat shows no
/// button of the question, because its server refused it or the answer is late, the person presses none. Options are
/// not chosen, because each choice changes the message of its question.
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

/// Returns the person's action that gives the answer `recorded`, with the id of its message; `None` if the chat has no
/// unique way to give it, because the host changed the input or stopped the turn.
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

#[cfg(test)]
mod tests {
    use clitape_gateway::telegram::BotMethod;
    use clitape_recording::chat::ChatView;
    use futures_util::future::join;
    use tokio::time::{sleep, timeout};

    use super::super::driver::in_virtual_time;
    use super::*;

    /// A call that sends `text` as a new message, or edits the message with this number.
    fn call(message_id: Option<i64>, text: &str) -> BotCall {
        let method = match message_id {
            None => BotMethod::SendMessage,
            Some(_) => BotMethod::EditMessageText,
        };
        let (file, buttons, question) = (None, Vec::new(), None);
        let text = text.to_owned();
        BotCall {
            method,
            message_id,
            text,
            file,
            reply_to: None,
            buttons,
            question,
            is_final: false,
        }
    }

    /// Makes the calls of `script` in a chat with `faults`; compares what a person ends up reading, and the moments
    /// that the entries name.
    fn check<F: Future<Output = ()>>(
        faults: &[&str],
        script: impl FnOnce(TurnChat) -> F,
        seen: &[&str],
        done_at: &[Option<u64>],
    ) {
        let entries = in_virtual_time(async {
            let log = TraceLog::new();
            let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
            let server = Arc::new(ReplayChatServer::new(log.clone(), faults));
            script(TurnChat::new(server, 1)).await;
            log.take()
        });
        assert_eq!(ChatView::after(&entries).final_text(), seen, "{faults:?}");
        let done = |entry: &Entry| entry.field("done_at").and_then(Value::as_u64);
        assert_eq!(entries.iter().map(done).collect::<Vec<_>>(), done_at, "{faults:?}");
    }

    /// Sends a message, and edits it twice at nearly the same time.
    async fn two_edits(chat: TurnChat) {
        chat.call(call(None, "a")).await.unwrap();
        let late = async {
            sleep(Duration::from_millis(50)).await;
            chat.call(call(Some(1), "c")).await.unwrap();
        };
        join(chat.call(call(Some(1), "b")), late).await.0.unwrap();
    }

    /// Sends a message, and edits it when the answer is there.
    async fn one_by_one(chat: TurnChat) {
        chat.call(call(None, "a")).await.unwrap();
        chat.call(call(Some(1), "b")).await.unwrap();
    }

    /// Sends a message, gives it up after 10 ms, and edits it.
    async fn given_up(chat: TurnChat) {
        let limit = Duration::from_millis(10);
        assert!(timeout(limit, chat.call(call(None, "a"))).await.is_err());
        chat.call(call(Some(1), "b")).await.unwrap();
    }

    async fn refused(chat: TurnChat) {
        assert!(chat.call(call(None, "a")).await.is_err());
    }

    #[test]
    fn calls_that_overlap_are_done_in_the_order_in_which_they_get_there() {
        check(&[], two_edits, &["c"], &[None, Some(120), Some(170)]);
        check(&["2:slow:700ms"], two_edits, &["b"], &[None, Some(430), Some(170)]);
        check(&["1:slow:700ms"], one_by_one, &["b"], &[None, None]);
    }

    #[test]
    fn a_call_that_is_given_up_is_done_all_the_same() {
        check(&["1:hang"], given_up, &["b"], &[None, None]);
        check(&["1:slow:700ms"], given_up, &["b"], &[None, None]);
        check(&["1:server-error"], refused, &[], &[None]);
    }
}
