//! How an observation breaks a rule.

use clitape_judge::FindingKind;

/// A rule that an observation breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub kind: FindingKind,
    /// What the person saw, when, and what should have been; plain text, which may contain recorded text.
    pub sentence: String,
    /// The index of the entry that breaks the rule; none where it is something that is missing.
    pub entry: Option<usize>,
}

/// What a rule found, before it is known which rule it is.
#[derive(Debug)]
pub(super) struct Found {
    sentence: String,
    entry: Option<usize>,
}

impl Found {
    /// The entry with this index breaks the rule.
    pub(super) fn by(entry: usize, sentence: String) -> Option<Self> {
        Some(Self { sentence, entry: Some(entry) })
    }

    /// The chat as a whole breaks the rule.
    pub(super) fn whole(sentence: String) -> Option<Self> {
        Some(Self { sentence, entry: None })
    }

    /// The violation of the rule `kind`.
    pub(super) fn of(self, kind: FindingKind) -> Violation {
        Violation { kind, sentence: self.sentence, entry: self.entry }
    }
}
