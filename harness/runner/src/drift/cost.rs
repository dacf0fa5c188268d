//! The time and the size of a version's recordings, which do not count as drift.

use serde::Serialize;

use clitape_recording::cassette::Cassette;

/// The time and the size of recordings together.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The records of stdout.
    pub records: u64,
    /// The bytes of stdout.
    pub bytes: u64,
    /// The recorded time in milliseconds, waits of the script included.
    pub ms: u64,
}

impl Cost {
    /// Adds a recording.
    pub(super) fn add(&mut self, cassette: &Cassette) {
        let further = cassette.further.iter().map(|run| (&run.stdout, &run.timeline));
        for (stdout, timeline) in
            [(&cassette.stdout, &cassette.timeline)].into_iter().chain(further)
        {
            self.records += stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.bytes += stdout.len() as u64;
            self.ms += timeline.iter().map(|tick| tick.after_ms).sum::<u64>();
        }
    }
}
