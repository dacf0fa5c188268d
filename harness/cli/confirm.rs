//! Shows what a scenario makes the CLI run before it is recorded, and asks about a scenario that was not
//! recorded here before.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_runner::names::ScenarioName;
use clitape_runner::record::{
    KnownScenarios, RecordError, RecordSettings, Review, WorkspaceLimits, digest,
};
use clitape_runner::scenario::{Scenario, Workspace};

use crate::terminal;

/// The interval at which the wait for an answer checks for a signal.
const LOOK: Duration = Duration::from_millis(20);

/// How scenarios are confirmed before they are recorded.
pub(crate) struct Confirmation {
    /// Whether to record without asking.
    pub(crate) yes: bool,
    /// Whether to leave out what known scenarios run.
    pub(crate) quiet: bool,
    /// The settings of the recording.
    pub(crate) settings: RecordSettings,
}

/// Shows what each scenario makes the CLI run, and asks about unknown scenarios.
pub(crate) fn confirm(
    scenarios: &[Scenario],
    how: &Confirmation,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut known = match folder() {
        Some(folder) => {
            Some(KnownScenarios::read(&folder).context("can't find the list of known scenarios")?)
        }
        None => None,
    };
    for scenario in scenarios {
        let review = Review::of(scenario, how.settings, stop)
            .with_context(|| format!("can't record {}", scenario.name))?;
        let name = &scenario.name;
        let is_known = known.as_ref().is_some_and(|known| known.has(&review.digest));
        let is_asked = !is_known && !how.yes;
        if is_asked || !how.quiet {
            terminal::note(format_args!("{name} makes the CLI run this as you:"));
            for line in &review.lines {
                terminal::note(format_args!("  {line}"));
            }
        }
        if is_asked {
            if !io::stdin().is_terminal() {
                bail!(
                    "{name} was not recorded here before, or has changed since, and stdin is no \
                     terminal to ask on; read what it runs, then pass --yes"
                );
            }
            if !ask(&format!("Record {name}? [y/N] "), stop)? {
                return Err(RecordError::Declined { name: name.to_string() }.into());
            }
            if let Some(known) = &mut known
                && let Err(error) = known.add(&review.digest, name.as_str())
            {
                terminal::note(format_args!("note: {name} will be asked about again: {error}"));
            }
        }
    }
    Ok(())
}

/// Marks a scenario that was just written here as known. If that fails, `record` asks about it, which a
/// note says.
pub(crate) fn remember(workspace: &Workspace, name: &ScenarioName) {
    let remember = || -> anyhow::Result<()> {
        let scenario = workspace.load(name.as_str())?;
        let digest = digest(&scenario, WorkspaceLimits::default(), &AtomicBool::new(false))?;
        let folder = folder().context("there is no folder for it")?;
        Ok(KnownScenarios::read(&folder)?.add(&digest, name.as_str())?)
    };
    if let Err(error) = remember() {
        terminal::note(format_args!("note: {name} will be asked about: {error:#}"));
    }
}

/// Asks a question on the terminal; yes is `y` or `yes`.
fn ask(question: &str, stop: &AtomicBool) -> anyhow::Result<bool> {
    terminal::stderr().ask(question)?;
    let (sender, answers) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        // An error means that a signal has ended the question.
        let _ = sender.send(io::stdin().lock().read_line(&mut line).map(|_| line));
    });
    loop {
        match answers.recv_timeout(LOOK) {
            Ok(line) => {
                let answer = line.context("can't read the answer")?.trim().to_ascii_lowercase();
                return Ok(matches!(answer.as_str(), "y" | "yes"));
            }
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => {
                terminal::note("");
                return Err(RecordError::Stopped.into());
            }
        }
    }
}

/// The user's state folder, which keeps the known scenarios.
fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    state.map(|dir| dir.join("clitape"))
}
