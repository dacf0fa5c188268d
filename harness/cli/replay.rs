//! `clitape replay`: prints what happens when a cassette is replayed.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_runner::cassette::{Cassette, Tick, line_by_line};
use clitape_runner::replay::{Capture, Entry, Lane, ReplayRequest, StdinLine, replay, stdin_lines};
use clitape_runner::report::{Screen, footer, write_entry};
use clitape_runner::scenario::Workspace;
use clitape_runner::{files, input};

use crate::exit::ExitStatus;
use crate::live;
use crate::terminal::{self, Terminal};

/// Replays a cassette or a capture and prints its trace
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

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<ExitStatus> {
    let Args { request, speed, .. } = args;
    let ReplayInput { stdout, stdin, timeline, cassette } = load(workspace, &request.input)?;
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
    let mut replay = replay(capture, &plan, setup);
    if let Some(cassette) = &cassette {
        // A cassette may be of another workspace, where its scenario is not.
        let scenario = workspace.load(cassette.manifest.scenario.as_str()).ok();
        replay.add_session(cassette, scenario.and_then(|scenario| scenario.session).as_ref());
    }
    let entries = replay.entries.iter().filter(|entry| request.lanes.contains(&entry.lane));
    let Some(speed) = *speed else {
        for entry in entries {
            if request.json {
                out.json(&entry.to_line())?;
            } else {
                write_entry(out.styled(), entry)?;
            }
        }
        if !request.json {
            footer(out.styled(), &replay)?;
        }
        return Ok(ExitStatus::Ok);
    };
    let channel = args.channel.lane();
    if request.json {
        play(&mut out, entries, speed, |out, entry| out.json(&entry.to_line()))?;
    } else if channel == Lane::Telegram {
        let mut screen = Screen::default();
        play(&mut out, entries, speed, |out, entry| match screen.apply(entry) {
            true => screen.draw(out.styled(), entry.at),
            false => Ok(()),
        })?;
    } else {
        let entries = replay.entries.iter().filter(|entry| entry.lane == channel);
        play(&mut out, entries, speed, |out, entry| write_entry(out.styled(), entry))?;
    }
    Ok(ExitStatus::Ok)
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
}

/// Reads the bytes and times of a cassette, or of a plain capture, whose lines come one by one.
fn load(workspace: &Workspace, given: &Path) -> anyhow::Result<ReplayInput> {
    // A line that a finding prints names the cassette from the workspace's root, wherever it is pasted.
    let below = [workspace.root().join(given), workspace.cassettes().join(given)];
    let path = match given.exists() {
        true => given,
        false => below.iter().find(|path| path.exists()).map_or(given, PathBuf::as_path),
    };
    if path.is_dir() {
        // Without its manifest, a folder that holds a recording is a damaged cassette.
        if !path.join("cassette.toml").exists() && !path.join("stdout.jsonl").exists() {
            bail!("{} has no cassette.toml; {}", path.display(), inside(path)?);
        }
        let cassette = Cassette::load(path)?;
        let (stdout, timeline) = (cassette.stdout.clone(), cassette.timeline.clone());
        let stdin = stdin_lines(&cassette.stdin, &timeline);
        return Ok(ReplayInput { stdout, stdin, timeline, cassette: Some(cassette) });
    }
    let stdout = files::read_named(path).with_context(|| {
        format!("{}: neither a cassette nor a file of stream-json lines", given.display())
    })?;
    input::check(path, &stdout)?;
    let timeline = line_by_line(&stdout);
    Ok(ReplayInput { stdout, stdin: Vec::new(), timeline, cassette: None })
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
