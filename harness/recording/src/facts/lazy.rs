//! Reads what stdout states when a rule asks for it, because many replays are compared and not judged.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::OnceLock;

use super::model::Stated;
use crate::capture::Capture;

/// The bytes of stdout and what they state, which is read once, when a rule first asks for it.
#[derive(Debug, Default)]
pub struct LazyStated {
    stdout: Vec<u8>,
    line_limit: usize,
    stated: OnceLock<Stated>,
    secrets: OnceLock<BTreeSet<String>>,
}

impl LazyStated {
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
        self.secrets.get_or_init(|| Stated::secrets(self))
    }
}

impl Deref for LazyStated {
    type Target = Stated;

    fn deref(&self) -> &Stated {
        self.stated.get_or_init(|| Stated::read(Capture::from(&self.stdout), self.line_limit))
    }
}

/// Two are equal that have the same bytes and the same limit, and so state the same.
impl PartialEq for LazyStated {
    fn eq(&self, other: &Self) -> bool {
        self.is_of(&other.stdout, other.line_limit)
    }
}
