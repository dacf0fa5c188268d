//! A finding: one named failure, with a sentence, the place, the line that shows it again and the one that mends it; and
//! what a check found.
//!
//! [`Finding`] is what the checks make and what every report shows, and it is serialised as it is. All of
//! its text is made safe to print when it is made or read, by [`Finding::safe`].

mod command;
mod kind;

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use clitape_recording::text::plain;
use serde::{Deserialize, Serialize};

use crate::diff::change::{Change, Class};
use crate::diff::chat_diff::ChatDiff;
use crate::diff::context::ContextMoment;
use crate::diff::lines::{DiffLine, DiffSide};
pub use command::FindingCommand;
pub use kind::FindingKind;

/// The id and the name of a finding as reports have them: `GW003 edit-after-final`.
///
/// A report may come from another version of clitape, which knows kinds that this one does not; their
/// ids are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum FindingId {
    /// A kind that this version knows.
    Known(FindingKind),
    /// The id of another version's kind, made safe to print.
    Other(String),
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(kind) => kind.fmt(f),
            Self::Other(id) => f.write_str(id),
        }
    }
}

impl FromStr for FindingId {
    type Err = Infallible;

    fn from_str(id: &str) -> Result<Self, Infallible> {
        let known = FindingKind::ALL.iter().find(|kind| kind.to_string() == id);
        Ok(known.map_or_else(|| Self::Other(plain(id)), |kind| Self::Known(*kind)))
    }
}

impl From<String> for FindingId {
    fn from(id: String) -> Self {
        let Ok(id) = id.parse();
        id
    }
}

impl From<FindingId> for String {
    fn from(id: FindingId) -> Self {
        id.to_string()
    }
}

impl PartialEq<FindingKind> for FindingId {
    fn eq(&self, kind: &FindingKind) -> bool {
        matches!(self, Self::Known(own) if own == kind)
    }
}

/// A line of a golden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoldenLine {
    /// The path of the golden, from the workspace's root.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
}

/// One failure, as checks make it and as reports show it.
///
/// It is made with [`Finding::new`] and the `with` methods, which make its texts safe to print. The
/// report's schema calls it `Told`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(
        rename = "Told",
        description = "A finding as reports tell it: plain text on one line each."
    )
)]
#[non_exhaustive]
pub struct Finding {
    /// Its stable id and name: `GW003 edit-after-final`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: FindingId,
    /// Where: scenario, CLI version and view, as far as they apply.
    pub place: String,
    /// One sentence.
    pub sentence: String,
    /// The command that shows it again.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reproduce: FindingCommand,
    /// The command that mends it, or that accepts what differs; absent where a person has to find out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub fix: Option<FindingCommand>,
    /// What the difference is about as a whole, where two texts differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What differs after the first difference, grouped: `3 × editMessageText with another text`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consequences: Vec<String>,
    /// What came in beside what was seen, up to the first difference of a golden.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "moments")]
    pub context: Vec<ContextMoment>,
    /// What a person sees in the chat, and what was expected, where the two first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatDiff>,
    /// The golden's line of the first difference, where a golden differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<GoldenLine>,
    /// An aligned diff, where two texts were compared; empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<DiffLine>,
}

impl Finding {
    /// A finding without a difference and without context.
    pub fn new(kind: FindingKind, place: &str, sentence: String, reproduce: String) -> Self {
        let finding = Self {
            id: FindingId::Known(kind),
            place: place.to_owned(),
            sentence,
            reproduce: FindingCommand::made(reproduce),
            fix: None,
            class: None,
            consequences: Vec::new(),
            context: Vec::new(),
            chat: None,
            golden: None,
            diff: Vec::new(),
        };
        finding.safe()
    }

    /// Adds the command that mends it.
    #[must_use]
    pub fn with_fix(mut self, fix: String) -> Self {
        self.fix = Some(FindingCommand::made(fix));
        self.safe()
    }

    /// Adds how two texts differ: as a whole, and line by line.
    #[must_use]
    pub fn with_difference(mut self, change: Option<Change>, diff: Vec<DiffLine>) -> Self {
        (self.class, self.consequences) = match change {
            Some(Change { class, consequences }) => (Some(class), consequences),
            None => (None, Vec::new()),
        };
        self.diff = diff;
        self.safe()
    }

    /// Adds the golden that the diff was made with, which has `header` lines above its text.
    #[must_use]
    pub fn with_golden(mut self, file: &str, header: usize) -> Self {
        let differs = |line: &DiffLine| matches!(line.side, DiffSide::Expected | DiffSide::Got);
        let first = self.diff.iter().position(differs).unwrap_or(0);
        // Of a line that only came, the place is that of the line before it.
        let is_expected = self.diff.get(first).is_some_and(|line| line.old.is_some());
        let upto = &self.diff[..(first + usize::from(is_expected)).min(self.diff.len())];
        let text = upto.iter().rev().find_map(|line| line.old).unwrap_or(1);
        self.golden = Some(GoldenLine { file: file.to_owned(), line: header + text });
        self.safe()
    }

    /// Adds what came in beside what was seen.
    #[must_use]
    pub fn with_context(mut self, context: Vec<ContextMoment>) -> Self {
        self.context = context;
        self.safe()
    }

    /// Adds what a person sees where a chat and its golden part.
    #[must_use]
    pub fn with_chat(mut self, chat: Option<ChatDiff>) -> Self {
        self.chat = chat;
        self.safe()
    }

    /// The same with every text made safe to print, on one line each; what is safe stays as it is.
    #[must_use]
    pub fn safe(mut self) -> Self {
        self.reproduce = self.reproduce.safe();
        self.fix = self.fix.map(FindingCommand::safe);
        let Self {
            id: _,
            place,
            sentence,
            reproduce: _,
            fix: _,
            class: _,
            consequences,
            context,
            chat,
            golden,
            diff,
        } = &mut self;
        let words = context.iter_mut().flat_map(|moment| {
            let ContextMoment { at: _, input, output } = moment;
            input.iter_mut().chain(output)
        });
        let parts = diff.iter_mut().flat_map(|line| &mut line.parts).map(|(_, text)| text);
        let golden = golden.iter_mut().map(|golden| &mut golden.file);
        let lines = [place, sentence].into_iter().chain(consequences);
        let chat = chat.iter_mut().flat_map(ChatDiff::lines_mut);
        for text in lines.chain(words).chain(parts).chain(chat).chain(golden) {
            *text = plain(text);
        }
        self
    }
}

/// What a check found, and what it did.
#[derive(Debug, Clone, Default)]
pub struct CheckResult {
    /// What is wrong; empty when all held.
    pub findings: Vec<Finding>,
    /// Goldens compared.
    pub goldens: u64,
    /// Seeded plans, whose cuts the parser gets.
    pub plans: u64,
    /// Seeded plans that were replayed; the lines of the others end at the times of one of these.
    pub replayed: u64,
    /// What is to be said of the plans that are kept, in sentences.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests;
