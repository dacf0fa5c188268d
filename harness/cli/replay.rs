//! `clitape replay`: replays a cassette or a capture and prints its trace.

use std::io::BufReader;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;

use anyhow::{Context as _, bail};
use clitape_recording::cassette::Cassette;
use clitape_recording::scenario::Workspace;
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::replay::{Capture, PlanArg, Replay, ReplayRequest, replay, replay_streamed};
use clitape_runner::report::footer;

use crate::exit::ExitStatus;
use crate::input::{STANDARD, is_standard, named};
use crate::live;
use crate::terminal;
use given::{CaptureFile, Given, GivenRecording, WholeInput, load};
use of_scenario::of_scenario;
use shown::{EntryForm, EntryPrinter};

mod given;
mod of_scenario;
mod shown;

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

/// Replays the input of the command line. `is_given` returns whether the command line has an option, by its id.
pub(crate) fn run(
    workspace: &Workspace,
    args: &Args,
    is_given: impl Fn(&str) -> bool,
) -> anyhow::Result<ExitStatus> {
    let request = &args.request;
    let stdin_twice = Some(PlanArg::File(named(Path::new(STANDARD)).to_owned()));
    if is_standard(&request.input) && request.plan == stdin_twice {
        bail!("standard input can be read only once; name a file for the capture or for the plan");
    }
    match load(workspace, &request.input)? {
        Given::Recording(recording) => {
            let request = match &recording.scenario {
                Some(scenario) => &of_scenario(request, scenario, is_given),
                None => request,
            };
            let input = WholeInput::of_cassette(&recording.cassette);
            replay_whole(workspace, args, request, &input, Some(&recording))
        }
        Given::Capture(file) => {
            let is_whole = args.print_plan || args.live.is_named() || request.plan.is_some();
            match is_whole {
                true => replay_whole(workspace, args, request, &file.read()?, None),
                false => replay_read(args, &file),
            }
        }
    }
}

/// Replays a capture while it is read.
fn replay_read(args: &Args, file: &CaptureFile) -> anyhow::Result<ExitStatus> {
    let request = &args.request;
    let pieces = request.pieces(BufReader::new(file.open()?))?;
    let mut printer = args.printer(request);
    let mut shown = Ok(());
    let take = |entry: Entry| match printer.show(&entry) {
        Ok(flow) => flow,
        Err(error) => {
            shown = Err(error);
            ControlFlow::Break(())
        }
    };
    let replayed = replay_streamed(pieces, request.all_faults(), request.setup(), take);
    shown?;
    let summary = replayed.with_context(|| file.unread())?;
    if let Some(summary) = summary.filter(|_| args.has_footer()) {
        footer(printer.out.styled(), &summary)?;
    }
    Ok(ExitStatus::Ok)
}

/// Replays an input that is in memory, plays it in a real chat, or prints its plan. `recording` is the cassette of
/// `input`, or `None` for a plain capture.
fn replay_whole(
    workspace: &Workspace,
    args: &Args,
    request: &ReplayRequest,
    input: &WholeInput,
    recording: Option<&GivenRecording>,
) -> anyhow::Result<ExitStatus> {
    let capture = Capture { stdout: &input.stdout, stdin: &input.stdin };
    let plan = request.plan(capture, &input.timeline)?;
    if args.print_plan {
        terminal::stdout().json(&plan.to_line())?;
        return Ok(ExitStatus::Ok);
    }
    let setup = request.setup();
    if args.live.is_named() {
        return live::run(&args.live, capture, &plan, setup, args.speed.unwrap_or(1.0));
    }
    let mut runs = vec![replay(capture, &plan, setup)];
    if let Some(GivenRecording { cassette, scenario }) = recording {
        let session = match scenario {
            Some(scenario) => scenario.session.clone(),
            // A cassette may come from another workspace, so that its scenario is not here.
            None => {
                let scenario = workspace.load(cassette.manifest.scenario.as_str()).ok();
                scenario.and_then(|scenario| scenario.session)
            }
        };
        runs[0].add_session(cassette, session.as_ref());
        // A plan covers the bytes of one run.
        if scenario.is_some() && request.plan.is_none() {
            add_further(&mut runs, cassette, request)?;
        }
    }
    let mut printer = args.printer(request);
    for (number, replay) in (1..).zip(&runs) {
        if number > 1 && args.has_footer() {
            printer.out.line(format_args!("run {number}, which resumes the session:"))?;
        }
        for entry in &replay.entries {
            if printer.show(entry)?.is_break() {
                return Ok(ExitStatus::Ok);
            }
        }
        if args.has_footer() {
            footer(printer.out.styled(), &replay.summary())?;
        }
    }
    Ok(ExitStatus::Ok)
}

impl Args {
    /// Returns whether a footer with the number of lines follows the replay.
    fn has_footer(&self) -> bool {
        self.speed.is_none() && !self.request.json
    }

    /// Returns a printer for the entries, as the options ask for.
    fn printer(&self, request: &ReplayRequest) -> EntryPrinter {
        let channel = self.channel.lane();
        let is_played = self.speed.is_some();
        let form = match (request.json, is_played && channel == Lane::Telegram) {
            (true, _) => EntryForm::Json,
            (false, true) => EntryForm::Chat(Box::default()),
            (false, false) => EntryForm::Line,
        };
        let lanes = match is_played && channel != Lane::Telegram && !request.json {
            true => &[channel][..],
            false => &request.lanes,
        };
        EntryPrinter::new(form, lanes, self.speed)
    }
}

/// Adds the replays of the further runs of a cassette, each after the end of the run before.
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

/// Parses the value of `--speed`.
fn speed(word: &str) -> Result<f64, String> {
    let speed = word.parse().ok().filter(|speed| SPEEDS.contains(speed));
    speed.ok_or_else(|| {
        let (slowest, fastest) = (SPEEDS.start(), SPEEDS.end());
        format!("write a number from {slowest} to {fastest}; 2 is twice as fast as the recording")
    })
}
