//! The questions of a run in a chat: a message with buttons for each, sent at once, and edited into
//! the decision ([Q2](crate::rules::Q2), [Q3](crate::rules::Q3)).
//!
//! One task owns these messages, as another one owns the draft; the caller lets one call of both
//! through at a time. A question is not held back by the draft's throttle. Whatever the server does, it
//! is sent until it is there: a 429 is waited out, and a call that failed is made again.
//!
//! If the answer to a new message is lost, the message may be there with its buttons, and its number is
//! unknown. So it is sent once more, and not a third time. The buttons of both do the same, but
//! only the second message loses them when the question is closed; a press on the first is answered with
//! "too late".
//!
//! A part that doesn't fit the message goes ahead of it, message by message, each sent when the one before it is there.
//! The buttons come last, and not at all where a part was refused.

mod message;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::api::{BotApiError, BotCall, BotMethod, backoff, pause};
use super::caller::Caller;
use super::draft::method;
use crate::bridge::Task;
use crate::bus::lock;
use crate::profile::Profile;
use crate::question::{
    Answer, Chosen, Closing, Press, PressedButton, Question, QuestionClosed, QuestionKind,
    QuestionWaits,
};
use message::{AskedMessage, QuestionFace};

/// New messages of one question whose answer may be lost.
const LOST_LIMIT: u32 = 2;
/// The number of times that a failing call is made once the run is over (V6).
const TRIES: u32 = 5;

/// The questions of a run, and the task that shows them.
#[derive(Debug)]
pub(super) struct QuestionBoard {
    keyboard: Keyboard,
    caller: Arc<Caller>,
    task: Option<Task<()>>,
}

/// The buttons and replies of a chat's questions. Clones are handles to the same questions.
#[derive(Debug, Clone)]
pub struct Keyboard {
    profile: &'static Profile,
    messages: Arc<Mutex<Vec<PostedMessage>>>,
    signal: Arc<watch::Sender<BoardState>>,
}

/// The state of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoardState {
    Open,
    /// The run is over since then: the messages that are left are shown, and then the board ends.
    Ending(Instant),
}

/// The result of a press or of a reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Pressing {
    /// The message changes; the question waits for more.
    Shown,
    /// The question has its answer: give it to [`Conversation::answer`](crate::Conversation::answer).
    Answer {
        /// Id of the question.
        question: String,
        /// The answer.
        answer: Answer,
    },
    /// It belongs to no question of this run that is open.
    Unknown,
}

impl QuestionBoard {
    pub(super) fn new(profile: &'static Profile, caller: Arc<Caller>) -> Self {
        let signal = Arc::new(watch::channel(BoardState::Open).0);
        let keyboard = Keyboard { profile, messages: Arc::default(), signal };
        Self { keyboard, caller, task: None }
    }

    pub(super) fn keyboard(&self) -> Keyboard {
        self.keyboard.clone()
    }

    /// Shows a question.
    pub(super) fn ask(&mut self, question: &Question) {
        let parts = match &question.kind {
            QuestionKind::Choices(choices) => choices.len(),
            QuestionKind::Permission { .. } => 1,
        };
        let profile = self.keyboard.profile;
        let message = |part| PostedMessage::new(AskedMessage::new(question, part, profile));
        let messages = (0..parts).map(message);
        lock(&self.keyboard.messages).extend(messages);
        let (keyboard, caller) = (&self.keyboard, &self.caller);
        self.task.get_or_insert_with(|| Task::spawn(show(keyboard.clone(), caller.clone())));
        self.keyboard.wake();
    }

    /// Says that a question has waited.
    pub(super) fn remind(&self, waits: &QuestionWaits) {
        self.change(&waits.id, |asked| asked.waits = Some(waits.clone()));
    }

    /// Says what became of a question. An error says why it was never shown.
    pub(super) fn close(&self, closed: &QuestionClosed) -> Result<(), String> {
        self.change(&closed.id, |asked| asked.closed = Some(closed.clone()));
        let messages = lock(&self.keyboard.messages);
        let mut own = messages.iter().filter(|posted| posted.asked.question.id == closed.id);
        let why = |posted: &PostedMessage| {
            let given_up = posted.given_up.as_ref().filter(|_| posted.shown.is_none());
            given_up.or(posted.asked.unshown.as_ref()).cloned()
        };
        match own.find_map(why) {
            Some(why) => Err(format!("the question `{}` was not shown: {why}", closed.id)),
            None => Ok(()),
        }
    }

    fn change(&self, id: &str, change: impl Fn(&mut AskedMessage)) {
        let mut messages = lock(&self.keyboard.messages);
        let is_it = |posted: &&mut PostedMessage| {
            posted.asked.question.id == id && posted.asked.closed.is_none()
        };
        messages.iter_mut().filter(is_it).for_each(|posted| {
            change(&mut posted.asked);
            posted.may_differ = true;
        });
        drop(messages);
        self.keyboard.wake();
    }

    /// Shows the messages that are left, and ends the board.
    pub(super) async fn end(&mut self) {
        let Some(task) = self.task.take() else { return };
        self.keyboard.signal.send_replace(BoardState::Ending(Instant::now()));
        // The task does not panic, and its end is all that is waited for.
        let _ = task.join().await;
    }
}

impl Keyboard {
    fn wake(&self) {
        self.signal.send_modify(|_| {});
    }

    /// Takes the press of a button. An option is marked, or chosen; a question with several parts has
    /// its answer when each part has.
    pub fn press(&self, press: &Press) -> Pressing {
        let part = match press.button {
            PressedButton::Option { choice, .. } | PressedButton::Done { choice } => choice,
            _ => 0,
        };
        self.act(
            |posted| {
                let asked = &posted.asked;
                press.is_for(&asked.question.id) && asked.part == part && posted.has_buttons()
            },
            |asked| pressed(asked, press.button),
        )
    }

    /// Takes a reply to the message `message_id`, or to one that went ahead of it: the answer to a
    /// choice in the person's own words, or a no with instructions.
    pub fn reply(&self, message_id: i64, text: &str) -> Pressing {
        self.act(
            |posted| posted.message_id == Some(message_id) || posted.ahead.contains(&message_id),
            |asked| match asked.choice() {
                Some(_) if text.trim().is_empty() => Pressed::Nothing,
                Some(_) => Pressed::Chosen(Chosen::Text(text.trim().to_owned())),
                None => Pressed::Answer(Answer::deny(text.trim())),
            },
        )
    }

    fn act(
        &self,
        is_it: impl Fn(&PostedMessage) -> bool,
        act: impl FnOnce(&mut AskedMessage) -> Pressed,
    ) -> Pressing {
        let mut messages = lock(&self.messages);
        let is_open =
            |posted: &PostedMessage| posted.asked.closed.is_none() && posted.asked.chosen.is_none();
        let Some(posted) = messages.iter_mut().find(|posted| is_it(posted) && is_open(posted))
        else {
            return Pressing::Unknown;
        };
        let id = posted.asked.question.id.clone();
        posted.may_differ = true;
        let pressing = match act(&mut posted.asked) {
            Pressed::Nothing => Pressing::Shown,
            Pressed::Answer(answer) => Pressing::Answer { question: id, answer },
            Pressed::Chosen(chosen) => {
                posted.asked.chosen = Some(chosen);
                let parts = messages.iter().filter(|posted| posted.asked.question.id == id);
                let chosen: Option<Vec<Chosen>> =
                    parts.map(|posted| posted.asked.chosen.clone()).collect();
                match chosen {
                    Some(chosen) => {
                        Pressing::Answer { question: id, answer: Answer::Choose(chosen) }
                    }
                    None => Pressing::Shown,
                }
            }
        };
        drop(messages);
        self.wake();
        pressing
    }

    /// The call of the first message that has something to show.
    fn next(&self) -> Option<DueCall> {
        let mut messages = lock(&self.messages);
        let mut changed = messages.iter_mut().enumerate().filter(|(_, posted)| posted.may_differ);
        changed.find_map(|(index, posted)| {
            let question = posted.asked.question.id.clone();
            let ahead = Some(posted.ahead.len()).filter(|_| !posted.is_next());
            let ahead = ahead.and_then(|number| posted.asked.face_ahead(number, self.profile));
            if let Some(face) = ahead.filter(|_| posted.given_up.is_none()) {
                return Some(DueCall { index, message_id: None, face, question, is_ahead: true });
            }
            let face = posted.asked.face(self.profile);
            posted.may_differ = posted.shown.as_ref() != Some(&face);
            let message_id = posted.message_id;
            let call = DueCall { index, message_id, face, question, is_ahead: false };
            posted.is_due(&call.face).then_some(call)
        })
    }

    /// Writes down what became of a call; how long to wait before the next one.
    fn settle(
        &self,
        call: DueCall,
        submitted: Result<i64, BotApiError>,
        is_ending: bool,
    ) -> Option<Duration> {
        lock(&self.messages).get_mut(call.index)?.settle(call, submitted, is_ending)
    }

    fn give_up(&self, why: &str) {
        for posted in lock(&self.messages).iter_mut() {
            posted.given_up.get_or_insert_with(|| why.to_owned());
        }
    }
}

/// The effect of a press on its message.
enum Pressed {
    Nothing,
    Answer(Answer),
    Chosen(Chosen),
}

fn pressed(asked: &mut AskedMessage, button: PressedButton) -> Pressed {
    let is_multi = asked.choice().map(|choice| choice.multi_select);
    match (button, is_multi) {
        (PressedButton::Allow, None) => Pressed::Answer(Answer::allow()),
        (PressedButton::Deny, None) => Pressed::Answer(Answer::deny("")),
        (PressedButton::Suggestion(index), None) => Pressed::Answer(Answer::allow_with(index)),
        (PressedButton::Option { option, .. }, Some(false)) => {
            Pressed::Chosen(Chosen::Options(vec![option]))
        }
        (PressedButton::Option { option, .. }, Some(true)) => {
            match asked.marked.iter().position(|marked| *marked == option) {
                Some(place) => drop(asked.marked.remove(place)),
                None => asked.marked.push(option),
            }
            asked.marked.sort_unstable();
            Pressed::Nothing
        }
        (PressedButton::Done { .. }, Some(true)) if !asked.marked.is_empty() => {
            Pressed::Chosen(Chosen::Options(asked.marked.clone()))
        }
        _ => Pressed::Nothing,
    }
}

/// Shows the questions of `keyboard` until they end.
async fn show(keyboard: Keyboard, caller: Arc<Caller>) {
    let mut state = keyboard.signal.subscribe();
    let mut waits = 0;
    loop {
        let now = *state.borrow_and_update();
        let Some(due) = keyboard.next() else {
            if now != BoardState::Open || state.changed().await.is_err() {
                return;
            }
            continue;
        };
        let is_file = due.face.file.is_some();
        let call = BotCall {
            method: if is_file { BotMethod::SendDocument } else { method(due.message_id) },
            message_id: due.message_id,
            text: due.face.html.clone(),
            file: due.face.file.clone(),
            reply_to: None,
            buttons: due.face.buttons.clone(),
            question: Some(due.question.clone()),
            is_final: false,
        };
        let is_ending = now != BoardState::Open;
        let wait = match caller.submit(call).await {
            Err(BotApiError::RetryAfter { seconds }) => {
                waits += 1;
                Some(pause(seconds, waits, caller.limits.retry_after))
            }
            submitted => {
                waits = 0;
                keyboard.settle(due, submitted, is_ending)
            }
        };
        let Some(until) = wait.map(|wait| Instant::now() + wait) else { continue };
        if let BoardState::Ending(since) = *state.borrow()
            && (until >= since + caller.limits.final_message || waits > caller.limits.waits)
        {
            keyboard.give_up("Telegram asks to wait longer than the final message may");
            return;
        }
        sleep_until(until).await;
    }
}

/// A message, and its state in the chat.
#[derive(Debug)]
struct PostedMessage {
    asked: AskedMessage,
    /// The messages that are there ahead of it.
    ahead: Vec<i64>,
    message_id: Option<i64>,
    shown: Option<QuestionFace>,
    /// True if its content may differ from what the chat shows.
    may_differ: bool,
    /// New messages whose answer was lost.
    lost: u32,
    /// Failed calls in a row.
    failures: u32,
    /// The reason why it is not shown any further.
    given_up: Option<String>,
}

/// A call that is to be made for the message with this index.
struct DueCall {
    index: usize,
    message_id: Option<i64>,
    face: QuestionFace,
    /// Id of the question.
    question: String,
    /// True if it is one of those that go ahead.
    is_ahead: bool,
}

impl PostedMessage {
    /// A message that is to be sent.
    fn new(asked: AskedMessage) -> Self {
        Self {
            asked,
            ahead: Vec::new(),
            message_id: None,
            shown: None,
            may_differ: true,
            lost: 0,
            failures: 0,
            given_up: None,
        }
    }

    /// Returns whether all that goes ahead of it is there, or is given up.
    fn is_next(&self) -> bool {
        self.asked.closed.is_some()
            || self.asked.unshown.is_some()
            || self.ahead.len() >= self.asked.ahead.len()
    }

    /// Returns whether a person may have seen all to which its buttons say yes.
    fn has_buttons(&self) -> bool {
        self.asked.unshown.is_none() && self.is_next()
    }

    /// Returns whether the chat is to show `face`.
    fn is_due(&self, face: &QuestionFace) -> bool {
        let was_shown = self.shown.is_some() || self.lost > 0 || !self.ahead.is_empty();
        let closing = self.asked.closed.as_ref().map(|closed| &closed.closing);
        // A question that was never seen vanishes, unless it has expired for want of an answer.
        let is_moot = !was_shown && !matches!(closing, None | Some(Closing::Expired));
        self.given_up.is_none() && !is_moot && self.shown.as_ref() != Some(face)
    }

    /// Writes down what became of a call; how long to wait before the next one.
    fn settle(
        &mut self,
        call: DueCall,
        submitted: Result<i64, BotApiError>,
        is_ending: bool,
    ) -> Option<Duration> {
        self.may_differ = true;
        match submitted {
            Ok(message_id) if call.is_ahead => {
                self.ahead.push(message_id);
                (self.failures, self.lost) = (0, 0);
                None
            }
            Ok(message_id) => {
                self.message_id = Some(message_id);
                self.shown = Some(call.face);
                self.failures = 0;
                None
            }
            Err(error @ (BotApiError::Network(_) | BotApiError::Lost(_))) => {
                self.failures += 1;
                if self.message_id.is_none() && matches!(error, BotApiError::Lost(_)) {
                    self.lost += 1;
                }
                if self.lost >= LOST_LIMIT && call.is_ahead {
                    self.asked.unshown = Some(error.to_string());
                    self.lost = 0;
                } else if self.lost >= LOST_LIMIT || (is_ending && self.failures >= TRIES) {
                    self.given_up = Some(error.to_string());
                }
                Some(backoff(self.failures))
            }
            Err(error) if call.is_ahead => {
                self.asked.unshown = Some(error.to_string());
                None
            }
            // A message that can't be edited, because it was deleted, is sent again while it is open.
            Err(BotApiError::Other(_))
                if self.message_id.is_some() && self.asked.closed.is_none() =>
            {
                self.message_id = None;
                self.shown = None;
                self.ahead.clear();
                None
            }
            Err(error) => {
                self.given_up = Some(error.to_string());
                None
            }
        }
    }
}
