//! How a recording is replayed: the run's settings and its channels.

use std::time::Duration;

use clitape_gateway::Watchdog;

use super::channel::Chat;
use super::run::RunSpec;

/// How a replay is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How the gateway runs it.
    pub run: RunSpec,
    /// The chat; none means that there is none.
    pub channel: Option<Chat>,
    /// The ACP client, if there is one.
    pub acp: Option<AcpClient>,
}

impl Setup {
    /// The same for a run that resumes a session.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { run: RunSpec { resume: true, ..self.run }, ..self }
    }

    /// The watchdog of the run, which ends an agent that is silent for too long.
    pub fn watchdog(&self) -> Watchdog {
        let limit = Duration::from_secs(self.run.limit_s);
        if self.run.resume { Watchdog::resumed(limit) } else { Watchdog::fresh(limit) }
    }
}

/// A client of the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct AcpClient {
    /// Let the ACP client show terminals
    #[arg(long)]
    pub terminal: bool,
}
