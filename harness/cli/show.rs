//! `clitape show`: describes one scenario in words, with its recordings and the commands that use it.

use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_runner::suite::overview::{
    Counting, RecordingOverview, ScenarioOverview, goldens, script,
};
use clitape_runner::suite::select::{NamePattern, Selector};

use crate::exit::ExitStatus;
use crate::terminal::{self, Terminal};

/// The width of the headings, in columns.
const HEADING: usize = 14;

/// Describes a scenario: what is asked, what the model does, where a person sees it, and what is recorded
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The scenario
    #[arg(value_name = "SCENARIO")]
    scenario: NamePattern,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let selector = Selector { names: vec![args.scenario.clone()], ..Selector::default() };
    let selection = selector.choose(workspace)?;
    let mut out = terminal::stdout();
    for (i, one) in selection.scenarios.iter().enumerate() {
        if i > 0 {
            out.line("")?;
        }
        let overview = ScenarioOverview::of(workspace, &one.name, Counting::Files)?;
        show(workspace, &overview, &mut out)?;
    }
    Ok(ExitStatus::Ok)
}

fn show(
    workspace: &Workspace,
    overview: &ScenarioOverview,
    out: &mut Terminal,
) -> anyhow::Result<()> {
    let name = &overview.name;
    let scenario = workspace.scenario_of(name)?;
    out.line(format_args!("{name}: {}", overview.title))?;
    out.line(format_args!("  {}", overview.about))?;
    out.line("")?;
    for (heading, lines) in script(&scenario)? {
        part(out, &heading, &lines)?;
    }
    let none = |lines: Vec<String>, none: &str| match lines.is_empty() {
        true => vec![none.to_owned()],
        false => lines,
    };
    part(out, "seen in", &none(joined(&overview.channels), "no channel"))?;
    let mut replays = vec![format!(
        "as recorded, line by line each {} ms, and by {}",
        scenario.run.pace_ms,
        plural(scenario.sweep.plans, "seeded plan")
    )];
    if !scenario.chat.faults.is_empty() {
        let faults: Vec<String> = scenario.chat.faults.iter().map(ToString::to_string).collect();
        replays.push(format!("the chat's server fails: {}", faults.join(", ")));
    }
    part(out, "replayed", &replays)?;
    part(out, "tracks", &none(joined(&overview.tracks), "no issue"))?;
    if let Some(only) = &scenario.record.only {
        let since = only.since.as_ref().map(|version| format!(" since {version}"));
        let until = only.until.as_ref().map(|version| format!(" until {version}"));
        let range = [since, until].into_iter().flatten().collect::<String>();
        part(out, "only", &[format!("versions{range}: {}", only.reason)])?;
    }
    let recorded = overview.recordings.iter().rev().map(recording).collect();
    part(out, "recorded", &none(recorded, "no version yet"))?;
    let goldens = by_view(&goldens(workspace, name)?);
    part(out, "goldens", &none(joined(&goldens), "none yet"))?;
    commands(workspace, overview, scenario.has_model(), out)
}

/// Joins the words to one line; empty without words.
fn joined(words: &[String]) -> Vec<String> {
    if words.is_empty() { Vec::new() } else { vec![words.join(", ")] }
}

/// Groups goldens by their view, with the versions or outcomes of the further ones: `bus (also 2.1.148)`.
fn by_view(files: &[String]) -> Vec<String> {
    let mut views: Vec<(&str, Vec<&str>)> = Vec::new();
    for file in files {
        let stem = file.trim_end_matches(".snap");
        let (view, of) = stem.split_once('.').map_or((stem, None), |(view, of)| (view, Some(of)));
        match views.iter_mut().find(|(known, _)| *known == view) {
            Some((_, further)) => further.extend(of),
            None => views.push((view, of.into_iter().collect())),
        }
    }
    let shown = |(view, further): (&str, Vec<&str>)| match further.is_empty() {
        true => view.to_owned(),
        false => format!("{view} (also {})", further.join(", ")),
    };
    views.into_iter().map(shown).collect()
}

/// Prints a heading, and lines beside and below it.
fn part(out: &mut Terminal, heading: &str, lines: &[String]) -> anyhow::Result<()> {
    let mut heading = heading;
    for line in lines {
        out.line(format_args!("{heading:<HEADING$}  {line}"))?;
        heading = "";
    }
    Ok(())
}

fn recording(one: &RecordingOverview) -> String {
    let date = one.date.as_deref().unwrap_or("cassette.toml can't be read");
    let origin = match one.origin {
        None | Some(clitape_recording::cassette::Origin::Recorded) => String::new(),
        Some(origin) => format!(", {}", origin.word()),
    };
    let kilobytes = one.bytes.map(|bytes| format!("  {:>6} kB", bytes.div_ceil(1_000)));
    format!("{:<10} {date}{}{origin}", one.version, kilobytes.unwrap_or_default())
}

/// Prints the commands that use the scenario.
fn commands(
    workspace: &Workspace,
    overview: &ScenarioOverview,
    has_model: bool,
    out: &mut Terminal,
) -> anyhow::Result<()> {
    let (name, program) = (&overview.name, workspace.program());
    let mut commands = Vec::new();
    if let Some(newest) = overview.recordings.last() {
        let version = &newest.version;
        commands.push((format!("replay {name}/{version} --speed 1"), "the chat, in real time"));
        commands.push((format!("test {name}"), "every version: goldens, rules, plans"));
        commands.push((format!("test {name}/{version}"), "this recording alone"));
    }
    if has_model {
        let force = if overview.recordings.is_empty() { "" } else { " --force" };
        commands.push((format!("record {name}{force}"), "record it with the real CLI"));
    }
    if !overview.recordings.is_empty() {
        commands.push((format!("proof {name} --out DIR"), "a page for a reviewer"));
    }
    out.line("")?;
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, what) in commands {
        out.line(format_args!("  {program} {command:<width$}  # {what}"))?;
    }
    Ok(())
}
