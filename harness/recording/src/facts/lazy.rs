//! Reads the facts when a rule asks for them, because many replays are compared and not judged.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::OnceLock;

use super::model::Facts;
use crate::capture::Capture;

/// The bytes of stdout and the facts in them, which are read once, when a rule first asks for them.
#[derive(Debug, Default)]
pub struct LazyFacts {
    stdout: Vec<u8>,
    line_limit: usize,
    facts: OnceLock<Facts>,
    secrets: OnceLock<BTreeSet<String>>,
}

impl LazyFacts {
    /// Takes the bytes that a parser read. A line of more than `line_limit` bytes states nothing.
    pub fn new(stdout: &[u8], line_limit: usize) -> Self {
        Self { stdout: stdout.to_owned(), line_limit, ..Self::default() }
    }

    /// Whether a parser that read these bytes with this limit read the same.
    pub fn is_of(&self, stdout: &[u8], line_limit: usize) -> bool {
        self.line_limit == line_limit && self.stdout == stdout
    }

    /// The secrets in inputs and results of calls that the model itself does not say.
    pub fn secrets(&self) -> &BTreeSet<String> {
        self.secrets.get_or_init(|| Facts::secrets(self))
    }
}

impl Deref for LazyFacts {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::read(Capture::from(&self.stdout), self.line_limit))
    }
}

/// Two are equal that have the same bytes and the same limit, and so state the same.
impl PartialEq for LazyFacts {
    fn eq(&self, other: &Self) -> bool {
        self.is_of(&other.stdout, other.line_limit)
    }
}
