//! `clitape drift`: lists the changes from one version of the CLI to another.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use clitape_process::{ConfineBy, Scratch, remove_stale};
use clitape_recording::cassette::{Cassette, Origin};
use clitape_recording::files;
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Scenario, Workspace};
use clitape_recording::text::plural;
use clitape_runner::baseline::accept;
use clitape_runner::drift::{
    About, Doubts, Drift, NotCompared, Race, Recorder, Scope, Side, committed, drift,
};
use clitape_runner::record::{
    Claude, ClaudeChoice, RecordError, RecordSettings, ResolveSettings, help, newest, resolve,
};
use clitape_runner::report::{drift_document, drift_json};
use clitape_runner::suite::SuiteOptions;
use clitape_runner::suite::select::{Selected, Selection};

use crate::confirm::{Confirmation, confirm_scenario};
use crate::exit::ExitStatus;
use crate::input::{JobsArg, Names, SelectionArgs, is_standard};
use crate::outputs::{check_printed, make_folder, write_file};
use crate::progress::ProgressLine;
use crate::record::{RecordLimits, cache, host_paths};
use crate::signals::stop_on_signals;
use crate::terminal;
use crate::test::propose;

/// The help text about the comparison.
const HELP: &str = "\
Takes the committed recordings of both versions. A scenario that one of them has not
recorded is recorded now, with the CLI from npm, and kept in the cache; `clitape record
--help` says what a recording may do. The report says, the gravest first, what changes in
the records, in their number and order, in the dialogue, on the command line, in the lanes
of the replay, in what a person sees, and in how the CLI ends. What could not be compared is
listed, and is as bad as a change. Where a recording that was made now has its records in
another order, both versions record the scenario again: a difference that does not come
again is a race, which is listed and is no change.

`--accept` is for a version whose report you have read. It puts the recordings into
cassettes/, the text of `--help` into versions/ and the version into clitape.toml, and
proposes the goldens that differ, for `clitape review`. It changes nothing if a scenario
could not be compared.

Exit codes: 0 nothing changes and everything was compared, 3 there is something to look at,
2 a version or a scenario can't be used, 4 there is nothing to compare, 5 a cassette is
damaged. With `--accept`: 0 the version was accepted and every golden holds for it, 3 a
golden waits for a review, something else does not hold, or nothing was accepted.";

/// Tells what changes from one version of the CLI to another, down to what a person sees
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// The version that is known
    #[arg(long, value_name = "VERSION")]
    from: CliVersion,
    /// The version that is compared with it; `latest` asks npm for the newest
    #[arg(long, value_name = "VERSION", required_unless_present = "claude")]
    to: Option<Newer>,
    /// Record everything with this program in place of `--to`: a PATH, or `path` for the one on PATH
    #[arg(long, value_name = "CLI", conflicts_with = "to")]
    claude: Option<ClaudeChoice>,
    /// Write the report as Markdown; - is standard output
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the report as JSON, as schemas/drift.json describes it; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as a page, DIR/index.html
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    /// Add the newer version to the recordings, to clitape.toml and to the goldens
    #[arg(long, conflicts_with_all = ["names", "track", "exclude", "changed", "shard"])]
    accept: bool,
    /// Record scenarios that were not recorded here before without asking; for CI
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    jobs: JobsArg,
    #[command(flatten)]
    limits: RecordLimits,
}

/// The ways in which the CLI may be confined.
const CONFINE: Option<ConfineBy> = Some(ConfineBy::Any);

impl Args {
    /// Returns the number of reports that go to standard output.
    fn printed(&self) -> usize {
        let files = [&self.markdown, &self.json].into_iter().flatten();
        files.filter(|path| is_standard(path)).count()
    }
}

/// The value of `--to`.
#[derive(Debug, Clone)]
enum Newer {
    Latest,
    Version(CliVersion),
}

impl std::str::FromStr for Newer {
    type Err = <CliVersion as std::str::FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "latest" => Ok(Self::Latest),
            version => version.parse().map(Self::Version),
        }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    check_printed(args.printed())?;
    let stop = stop_on_signals()?;
    let host = host_paths();
    remove_stale(&host.temporary);
    let limits = args.limits.resolve(CONFINE);
    let to = match &args.to {
        Some(Newer::Latest) => Some(newest(limits, &host, &stop)?),
        Some(Newer::Version(version)) => Some(version.clone()),
        None => None,
    };
    if to.as_ref() == Some(&args.from) {
        if let Some(Newer::Version(version)) = &args.to {
            bail!("both versions are {version}; name another one with `--to`");
        }
        terminal::note(format_args!("{} is the newest version that npm knows", args.from));
        return Ok(ExitStatus::Ok);
    }
    let versions: Vec<CliVersion> =
        [Some(args.from.clone()), to.clone()].into_iter().flatten().collect();
    let selection = args.selection.select(workspace, Names::default())?;
    let (scenarios, left_out) = scenarios(workspace, &selection, &versions)?;
    if scenarios.is_empty() {
        let why = selection.nothing.as_deref().unwrap_or("no scenario is for both versions");
        terminal::note(format_args!("nothing to compare: {why}"));
        return Ok(ExitStatus::Nothing);
    }
    let mut session = DriftSession {
        workspace,
        scenarios,
        host: &host,
        stop: &stop,
        jobs: args.jobs.get(),
        progress: ProgressLine::new(quiet),
        confirmation: Confirmation { yes: args.yes, quiet: true },
        settings: args.limits.record(CONFINE),
        limits,
        not_recorded: Vec::new(),
        folders: Vec::new(),
    };
    let known = to.as_ref().map(|to| committed(workspace, to, &session.scenarios));
    let known = known.unwrap_or_default();
    let from = session.of_version(&args.from, (&known, to.as_ref().unwrap_or(&args.from)))?;
    let like = (&from.recordings, &args.from);
    let choice = match (&to, &args.claude) {
        (Some(version), _) => ClaudeChoice::Npm(version.clone()),
        (None, Some(choice)) => choice.clone(),
        (None, None) => bail!("name a version with `--to`, or a program with `--claude`"),
    };
    let to = match &to {
        Some(version) => session.of_version(version, like)?,
        None => session.of_program(&choice, like)?,
    };
    let mut sides = [from, to];
    let races = session.races(&mut sides, [&ClaudeChoice::Npm(args.from.clone()), &choice])?;
    let DriftSession { scenarios, mut progress, not_recorded, folders: _folders, .. } = session;
    let total = plural(scenarios.len(), "scenario");
    progress.begin(&format!("comparing {total}"), ["compared", "scenario"]);
    let scope = Scope { scenarios, not_recorded, left_out, races };
    let options =
        SuiteOptions { jobs: args.jobs.get(), stop: Some(&stop), ..SuiteOptions::new(&selection) };
    let found = drift(&sides, scope, options, &mut progress.reporter())?;
    drop(progress);
    write(&found, args, quiet)?;
    if args.accept {
        return accept_version(workspace, &sides[1], &found, quiet);
    }
    Ok(if found.holds() { ExitStatus::Ok } else { ExitStatus::Findings })
}

/// Returns the scenarios that a CLI of these versions records, and the others with the reason.
fn scenarios(
    workspace: &Workspace,
    selection: &Selection,
    versions: &[CliVersion],
) -> anyhow::Result<(Vec<Arc<Scenario>>, Vec<NotCompared>)> {
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    for Selected { name, versions: named, .. } in &selection.scenarios {
        if let Some(named) = named {
            bail!("{name}/{}: `--from` and `--to` name the versions", named.join(", "));
        }
        let scenario = workspace.scenario_of(name)?;
        let only = scenario.record.only.as_ref();
        let other = only.filter(|only| versions.iter().any(|version| !only.contains(version)));
        let why = match other {
            _ if !scenario.has_model() => Some(match is_synthetic(workspace, name)? {
                true => "it is synthetic: no CLI prints its records".to_owned(),
                false => "its capture was not recorded by the CLI".to_owned(),
            }),
            Some(only) => Some(only.reason.clone()),
            None => None,
        };
        match why {
            None => all.push(Arc::new(scenario)),
            Some(why) => left_out.push(NotCompared { what: scenario.name.to_string(), why }),
        }
    }
    Ok((all, left_out))
}

/// Returns whether a scenario has a recording that no CLI prints.
fn is_synthetic(workspace: &Workspace, name: &ScenarioName) -> anyhow::Result<bool> {
    for version in workspace.recorded(name)? {
        let manifest = Cassette::manifest(&workspace.cassette(name, &version))?;
        if manifest.origin == Origin::Synthetic {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The recordings of the other version, and its name; new recordings are compared with them.
type Like<'a> = (&'a BTreeMap<ScenarioName, Workspace>, &'a CliVersion);

/// The options and results that both sides share while their recordings are gathered.
struct DriftSession<'a> {
    workspace: &'a Workspace,
    scenarios: Vec<Arc<Scenario>>,
    host: &'a clitape_process::host::HostPaths,
    stop: &'a AtomicBool,
    jobs: Option<usize>,
    progress: ProgressLine,
    confirmation: Confirmation,
    /// The limits of a recording.
    settings: RecordSettings,
    /// The limits of the search for a CLI.
    limits: ResolveSettings,
    not_recorded: Vec<NotCompared>,
    /// The folders with recordings that are not stored in the cache; dropping them removes the recordings.
    folders: Vec<Scratch>,
}

impl<'a> DriftSession<'a> {
    /// Gathers the recordings of a version of the CLI: the committed ones, and the others made now.
    fn of_version(&mut self, version: &CliVersion, like: Like<'_>) -> anyhow::Result<Side> {
        let known = committed(self.workspace, version, &self.scenarios);
        let lacking: Vec<Arc<Scenario>> =
            self.scenarios.iter().filter(|one| !known.contains_key(&one.name)).cloned().collect();
        let text = self.workspace.help(version);
        let text = if files::is_there(&text) { Some(files::read_text(&text)?) } else { None };
        let claude = match (&text, lacking.is_empty()) {
            (Some(_), true) => None,
            _ => Some(self.resolved(&ClaudeChoice::Npm(version.clone()))),
        };
        let recordings = match (known.len(), lacking.len()) {
            (_, 0) => "committed".to_owned(),
            (0, _) => "recorded now".to_owned(),
            (known, lacking) => format!("{known} committed, {lacking} recorded now"),
        };
        let mut side = Side {
            about: About { version: version.clone(), recordings },
            recordings: known,
            help: text.ok_or_else(String::new),
        };
        match claude {
            None => {}
            Some(Ok(claude)) => {
                self.add(&mut side, &claude, &lacking, like, &cache()?.join("drift"))?;
            }
            Some(Err(error)) if matches!(error.downcast_ref(), Some(RecordError::Stopped)) => {
                return Err(error);
            }
            Some(Err(error)) => {
                let why = format!("there is no claude {version}: {error}");
                self.not_recorded.extend(lacking.iter().map(|scenario| NotCompared {
                    what: scenario.name.to_string(),
                    why: why.clone(),
                }));
                side.help = side.help.or(Err(why));
            }
        }
        Ok(side)
    }

    /// Records everything with a program, whatever version it reports.
    fn of_program(&mut self, choice: &ClaudeChoice, like: Like<'_>) -> anyhow::Result<Side> {
        let claude = self.resolved(choice)?;
        let recordings = format!("recorded now by {}", claude.program.display());
        let mut side = Side {
            about: About { version: claude.version.clone(), recordings },
            recordings: Default::default(),
            help: Err(String::new()),
        };
        let scenarios = self.scenarios.clone();
        // The program may start others that change while it stays the same, so that its recordings are not cached.
        let cache = self.folder()?;
        self.add(&mut side, &claude, &scenarios, like, &cache)?;
        Ok(side)
    }

    /// Makes a folder for recordings that are not stored in the cache.
    fn folder(&mut self) -> anyhow::Result<PathBuf> {
        let folder = Scratch::for_program(self.host)?;
        let path = folder.path().to_owned();
        self.folders.push(folder);
        Ok(path)
    }

    /// Records again, with both versions, what differs in the order of its records, and returns the differences that do
    /// not come again. The new recordings without a difference take the place of the first ones.
    fn races(
        &mut self,
        sides: &mut [Side; 2],
        choices: [&ClaudeChoice; 2],
    ) -> anyhow::Result<Vec<Race>> {
        let doubts = Doubts::find(sides, &self.scenarios, self.workspace)?;
        if doubts.scenarios.is_empty() {
            return Ok(Vec::new());
        }
        let claudes = match choices.map(|choice| self.resolved(choice)) {
            [Ok(from), Ok(to)] => [from, to],
            // Without one of the versions, the differences are reported as they are.
            [Err(error), _] | [_, Err(error)] => match error.downcast_ref() {
                Some(RecordError::Stopped) => return Err(error),
                _ => return Ok(Vec::new()),
            },
        };
        let versions = sides.each_ref().map(|side| side.about.version.clone());
        let total = plural(doubts.scenarios.len(), "scenario");
        let mut again = [BTreeMap::new(), BTreeMap::new()];
        for at in [0, 1] {
            let claude = &claudes[at];
            let step = format!("recording {total} again with claude {}", claude.version);
            self.progress.begin(&step, ["recorded", "scenario"]);
            // The older version is compared with the first recording of the newer one, and that with the new recording.
            let recordings = if at == 0 { &sides[1].recordings } else { &again[0] };
            let (recordings, cache) = (recordings.clone(), self.folder()?);
            let recorder = self.recorder(claude, (&recordings, &versions[1 - at]), &cache);
            let made = recorder.record(&doubts.scenarios, &mut self.progress.reporter())?;
            again[at] = made.recordings;
        }
        Ok(doubts.settle(sides, again)?)
    }

    /// Returns the recorder of a CLI. A recording waits more than it works, so that twice as many as there are cores are
    /// made at a time.
    fn recorder<'r>(&self, claude: &'r Claude, like: Like<'r>, cache: &'r Path) -> Recorder<'r>
    where
        'a: 'r,
    {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Recorder {
            claude,
            workspace: self.workspace,
            like,
            cache,
            settings: self.settings,
            jobs: self.jobs.or(Some(2 * cores)),
            host: self.host,
            stop: self.stop,
        }
    }

    fn resolved(&mut self, choice: &ClaudeChoice) -> anyhow::Result<Claude> {
        let cache = cache()?;
        let progress = &mut self.progress;
        let mut note = |text: &str| progress.step(text);
        Ok(resolve(choice, &cache, self.limits, self.host, self.stop, &mut note)?)
    }

    /// Adds the recordings that a CLI makes now, and the text of its `--help` if that is unknown.
    fn add(
        &mut self,
        side: &mut Side,
        claude: &Claude,
        lacking: &[Arc<Scenario>],
        like: Like<'_>,
        cache: &Path,
    ) -> anyhow::Result<()> {
        if side.help.is_err() {
            let text = help(claude, self.limits, self.host, self.stop);
            side.help = text.map_err(|error| error.to_string());
        }
        if lacking.is_empty() {
            return Ok(());
        }
        for scenario in lacking {
            confirm_scenario(scenario, self.settings, self.confirmation, self.stop)?;
        }
        let total = plural(lacking.len(), "scenario");
        let step = format!("recording {total} with claude {}", claude.version);
        self.progress.begin(&step, ["recorded", "scenario"]);
        let recorder = self.recorder(claude, like, cache);
        let made = recorder.record(lacking, &mut self.progress.reporter())?;
        side.recordings.extend(made.recordings);
        self.not_recorded.extend(made.failed);
        Ok(())
    }
}

/// Prints the summary, and writes the files that the options name.
fn write(found: &Drift, args: &Args, quiet: bool) -> anyhow::Result<()> {
    let document = drift_document(found);
    let mut out = if args.printed() > 0 { terminal::stderr() } else { terminal::stdout() };
    if !quiet || !found.holds() {
        document.terminal(out.styled())?;
    }
    let page = args.html.as_ref().map(|dir| dir.join("index.html"));
    if let Some(dir) = &args.html {
        make_folder(dir)?;
    }
    let json = || drift_json(found).context("can't write the report as JSON");
    let files: [(_, &dyn Fn() -> anyhow::Result<String>); 3] = [
        (&args.markdown, &|| Ok(document.markdown())),
        (&args.json, &json),
        (&page, &|| Ok(document.page())),
    ];
    for (path, text) in files {
        if path.as_ref().is_some_and(|path| is_standard(path)) {
            let mut out = terminal::stdout();
            out.styled().write_all(text()?.as_bytes())?;
            out.flush()?;
        } else if let Some(path) = path {
            write_file(path, text()?)?;
            if !quiet {
                out.line(format_args!("wrote {}", path.display()))?;
            }
        }
    }
    Ok(())
}

/// Adds the version of `side`, and proposes the goldens that differ.
fn accept_version(
    workspace: &Workspace,
    side: &Side,
    found: &Drift,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let version = &side.about.version;
    if !found.not_compared.is_empty() {
        terminal::note(format_args!(
            "claude {version} was not accepted, because {} could not be compared; say in a scenario.toml how the CLI ends \
             (`exit` under [record]) or why the version is left out (`only = {{ until = \"{}\", reason = \"…\" }}`), and \
             accept again: what was recorded is kept in the cache",
            plural(found.not_compared.len(), "part"),
            found.from.version
        ));
        return Ok(ExitStatus::Findings);
    }
    let accepted = accept(workspace, side)?;
    let mut out = terminal::stdout();
    let place =
        if accepted.version { "clitape.toml names it now" } else { "clitape.toml named it before" };
    out.line(format_args!(
        "accepted claude {version}: {} added, and {place}",
        plural(accepted.recordings, "recording")
    ))?;
    drop(out);
    propose(workspace, quiet)
}
