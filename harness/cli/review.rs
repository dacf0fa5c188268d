//! `clitape review`: lists what waits for a review, and settles it one by one or all at once.

use std::fmt;
use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_runner::check::{Golden, GoldenChange, ScenarioChecks, body};
use clitape_runner::files;
use clitape_runner::limits::ReplayLimits;
use clitape_runner::report::{plain, write_diff};
use clitape_runner::scenario::Workspace;
use clitape_runner::text::plural;
use serde_json::json;

use crate::exit::ExitStatus;
use crate::input::WorkLimits;
use crate::terminal::{self, Terminal};

/// Settles the goldens that `clitape test --update` proposed
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only goldens whose path contains this
    filter: Option<String>,
    /// Accept the golden of this id without asking, or all of them
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "reject")]
    accept: Option<Option<String>>,
    /// Why it is accepted; stands in the golden's header
    #[arg(long, value_name = "TEXT", requires = "accept")]
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
    #[command(flatten)]
    work: WorkLimits,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Accept,
    Reject,
    Skip,
}

/// Why a golden is on the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GoldenState {
    New,
    Changed,
    Orphan,
    Repeated,
    Missing,
    Unseen,
}

impl GoldenState {
    /// Whether a golden is proposed, so that it can be settled.
    fn waits(self) -> bool {
        matches!(self, Self::New | Self::Changed)
    }
}

impl fmt::Display for GoldenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Orphan => "orphan",
            Self::Repeated => "repeated",
            Self::Missing => "missing",
            Self::Unseen => "unseen",
        })
    }
}

/// One golden on the list.
struct ReviewItem {
    /// Scenario and view: `plain-text/bus`, with the version where it has one.
    id: String,
    golden: PathBuf,
    state: GoldenState,
}

impl ReviewItem {
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn new(scenario: &str, golden: PathBuf, state: GoldenState) -> Self {
        let view = golden.file_stem().expect("a golden has a name").to_string_lossy();
        let folder = golden.parent().and_then(Path::file_name).expect("a golden has a folder");
        // Those of a subject are in a folder that has its name.
        let id = match folder.to_string_lossy() {
            folder if folder == "golden" => format!("{scenario}/{view}"),
            subject => format!("{scenario}/{subject}/{view}"),
        };
        Self { id, golden, state }
    }

    fn proposed(&self) -> PathBuf {
        let mut path = self.golden.clone().into_os_string();
        path.push(".new");
        path.into()
    }

    /// What a reviewer wants to know first.
    fn sentence(&self) -> anyhow::Result<String> {
        Ok(match self.state {
            GoldenState::Orphan => "nothing is compared with it; remove it".to_owned(),
            GoldenState::Repeated => {
                "it says the same as the golden before it, which holds for its version too; remove it"
                    .to_owned()
            }
            GoldenState::Missing => {
                "the variant has no golden; `clitape test --update` proposes it".to_owned()
            }
            GoldenState::Unseen => {
                "no replay gives this variant; remove it, or replay more `plans` \
                              under [sweep]"
                    .to_owned()
            }
            GoldenState::New => {
                let entries = text(&self.proposed())?.lines().count();
                format!("a new golden of {}", plural(entries, "entry"))
            }
            GoldenState::Changed => {
                let change = GoldenChange::between(&text(&self.golden)?, &text(&self.proposed())?);
                change.sentence.unwrap_or_else(|| "the texts are equal".to_owned())
            }
        })
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let mut items = items(workspace)?;
    if args.list {
        items.extend(variants(workspace, &items, args.work.limits())?);
    }
    items.retain(|item| {
        args.filter.as_ref().is_none_or(|filter| workspace.shown(&item.golden).contains(filter))
    });
    let mut out = terminal::stdout();
    if args.list {
        return list(workspace, &items, args.json, &mut out);
    }
    items.retain(|item| item.state.waits());
    if let Some(Some(id)) = &args.accept {
        one(&mut items, id)?;
        if args.reason.is_none() {
            bail!("say why {id} is right: add --reason TEXT, which its header will keep");
        }
    }
    if items.is_empty() {
        out.line("no golden waits for a review")?;
        return Ok(ExitStatus::Ok);
    }
    let always = match (&args.accept, args.reject) {
        (Some(_), _) => Some(Choice::Accept),
        (_, true) => Some(Choice::Reject),
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
                show(&mut out, item)?;
                ask(&mut out, item)?
            }
        };
        settle(choice, item, args.reason.as_deref())
            .with_context(|| format!("can't settle {shown}"))?;
        settled[choice as usize] += 1;
        if choice != Choice::Skip {
            let word = if choice == Choice::Accept { "accepted" } else { "rejected" };
            out.line(format_args!("{word} {shown}"))?;
        }
    }
    let [accepted, rejected, skipped] = settled;
    out.line(format_args!("{accepted} accepted, {rejected} rejected, {skipped} skipped"))?;
    Ok(ExitStatus::Ok)
}

/// What waits in each scenario, then its orphans.
fn items(workspace: &Workspace) -> anyhow::Result<Vec<ReviewItem>> {
    let subjects = workspace.subjects()?;
    let mut items = Vec::new();
    for name in workspace.names()? {
        let scenario = workspace.scenario_of(&name)?;
        for proposed in Golden::pending(&scenario)? {
            let golden = proposed.with_extension("");
            let state =
                if files::is_there(&golden) { GoldenState::Changed } else { GoldenState::New };
            items.push(ReviewItem::new(&name, golden, state));
        }
        let recorded = workspace.recorded(&name)?;
        let orphans = Golden::orphans(&scenario, &recorded, &subjects)?;
        items.extend(
            orphans.into_iter().map(|path| ReviewItem::new(&name, path, GoldenState::Orphan)),
        );
        let repeated = Golden::repeated(&scenario)?.into_iter();
        items.extend(repeated.map(|(path, _)| ReviewItem::new(&name, path, GoldenState::Repeated)));
    }
    Ok(items)
}

/// Variants whose golden is not there or that no replay gives, but for those on the list already.
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
        let unseen = ScenarioChecks::new(workspace, scenario)?.never_seen_variants()?;
        let unseen = unseen.into_iter().map(|path| (path, GoldenState::Unseen));
        let open = missing.chain(unseen);
        let open = open.filter(|(path, _)| listed.iter().all(|item| item.golden != *path));
        items.extend(open.map(|(path, state)| ReviewItem::new(&name, path, state)));
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

/// Leaves the one of this id.
fn one(items: &mut Vec<ReviewItem>, id: &str) -> anyhow::Result<()> {
    if !items.iter().any(|item| item.id == id) {
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        match ids.as_slice() {
            [] => bail!("no golden waits for a review, so `{id}` does not either"),
            _ => bail!("no golden `{id}` waits for a review; there are {}", ids.join(", ")),
        }
    }
    items.retain(|item| item.id == id);
    Ok(())
}

fn show(out: &mut Terminal, item: &ReviewItem) -> anyhow::Result<()> {
    out.line(format_args!("  {}", item.sentence()?))?;
    let old = if item.state == GoldenState::New { String::new() } else { text(&item.golden)? };
    let change = GoldenChange::between(&old, &text(&item.proposed())?);
    Ok(write_diff(out.styled(), &change.diff)?)
}

fn text(path: &Path) -> anyhow::Result<String> {
    let file = files::read_text(path)?;
    Ok(body(&file).unwrap_or(&file).to_owned())
}

/// Asks until the answer settles it, and shows what is asked for; the end of the input skips.
fn ask(out: &mut Terminal, item: &ReviewItem) -> anyhow::Result<Choice> {
    loop {
        out.ask("  [a]ccept, [r]eject, [s]kip, or show [o]ld, [n]ew, [d]iff? ")?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            out.line("")?;
            return Ok(Choice::Skip);
        }
        match answer.trim() {
            "a" | "accept" => return Ok(Choice::Accept),
            "r" | "reject" => return Ok(Choice::Reject),
            "s" | "skip" | "" => return Ok(Choice::Skip),
            "o" | "old" if item.state == GoldenState::New => out.line("  there is no old one")?,
            "o" | "old" => whole(out, &item.golden)?,
            "n" | "new" => whole(out, &item.proposed())?,
            "d" | "diff" => show(out, item)?,
            _ => {}
        }
    }
}

/// Writes a whole golden, its entries as they are.
fn whole(out: &mut Terminal, path: &Path) -> anyhow::Result<()> {
    for line in text(path)?.lines() {
        out.line(format_args!("  {line}"))?;
    }
    Ok(())
}

fn settle(choice: Choice, item: &ReviewItem, reason: Option<&str>) -> io::Result<()> {
    let proposed = item.proposed();
    match choice {
        Choice::Accept => {
            if let Some(reason) = reason {
                let text = files::read_text(&proposed)?;
                files::replace(&proposed, explained(&text, reason))?;
            }
            // A link would become the golden itself, which nothing could read.
            files::read_text(&proposed)?;
            std::fs::rename(proposed, &item.golden)
        }
        Choice::Reject => std::fs::remove_file(proposed),
        Choice::Skip => Ok(()),
    }
}

/// A golden whose header says why it is right, where insta keeps a description.
fn explained(golden: &str, reason: &str) -> String {
    let line = format!("---\ndescription: {}\n", json!(plain(reason)));
    golden.replacen("---\n", &line, 1)
}
