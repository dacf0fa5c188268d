//! `clitape replay`: prints what happens when a cassette is replayed.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_runner::cassette::{Cassette, Tick, line_by_line};
use clitape_runner::replay::{
    Capture, Entry, Lane, PlanArg, Replay, ReplayRequest, StdinLine, replay, stdin_lines,
};
use clitape_runner::report::{Screen, footer, write_entry};
use clitape_runner::scenario::{Scenario, Workspace};
use clitape_runner::{files, input};

use crate::exit::ExitStatus;
use crate::input::{STANDARD, is_standard, named};
use crate::live;
use crate::terminal::{self, Terminal};
use of_scenario::of_scenario;

mod of_scenario;

/// Replays a cassette or a capture and prints its trace
///
/// SCENARIO/VERSION is played as the scenario says: how the gateway runs it, in its first chat, with the faults of its chat
/// and the further runs of its session. An option on the command line says otherwise. A cassette that is named by its
/// folder, and a file, are replayed as the options say.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    request: ReplayRequest,
    /// Print the plan instead of replaying it
    #[arg(long)]
    print_plan: bool,
    /// Play it in the terminal at this speed, from 0.01 to 1000; 1 is real time
    #[arg(long, value_name = "X", conflicts_with = "print_plan", value_parser = speed)]
    speed: Option<f64>,
    /// The channel to play: telegram draws the chat, acp and sse print their lane
    #[arg(long, value_enum, default_value = "telegram")]
    channel: ChannelArg,
    #[command(flatten)]
    live: live::LiveChat,
}

/// The slowest and the fastest speed.
const SPEEDS: RangeInclusive<f64> = 0.01..=1_000.0;

/// The channels that can be played in real time.
#[derive(Clone, Copy, clap::ValueEnum)]
enum ChannelArg {
    /// The chat a person sees
    Telegram,
    /// What a client of the Agent Client Protocol gets
    Acp,
    /// What a reader of the event stream gets
    Sse,
}

impl ChannelArg {
    fn lane(self) -> Lane {
        match self {
            Self::Telegram => Lane::Telegram,
            Self::Acp => Lane::Acp,
            Self::Sse => Lane::Sse,
        }
    }
}

/// Replays what is asked for. `is_given` says whether an option stands on the command line, by its id.
pub(crate) fn run(
    workspace: &Workspace,
    args: &Args,
    is_given: impl Fn(&str) -> bool,
) -> anyhow::Result<ExitStatus> {
    let Args { request, speed, .. } = args;
    let stdin_twice = Some(PlanArg::File(named(Path::new(STANDARD)).to_owned()));
    if is_standard(&request.input) && request.plan == stdin_twice {
        bail!("standard input can be read only once; name a file for the capture or for the plan");
    }
    let ReplayInput { stdout, stdin, timeline, cassette, scenario } =
        load(workspace, &request.input)?;
    let request = match &scenario {
        Some(scenario) => &of_scenario(request, scenario, is_given),
        None => request,
    };
    let capture = Capture { stdout: &stdout, stdin: &stdin };
    let plan = request.plan(capture, &timeline)?;
    let mut out = terminal::stdout();
    if args.print_plan {
        out.json(&plan.to_line())?;
        return Ok(ExitStatus::Ok);
    }
    let setup = request.setup();
    if args.live.is_named() {
        return live::run(&args.live, capture, &plan, setup, speed.unwrap_or(1.0));
    }
    let mut first = replay(capture, &plan, setup);
    if let Some(cassette) = &cassette {
        let session = match &scenario {
            Some(scenario) => scenario.session.clone(),
            // A cassette may be of another workspace, where its scenario is not.
            None => {
                let scenario = workspace.load(cassette.manifest.scenario.as_str()).ok();
                scenario.and_then(|scenario| scenario.session)
            }
        };
        first.add_session(cassette, session.as_ref());
    }
    let mut runs = vec![first];
    // A plan is of the bytes of one run.
    if let Some(cassette) = cassette.filter(|_| scenario.is_some() && request.plan.is_none()) {
        add_further(&mut runs, &cassette, request)?;
    }
    let Some(speed) = *speed else {
        for (number, replay) in (1..).zip(&runs) {
            if number > 1 && !request.json {
                out.line(format_args!("run {number}, which resumes the session:"))?;
            }
            print(replay, request, &mut out)?;
        }
        return Ok(ExitStatus::Ok);
    };
    let channel = args.channel.lane();
    let lanes = match channel {
        Lane::Telegram => &request.lanes[..],
        _ if request.json => &request.lanes,
        _ => &[channel],
    };
    let entries = runs.iter().flat_map(|replay| &replay.entries);
    let entries = entries.filter(|entry| lanes.contains(&entry.lane));
    if request.json {
        play(&mut out, entries, speed, |out, entry| out.json(&entry.to_line()))?;
    } else if channel == Lane::Telegram {
        let mut screen = Screen::default();
        play(&mut out, entries, speed, |out, entry| match screen.apply(entry) {
            true => screen.draw(out.styled(), entry.at),
            false => Ok(()),
        })?;
    } else {
        play(&mut out, entries, speed, |out, entry| write_entry(out.styled(), entry))?;
    }
    Ok(ExitStatus::Ok)
}

/// Adds the replays of the further runs of a cassette. Each begins when the one before is over.
fn add_further(
    runs: &mut Vec<Replay>,
    cassette: &Cassette,
    request: &ReplayRequest,
) -> anyhow::Result<()> {
    let setup = request.setup().resumed();
    for run in &cassette.further {
        let over = runs.iter().flat_map(|run| &run.entries).map(|entry| entry.at).max();
        let capture = Capture::from(&run.stdout);
        let mut replay = replay(capture, &request.plan(capture, &run.timeline)?, setup);
        replay.entries.iter_mut().for_each(|entry| entry.at += over.unwrap_or(0));
        runs.push(replay);
    }
    Ok(())
}

/// Prints the lanes of a replay.
fn print(replay: &Replay, request: &ReplayRequest, out: &mut Terminal) -> anyhow::Result<()> {
    for entry in replay.entries.iter().filter(|entry| request.lanes.contains(&entry.lane)) {
        match request.json {
            true => out.json(&entry.to_line())?,
            false => write_entry(out.styled(), entry)?,
        }
    }
    if !request.json {
        footer(out.styled(), replay)?;
    }
    Ok(())
}

/// Parses the speed.
fn speed(word: &str) -> Result<f64, String> {
    let speed = word.parse().ok().filter(|speed| SPEEDS.contains(speed));
    speed.ok_or_else(|| {
        let (slowest, fastest) = (SPEEDS.start(), SPEEDS.end());
        format!("write a number from {slowest} to {fastest}; 2 is twice as fast as the recording")
    })
}

/// Shows entries in real time.
fn play<'a>(
    out: &mut Terminal,
    entries: impl Iterator<Item = &'a Entry>,
    speed: f64,
    mut show: impl FnMut(&mut Terminal, &Entry) -> io::Result<()>,
) -> io::Result<()> {
    let mut now = 0;
    for entry in entries {
        if terminal::reader_is_gone() {
            break;
        }
        std::thread::sleep(Duration::from_millis(entry.at - now).div_f64(speed));
        now = entry.at;
        show(out, entry)?;
        out.flush()?;
    }
    Ok(())
}

/// What is replayed.
struct ReplayInput {
    stdout: Vec<u8>,
    stdin: Vec<StdinLine>,
    timeline: Vec<Tick>,
    /// The cassette; a plain capture has none.
    cassette: Option<Cassette>,
    /// The scenario that is played; none for a cassette that is named by its folder.
    scenario: Option<Scenario>,
}

/// Reads the bytes and times of a cassette, or of a plain capture, whose lines come one by one.
fn load(workspace: &Workspace, given: &Path) -> anyhow::Result<ReplayInput> {
    // A line that a finding prints names the cassette from the workspace's root, wherever it is pasted.
    let from_root = workspace.root().join(given);
    let recording = workspace.cassettes().join(given);
    let (path, scenario) = if is_standard(given) {
        (named(given), None)
    } else if given.exists() {
        (given, None)
    } else if from_root.exists() {
        (&*from_root, None)
    } else if recording.exists() {
        (&*recording, scenario_of(workspace, given))
    } else {
        (given, None)
    };
    if path.is_dir() {
        // Without its manifest, a folder that holds a recording is a damaged cassette.
        if !path.join("cassette.toml").exists() && !path.join("stdout.jsonl").exists() {
            bail!("{} has no cassette.toml; {}", path.display(), inside(path)?);
        }
        let cassette = Cassette::load(path)?;
        let (stdout, timeline) = (cassette.stdout.clone(), cassette.timeline.clone());
        let stdin = stdin_lines(&cassette.stdin, &timeline);
        return Ok(ReplayInput { stdout, stdin, timeline, cassette: Some(cassette), scenario });
    }
    let stdout = files::read_named(path).with_context(|| {
        format!("{}: neither a cassette nor a file of stream-json lines", given.display())
    })?;
    input::check(path, &stdout)?;
    let timeline = line_by_line(&stdout);
    Ok(ReplayInput { stdout, stdin: Vec::new(), timeline, cassette: None, scenario: None })
}

/// The scenario of SCENARIO/VERSION. One that can't be read is none, and its recording is replayed all the same.
fn scenario_of(workspace: &Workspace, given: &Path) -> Option<Scenario> {
    let name = given.parent().filter(|name| name.components().count() == 1)?;
    workspace.scenario_of(&name.to_str()?.parse().ok()?).ok()
}

/// A hint that lists the cassettes in a folder, for a user who named the folder above them.
fn inside(dir: &Path) -> anyhow::Result<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.join("cassette.toml").exists() {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    Ok(match found.as_slice() {
        [] => "name a cassette's folder, such as cassettes/plain-text/2.1.329".to_owned(),
        found => format!("name one of {}", found.join(", ")),
    })
}
