//! `clitape review`: settles pending goldens, one by one or all at once.

use std::io::{self, BufRead as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clitape_deck::report::write_diff;
use clitape_deck::scenario::House;
use clitape_deck::verdict::{Golden, align, body, first_divergence};

use crate::exit::Exit;

/// Settles the goldens that `clitape test --update` proposed
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only goldens whose path contains this
    filter: Option<String>,
    /// Accept them all without asking
    #[arg(long, conflicts_with = "reject")]
    accept: bool,
    /// Reject them all without asking
    #[arg(long)]
    reject: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Accept,
    Reject,
    Skip,
}

pub(crate) fn run(house: &House, args: &Args) -> anyhow::Result<Exit> {
    let filter = args.filter.as_deref().unwrap_or_default();
    let mut pending = Vec::new();
    for name in house.names()? {
        pending.extend(Golden::pending(&house.load(&name)?)?);
    }
    pending.retain(|path| house.shown(path).contains(filter));
    let mut out = anstream::stdout().lock();
    if pending.is_empty() {
        writeln!(out, "no golden waits for a review")?;
        return Ok(Exit::Ok);
    }
    let always = match (args.accept, args.reject) {
        (true, _) => Some(Choice::Accept),
        (_, true) => Some(Choice::Reject),
        _ => None,
    };
    let mut settled = [0, 0, 0];
    for (i, path) in pending.iter().enumerate() {
        let golden = path.with_extension("");
        let shown = house.shown(&golden);
        let choice = match always {
            Some(choice) => choice,
            None => {
                writeln!(out, "\n{} of {}: {shown}", i + 1, pending.len())?;
                show(&mut out, &golden, path)?;
                ask(&mut out)?
            }
        };
        settle(choice, path, &golden)?;
        settled[choice as usize] += 1;
        if choice != Choice::Skip {
            let word = if choice == Choice::Accept { "accepted" } else { "rejected" };
            writeln!(out, "{word} {shown}")?;
        }
    }
    let [accepted, rejected, skipped] = settled;
    writeln!(out, "{accepted} accepted, {rejected} rejected, {skipped} skipped")?;
    Ok(Exit::Ok)
}

fn show(out: &mut dyn Write, golden: &Path, proposed: &Path) -> anyhow::Result<()> {
    let new = text(proposed)?;
    if !golden.exists() {
        writeln!(out, "  a new golden of {} entries", new.lines().count())?;
        return Ok(write_diff(out, &align("", &new))?);
    }
    let old = text(golden)?;
    let sentence = first_divergence(&old, &new).unwrap_or_else(|| "the texts are equal".into());
    writeln!(out, "  {sentence}")?;
    Ok(write_diff(out, &align(&old, &new))?)
}

fn text(path: &Path) -> anyhow::Result<String> {
    let file =
        std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    Ok(body(&file).unwrap_or(&file).to_owned())
}

/// Asks until the answer is one of the three; the end of the input skips.
fn ask(out: &mut dyn Write) -> io::Result<Choice> {
    loop {
        write!(out, "  [a]ccept, [r]eject, [s]kip? ")?;
        out.flush()?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            writeln!(out)?;
            return Ok(Choice::Skip);
        }
        match answer.trim() {
            "a" | "accept" => return Ok(Choice::Accept),
            "r" | "reject" => return Ok(Choice::Reject),
            "s" | "skip" | "" => return Ok(Choice::Skip),
            _ => {}
        }
    }
}

fn settle(choice: Choice, proposed: &PathBuf, golden: &Path) -> anyhow::Result<()> {
    let done = match choice {
        Choice::Accept => std::fs::rename(proposed, golden),
        Choice::Reject => std::fs::remove_file(proposed),
        Choice::Skip => Ok(()),
    };
    done.with_context(|| format!("can't settle {}", proposed.display()))
}
