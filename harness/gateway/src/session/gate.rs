//! The gate for sessions that are worth keeping ([X3](crate::rules::X3)): only once the transcript
//! shows an answer.
//!
//! openclaw#70177, openclaw#77974, openclaw#78506, openclaw#81048, openclaw#85757: an id that was
//! kept although the killed CLI had written nothing down made every later message fail or forget.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::transcript::is_id;

/// The provider whose sessions are transcripts of the CLI.
pub const CLAUDE: &str = "claude-cli";

/// When the transcript is looked at, after the turn's end.
const PROBES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(150)];

/// The stored facts of a session: its binding to a chat, and its bare id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundSession<B> {
    /// The binding of the chat to the session.
    pub binding: B,
    /// The CLI's id of it.
    pub id: String,
}

/// The facts to store of a session after a turn ([X3](crate::rules::X3)): both of its parts or
/// neither, so that no fallback can bring back an id whose binding is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what is not stored is as if the session had never been"]
pub enum SessionRetention<B> {
    /// Store it.
    Retained(BoundSession<B>),
    /// Clear the binding and every bare id that is stored.
    Cleared,
}

/// Keeps `session` if its transcript shows an answer ([X3](crate::rules::X3)), which `probe` is
/// asked for the id: at once, and 50 and 150 ms later on tokio's clock, as the CLI may still be
/// writing. Sessions of other providers than [`CLAUDE`] have no transcript and are kept unasked; an
/// id that looks like a path is never probed.
pub async fn flushed<B, F>(
    provider: &str,
    session: BoundSession<B>,
    mut probe: impl FnMut(&str) -> F,
) -> SessionRetention<B>
where
    F: Future<Output = bool>,
{
    if !provider.trim().eq_ignore_ascii_case(CLAUDE) {
        return SessionRetention::Retained(session);
    }
    if !is_id(&session.id) {
        return SessionRetention::Cleared;
    }
    let ended = Instant::now();
    for after in PROBES {
        sleep_until(ended + after).await;
        if probe(&session.id).await {
            return SessionRetention::Retained(session);
        }
    }
    SessionRetention::Cleared
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Plays a transcript that shows an answer after `flushed_ms`, each probe taking `takes_ms`:
    /// whether the session is kept, and when it was looked at.
    async fn check(
        provider: &str,
        id: &str,
        [flushed_ms, takes_ms]: [u64; 2],
        expect: bool,
        looked: &[u128],
    ) {
        let began = Instant::now();
        let mut probes = Vec::new();
        let session = BoundSession { binding: "chat 7", id: id.to_owned() };
        let held = flushed(provider, session.clone(), |asked| {
            assert_eq!(asked, id);
            probes.push(began.elapsed().as_millis());
            async move {
                tokio::time::sleep(Duration::from_millis(takes_ms)).await;
                began.elapsed() >= Duration::from_millis(flushed_ms)
            }
        })
        .await;
        let kept =
            if expect { SessionRetention::Retained(session) } else { SessionRetention::Cleared };
        assert_eq!((held, &*probes), (kept, looked), "{provider} {id}");
    }

    #[tokio::test(start_paused = true)]
    pub(crate) async fn x3_a_session_is_kept_once_its_transcript_shows_an_answer() {
        check(CLAUDE, "s", [0, 0], true, &[0]).await;
        check(CLAUDE, "s", [1, 0], true, &[0, 50]).await;
        check(CLAUDE, "s", [50, 0], true, &[0, 50]).await;
        check(CLAUDE, "s", [51, 0], true, &[0, 50, 150]).await;
        check(CLAUDE, "s", [151, 0], false, &[0, 50, 150]).await;
        check(" Claude-CLI ", "s", [151, 0], false, &[0, 50, 150]).await;
        // A slow disk puts off the probes, and adds none.
        check(CLAUDE, "s", [1_000, 120], false, &[0, 120, 240]).await;
    }

    #[tokio::test(start_paused = true)]
    pub(crate) async fn x3_other_providers_and_paths_are_never_probed() {
        check("codex-cli", "s", [9, 0], true, &[]).await;
        check("", "../x", [9, 0], true, &[]).await;
        for id in ["", " ", "../x", "a/b", "a\\b", "/etc/passwd", "a\0b", "."] {
            check(CLAUDE, id, [0, 0], false, &[]).await;
        }
    }
}
