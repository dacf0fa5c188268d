//! A finding: one named failure, with a sentence, the place, the command that reproduces it and the one that fixes it;
//! and the result of a check.
//!
//! [`Finding`] is what the checks make and every report shows, and it is serialised as it is. All of its text is made
//! safe to print when it is made or read, by [`Finding::safe`].
//!
//! A kind has an id and a name. A reader pastes the commands of a report into a shell, and a report can come from
//! anyone. A line that was read therefore counts as a command only if clitape itself would write it.

use std::convert::Infallible;
use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use clitape_recording::names::CliVersion;
use clitape_recording::text::{plain, shell_words};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diff::pairs::{Change, Class, DiffLine, DiffSide};
use crate::diff::{ChatDiff, ContextMoment};

/// The id and the name of a finding as reports have them: `GW003 edit-after-final`.
///
/// A report may come from another version of clitape with kinds that this one lacks; their ids are kept as they are.
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
    /// Makes a finding without a difference and without context.
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

    /// Adds the command that fixes it.
    #[must_use]
    pub fn with_fix(mut self, fix: String) -> Self {
        self.fix = Some(FindingCommand::made(fix));
        self.safe()
    }

    /// Adds the difference between two texts: its summary, and its lines.
    #[must_use]
    pub fn with_difference(mut self, change: Option<Change>, diff: Vec<DiffLine>) -> Self {
        (self.class, self.consequences) = match change {
            Some(Change { class, consequences }) => (Some(class), consequences),
            None => (None, Vec::new()),
        };
        self.diff = diff;
        self.safe()
    }

    /// Adds the golden that the diff was made with, whose text begins below `header` lines.
    #[must_use]
    pub fn with_golden(mut self, file: &str, header: usize) -> Self {
        let differs = |line: &DiffLine| matches!(line.side, DiffSide::Expected | DiffSide::Got);
        let first = self.diff.iter().position(differs).unwrap_or(0);
        // An added line takes the place of the line before it.
        let is_expected = self.diff.get(first).is_some_and(|line| line.old.is_some());
        let upto = &self.diff[..(first + usize::from(is_expected)).min(self.diff.len())];
        let text = upto.iter().rev().find_map(|line| line.old).unwrap_or(1);
        self.golden = Some(GoldenLine { file: file.to_owned(), line: header + text });
        self.safe()
    }

    /// Adds the input beside the output, moment by moment.
    #[must_use]
    pub fn with_context(mut self, context: Vec<ContextMoment>) -> Self {
        self.context = context;
        self.safe()
    }

    /// Adds the chat at the moment at which it and its golden diverge.
    #[must_use]
    pub fn with_chat(mut self, chat: Option<ChatDiff>) -> Self {
        self.chat = chat;
        self.safe()
    }

    /// Makes every text safe to print, on one line each; safe text stays as it is.
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

/// The result of a check: its findings, and the work that it did.
#[derive(Debug, Clone, Default)]
pub struct CheckResult {
    /// The findings; empty if the check passed.
    pub findings: Vec<Finding>,
    /// The number of goldens compared.
    pub goldens: u64,
    /// The number of seeded plans, whose cuts the parser gets.
    pub plans: u64,
    /// The number of seeded plans that were replayed; the lines of the others end at the times of one of these.
    pub replayed: u64,
    /// The remarks about the stored plans, in sentences.
    pub notes: Vec<String>,
}

/// Defines [`FindingKind`] with the id and the name of each kind beside it, so that no kind can be
/// without them.
macro_rules! finding_kinds {
    ($(#[doc = $title:literal] $kind:ident = $id:literal $name:literal,)+) => {
        /// The kinds of findings, each with a stable id, which is never used again for something else.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FindingKind {
            $(#[doc = $title] $kind,)+
        }

        impl FindingKind {
            /// All kinds, in the order of their definition.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// Returns the id and the name.
            fn row(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$kind => ($id, $name),)+
                }
            }

            /// Returns what the finding says in general, in a sentence.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$kind => $title,)+
                }
                .trim_start()
            }
        }
    };
}

finding_kinds! {
    /// A lane is not what its golden says.
    GoldenDiffers = "GD001" "golden-differs",
    /// A lane has no golden.
    GoldenMissing = "GD002" "golden-missing",
    /// A golden that no lane was compared with.
    GoldenOrphan = "GD003" "golden-orphan",
    /// A golden file that can't be read.
    GoldenUnreadable = "GD004" "golden-unreadable",
    /// An outcome of a chat with variants that neither its golden nor a variant says.
    OutcomeUnnamed = "GD005" "outcome-unnamed",
    /// A variant that no replay gave.
    VariantNeverSeen = "GD006" "variant-never-seen",
    /// A replay under a plan gave another trace than the uncut one.
    PlanDiverges = "PL001" "plan-diverges",
    /// With faults of the chat's server a person ends up reading something else than without.
    WrongFinalText = "PL002" "misread",
    /// With the recorded cuts and times a person ends up reading something else.
    RecordedDiverges = "PL003" "recorded-diverges",
    /// With a fault of the agent's side a person does not see what they must.
    FaultUnseen = "PL004" "fault-unseen",
    /// A lane in which the second side of a comparison is not what the first one is.
    SidesDiffer = "CM001" "sides-differ",
    /// A replay that could not be compared, because a side failed.
    NotCompared = "CM002" "not-compared",
    /// A scenario, or a CLI version it names, has no cassette.
    NotRecorded = "TP001" "not-recorded",
    /// A cassette whose scenario is not there.
    CassetteOrphan = "TP002" "cassette-orphan",
    /// A manifest that its scenario or its timeline contradicts.
    ManifestDiffers = "TP003" "manifest-differs",
    /// A timeline with times that no program takes.
    TimesImplausible = "TP004" "times-implausible",
    /// A recording that was made from the scenario as it was before.
    RecordingStale = "TP005" "recording-stale",
    /// A line of stdout that the parser did not read, or did not count.
    LineLost = "ST001" "line-lost",
    /// A line of stdout that is a JSON object and that the parser takes for no record.
    RecordRefused = "ST002" "record-refused",
    /// A call of stdout that does not start once, or one that stdout does not have.
    CallNotStated = "ST003" "call-not-stated",
    /// A call that starts with another name, other arguments or another parent than stdout states.
    CallMisread = "ST004" "call-misread",
    /// A call that ends otherwise than stdout states.
    ResultMisread = "ST005" "result-misread",
    /// A report of a growing input that the input does not begin with.
    InputMisread = "ST006" "input-misread",
    /// A field of a growing input that is whole and is not reported.
    FieldUnreported = "ST007" "field-unreported",
    /// A field of a growing input that is reported again though it has hardly grown.
    FieldRepeated = "ST008" "field-repeated",
    /// Text or reasoning of a message that is not that of stdout.
    TextMisread = "ST009" "text-misread",
    /// An event of text or of reasoning without a word.
    EmptyDelta = "ST010" "empty-delta",
    /// A turn that ends otherwise than its result states.
    EndingMisread = "ST011" "ending-misread",
    /// An answer that is not what the model said.
    AnswerMisread = "ST012" "answer-misread",
    /// Text of a message that broke off and that is not retracted.
    TextKept = "ST013" "text-kept",
    /// A tool call that did not start once and end once.
    ToolUnbalanced = "GW001" "tool-unbalanced",
    /// The bus has a gap, or no single end.
    BusBroken = "GW002" "bus-broken",
    /// A call of the channel after the final text.
    EditAfterFinal = "GW003" "edit-after-final",
    /// More or fewer final texts than one.
    FinalNotOnce = "GW004" "final-not-once",
    /// More than one visible message where one would do, or a gap without any.
    SecondMessage = "GW005" "second-message",
    /// A channel call sooner after the last one than the throttle allows.
    TooFast = "GW006" "too-fast",
    /// Progress in the channel after the agent has sent its message with a tool.
    ToldAfterSend = "GW007" "told-after-send",
    /// A silent run of which the channel heard.
    SilentRunTold = "GW008" "silent-run-told",
    /// A callback of a channel failed, or was given up.
    CallbackFailed = "GW009" "callback-failed",
    /// A call of the channel before the time that the chat's server asked to wait was over.
    CalledTooEarly = "GW010" "called-too-early",
    /// A listener of the bus panicked.
    ListenerPanicked = "GW011" "listener-panicked",
    /// A listener of the gateway is on the bus when the run is over.
    ListenerLeft = "GW012" "listener-left",
    /// The bus says that a run is over before the last call of its chat.
    EndedEarly = "GW013" "ended-early",
    /// A call of a chat that was made while another one was under way.
    CallsOverlap = "GW014" "calls-overlap",
    /// An event of the parser that the bus does not have, or has under another conversation.
    BusDiffers = "GW015" "bus-differs",
    /// A secret of a tool on the bus or in a channel.
    SecretTold = "GW016" "secret-told",
    /// Reasoning in a chat that does not show it.
    ReasoningShown = "GW017" "reasoning-shown",
    /// Words of a subagent in the main chat.
    SubagentShown = "GW018" "subagent-shown",
    /// A draft whose lines are not the calls of its turn.
    LinesMiscounted = "GW019" "lines-miscounted",
    /// A pause for a compaction that the chat does not mention.
    PauseUnshown = "GW020" "pause-unshown",
    /// A page that is longer than the service takes.
    PageTooLong = "GW021" "page-too-long",
    /// A tool that ran before the person had said yes, or after a no.
    ToolBeforeYes = "QU001" "tool-before-yes",
    /// A question that the chat never shows or that is never closed, or whose buttons stay in the chat.
    QuestionLeft = "QU002" "question-left",
    /// A question that is closed twice, or asked again after it was closed.
    AnsweredTwice = "QU003" "answered-twice",
    /// A question under the name of another conversation than the one whose call waits.
    WrongAsker = "QU004" "wrong-asker",
    /// A question that the CLI takes back and that is not closed as withdrawn.
    WithdrawnLeft = "QU005" "withdrawn-left",
    /// Buttons or a reply that make another answer than the one that the person means.
    AnswerMisunderstood = "QU006" "answer-misunderstood",
    /// A question with a button, or a request to a client, that does not show all of what is asked about.
    InputUnshown = "QU007" "input-unshown",
    /// A turn that ends with what belongs to another.
    EndedByOther = "TN001" "ended-by-other",
    /// A message of the host that no turn answers, or several do.
    NotAnsweredOnce = "TN002" "not-answered-once",
    /// An edit of a message of a turn that is over.
    EditAfterTurn = "TN003" "edit-after-turn",
    /// A tool that runs while the person sees no sign of life.
    SilentStart = "TN004" "silent-start",
    /// An event of a turn after the `complete` of its event stream, or a turn without one.
    EventAfterComplete = "SE001" "event-after-complete",
    /// A call in the event stream before the text that came before it.
    TextAfterCall = "SE002" "text-after-call",
    /// A call that the event stream does not have, or has twice.
    StreamedCallNotOnce = "SE003" "streamed-call-not-once",
    /// A call of the event stream with another name, input or outcome than it had.
    StreamedCallAltered = "SE004" "streamed-call-altered",
    /// A call of the event stream that its collector does not have.
    CallUncollected = "SE005" "call-uncollected",
    /// A hit of a search that its summary does not name.
    HitLost = "SE006" "hit-lost",
    /// A text of stdout that the event stream lacks, has out of order, or has twice.
    StreamedTextLost = "SE007" "streamed-text-lost",
    /// An update of the editor about a call that was not announced, or a second announcement.
    UnannouncedUpdate = "ED001" "unannounced-update",
    /// A call that is in progress for the editor when the person is asked about it.
    InProgressWhileAsked = "ED002" "in-progress-while-asked",
    /// A call that never ends for the editor, or ends twice.
    CallEndNotOnce = "ED003" "call-end-not-once",
    /// A turn without its one response to the editor, or an update after the last one.
    ResponseNotOnce = "ED004" "response-not-once",
    /// A result in the editor that is not the one of stdout.
    ResultAltered = "ED005" "result-altered",
    /// A text of stdout that the editor lacks, has out of order, or has twice.
    EditorTextLost = "ED006" "editor-text-lost",
    /// A call of stdout that ran, and of which the editor never learns.
    EditorCallMissing = "ED007" "editor-call-missing",
    /// An answer that the editor lacks.
    EditorAnswerLost = "ED008" "editor-answer-lost",
    /// A text that the editor has, that was taken back, and of which nothing says so.
    EditorWithdrawalUntold = "ED009" "editor-withdrawal-untold",
    /// A plan of the editor that is not the last list of todos.
    PlanStale = "ED010" "plan-stale",
    /// A session that may be resumed according to the verdict, and that the CLI did not resume.
    ResumeFailed = "SN001" "resume-failed",
    /// A verdict on a session that does not heed the open calls of its transcript.
    OpenCallUntold = "SN002" "open-call-untold",
    /// A session without an answer that may be resumed according to the verdict.
    AnswerAssumed = "SN003" "answer-assumed",
    /// A session that is given up although its transcript has an answer and no open call.
    GivenUpWithoutCause = "SN004" "given-up-without-cause",
    /// A verdict on a session that does not count the lines of subagents as such.
    SidechainCounted = "SN005" "sidechain-counted",
    /// A run that went on although the agent was silent for longer than it may be.
    SilenceEndured = "WD001" "silence-endured",
    /// A foreign parser reads something else than clitape's own.
    ParserDiffers = "SP001" "parser-differs",
    /// The answer is not in a foreign gateway's chat when the run is over.
    AnswerMissing = "SB001" "answer-missing",
    /// A part of the answer is not in the chat.
    AnswerNotWhole = "SB002" "answer-not-whole",
    /// The answer shows markup as text.
    AnswerAltered = "SB003" "answer-altered",
    /// The answer is in the chat more than once.
    AnswerTwice = "SB004" "answer-twice",
    /// An edit replaced the answer after it was whole.
    AnswerOverwritten = "SB005" "answer-overwritten",
    /// The pages of a long answer are out of order.
    PagesOutOfOrder = "SB006" "pages-out-of-order",
    /// A turn failed or broke off, and the chat does not say so.
    FailureUntold = "SB007" "failure-untold",
    /// A draft is left beside the answer.
    DraftLeft = "SB008" "draft-left",
    /// A turn left more messages than one, although one is promised.
    SeveralMessages = "SB009" "several-messages",
    /// A message still says that the agent works when the run is over.
    RunningLeft = "SB010" "running-left",
    /// The sign for typing goes on after the answer.
    TypingLeft = "SB011" "typing-left",
    /// Nothing of the bot's was on the screen after something had been.
    BlankScreen = "SB012" "blank-screen",
    /// A person saw no sign of life while the agent worked.
    NoSignOfLife = "SB013" "no-sign-of-life",
    /// Two messages of the model are joined without a space.
    TextGlued = "SB014" "text-glued",
    /// A message shows less of a text than it did before.
    TextTakenBack = "SB015" "text-taken-back",
    /// The chat never said which tools ran, although the gateway shows tools.
    ToolsUntold = "SB016" "tools-untold",
    /// A tool's input is shown as empty, and it is not.
    ArgumentsEmpty = "SB017" "arguments-empty",
    /// A question of the CLI was never shown.
    QuestionUntold = "SB018" "question-untold",
    /// The buttons of an answered question stay in the chat.
    ButtonsLeft = "SB019" "buttons-left",
    /// A run without an answer left a message.
    SilenceBroken = "SB020" "silence-broken",
    /// The chat showed a secret that only a tool has seen.
    SecretShown = "SB021" "secret-shown",
    /// The server refused a text because of its markup, and the text is lost.
    MarkupRefused = "SB022" "markup-refused",
    /// The server refused a text because of its length, and the text is lost.
    MessageTooLong = "SB023" "message-too-long",
    /// A call came before the time that the server asked to wait was over.
    WaitIgnored = "SB024" "wait-ignored",
    /// The chat was edited far more often than a server takes.
    TooManyCalls = "SB025" "too-many-calls",
    /// The gateway did not start `claude`, or did not go on talking to it.
    SubjectHung = "SB026" "subject-hung",
    /// The gateway wrote to `claude` what `claude` does not read.
    SubjectRefused = "SB027" "subject-refused",
    /// The gateway ended during a run.
    SubjectDied = "SB028" "subject-died",
    /// The gateway made more calls, or printed more, than a run may.
    SubjectFlooded = "SB029" "subject-flooded",
    /// A known difference of a subject that is over its date.
    KnownExpired = "SB030" "known-expired",
    /// A known difference of a subject that was not seen.
    KnownUnused = "SB031" "known-unused",
    /// The event bus of a gateway does not have a call of a tool, or its result.
    BusUntold = "SB032" "bus-untold",
    /// The event bus of a gateway has no event of a chat.
    BusSilent = "SB033" "bus-silent",
    /// A button of a question was pressed, and the chat had not shown all of what is asked.
    QuestionUnshown = "SB034" "question-unshown",
    /// A person read what the model said in another conversation.
    OtherConversation = "SB035" "other-conversation",
    /// The message with the answer has reasoning of the model.
    ReasoningInAnswer = "SB036" "reasoning-in-answer",
    /// The message with the answer has what a subagent said.
    SubagentInAnswer = "SB037" "subagent-in-answer",
    /// A turn that went well is told as one that failed.
    SuccessToldFailed = "SB038" "success-told-failed",
    /// A call of a tool failed and is shown as done.
    FailureShownDone = "SB039" "failure-shown-done",
    /// A line of a tool has the argument of another call.
    ArgumentOfAnother = "SB040" "argument-of-another",
    /// A record of stdout stands in the chat as it is.
    RecordShown = "SB041" "record-shown",
    /// Words of the model are joined that it wrote with a blank between them.
    BlanksLost = "SB042" "blanks-lost",
    /// The person asked to stop, and `claude` went on.
    StopIgnored = "SB043" "stop-ignored",
    /// A restart broke a turn or a question off, and the chat says nothing of it.
    RestartUntold = "SB044" "restart-untold",
    /// A message of the person has no answer, or a part of it never reached `claude`, and the chat does not say so.
    MessageLost = "SB045" "message-lost",
    /// A message that has its answer is answered once more after a restart.
    AnsweredAgain = "SB046" "answered-again",
    /// Another session is resumed than the newest one of the chat, or that of another chat.
    OldSession = "SB047" "old-session",
    /// A message of the same chat begins a new session, in which nothing of the messages before it is known.
    SessionForgotten = "SB050" "session-forgotten",
    /// The answer came only once `claude` had ended, long after its result.
    AnswerLate = "SB051" "answer-late",
    /// The person allowed the like of a call from now on, and was asked about the same call again.
    RuleForgotten = "SB052" "rule-forgotten",
    /// The person pressed a button for yes, and the chat says that it was a no; or the other way round.
    AnswerToldWrong = "SB053" "answer-told-wrong",
    /// A message of an agent that the official types of its protocol refuse.
    MessageInvalid = "SA001" "message-invalid",
    /// A text of the model that an agent never reported to the editor.
    TextUntold = "SA002" "text-untold",
    /// A call of a tool that an agent never reported to the editor.
    CallUntold = "SA003" "call-untold",
    /// A call of a tool whose input an agent never reported to the editor.
    InputUntold = "SA004" "input-untold",
    /// A call of a tool that never ended in the editor.
    CallLeftOpen = "SA005" "call-left-open",
    /// A call of a tool that failed and is shown as completed, or the other way round.
    OutcomeWrong = "SA006" "outcome-wrong",
    /// A call of a tool that is announced twice, or changed before it is announced.
    CallNotOnce = "SA007" "call-not-once",
    /// A call of a tool that runs before the person has answered.
    RanBeforeAnswer = "SA008" "ran-before-answer",
    /// A prompt that is answered with a stop reason that is not true.
    StopReasonWrong = "SA009" "stop-reason-wrong",
    /// Something of a turn that comes after the turn has ended.
    ToldAfterEnd = "SA010" "told-after-end",
    /// A person is asked by an editor that does not have all of what is asked.
    RequestCut = "SA011" "request-cut",
    /// An agent's last plan that is not the last list of todos.
    PlanNotNewest = "SA012" "plan-not-newest",
    /// A scenario that can't be loaded.
    ScenarioUnusable = "WS001" "scenario-unusable",
    /// A folder or link in `scenarios/` or `cassettes/` that can't be what stands there.
    Stray = "WS002" "stray",
    /// The unfinished files of an interrupted writer of a cassette.
    Leftover = "WS003" "leftover",
    /// A fault of the chat's server that no call gets.
    FaultNeverMet = "CK001" "fault-never-met",
    /// A check that does not end.
    CheckHangs = "CK002" "check-hangs",
    /// A cassette or a golden with a secret in it that `cassette.toml` does not allow.
    SecretKept = "SC001" "secret-kept",
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, name) = self.row();
        write!(f, "{id} {name}")
    }
}

impl FindingKind {
    /// Finds a kind by its id, by its name, or by both as reports write them; case does not matter in the id.
    pub fn find(asked: &str) -> Option<Self> {
        let asked = asked.trim();
        Self::ALL.iter().copied().find(|kind| {
            let (id, name) = kind.row();
            id.eq_ignore_ascii_case(asked) || name == asked || kind.to_string() == asked
        })
    }

    /// Returns the key of a subject that states that its design is another one, with the value that does so.
    pub fn design(self) -> Option<&'static str> {
        match self {
            Self::ToolsUntold => Some("tools_shown = false"),
            Self::NoSignOfLife => Some("progress_shown = false"),
            Self::SeveralMessages => Some("one_message = false"),
            Self::SilenceBroken => Some("silence_kept = false"),
            Self::ReasoningInAnswer => Some("reasoning_shown = true"),
            Self::SubagentInAnswer => Some("subagents_shown = true"),
            Self::SessionForgotten => Some("sessions_resumed = false"),
            _ => None,
        }
    }
}

/// A shell command that reproduces a finding or fixes it. Two commands are equal if their lines are.
#[derive(Debug, Clone)]
pub struct FindingCommand {
    line: String,
    is_own: bool,
}

impl FindingCommand {
    /// Takes a line that a check made.
    pub fn made(line: String) -> Self {
        Self { line, is_own: true }
    }

    /// Takes a line that was read from a report.
    pub fn read(line: String) -> Self {
        let is_own = shell_words(&line)
            .is_some_and(|commands| commands.iter().all(|words| is_written_here(words)));
        Self { line, is_own }
    }

    /// Returns the line.
    pub fn as_str(&self) -> &str {
        &self.line
    }

    /// Returns whether clitape itself would write this line, so that a reader may paste it.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Makes the line safe to print.
    pub fn safe(self) -> Self {
        Self { line: plain(&self.line), ..self }
    }
}

impl PartialEq for FindingCommand {
    fn eq(&self, other: &Self) -> bool {
        self.line == other.line
    }
}

impl Eq for FindingCommand {}

impl fmt::Display for FindingCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl Serialize for FindingCommand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.line)
    }
}

impl<'de> Deserialize<'de> for FindingCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::read)
    }
}

/// A subcommand as findings write it: its name, its flags, and the lists of its options with a value.
type Written = (&'static str, &'static [&'static str], &'static [&'static [&'static str]]);

/// The options of the conditions under which a subject is played.
const CONDITIONS: &[&str] = &[
    "--agent-faults",
    "--chat-faults",
    "--chat-rate",
    "--chat-seed",
    "--lives-on",
    "--pace",
    "--person",
    "--restart",
    "--seed",
];

/// The subcommands that findings write. Their options name no file that is written.
const WRITTEN: [Written; 8] = [
    ("new", &[], &[]),
    ("record", &["--force", "--redact"], &[&["--claude"]]),
    (
        "replay",
        &["--json", "--reasoning", "--resume", "--silent", "--terminal"],
        &[&[
            "--cut",
            "--delivery",
            "--fault",
            "--lane",
            "--limit",
            "--mode",
            "--pace",
            "--plan",
            "--profile",
            "--seed",
            "--seed-faults",
            "--stream-break",
            "--stuck-callback",
        ]],
    ),
    ("rename", &[], &[]),
    ("review", &[], &[]),
    ("rig", &["--c-locale", "--whole-lines"], &[CONDITIONS]),
    ("scan", &[], &[]),
    (
        "test",
        &["--c-locale", "--lanes", "--update", "--whole-lines"],
        &[CONDITIONS, &["--subject"]],
    ),
];

/// Returns whether clitape itself may put this command into a finding.
fn is_written_here(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ls", "-l" | "-la", path] => is_value(path),
        ["rm", path] => is_in_goldens(Path::new(path)),
        ["clitape", "--root", root, rest @ ..] => is_value(root) && is_subcommand(rest),
        ["clitape", rest @ ..] => is_subcommand(rest),
        _ => false,
    }
}

fn is_subcommand(words: &[&str]) -> bool {
    let Some((name, mut rest)) = words.split_first() else { return false };
    let Some((_, flags, options)) = WRITTEN.iter().find(|(of, ..)| of == name) else {
        return false;
    };
    let has = |option: &str| options.iter().any(|list| list.contains(&option));
    loop {
        rest = match rest {
            [] => return true,
            [flag, rest @ ..] if flags.contains(flag) => rest,
            // The option is refused, because it would start another program.
            ["--claude", value, rest @ ..] if has("--claude") => {
                let version = value.strip_prefix("npm:");
                match version.is_some_and(|version| version.parse::<CliVersion>().is_ok()) {
                    true => rest,
                    false => return false,
                }
            }
            [option, value, rest @ ..] if has(option) && is_value(value) => rest,
            [value, rest @ ..] if is_value(value) => rest,
            _ => return false,
        }
    }
}

/// Returns whether a word is a value rather than an option.
fn is_value(word: &str) -> bool {
    !word.starts_with('-')
}

/// Returns whether a path is that of a file among the goldens of a scenario.
fn is_in_goldens(path: &Path) -> bool {
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    matches!(parts.as_deref(), Some(["scenarios", _, "golden", _, ..]))
}

pub(crate) mod explanation;
#[cfg(test)]
mod tests;
