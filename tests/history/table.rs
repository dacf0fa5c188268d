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
    OnlyToolUseKnown: ["web-search", "blocks-at-once"], "";
    StartInputIgnored: ["web-search", "blocks-at-once"], "";
    GateOpen: ["message-tool", "message-tool-chats"], "";
    GateNeverShuts: ["message-tool", "message-tool-chats"], "";
    McpPrefixUnknown: ["message-tool", "message-tool-chats"], "";
    SilentRunBridged: ["silent-run", "silent-run-fails"], "";
    StartAgainAtStop: ["mcp-image", "tool-error"], "";
    StartAgainAsNew: ["mcp-image", "tool-error"], "";
    StartAndUpdateAsRows: ["tool-error", "hooks"], "";
    StartAgainAfterResult: ["multi-edit", "ask-user-headless"], "";
    EventsLostAtClose: ["odd-waits", "odd-turns"], "";
    ListenerLeft: ["cut-off-line", "plain-text"], "";
    EndReportedEarly: ["cut-off-line", "plain-text"], "";
    ThinkingNotOnBus: ["redacted-thinking", "thinking"], "";
    ThinkingSeedDropped: ["late-snapshots", "blocks-at-once"], "";
    EmptyThinkingReported: ["redacted-thinking", "thinking"], "";
    RedactedThinkingReported: ["redacted-thinking", "blocks-at-once"], "";
    ThinkingIntoAnswer: ["redacted-thinking", "thinking"], "";
    ThinkingShownWithoutLeave: ["redacted-thinking", "thinking"], "";
    KeptUnflushed: ["resume-killed-mid-text", "resume-terminated-mid-text"], "a session is stored whose transcript shows no answer";
    AnswerAssumed: ["resume-killed-mid-text", "resume-terminated-mid-text"], "";
    OrphansIgnored: ["resume-continue", "resume-killed-mid-tool"], "";
    OldOrphansCount: ["resume-killed-parallel", "resume-terminated-parallel"], "";
    SidechainsCount: ["resume-after-subagent", "resume-killed-after-subagent"], "";
    LastLineOnly: ["resume-killed-parallel", "resume-terminated-parallel"], "";
    OtherProvidersProbed: ["resume-interrupted-mid-text", "resume-unknown-id"], "the transcript of a session is looked for whose provider has none";
    KeysNotNamed: ["resume-killed-mid-text", "resume-terminated-mid-text"], "a setting that changed is not in the sentence about the restart";
    ValuesNamed: ["resume-killed-mid-text", "resume-terminated-mid-text"], "a value of a setting is in the sentence about the restart";
    PartialLostAfterComma: ["subagent", "multi-edit"], "";
    PartialReportedEachPiece: ["subagent", "big-write"], "";
    HalfCharacterReported: ["todo-write-pieces", "message-tool-chats"], "";
    ArrayShrinks: ["todo-write-pieces", "message-tool-chats"], "a list of an input is reported that its end does not continue";
    NumberCut: ["todo-write-pieces", "message-tool-chats"], "";
    InputParsedAgain: [], "nothing: only the time that it takes differs, and no rule limits it";
    IndexReused: ["same-index", "subagent-background-streams"], "";
    ConversationsMixed: ["subagent-streams", "subagent-background-streams"], "";
    FirstTryKept: ["sse-error-mid-text", "refusal"], "";
    FirstTryKeptAtStart: ["second-try-streams", "subagent-streams"], "";
    UnannouncedCallUpdated: ["todo-write", "todo-write-pieces"], "";
    TextNeedsDeltas: ["sse-error-mid-text", "no-partials"], "";
    ResultByCharacter: ["sigint-mid-tool", "permission-denied"], "";
    InputMissingAtEnd: ["tool-error", "web-search"], "";
    ParallelCallsMixed: ["permission-parallel", "permission-from-subagent"], "";
    ErrorAfterComplete: ["resume-missing-live", "max-turns"], "";
    TextHeldBack: ["tool-error", "api-529-then-ok"], "";
    FirstPartOnly: ["search-long-parts", "first-part-not-json"], "";
    ErrorDropsCollected: ["max-turns", "live-interrupt-text"], "";
    LastTurnOnly: ["turns-cut-short-live", "chat-busy-live"], "a call of the event stream is not collected";
    RepeatedFrameCounts: ["max-turns", "long-error-after-text"], "a text of the event stream is collected twice";
    BacklogFromStart: ["turns-cut-short-live", "chat-busy-live"], "an event comes again although the reader has named its id";
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
    RateLimitEndsDraft: ["chat-rate-limited", "chat-busy-live"], "";
    NotModifiedEndsDraft: ["chinese-answer", "chat-busy-live"], "";
    LateEdits: ["mcp-image", "tool-error"], "";
    FinalTwice: ["resume-missing-live", "result-only-text"], "";
    MessageForEachUpdate: ["mcp-image", "tool-error"], "";
    FinalAsFreshMessage: ["mcp-image", "tool-error"], "";
    NoLinesAfterText: ["mcp-image", "tool-error"], "";
    EarlierLinesUncounted: ["many-tools", "many-calls-at-once"], "";
    EqualCallsCollapse: ["equal-calls", "many-calls-at-once"], "";
    DecodedPerRead: ["long-answer", "chinese-answer"], "";
    CutCharacterDropped: ["long-answer", "chinese-answer"], "";
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
    ConfigFolderIgnored: ["resume-killed-mid-text", "resume-terminated-mid-text"], "the folder of the transcripts is not below `CLAUDE_CONFIG_DIR`";
    FailureUnsaid: ["long-error", "api-400"], "";
    CompactionUnsaid: ["compaction", "turns-cut-short-live"], "";
    MaxTurnsIsAnswer: ["max-turns", "turns-cut-short-live"], "";
    HookStopIsAnswer: ["hook-stops", "turns-cut-short-live"], "";
    FirstTurnEndsProcess: ["permission-late", "subagent-background"], "";
    NotificationNeedsAnswer: ["notification-unanswered", "notification-unanswered-live"], "a turn without a word and without a question has a message in the chat";
    QuestionUnasked: ["permission-deny-interrupt", "ask-user"], "";
    RunsBeforeYes: ["permission-allow", "permission-parallel"], "";
    AskerLost: ["permission-from-subagent", "two-subagents-ask"], "";
    CancelledQuestionStays: ["permission-unanswered", "live-interrupt-while-asking"], "";
    ChoiceUnasked: ["ask-user", "ask-user-multi"], "";
    ResultKeyNeeded: ["live-interrupt-then-next", "live-interrupt-while-asking"], "";
    ResultEndsNextTurn: ["late-result", "late-result-live"], "";
    MessageInTurnLost: ["live-message-mid-tool", "live-two-messages-mid-tool"], "";
    MessageAnsweredTwice: ["subagent-background-live", "live-queue"], "";
    NamelessMessageTwice: ["message-without-id", "slow-proxy-live"], "";
    ResultTextDropped: ["result-only-text", "hook-stops-prompt"], "";
    UnknownEventEndsRun: ["rate-limit-event", "slow-proxy-live"], "";
    BadLineEndsRun: ["second-try-streams", "same-index"], "";
    LongWaitCapped: ["chat-rate-limited", "chat-busy-live"], "";
    WaitIgnored: ["chat-rate-limited", "chat-busy-live"], "";
    DraftBesideQuestion: ["ask-user", "permission-deny-interrupt"], "";
    ToolsWithoutSign: ["chat-rate-limited", "task-list"], "";
    PageTooLong: ["markdown-pages", "long-answer"], "";
    AnswerCut: ["markdown-pages", "long-answer"], "";
    LineDroppedUncounted: ["cut-off-line", "raw-line-separators"], "";
    LineUnclassed: ["resume-missing-live", "result-only-text"], "";
    SequenceGap: ["mcp-image", "tool-error"], "";
    ResultsDropped: ["mcp-image", "tool-error"], "";
    ThrottleHalved: ["mcp-image", "tool-error"], "";
    TypingInWait: ["chat-rate-limited", "chat-busy-live"], "";
    TypingAfterFinal: ["mcp-image", "tool-error"], "";
    DraftAgainAfterLoss: ["chat-lost-replies", "chat-lost-replies-live"], "";
    QuestionCut: ["permission-long"], "";
    FinalAgainAfterLoss: ["long-answer", "chinese-answer"], "";
    ListenerPanics: ["cut-off-line", "raw-line-separators"], "";
    WatchdogAsleep: ["stalled", "stalled-resumed"], "";
    WatchdogDeafToBytes: ["slow-lines", "slow-proxy-live"], "";
    QuestionClosedTwice: ["permission-deny-interrupt", "ask-user"], "";
}
