//! Shows what a scenario or a subject runs on this machine before it starts, and asks about one that a person has not
//! agreed to here before.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_process::threads::start;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_runner::record::{
    Agreed, RecordError, RecordSettings, Review, WorkspaceLimits, digest,
};

use crate::terminal;

/// The interval at which the wait for an answer checks for a signal.
const LOOK: Duration = Duration::from_millis(20);

/// The thing that a person is asked to agree to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ConfirmTarget<'a> {
    /// A scenario of this name is recorded.
    Scenario(&'a str),
    /// A subject of this name is started.
    Subject(&'a str),
}

impl ConfirmTarget<'_> {
    fn name(&self) -> &str {
        let (Self::Scenario(name) | Self::Subject(name)) = self;
        name
    }

    /// Returns the line above the list of what runs.
    fn heading(&self) -> String {
        match self {
            Self::Scenario(name) => format!("{name} makes the CLI run this as you:"),
            Self::Subject(name) => {
                format!("{name} makes clitape run this as you, without confinement:")
            }
        }
    }

    fn question(&self) -> String {
        match self {
            Self::Scenario(name) => format!("Record {name}? [y/N] "),
            Self::Subject(name) => format!("Start {name}? [y/N] "),
        }
    }

    /// Returns the error for a stdin that is not a terminal, so that the question can't be asked.
    fn unasked(&self) -> String {
        let (name, before) = match self {
            Self::Scenario(name) => (name, "was not recorded here before"),
            Self::Subject(name) => (name, "was not started here before"),
        };
        format!(
            "{name} {before}, or has changed since, and stdin is no terminal to ask on; read what it \
             runs, then pass --yes"
        )
    }
}

/// The option that starts a subject without asking.
#[derive(Debug, clap::Args)]
pub(crate) struct Consent {
    /// Start a subject that you have not agreed to here before without asking; for CI
    #[arg(long)]
    pub(crate) yes: bool,
}

/// The options that decide when a person is asked, and when the list is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confirmation {
    /// Goes on without asking.
    pub(crate) yes: bool,
    /// Leaves out the list if a person has agreed to it before.
    pub(crate) quiet: bool,
}

/// [Asks](confirm) about a scenario that is recorded with `settings`.
pub(crate) fn confirm_scenario(
    scenario: &Scenario,
    settings: RecordSettings,
    how: Confirmation,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let name = scenario.name.as_str();
    let review = Review::of(scenario, settings, stop);
    let review = review.with_context(|| format!("can't record {name}"))?;
    confirm(ConfirmTarget::Scenario(name), &review, how, stop)
}

/// Shows what runs, and asks about it unless a person has agreed to the same here before.
///
/// # Errors
///
/// [`RecordError::Declined`] if the answer is no, and an error if stdin is not a terminal.
pub(crate) fn confirm(
    asked: ConfirmTarget<'_>,
    review: &Review,
    how: Confirmation,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut agreed = match folder() {
        Some(folder) => {
            Some(Agreed::read(&folder).context("can't find the list of what you agreed to")?)
        }
        None => None,
    };
    let is_agreed = agreed.as_ref().is_some_and(|agreed| agreed.has(&review.digest));
    let is_asked = !is_agreed && !how.yes;
    // A scenario's list is shown each time, because the change may be in another file than the one that the person
    // looked at.
    let is_of_interest = matches!(asked, ConfirmTarget::Scenario(_)) || !is_agreed;
    if is_asked || !how.quiet && is_of_interest {
        terminal::note(asked.heading());
        for line in &review.lines {
            terminal::note(format_args!("  {line}"));
        }
    }
    if !is_asked {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        bail!(asked.unasked());
    }
    let name = asked.name();
    if !ask(&asked.question(), stop)? {
        return Err(RecordError::Declined { name: name.to_owned() }.into());
    }
    if let Some(agreed) = &mut agreed
        && let Err(error) = agreed.add(&review.digest, name)
    {
        terminal::note(format_args!("note: {name} will be asked about again: {error}"));
    }
    Ok(())
}

/// Notes that a person agrees to a scenario that was just written here. If that fails, a note says so, and `record`
/// will ask.
pub(crate) fn remember(workspace: &Workspace, name: &ScenarioName) {
    let remember = || -> anyhow::Result<()> {
        let scenario = workspace.load(name.as_str())?;
        let digest = digest(&scenario, WorkspaceLimits::default(), &AtomicBool::new(false))?;
        let folder = folder().context("there is no folder for it")?;
        Ok(Agreed::read(&folder)?.add(&digest, name.as_str())?)
    };
    if let Err(error) = remember() {
        terminal::note(format_args!("note: {name} will be asked about: {error:#}"));
    }
}

/// Asks a question on the terminal; yes is `y` or `yes`.
fn ask(question: &str, stop: &AtomicBool) -> anyhow::Result<bool> {
    terminal::stderr().ask(question)?;
    let (sender, answers) = channel();
    let read = move || {
        let mut line = String::new();
        // The receiver is gone when a signal has ended the question.
        let _ = sender.send(io::stdin().lock().read_line(&mut line).map(|_| line));
    };
    start("answer", read)?;
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

/// Returns the user's state folder, in which the list of agreements is stored.
fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    state.map(|dir| dir.join("clitape"))
}
