//! The one table of rules: the demand of each, the subjects that must keep it, and the recordings in which it can be
//! broken.
//!
//! `docs/invariants.md` and `docs/subject-rules.md` are made from it, and `tests/history.rs` adds which bugs of the
//! past each rule convicts. A new rule is a row here, a check in the file of its part, and a test.
//!
//! The stake of a rule is the content that a replay must have so that the rule can be broken in it.

use clitape_recording::facts::RecordedCall;
use clitape_recording::scenario::DeliverySpec;
use clitape_recording::trace::Lane;

use super::event_stream::{self, is_search};
use super::{
    answer, bus, chat, editor, failure, interlude, questions, run, session, stdout, tools, turns,
    visible,
};
use crate::FindingKind;
use crate::case::{Broken, Case, Derived};
use crate::observation::{Observation, ObservedEnding};

/// A check of a case: the first in time that breaks a rule.
type RuleCheck = fn(Case<'_>) -> Option<Broken<'_>>;

/// A rule about the observed entries of a run, which needs no golden.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The finding about a case that breaks it.
    pub kind: FindingKind,
    /// The finding about a subject of others, where it has another name or is not as strict.
    pub of_others: Option<FindingKind>,
    /// The demand, in a sentence.
    pub demand: &'static str,
    /// The recordings or runs in which it can be broken at all, because they have what it is about.
    pub stake: Stake,
    /// The cases to which it applies.
    pub needs: Needs,
    /// The check of any subject.
    check: RuleCheck,
    /// The check of clitape's own gateway, where that is held to more than others.
    strictly: Option<RuleCheck>,
}

/// The cases to which a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The subjects whose runs are judged.
    pub scope: RuleScope,
    /// The lane that must be there: that of a chat, of an editor or of a session.
    pub lane: Option<Lane>,
    /// True if the run must have come to its end.
    pub end: bool,
}

/// The subjects whose runs a rule judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleScope {
    /// Those of clitape's own gateway, which reports its events, its bus and its event stream.
    Own,
    /// Those of a gateway or an agent of others.
    Others,
    /// All.
    All,
}

const ALL: Needs = Needs { scope: RuleScope::All, lane: None, end: false };
const CHAT: Needs = Needs { lane: Some(Lane::Telegram), ..ALL };
const EDITOR: Needs = Needs { lane: Some(Lane::Acp), ..ALL };
const OWN: Needs = Needs { scope: RuleScope::Own, ..ALL };
const SESSION: Needs = Needs { lane: Some(Lane::Session), ..OWN };
const OTHERS: Needs = Needs { scope: RuleScope::Others, ..ALL };
const OTHERS_CHAT: Needs = Needs { scope: RuleScope::Others, ..CHAT };
const OTHERS_EDITOR: Needs = Needs { scope: RuleScope::Others, ..EDITOR };

impl Needs {
    /// Returns the same needs, of a run that came to its end.
    const fn at_end(self) -> Self {
        Self { end: true, ..self }
    }

    /// Returns whether a case has what the rule needs.
    fn are_met(self, case: Case<'_>) -> bool {
        let is_of_subject = match self.scope {
            RuleScope::Own => case.own.is_some(),
            RuleScope::Others => case.own.is_none(),
            RuleScope::All => true,
        };
        let has_lane = match self.lane {
            Some(Lane::Telegram) => case.setup.channel.is_some(),
            Some(Lane::Acp) => case.setup.acp.is_some(),
            Some(Lane::Session) => case.own.is_some_and(|own| !own.transcripts.is_empty()),
            _ => true,
        };
        is_of_subject && has_lane && (!self.end || *case.ending == ObservedEnding::Over)
    }
}

impl Rule {
    /// Returns the finding about a case that breaks the rule.
    pub fn kind_of(&self, is_own: bool) -> FindingKind {
        self.of_others.filter(|_| !is_own).unwrap_or(self.kind)
    }

    /// Returns whether a finding of this kind is about the rule, be it of clitape's own gateway or of others.
    pub fn is_about(&self, kind: FindingKind) -> bool {
        self.kind == kind || self.of_others == Some(kind)
    }

    /// Returns whether clitape's own gateway is held to more than others.
    pub fn is_stricter(&self) -> bool {
        self.strictly.is_some()
    }

    /// Returns whether an observation has the content that the rule needs to be broken.
    pub fn is_at_stake(&self, observation: &Observation) -> bool {
        let derived = Derived::default();
        let case = Case::new(observation, &derived);
        self.needs.are_met(case) && self.stake.is_in(case)
    }

    /// Applies the rule to a case; `None` if the case keeps it, or lacks what the rule needs.
    pub(super) fn broken_by<'c>(&self, case: Case<'c>) -> Option<Broken<'c>> {
        if !self.needs.are_met(case) {
            return None;
        }
        let strictly = self.strictly.filter(|_| case.own.is_some());
        strictly.unwrap_or(self.check)(case)
    }
}

macro_rules! rules {
    ($($kind:ident $(/ $other:ident)?, $([$strictly:path])? $check:path, $demand:literal, $stake:ident, $needs:expr;)+) => {
        /// All rules. For each subject the gravest come first.
        pub const RULES: &[Rule] = &[$(Rule {
            kind: FindingKind::$kind,
            of_others: rules!(@other $($other)?),
            demand: $demand,
            stake: Stake::$stake,
            needs: $needs,
            check: $check,
            strictly: rules!(@check $($strictly)?),
        }),+];
    };
    (@other $other:ident) => { Some(FindingKind::$other) };
    (@other) => { None };
    (@check $check:path) => { Some($check) };
    (@check) => { None };
}

// A kind, and after the stroke that of a subject of others; in brackets the stricter check of clitape's own gateway,
// before the check of all others; the demand; the stake; the needs.
rules! {
    SubjectDied, run::died,
        "The subject does not end by itself.",
        Every, OTHERS;
    SubjectHung, run::hung,
        "The subject starts `claude`, goes on talking to it, and answers.",
        Every, OTHERS;
    SubjectRefused, run::refused,
        "The subject writes to `claude` what `claude` reads.",
        Every, OTHERS;
    StopIgnored, run::stop_ignored,
        "If the person asks to stop, `claude` is interrupted or ended.",
        Every, OTHERS_CHAT;
    SubjectFlooded, run::flooded,
        "The subject stays within the bounds of a run.",
        Every, OTHERS;
    LineLost, run::line_lost,
        "Every line of stdout is accounted for.",
        Every, OWN;
    RecordRefused, stdout::record_refused,
        "A line of stdout that is a JSON object is a record.",
        Every, OWN;
    CallNotStated, stdout::call_not_stated,
        "Each call of stdout starts once, and no other call does.",
        Calls, OWN;
    CallMisread, stdout::call_misread,
        "A call starts with the name, the arguments and the parent that stdout states.",
        Calls, OWN;
    ResultMisread, stdout::result_misread,
        "A call ends with the result that stdout states, well or with an error.",
        Calls, OWN;
    InputMisread, stdout::input_misread,
        "What is reported of a growing input is a beginning of the input.",
        StreamedCalls, OWN;
    FieldUnreported, stdout::field_unreported,
        "A field that is whole before its input is has been reported.",
        StreamedCalls, OWN;
    FieldRepeated, stdout::field_repeated,
        "An open field is reported again only when it has grown.",
        StreamedCalls, OWN;
    TextMisread, stdout::text_misread,
        "The text and the reasoning of each message are those of stdout.",
        Messages, OWN;
    TextKept, stdout::text_kept,
        "What a message said that broke off is retracted once another one follows.",
        BrokenMessages, OWN;
    EmptyDelta, stdout::empty_delta,
        "No event of text or of reasoning is empty.",
        Messages, OWN;
    EndingMisread, stdout::ending_misread,
        "Each result of stdout ends a turn, as a failure if it says so, and only then.",
        Results, OWN;
    AnswerMisread, stdout::answer_misread,
        "The answer is all that the model said in the turn, once and in order.",
        Answers, OWN;
    ToolUnbalanced, run::tool_unbalanced,
        "Every tool call starts once and ends once, in this order.",
        Calls, OWN;
    BusBroken, run::bus_broken,
        "The bus counts without gaps; the run starts first and ends once, last.",
        Every, OWN;
    BusDiffers / BusUntold, [bus::bus_differs] bus::tools_untold,
        "What the parser says of texts, calls and messages is on the bus, under the same conversation.",
        Messages, ALL.at_end();
    BusSilent, bus::bus_silent,
        "A bus that is connected says something of every run.",
        Every, OTHERS.at_end();
    SecretTold / SecretShown, [tools::secret_told] tools::secret_shown,
        "No secret that only a tool has seen is on the bus or in a channel.",
        Secrets, ALL;
    OtherConversation, answer::of_another,
        "Nothing that the model said or did in another conversation is shown.",
        Every, OTHERS;
    MessageLost, interlude::message_lost,
        "What a person writes reaches `claude` or is told, also while the subject is down or busy.",
        Interludes, OTHERS_CHAT;
    AnsweredAgain, interlude::answered_again,
        "A message that has its answer is not answered once more, after a restart or for a part of an album.",
        Interludes, OTHERS_CHAT;
    RestartUntold, interlude::untold,
        "A person learns what became of a turn or a question that a restart broke off.",
        Interludes, OTHERS_CHAT;
    OldSession, interlude::old_session,
        "A session that is resumed is the newest one of the chat, and of no other chat.",
        NextMessages, OTHERS_CHAT;
    RuleForgotten, interlude::rule_forgotten,
        "A person who allows the like of a call from now on is not asked about it again.",
        Interludes, OTHERS_CHAT;
    SessionForgotten, interlude::session_forgotten,
        "A message goes on with the conversation of the messages before it.",
        NextMessages, OTHERS_CHAT;
    AnswerMissing, answer::missing,
        "The answer stays in the chat when the run is over.",
        Answers, OTHERS_CHAT.at_end();
    AnswerNotWhole, answer::not_whole,
        "Every part of the answer stays in the chat.",
        Answers, OTHERS_CHAT.at_end();
    AnswerAltered, answer::altered,
        "The chat obeys the markup of the answer, and does not show it.",
        Answers, CHAT.at_end();
    FinalNotOnce / AnswerTwice, [chat::final_not_once] answer::twice,
        "The answer reaches the chat exactly once; never in a silent run.",
        Chats, CHAT.at_end();
    EditAfterFinal / AnswerOverwritten, [chat::edit_after_final] answer::overwritten,
        "No edit comes once the answer is in the chat, or none takes it away.",
        Chats, CHAT.at_end();
    PagesOutOfOrder, answer::out_of_order,
        "The pages of a long answer stand in their order.",
        LongTexts, OTHERS_CHAT.at_end();
    AnswerLate, answer::late,
        "The answer comes soon after the result, however long the process lives on.",
        Answers, OTHERS_CHAT.at_end();
    FailureUntold, failure::failure_untold,
        "A person reads that a turn failed or broke off.",
        Results, OTHERS_CHAT.at_end();
    SuccessToldFailed, failure::success_told_failed,
        "A turn that went well is not told as one that failed.",
        Answers, OTHERS_CHAT.at_end();
    ReasoningInAnswer, answer::reasoning_in_answer,
        "The message with the answer has no reasoning of the model.",
        Reasoning, OTHERS_CHAT.at_end();
    SubagentInAnswer, answer::subagent_in_answer,
        "The message with the answer does not have what a subagent said.",
        Subagents, OTHERS_CHAT.at_end();
    DraftLeft, visible::draft_left,
        "No draft is left beside the answer that it became.",
        Messages, OTHERS_CHAT.at_end();
    SecondMessage / SeveralMessages, [chat::second_message] visible::several_messages,
        "A turn has one message, which is edited forward.",
        Chats, CHAT.at_end();
    RunningLeft, visible::running_left,
        "No message says that the agent works when the run is over.",
        Calls, CHAT.at_end();
    TypingLeft, visible::typing_left,
        "The sign for typing stops with the answer.",
        Answers, OTHERS_CHAT.at_end();
    BlankScreen, visible::blank_screen,
        "Once a message of a turn was shown, one is there until its end.",
        Chats, CHAT;
    TooFast / TooManyCalls, [chat::too_fast] chat::too_many_edits,
        "Calls of a chat keep about a second apart.",
        Chats, CHAT;
    ToldAfterSend, chat::told_after_send,
        "Once the agent has sent its message with a tool, the draft shows nothing more.",
        SendingTools, OWN;
    SilentRunTold / SilenceBroken, [chat::silent_run_told] questions::silence_broken,
        "Nothing of a silent run reaches the chat.",
        SilentRuns, CHAT.at_end();
    CallbackFailed, run::callback_failed,
        "No callback of the channel fails or is given up.",
        Chats, OWN;
    CalledTooEarly / WaitIgnored, chat::wait_kept,
        "No call comes before the time that the chat's server asked to wait is over.",
        Waits, CHAT;
    ListenerPanicked, run::listener_panicked,
        "No listener of the bus panics.",
        Every, OWN;
    ListenerLeft, run::listener_left,
        "Nothing of the gateway listens on the bus after the run.",
        Every, OWN;
    EndedEarly, chat::ended_early,
        "The bus says that a run is over only after the last call of its chat.",
        Chats, OWN;
    CallsOverlap, [chat::calls_overlap] chat::edits_overlap,
        "Two calls of a chat, or of others about one message, are never under way at a time.",
        Chats, CHAT;
    ReasoningShown, chat::reasoning_shown,
        "No reasoning is in a chat that does not show it.",
        Reasoning, OWN;
    SubagentShown, chat::subagent_shown,
        "What a subagent says is not in the main chat.",
        Subagents, OWN;
    TextGlued, visible::glued,
        "Two messages of the model are not joined without a space or a line break.",
        Messages, CHAT;
    BlanksLost, visible::blanks_lost,
        "The words of a text have the blanks between them that the model wrote, and the lines of a code block stay lines.",
        Messages, OTHERS_CHAT;
    RecordShown, visible::record_shown,
        "No record of stdout stands in the chat as it is.",
        Chats, OTHERS_CHAT;
    TextTakenBack, visible::taken_back,
        "A text that grows in the chat becomes shorter only if the model took it back.",
        Messages, CHAT;
    LinesMiscounted / ToolsUntold, [chat::lines_miscounted] tools::untold,
        "A person reads which calls were made: the lines of a draft, folded ones included, are those of its turn.",
        Calls, CHAT.at_end();
    ArgumentsEmpty, tools::arguments_empty,
        "A line of a tool shows the argument that there is, and not the first characters of its JSON alone.",
        Calls, CHAT;
    FailureShownDone, tools::failure_shown_done,
        "No call that failed is shown as done.",
        Calls, OTHERS_CHAT;
    ArgumentOfAnother, tools::argument_of_another,
        "A line of a tool does not have the argument of another tool's call, nor do all calls of a tool have that of one.",
        Calls, OTHERS_CHAT;
    PauseUnshown, chat::pause_unshown,
        "While the conversation is compacted for more than a second, the chat says so.",
        Compactions, OWN;
    MarkupRefused, answer::markup_refused,
        "A text whose markup the server refuses is sent again.",
        Chats, CHAT.at_end();
    PageTooLong / MessageTooLong, [chat::page_too_long] answer::text_too_long,
        "No page is longer than the service takes.",
        LongTexts, CHAT.at_end();
    ToolBeforeYes / RanBeforeAnswer, [questions::tool_before_yes] editor::ran_before_answer,
        "No tool that a person is asked about runs before the yes, or after a no.",
        Questions, ALL;
    QuestionLeft / QuestionUntold, [questions::never_shown] questions::question_untold,
        "Every question is shown.",
        Questions, CHAT;
    QuestionLeft, questions::never_closed,
        "Every question is closed.",
        Questions, OWN;
    QuestionLeft / ButtonsLeft, [questions::buttons_stay] questions::buttons_left,
        "The buttons of a question leave the chat with its answer.",
        Questions, CHAT.at_end();
    AnswerToldWrong, questions::told_wrong,
        "The chat says of an answer what the person pressed.",
        Questions, OTHERS_CHAT;
    AnsweredTwice, questions::answered_twice,
        "Every question is closed once, and not asked again.",
        Questions, OWN;
    WrongAsker, questions::wrong_asker,
        "A question has the name of the agent whose call waits.",
        Questions, OWN;
    WithdrawnLeft, questions::withdrawn_left,
        "A question that the CLI takes back is closed as withdrawn.",
        Withdrawals, OWN;
    AnswerMisunderstood, questions::answer_misunderstood,
        "A button of a question, or a reply to it, makes the answer that was recorded.",
        Questions, OWN;
    InputUnshown, questions::input_unshown,
        "All of what a question asks about is shown before it has a button, and is in the request to a client.",
        Questions, OWN;
    QuestionUnshown, questions::question_unshown,
        "Before a button of a question is pressed, the chat has shown all that it is about.",
        Questions, OTHERS_CHAT;
    EndedByOther, turns::ended_by_other,
        "A turn ends with its own outcome, and its text is of messages that began in it.",
        Turns, OWN;
    NotAnsweredOnce, turns::not_answered_once,
        "Every message of the host is answered by one turn, or folded into one.",
        HostMessages, OWN;
    EditAfterTurn, turns::edit_after_turn,
        "No message of a turn that is over is edited.",
        Turns, OWN;
    SilentStart / NoSignOfLife, [turns::silent_start] visible::no_sign_of_life,
        "The person sees a sign of life while the agent works.",
        LongCalls, CHAT;
    EventAfterComplete, event_stream::event_after_complete,
        "The last event of a turn in the event stream is its one `complete`.",
        Every, OWN;
    TextAfterCall, event_stream::text_after_call,
        "The text before a call is in the event stream before the call.",
        Calls, OWN;
    StreamedCallNotOnce, event_stream::streamed_call_not_once,
        "Each call that started is one `tool_use` of the event stream.",
        Calls, OWN;
    StreamedCallAltered, event_stream::streamed_call_altered,
        "A `tool_use` has the name and the input of its start, and says whether it failed.",
        Calls, OWN;
    CallUncollected, event_stream::call_uncollected,
        "What is collected of an event stream has each of its calls.",
        Calls, OWN;
    HitLost, event_stream::hit_lost,
        "The summary of a search names each hit of its result.",
        Searches, OWN;
    StreamedTextLost, event_stream::streamed_text_lost,
        "Each text of stdout is in the event stream, once and in order.",
        Messages, OWN;
    MessageInvalid, editor::message_invalid,
        "The official types accept each message of an agent.",
        Editors, OTHERS_EDITOR;
    AnswerMissing, editor::answer_missing,
        "Something of each answer comes to the editor.",
        Editors, OTHERS_EDITOR.at_end();
    EditorAnswerLost / AnswerNotWhole, [editor::editor_answer_lost] editor::answer_not_whole,
        "Each answer comes to the editor whole.",
        Editors, EDITOR.at_end();
    EditorWithdrawalUntold, editor::editor_withdrawal_untold,
        "The editor learns that a text that it has was taken back.",
        Editors, OWN;
    PlanStale / PlanNotNewest, [editor::plan_stale] editor::plan_stale,
        "The last plan of the editor is the last list of todos.",
        EditorCalls, EDITOR.at_end();
    AnswerTwice, editor::answer_twice,
        "No answer comes to the editor more often than the model gave it.",
        Editors, OTHERS_EDITOR.at_end();
    EditorTextLost / TextUntold, [editor::editor_text_lost] editor::text_untold,
        "Each text of the model is in the editor, once and in order.",
        Editors, EDITOR.at_end();
    FailureUntold, editor::failure_untold,
        "The editor learns that a turn failed.",
        Editors, OTHERS_EDITOR.at_end();
    StopReasonWrong, editor::stop_reason,
        "The stop reason of a turn is true.",
        Editors, OTHERS_EDITOR.at_end();
    ResponseNotOnce / ToldAfterEnd, [editor::response_not_once] editor::told_after_end,
        "Each turn that is over has one response to the editor, and nothing comes after the last.",
        Editors, EDITOR.at_end();
    EditorCallMissing / CallUntold, [editor::editor_call_missing] editor::call_untold,
        "Each call of stdout that has a result is in the editor.",
        EditorCalls, EDITOR.at_end();
    InputUntold, editor::input_untold,
        "The input of each call comes to the editor.",
        EditorCalls, OTHERS_EDITOR.at_end();
    UnannouncedUpdate / CallNotOnce, [editor::unannounced_update] editor::call_not_once,
        "The editor learns of a call once, before anything else is said of it.",
        EditorCalls, EDITOR;
    CallEndNotOnce / CallLeftOpen, [editor::call_end_not_once] editor::call_left_open,
        "Each call that the editor knows ends once, before its turn is answered.",
        EditorCalls, EDITOR.at_end();
    ResultAltered / OutcomeWrong, [editor::result_altered] editor::outcome_wrong,
        "The result of a call in the editor is that of stdout.",
        EditorCalls, EDITOR.at_end();
    InProgressWhileAsked, editor::in_progress_while_asked,
        "A call about which the person is asked is not in progress in the editor.",
        EditorQuestions, OWN;
    QuestionUntold, editor::question_untold,
        "The person at the editor is asked what the CLI asks.",
        EditorQuestions, OTHERS_EDITOR.at_end();
    RequestCut, editor::request_cut,
        "A request to the editor has all that is asked about.",
        EditorQuestions, OTHERS_EDITOR;
    SilenceEndured, run::silence_endured,
        "A run does not outlast a silence of the agent that is longer than its limit.",
        Silences, OWN;
    ResumeFailed, session::resume_failed,
        "The CLI resumes a session that the verdict lets pass.",
        Resumes, SESSION;
    OpenCallUntold, session::open_call_untold,
        "The verdict names the open calls of the transcript, and no others.",
        Sessions, SESSION;
    AnswerAssumed, session::answer_assumed,
        "A session without an answer is not let pass.",
        Sessions, SESSION;
    GivenUpWithoutCause, session::given_up_without_cause,
        "A session is given up only for a reason that its transcript has.",
        Sessions, SESSION;
    SidechainCounted, session::sidechain_counted,
        "The lines of subagents are counted as such, and as nothing else.",
        Sessions, SESSION;
}

/// Milliseconds after which a call is a long one.
const LONG_CALL_MS: u64 = 10_000;
/// Characters that fit on a page of every service.
const PAGE: usize = 2_000;

/// The content that a replay must have so that a rule can be broken in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stake {
    /// Nothing beside stdout.
    Every,
    /// A message of the model.
    Messages,
    /// A message that broke off or was taken back.
    BrokenMessages,
    /// A call of a tool.
    Calls,
    /// A call whose input comes in pieces.
    StreamedCalls,
    /// A result of the CLI.
    Results,
    /// A result with an answer.
    Answers,
    /// A secret that only a tool has seen.
    Secrets,
    /// A chat.
    Chats,
    /// A gateway that lets the agent send its messages with a tool.
    SendingTools,
    /// A silent run.
    SilentRuns,
    /// A server that asks to wait.
    Waits,
    /// Reasoning, and a chat that does not show it.
    Reasoning,
    /// A subagent that says something.
    Subagents,
    /// A compaction of the conversation.
    Compactions,
    /// More text than a page takes.
    LongTexts,
    /// A question to the person.
    Questions,
    /// A question that the CLI takes back.
    Withdrawals,
    /// Several turns.
    Turns,
    /// Messages of the host.
    HostMessages,
    /// A call that takes long.
    LongCalls,
    /// A search whose result is summarised.
    Searches,
    /// An editor.
    Editors,
    /// A call of a tool, and an editor.
    EditorCalls,
    /// A question to the person, and an editor.
    EditorQuestions,
    /// An agent that is given up, because it is silent for too long.
    Silences,
    /// A session with a verdict on its transcript.
    Sessions,
    /// A session that is resumed.
    Resumes,
    /// A subject that is killed and started again, or a person who does more than the recorded one.
    Interludes,
    /// A message that may go on with a session.
    NextMessages,
}

impl Stake {
    /// Describes the content of such recordings, for a sentence with the word `with`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Every => "a line",
            Self::Messages => "a message of the model",
            Self::BrokenMessages => "a message that broke off",
            Self::Calls => "a call of a tool",
            Self::StreamedCalls => "an input that comes in pieces",
            Self::Results => "a result",
            Self::Answers => "an answer",
            Self::Secrets => "a secret that only a tool has seen",
            Self::Chats => "a chat",
            Self::SendingTools => "a tool that sends the message",
            Self::SilentRuns => "a silent run",
            Self::Waits => "a server that asks to wait",
            Self::Reasoning => "reasoning that the chat does not show",
            Self::Subagents => "a subagent that says something",
            Self::Compactions => "a compaction",
            Self::LongTexts => "more text than a page takes",
            Self::Questions => "a question",
            Self::Withdrawals => "a question that the CLI takes back",
            Self::Turns => "several turns",
            Self::HostMessages => "messages of a host",
            Self::LongCalls => "a call of ten seconds",
            Self::Searches => "a search that is summarised",
            Self::Editors => "an editor",
            Self::EditorCalls => "a call of a tool, and an editor",
            Self::EditorQuestions => "a question, and an editor",
            Self::Silences => "a silence that is too long",
            Self::Sessions => "a verdict on a session",
            Self::Resumes => "a session that is resumed",
            Self::Interludes => "a restart, or a person who does more",
            Self::NextMessages => "a message that may go on with a session",
        }
    }

    /// Returns whether the replay has this content.
    fn is_in(self, case: Case<'_>) -> bool {
        let facts = case.facts;
        let chat = case.setup.channel;
        match self {
            Self::Every => facts.objects > 0,
            Self::Messages => !facts.messages.is_empty(),
            Self::BrokenMessages => {
                facts.messages.iter().any(|message| message.is_refused || message.has_open_text())
            }
            Self::Calls => !facts.calls.is_empty(),
            Self::StreamedCalls => facts.calls.iter().any(|call| !call.pieces.is_empty()),
            Self::Results => !facts.turns.is_empty(),
            Self::Answers => facts
                .turns
                .iter()
                .any(|turn| turn.is_failure == Some(false) && !turn.text.is_empty()),
            Self::Secrets => !case.facts.secrets().is_empty(),
            Self::Chats => chat.is_some(),
            Self::SendingTools => case.setup.run.delivery == DeliverySpec::MessageToolOnly,
            Self::SilentRuns => case.setup.run.silent,
            Self::Waits => case.lane(Lane::Telegram).any(|call| call.wait_s().is_some()),
            Self::Reasoning => {
                let has_words = facts.messages.iter().any(|message| !message.reasoning.is_empty());
                has_words && chat.is_some_and(|chat| !chat.reasoning)
            }
            Self::Subagents => facts
                .messages
                .iter()
                .any(|message| message.parent.is_some() && !message.texts.is_empty()),
            Self::Compactions => !facts.compactions.is_empty(),
            Self::LongTexts => {
                let texts = facts.messages.iter().flat_map(|message| &message.texts);
                texts.map(|block| block.text().chars().count()).sum::<usize>() > PAGE
            }
            Self::Questions => case.lane(Lane::Bus).any(|entry| entry.kind == "question"),
            Self::Withdrawals => !facts.withdrawn.is_empty(),
            Self::Turns => turns::outcomes(case).count() > 1,
            Self::HostMessages => {
                case.lane(Lane::Lifecycle).any(|entry| entry.kind == "host_message")
            }
            Self::LongCalls => has_long_call(case),
            Self::Searches => {
                let is_search =
                    |call: &RecordedCall| is_search(&call.name) && call.result.is_some();
                facts.calls.iter().any(is_search)
            }
            Self::Editors => case.setup.acp.is_some(),
            Self::EditorCalls => Self::Editors.is_in(case) && Self::Calls.is_in(case),
            Self::EditorQuestions => Self::Editors.is_in(case) && Self::Questions.is_in(case),
            Self::Silences => case.lane(Lane::Bus).any(|entry| {
                let error = entry.field("error").and_then(|error| error.get("kind"));
                error.is_some_and(|kind| kind == "stalled")
            }),
            Self::Sessions => verdicts(case) > 0,
            // A resumed session has a verdict before and after.
            Self::Resumes => verdicts(case) > 1,
            Self::Interludes => case.interlude.is_some(),
            Self::NextMessages => case.interlude.is_some() || !case.sessions.is_empty(),
        }
    }
}

fn has_long_call(case: Case<'_>) -> bool {
    let of =
        |kind: &'static str| case.lane(Lane::Lifecycle).filter(move |entry| entry.kind == kind);
    of("tool_start").any(|start| {
        let end = of("tool_result").find(|end| end.text("id") == start.text("id"));
        end.is_some_and(|end| end.at > start.at + LONG_CALL_MS)
    })
}

/// The number of verdicts on sessions.
fn verdicts(case: Case<'_>) -> usize {
    case.lane(Lane::Session).filter(|entry| entry.kind == "verdict").count()
}
