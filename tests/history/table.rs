//! The scenarios that are replayed for each bug: those that convict it best.

use clitape_stream::plant::Plant;

/// A bug and where it is looked for.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) plant: Plant,
    pub(crate) scenarios: &'static [&'static str],
    /// What a rule would have to find, or why no scenario convicts it; empty where a rule convicts it.
    pub(crate) why: &'static str,
}

macro_rules! rows {
    ($($plant:ident: [$($scenario:literal),*], $why:literal;)+) => {
        /// All bugs, in the order of their definition.
        pub(crate) const ROWS: &[Row] =
            &[$(Row { plant: Plant::$plant, scenarios: &[$($scenario),*], why: $why }),+];
    };
}

rows! {
    ToolEventsDropped: ["stuck-callback", "permission-from-subagent"], "";
    BridgeDropsTools: ["stuck-callback", "chat-rate-limited"], "";
    DeltasNotJoined: ["mcp-image", "tool-error"], "";
    StartAtBlockStart: ["mcp-image", "tool-error"], "";
    OnlyToolUseKnown: ["web-search", "secrets-asked"], "";
    StartInputIgnored: ["web-search", "secrets-asked"], "";
    GateOpen: ["message-tool"], "";
    GateNeverShuts: ["message-tool"], "";
    McpPrefixUnknown: ["message-tool"], "";
    SilentRunBridged: ["silent-run"], "";
    StartAgainAtStop: ["mcp-image", "tool-error"], "";
    StartAgainAsNew: ["mcp-image", "tool-error"], "";
    StartAndUpdateAsRows: ["tool-error", "hooks"], "";
    StartAgainAfterResult: ["late-snapshots", "ask-user-headless"], "";
    EventsLostAtClose: ["stuck-callback", "permission-deny-interrupt"], "";
    ListenerLeft: ["cut-off-line", "plain-text"], "";
    EndReportedEarly: ["cut-off-line", "plain-text"], "";
    ThinkingNotOnBus: ["redacted-thinking", "thinking"], "";
    ThinkingSeedDropped: ["late-snapshots", "empty-result-live"], "";
    EmptyThinkingReported: ["redacted-thinking", "thinking"], "";
    RedactedThinkingReported: ["redacted-thinking"], "";
    ThinkingIntoAnswer: ["redacted-thinking", "thinking"], "";
    ThinkingShownWithoutLeave: ["redacted-thinking", "thinking"], "";
    KeptUnflushed: [], "unit tests alone, because no scenario stores a session";
    AnswerAssumed: ["resume-killed-mid-text", "resume-terminated-mid-text"], "";
    OrphansIgnored: ["resume-continue", "resume-killed-mid-tool"], "";
    OldOrphansCount: ["resume-killed-parallel"], "";
    SidechainsCount: ["resume-after-subagent", "resume-killed-after-subagent"], "";
    LastLineOnly: ["resume-killed-parallel", "resume-killed-subagent"], "";
    OtherProvidersProbed: [], "unit tests alone, because no scenario stores a session";
    KeysNotNamed: [], "unit tests alone, because no scenario has a fingerprint";
    ValuesNamed: [], "unit tests alone, because no scenario has a fingerprint";
    PartialLostAfterComma: ["subagent", "multi-edit"], "";
    PartialReportedEachPiece: ["subagent", "big-write"], "";
    HalfCharacterReported: ["unicode", "unicode-live"], "unit tests alone, because no recorded input has an escaped pair";
    ArrayShrinks: ["array-first", "multi-edit"], "unit tests alone, because no recorded list would shrink";
    NumberCut: ["array-first", "multi-edit"], "unit tests alone, because no recorded list ends a delta with a number";
    InputParsedAgain: [], "nothing: only the time that it takes differs, and no rule limits it";
    IndexReused: ["late-snapshots"], "unit tests alone, because no recorded message uses an index again";
    ConversationsMixed: [], "unit tests alone, because no CLI that is recorded streams a subagent";
    FirstTryKept: ["sse-error-mid-text", "refusal"], "";
    FirstTryKeptAtStart: ["sse-error-mid-text", "sse-error-mid-tool"], "unit tests alone, because the snapshot takes the message back in every recording";
    UnannouncedCallUpdated: ["unnumbered-tasks", "todo-write"], "";
    TextNeedsDeltas: ["sse-error-mid-text", "no-partials"], "";
    ResultByCharacter: ["sigint-mid-tool", "permission-denied"], "";
    InputMissingAtEnd: ["tool-error", "web-search"], "";
    ParallelCallsMixed: ["permission-parallel", "permission-from-subagent"], "";
    ErrorAfterComplete: ["resume-missing-live", "max-turns"], "";
    TextHeldBack: ["tool-error", "api-529-then-ok"], "";
    FirstPartOnly: ["search-long-parts", "first-part-not-json"], "";
    ErrorDropsCollected: ["max-turns", "live-interrupt-text"], "";
    LastTurnOnly: [], "unit tests alone, because a replay collects one turn";
    RepeatedFrameCounts: [], "unit tests alone, because a replay does not reconnect";
    BacklogFromStart: [], "unit tests alone, because a replay does not reconnect";
    ResultOnly: ["mcp-image", "tool-error"], "";
    TextGlued: ["mcp-image", "tool-error"], "";
    StreamedTextLost: ["empty-result", "empty-result-live"], "";
    ToolOnlyTurnFails: ["empty-answer", "compaction"], "";
    ErrorFlagIgnored: ["long-error", "refusal"], "";
    ApiErrorIsText: ["api-400", "long-error"], "";
    SubagentsAreMain: ["subagent-background-live", "subagent"], "";
    ParentLost: ["subagent", "subagent-background"], "";
    SubagentTextShown: ["subagent-background", "subagent-background-live"], "";
    OutputCapped: [], "unit tests alone, because the largest recording has 150 KB";
    RecordsCapped: [], "unit tests alone, because no recording has 20,000 lines";
    RateLimitEndsDraft: ["chat-rate-limited", "interleaved-thinking"], "";
    NotModifiedEndsDraft: ["chat-rate-limited", "interleaved-thinking"], "no rule with two plans; more plans draw the fault `not-modified`";
    LateEdits: ["mcp-image", "tool-error"], "";
    FinalTwice: ["resume-missing-live", "result-only-text"], "";
    MessageForEachUpdate: ["mcp-image", "tool-error"], "";
    FinalAsFreshMessage: ["mcp-image", "tool-error"], "";
    NoLinesAfterText: ["mcp-image", "tool-error"], "";
    EarlierLinesUncounted: ["many-tools", "edit-after-failures"], "";
    EqualCallsCollapse: ["equal-calls", "edit-after-failures"], "";
    DecodedPerRead: ["unicode", "long-answer"], "";
    CutCharacterDropped: ["unicode", "long-answer"], "";
    NoResultIsSuccess: ["sigint-mid-text", "cut-off-line"], "";
    LastLineLost: ["cut-off-line", "raw-line-separators"], "";
    LaterResultsIgnored: ["subagent-background", "compaction"], "";
    OverAtFirstResult: ["subagent-background", "compaction"], "";
    StrictParser: ["unicode", "unicode-live"], "";
    LineSeparatorSplits: ["raw-line-separators", "cut-off-line"], "";
    TypeMustBeFirst: ["result-only-text", "api-400"], "";
    OpenTextNotHeldBack: ["secrets", "secrets-asked"], "";
    ResultsRaw: ["secrets", "secrets-asked"], "";
    ArgumentsRaw: ["secrets", "secrets-asked"], "";
    NothingMasked: ["secrets", "secrets-asked"], "";
    ConfigFolderIgnored: [], "unit tests alone, because no scenario looks for a transcript";
    FailureUnsaid: ["long-error", "api-400"], "";
    CompactionUnsaid: ["compaction", "hooks-live"], "";
    MaxTurnsIsAnswer: ["max-turns", "long-error"], "";
    HookStopIsAnswer: ["hook-stops", "hook-stops-prompt"], "";
    FirstTurnEndsProcess: ["permission-late", "subagent-background"], "";
    NotificationNeedsAnswer: ["notification-first", "bash-left-running"], "no scenario: every recorded notification is answered with text";
    QuestionUnasked: ["permission-deny-interrupt", "ask-user"], "";
    RunsBeforeYes: ["permission-allow", "permission-parallel"], "";
    AskerLost: ["permission-from-subagent", "subagent-background-live"], "";
    CancelledQuestionStays: ["permission-unanswered", "live-interrupt-while-asking"], "";
    ChoiceUnasked: ["ask-user", "ask-user-multi"], "";
    ResultKeyNeeded: ["live-interrupt-then-next", "live-interrupt-while-asking"], "";
    ResultEndsNextTurn: ["live-queue", "live-interrupt-then-next"], "no scenario: no recorded result leaves out a message that has begun";
    MessageInTurnLost: ["live-message-mid-tool", "live-queue"], "";
    MessageAnsweredTwice: ["subagent-background-live", "live-queue"], "";
    NamelessMessageTwice: ["message-without-id", "empty-result"], "";
    ResultTextDropped: ["result-only-text", "hook-stops-prompt"], "";
    UnknownEventEndsRun: ["rate-limit-event", "notification-first"], "";
    BadLineEndsRun: ["cut-off-line", "raw-line-separators"], "no scenario: no recording has a line that is no record";
    LongWaitCapped: ["chat-rate-limited"], "";
    WaitIgnored: ["chat-rate-limited"], "";
    DraftBesideQuestion: ["ask-user", "permission-deny-interrupt"], "";
    ToolsWithoutSign: ["chat-rate-limited", "task-list"], "";
    PageTooLong: ["markdown-pages", "long-answer"], "";
    AnswerCut: ["markdown-pages", "long-answer"], "";
    LineDroppedUncounted: ["cut-off-line", "raw-line-separators"], "";
    LineUnclassed: ["resume-missing-live", "result-only-text"], "";
    SequenceGap: ["mcp-image", "tool-error"], "";
    ResultsDropped: ["mcp-image", "tool-error"], "";
    ThrottleHalved: ["mcp-image", "tool-error"], "";
    TypingInWait: ["chat-rate-limited"], "";
    TypingAfterFinal: ["mcp-image", "tool-error"], "";
    DraftAgainAfterLoss: ["chat-lost-replies", "chat-lost-replies-live"], "";
    FinalAgainAfterLoss: ["long-answer"], "";
    ListenerPanics: ["cut-off-line", "raw-line-separators"], "";
    WatchdogAsleep: ["stalled", "stalled-resumed"], "";
    WatchdogDeafToBytes: ["slow-lines", "stalled-resumed"], "";
    QuestionClosedTwice: ["permission-deny-interrupt", "ask-user"], "";
}
