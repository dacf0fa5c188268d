//! The conversation so far, for the session that takes the place of one that was given up
//! ([X5](crate::rules::X5)).
//!
//! The words are those of OpenClaw 2026.9.6, so that a model reads the same from either gateway.

use std::collections::HashMap;

use thiserror::Error;

use super::gate::CLAUDE;
use super::resumability::{Invalidation, Reseed};
use super::transcript::{Author, LineContent, Transcript, TranscriptNode, UserTurn};
use crate::sanitise::redact_text;

const STALE: &str = "[Recovered history may be stale; verify current and time-sensitive facts before \
                     acting.]";
const TRUNCATED: &str = "[OpenClaw reseed history truncated; older turns dropped]";
/// Characters of the history that a small model takes, and the most that any does.
const LIMITS: [usize; 2] = [12_288, 262_144];
/// Entries of the history.
const ENTRIES: usize = 10_000;

/// Why a session gets no history ([X5](crate::rules::X5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReseedError {
    /// The session of the history can go on.
    #[error("the session may be resumed; resume it instead of telling its history again")]
    Resumable,
    /// The reason it was given up for forbids it.
    #[error(
        "the session was given up for {}, and what was said in it stays there; start the new one \
         without a history",
        .0.as_str()
    )]
    Forbidden(Invalidation),
    /// The transcript is of another provider than the session to be started.
    #[error("the transcript is of claude-cli, the new session is not; start it without a history")]
    OtherProvider,
}

/// Characters of history for a model that takes `tokens` tokens: 8 % of them, four characters each,
/// at least 12,288 and at most 262,144.
#[must_use]
pub fn limit(tokens: u64) -> usize {
    let [least, most] = LIMITS;
    let share = usize::try_from(tokens / 25 * 8 + tokens % 25 * 8 / 25).unwrap_or(most);
    share.clamp(least, most)
}

/// The first message of the session that takes the place of the one in `transcript`, given up for
/// `given_up` (`None`: it was not): what was said, in at most `limit` characters, the newest, and
/// then `message` ([X5](crate::rules::X5)). `None` if nothing was said.
///
/// Texts of the main conversation, results of tools, and in the place of what a compaction took
/// away its summary; secrets are masked ([B2](crate::rules::B2)).
///
/// # Errors
/// When the session may be resumed, when its history must not be used, and when `provider`, which
/// the new session is of, is another than the old one's.
pub fn prelude(
    transcript: &Transcript,
    given_up: Option<Invalidation>,
    provider: &str,
    limit: usize,
    message: &str,
) -> Result<Option<String>, ReseedError> {
    let given_up = given_up.ok_or(ReseedError::Resumable)?;
    if given_up.reseed() == Reseed::Never {
        return Err(ReseedError::Forbidden(given_up));
    }
    if !provider.trim().eq_ignore_ascii_case(CLAUDE) {
        return Err(ReseedError::OtherProvider);
    }
    let Some(history) = history(transcript, limit) else { return Ok(None) };
    Ok(Some(format!(
        "Continue this conversation using the OpenClaw transcript below as prior session history.\n\
         Treat it as authoritative context for this fresh CLI session.\n\n\
         <conversation_history>\n{history}\n</conversation_history>\n\n\
         <next_user_message>\n{message}\n</next_user_message>"
    )))
}

fn history(transcript: &Transcript, limit: usize) -> Option<String> {
    let conversation = transcript.conversation();
    let is_summary = |node: &&TranscriptNode| {
        matches!(&node.content, Some(LineContent { by: Author::User(UserTurn::Summary), .. }))
    };
    let start = conversation.iter().rposition(is_summary).unwrap_or(0);
    let entries = entries(&conversation, start);
    let is_dropped = conversation[start..].iter().any(|node| node.is_dropped);
    let first = entries.len().saturating_sub(ENTRIES);
    let text = entries[first..].join("\n\n");
    if text.is_empty() {
        return None;
    }
    let room = limit.saturating_sub(STALE.len() + 1);
    let length = text.chars().count();
    if length <= room && first == 0 && !is_dropped {
        return Some(format!("{STALE}\n{text}"));
    }
    let room = room.saturating_sub(TRUNCATED.len() + 1);
    let tail: String = text.chars().skip(length.saturating_sub(room)).collect();
    Some(format!("{STALE}\n{TRUNCATED}\n{}", tail.trim_start()))
}

/// Returns the conversation from the line at `start` on, an entry for each speaker's line or
/// result.
fn entries(conversation: &[&TranscriptNode], start: usize) -> Vec<String> {
    let mut names = HashMap::new();
    let mut entries = Vec::new();
    for (index, node) in conversation.iter().enumerate() {
        let Some(said) = &node.content else { continue };
        if let Author::Assistant(message) = &said.by {
            names.extend(message.calls.iter().map(|call| (&*call.id, &*call.name)));
        }
        if index < start {
            continue;
        }
        let at = said.timestamp.as_ref().map(|at| format!("[{at}] ")).unwrap_or_default();
        if let Some(speaker) = speaker(&said.by) {
            let text = safe(&said.texts.join("\n"));
            if !text.is_empty() {
                entries.push(format!("{at}{speaker}: {text}"));
            }
        }
        for answer in said.answers.iter().filter(|answer| !answer.text.is_empty()) {
            let mut entry = format!("{at}Tool result");
            if let Some(name) = names.get(&*answer.call).filter(|name| !name.is_empty()) {
                entry.push_str(&format!(" ({name})"));
            }
            let error = if answer.is_error { " [error]" } else { "" };
            entries.push(format!("{entry}{error}: {}", safe(&answer.text)));
        }
    }
    entries
}

/// Returns the name of the speaker; `None` for a note of the CLI's own.
fn speaker(by: &Author) -> Option<&'static str> {
    match by {
        Author::User(UserTurn::Summary) => Some("Compaction summary"),
        Author::User(UserTurn::Prompt | UserTurn::Interruption) => Some("User"),
        Author::User(UserTurn::Note) => None,
        Author::Assistant(message) => (!message.is_synthetic).then_some("Assistant"),
    }
}

/// Without secrets, and without what would end the history early.
fn safe(text: &str) -> String {
    redact_text(text).replace("</conversation_history>", "<\\/conversation_history>")
}
