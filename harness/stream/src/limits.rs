//! How much a parser takes.

/// Bounds on what is read. What goes past one is told as a diagnostic and counted
/// ([`Stats::unread`](crate::Stats)), never dropped in silence.
///
/// Memory is bounded by the longest line, the answer and the reasoning so far (which events lend),
/// the input of the calls that are open, and some words for each message and call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParserLimits {
    /// Bytes of a line: a longer one is skipped ([`LineTooLong`](crate::DiagnosticCode)). 256 MiB
    /// unless set.
    pub line: usize,
    /// Lines that are not blank: the rest of the run is not read
    /// ([`TooManyRecords`](crate::DiagnosticCode)). Unlimited unless set.
    pub records: u64,
    /// Bytes of the run: the rest is not read ([`TooManyBytes`](crate::DiagnosticCode)).
    /// Unlimited unless set.
    pub bytes: u64,
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self { line: 256 << 20, records: u64::MAX, bytes: u64::MAX }
    }
}
