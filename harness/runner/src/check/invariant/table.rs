//! The table of the invariants: what each one demands, and on which recordings it can be broken.
//!
//! `docs/invariants.md` is made from it, and `tests/history.rs` adds which bugs of the past each one convicts.

use clitape_judge::FindingKind;

use super::stake::Stake;
use super::stdout::{calls, endings, growth, texts};
use super::violation::Violation;
use super::{
    asked, bus, chat, editor, event_stream, questions, run, secrets, shown, stdout, turns, watchdog,
};
use crate::replay::Replay;

/// One rule of a replay that needs no golden.
#[derive(Debug, Clone, Copy)]
pub struct Invariant {
    /// The finding that a replay has which breaks it.
    pub kind: FindingKind,
    /// What it demands, in a sentence.
    pub demand: &'static str,
    /// Where it can be broken at all: the recordings, replays or scenarios that have what it is about.
    pub stake: Stake,
    /// What it reads of a replay.
    pub(super) reads: Reads,
    /// How a replay breaks it.
    pub(super) broken: fn(&Replay) -> Option<Violation<'_>>,
}

impl Invariant {
    /// How a replay breaks the rule, in a sentence; none if it keeps it.
    pub fn broken_by(&self, replay: &Replay) -> Option<String> {
        (self.broken)(replay).map(|violation| violation.sentence)
    }
}

/// What a rule reads of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// What stdout states, and the events of the lanes `lifecycle`, `bus`, `acp` and `sse`, each lane by itself: neither
    /// their times nor a chat. The rule holds for two replays alike whose events are the same.
    Events,
    /// More than that.
    Everything,
}

macro_rules! invariants {
    ($($kind:ident, $broken:expr, $demand:literal, $stake:ident, $reads:ident;)+) => {
        /// All invariants, in the order in which they are checked and listed.
        pub const INVARIANTS: &[Invariant] = &[$(Invariant {
            kind: FindingKind::$kind,
            demand: $demand,
            stake: Stake::$stake,
            reads: Reads::$reads,
            broken: $broken,
        }),+];
    };
}

invariants! {
    LineLost, run::line_lost,
        "Every line of stdout is accounted for.",
        Every, Everything;
    RecordRefused, stdout::record_refused,
        "A line of stdout that is a JSON object is a record.",
        Every, Everything;
    CallNotStated, calls::call_not_stated,
        "Each call of stdout starts once, and no other call does.",
        Calls, Events;
    CallMisread, calls::call_misread,
        "A call starts with the name, the arguments and the parent that stdout states.",
        Calls, Events;
    ResultMisread, calls::result_misread,
        "A call ends with the result that stdout states, well or with an error.",
        Calls, Events;
    InputMisread, growth::input_misread,
        "What is reported of a growing input is a beginning of the input.",
        StreamedCalls, Events;
    FieldUnreported, growth::field_unreported,
        "A field that is whole before its input is has been reported.",
        StreamedCalls, Events;
    FieldRepeated, growth::field_repeated,
        "An open field is reported again only when it has grown.",
        StreamedCalls, Events;
    TextMisread, texts::text_misread,
        "The text and the reasoning of each message are those of stdout.",
        Messages, Events;
    TextKept,
        texts::text_kept,
        "What a message said that broke off is retracted once another one follows.",
        BrokenMessages, Events;
    EmptyDelta, texts::empty_delta,
        "No event of text or of reasoning is empty.",
        Messages, Events;
    EndingMisread, endings::ending_misread,
        "Each result of stdout ends a turn, as a failure if it says so, and only then.",
        Results, Events;
    AnswerMisread, endings::answer_misread,
        "The answer is all that the model said in the turn, once and in order.",
        Answers, Events;
    ToolUnbalanced, run::tool_unbalanced,
        "Every tool call starts once and ends once, in this order.",
        Calls, Events;
    BusBroken, run::bus_broken,
        "The bus counts without gaps; the run starts first and ends once, last.",
        Every, Events;
    BusDiffers, bus::bus_differs,
        "What the parser says of texts, calls and messages is on the bus, under the same conversation.",
        Messages, Events;
    SecretTold, secrets::secret_told,
        "No secret that only a tool has seen is on the bus or in a channel.",
        Secrets, Everything;
    EditAfterFinal, chat::edit_after_final,
        "No edit comes once the final text is in the chat.",
        Chats, Everything;
    FinalNotOnce, chat::final_not_once,
        "The final text reaches the chat exactly once; never in a silent run.",
        Chats, Everything;
    SecondMessage, chat::second_message,
        "The draft is one message, edited forward.",
        Chats, Everything;
    TooFast, chat::too_fast,
        "Calls of the draft keep a second apart.",
        Chats, Everything;
    ToldAfterSend, chat::told_after_send,
        "Once the agent has sent its message with a tool, the draft shows nothing more.",
        SendingTools, Everything;
    SilentRunTold, chat::silent_run_told,
        "Nothing of a silent run reaches the chat.",
        SilentRuns, Everything;
    CallbackFailed, run::callback_failed,
        "No callback of the channel fails or is given up.",
        Chats, Everything;
    CalledTooEarly, chat::called_too_early,
        "No call comes before the time that the chat's server asked to wait is over.",
        Waits, Everything;
    ListenerPanicked, run::listener_panicked,
        "No listener of the bus panics.",
        Every, Everything;
    ListenerLeft, run::listener_left,
        "Nothing of the gateway listens on the bus after the run.",
        Every, Everything;
    EndedEarly, chat::ended_early,
        "The bus says that a run is over only after the last call of its chat.",
        Chats, Everything;
    CallsOverlap, chat::calls_overlap,
        "Two calls of a chat are never under way at a time.",
        Chats, Everything;
    ReasoningShown, shown::reasoning_shown,
        "No reasoning is in a chat that does not show it.",
        Reasoning, Everything;
    SubagentShown, shown::subagent_shown,
        "What a subagent says is not in the main chat.",
        Subagents, Everything;
    LinesMiscounted, shown::lines_miscounted,
        "The lines of a draft, folded ones included, are the calls of its turn so far.",
        Calls, Everything;
    PauseUnshown, shown::pause_unshown,
        "While the conversation is compacted, the chat says so.",
        Compactions, Everything;
    PageTooLong, shown::page_too_long,
        "No page is longer than the service takes.",
        LongTexts, Everything;
    ToolBeforeYes, questions::tool_before_yes,
        "No tool that a person is asked about runs before the yes, or after a no.",
        Questions, Everything;
    QuestionLeft, questions::question_left,
        "Every question is shown and closed, and its buttons leave the chat.",
        Questions, Everything;
    AnsweredTwice, questions::answered_twice,
        "Every question is closed once, and not asked again.",
        Questions, Everything;
    WrongAsker, questions::wrong_asker,
        "A question has the name of the agent whose call waits.",
        Questions, Events;
    WithdrawnLeft, questions::withdrawn_left,
        "A question that the CLI takes back is closed as withdrawn.",
        Withdrawals, Events;
    AnswerMisunderstood, questions::answer_misunderstood,
        "A button of a question, or a reply to it, makes the answer that was recorded.",
        Questions, Everything;
    InputUnshown, asked::input_unshown,
        "All of what a question asks about is shown before it has a button, and is in the request to a client.",
        Questions, Everything;
    EndedByOther, turns::ended_by_other,
        "A turn ends with its own outcome, and its text is of messages that began in it.",
        Turns, Events;
    NotAnsweredOnce, turns::not_answered_once,
        "Every message of the host is answered by one turn, or folded into one.",
        HostMessages, Events;
    EditAfterTurn, turns::edit_after_turn,
        "No message of a turn that is over is edited.",
        Turns, Everything;
    SilentStart, turns::silent_start,
        "The person sees a sign of life soon after a tool starts.",
        LongCalls, Everything;
    EventAfterComplete, event_stream::event_after_complete,
        "The last event of a turn in the event stream is its one `complete`.",
        Every, Events;
    TextAfterCall, event_stream::text_after_call,
        "The text before a call is in the event stream before the call.",
        Calls, Events;
    StreamedCallNotOnce, event_stream::streamed_call_not_once,
        "Each call that started is one `tool_use` of the event stream.",
        Calls, Events;
    StreamedCallAltered, event_stream::streamed_call_altered,
        "A `tool_use` has the name and the input of its start, and says whether it failed.",
        Calls, Events;
    CallUncollected, event_stream::call_uncollected,
        "What is collected of an event stream has each of its calls.",
        Calls, Events;
    HitLost, event_stream::hit_lost,
        "The summary of a search names each hit of its result.",
        Searches, Events;
    StreamedTextLost, event_stream::streamed_text_lost,
        "Each text of stdout is in the event stream, once and in order.",
        Messages, Events;
    UnannouncedUpdate, editor::unannounced_update,
        "The editor learns of a call once, before anything else is said of it.",
        EditorCalls, Events;
    InProgressWhileAsked, editor::in_progress_while_asked,
        "A call about which the person is asked is not in progress in the editor.",
        EditorQuestions, Events;
    CallEndNotOnce, editor::call_end_not_once,
        "Each call that the editor knows ends once, before its turn is answered.",
        EditorCalls, Events;
    ResponseNotOnce, editor::response_not_once,
        "Each turn that is over has one response to the editor, and nothing comes after the last.",
        Editors, Events;
    ResultAltered, editor::result_altered,
        "The result of a call in the editor is that of stdout.",
        EditorCalls, Events;
    EditorTextLost, editor::editor_text_lost,
        "Each text of stdout is in the editor, once and in order.",
        Editors, Events;
    EditorCallMissing, editor::editor_call_missing,
        "Each call of stdout that has a result is in the editor.",
        EditorCalls, Events;
    SilenceEndured, watchdog::silence_endured,
        "A run does not outlast a silence of the agent that is longer than its limit.",
        Silences, Everything;
}
