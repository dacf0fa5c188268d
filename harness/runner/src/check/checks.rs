//! The checks that there are of a scenario.

use std::fmt;

use clitape_recording::names::{CliVersion, ScenarioName};

use clitape_judge::View;

/// One check of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A view of a cassette is what its golden says.
    Golden {
        /// The cassette.
        version: CliVersion,
        /// The view.
        view: View,
    },
    /// The seeded plans of a cassette give the trace of the uncut replay.
    Plans {
        /// The cassette.
        version: CliVersion,
    },
    /// The manifest of a cassette says what its scenario and its timeline say, and a person ends up reading the
    /// same when it is replayed as it was recorded.
    Recorded {
        /// The cassette.
        version: CliVersion,
    },
    /// Every outcome of a chat with variants has a name, and every variant is an outcome.
    Variants {
        /// The chat's view.
        view: View,
    },
    /// Every version of the scenario is recorded, no golden is orphaned or repeats another one, and no cassette and no
    /// golden holds a secret that its cassette does not allow.
    Complete,
}

impl Check {
    /// The version of its cassette; a check of several cassettes has none.
    pub fn version(&self) -> Option<&CliVersion> {
        match self {
            Self::Golden { version, .. } | Self::Plans { version } | Self::Recorded { version } => {
                Some(version)
            }
            Self::Variants { .. } | Self::Complete => None,
        }
    }

    /// The place of its findings, as a check of this scenario: `three-tools 2.1.330 bus`.
    pub(crate) fn place(&self, scenario: &ScenarioName) -> String {
        format!("{scenario} {}", self.to_string().replace("::", " "))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Golden { version, view } => write!(f, "{version}::{view}"),
            Self::Plans { version } => write!(f, "{version}::plans"),
            Self::Recorded { version } => write!(f, "{version}::recorded"),
            Self::Variants { view } => write!(f, "{view}::variants"),
            Self::Complete => f.write_str("complete"),
        }
    }
}
