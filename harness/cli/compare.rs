//! `clitape compare`: replays the same cassettes with two subjects, versions or builds, and compares the traces.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clitape_gateway::ByteSize;
use clitape_recording::limits::{COMPARED_TIME, CallLimits, OutputLimits};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_rig::subject::{Subjects, compare_gateways};
use clitape_runner::compare::{CompareFolders, Comparison, SideName, gather, resolve, select};
use clitape_runner::report::{Pages, Report, compare_document};
use clitape_runner::suite::{ScenarioRun, SuiteOptions};

use crate::confirm::{Confirmation, Consent};
use crate::exit::ExitStatus;
use crate::input::{JobsArg, Names, SelectionArgs};
use crate::outputs::{OpenOutput, Outputs, make_folder, write_files};
use crate::progress::ProgressLine;
use crate::record::cache;
use crate::rig_limits::RunLimitArgs;
use crate::signals::stop_in_time;
use crate::subject::{Machine, gateway};
use crate::terminal;

/// The help text about the subjects and the way in which a program is called.
const HELP: &str = "\
A and B are each one of these subjects:
  this        this clitape, in process
  git:REV     clitape as of a revision of the project's repository, built with cargo and kept
  ./PROGRAM   a path with a / in it: a program that is called in the project's folder as
              `PROGRAM replay cassettes/SCENARIO/VERSION <flags> --pace MS --lane LANE,… --json`,
              and prints the trace, one JSON object on each line, within --timeout. It ends with
              code 0, or with 2 if it does not know a flag or a lane; it is then called once for
              each lane. Anything else is reported as a replay that could not be compared.
  subject:X   a gateway of clitape.toml, NAME or NAME@VERSION, which is played in real time; the
              other side must be one too
  2.1.148     a version of the CLI: this clitape, on the cassettes of that version; B must be a
              version too

Exit codes: 0 nothing differs, 3 something differs or could not be compared, 2 a side or a scenario
can't be used, 4 there is nothing to compare, 5 a cassette is damaged.";

/// Compares two subjects on the same cassettes, lane by lane
#[derive(clap::Args)]
#[command(disable_version_flag = true, after_help = HELP)]
pub(crate) struct Args {
    /// The expected side: this, git:REV, a path to a program, subject:NAME@VERSION, or a CLI version
    a: SideName,
    /// The side that is compared with it
    b: SideName,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Only cassettes of this version of the CLI; may be given several times
    #[arg(long, value_name = "VERSION")]
    version: Vec<CliVersion>,
    /// Folder for index.html and compare.md
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write what differs also as JUnit XML; - is standard output
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    jobs: JobsArg,
    /// Compare no further cassette after the first one that differs
    #[arg(long, help_heading = "Run")]
    fail_fast: bool,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    limits: ReplayLimitArgs,
    #[command(flatten)]
    of_subjects: RunLimitArgs,
}

/// The limits on one replay of a program that is compared, and on the output of a gateway.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct ReplayLimitArgs {
    /// Seconds that a program may take for one replay
    #[arg(long, value_name = "S", default_value_t = COMPARED_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Bytes that a program may print for one replay, or a gateway in all, and as many on stderr
    #[arg(long, value_name = "SIZE", default_value_t = OutputLimits::COMPARED.bytes)]
    max_output: ByteSize,
    /// Bytes that a line of a program may have
    #[arg(long, value_name = "SIZE", default_value_t = OutputLimits::COMPARED.line)]
    max_line: ByteSize,
    /// Lines that a program may print for one replay, or a gateway in all, and reads in which they may come
    #[arg(long, value_name = "N", default_value_t = OutputLimits::COMPARED.lines,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    max_lines: u64,
}

impl ReplayLimitArgs {
    /// Returns the limits of the output of a program or a gateway.
    fn output(&self) -> OutputLimits {
        OutputLimits { bytes: self.max_output, line: self.max_line, lines: self.max_lines }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let sides = [&args.a, &args.b];
    let chosen = args.selection.select(workspace, Names::default())?;
    if let Some(why) = &chosen.nothing {
        terminal::note(format_args!("nothing to compare: {why}"));
        return Ok(ExitStatus::Nothing);
    }
    let options = SuiteOptions {
        jobs: args.jobs.get(),
        fail_fast: args.fail_fast,
        ..SuiteOptions::new(&chosen)
    };
    if let [SideName::Subject(a), SideName::Subject(b)] = sides {
        return compare_subjects(workspace, options, args, [a, b], quiet);
    }
    let selection = select(workspace, sides, &chosen, &args.version)?;
    let total = selection.cassettes();
    if total == 0 {
        let names = selection.unrecorded.join(", ");
        terminal::note(format_args!(
            "nothing to compare: there is no recording that both sides take of {names}; add one \
             with `clitape record SCENARIO`"
        ));
        return Ok(ExitStatus::Nothing);
    }
    let outputs = open(workspace, args)?;
    let stop = stop_in_time()?;
    let mut progress = ProgressLine::new(quiet);
    let builds = cache()?.join("builds");
    let this = std::env::current_exe().context("can't find the path of this program")?;
    let limits = CallLimits {
        time: Duration::from_secs(args.limits.timeout),
        output: args.limits.output(),
        kept: args.of_subjects.kept(),
    };
    let around = CompareFolders { workspace, builds: &builds, this: &this, limits, stop: &stop };
    let sides = resolve(sides, around, &mut progress.reporter())?;
    progress.begin(&format!("comparing {}", plural(total, "cassette")), ["compared", "cassette"]);
    let options = SuiteOptions { stop: Some(&stop), ..options };
    let (comparison, scenarios) =
        gather(workspace, &selection, &sides, options, &mut progress.reporter())?;
    drop(progress);
    write(&comparison, scenarios, outputs, &args.out, quiet)
}

/// Plays two subjects of clitape.toml, one after the other, and compares their chats.
fn compare_subjects(
    workspace: &Workspace,
    options: SuiteOptions<'_>,
    args: &Args,
    names: [&str; 2],
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let subjects = Subjects::load(workspace.root())?;
    let machine = Machine::new(args.of_subjects.limits(args.limits.output()))?;
    for name in names {
        let how = Confirmation { yes: args.consent.yes, quiet };
        machine.ask(workspace, &subjects, name, how)?;
    }
    let gateways = [gateway(&subjects, names[0])?, gateway(&subjects, names[1])?];
    if names[0] == names[1] {
        bail!("both sides are subject:{}; name another version with NAME@VERSION", names[0]);
    }
    let outputs = open(workspace, args)?;
    let mut progress = ProgressLine::new(quiet);
    let rig = machine.rig(workspace);
    let compared = compare_gateways(gateways, options, rig, &mut progress.reporter())?;
    drop(progress);
    let Some((comparison, scenarios)) = compared else {
        terminal::note("nothing to compare: no cassette fits both subjects");
        return Ok(ExitStatus::Nothing);
    };
    write(&comparison, scenarios, outputs, &args.out, quiet)
}

/// Makes the folder and opens the file that the command line names, so that a path that can't be written fails early.
fn open(workspace: &Workspace, args: &Args) -> anyhow::Result<OpenOutput> {
    make_folder(&args.out)?;
    Outputs::of_junit(args.junit.clone()).open(workspace.root(), None)
}

/// Prints the summary and writes the page, the text and the report.
fn write(
    comparison: &Comparison,
    scenarios: Vec<ScenarioRun>,
    outputs: OpenOutput,
    dir: &Path,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let document = compare_document(comparison);
    let mut out = outputs.people();
    if !quiet || !comparison.holds() {
        document.terminal(out.styled())?;
    }
    let written = [("index.html", document.page()), ("compare.md", document.markdown())]
        .map(|(file, text)| (dir.join(file), text));
    let paths = written.each_ref().map(|(path, _)| path.clone());
    write_files(written)?;
    if !quiet {
        for path in paths {
            out.line(format_args!("wrote {}", path.display()))?;
        }
    }
    let report = Report::new(env!("CARGO_PKG_VERSION"), scenarios, Vec::new());
    outputs.finish(&report, &Pages::default(), &mut out)?;
    Ok(match comparison.finds_nothing() {
        true if comparison.unchecked > 0 => ExitStatus::Nothing,
        true => ExitStatus::Ok,
        false => ExitStatus::Findings,
    })
}
