//! Bugs that gateways have had, each of which a test can switch on ([`docs/history.md`] lists them).
//!
//! The code that has a bug planted asks [`planted`] whether it is on. Without the feature `planted`, which only
//! the tests of this workspace enable, the answer is the constant `false`, so that the compiler removes the bug.
//! With it, one bug is on at a time in the whole process; `tests/history.rs` switches them.
//!
//! [`docs/history.md`]: https://docs.rs/crate/clitape/latest/source/docs/history.md

#[cfg(feature = "planted")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Defines [`Plant`] with the row that each bug is known by beside it.
macro_rules! plants {
    ($(#[doc = $doc:literal] $plant:ident = $row:literal,)+) => {
        /// A bug that is planted. `H` is a row of the project's history, `F` one of the bugs that other gateways
        /// had; `-` is a bug of neither.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Plant {
            $(#[doc = $doc] $plant,)+
        }

        #[cfg(feature = "planted")]
        impl Plant {
            /// All bugs, in the order of their definition.
            pub const ALL: &[Self] = &[$(Self::$plant),+];

            /// The row it is known by, and what the bug is.
            pub const fn row(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$plant => ($row, $doc),)+
                }
            }
        }
    };
}

plants! {
    /// No event of a tool reaches the bus.
    ToolEventsDropped = "H01",
    /// The bridge passes no event of a tool on to the channel.
    BridgeDropsTools = "H01",
    /// A call starts with empty arguments: the deltas are not joined, and the snapshot is not read.
    DeltasNotJoined = "H02",
    /// A call starts when its block begins, before its arguments are there.
    StartAtBlockStart = "H02",
    /// Calls that the API or an MCP server runs are not recognised.
    OnlyToolUseKnown = "H03",
    /// The input that a block has at its start is ignored.
    StartInputIgnored = "H03",
    /// Progress goes on after the agent has sent its message with a tool.
    GateOpen = "H04",
    /// The result of the sending tool is not noticed, so that the answer is sent again.
    GateNeverShuts = "H04",
    /// A sending tool of an MCP server is not recognised by its name.
    McpPrefixUnknown = "H04",
    /// A silent run is shown in the chat.
    SilentRunBridged = "H05",
    /// A call is reported a second time when its block stops.
    StartAgainAtStop = "H06",
    /// A call whose snapshot came before its block stopped starts again, as a new one.
    StartAgainAsNew = "H06",
    /// An update and the start of one call are two lines of the draft.
    StartAndUpdateAsRows = "H06",
    /// A snapshot that comes after the call's result starts the call again.
    StartAgainAfterResult = "H06",
    /// Events that wait for a slow callback are lost when the run ends.
    EventsLostAtClose = "H07",
    /// A listener stays on the bus after the run.
    ListenerLeft = "H07",
    /// The bus reports the end before the last message is delivered.
    EndReportedEarly = "H07",
    /// Reasoning does not reach the bus.
    ThinkingNotOnBus = "H08",
    /// The reasoning that a block has at its start is dropped.
    ThinkingSeedDropped = "H08",
    /// Reasoning without a word is reported.
    EmptyThinkingReported = "H08",
    /// Reasoning that the API withholds is reported as text.
    RedactedThinkingReported = "H08",
    /// Reasoning is taken for the answer.
    ThinkingIntoAnswer = "H09",
    /// The draft shows reasoning although the chat does not want it.
    ThinkingShownWithoutLeave = "H09",
    /// A session is kept before its transcript shows an answer.
    KeptUnflushed = "H10",
    /// A transcript without an answer counts as one with an answer.
    AnswerAssumed = "H10",
    /// A call without a result does not keep a session from being resumed.
    OrphansIgnored = "H11",
    /// Open calls of earlier messages count as well.
    OldOrphansCount = "H12",
    /// Lines of subagents count as the conversation.
    SidechainsCount = "H12",
    /// Only the last line of a message that calls several tools is looked at.
    LastLineOnly = "H12",
    /// The transcript of another provider's session is looked for.
    OtherProvidersProbed = "H13",
    /// The sentence about a restart does not name the settings that changed.
    KeysNotNamed = "H14",
    /// The sentence about a restart names the values of settings.
    ValuesNamed = "H14",
    /// After its first field nothing more of a streaming input is reported.
    PartialLostAfterComma = "H15",
    /// An open field is reported again for each piece of it.
    PartialReportedEachPiece = "H15",
    /// A character whose escape is cut is reported as half of one.
    HalfCharacterReported = "H15",
    /// An open list may shrink from one report to the next.
    ArrayShrinks = "H15",
    /// A number at the end of an open list is reported before it is whole.
    NumberCut = "H15",
    /// The whole input is parsed again for each piece.
    InputParsedAgain = "H15",
    /// A block whose index is used again keeps its buffer.
    IndexReused = "H16",
    /// The streams of subagents and of the main conversation share their buffers.
    ConversationsMixed = "H16",
    /// The text of a message that broke off stays beside the second try.
    FirstTryKept = "H17",
    /// A message that begins does not take back the one that broke off.
    FirstTryKeptAtStart = "H17",
    /// An editor gets an update of a call that was never announced.
    UnannouncedCallUpdated = "H18",
    /// Without partial messages there is no text.
    TextNeedsDeltas = "H18",
    /// A result that is a string is spread by character.
    ResultByCharacter = "H18",
    /// The event of a tool that has ended has no input.
    InputMissingAtEnd = "H19",
    /// Two calls that are open at once are mixed up.
    ParallelCallsMixed = "H19",
    /// The event stream is complete before it says that the run failed.
    ErrorAfterComplete = "H20",
    /// The event stream sends the text with its last event only.
    TextHeldBack = "H20",
    /// The summary of a search reads the first part of its result only.
    FirstPartOnly = "H21",
    /// An error drops what the collector has.
    ErrorDropsCollected = "H22",
    /// The collector keeps the calls of the last turn only.
    LastTurnOnly = "H22",
    /// A frame that comes again after a reconnect is collected again.
    RepeatedFrameCounts = "H23",
    /// A reader that reconnects gets the whole backlog again.
    BacklogFromStart = "H23",
    /// The answer is the text of the result alone, without what came before a call.
    ResultOnly = "H24",
    /// Two messages are joined without a blank line.
    TextGlued = "H24",
    /// An empty result makes the text that streamed no answer.
    StreamedTextLost = "H25",
    /// A turn without text is a failure.
    ToolOnlyTurnFails = "H25",
    /// An error with the subtype success is an answer.
    ErrorFlagIgnored = "H26",
    /// The CLI's words about an error of the API are text of the model.
    ApiErrorIsText = "H26",
    /// What subagents say and do belongs to the main conversation.
    SubagentsAreMain = "H27",
    /// The bus does not say which events are of a subagent.
    ParentLost = "H27",
    /// The text of a subagent is shown in the main chat.
    SubagentTextShown = "H27",
    /// Output of more than 8 MiB ends the run.
    OutputCapped = "H28",
    /// More than 20,000 lines end the run.
    RecordsCapped = "H28",
    /// The first 429 ends the draft.
    RateLimitEndsDraft = "H29",
    /// An edit that changes nothing ends the draft.
    NotModifiedEndsDraft = "H29",
    /// An edit of the draft comes after the final message.
    LateEdits = "H29",
    /// The final message is sent twice.
    FinalTwice = "H30",
    /// Each update of the draft is a message of its own.
    MessageForEachUpdate = "H30",
    /// The final message leaves the draft beside it.
    FinalAsFreshMessage = "H30",
    /// Tools that run after the first text have no line.
    NoLinesAfterText = "H31",
    /// The lines of tools that scrolled off are not counted.
    EarlierLinesUncounted = "H31",
    /// Equal calls in a row look like one.
    EqualCallsCollapse = "H31",
    /// Each read is decoded by itself, so that a character that is cut becomes U+FFFD.
    DecodedPerRead = "H32",
    /// Each read is decoded by itself, so that a character that is cut is dropped.
    CutCharacterDropped = "H32",
    /// Output that ends without a result is a success.
    NoResultIsSuccess = "H33",
    /// The last line is lost when no line feed ends it.
    LastLineLost = "H33",
    /// Results after the first are ignored.
    LaterResultsIgnored = "H34",
    /// The run is over at the first result.
    OverAtFirstResult = "H34",
    /// A line with half of a surrogate pair is no record.
    StrictParser = "H35",
    /// A raw U+2028 splits a line.
    LineSeparatorSplits = "H35",
    /// A record whose first key is not the type is no record.
    TypeMustBeFirst = "H36",
    /// Arguments that still grow show the beginning of a secret.
    OpenTextNotHeldBack = "H38",
    /// Results of tools reach the bus as they are.
    ResultsRaw = "H38",
    /// Arguments of tools reach the bus as they are.
    ArgumentsRaw = "H38",
    /// No secret is masked.
    NothingMasked = "H38",
    /// The transcript is looked for in the home folder, whatever `CLAUDE_CONFIG_DIR` says.
    ConfigFolderIgnored = "H39",
    /// A run that failed does not say so.
    FailureUnsaid = "H40",
    /// A compaction has no line.
    CompactionUnsaid = "H40",
    /// A run that reached its limit of turns is a success.
    MaxTurnsIsAnswer = "H40",
    /// A turn that a hook stopped is a success.
    HookStopIsAnswer = "H40",
    /// What comes after the first turn of a process is dropped.
    FirstTurnEndsProcess = "F01",
    /// A turn that only takes note of a notification leaves a message.
    NotificationNeedsAnswer = "F03",
    /// A permission is never asked for.
    QuestionUnasked = "F06",
    /// An editor is told that a call runs while the person has not said yes.
    RunsBeforeYes = "F13",
    /// A question of a subagent has the name of the main agent.
    AskerLost = "F11",
    /// A question that the CLI takes back stays on the screen.
    CancelledQuestionStays = "F12",
    /// A question with choices is never shown.
    ChoiceUnasked = "F14",
    /// A result without the key `result` ends no turn.
    ResultKeyNeeded = "F15",
    /// The result of a turn also ends the one that has begun.
    ResultEndsNextTurn = "F16",
    /// A message that becomes part of a turn is not shown.
    MessageInTurnLost = "F17",
    /// A message that was answered is answered by the next turn as well.
    MessageAnsweredTwice = "F18",
    /// The snapshot of a message without an id is another message.
    NamelessMessageTwice = "F19",
    /// A text that is in the result alone is dropped.
    ResultTextDropped = "F20",
    /// The parser stops at an event about a rate limit.
    UnknownEventEndsRun = "F21",
    /// The parser stops at a line that is no record.
    BadLineEndsRun = "F23",
    /// A wait of more than 5 s that the chat's server asks for is cut short.
    LongWaitCapped = "F24",
    /// The chat's server is called before the time is over for which it asked to wait.
    WaitIgnored = "F24",
    /// A call of the chat is made while another one is under way.
    DraftBesideQuestion = "F25",
    /// While a tool runs, the person sees nothing.
    ToolsWithoutSign = "F26",
    /// A page is longer than the server takes.
    PageTooLong = "F27",
    /// Only the first page of a long answer is sent.
    AnswerCut = "F27",
    /// A line is dropped before it is counted.
    LineDroppedUncounted = "-",
    /// A line is counted and never classed.
    LineUnclassed = "-",
    /// The numbers of the bus have gaps.
    SequenceGap = "-",
    /// The results of calls are dropped.
    ResultsDropped = "-",
    /// The draft is edited twice as often as it may be.
    ThrottleHalved = "-",
    /// The sign for typing is sent while the server asks to wait.
    TypingInWait = "-",
    /// The sign for typing goes on after the final message.
    TypingAfterFinal = "-",
    /// A draft is sent again and again while its answers are lost.
    DraftAgainAfterLoss = "-",
    /// A question has its buttons below the first message of what it asks, and the rest is never shown.
    QuestionCut = "-",
    /// The final message is sent again when its answer is lost.
    FinalAgainAfterLoss = "-",
    /// The listener of the event stream panics at every tool.
    ListenerPanics = "-",
    /// A run that prints nothing is never given up.
    WatchdogAsleep = "-",
    /// Half a line does not count as a sign of life.
    WatchdogDeafToBytes = "-",
    /// A question that is closed is closed again.
    QuestionClosedTwice = "-",
}

/// The number of the bug that is on, from 1; 0 is none.
#[cfg(feature = "planted")]
static ON: AtomicUsize = AtomicUsize::new(0);

/// Switches this bug on, and every other one off.
#[cfg(feature = "planted")]
pub fn plant(plant: Option<Plant>) {
    ON.store(plant.map_or(0, |plant| plant as usize + 1), Ordering::SeqCst);
}

/// Whether this bug is on.
#[cfg(feature = "planted")]
pub fn planted(plant: Plant) -> bool {
    ON.load(Ordering::Relaxed) == plant as usize + 1
}

/// Whether this bug is on; none is without the feature `planted`.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn planted(_: Plant) -> bool {
    false
}
