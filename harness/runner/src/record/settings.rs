//! The settings of a recording.

use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::{ConfineBy, InstallLimits};
use clitape_recording::limits::{
    MODEL_LINES, MODEL_REQUEST, OutputLimits, RECORDED_TIME, VERSION_OUTPUT, VERSION_TIME,
};

use super::workspace::WorkspaceLimits;

/// The limits of a recording, and the confinement of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSettings {
    /// The limits of the CLI's output.
    pub output: OutputLimits,
    /// The longest time of one run of the CLI, even if `record.timeout_s` of the scenario is longer.
    pub time: Duration,
    /// The limits of the workspace.
    pub workspace: WorkspaceLimits,
    /// The most lines that all `{{lines:N}}` of a `model.toml` may ask for together.
    pub model_lines: usize,
    /// The most bytes of a request to the scripted model.
    pub request: ByteSize,
    /// The way in which the CLI is confined to its temporary folder; `None` does not confine it.
    pub confine: Option<ConfineBy>,
}

impl Default for RecordSettings {
    fn default() -> Self {
        Self {
            output: OutputLimits::default(),
            time: RECORDED_TIME,
            workspace: WorkspaceLimits::default(),
            model_lines: MODEL_LINES,
            request: MODEL_REQUEST,
            confine: Some(ConfineBy::Any),
        }
    }
}

/// The settings of the search for a CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolveSettings {
    /// The longest time of `claude --version`.
    pub version_time: Duration,
    /// The most bytes that it may print on stdout; stderr has the same limit.
    pub version_output: ByteSize,
    /// The limits of npm when it installs a CLI.
    pub install: InstallLimits,
    /// The way in which the CLI is confined when it is asked for its version, if the system has it; `None` does not
    /// confine it.
    pub confine: Option<ConfineBy>,
}

impl Default for ResolveSettings {
    fn default() -> Self {
        Self {
            version_time: VERSION_TIME,
            version_output: VERSION_OUTPUT,
            install: InstallLimits::default(),
            confine: Some(ConfineBy::Any),
        }
    }
}
