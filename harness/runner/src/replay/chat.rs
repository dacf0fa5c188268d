//! The chat's server of a replay: takes the calls of the Bot API, writes them down, and answers as
//! the plan's faults say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clitape_gateway::telegram::{
    BotApi, BotApiError, BotCall, Button, CallFuture, SentMessage, SignalFuture,
};
use serde_json::{Map, Value};

use super::log::{Log, turn_field};
use super::trace::{Entry, Lane, millis};
use crate::scenario::{Fault, FaultKind};

/// How long a call takes that goes well, in virtual time.
pub(crate) const LATENCY: Duration = Duration::from_millis(80);

/// A server that knows its messages. Its calls are numbered from 1, and so are its messages.
pub(super) struct ChatServer {
    log: Log,
    faults: Vec<Fault>,
    chat: Mutex<ChatState>,
}

#[derive(Default)]
struct ChatState {
    calls: u64,
    texts: BTreeMap<i64, String>,
    /// The calls that are made and not answered, those that the client gave up left out.
    under_way: u64,
    /// The numbers of the calls that were made while another one was under way.
    overlapping: Vec<u64>,
}

/// A call that is under way until this is dropped: when it is answered, or when the client gives it up.
struct CallUnderWay(Arc<ChatServer>);

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        self.0.state().under_way -= 1;
    }
}

/// The result of a call.
struct CallOutcome {
    /// The message it is about; none when a new one is refused.
    message_id: Option<i64>,
    /// Its fault.
    fault: Option<Fault>,
}

impl ChatServer {
    pub(super) fn new(log: Log, faults: Vec<Fault>) -> Self {
        Self { log, faults, chat: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, ChatState> {
        self.chat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of the calls that were made while another one was under way.
    pub(super) fn overlapping_calls(&self) -> Vec<u64> {
        self.state().overlapping.clone()
    }

    /// Takes a call, and says what becomes of it.
    fn take(&self, call: &BotCall) -> CallOutcome {
        let mut chat = self.state();
        chat.calls += 1;
        let number = chat.calls;
        if chat.under_way > 0 {
            chat.overlapping.push(number);
        }
        chat.under_way += 1;
        let fault = self.faults.iter().find(|fault| fault.call == number).copied();
        // The server never answers "not modified" to a new message.
        let fault =
            fault.filter(|fault| call.message_id.is_some() || fault.kind != FaultKind::NotModified);
        if fault.is_some_and(is_refusal) {
            return CallOutcome { message_id: call.message_id, fault };
        }
        let id = call.message_id.unwrap_or(chat.texts.len() as i64 + 1);
        let before = chat.texts.insert(id, call.text.clone());
        let same = (before.as_ref() == Some(&call.text)).then_some(Fault {
            call: number,
            kind: FaultKind::NotModified,
            amount: 0,
        });
        CallOutcome { message_id: Some(id), fault: fault.or(same) }
    }
}

/// Whether nothing is done.
fn is_refusal(fault: Fault) -> bool {
    matches!(fault.kind, FaultKind::RateLimit | FaultKind::ServerError)
}

/// The entry of a call that a real server took, `after` the replay began.
pub fn call_entry(after: Duration, call: &BotCall, message_id: i64) -> Entry {
    let outcome = CallOutcome { message_id: Some(message_id), fault: None };
    let (at, kind) = (millis(after), call.method.as_str().into());
    Entry { at, lane: Lane::Telegram, kind, data: data(call, &outcome) }
}

/// The data of a call's entry.
fn data(call: &BotCall, outcome: &CallOutcome) -> Map<String, Value> {
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
    server: Arc<ChatServer>,
    turn: u64,
}

impl TurnChat {
    pub(super) fn new(server: Arc<ChatServer>, turn: u64) -> Self {
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
        let outcome = self.server.take(&call);
        let under_way = CallUnderWay(self.server.clone());
        let mut data = data(&call, &outcome);
        data.extend(turn_field(self.turn));
        self.server.log.add(Lane::Telegram, call.method.as_str(), data);
        Box::pin(async move {
            let _under_way = under_way;
            let (kind, amount) =
                outcome.fault.map_or((None, 0), |fault| (Some(fault.kind), fault.amount));
            match kind {
                Some(FaultKind::Hang) => std::future::pending().await,
                Some(FaultKind::Slow) => tokio::time::sleep(Duration::from_millis(amount)).await,
                _ => tokio::time::sleep(LATENCY).await,
            }
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
