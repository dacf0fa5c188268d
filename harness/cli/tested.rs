//! What a report and a proof say of the run behind them: the subject, its revision, the command and the day.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use clitape_process::{InstallLimits, ProcessError, Revision};
use clitape_recording::text::shell_quote;
use clitape_recording::{clock, files};
use clitape_runner::report::OWN_BRIDGE;
use clitape_runner::report::proof::TestedSubject;

/// Returns what this run of clitape tests. Without a version, the revision of the repository of `root` counts, which has the
/// subject's code or its recordings.
pub(crate) fn tested(
    subject: String,
    version: Option<&str>,
    root: &Path,
) -> anyhow::Result<TestedSubject> {
    let revision = match version {
        Some(version) => version.to_owned(),
        None => revision(root)?,
    };
    let words = std::env::args().skip(1).map(|word| shell_quote(&word));
    let command: Vec<String> = std::iter::once("clitape".to_owned()).chain(words).collect();
    let run = format!("`{}` on {}", command.join(" "), clock::today());
    Ok(TestedSubject { subject, revision, run })
}

/// Returns the name of what runs without `--subject`.
pub(crate) fn own_bridge() -> String {
    format!("{OWN_BRIDGE} {}", env!("CARGO_PKG_VERSION"))
}

fn revision(root: &Path) -> anyhow::Result<String> {
    // The check of a proof takes this word for none.
    let unknown = || "unknown".to_owned();
    if files::repository(root)?.is_none() {
        return Ok(unknown());
    }
    let stop = AtomicBool::new(false);
    match Revision::find(root, "HEAD", InstallLimits::default(), &stop) {
        Ok(found) if found.has_changes(&stop)? => {
            Ok(format!("{}, with changes that are not committed", found.short()))
        }
        Ok(found) => Ok(found.short().to_owned()),
        Err(ProcessError::Stopped) => Err(ProcessError::Stopped.into()),
        // A repository without a commit, or no git.
        Err(_) => Ok(unknown()),
    }
}
