//! A fault: an error of one call of the chat's server.
//!
//! One spelling serves plans, scenarios and the command line: `2:rate-limit:3s` is a 429 at the
//! second call that asks to wait 3 s.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{FAULT_SLOW_MS, FAULT_WAIT_S};

/// The ways in which a call of the chat's server fails (V4, V6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum FaultKind {
    /// 429 with `retry_after`: nothing is done.
    RateLimit,
    /// The text is there, and the answer is 400 `message is not modified`. Only an edit gets this answer.
    NotModified,
    /// 500: nothing is done.
    ServerError,
    /// It is done, and the answer takes its time.
    Slow,
    /// It is done, and nothing is answered until the client gives up.
    Hang,
    /// It is done, and the connection breaks before the answer.
    LostReply,
}

/// Each kind with its name and the unit of its amount.
const KINDS: [(FaultKind, &str, Option<&str>); 6] = [
    (FaultKind::RateLimit, "rate-limit", Some("s")),
    (FaultKind::NotModified, "not-modified", None),
    (FaultKind::ServerError, "server-error", None),
    (FaultKind::Slow, "slow", Some("ms")),
    (FaultKind::Hang, "hang", None),
    (FaultKind::LostReply, "lost-reply", None),
];

impl FaultKind {
    /// The word in plans, scenarios and traces.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The unit of what it takes: seconds to wait, milliseconds until the answer.
    pub fn unit(self) -> Option<&'static str> {
        self.row().1
    }

    /// The largest amount, or 0 for a kind without an amount.
    fn most(self) -> u64 {
        match self {
            Self::RateLimit => FAULT_WAIT_S,
            Self::Slow => FAULT_SLOW_MS,
            Self::NotModified | Self::ServerError | Self::Hang | Self::LostReply => 0,
        }
    }

    fn row(self) -> (&'static str, Option<&'static str>) {
        let row = KINDS.iter().find(|(kind, ..)| *kind == self);
        row.map_or(("unnamed", None), |&(_, word, unit)| (word, unit))
    }
}

/// The reason why a word is not a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// There is no such kind.
    #[error(
        "there is no fault `{0}`; write rate-limit, not-modified, server-error, slow, hang or lost-reply"
    )]
    Kind(String),
    /// The number of the call or the kind is missing.
    #[error(
        "`{0}` is no fault of a call; write the call's number and what goes wrong, such as \
         2:rate-limit:3s, 2:slow:700ms or 2:lost-reply"
    )]
    Form(String),
    /// Its amount is out of range.
    #[error("`{fault}` waits too long; write {most}{unit} at most")]
    Amount {
        /// The word.
        fault: String,
        /// The largest amount.
        most: u64,
        /// Its unit.
        unit: &'static str,
    },
}

impl FromStr for FaultKind {
    type Err = FaultError;

    fn from_str(word: &str) -> Result<Self, FaultError> {
        let row = KINDS.iter().find(|(_, name, _)| *name == word);
        row.map(|(kind, ..)| *kind).ok_or_else(|| FaultError::Kind(word.to_owned()))
    }
}

impl TryFrom<String> for FaultKind {
    type Error = FaultError;

    fn try_from(word: String) -> Result<Self, FaultError> {
        word.parse()
    }
}

/// A fault of one call, written `2:rate-limit:3s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fault {
    /// The number of the call, from 1; typing signals do not count.
    pub call: u64,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// Seconds to wait of a [`FaultKind::RateLimit`], milliseconds until the answer of a
    /// [`FaultKind::Slow`]; 0 of the others.
    pub amount: u64,
}

impl Fault {
    /// The answer in a trace: the fault without the call's number.
    pub fn answer(self) -> String {
        match self.kind.unit() {
            Some(unit) => format!("{}:{}{unit}", self.kind.as_str(), self.amount),
            None => self.kind.as_str().to_owned(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.call, self.answer())
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let form = || FaultError::Form(text.to_owned());
        let mut parts = text.split(':');
        let call = parts.next().and_then(|call| call.parse().ok()).filter(|call| *call > 0);
        let call = call.ok_or_else(form)?;
        let kind: FaultKind = parts.next().ok_or_else(form)?.parse()?;
        let amount = match (kind.unit(), parts.next()) {
            (Some(unit), Some(amount)) => {
                let digits = amount.strip_suffix(unit).ok_or_else(form)?;
                let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let most = kind.most();
                let amount = digits.parse().ok().filter(|amount| *amount <= most);
                let fault = text.to_owned();
                match is_number {
                    true => amount.ok_or(FaultError::Amount { fault, most, unit })?,
                    false => return Err(form()),
                }
            }
            (None, None) => 0,
            _ => return Err(form()),
        };
        if parts.next().is_some() {
            return Err(form());
        }
        Ok(Self { call, kind, amount })
    }
}

impl TryFrom<String> for Fault {
    type Error = FaultError;

    fn try_from(text: String) -> Result<Self, FaultError> {
        text.parse()
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v6_a_fault_reads_as_it_is_written() {
        for text in [
            "2:rate-limit:3s",
            "1:not-modified",
            "10:server-error",
            "4:slow:700ms",
            "3:hang",
            "3:lost-reply",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        assert_eq!("2:slow:700ms".parse::<Fault>().unwrap().answer(), "slow:700ms");
    }

    #[test]
    fn a_fault_waits_a_day_at_most() {
        for (text, expect) in [
            ("1:rate-limit:18446744073709551615s", "write 86400s at most"),
            ("1:rate-limit:99999999999999999999999s", "write 86400s at most"),
            ("1:rate-limit:86401s", "write 86400s at most"),
            ("1:slow:3600001ms", "write 3600000ms at most"),
        ] {
            let error = text.parse::<Fault>().unwrap_err().to_string();
            assert_eq!(error, format!("`{text}` waits too long; {expect}"));
        }
        assert_eq!("1:rate-limit:86400s".parse::<Fault>().unwrap().amount, 86_400);
    }

    #[test]
    fn v6_what_is_no_fault_is_told_how_to_write_one() {
        for text in [
            "",
            "hang",
            "0:hang",
            "x:hang",
            "2",
            "2:slow",
            "2:slow:3s",
            "2:hang:3s",
            "2:rate-limit:-1s",
            "2:rate-limit:3s:4",
        ] {
            let error = text.parse::<Fault>().unwrap_err();
            assert_eq!(error, FaultError::Form(text.to_owned()));
        }
        let error = "2:late".parse::<Fault>().unwrap_err().to_string();
        assert!(error.starts_with("there is no fault `late`; write rate-limit,"), "{error}");
        assert_eq!(KINDS.len(), FaultKind::LostReply as usize + 1, "a kind has no row");
    }
}
