//! The limit on an agent's silence, after which it is given up ([G8](crate::rules::G8)).

use std::collections::HashSet;
use std::time::Duration;

use clitape_stream::{Event, Failure, FailureKind, Outcome, RunStatus};
use tokio::time::Instant;

/// The longest silence while a tool runs.
const TOOL: Duration = Duration::from_secs(900);
/// The part of a run's time that is kept for its end, and the shortest limit.
const SECOND: Duration = Duration::from_secs(1);

/// The longest silence of an agent ([G8](crate::rules::G8)), made of the time a run may take in
/// all.
///
/// While a tool runs it may be silent for 900 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    silence: Duration,
}

impl Watchdog {
    /// For a run of a new session: 0.8 of `limit`, in 180 to 600 s, and a second under `limit`.
    pub fn fresh(limit: Duration) -> Self {
        Self::of(limit, 8, [180, 600])
    }

    /// For a run that resumes a session: 0.3 of `limit`, in 60 to 180 s, and a second under
    /// `limit`.
    pub fn resumed(limit: Duration) -> Self {
        Self::of(limit, 3, [60, 180])
    }

    fn of(limit: Duration, tenths: u32, [least, most]: [u64; 2]) -> Self {
        let share = limit / 10 * tenths;
        let share = share.clamp(Duration::from_secs(least), Duration::from_secs(most));
        Self { silence: share.min(limit.saturating_sub(SECOND)).max(SECOND) }
    }

    /// Returns the longest silence of the agent while no tool runs.
    pub fn silence(self) -> Duration {
        self.silence
    }
}

/// Measures the silence of one run.
#[derive(Debug)]
pub(crate) struct SilenceWatch {
    watchdog: Watchdog,
    heard: Instant,
    /// Ids of the calls that have started and not ended.
    open: HashSet<String>,
}

impl SilenceWatch {
    /// Begins now.
    pub(crate) fn new(watchdog: Watchdog) -> Self {
        Self { watchdog, heard: Instant::now(), open: HashSet::new() }
    }

    /// The agent printed something.
    pub(crate) fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// Follows which tools run.
    pub(crate) fn follow(&mut self, event: &Event<'_>) {
        match event {
            Event::ToolStart { id, .. } => {
                self.open.insert(id.to_string());
            }
            Event::ToolResult { id, .. } => {
                self.open.remove(&**id);
            }
            _ => {}
        }
    }

    /// Returns the longest silence of the agent from now.
    pub(crate) fn patience(&self) -> Duration {
        let silence = self.watchdog.silence;
        if self.open.is_empty() { silence } else { silence.max(TOOL) }
    }

    /// Returns when the agent is given up, unless it prints something before. While a question waits for a person,
    /// at the latest until `asks_until`, silence does not count.
    pub(crate) fn deadline(&self, asks_until: Option<Instant>) -> Instant {
        asks_until.map_or(self.heard, |until| until.max(self.heard)) + self.patience()
    }
}

/// Returns the outcome of a run that was given up after `silence`: a result that came all the same
/// counts.
pub(crate) fn given_up(mut outcome: Outcome, silence: Duration) -> Outcome {
    if outcome.status != RunStatus::Incomplete {
        return outcome;
    }
    let message = format!(
        "The agent printed nothing for {} s and was given up; send the message again, or raise the \
         run's limit if it needs longer.",
        silence.as_secs()
    );
    outcome.error = Some(Failure::new(FailureKind::Stalled, message));
    outcome
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn check(watchdog: fn(Duration) -> Watchdog, limit_ms: u64, expect_ms: u128) {
        let limit = Duration::from_millis(limit_ms);
        assert_eq!(watchdog(limit).silence().as_millis(), expect_ms, "{limit_ms}");
    }

    #[test]
    pub(crate) fn g8_the_silence_is_a_share_of_the_limit() {
        check(Watchdog::fresh, 600_000, 480_000);
        check(Watchdog::fresh, 200_000, 180_000);
        check(Watchdog::fresh, 172_800_000, 600_000);
        check(Watchdog::fresh, 1_500, 1_000);
        check(Watchdog::fresh, 0, 1_000);
        check(Watchdog::resumed, 600_000, 180_000);
        check(Watchdog::resumed, 300_000, 90_000);
        check(Watchdog::resumed, 100_000, 60_000);
        check(Watchdog::resumed, 60_000, 59_000);
    }
}
