//! The verdict about a session that might be resumed, and its reason ([X2](crate::rules::X2)), each
//! rule a function of the conversation; and the reasons to give a session up
//! ([X4](crate::rules::X4)), as a closed table.

use std::collections::{BTreeMap, HashSet};

use clitape_stream::ToolKind;
use serde::Serialize;
use strum::{Display, EnumString, IntoStaticStr};

use super::transcript::{
    AssistantMessage, Author, LineContent, Transcript, TranscriptEnd, TranscriptNode, UserTurn,
};

/// The facts about a session that its transcript gives ([X2](crate::rules::X2)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Resumability {
    /// True if the session may be resumed.
    pub resumable: bool,
    /// Why, or why not.
    pub reason: Reason,
    /// The calls of the last message that have no result, in the order of their lines.
    pub orphans: Vec<Orphan>,
    /// The verdict of each rule.
    pub rules: ResumeRules,
    /// The lines of the transcript, counted.
    pub lines: LineSummary,
    /// The advice, as a sentence.
    pub advice: &'static str,
}

/// The verdicts of the rules about a transcript ([X2](crate::rules::X2)); several may be true of
/// one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ResumeRules {
    /// There is a transcript.
    pub found: bool,
    /// The model answered at least once.
    pub has_assistant: bool,
    /// The last message calls a tool, and the call has no result.
    pub orphaned_tool_use: bool,
    /// A person interrupted the last turn.
    pub interrupted: bool,
    /// The model was ended before or while it answered what was said last; the answer's text is
    /// lost, the session is not.
    pub cut_mid_text: bool,
}

/// Why a session may be resumed or may not ([X2](crate::rules::X2)), the gravest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Display, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// The transcript does not exist.
    NotFound,
    /// The transcript contains no conversation.
    Empty,
    /// The CLI was killed before it wrote an answer down.
    NoAssistant,
    /// The last message calls a tool, and the call has no result.
    OrphanedToolUse,
    /// A person interrupted the last turn, and all calls are closed.
    Interrupted,
    /// The last message has no answer, or only the beginning of one.
    CutMidText,
    /// The last message has ended.
    Complete,
}

/// A call without a result ([X2](crate::rules::X2)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Orphan {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The transcript's line that has the call, from 1.
    pub line: u64,
    /// Who was to run the tool.
    pub kind: ToolKind,
}

/// The lines of a transcript, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineSummary {
    /// Whole lines, blank ones too.
    pub whole: u64,
    /// Lines of the conversation that counts.
    pub conversation: u64,
    /// Lines of the main conversation that a fork or a rewind left behind.
    pub abandoned: u64,
    /// Lines of subagents.
    pub sidechain: u64,
    /// Lines of other types, by type.
    pub other: BTreeMap<String, u64>,
    /// Lines that are not JSON.
    pub unusable: u64,
    /// Bytes behind the last line feed: a line still being written.
    pub unfinished_bytes: u64,
}

impl Reason {
    /// Every reason, the gravest first.
    pub const ALL: [Self; 7] = [
        Self::NotFound,
        Self::Empty,
        Self::NoAssistant,
        Self::OrphanedToolUse,
        Self::Interrupted,
        Self::CutMidText,
        Self::Complete,
    ];

    /// Returns whether a session that is so may be resumed.
    #[must_use]
    pub fn is_resumable(self) -> bool {
        matches!(self, Self::Interrupted | Self::CutMidText | Self::Complete)
    }

    /// Returns the word that is written for the reason: `orphaned-tool-use`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the meaning of the reason, as a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotFound => "There is no transcript of this session.",
            Self::Empty => "The transcript holds no conversation.",
            Self::NoAssistant => "The model never answered, or its answer was never written down.",
            Self::OrphanedToolUse => "The last message calls a tool that never gave a result.",
            Self::Interrupted => "A person interrupted the last turn; no call is left open.",
            Self::CutMidText => {
                "The last turn was ended before its answer was whole; what came of it is lost."
            }
            Self::Complete => "The last message is whole, and every call has its result.",
        }
    }

    /// Returns the advice for the reason, as a sentence.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::NotFound | Self::Empty | Self::NoAssistant => {
                "Forget the session's id and start a new session with the person's next message."
            }
            Self::OrphanedToolUse => {
                "Start a new session and tell it what was said; check what the open calls did \
                 before they are run again."
            }
            Self::CutMidText => "Resume it, and send the person's last message again.",
            Self::Interrupted | Self::Complete => "Resume it.",
        }
    }
}

impl Resumability {
    /// The verdict of a session that has no transcript.
    #[must_use]
    pub fn not_found() -> Self {
        Self::of(ResumeRules::default(), Vec::new(), LineSummary::default())
    }

    fn of(rules: ResumeRules, orphans: Vec<Orphan>, lines: LineSummary) -> Self {
        let is_empty = lines.conversation == 0;
        let gravest = [
            (!rules.found, Reason::NotFound),
            (is_empty, Reason::Empty),
            (!rules.has_assistant, Reason::NoAssistant),
            (rules.orphaned_tool_use, Reason::OrphanedToolUse),
            (rules.interrupted, Reason::Interrupted),
            (rules.cut_mid_text, Reason::CutMidText),
        ];
        let reason = gravest.iter().find(|(is_so, _)| *is_so);
        let reason = reason.map_or(Reason::Complete, |(_, reason)| *reason);
        let (resumable, advice) = (reason.is_resumable(), reason.advice());
        Self { resumable, reason, rules, orphans, lines, advice }
    }
}

/// Judges a transcript ([X2](crate::rules::X2)).
#[must_use]
pub fn resumability(transcript: &Transcript) -> Resumability {
    let conversation = transcript.conversation();
    let orphans = orphans(&conversation);
    let rules = ResumeRules {
        found: true,
        has_assistant: has_assistant(&conversation),
        orphaned_tool_use: !orphans.is_empty(),
        interrupted: is_interrupted(&conversation),
        cut_mid_text: is_cut_mid_text(&conversation, &orphans),
    };
    Resumability::of(rules, orphans, lines(transcript, &conversation))
}

/// Returns whether the model ever answered.
fn has_assistant(conversation: &[&TranscriptNode]) -> bool {
    conversation.iter().any(|node| message(node).is_some())
}

/// The calls of the last message, all of its lines taken together, that have no result. Earlier
/// messages do not count: the conversation went on from them.
fn orphans(conversation: &[&TranscriptNode]) -> Vec<Orphan> {
    let last = last_message(conversation);
    let answers = last.first().map_or(&[][..], |(first, _)| &conversation[*first..]);
    let answered: HashSet<&str> = answers
        .iter()
        .filter_map(|node| node.content.as_ref())
        .flat_map(|said| said.answers.iter().map(|answer| answer.call.as_str()))
        .collect();
    let mut orphans = Vec::new();
    for (index, message) in last {
        let line = conversation[index].line;
        for call in message.calls.iter().filter(|call| !answered.contains(call.id.as_str())) {
            let (id, name) = (call.id.clone(), call.name.clone());
            orphans.push(Orphan { id, name, line, kind: call.kind });
        }
    }
    orphans
}

/// Returns whether the last message waits for the model: a prompt or results without an answer, a
/// message that did not end, or one that ended in calls of which none is open, or which never came
/// to be written.
fn is_cut_mid_text(conversation: &[&TranscriptNode], orphans: &[Orphan]) -> bool {
    let is_spoken =
        |node: &&&TranscriptNode| !matches!(turn(node), Some(UserTurn::Note | UserTurn::Summary));
    let Some(last) = conversation.iter().rev().find(is_spoken) else { return false };
    let stop = last_message(conversation).last().map(|(_, message)| message.stop);
    match (turn(last), stop) {
        (Some(UserTurn::Prompt), _) => true,
        (None, Some(TranscriptEnd::ToolUse)) => orphans.is_empty(),
        (_, stop) => stop == Some(TranscriptEnd::Open),
    }
}

fn is_interrupted(conversation: &[&TranscriptNode]) -> bool {
    conversation.last().is_some_and(|node| turn(node) == Some(UserTurn::Interruption))
}

/// The lines of the last message, with their places in the conversation.
fn last_message<'c>(conversation: &[&'c TranscriptNode]) -> Vec<(usize, &'c AssistantMessage)> {
    let messages = || {
        conversation.iter().enumerate().filter_map(|(index, node)| Some((index, message(node)?)))
    };
    let Some((last, AssistantMessage { id, .. })) = messages().next_back() else {
        return Vec::new();
    };
    let turn = conversation[last].turn;
    let is_of_it = |index: usize, message: &AssistantMessage| {
        index == last || id.is_some() && message.id == *id && conversation[index].turn == turn
    };
    messages().filter(|(index, message)| is_of_it(*index, message)).collect()
}

fn message(node: &TranscriptNode) -> Option<&AssistantMessage> {
    match &node.content {
        Some(LineContent { by: Author::Assistant(message), .. }) => Some(message),
        _ => None,
    }
}

fn turn(node: &TranscriptNode) -> Option<UserTurn> {
    match &node.content {
        Some(LineContent { by: Author::User(turn), .. }) => Some(*turn),
        _ => None,
    }
}

fn lines(transcript: &Transcript, conversation: &[&TranscriptNode]) -> LineSummary {
    let count = &transcript.count;
    let conversation = conversation.len() as u64;
    LineSummary {
        whole: count.whole,
        conversation,
        abandoned: count.conversation - conversation,
        sidechain: count.sidechain,
        other: count.other.clone(),
        unusable: count.unusable,
        unfinished_bytes: count.unfinished,
    }
}

/// Why a session is not resumed though its id is known ([X4](crate::rules::X4)).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Display, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Invalidation {
    /// The transcript is gone, or never got an answer.
    MissingTranscript,
    /// The transcript ends in a call without a result.
    OrphanedToolUse,
    /// The system prompt is another one.
    SystemPrompt,
    /// The working folder is another one, and transcripts belong to folders.
    Cwd,
    /// The MCP servers are others.
    Mcp,
    /// The way answers reach the person is another one.
    MessagePolicy,
    /// The CLI no longer knows the session.
    SessionExpired,
    /// Another account is used.
    AuthProfile,
    /// The account was signed in anew.
    AuthEpoch,
}

/// The permission to give the session that takes the place of the old one a history of it
/// ([X4](crate::rules::X4)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reseed {
    /// The history may be taken from the old transcript.
    Raw,
    /// No history: what one account said must not reach another.
    Never,
}

impl Invalidation {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::MissingTranscript,
        Self::OrphanedToolUse,
        Self::SystemPrompt,
        Self::Cwd,
        Self::Mcp,
        Self::MessagePolicy,
        Self::SessionExpired,
        Self::AuthProfile,
        Self::AuthEpoch,
    ];

    /// Returns the reason to give up the session after this verdict about its transcript; `None`:
    /// it may be resumed.
    #[must_use]
    pub fn of(reason: Reason) -> Option<Self> {
        match reason {
            Reason::NotFound | Reason::Empty | Reason::NoAssistant => Some(Self::MissingTranscript),
            Reason::OrphanedToolUse => Some(Self::OrphanedToolUse),
            Reason::Interrupted | Reason::CutMidText | Reason::Complete => None,
        }
    }

    /// Returns the history that the next session may get.
    #[must_use]
    pub fn reseed(self) -> Reseed {
        match self {
            Self::MissingTranscript
            | Self::OrphanedToolUse
            | Self::SystemPrompt
            | Self::Cwd
            | Self::Mcp
            | Self::MessagePolicy
            | Self::SessionExpired => Reseed::Raw,
            Self::AuthProfile | Self::AuthEpoch => Reseed::Never,
        }
    }

    /// Returns the word that is written for the reason: `missing-transcript`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    pub(crate) fn x4_what_each_reason_allows() {
        let table = Invalidation::ALL.map(|reason| (reason.as_str(), reason.reseed()));
        let expect = [
            ("missing-transcript", Reseed::Raw),
            ("orphaned-tool-use", Reseed::Raw),
            ("system-prompt", Reseed::Raw),
            ("cwd", Reseed::Raw),
            ("mcp", Reseed::Raw),
            ("message-policy", Reseed::Raw),
            ("session-expired", Reseed::Raw),
            ("auth-profile", Reseed::Never),
            ("auth-epoch", Reseed::Never),
        ];
        assert_eq!(table, expect);
        for reason in Invalidation::ALL {
            assert_eq!(serde_json::json!(reason), reason.as_str());
        }
    }

    #[test]
    pub(crate) fn x4_a_reason_gives_a_session_up_or_resumes_it() {
        for reason in Reason::ALL {
            assert_eq!(Invalidation::of(reason).is_none(), reason.is_resumable(), "{reason:?}");
            assert_eq!(serde_json::json!(reason), reason.as_str());
        }
    }
}
