//! A request for a replay: the arguments of `clitape replay`, the line that a finding prints, the call of a program
//! that is compared, and the command on a proof are all one [`ReplayRequest`].

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::io::BufRead;
use std::path::PathBuf;
use std::str::FromStr;

use clitape_recording::capture::Capture;
use clitape_recording::cassette::Tick;
use clitape_recording::files::{self, FileError};
use clitape_recording::limits::{self, InputError};
use clitape_recording::names::{CassetteFile, CliVersion, ScenarioName};
use clitape_recording::scenario::{
    AcpClient, Chat, ChatMode, Fault, FaultKind, RunSpec, Scenario, Setup,
};
use clitape_recording::text::shell_quote;
use clitape_recording::trace::Lane;

use super::plan::{Cut, Plan, PlanError};
use super::streamed::CapturePieces;

/// The slowest pace, in ms.
const PACE_MOST_MS: u64 = 3_600_000;
/// The lanes that are printed unless others are asked for.
const LANES: [Lane; 4] = [Lane::Lifecycle, Lane::Bus, Lane::Telegram, Lane::Session];

/// One replay: what is replayed, how it is cut and delayed, how the run is run, and which lanes are printed.
///
/// [`args`](Self::args) gives the arguments that `clitape` parses back into the same request.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct ReplayRequest {
    /// A cassette's folder, SCENARIO or SCENARIO/VERSION in cassettes/, or a file of stream-json lines
    #[arg(value_name = "CASSETTE|FILE.jsonl")]
    pub input: PathBuf,
    /// The chat.
    #[command(flatten)]
    pub chat: Chat,
    /// The client of the Agent Client Protocol.
    #[command(flatten)]
    pub acp: AcpClient,
    /// How the gateway runs it.
    #[command(flatten)]
    pub run: RunSpec,
    /// A fault at a call of the chat's server, such as 2:rate-limit:3s, 2:slow:700ms,
    /// 2:not-modified, 2:server-error, 2:hang or 2:lost-reply; may be given several times
    #[arg(
        long = "fault",
        visible_alias = "chat-faults",
        value_name = "FAULT",
        value_delimiter = ',',
        conflicts_with = "plan"
    )]
    pub faults: Vec<Fault>,
    /// Cut and delay at random; the same seed gives the same plan
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Kinds of faults that the seed spreads over the calls of the chat's server
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', requires = "seed")]
    pub seed_faults: Vec<FaultKind>,
    /// Where to cut: line, byte, a number of bytes, random, or none (as it was read)
    #[arg(long, value_name = "HOW", conflicts_with_all = ["plan", "pace"])]
    pub cut: Option<Cut>,
    /// Replay this plan: a file, - for standard input, or the JSON text that a finding prints
    #[arg(long, value_name = "FILE|JSON", conflicts_with_all = ["seed", "pace"])]
    pub plan: Option<PlanArg>,
    /// Replay whole lines, MS milliseconds apart, as goldens are made
    #[arg(long, value_name = "MS", conflicts_with = "seed",
        value_parser = clap::value_parser!(u64).range(..=PACE_MOST_MS))]
    pub pace: Option<u64>,
    /// The lanes to print
    #[arg(
        long = "lane",
        value_name = "LANE,…",
        value_delimiter = ',',
        default_value = "lifecycle,bus,telegram,session"
    )]
    pub lanes: Vec<Lane>,
    /// Print trace entries as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// A plan as the command line names it: its text, or a file with the text, where `-` is standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanArg {
    /// The plan as one JSON object.
    Json(String),
    /// A file with the JSON object.
    File(PathBuf),
}

impl FromStr for PlanArg {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Infallible> {
        Ok(match word.trim_start() {
            "-" => Self::File("/dev/stdin".into()),
            json if json.starts_with('{') => Self::Json(word.to_owned()),
            _ => Self::File(word.into()),
        })
    }
}

/// The reason why a request has no plan.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The text is not a plan for the input.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The file has no plan for the input.
    #[error("{path}: {source}")]
    PlanFile {
        /// The file.
        path: PathBuf,
        /// The mistake in its text.
        source: PlanError,
    },
    /// The file of the plan can't be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The plan has too many pieces and lines of the host.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A seed was given beside cuts that are not random.
    #[error("`--seed` is only for random cuts; remove it, or write `--cut random`")]
    SeedWithoutRandom,
}

impl ReplayRequest {
    /// A replay of `input` as it was recorded, in a chat in mode `partial`.
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            chat: Chat::of(ChatMode::Partial),
            acp: AcpClient { terminal: false },
            run: RunSpec::default(),
            faults: Vec::new(),
            seed: None,
            seed_faults: Vec::new(),
            cut: None,
            plan: None,
            pace: None,
            lanes: LANES.to_vec(),
            json: false,
        }
    }

    /// The canonical replay of a file of a cassette, in `setup` and with the scenario's faults. What the setup
    /// lacks is as in [`new`](Self::new), because `clitape replay` always has a chat and a client.
    pub(crate) fn canonical(
        scenario: &Scenario,
        version: &CliVersion,
        file: Option<CassetteFile>,
        setup: Setup,
    ) -> Self {
        let faults = setup.channel.map(|_| scenario.chat.faults.clone()).unwrap_or_default();
        let pace = Some(scenario.run.pace_ms);
        Self { faults, pace, ..Self::of(&scenario.name, version, file, setup) }
    }

    /// The replay of a cassette in `setup` with the recorded cuts and times, and the faults of `scenario`.
    pub(crate) fn recorded(scenario: &Scenario, version: &CliVersion, setup: Setup) -> Self {
        Self { pace: None, ..Self::canonical(scenario, version, None, setup) }
    }

    /// The replay of a cassette in `setup` under a plan, which contains its faults.
    pub(crate) fn planned(
        scenario: &Scenario,
        version: &CliVersion,
        setup: Setup,
        plan: &Plan,
    ) -> Self {
        let plan = Some(PlanArg::Json(plan.to_line()));
        Self { plan, ..Self::of(&scenario.name, version, None, setup) }
    }

    fn of(
        scenario: &ScenarioName,
        version: &CliVersion,
        file: Option<CassetteFile>,
        setup: Setup,
    ) -> Self {
        let mut input = format!("cassettes/{scenario}/{version}");
        if let Some(file) = file {
            input += &format!("/{file}");
        }
        let new = Self::new(input);
        let run = RunSpec { pace_ms: RunSpec::default().pace_ms, ..setup.run };
        let (chat, acp) = (setup.channel.unwrap_or(new.chat), setup.acp.unwrap_or(new.acp));
        Self { chat, acp, run, ..new }
    }

    /// The same replay that prints only `lanes`.
    #[must_use]
    pub(crate) fn lanes(self, lanes: impl IntoIterator<Item = Lane>) -> Self {
        Self { lanes: lanes.into_iter().collect(), ..self }
    }

    /// Returns the settings of the run, and the channels.
    pub fn setup(&self) -> Setup {
        Setup { run: self.run, channel: Some(self.chat), acp: Some(self.acp) }
    }

    /// The plan for `capture`, whose timeline is `timeline`.
    ///
    /// # Errors
    ///
    /// [`RequestError`] when the plan can't be read or is for other bytes, or would have too many pieces.
    pub fn plan<'a>(
        &self,
        capture: impl Into<Capture<'a>>,
        timeline: &[Tick],
    ) -> Result<Plan, RequestError> {
        let capture = capture.into();
        let total = capture.stdout.len() as u64;
        let plan = match (&self.plan, self.pace) {
            (Some(PlanArg::Json(text)), _) => Plan::parse(text, total)?,
            (Some(PlanArg::File(path)), _) => Plan::parse(&files::read_named_text(path)?, total)
                .map_err(|source| RequestError::PlanFile { path: path.clone(), source })?,
            (None, Some(pace)) => Plan::canonical(capture, pace),
            (None, None) => {
                let (cut, seed) = self.cut_and_seed()?;
                // A plan of many pieces is refused before it takes memory.
                limits::check_pieces(&self.input, cut.pieces(total))?;
                Plan::cut(capture, timeline, cut, seed)
            }
        };
        plan.check_dialogue(capture)?;
        plan.check_agent(capture.stdout)?;
        limits::check_pieces(&self.input, plan.pieces_and_lines())?;
        Ok(plan.with_faults(self.all_faults()))
    }

    /// The pieces of a capture that is cut while it is read. They are those of [`plan`](Self::plan), if the request has
    /// no plan of its own.
    ///
    /// # Errors
    ///
    /// [`RequestError::SeedWithoutRandom`].
    pub fn pieces<R: BufRead>(&self, reader: R) -> Result<CapturePieces<R>, RequestError> {
        if let Some(pace) = self.pace {
            return Ok(CapturePieces::paced(reader, pace));
        }
        let (cut, seed) = self.cut_and_seed()?;
        Ok(CapturePieces::cut(reader, cut, seed))
    }

    /// The faults of the chat's server: those that are named, and those that the seed draws.
    pub fn all_faults(&self) -> Vec<Fault> {
        let drawn = self.seed.map(|seed| Plan::random_faults(seed, &self.seed_faults));
        self.faults.iter().copied().chain(drawn.unwrap_or_default()).collect()
    }

    /// Returns the cut and the seed of the request.
    fn cut_and_seed(&self) -> Result<(Cut, u64), RequestError> {
        let cut = self.cut.unwrap_or(self.seed.map_or(Cut::None, |_| Cut::Random));
        if self.seed.is_some() && cut != Cut::Random {
            return Err(RequestError::SeedWithoutRandom);
        }
        Ok((cut, self.seed.unwrap_or(1)))
    }

    /// The arguments after the program's name. What has its default is left out, except for the mode, which a
    /// program that is compared always gets.
    pub fn args(&self) -> Vec<OsString> {
        let usual = Self::new("");
        let Self { chat, run, .. } = self;
        let mut args = ArgumentList(vec!["replay".into(), self.input.clone().into()]);
        args.option("--mode", Some(chat.mode));
        args.flag("--reasoning", chat.reasoning);
        args.option("--profile", Some(chat.profile).filter(|it| *it != usual.chat.profile));
        args.flag("--terminal", self.acp.terminal);
        args.flag("--silent", run.silent);
        args.option("--delivery", Some(run.delivery).filter(|it| *it != usual.run.delivery));
        args.option("--limit", Some(run.limit_s).filter(|it| *it != usual.run.limit_s));
        args.flag("--resume", run.resume);
        args.option("--stuck-callback", run.stuck_callback);
        args.option("--stream-break", run.stream_break);
        for fault in &self.faults {
            args.option("--fault", Some(fault));
        }
        args.option("--cut", self.cut);
        args.option("--seed", self.seed);
        args.option("--seed-faults", list(self.seed_faults.iter().map(|kind| kind.as_str())));
        match &self.plan {
            Some(PlanArg::Json(text)) => args.option("--plan", Some(text)),
            Some(PlanArg::File(path)) => args.0.extend(["--plan".into(), path.clone().into()]),
            None => {}
        }
        args.option("--pace", self.pace);
        let lanes = list(self.lanes.iter().map(|lane| lane.as_str()));
        args.option("--lane", lanes.filter(|_| self.lanes != usual.lanes));
        args.flag("--json", self.json);
        args.0
    }

    /// The request as a line of a shell that calls `program`.
    pub fn line(&self, program: &str) -> String {
        let words = self.args();
        let words = words.iter().map(|word| shell_quote(&word.to_string_lossy()));
        [program.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Arguments in the order in which they are added.
struct ArgumentList(Vec<OsString>);

impl ArgumentList {
    fn flag(&mut self, name: &str, is_set: bool) {
        self.0.extend(is_set.then(|| name.into()));
    }

    fn option(&mut self, name: &str, value: Option<impl fmt::Display>) {
        let value = value.map(|value| [name.into(), value.to_string().into()]);
        self.0.extend(value.into_iter().flatten());
    }
}

/// The words as the value of an option that takes a list, unless there are none.
fn list<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let words: Vec<&str> = words.collect();
    (!words.is_empty()).then(|| words.join(","))
}

#[cfg(test)]
mod tests;
