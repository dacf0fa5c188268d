//! `clitape list`: lists the scenarios of a workspace, with their versions, channels and issues.

use clitape_recording::cassette::Origin;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_runner::suite::overview::{Counting, ScenarioOverview, overviews};
use serde_json::json;

use crate::exit::ExitStatus;
use crate::input::{Names, SelectionArgs};
use crate::terminal::{self, Terminal};

/// Lists the scenarios: recorded versions, channels, when they were last recorded, and the issues they track
///
/// It takes the same selection as `clitape test`, so that `clitape list` says what a test would run.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let names = Names { parts: true, ..Names::default() };
    let selection = args.selection.select(workspace, names)?;
    let names: Vec<ScenarioName> = selection.scenarios.iter().map(|one| one.name.clone()).collect();
    // Only the JSON has the numbers of goldens and bytes.
    let counting = if args.json { Counting::Files } else { Counting::Nothing };
    let mut scenarios = overviews(workspace, &names, counting)?;
    for (overview, one) in scenarios.iter_mut().zip(&selection.scenarios) {
        if let Some(versions) = &one.versions {
            overview.recordings.retain(|it| versions.contains(&it.version));
        }
    }
    let mut out = terminal::stdout();
    if args.json {
        out.json(&json!({ "scenarios": scenarios }).to_string())?;
    }
    if let Some(why) = &selection.nothing {
        drop(out);
        terminal::note(format_args!("nothing to list: {why}"));
        return Ok(ExitStatus::Nothing);
    }
    if !args.json {
        table(&scenarios, &mut out)?;
    }
    Ok(ExitStatus::Ok)
}

fn table(scenarios: &[ScenarioOverview], out: &mut Terminal) -> anyhow::Result<()> {
    let rows: Vec<[String; 5]> = scenarios.iter().map(row).collect();
    let head = ["scenario", "versions", "recorded", "channels", "tracks"].map(str::to_owned);
    let width = |column: usize| {
        let all = std::iter::once(&head).chain(&rows);
        all.map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3].map(width);
    for [name, versions, recorded, channels, tracks] in std::iter::once(&head).chain(&rows) {
        let [a, b, c, d] = widths;
        let line = format!("{name:<a$}  {versions:<b$}  {recorded:<c$}  {channels:<d$}  {tracks}");
        out.line(line.trim_end())?;
    }
    let recordings: usize = scenarios.iter().map(|one| one.recordings.len()).sum();
    let [scenarios, recordings] =
        [(scenarios.len(), "scenario"), (recordings, "recording")].map(|(n, it)| plural(n, it));
    out.line("")?;
    out.line(format_args!("{scenarios}, {recordings}; `clitape show SCENARIO` describes one"))?;
    Ok(())
}

fn row(one: &ScenarioOverview) -> [String; 5] {
    let versions = match one.recordings.as_slice() {
        [] => "none".to_owned(),
        [only] => only.version.to_string(),
        [oldest, .., newest] => {
            format!("{} from {} to {}", one.recordings.len(), oldest.version, newest.version)
        }
    };
    let tracks = match &one.problem {
        Some(problem) => format!("can't be read: {problem}"),
        None => one.tracks.join(" "),
    };
    let mut recorded = one.last_recorded().unwrap_or("never").to_owned();
    if one.recordings.iter().any(|it| it.origin == Some(Origin::Synthetic)) {
        recorded.push_str(" (synthetic)");
    }
    [one.name.to_string(), versions, recorded, channels(&one.channels), tracks]
}

/// Joins the names of channels, those of chats in brackets: `telegram (partial, progress), acp`.
fn channels(all: &[String]) -> String {
    let mut chats = Vec::new();
    let mut others = Vec::new();
    for channel in all {
        match channel.strip_prefix("telegram-") {
            Some(chat) => chats.push(chat),
            None => others.push(channel.clone()),
        }
    }
    let chats = (!chats.is_empty()).then(|| format!("telegram ({})", chats.join(", ")));
    chats.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}
