//! Gateways that each lack one thing, for the tests that see the checks convict them
//! (`check/planted_tests.rs`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clitape_gateway::telegram::{
    BotApi, BotCall, BotMethod, CallFuture, SentMessage, SignalFuture, Telegram,
};
use clitape_gateway::{Bus, BusData, BusEvent, Phase};
use clitape_recording::scenario::Setup;
use clitape_stream::{Event, Parser};

use super::builtin::replay_wired;
use super::heard::Hearing;
use super::wiring::{OnEvent, Wiring, with_keyboard};
use super::{Capture, Plan, Replay};

/// How long after the final message a draft that was not ended is edited.
const LATE: Duration = Duration::from_millis(1_500);

/// What a gateway lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    /// All turns of the process are one run with one draft.
    OneRun,
    /// The first two buttons in a row of a question are the wrong way round.
    ButtonsSwapped,
    /// Nothing of a question reaches the person.
    NoQuestions,
    /// The message of a question stays as it was when the question is closed.
    ButtonsStay,
    /// The draft of a turn is the message of the turn before.
    OneMessage,
    /// The draft of a turn is edited once more after the turn is over.
    LateEdit,
    /// The final message does not wait for an edit of the draft.
    Overlap,
    /// A listener of the bus panics at every event of a tool, and stays on the bus.
    ListenerPanics,
    /// The bus of a turn says that the turn is over before the final message is sent.
    EndsEarly,
}

impl PlantedFault {
    /// The gateway with this fault, for one replay of `capture`.
    fn wiring(self, capture: Capture<'_>) -> Wiring {
        let built_in = Wiring::built_in();
        match self {
            Self::OneRun => Wiring { on_event: one_run(capture), ..built_in },
            Self::NoQuestions => Wiring {
                on_event: Box::new(|conversation, event| {
                    let is_question = matches!(
                        event,
                        Event::Question { .. }
                            | Event::Answered { .. }
                            | Event::QuestionWithdrawn { .. }
                    );
                    if !is_question {
                        conversation.on_event(event);
                    }
                }),
                ..built_in
            },
            Self::ListenerPanics => Wiring {
                on_bus: Box::new(|bus| {
                    let panics = |event: &BusEvent| assert_ne!(event.stream(), "tool", "planted");
                    // The listener belongs to the gateway, which keeps it.
                    std::mem::forget(bus.subscribe(panics));
                }),
                ..built_in
            },
            Self::EndsEarly => {
                let current = Arc::new(Mutex::new(None));
                let bus_of_turn = current.clone();
                Wiring {
                    on_bus: Box::new(move |bus: &Bus| *lock(&bus_of_turn) = Some(bus.clone())),
                    on_event: Box::new(move |conversation, event| {
                        if let (Event::Outcome(outcome), Some(bus)) = (event, &*lock(&current)) {
                            let text = outcome.text.to_string();
                            bus.publish(BusData::Lifecycle(Phase::End { text }));
                        }
                        conversation.on_event(event);
                    }),
                    ..built_in
                }
            }
            Self::ButtonsStay
            | Self::ButtonsSwapped
            | Self::OneMessage
            | Self::LateEdit
            | Self::Overlap => {
                let shown = Arc::new(Mutex::new(Shown::default()));
                Wiring {
                    open_chat: Box::new(move |settings, server| {
                        lock(&shown).is_first = true;
                        let api = FaultyApi { server, fault: self, shown: shown.clone() };
                        with_keyboard(Telegram::new(settings, Arc::new(api)))
                    }),
                    ..built_in
                }
            }
        }
    }
}

/// Replays `capture` as `plan` says, in each of `setups`, with a gateway that has `fault`.
pub(crate) fn replay_planted(
    capture: Capture<'_>,
    plan: &Plan,
    setups: &[Setup],
    fault: PlantedFault,
) -> Vec<Replay> {
    replay_wired(&plan.played(capture), setups, || fault.wiring(capture), Hearing::Kept).0
}

/// Ends the one run with the last outcome of the process.
fn one_run(capture: Capture<'_>) -> OnEvent {
    let mut left = 0;
    let mut count = |event: Event<'_>| left += u32::from(matches!(event, Event::Outcome(_)));
    let mut parser = Parser::new();
    parser.feed_with(capture.stdout, &mut count);
    parser.finish_with(&mut count);
    Box::new(move |conversation, event| {
        if matches!(event, Event::Outcome(_)) {
            left -= 1;
            if left > 0 {
                return;
            }
        }
        conversation.on_event(event);
    })
}

/// What the chats of all turns have shown.
#[derive(Default)]
struct Shown {
    /// Whether the turn has sent no message yet.
    is_first: bool,
    /// The last message that was no question.
    message_id: Option<i64>,
    /// What the draft said last.
    draft: Option<BotCall>,
}

/// Reaches the chat's server for a channel, but not as the channel asks.
struct FaultyApi {
    server: Arc<dyn BotApi>,
    fault: PlantedFault,
    shown: Arc<Mutex<Shown>>,
}

impl BotApi for FaultyApi {
    fn call(&self, mut call: BotCall) -> CallFuture<'_> {
        if call.question.is_some() {
            if self.fault == PlantedFault::ButtonsSwapped
                && let Some([first, second, ..]) = call.buttons.first_mut().map(Vec::as_mut_slice)
            {
                std::mem::swap(&mut first.data, &mut second.data);
            }
            let is_closed = call.buttons.is_empty();
            return match call.message_id {
                Some(message_id) if is_closed && self.fault == PlantedFault::ButtonsStay => {
                    Box::pin(std::future::ready(Ok(SentMessage { message_id })))
                }
                _ => self.server.call(call),
            };
        }
        let mut shown = lock(&self.shown);
        let is_first = std::mem::take(&mut shown.is_first);
        if let Some(before) = shown.message_id.filter(|_| is_first)
            && self.fault == PlantedFault::OneMessage
        {
            call = BotCall { method: BotMethod::EditMessageText, message_id: Some(before), ..call };
        }
        if !call.is_final {
            shown.draft = Some(call.clone());
        }
        let late = shown.draft.take_if(|_| call.is_final);
        let before = shown.message_id;
        drop(shown);
        Box::pin(async move {
            if let Some(draft) = late.clone().filter(|_| self.fault == PlantedFault::Overlap) {
                let method = BotMethod::EditMessageText;
                let edit = self.server.call(BotCall { method, message_id: before, ..draft });
                return futures_util::future::join(edit, self.server.call(call)).await.1;
            }
            let sent = self.server.call(call).await?;
            lock(&self.shown).message_id = Some(sent.message_id);
            if let Some(draft) = late.filter(|_| self.fault == PlantedFault::LateEdit) {
                let (method, message_id) = (BotMethod::EditMessageText, Some(sent.message_id));
                let edit = BotCall { method, message_id, ..draft };
                let server = self.server.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(LATE).await;
                    server.call(edit).await
                });
            }
            Ok(sent)
        })
    }

    fn typing(&self) -> SignalFuture<'_> {
        self.server.typing()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
