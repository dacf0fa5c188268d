//! What several commands take: a file or standard input, the options that choose scenarios, the limits on what is read
//! and replayed, and the secrets of the environment, whose values are left out of every error.

use std::env::{self, VarError};
use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use clitape_gateway::ByteSize;
use clitape_recording::cassette::{CapturedWrite, LoggedRecords, from_folded};
use clitape_recording::files;
use clitape_recording::limits::{
    CAPTURE, CHANNELS, PIECES, PLANS, ReplayLimits, check_input, set_most_input,
};
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_runner::suite::select::{NamePattern, Selection, Selector, Shard, changed_since};

use crate::terminal;

/// The name of standard input and of standard output, wherever a command takes the path of a file.
pub(crate) const STANDARD: &str = "-";

/// Returns whether a path means standard input or standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Returns the path to read for `path`: that of standard input for `-`.
pub(crate) fn named(path: &Path) -> &Path {
    if is_standard(path) { Path::new("/dev/stdin") } else { path }
}

/// The first bytes of files that are no text in UTF-8, what they are, and what to do.
const NO_TEXT: [(&[u8], &str); 6] = [
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"{\0", UTF_16),
    (b"[\0", UTF_16),
    (b"\x1f\x8b", "it is packed with gzip; unpack it with `gzip -d`"),
    (b"\x28\xb5\x2f\xfd", "it is packed with zstd; unpack it with `zstd -d`"),
];
/// What to do about a file that PowerShell wrote with `>`.
const UTF_16: &str = "it is UTF-16; write it again as UTF-8, in PowerShell with `| Out-File -Encoding utf8 FILE` in place of `> FILE`";

/// Reads a capture, a log or standard input, within the limits of a capture. It is an error if the bytes are no text in
/// UTF-8 by their first ones.
pub(crate) fn read_capture(file: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = files::read_named(named(file))?;
    if let Some((_, what)) = NO_TEXT.iter().find(|(first, _)| bytes.starts_with(first)) {
        bail!("{}: {what}", file.display());
    }
    check_input(file, &bytes)?;
    Ok(bytes)
}

/// The records of a capture, a line each.
pub(crate) struct CaptureRecords {
    /// The bytes that the CLI printed.
    pub(crate) stdout: Vec<u8>,
    /// The records that the host wrote, if the capture has them.
    pub(crate) written: Vec<CapturedWrite>,
}

/// Reads a capture. If it is an array of records, or has records over several lines, each is taken as a line, with a note.
pub(crate) fn read_records(file: &Path) -> anyhow::Result<CaptureRecords> {
    let bytes = read_capture(file)?;
    let Some(LoggedRecords { stdout, written, cut, .. }) = from_folded(&bytes) else {
        return Ok(CaptureRecords { stdout: bytes, written: Vec::new() });
    };
    let shown = file.display();
    let records = stdout.iter().filter(|byte| **byte == b'\n').count();
    terminal::note(format_args!(
        "note: {shown}: {} in an array of JSON, or over several lines; each is taken as a line",
        plural(records, "record")
    ));
    if !cut.is_empty() {
        terminal::note(format_args!("note: {shown}: {}", cut_records(&cut)));
    }
    Ok(CaptureRecords { stdout, written })
}

/// The most lines that a sentence lists.
const SHOWN: usize = 5;

/// Says how many records begin and do not end, on which lines, and what to do about it.
pub(crate) fn cut_records(lines: &[usize]) -> String {
    let records = plural(lines.len(), "cut record");
    format!(
        "{records} left out, on {}; if the log cuts long lines, raise its limit",
        on_lines(lines)
    )
}

/// Lists the first of some lines in words.
pub(crate) fn on_lines(lines: &[usize]) -> String {
    let mut lines = lines.to_vec();
    lines.dedup();
    let mut shown: Vec<String> = lines.iter().take(SHOWN).map(usize::to_string).collect();
    if lines.len() > SHOWN {
        shown.push("…".to_owned());
    }
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}", shown.join(", "))
}

/// The option of the commands that work on all cores.
#[derive(clap::Args, Default)]
pub(crate) struct JobsArg {
    /// Take this many scenarios or cassettes at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", help_heading = "Run",
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    jobs: Option<u16>,
}

impl JobsArg {
    /// Returns the number that the command line names.
    pub(crate) fn get(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }
}

/// The limits that every command has on what it reads.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct InputLimits {
    /// Size of the largest file that is read: of a workspace, a capture, a report
    #[arg(long, global = true, value_name = "SIZE", default_value_t = files::LARGEST)]
    max_file: ByteSize,
    /// Bytes that a recording may have, and a capture that is read as a whole; a replay takes up to twenty times as much
    /// memory
    #[arg(long, global = true, value_name = "SIZE", default_value_t = CAPTURE)]
    max_input: ByteSize,
    /// Lines that such a recording or capture may have, and pieces into which a plan may cut it
    #[arg(long, global = true, value_name = "N", default_value_t = PIECES,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_pieces: u64,
}

impl InputLimits {
    /// Applies the limits to the whole process.
    pub(crate) fn set(&self) {
        files::set_largest(self.max_file);
        set_most_input(self.max_input, self.max_pieces);
    }
}

/// The limits on plans and channels, for the commands that replay them.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct WorkLimits {
    /// Seeded plans that a scenario may ask for with `sweep.plans`
    #[arg(long, value_name = "N", default_value_t = PLANS,
        value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    max_plans: u64,
    /// Channels that a scenario may have
    #[arg(long, value_name = "N", default_value_t = CHANNELS,
        value_parser = clap::value_parser!(u64).range(..=1_000))]
    max_channels: u64,
}

impl WorkLimits {
    /// The limits as values.
    pub(crate) fn limits(&self) -> ReplayLimits {
        ReplayLimits { plans: self.max_plans, channels: self.max_channels }
    }
}

/// A time as people write it: a number of seconds, or one with `ms`, `s`, `m` or `h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ms = match &text[digits.len()..] {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let time = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(ms));
    let time = time.filter(|ms| (1..=86_400_000).contains(ms)).map(Duration::from_millis);
    time.ok_or_else(|| "write a time such as 90s, 500ms or 5m, of a day at most".to_owned())
}

/// The revision of `--changed` without a value: it selects what is not committed.
const UNCOMMITTED: &str = "HEAD";

/// The options that choose scenarios
#[derive(clap::Args, Debug, Default)]
pub(crate) struct SelectionArgs {
    /// Scenarios: NAME, NAME/VERSION, or a pattern such as 'three-*' or '*/2.1.332'
    #[arg(value_name = "SCENARIO")]
    names: Vec<NamePattern>,
    /// Only scenarios that track this issue, such as openclaw#80046 or 'openclaw#*'
    #[arg(long, value_name = "ISSUE", help_heading = "Selection")]
    track: Vec<String>,
    /// Leave these scenarios, or with /VERSION these recordings, out
    #[arg(long, value_name = "SCENARIO", help_heading = "Selection")]
    exclude: Vec<NamePattern>,
    /// Only scenarios of which a file changed since the branch left this revision of git; without one, those with
    /// changes that are not committed
    #[arg(long, value_name = "REVISION", num_args = 0..=1, require_equals = true,
        default_missing_value = UNCOMMITTED, help_heading = "Selection")]
    changed: Option<String>,
    /// Only this part of the selected scenarios, such as 1/4; all parts together are all of them
    #[arg(long, value_name = "K/N", help_heading = "Selection")]
    shard: Option<Shard>,
}

/// The meanings that a command gives to names, in addition to those of existing scenarios and recordings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Names {
    /// A part of a scenario's name means all scenarios that contain it.
    pub(crate) parts: bool,
    /// A version may be one that is not recorded yet.
    pub(crate) new_versions: bool,
}

impl SelectionArgs {
    /// Returns the selected scenarios of a workspace.
    pub(crate) fn select(&self, workspace: &Workspace, names: Names) -> anyhow::Result<Selection> {
        let changed = match &self.changed {
            Some(revision) => Some((revision.clone(), changed_since(workspace, revision)?)),
            None => None,
        };
        let selector = Selector {
            names: self.names.clone(),
            parts: names.parts,
            new_versions: names.new_versions,
            exclude: self.exclude.clone(),
            tracks: self.track.clone(),
            changed,
            shard: self.shard,
        };
        Ok(selector.choose(workspace)?)
    }
}

/// Returns the value of the variable `name`, which contains `what`. It is an error if the variable is empty or not set;
/// the error has only its name.
pub(crate) fn secret(name: &str, what: &str) -> anyhow::Result<String> {
    match env::var(name) {
        Ok(value) if value.is_empty() => bail!("{name} is empty; set it to {what}"),
        Ok(value) => Ok(value),
        Err(VarError::NotPresent) => bail!("can't read {what}; set {name} in the environment"),
        Err(VarError::NotUnicode(_)) => bail!("{what} in {name} is not UTF-8; set it again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, ms) in
            [("90s", 90_000), ("90", 90_000), ("500ms", 500), ("5m", 300_000), ("24h", 86_400_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in
            ["", "0", "0s", "s", "-1s", "1.5s", "5 m", "5d", "25h", "ümin", "18446744073709551615h"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
