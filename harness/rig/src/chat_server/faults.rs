//! The calls that fail: the faults of the server, and Telegram's limits on how often a bot may write to a chat.
//!
//! The words are those of a scenario's faults, such as `2:rate-limit:30s`; `reset`, `bad-gateway` and `restart` are
//! further ways, which only a real connection has. The calls of each chat are numbered from 1, so that a list or a seed
//! means the same for a chat whatever other chats do. Typing signals, drafts, answers to presses and calls that only
//! read have no number there. With a method in front, as in `sendMessage:2:lost-reply` or
//! `answerCallbackQuery:1:server-error`, the number counts the calls of this method alone, because the place of the
//! final message among all calls depends on the time. `result:1:rate-limit:3s` is of no number: it is the next call
//! after `claude` has begun to print its first result, in a run of a gateway under test.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use clitape_recording::scenario::{Fault, FaultError, FaultKind};
use rand::rngs::ChaCha8Rng;
use rand::{Rng as _, SeedableRng as _};

/// A way to fail that only a server with real connections has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionFault {
    /// The call is not done, and the connection is reset.
    Reset,
    /// The call is not done, and a proxy answers 502 with a page of HTML.
    BadGateway,
    /// The call is not done; the server closes all its connections and accepts none for a second.
    Restart,
}

/// The word for each way.
const WORDS: [(ConnectionFault, &str); 3] = [
    (ConnectionFault::Reset, "reset"),
    (ConnectionFault::BadGateway, "bad-gateway"),
    (ConnectionFault::Restart, "restart"),
];

/// A way in which a call fails, with the number of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// A fault that a replay's chat has too.
    Known(Fault),
    /// A fault that only a real connection has, with the number of the call.
    Connection(u64, ConnectionFault),
}

/// An error: a word that is not the name of a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` is no fault of a call: {reason}; a chat server also knows N:reset, N:bad-gateway \
     and N:restart, a method before it counts its calls alone, as in sendMessage:2:lost-reply or \
     answerCallbackQuery:1:server-error, and result:1:rate-limit:3s is the next call after the first result of a run"
)]
pub struct CallFaultError {
    word: String,
    reason: FaultError,
}

impl CallFault {
    /// Returns the number of the call that fails, from 1.
    pub fn call(self) -> u64 {
        match self {
            Self::Known(fault) => fault.call,
            Self::Connection(call, _) => call,
        }
    }

    /// Returns the words of the fault in an entry, which are those of a list without the number.
    pub(super) fn answer(self) -> String {
        let word = self.to_string();
        word.split_once(':').map_or(word.clone(), |(_, answer)| answer.to_owned())
    }

    /// Returns whether the fault prevents the call.
    pub(super) fn is_refusal(self) -> bool {
        match self {
            Self::Known(fault) => {
                matches!(fault.kind, FaultKind::RateLimit | FaultKind::ServerError)
            }
            Self::Connection(..) => true,
        }
    }
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(fault) => fault.fmt(f),
            Self::Connection(call, kind) => {
                let row = WORDS.iter().find(|(known, _)| known == kind);
                write!(f, "{call}:{}", row.map_or("", |(_, word)| word))
            }
        }
    }
}

impl FromStr for CallFault {
    type Err = CallFaultError;

    fn from_str(text: &str) -> Result<Self, CallFaultError> {
        if let Some((call, word)) = text.split_once(':')
            && let Some((kind, _)) = WORDS.iter().find(|(_, known)| *known == word)
            && let Some(call) = call.parse().ok().filter(|call| *call > 0)
        {
            return Ok(Self::Connection(call, *kind));
        }
        let known = text.parse().map(Self::Known);
        known.map_err(|reason| CallFaultError { word: text.to_owned(), reason })
    }
}

/// The methods whose calls a list of faults may count.
pub(super) const COUNTED: [&str; 19] = [
    "sendMessage",
    "sendPhoto",
    "sendDocument",
    "sendMediaGroup",
    "sendRichMessage",
    "editMessageText",
    "editMessageCaption",
    "editMessageReplyMarkup",
    "deleteMessage",
    "deleteMessages",
    "setMessageReaction",
    "pinChatMessage",
    "createForumTopic",
    "editForumTopic",
    "deleteForumTopic",
    "answerCallbackQuery",
    "sendChatAction",
    "sendMessageDraft",
    "sendRichMessageDraft",
];

/// The word before a fault of the next call after a result of `claude`.
const RESULT: &str = "result";

/// A fault of a list, written `4:lost-reply`; `sendMessage:2:lost-reply` for the second call of a method, or
/// `result:1:lost-reply` for the next call after the first result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFault {
    /// The method whose calls are counted, or `result`; `None` counts all numbered calls of the chat.
    pub method: Option<&'static str>,
    /// The fault, with its number.
    pub fault: CallFault,
}

impl From<CallFault> for ListedFault {
    fn from(fault: CallFault) -> Self {
        Self { method: None, fault }
    }
}

impl fmt::Display for ListedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method {
            Some(method) => write!(f, "{method}:{}", self.fault),
            None => self.fault.fmt(f),
        }
    }
}

impl FromStr for ListedFault {
    type Err = CallFaultError;

    fn from_str(text: &str) -> Result<Self, CallFaultError> {
        let named = text.split_once(':').filter(|(name, _)| name.starts_with(char::is_alphabetic));
        let Some((name, fault)) = named else { return text.parse().map(CallFault::into) };
        let mut known = COUNTED.iter().chain([&RESULT]);
        let known = known.find(|known| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let reason = FaultError::Form(text.to_owned());
            CallFaultError { word: text.to_owned(), reason }
        })?;
        Ok(Self { method: Some(known), fault: fault.parse()? })
    }
}

/// The calls that fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Faults {
    /// No calls.
    #[default]
    None,
    /// These calls of every chat.
    Listed(Vec<ListedFault>),
    /// Calls of every chat at random.
    Seeded {
        /// The seed; the same seed hits the same calls of a chat.
        seed: u64,
        /// The percentage of calls that fail.
        percent: u8,
    },
}

/// The kinds of faults that a seed draws, each with its share of 64 draws.
const DRAWN: [(Drawn, u32); 8] = [
    (Drawn::Known(FaultKind::RateLimit), 24),
    (Drawn::Known(FaultKind::ServerError), 6),
    (Drawn::Known(FaultKind::Slow), 12),
    (Drawn::Known(FaultKind::LostReply), 10),
    (Drawn::Known(FaultKind::Hang), 1),
    (Drawn::Connection(ConnectionFault::BadGateway), 4),
    (Drawn::Connection(ConnectionFault::Reset), 5),
    (Drawn::Connection(ConnectionFault::Restart), 2),
];

#[derive(Debug, Clone, Copy)]
enum Drawn {
    Known(FaultKind),
    Connection(ConnectionFault),
}

/// The seconds that a 429 asks to wait, as ranges (least, most), each with its share of 64 draws. The waits that
/// gateways have reported are mostly short, with a long tail.
const WAITS: [(u32, u32, u32); 5] =
    [(1, 3, 26), (4, 10, 16), (11, 30, 12), (31, 60, 6), (61, 150, 4)];

/// The range of a slow answer in milliseconds.
const SLOW_MS: (u32, u32) = (500, 12_000);

impl Faults {
    /// Returns the fault of a call in a chat, if it has one.
    pub(super) fn of(&self, chat: i64, call: NumberedCall) -> Option<CallFault> {
        match self {
            Self::None => None,
            Self::Listed(faults) => {
                let is_it = |listed: &&ListedFault| match listed.method {
                    Some(method) => method == call.method && listed.fault.call() == call.of_method,
                    None => Some(listed.fault.call()) == call.of_chat,
                };
                faults.iter().find(is_it).map(|listed| listed.fault)
            }
            Self::Seeded { seed, percent } => drawn(*seed, *percent, chat, call.of_chat?),
        }
    }

    /// Returns the fault of the next call after the result with this number, from 1, if it has one.
    pub(crate) fn after_result(&self, number: u64) -> Option<CallFault> {
        let Self::Listed(faults) = self else { return None };
        let is_it =
            |fault: &&ListedFault| fault.method == Some(RESULT) && fault.fault.call() == number;
        faults.iter().find(is_it).map(|listed| listed.fault)
    }

    /// Returns the 429 after the first result, which asks to wait some seconds.
    pub(crate) fn at_first_result(seconds: u64) -> Self {
        let fault = Fault { call: 1, kind: FaultKind::RateLimit, amount: seconds };
        Self::Listed(vec![ListedFault { method: Some(RESULT), fault: CallFault::Known(fault) }])
    }

    /// Returns the faults for the first `calls` calls of a chat that is identified by `key` in place of its number, so
    /// that a seed means the same for a recording in whichever chat it is played.
    pub fn for_key(&self, key: &str, calls: u64) -> Self {
        let Self::Seeded { seed, percent } = self else { return self.clone() };
        // FNV-1a, because its result is the same on every machine.
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let faults =
            (1..=calls).filter_map(|call| drawn(*seed, *percent, hash.cast_signed(), call));
        Self::Listed(faults.map(CallFault::into).collect())
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Listed(faults) => {
                let words: Vec<String> = faults.iter().map(ListedFault::to_string).collect();
                f.write_str(&words.join(","))
            }
            Self::Seeded { seed, percent } => {
                write!(f, "{percent} of a hundred calls at random, by seed {seed}")
            }
        }
    }
}

/// A call with its two numbers, each from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedCall {
    /// The number among all numbered calls of the chat, if it has one.
    pub(super) of_chat: Option<u64>,
    /// The name of the method.
    pub(super) method: &'static str,
    /// The number among the calls of the method in the chat.
    pub(super) of_method: u64,
}

/// Draws the fault of a call from the seed, the chat and the call's number alone.
fn drawn(seed: u64, percent: u8, chat: i64, call: u64) -> Option<CallFault> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&chat.to_le_bytes());
    key[16..24].copy_from_slice(&call.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    if below(&mut rng, 100) >= u32::from(percent) {
        return None;
    }
    let total = DRAWN.iter().map(|(_, weight)| weight).sum();
    let kind = weighted(below(&mut rng, total), &DRAWN.map(|(kind, weight)| (kind, weight)))?;
    Some(match kind {
        Drawn::Connection(kind) => CallFault::Connection(call, kind),
        Drawn::Known(kind) => {
            let amount = match kind {
                FaultKind::RateLimit => {
                    let rows = WAITS.map(|(least, most, weight)| ((least, most), weight));
                    let (least, most) = weighted(below(&mut rng, 64), &rows)?;
                    between(&mut rng, least, most)
                }
                FaultKind::Slow => between(&mut rng, SLOW_MS.0, SLOW_MS.1),
                _ => 0,
            };
            CallFault::Known(Fault { call, kind, amount: amount.into() })
        }
    })
}

/// Returns the row that a draw selects.
fn weighted<T: Copy>(mut draw: u32, rows: &[(T, u32)]) -> Option<T> {
    for (value, weight) in rows {
        if draw < *weight {
            return Some(*value);
        }
        draw -= weight;
    }
    None
}

fn between(rng: &mut ChaCha8Rng, least: u32, most: u32) -> u32 {
    least + below(rng, most - least + 1)
}

/// Draws a number from `0..n` by multiply and shift, one raw draw each.
fn below(rng: &mut ChaCha8Rng, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
}

/// The limits on how often a bot may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum PaceLimits {
    /// One message a second in a chat, with short bursts, and 20 a minute in a group. Edits count.
    #[default]
    Telegram,
    /// The same without bursts.
    Strict,
    /// No limits; only faults ask for waits.
    None,
}

/// The milliseconds after which a chat may get one more message.
const WINDOW_MS: u64 = 1_000;
/// The messages that a chat may get at once after a silence.
const BURST: u64 = 5;
/// The messages that a group may get in [`GROUP_WINDOW_MS`].
const GROUP_MESSAGES: usize = 20;
/// The window of the limit of groups.
const GROUP_WINDOW_MS: u64 = 60_000;

/// The calls of a chat for which the wait of a 429 holds.
///
/// Telegram asks each of its own methods to wait by itself. A draft is one with the typing signals there (`messages.setTyping`
/// with `sendMessageTextDraftAction`), and a message is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FloodWait {
    /// The calls that change messages.
    Messages,
    /// The drafts.
    Drafts,
}

/// The messages of a bot to one chat, over time. Times are milliseconds of the server's clock.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    /// The time up to which the messages so far have used up the windows, one each.
    paid_until: u64,
    /// The times of the messages of the last minute.
    recent: VecDeque<u64>,
    /// The ends of the waits that faults asked for: that of messages, and that of drafts.
    messages_until: u64,
    drafts_until: u64,
}

impl Pace {
    /// Begins a wait of `seconds`, which a fault asks for.
    pub(super) fn ask_wait(&mut self, of: FloodWait, now: u64, seconds: u64) {
        let until = match of {
            FloodWait::Messages => &mut self.messages_until,
            FloodWait::Drafts => &mut self.drafts_until,
        };
        *until = (*until).max(now + seconds * 1_000);
    }

    /// Returns the seconds that are left of such a wait, if one is going on.
    pub(super) fn asked_wait(&self, of: FloodWait, now: u64) -> Option<u64> {
        let until = match of {
            FloodWait::Messages => self.messages_until,
            FloodWait::Drafts => self.drafts_until,
        };
        (until > now).then(|| (until - now).div_ceil(1_000))
    }

    /// Returns the seconds to wait before a further message; `None` if it may come now.
    pub(super) fn wait(&mut self, now: u64, is_group: bool, limits: PaceLimits) -> Option<u64> {
        let burst = match limits {
            PaceLimits::None => return None,
            PaceLimits::Telegram => BURST,
            PaceLimits::Strict => 1,
        };
        self.recent.retain(|at| at + GROUP_WINDOW_MS > now);
        let room = (self.paid_until + WINDOW_MS).saturating_sub(burst * WINDOW_MS);
        let wait = room.saturating_sub(now);
        let oldest = self.recent.front().copied();
        let group = oldest.filter(|_| is_group && self.recent.len() >= GROUP_MESSAGES);
        let group = group.map_or(0, |at| (at + GROUP_WINDOW_MS).saturating_sub(now));
        let wait = wait.max(group);
        (wait > 0).then(|| wait.div_ceil(1_000))
    }

    /// Counts a message that was sent.
    pub(super) fn count(&mut self, now: u64) {
        self.paid_until = self.paid_until.max(now) + WINDOW_MS;
        self.recent.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_as_it_is_written() {
        for text in [
            "2:rate-limit:30s",
            "1:not-modified",
            "3:slow:700ms",
            "4:hang",
            "2:reset",
            "5:bad-gateway",
            "7:restart",
        ] {
            assert_eq!(text.parse::<CallFault>().unwrap().to_string(), text);
        }
        for text in ["0:reset", "reset", "1:late", ""] {
            let error = text.parse::<CallFault>().unwrap_err().to_string();
            assert!(error.contains("N:reset"), "{error}");
        }
        assert_eq!("2:slow:7ms".parse::<CallFault>().unwrap().answer(), "slow:7ms");
    }

    /// Makes the call `of_chat` of a chat, which is its call `of_method` of `sendMessage`.
    fn call(of_chat: u64, of_method: u64) -> NumberedCall {
        NumberedCall { of_chat: Some(of_chat), method: "sendMessage", of_method }
    }

    #[test]
    fn a_fault_of_a_method_counts_its_calls_alone() {
        let listed: ListedFault = "sendmessage:2:lost-reply".parse().unwrap();
        assert_eq!(listed.to_string(), "sendMessage:2:lost-reply");
        let faults = Faults::Listed(vec![listed, "1:reset".parse().unwrap()]);
        assert!(faults.of(1, call(2, 1)).is_none());
        assert_eq!(faults.of(1, call(5, 2)).unwrap().answer(), "lost-reply");
        assert_eq!(faults.of(1, call(1, 1)).unwrap().answer(), "reset");
        assert_eq!(faults.to_string(), "sendMessage:2:lost-reply,1:reset");
        let at_result = Faults::at_first_result(3);
        assert_eq!(at_result.to_string(), "result:1:rate-limit:3s");
        assert_eq!(at_result, Faults::Listed(vec!["result:1:rate-limit:3s".parse().unwrap()]));
        assert!(at_result.after_result(1).is_some() && at_result.after_result(2).is_none());
        assert!(at_result.of(1, call(1, 1)).is_none());
        for text in
            ["getMe:1:reset", "sendMessages:1:reset", "getChat:1:reset", "sendMessage:reset"]
        {
            assert!(text.parse::<ListedFault>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_call_without_a_number_in_its_chat_fails_by_its_method_alone() {
        let press = NumberedCall { of_chat: None, method: "answerCallbackQuery", of_method: 1 };
        let check = |faults: Faults, expect: Option<&str>| {
            let found = faults.of(1, press).map(CallFault::answer);
            assert_eq!(found.as_deref(), expect, "{faults}");
        };
        let listed = |text: &str| Faults::Listed(vec![text.parse().unwrap()]);
        check(listed("answerCallbackQuery:1:server-error"), Some("server-error"));
        check(listed("answerCallbackQuery:2:server-error"), None);
        check(listed("1:server-error"), None);
        check(Faults::Seeded { seed: 7, percent: 100 }, None);
    }

    #[test]
    fn a_seed_means_the_same_for_a_key_in_every_chat() {
        let faults = Faults::Seeded { seed: 7, percent: 30 };
        let listed = faults.for_key("three-tools/2.1.329", 200);
        let fails = |chat: i64| -> Vec<u64> {
            (1..=200).filter(|number| listed.of(chat, call(*number, 1)).is_some()).collect()
        };
        assert!(fails(1).len() > 30 && fails(1) == fails(2));
        assert_ne!(listed, faults.for_key("plain-text/2.1.329", 200));
    }

    #[test]
    fn the_same_seed_fails_the_same_calls_and_waits_have_a_long_tail() {
        let faults = Faults::Seeded { seed: 7, percent: 50 };
        let all: Vec<_> = (1..2_000).map(|number| faults.of(1, call(number, 1))).collect();
        assert_eq!(all, (1..2_000).map(|number| faults.of(1, call(number, 1))).collect::<Vec<_>>());
        assert_ne!(all, (1..2_000).map(|number| faults.of(2, call(number, 1))).collect::<Vec<_>>());
        let hit = all.iter().flatten().count();
        assert!((900..1_100).contains(&hit), "{hit} of 1,999 calls fail");
        let waits: Vec<u64> = all
            .iter()
            .flatten()
            .filter_map(|fault| match fault {
                CallFault::Known(fault) if fault.kind == FaultKind::RateLimit => Some(fault.amount),
                _ => None,
            })
            .collect();
        assert!(waits.iter().all(|wait| (1..=150).contains(wait)), "{waits:?}");
        let long = waits.iter().filter(|wait| **wait > 30).count();
        assert!(long * 10 > waits.len() && long * 4 < waits.len(), "{long} of {}", waits.len());
    }

    /// Sends messages at these times and returns the wait that each was answered with, 0 for none.
    fn waits(limits: PaceLimits, is_group: bool, at: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut pace = Pace::default();
        at.into_iter()
            .map(|now| match pace.wait(now, is_group, limits) {
                Some(wait) => wait,
                None => {
                    pace.count(now);
                    0
                }
            })
            .collect()
    }

    #[test]
    fn a_chat_gets_one_message_a_second_after_a_burst() {
        let at = [0, 0, 0, 0, 0, 10, 1_000, 1_001, 9_000, 9_001];
        assert_eq!(waits(PaceLimits::Telegram, false, at), [0, 0, 0, 0, 0, 1, 0, 1, 0, 0]);
        assert_eq!(waits(PaceLimits::Strict, false, [0, 999, 1_000]), [0, 1, 0]);
        assert_eq!(waits(PaceLimits::None, true, [0; 50]), [0; 50]);
    }

    #[test]
    fn a_group_gets_20_messages_a_minute() {
        let at = (0..21).map(|number| number * 1_000).chain([60_000]);
        let expect: Vec<u64> = [0; 20].into_iter().chain([40, 0]).collect();
        assert_eq!(waits(PaceLimits::Telegram, true, at), expect);
    }

    #[test]
    fn a_wait_that_was_asked_for_ends() {
        let mut pace = Pace::default();
        let (of, other) = (FloodWait::Messages, FloodWait::Drafts);
        pace.ask_wait(of, 500, 3);
        let waits = |of| [600, 3_400, 3_500].map(|now| pace.asked_wait(of, now));
        assert_eq!((waits(of), waits(other)), ([Some(3), Some(1), None], [None; 3]));
    }
}
