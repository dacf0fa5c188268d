//! What a rule is about: where a replay does not have it, the rule can't be broken.

use clitape_recording::facts::RecordedCall;
use clitape_recording::scenario::DeliverySpec;
use clitape_recording::trace::Lane;

use super::event_stream::is_search;
use super::turns;
use crate::case::Case;

/// Milliseconds after which a call is a long one.
const LONG_CALL_MS: u64 = 10_000;
/// Characters that fit on a page of every service.
const PAGE: usize = 2_000;

/// What a replay must have so that a rule can be broken in it.
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
}

impl Stake {
    /// What the recordings have in which the rule can be broken, after the word `with`.
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
        }
    }

    /// Whether the replay has it.
    pub(crate) fn is_in(self, case: Case<'_>) -> bool {
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
            // It has a verdict before and after.
            Self::Resumes => verdicts(case) > 1,
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
