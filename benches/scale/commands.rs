//! Whole commands on long input: `clitape session` on a transcript, and `clitape test` and `clitape proof` of imported runs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use strum::{Display, EnumIter};

use super::Measured;
use super::shapes::Shape;
use super::transcript::print_transcript;

/// The limits of a capture that is imported and of a recording, which are below the longest runs.
const LIMITS: [&str; 6] =
    ["--max-file", "1GiB", "--max-input", "1GiB", "--max-pieces", "100000000"];

/// A command, and what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter)]
pub(crate) enum CommandRow {
    /// `clitape session` on a transcript of prompts, calls and answers.
    Transcript,
    /// `clitape test` of a turn with many messages.
    Test,
    /// `clitape proof` of a live session, whose page and texts it writes.
    Proof,
}

impl CommandRow {
    /// The most megabytes that it is measured with: a test and a proof replay the run under every plan.
    pub(crate) fn most_megabytes(self) -> usize {
        match self {
            Self::Transcript => usize::MAX,
            Self::Test | Self::Proof => 100,
        }
    }

    /// Prints what it reads, of about so many bytes.
    pub(crate) fn print(self, bytes: usize, out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Transcript => print_transcript(bytes, out)?,
            Self::Test => Shape::Messages.print(bytes, out),
            Self::Proof => Shape::Session.print(bytes, out),
        }
        Ok(())
    }

    /// Runs the command on a file.
    pub(crate) fn measured(self, file: &Path) -> Result<Measured> {
        let dir = tempfile::tempdir()?;
        let seconds = match self {
            Self::Transcript => clitape(dir.path(), &["session", &file.display().to_string()])?,
            Self::Test => imported(dir.path(), file, &["test", "long"])?,
            Self::Proof => {
                imported(dir.path(), file, &["proof", "long", "--out", "proof", "--no-png"])?
            }
        };
        let kib = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
        Ok(Measured { seconds, mib: u64::try_from(kib)? / 1_024 })
    }
}

/// Imports a run into an empty folder as the scenario `long`, and runs clitape there. Returns the seconds of that command.
fn imported(dir: &Path, file: &Path, args: &[&str]) -> Result<f64> {
    clitape(dir, &["init"])?;
    let file = file.display().to_string();
    let import = ["import", &file, "--scenario", "long", "--cli-version", "2.1.332"];
    clitape(dir, &[&import[..], &LIMITS].concat())?;
    clitape(dir, &[args, &LIMITS].concat())
}

/// Runs clitape in a folder, and returns the seconds that it took.
fn clitape(dir: &Path, args: &[&str]) -> Result<f64> {
    let begun = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_clitape"))
        .current_dir(dir)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    // The checks of an imported run find that it has no goldens.
    ensure!(matches!(status.code(), Some(0 | 3)), "`clitape {}`: {status}", args.join(" "));
    Ok(begun.elapsed().as_secs_f64())
}
