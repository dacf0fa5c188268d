//! Limits on what a parser reads.

/// Limits on what a parser reads.
///
/// The parser reports what exceeds a limit as a diagnostic and counts it
/// ([`Stats::unread`](crate::Stats::unread)). To change a limit, start from the default:
///
/// ```
/// let mut limits = clitape_stream::ParserLimits::default();
/// limits.records = 20_000;
/// ```
///
/// Memory is bounded by the longest line, the answer and the reasoning so far (which events lend),
/// the input of open calls, and a few words for each message, call and subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParserLimits {
    /// Maximum length of a line in bytes, 256 MiB by default. A longer line is skipped
    /// ([`LineTooLong`](crate::DiagnosticCode::LineTooLong)).
    pub line: usize,
    /// Maximum number of lines that are not blank, unlimited by default. The rest of the run is not
    /// read ([`TooManyRecords`](crate::DiagnosticCode::TooManyRecords)).
    pub records: u64,
    /// Maximum size of the run in bytes, unlimited by default. The rest is not read
    /// ([`TooManyBytes`](crate::DiagnosticCode::TooManyBytes)).
    pub bytes: u64,
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self { line: 256 << 20, records: u64::MAX, bytes: u64::MAX }
    }
}
