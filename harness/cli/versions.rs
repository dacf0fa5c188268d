//! `clitape versions`: lists the versions of the CLI in a workspace, with their size, or removes one of them.

use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::{megabytes, plural};
use clitape_runner::baseline::{RemovalCounts, VersionInventory, held, leave};

use crate::exit::ExitStatus;
use crate::terminal::{self, Terminal};

/// Lists the versions of the CLI that are recorded, with their size
///
/// Hand-written captures count with the version that they were written for, and a golden with the version that it names.
/// Most goldens name no version: they hold from the oldest one on.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Remove a version from clitape.toml, with its recordings and the goldens that hold for no other one
    #[arg(long, value_name = "VERSION")]
    drop: Option<CliVersion>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "drop")]
    json: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let mut out = terminal::stdout();
    if let Some(version) = &args.drop {
        let left = leave(workspace, version)?;
        if !quiet {
            out.line(sentence(version, &left))?;
        }
        return Ok(ExitStatus::Ok);
    }
    let held = held(workspace)?;
    match args.json {
        true => out.json(&serde_json::to_string(&held)?)?,
        false => list(&held, &mut out)?,
    }
    Ok(ExitStatus::Ok)
}

/// Describes what was removed, and what stays.
fn sentence(version: &CliVersion, left: &RemovalCounts) -> String {
    let [recordings, goldens, imported] = [
        (left.recordings, "recording"),
        (left.goldens, "golden"),
        (left.imported, "hand-written capture"),
    ]
    .map(|(count, noun)| plural(count, noun));
    let stay = match left.imported {
        0 => String::new(),
        _ => format!("; {imported} of it stay, as nothing can record them again"),
    };
    format!(
        "removed claude {version}: {recordings} and {goldens} that held for no other version{stay}"
    )
}

/// Prints a table of the versions, and their sum.
fn list(held: &VersionInventory, out: &mut Terminal) -> anyhow::Result<()> {
    let row = |name: &str, [recordings, goldens]: [usize; 2], sizes: [u64; 2], note: &str| {
        let [recorded, golden] = sizes.map(megabytes);
        format!("{name:<12} {recordings:>10} {recorded:>10} {goldens:>8} {golden:>10}{note}")
    };
    out.line(format_args!(
        "{:<12} {:>10} {:>10} {:>8} {:>10}",
        "version", "recordings", "size", "goldens", "size"
    ))?;
    let (mut counts, mut sizes) = ([0, held.goldens], [0, held.golden_bytes]);
    for one in &held.versions {
        let (count, size) =
            ([one.recordings, one.goldens], [one.recording_bytes, one.golden_bytes]);
        let note = if one.in_baseline { "" } else { "  not in the baseline" };
        out.line(row(one.version.as_str(), count, size, note))?;
        counts = [counts[0] + count[0], counts[1] + count[1]];
        sizes = [sizes[0] + size[0], sizes[1] + size[1]];
    }
    out.line(row("no version", [0, held.goldens], [0, held.golden_bytes], ""))?;
    out.line(row("together", counts, sizes, ""))?;
    Ok(())
}
