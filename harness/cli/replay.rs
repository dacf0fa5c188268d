//! `clitape replay`: replays a cassette or a capture and prints its trace.

use std::fs::File;
use std::io::{self, BufReader};
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_recording::cassette::{Cassette, Tick, line_by_line};
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::{ChannelSpec, RunSpec, Scenario, Workspace};
use clitape_recording::trace::{Entry, Lane};
use clitape_recording::{files, limits};
use clitape_runner::replay::{
    Capture, PlanArg, Replay, ReplayRequest, StdinLine, replay, replay_streamed, stdin_lines,
};
use clitape_runner::report::{TerminalChat, footer, write_entry};

use crate::exit::ExitStatus;
use crate::input::{STANDARD, is_standard, named};
use crate::live;
use crate::terminal::{self, Terminal};

/// Replays a cassette or a capture and prints its trace
///
/// SCENARIO, in its newest recording, or SCENARIO/VERSION is played as the scenario says: how the gateway runs it, in its
/// first chat, with the faults of its chat and the further runs of its session; at its pace with `--speed`. An option on
/// the command line says otherwise. A cassette that is named by its folder, and a file, are replayed as the options say.
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
                Some(scenario) => &of_scenario(request, scenario, args.speed.is_some(), is_given),
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

/// The input that the command line names.
enum Given {
    /// A recording.
    Recording(Box<GivenRecording>),
    /// A file of stream-json lines, or standard input.
    Capture(CaptureFile),
}

/// A cassette, with the scenario that is played; `None` if the cassette is named by its folder.
struct GivenRecording {
    cassette: Cassette,
    scenario: Option<Scenario>,
}

/// A plain capture.
struct CaptureFile {
    path: PathBuf,
    given: PathBuf,
}

/// The two sides of a process and its times, for a replay that has a plan.
struct WholeInput {
    stdout: Vec<u8>,
    stdin: Vec<StdinLine>,
    timeline: Vec<Tick>,
}

impl WholeInput {
    /// Copies both sides and the times of a cassette.
    fn of_cassette(cassette: &Cassette) -> Self {
        let (stdout, timeline) = (cassette.stdout.clone(), cassette.timeline.clone());
        let stdin = stdin_lines(&cassette.stdin, &timeline);
        Self { stdout, stdin, timeline }
    }
}

impl CaptureFile {
    /// Opens the file, to be read piece by piece.
    fn open(&self) -> anyhow::Result<File> {
        files::open_named(&self.path).with_context(|| self.refused())
    }

    /// Reads the file to its end. In its timeline, each line comes on its own.
    fn read(&self) -> anyhow::Result<WholeInput> {
        let stdout = files::read_named(&self.path).with_context(|| self.refused())?;
        limits::check_input(&self.path, &stdout)?;
        let timeline = line_by_line(&stdout);
        Ok(WholeInput { stdout, stdin: Vec::new(), timeline })
    }

    /// Returns the message for a failure in the middle of reading.
    fn unread(&self) -> String {
        format!("can't read {}", self.path.display())
    }

    fn refused(&self) -> String {
        format!("{}: neither a cassette nor a file of stream-json lines", self.given.display())
    }
}

/// Finds the input that the command line names, and reads a cassette.
fn load(workspace: &Workspace, given: &Path) -> anyhow::Result<Given> {
    // The command of a finding names the cassette from the workspace's root, and may be pasted in any folder.
    let from_root = workspace.root().join(given);
    let recording = workspace.cassettes().join(given);
    let (path, scenario) = if is_standard(given) {
        (named(given), None)
    } else if given.exists() {
        (given, None)
    } else if from_root.exists() {
        (&*from_root, None)
    } else if let Some(name) = given.to_str().and_then(|name| name.parse().ok()) {
        return newest(workspace, &name);
    } else if recording.exists() {
        (&*recording, scenario_of(workspace, given))
    } else {
        (given, None)
    };
    if !path.is_dir() {
        return Ok(Given::Capture(CaptureFile { path: path.to_owned(), given: given.to_owned() }));
    }
    // A folder that has a recording and lacks its manifest is a damaged cassette.
    if !path.join("cassette.toml").exists() && !path.join("stdout.jsonl").exists() {
        bail!("{} has no cassette.toml; {}", path.display(), inside(path)?);
    }
    let cassette = Cassette::load(path)?;
    Ok(Given::Recording(Box::new(GivenRecording { cassette, scenario })))
}

/// Takes the newest recording of a scenario, as other commands do where no version is named.
fn newest(workspace: &Workspace, name: &ScenarioName) -> anyhow::Result<Given> {
    let scenario = workspace.load(name)?;
    let version = workspace.usual_version(&scenario)?.with_context(|| {
        format!("{name} is not recorded yet; run `{} record {name}`", workspace.program())
    })?;
    let cassette = Cassette::find(workspace, name, &version)?;
    Ok(Given::Recording(Box::new(GivenRecording { cassette, scenario: Some(scenario) })))
}

/// Loads the scenario of SCENARIO/VERSION. An unreadable scenario counts as `None`, and the recording is replayed
/// without it.
fn scenario_of(workspace: &Workspace, given: &Path) -> Option<Scenario> {
    let name = given.parent().filter(|name| name.components().count() == 1)?;
    workspace.scenario_of(&name.to_str()?.parse().ok()?).ok()
}

/// Returns a hint with the cassettes in a folder, for a user who named the folder above them.
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

/// Returns the request with the scenario's run, chat, client and faults, except for options that `is_given` finds on
/// the command line. The times stay those of the request, but where a person watches: a model that was scripted answers
/// faster than anyone reads, so that the lines have the scenario's pace there.
fn of_scenario(
    request: &ReplayRequest,
    scenario: &Scenario,
    is_watched: bool,
    is_given: impl Fn(&str) -> bool,
) -> ReplayRequest {
    fn pick<T>(is_given: bool, given: T, scenario: T) -> T {
        if is_given { given } else { scenario }
    }
    let mut asked = request.clone();
    let (given, own) = (request.run, scenario.run);
    asked.run = RunSpec {
        silent: pick(is_given("silent"), given.silent, own.silent),
        delivery: pick(is_given("delivery"), given.delivery, own.delivery),
        limit_s: pick(is_given("limit_s"), given.limit_s, own.limit_s),
        resume: pick(is_given("resume"), given.resume, own.resume),
        stuck_callback: pick(is_given("stuck_callback"), given.stuck_callback, own.stuck_callback),
        stream_break: pick(is_given("stream_break"), given.stream_break, own.stream_break),
        pace_ms: own.pace_ms,
    };
    if is_watched && !["pace", "seed", "plan", "cut"].into_iter().any(&is_given) {
        asked.pace = Some(own.pace_ms);
    }
    let chat = scenario.first_chat();
    asked.chat.mode = pick(is_given("mode"), asked.chat.mode, chat.mode);
    asked.chat.reasoning = pick(is_given("reasoning"), asked.chat.reasoning, chat.reasoning);
    asked.chat.profile = pick(is_given("profile"), asked.chat.profile, chat.profile);
    let shows_terminal =
        |channel: &ChannelSpec| matches!(channel, ChannelSpec::Acp { terminal: true });
    let terminal = scenario.channels.iter().any(shows_terminal);
    asked.acp.terminal = pick(is_given("terminal"), asked.acp.terminal, terminal);
    // A plan has its own faults.
    if !is_given("faults") && request.plan.is_none() {
        asked.faults.clone_from(&scenario.chat.faults);
    }
    asked
}

/// The form in which an entry is shown.
enum EntryForm {
    /// As a line of JSON.
    Json,
    /// As a line for people.
    Line,
    /// As the chat after this entry.
    Chat(Box<TerminalChat>),
}

/// Shows the entries of some lanes.
struct EntryPrinter {
    out: Terminal,
    form: EntryForm,
    lanes: Vec<Lane>,
    /// The speed relative to the recording; `None` shows all entries at once.
    speed: Option<f64>,
    /// The time of the previous entry in ms.
    now: u64,
}

impl EntryPrinter {
    fn new(form: EntryForm, lanes: &[Lane], speed: Option<f64>) -> Self {
        Self { out: terminal::stdout(), form, lanes: lanes.to_vec(), speed, now: 0 }
    }

    /// Shows an entry, when its time has come. Breaks once the reader of stdout is gone.
    fn show(&mut self, entry: &Entry) -> io::Result<ControlFlow<()>> {
        if terminal::reader_is_gone() {
            return Ok(ControlFlow::Break(()));
        }
        if !self.lanes.contains(&entry.lane) {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(speed) = self.speed {
            std::thread::sleep(Duration::from_millis(entry.at - self.now).div_f64(speed));
            self.now = entry.at;
        }
        let out = &mut self.out;
        match &mut self.form {
            EntryForm::Json => out.json(&entry.to_line())?,
            EntryForm::Line => write_entry(out.styled(), entry)?,
            EntryForm::Chat(chat) => {
                if chat.apply(entry) {
                    chat.draw(&mut out.screen(), entry.at)?;
                }
            }
        }
        if self.speed.is_some() {
            out.flush()?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
