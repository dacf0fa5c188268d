//! The limits of the commands that record, as options.

use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::{ConfineBy, InstallLimits};
use clitape_recording::limits::{
    INSTALL_OUTPUT, INSTALL_TIME, MODEL_LINES, MODEL_REQUEST, OutputLimits, RECORDED_TIME,
    VERSION_OUTPUT, VERSION_TIME, WORKSPACE_BYTES, WORKSPACE_FILES,
};
use clitape_runner::record::{RecordSettings, ResolveSettings, WorkspaceLimits};

/// The limits on a scenario and the CLI.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct RecordLimits {
    /// Bytes that the CLI may print on stdout, and as many on stderr
    #[arg(long, value_name = "SIZE", default_value_t = OutputLimits::RECORDED.bytes)]
    max_output: ByteSize,
    /// Bytes that a line of the CLI may have
    #[arg(long, value_name = "SIZE", default_value_t = OutputLimits::RECORDED.line)]
    max_line: ByteSize,
    /// Lines that the CLI may print, and reads in which they may come
    #[arg(long, value_name = "N", default_value_t = OutputLimits::RECORDED.lines,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_lines: u64,
    /// Seconds that a run of the CLI may take, whatever `record.timeout_s` of the scenario allows
    #[arg(long, value_name = "S", default_value_t = RECORDED_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    max_time: u64,
    /// Size that the files of a workspace may have together
    #[arg(long, value_name = "SIZE", default_value_t = WORKSPACE_BYTES)]
    max_workspace: ByteSize,
    /// Files, folders and links that a workspace may have
    #[arg(long, value_name = "N", default_value_t = WORKSPACE_FILES)]
    max_workspace_files: usize,
    /// Lines that all `{{lines:N}}` of a model.toml may ask for
    #[arg(long, value_name = "N", default_value_t = MODEL_LINES)]
    max_model_lines: usize,
    /// Bytes that a request of the CLI to the scripted model may have
    #[arg(long, value_name = "SIZE", default_value_t = MODEL_REQUEST)]
    max_request: ByteSize,
    /// Seconds that `claude --version` may take
    #[arg(long, value_name = "S", default_value_t = VERSION_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    version_timeout: u64,
    /// Bytes that `claude --version` may print on stdout, and as many on stderr
    #[arg(long, value_name = "SIZE", default_value_t = VERSION_OUTPUT)]
    max_version_output: ByteSize,
    /// Seconds that npm may take to install a CLI
    #[arg(long, value_name = "S", default_value_t = INSTALL_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    install_timeout: u64,
    /// Bytes that npm may print on stdout, and as many on stderr
    #[arg(long, value_name = "SIZE", default_value_t = INSTALL_OUTPUT)]
    max_install_output: ByteSize,
}

impl RecordLimits {
    /// Returns the settings of a recording.
    pub(crate) fn record(&self, confine: Option<ConfineBy>) -> RecordSettings {
        RecordSettings {
            output: OutputLimits {
                bytes: self.max_output,
                line: self.max_line,
                lines: self.max_lines,
            },
            time: Duration::from_secs(self.max_time),
            workspace: WorkspaceLimits {
                bytes: self.max_workspace,
                files: self.max_workspace_files,
            },
            model_lines: self.max_model_lines,
            request: self.max_request,
            confine,
        }
    }

    /// Returns the settings of the search for the CLI.
    pub(crate) fn resolve(&self, confine: Option<ConfineBy>) -> ResolveSettings {
        ResolveSettings {
            version_time: Duration::from_secs(self.version_timeout),
            version_output: self.max_version_output,
            install: InstallLimits {
                time: Duration::from_secs(self.install_timeout),
                output: self.max_install_output,
            },
            confine,
        }
    }
}
