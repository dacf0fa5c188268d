//! Why a session was given up ([X4](crate::rules::X4)), as a closed table.

use serde::Serialize;
use strum::{Display, EnumString, IntoStaticStr};

use super::resumability::Reason;

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
pub(crate) mod tests {
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
