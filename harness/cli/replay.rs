//! `clitape replay`: prints what happens when a cassette is replayed.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_runner::cassette::{Cassette, Tick, line_by_line};
use clitape_runner::replay::{AcpClient, Cut, Entry, Lane, Plan, Setup, replay};
use clitape_runner::report::{Screen, footer, write_entry};
use clitape_runner::scenario::{
    Chat, ChatMode, ChatProfile, DeliverySpec, Fault, FaultKind, RunSpec, Workspace,
};
use clitape_runner::{files, input};

use crate::exit::ExitStatus;
use crate::live;
use crate::terminal::{self, Terminal};

/// Replays a cassette or a capture and prints its trace
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A cassette's folder, SCENARIO/VERSION in cassettes/, or a file of stream-json lines
    #[arg(value_name = "CASSETTE|FILE.jsonl")]
    input: PathBuf,
    /// Cut and delay at random; the same seed gives the same plan
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where to cut: line, byte, a number of bytes, random, or none (as it was read)
    #[arg(long, value_name = "HOW", conflicts_with_all = ["plan", "pace"])]
    cut: Option<Cut>,
    /// Replay this plan: a file, or the JSON text that a finding prints
    #[arg(long, value_name = "FILE|JSON", conflicts_with_all = ["seed", "pace"])]
    plan: Option<String>,
    /// Replay whole lines, MS milliseconds apart, as goldens are made
    #[arg(long, value_name = "MS", conflicts_with = "seed",
        value_parser = clap::value_parser!(u64).range(..=PACE_MOST_MS))]
    pace: Option<u64>,
    /// A fault at a call of the chat's server, such as 2:rate-limit:3s, 2:slow:700ms,
    /// 2:not-modified, 2:server-error, 2:hang or 2:lost-reply; may be given several times
    #[arg(long, value_name = "FAULT", conflicts_with_all = ["plan", "telegram_api"])]
    fault: Vec<Fault>,
    /// Kinds of faults that the seed spreads over the calls of the chat's server
    #[arg(
        long,
        value_name = "KIND,…",
        value_delimiter = ',',
        requires = "seed",
        conflicts_with = "telegram_api"
    )]
    seed_faults: Vec<FaultKind>,
    /// Print the plan instead of replaying it
    #[arg(long)]
    print_plan: bool,
    /// Lanes to print: read, lifecycle, bus, telegram, acp, sse, session
    #[arg(
        long,
        value_name = "LANE,…",
        value_delimiter = ',',
        default_value = "lifecycle,bus,telegram,session"
    )]
    lane: Vec<Lane>,
    /// What the chat shows during the run: off, partial, block or progress
    #[arg(long, default_value = "partial")]
    mode: ChatMode,
    /// Show the reasoning in the chat
    #[arg(long)]
    reasoning: bool,
    /// The service whose marks and limits the chat has: telegram, discord or slack
    #[arg(long, default_value = "telegram")]
    profile: ChatProfile,
    /// Let the ACP client show terminals
    #[arg(long)]
    terminal: bool,
    /// Run as a heartbeat, silently
    #[arg(long)]
    silent: bool,
    /// How the person gets the answer: automatic or message_tool_only
    #[arg(long, default_value = "automatic")]
    delivery: DeliverySpec,
    /// Seconds that the run may take; an agent that is silent for a share of them counts as stalled
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: u64,
    /// Run as a run that resumes a session
    #[arg(long)]
    resume: bool,
    /// The number, from 1, of a callback of the chat that never settles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000), conflicts_with = "telegram_api")]
    stuck_callback: Option<u64>,
    /// Print trace entries as JSON lines
    #[arg(long)]
    json: bool,
    /// Play it in the terminal at this speed, from 0.01 to 1000; 1 is real time
    #[arg(long, value_name = "X", conflicts_with = "print_plan", value_parser = speed)]
    speed: Option<f64>,
    /// The channel to play: telegram draws the chat, acp and sse print their lane
    #[arg(long, value_enum, default_value = "telegram")]
    channel: ChannelArg,
    #[command(flatten)]
    live: live::LiveChat,
}

/// The slowest pace, in ms.
const PACE_MOST_MS: u64 = 3_600_000;
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
    let ReplayInput { stdout, timeline, cassette } = load(workspace, &args.input)?;
    let plan = plan(args, &stdout, &timeline)?;
    input::check_pieces(&args.input, plan.steps.len() as u64)?;
    let mut out = terminal::stdout();
    if args.print_plan {
        out.json(&plan.to_line())?;
        return Ok(ExitStatus::Ok);
    }
    let run = RunSpec {
        silent: args.silent,
        delivery: args.delivery,
        limit_s: args.limit,
        resume: args.resume,
        stuck_callback: args.stuck_callback,
        ..RunSpec::default()
    };
    let chat = Chat { mode: args.mode, reasoning: args.reasoning, profile: args.profile };
    let acp = Some(AcpClient { terminal: args.terminal });
    let setup = Setup { run, channel: Some(chat), acp };
    let speed = args.speed;
    if args.live.is_named() {
        return live::run(&args.live, &stdout, &plan, setup, speed.unwrap_or(1.0));
    }
    let mut replay = replay(&stdout, &plan, setup);
    if let Some(cassette) = &cassette {
        replay.add_session(cassette);
    }
    let entries = replay.entries.iter().filter(|entry| args.lane.contains(&entry.lane));
    let Some(speed) = speed else {
        for entry in entries {
            if args.json {
                out.json(&entry.to_line())?;
            } else {
                write_entry(out.styled(), entry)?;
            }
        }
        if !args.json {
            footer(out.styled(), &replay)?;
        }
        return Ok(ExitStatus::Ok);
    };
    let channel = args.channel.lane();
    if args.json {
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
    timeline: Vec<Tick>,
    /// The cassette; a plain capture has none.
    cassette: Option<Cassette>,
}

/// Reads the bytes and times of a cassette, or of a plain capture, whose lines come one by one.
fn load(workspace: &Workspace, given: &Path) -> anyhow::Result<ReplayInput> {
    let named = workspace.cassettes().join(given);
    let path = if !given.exists() && named.exists() { &named } else { given };
    if path.is_dir() {
        // Without its manifest, a folder that holds a recording is a damaged cassette.
        if !path.join("cassette.toml").exists() && !path.join("stdout.jsonl").exists() {
            bail!("{} has no cassette.toml; {}", path.display(), inside(path)?);
        }
        let cassette = Cassette::load(path)?;
        let (stdout, timeline) = (cassette.stdout.clone(), cassette.timeline.clone());
        return Ok(ReplayInput { stdout, timeline, cassette: Some(cassette) });
    }
    let stdout = files::read_named(path).with_context(|| {
        format!("{}: neither a cassette nor a file of stream-json lines", given.display())
    })?;
    input::check(path, &stdout)?;
    let timeline = line_by_line(&stdout);
    Ok(ReplayInput { stdout, timeline, cassette: None })
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

fn plan(args: &Args, stdout: &[u8], timeline: &[Tick]) -> anyhow::Result<Plan> {
    let total = stdout.len() as u64;
    match &args.plan {
        Some(plan) if plan.trim_start().starts_with('{') => return Ok(Plan::parse(plan, total)?),
        Some(path) => {
            let text = files::read_named_text(Path::new(path))?;
            return Plan::parse(&text, total).with_context(|| path.clone());
        }
        None => {}
    }
    let faults = args.fault.iter().copied();
    if let Some(pace) = args.pace {
        return Ok(Plan::paced(stdout, pace).with_faults(faults));
    }
    let cut = args.cut.unwrap_or(args.seed.map_or(Cut::None, |_| Cut::Random));
    if args.seed.is_some() && cut != Cut::Random {
        bail!("`--seed` is only for random cuts; remove it, or write `--cut random`");
    }
    let pieces = match cut {
        Cut::Byte => total,
        Cut::Size(n) => total.div_ceil(n),
        Cut::None | Cut::Line | Cut::Random => 0,
    };
    input::check_pieces(&args.input, pieces)?;
    let seed = args.seed.unwrap_or(1);
    let drawn = Plan::random_faults(seed, &args.seed_faults);
    Ok(Plan::cut(stdout, timeline, cut, seed).with_faults(faults).with_faults(drawn))
}
