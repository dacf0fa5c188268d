//! `clitape review`: lists the goldens that wait for a review, and settles them one by one or all at once.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_judge::{DESCRIPTION, DiffSide, Golden, GoldenChange, body};
use clitape_recording::files;
use clitape_recording::limits::ReplayLimits;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{ChatProfile, Scenario, Workspace};
use clitape_recording::text::{plain, plural, width};
use clitape_runner::check::ScenarioChecks;
use clitape_runner::report::{ReviewedGolden, review_page, write_change, write_diff};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
use serde_json::json;

use crate::exit::ExitStatus;
use crate::input::WorkLimits;
use crate::outputs::write_file;
use crate::terminal::{self, Terminal};

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
        let is_part = items.iter().any(|item| item.is_meant(id, workspace));
        if is_part && !items.iter().any(|item| item.id == *id) {
            bail!(
                "`--accept ID` accepts one golden, and {id} is only a part of ids; accept all that have it with \
                 `clitape review {id} --accept`, or see the ids with `clitape review {id} --list`"
            );
        }
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
    // The proposals that a person accepted together with an earlier one.
    let mut with_it = HashSet::new();
    for (i, item) in items.iter().enumerate() {
        let shown = workspace.shown(&item.golden);
        let choice = match always {
            _ if with_it.contains(&item.id) => ReviewChoice::Accept,
            Some(choice) => choice,
            None => {
                out.line("")?;
                out.line(format_args!("{} of {}: {shown}", i + 1, items.len()))?;
                show(out, item)?;
                match answered(out, item)? {
                    ReviewAnswer::Accept => {
                        with_it.extend(ask_for_same(out, item, &items[i + 1..], &with_it)?);
                        ReviewChoice::Accept
                    }
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
    items.sort_by(|a, b| a.place.before(&b.place));
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
    Ok(write_change(&mut out.screen(), &change)?)
}

/// Asks until an answer settles the golden, and shows what is asked for in between.
fn answered(out: &mut Terminal, item: &ReviewItem) -> anyhow::Result<ReviewAnswer> {
    loop {
        match (ask(out)?, &item.old) {
            (ReviewAnswer::Old, None) => out.line("  there is no old one")?,
            (ReviewAnswer::Old, Some(old)) => whole(out, old)?,
            (ReviewAnswer::New, _) => whole(out, &item.proposed())?,
            (ReviewAnswer::Diff, _) => write_diff(&mut out.screen(), &item.change()?.diff)?,
            (answer, _) => return Ok(answer),
        }
    }
}

/// Prints all entries of a golden, on a terminal a screen at a time.
fn whole(out: &mut Terminal, path: &Path) -> anyhow::Result<()> {
    let screen = terminal::size().filter(|_| io::stdin().is_terminal());
    let mut used = 0;
    for line in text(path)?.lines().map(|line| format!("  {line}")) {
        if let Some((columns, rows)) = screen {
            let needed = width(&line).div_ceil(columns.max(1)).max(1);
            if used > 0 && used + needed >= rows {
                out.ask("  any key for more, [q]uit? ")?;
                let key = key()?;
                out.line("")?;
                if key.is_none_or(|key| key == "q") {
                    break;
                }
                used = 0;
            }
            used += needed;
        }
        out.line(line)?;
    }
    Ok(())
}

/// Asks on a terminal whether the proposals with the same change as an accepted one are accepted with it, and returns
/// their ids if so.
fn ask_for_same(
    out: &mut Terminal,
    accepted: &ReviewItem,
    others: &[ReviewItem],
    known: &HashSet<String>,
) -> anyhow::Result<Vec<String>> {
    if !io::stdin().is_terminal() {
        return Ok(Vec::new());
    }
    let changed = accepted.changed()?;
    let mut same = Vec::new();
    for other in others.iter().filter(|other| !known.contains(&other.id)) {
        if other.scenario() == accepted.scenario() && is_same(&other.changed()?, &changed) {
            same.push(other.id.clone());
        }
    }
    if same.is_empty() {
        return Ok(same);
    }
    let count = plural(same.len(), "other version or lane");
    out.line(format_args!("  the same change is in {count}: {}", same.join(", ")))?;
    out.ask("  accept them with it: [y]es, any other key for no? ")?;
    let answer = key()?.unwrap_or_default();
    out.line(&answer)?;
    Ok(if answer == "y" { same } else { Vec::new() })
}

/// Returns whether a proposal changes nothing that an accepted one does not change too; a lane may have a part of a text.
fn is_same(changed: &ChangedParts, accepted: &ChangedParts) -> bool {
    let has = |(side, part): &(bool, String)| {
        accepted.iter().any(|(other, whole)| side == other && whole.contains(part.as_str()))
    };
    !changed.is_empty() && changed.iter().all(has)
}

/// The parts of a golden that differ, each with whether it is proposed.
type ChangedParts = BTreeSet<(bool, String)>;

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

/// Puts the reason into the header of a golden, under the key that insta uses for a description, in the place of an
/// earlier one.
fn explained(golden: &str, reason: &str) -> String {
    let (header, text) = golden.split_at(golden.len() - body(golden).map_or(0, str::len));
    let mut lines: Vec<&str> = header.split_inclusive('\n').collect();
    lines.retain(|line| !line.starts_with(DESCRIPTION));
    let line = format!("{DESCRIPTION}{}\n", json!(plain(reason)));
    lines.insert(lines.len().min(1), &line);
    lines.concat() + text
}

/// The reason why a golden is in the list.
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
    /// Returns whether a golden is proposed, so that it can be settled.
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

/// A golden in the list.
struct ReviewItem {
    /// The scenario and the view, such as `plain-text/bus`, with the version where it has one.
    id: String,
    golden: PathBuf,
    state: GoldenState,
    /// The golden that a proposal is compared with: the one of the same name; for a new one with a version, the golden
    /// that was valid for the version so far; for a variant, the usual one.
    old: Option<PathBuf>,
    /// The profile of the chat, if the golden shows one.
    profile: ChatProfile,
    place: ReviewPlace,
}

/// The place in a review: by scenario, what a person sees before what only programs read, and the newest version first.
struct ReviewPlace {
    scenario: String,
    lane: usize,
    version: Option<CliVersion>,
    view: String,
}

impl ReviewPlace {
    /// Returns whether it comes before another one. A golden without a version is that of the oldest one.
    fn before(&self, other: &Self) -> Ordering {
        let versions = match (&self.version, &other.version) {
            (Some(own), Some(other)) => other.by_number(own),
            (own, other) => other.is_some().cmp(&own.is_some()),
        };
        let lanes = self.scenario.cmp(&other.scenario).then(self.lane.cmp(&other.lane));
        lanes.then(versions).then_with(|| self.view.cmp(&other.view))
    }
}

/// The beginnings of the views, in the order of a review; those of others' gateways come first.
const LANES: [&str; 5] = ["telegram", "acp", "sse", "bus", "lifecycle"];

impl ReviewItem {
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    fn new(scenario: &Scenario, golden: PathBuf, state: GoldenState) -> anyhow::Result<Self> {
        let view = golden.file_stem().expect("a golden has a name").to_string_lossy();
        let folder = golden.parent().and_then(Path::file_name).expect("a golden has a folder");
        // The goldens of a subject are in a folder with its name.
        let (id, lane) = match folder.to_string_lossy() {
            folder if folder == "golden" => {
                let lane = LANES.iter().position(|lane| view.starts_with(lane));
                (format!("{}/{view}", scenario.name), lane.map_or(LANES.len(), |lane| lane + 1))
            }
            subject => (format!("{}/{subject}/{view}", scenario.name), 0),
        };
        let version = view.split_once('.').and_then(|(_, version)| version.parse().ok());
        let place = ReviewPlace {
            scenario: scenario.name.to_string(),
            lane,
            version,
            view: view.to_string(),
        };
        let old = match state {
            GoldenState::New => Golden::before(scenario, &golden)?,
            _ => Some(golden.clone()),
        };
        let profile = Golden::profile(scenario, &golden);
        Ok(Self { id, golden, state, old, profile, place })
    }

    fn scenario(&self) -> &str {
        &self.place.scenario
    }

    /// Returns the parts that differ from the golden that was valid so far; none for a new one.
    fn changed(&self) -> anyhow::Result<ChangedParts> {
        if self.old.is_none() {
            return Ok(ChangedParts::new());
        }
        let change = self.change()?;
        let lines = change.diff.iter().filter_map(|line| match line.side {
            DiffSide::Expected => Some((false, &line.parts)),
            DiffSide::Got => Some((true, &line.parts)),
            DiffSide::Both | DiffSide::Gap => None,
        });
        let parts = lines.flat_map(|(is_new, parts)| {
            let changed = parts.iter().filter(|(is_changed, _)| *is_changed);
            changed.map(move |(_, text)| (is_new, text.trim().to_owned()))
        });
        Ok(parts.filter(|(_, text)| text.contains(char::is_alphanumeric)).collect())
    }

    fn proposed(&self) -> PathBuf {
        let mut path = self.golden.clone().into_os_string();
        path.push(".new");
        path.into()
    }

    /// Returns whether the filter is the id, or a part of the id or path.
    fn is_meant(&self, filter: &str, workspace: &Workspace) -> bool {
        self.id.contains(filter) || workspace.shown(&self.golden).contains(filter)
    }

    /// Returns the reason why the golden is in the list, in one sentence.
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
            GoldenState::New | GoldenState::Changed => self.sentence_of(&self.change()?)?,
        })
    }

    /// Returns the sentence of a proposal with this change.
    fn sentence_of(&self, change: &GoldenChange) -> anyhow::Result<String> {
        let first = change.sentence.as_deref().unwrap_or("the texts are equal");
        if self.state != GoldenState::New {
            return Ok(first.to_owned());
        }
        let entries = plural(text(&self.proposed())?.lines().count(), "entry");
        Ok(match &self.old {
            None => format!("a new golden of {entries}"),
            Some(old) => {
                let name = old.file_name().unwrap_or_default().to_string_lossy();
                format!("a new golden of {entries}; compared with {name}: {first}")
            }
        })
    }

    /// Returns the change from the golden that was valid so far to the proposal.
    fn change(&self) -> anyhow::Result<GoldenChange> {
        let old = self.old.as_deref().map(text).transpose()?.unwrap_or_default();
        Ok(GoldenChange::between(&old, &text(&self.proposed())?, self.profile))
    }

    /// Returns the proposal for a page.
    fn reviewed(&self, workspace: &Workspace) -> anyhow::Result<ReviewedGolden> {
        let change = self.change()?;
        Ok(ReviewedGolden {
            id: self.id.clone(),
            state: self.state.to_string(),
            path: workspace.shown(&self.golden),
            sentence: self.sentence_of(&change)?,
            change,
        })
    }
}

/// Reads a golden and returns its text below the header.
fn text(path: &Path) -> anyhow::Result<String> {
    let file = files::read_text(path)?;
    Ok(body(&file).unwrap_or(&file).to_owned())
}

/// The lines that `?` shows.
const HELP: [&str; 8] = [
    "a  accept it",
    "r  reject it",
    "s  skip it: it waits for the next review",
    "A  accept it and all that follow",
    "q  quit: the rest waits for the next review",
    "o  show the old golden",
    "n  show the new golden",
    "d  show the diff of their entries",
];
/// The first byte of the sequence that a key without a character sends.
const ESCAPE: u8 = 0x1b;
/// Ctrl-C and Ctrl-D.
const ENDS: [u8; 2] = [3, 4];

/// The answer of a person about a golden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReviewAnswer {
    Accept,
    Reject,
    Skip,
    AcceptAll,
    Quit,
    Old,
    New,
    Diff,
}

impl ReviewAnswer {
    /// Returns the answer that a key or a word means.
    fn read(word: &str) -> Option<Self> {
        Some(match word {
            "a" | "accept" => Self::Accept,
            "r" | "reject" => Self::Reject,
            "s" | "skip" => Self::Skip,
            "A" => Self::AcceptAll,
            "q" | "quit" => Self::Quit,
            "o" | "old" => Self::Old,
            "n" | "new" => Self::New,
            "d" | "diff" => Self::Diff,
            _ => return None,
        })
    }
}

/// Asks until there is an answer. An empty line skips the golden, as does the end of the input.
fn ask(out: &mut Terminal) -> anyhow::Result<ReviewAnswer> {
    loop {
        out.ask(
            "  [a]ccept, [r]eject, [s]kip, [A]ccept all, [q]uit, ? for help, or show [o]ld, [n]ew, [d]iff? ",
        )?;
        let (word, empty) = match io::stdin().is_terminal() {
            true => {
                let word = key()?;
                out.line(word.as_deref().unwrap_or_default())?;
                (word, None)
            }
            false => {
                let mut line = String::new();
                let ended = io::stdin().lock().read_line(&mut line)? == 0;
                if ended {
                    out.line("")?;
                }
                ((!ended).then(|| line.trim().to_owned()), Some(ReviewAnswer::Skip))
            }
        };
        // A closed terminal ends the review; a list of answers that is too short skips the rest.
        let Some(word) = word else { return Ok(empty.unwrap_or(ReviewAnswer::Quit)) };
        if let Some(answer) = ReviewAnswer::read(&word).or(empty.filter(|_| word.is_empty())) {
            return Ok(answer);
        }
        if word == "?" {
            for line in HELP {
                out.line(format_args!("    {line}"))?;
            }
        }
    }
}

/// Waits for one key on the terminal of stdin; `None` for Ctrl-C, Ctrl-D, and the end of the terminal. The settings of
/// the terminal are restored on return.
fn key() -> anyhow::Result<Option<String>> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut single = before.clone();
    single.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
    tcsetattr(&stdin, SetArg::TCSADRAIN, &single)?;
    let key = pressed(&mut stdin.lock());
    tcsetattr(&stdin, SetArg::TCSADRAIN, &before)?;
    Ok(key?)
}

/// Takes one key from the typed bytes. The sequence of an arrow or a function key is taken whole, because its letters
/// would count as answers.
fn pressed(typed: &mut impl io::BufRead) -> io::Result<Option<String>> {
    let bytes = typed.fill_buf()?;
    let (used, key) = match bytes.first().copied() {
        None => (0, None),
        Some(ESCAPE) => (sequence(bytes), Some(String::new())),
        Some(byte) if ENDS.contains(&byte) => (1, None),
        Some(byte) if byte.is_ascii_graphic() => (1, Some(char::from(byte).to_string())),
        Some(_) => (1, Some(String::new())),
    };
    typed.consume(used);
    Ok(key)
}

/// Returns the length of the sequence at the start: `ESC [ … letter`, `ESC O letter`, or the escape key alone.
fn sequence(bytes: &[u8]) -> usize {
    let end = match bytes.get(1) {
        Some(b'[') => bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)),
        Some(b'O') => Some(0),
        _ => return 1,
    };
    end.map_or(bytes.len(), |end| (3 + end).min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &[u8], expect: &[Option<&str>]) {
        let mut rest = typed;
        for key in expect {
            assert_eq!(pressed(&mut rest).unwrap().as_deref(), *key, "{typed:?}");
        }
        assert!(rest.is_empty(), "{rest:?} is left");
    }

    #[test]
    fn a_key_is_one_answer_and_an_arrow_is_none() {
        check(b"aA?", &[Some("a"), Some("A"), Some("?"), None]);
        check(b"\x1b[Aq", &[Some(""), Some("q"), None]);
        check(b"r\x1bOA\x1b[1;5A", &[Some("r"), Some(""), Some(""), None]);
        check(b"\x1ba\x1b[", &[Some(""), Some("a"), Some(""), None]);
        check(b"s\x03", &[Some("s"), None]);
        check(b"\n\xc3", &[Some(""), Some(""), None]);
    }
}
