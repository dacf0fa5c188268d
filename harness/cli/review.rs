//! `clitape review`: lists the goldens that wait for a review, and settles them one by one or all at once.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_judge::Golden;
use clitape_recording::files;
use clitape_recording::limits::ReplayLimits;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plain;
use clitape_runner::check::ScenarioChecks;
use clitape_runner::report::{review_page, write_change, write_diff};
use serde_json::json;

use crate::exit::ExitStatus;
use crate::input::WorkLimits;
use crate::outputs::write_file;
use crate::terminal::{self, Terminal};

mod answer;
mod item;

use answer::{ReviewAnswer, ask};
use item::{GoldenState, ReviewItem, text};

/// Settles the goldens that `clitape test --update` proposed
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only goldens with such an id, as `--list` shows them, or whose id or path contains this
    #[arg(value_name = "GOLDEN")]
    filters: Vec<String>,
    /// Accept them all without asking, or the golden of this id
    #[arg(long, value_name = "GOLDEN", num_args = 0..=1, conflicts_with = "reject")]
    accept: Option<Option<String>>,
    /// Why they are accepted; stands in the header of each golden that is
    #[arg(long, value_name = "TEXT", conflicts_with = "reject")]
    reason: Option<String>,
    /// Reject them all without asking
    #[arg(long)]
    reject: bool,
    /// List what waits, goldens that nothing is compared with, and variants without a golden or that
    /// no replay gives; settles nothing
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    list: bool,
    /// One JSON object a line
    #[arg(long, requires = "list")]
    json: bool,
    /// Write a page of what is proposed; settles nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["accept", "reject", "list"])]
    html: Option<PathBuf>,
    #[command(flatten)]
    work: WorkLimits,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReviewChoice {
    Accept,
    Reject,
    Skip,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let mut items = items(workspace)?;
    if args.list {
        items.extend(variants(workspace, &items, args.work.limits())?);
    }
    let mut out = terminal::stdout();
    if args.list {
        items.retain(|item| is_chosen(item, &args.filters, workspace));
        return list(workspace, &items, args.json, &mut out);
    }
    items.retain(|item| item.state.waits());
    let mut filters = args.filters.clone();
    if let Some(Some(id)) = &args.accept {
        if args.reason.is_none() {
            bail!("say why {id} is right: add --reason TEXT, which its header will keep");
        }
        filters.push(id.clone());
    }
    choose(&mut items, &filters, args.accept.as_ref().is_some_and(Option::is_some), workspace)?;
    if let Some(path) = &args.html {
        let reviewed: anyhow::Result<Vec<_>> =
            items.iter().map(|item| item.reviewed(workspace)).collect();
        write_file(path, review_page(&reviewed?))?;
        out.line(path.display())?;
        return Ok(ExitStatus::Ok);
    }
    if items.is_empty() {
        out.line("no golden waits for a review")?;
        return Ok(ExitStatus::Ok);
    }
    settle_all(workspace, &items, args, &mut out)
}

/// Returns the ids of the goldens that wait for a review.
pub(crate) fn waiting(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let items = items(workspace)?.into_iter();
    Ok(items.filter(|item| item.state.waits()).map(|item| item.id).collect())
}

/// Returns whether a filter means this golden; without filters, all are meant.
fn is_chosen(item: &ReviewItem, filters: &[String], workspace: &Workspace) -> bool {
    filters.is_empty() || filters.iter().any(|filter| item.is_meant(filter, workspace))
}

/// Removes the goldens that no filter means. A filter that is an id means that golden alone.
fn choose(
    items: &mut Vec<ReviewItem>,
    filters: &[String],
    is_id: bool,
    workspace: &Workspace,
) -> anyhow::Result<()> {
    for filter in filters {
        let is_known = items.iter().any(|item| item.id == *filter);
        let means_some = items.iter().any(|item| item.is_meant(filter, workspace));
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        match ids.as_slice() {
            _ if is_known || (means_some && !is_id) => {}
            [] if is_id => bail!("no golden waits for a review, so `{filter}` does not either"),
            [] => {}
            _ => bail!("no golden `{filter}` waits for a review; there are {}", ids.join(", ")),
        }
    }
    let (ids, parts): (Vec<&String>, Vec<&String>) =
        filters.iter().partition(|filter| items.iter().any(|item| item.id == **filter));
    items.retain(|item| {
        filters.is_empty()
            || ids.contains(&&item.id)
            || parts.iter().any(|part| item.is_meant(part, workspace))
    });
    Ok(())
}

/// Settles one golden after another.
fn settle_all(
    workspace: &Workspace,
    items: &[ReviewItem],
    args: &Args,
    out: &mut Terminal,
) -> anyhow::Result<ExitStatus> {
    let mut always = match (&args.accept, args.reject) {
        (Some(_), _) => Some(ReviewChoice::Accept),
        (_, true) => Some(ReviewChoice::Reject),
        _ => None,
    };
    let mut settled = [0, 0, 0];
    for (i, item) in items.iter().enumerate() {
        let shown = workspace.shown(&item.golden);
        let choice = match always {
            Some(choice) => choice,
            None => {
                out.line("")?;
                out.line(format_args!("{} of {}: {shown}", i + 1, items.len()))?;
                show(out, item)?;
                match answered(out, item)? {
                    ReviewAnswer::Accept => ReviewChoice::Accept,
                    ReviewAnswer::Reject => ReviewChoice::Reject,
                    ReviewAnswer::AcceptAll => *always.insert(ReviewChoice::Accept),
                    ReviewAnswer::Quit => *always.insert(ReviewChoice::Skip),
                    ReviewAnswer::Skip
                    | ReviewAnswer::Old
                    | ReviewAnswer::New
                    | ReviewAnswer::Diff => ReviewChoice::Skip,
                }
            }
        };
        settle(choice, item, args.reason.as_deref())
            .with_context(|| format!("can't settle {shown}"))?;
        settled[choice as usize] += 1;
        if choice != ReviewChoice::Skip {
            let word = if choice == ReviewChoice::Accept { "accepted" } else { "rejected" };
            out.line(format_args!("{word} {shown}"))?;
        }
    }
    let [accepted, rejected, skipped] = settled;
    out.line(format_args!("{accepted} accepted, {rejected} rejected, {skipped} skipped"))?;
    Ok(ExitStatus::Ok)
}

/// Lists the proposals of each scenario, then its goldens that can be removed.
fn items(workspace: &Workspace) -> anyhow::Result<Vec<ReviewItem>> {
    let subjects = workspace.subjects()?;
    let mut items = Vec::new();
    for name in workspace.names()? {
        let scenario = workspace.scenario_of(&name)?;
        for proposed in Golden::pending(&scenario)? {
            let golden = proposed.with_extension("");
            let state =
                if files::is_there(&golden) { GoldenState::Changed } else { GoldenState::New };
            items.push(ReviewItem::new(&scenario, golden, state)?);
        }
        let recorded = workspace.recorded(&name)?;
        let orphans = Golden::orphans(&scenario, &recorded, &subjects)?;
        let orphans = orphans.into_iter().map(|path| (path, GoldenState::Orphan));
        let repeated = Golden::repeated(&scenario)?.into_iter();
        let repeated = repeated.map(|(path, _)| (path, GoldenState::Repeated));
        for (path, state) in orphans.chain(repeated) {
            items.push(ReviewItem::new(&scenario, path, state)?);
        }
    }
    Ok(items)
}

/// Lists variants that lack a golden or that no replay gives, except those in `listed`.
fn variants(
    workspace: &Workspace,
    listed: &[ReviewItem],
    most: ReplayLimits,
) -> anyhow::Result<Vec<ReviewItem>> {
    let mut items = Vec::new();
    for name in workspace.names()? {
        let scenario = workspace.scenario_of(&name)?;
        scenario.check_work(most)?;
        let missing =
            Golden::unwritten(&scenario).into_iter().map(|path| (path, GoldenState::Missing));
        let checks = ScenarioChecks::new(workspace, scenario)?;
        let unseen = checks.never_seen_variants()?;
        let unseen = unseen.into_iter().map(|path| (path, GoldenState::Unseen));
        let open = missing.chain(unseen);
        let open = open.filter(|(path, _)| listed.iter().all(|item| item.golden != *path));
        for (path, state) in open {
            items.push(ReviewItem::new(checks.scenario(), path, state)?);
        }
    }
    Ok(items)
}

fn list(
    workspace: &Workspace,
    items: &[ReviewItem],
    json: bool,
    out: &mut Terminal,
) -> anyhow::Result<ExitStatus> {
    for item in items {
        let (id, path, sentence) = (&item.id, workspace.shown(&item.golden), item.sentence()?);
        if json {
            let state = item.state.to_string();
            let line = json!({ "id": id, "state": state, "path": path, "sentence": sentence });
            out.json(&line.to_string())?;
        } else {
            out.line(format_args!("{:>8} {id}: {sentence}", item.state))?;
        }
    }
    Ok(if items.is_empty() { ExitStatus::Ok } else { ExitStatus::Findings })
}

fn show(out: &mut Terminal, item: &ReviewItem) -> anyhow::Result<()> {
    let change = item.change()?;
    out.line(format_args!("  {}", item.sentence_of(&change)?))?;
    Ok(write_change(out.styled(), &change)?)
}

/// Asks until an answer settles the golden, and shows what is asked for in between.
fn answered(out: &mut Terminal, item: &ReviewItem) -> anyhow::Result<ReviewAnswer> {
    loop {
        match (ask(out)?, &item.old) {
            (ReviewAnswer::Old, None) => out.line("  there is no old one")?,
            (ReviewAnswer::Old, Some(old)) => whole(out, old)?,
            (ReviewAnswer::New, _) => whole(out, &item.proposed())?,
            (ReviewAnswer::Diff, _) => write_diff(out.styled(), &item.change()?.diff)?,
            (answer, _) => return Ok(answer),
        }
    }
}

/// Prints all entries of a golden.
fn whole(out: &mut Terminal, path: &Path) -> anyhow::Result<()> {
    for line in text(path)?.lines() {
        out.line(format_args!("  {line}"))?;
    }
    Ok(())
}

fn settle(choice: ReviewChoice, item: &ReviewItem, reason: Option<&str>) -> io::Result<()> {
    let proposed = item.proposed();
    match choice {
        ReviewChoice::Accept => {
            if let Some(reason) = reason {
                let text = files::read_text(&proposed)?;
                files::replace(&proposed, explained(&text, reason))?;
            }
            // Reading refuses a link, which would become a golden that can't be read.
            files::read_text(&proposed)?;
            Ok(files::rename(&proposed, &item.golden)?)
        }
        ReviewChoice::Reject => Ok(files::remove(&proposed)?),
        ReviewChoice::Skip => Ok(()),
    }
}

/// Adds the reason to the header of a golden, under the key that insta uses for a description.
fn explained(golden: &str, reason: &str) -> String {
    let line = format!("---\ndescription: {}\n", json!(plain(reason)));
    golden.replacen("---\n", &line, 1)
}
