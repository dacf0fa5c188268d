//! The recordings that failed while others went on; they are listed at the end, each with its reason.

use clitape_recording::text::plural;
use clitape_runner::record::RecordError;

use crate::exit::{ExitStatus, classify};
use crate::terminal;

/// The recordings that failed, and the number of those that were made.
#[derive(Default)]
pub(super) struct Failures {
    /// The recordings that failed, each with the error.
    failed: Vec<(String, anyhow::Error)>,
    /// The recordings with a finding, such as a secret, which was printed already.
    found: Vec<String>,
    successes: usize,
}

impl Failures {
    /// Counts a recording that was made.
    pub(super) fn succeeded(&mut self) {
        self.successes += 1;
    }

    /// Counts a recording with a finding.
    pub(super) fn found(&mut self, what: &str) {
        self.found.push(what.to_owned());
    }

    /// Adds a failure, so that the next recording is made.
    ///
    /// # Errors
    ///
    /// The error itself if the user has asked to stop; the earlier failures are then listed.
    pub(super) fn add(&mut self, what: &str, error: anyhow::Error) -> anyhow::Result<()> {
        let reason = error.chain().find_map(|cause| cause.downcast_ref::<RecordError>());
        if let Some(RecordError::Stopped | RecordError::Declined { .. }) = reason {
            self.list();
            return Err(error);
        }
        self.failed.push((what.to_owned(), error));
        Ok(())
    }

    /// Lists the failures with their reasons; returns the exit code of the first one.
    ///
    /// # Errors
    ///
    /// The failure itself if it was the only recording.
    pub(super) fn tell(mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.successes + self.found.len() == 0 && self.failed.len() == 1 {
            return Err(self.failed.remove(0).1);
        }
        self.list();
        Ok(self.failed.first().map(|(_, error)| classify(error)))
    }

    fn list(&self) {
        let all = self.failed.len() + self.found.len() + self.successes;
        if all > 1 && !self.found.is_empty() {
            let (count, names) = (self.found.len(), self.found.join(", "));
            terminal::note(format_args!(
                "{count} of {} with findings: {names}",
                plural(all, "recording")
            ));
        }
        if self.failed.is_empty() {
            return;
        }
        let line = |(what, error): &(String, anyhow::Error)| {
            let reason = format!("{error:#}").replace('\n', "\n    ");
            format!("\n  {what}: {reason}")
        };
        let lines: String = self.failed.iter().map(line).collect();
        let failed = self.failed.len();
        terminal::error(format_args!("{failed} of {} failed:{lines}", plural(all, "recording")));
    }
}
