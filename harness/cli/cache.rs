//! `clitape cache`: lists the entries of the cache folder and removes those that are named or too many.

use std::path::Path;

use clitape_gateway::ByteSize;
use clitape_recording::text::{megabytes, plural};
use clitape_runner::cache::{CacheEntry, entries, named, over};
use serde_json::json;

use crate::exit::ExitStatus;
use crate::record::cache;
use crate::terminal::{self, Terminal};

/// The value of `--clean` when it stands alone: every entry.
const EVERYTHING: &str = "*";

/// Shows what npm installs, builds and recordings take in the cache folder; removes what is not needed
///
/// Everything there can be made again: a CLI is installed again when it records, a build is built again. Don't remove
/// what a command uses at the moment.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Remove everything, a kind such as drift, or one entry such as claude/2.1.329
    #[arg(long, value_name = "WHAT", num_args = 0..=1, default_missing_value = EVERYTHING)]
    clean: Option<String>,
    /// Remove what was not used for longest, until the rest takes no more than this, such as 2GiB
    #[arg(long, value_name = "SIZE", conflicts_with = "clean")]
    keep: Option<ByteSize>,
    /// Print the entries as JSON; with --clean or --keep, those that were removed
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let folder = cache()?;
    let all = entries(&folder)?;
    let removed: Vec<&CacheEntry> = match (&args.clean, args.keep) {
        (Some(what), _) if what == EVERYTHING => all.iter().collect(),
        (Some(what), _) => named(&all, what)?,
        (None, Some(most)) => over(&all, most.get()).iter().collect(),
        (None, None) => {
            let mut out = terminal::stdout();
            match args.json {
                true => print_json(&mut out, &folder, &all.iter().collect::<Vec<_>>())?,
                false => list(&mut out, &folder, &all)?,
            }
            return Ok(ExitStatus::Ok);
        }
    };
    for entry in &removed {
        entry.remove()?;
    }
    let mut out = terminal::stdout();
    if args.json {
        print_json(&mut out, &folder, &removed)?;
    } else if !quiet {
        for entry in &removed {
            out.line(format_args!("removed {}, {}", entry.id(), megabytes(entry.bytes)))?;
        }
        let rest = total(&all) - removed.iter().map(|it| it.bytes).sum::<u64>();
        let count = plural(removed.len(), "entry");
        out.line(format_args!(
            "removed {count}; {} are left in {}",
            megabytes(rest),
            folder.display()
        ))?;
    }
    Ok(ExitStatus::Ok)
}

fn total(entries: &[CacheEntry]) -> u64 {
    entries.iter().map(|entry| entry.bytes).sum()
}

fn list(out: &mut Terminal, folder: &Path, all: &[CacheEntry]) -> anyhow::Result<()> {
    if all.is_empty() {
        out.line(format_args!("{} is empty: nothing is installed", folder.display()))?;
        return Ok(());
    }
    let ids: Vec<String> = all.iter().map(CacheEntry::id).collect();
    let width = ids.iter().map(String::len).max().unwrap_or_default().max("entry".len());
    out.line(format_args!("{:<width$}  {:>10}  {:<10}  what it is", "entry", "size", "last used"))?;
    for (id, entry) in ids.iter().zip(all).rev() {
        let (size, used, about) = (megabytes(entry.bytes), entry.used_on(), entry.about());
        out.line(format_args!("{id:<width$}  {size:>10}  {used}  {about}"))?;
    }
    out.line("")?;
    let count = plural(all.len(), "entry");
    out.line(format_args!("{count}, {} in {}", megabytes(total(all)), folder.display()))?;
    out.line("--clean WHAT removes an entry or a kind, --keep 2GiB what was not used for longest")?;
    Ok(())
}

fn print_json(out: &mut Terminal, folder: &Path, entries: &[&CacheEntry]) -> anyhow::Result<()> {
    let entry = |it: &&CacheEntry| {
        json!({
            "kind": it.kind.to_string(), "name": it.name, "version": it.version(),
            "bytes": it.bytes, "last_used": it.used_on(),
        })
    };
    let entries: Vec<_> = entries.iter().map(entry).collect();
    let json = json!({ "folder": folder.to_string_lossy(), "entries": entries });
    Ok(out.json(&json.to_string())?)
}
