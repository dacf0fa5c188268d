//! The subjects of a comparison, which turn a cassette into a trace: the running clitape in its own process, or
//! a program that is called.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_process::kept::{Full, Held, KeptBytes};
use clitape_process::{
    Guard, InstallLimits, Overflow, ProcessError, Revision, RunLimits, Why, build as run_build,
    command, once, run_to_end,
};
use clitape_recording::cassette::{Exit, sha256_of_file};
use clitape_recording::limits::{CallLimits, OutputLimits, parsed_bytes};
use clitape_recording::scenario::{Setup, Workspace};
use clitape_recording::text::{Keep, shell_quote, truncate};
use clitape_recording::trace::{Entry, Lane, entry_bytes};
use fs_err as fs;

use super::model::SideDescription;
use super::select::{CompareError, SideName};
use crate::check::Recording;
use crate::replay::{Replay, ReplayRequest};
use crate::suite::TrialEvent;

/// The lanes that are compared. The lane `read` is left out: it shows how bytes arrive, which the plan decides and not
/// the subject.
const LANES: [Lane; 6] =
    [Lane::Lifecycle, Lane::Bus, Lane::Telegram, Lane::Acp, Lane::Sse, Lane::Session];

/// The folders, programs and limits that [`resolve`] uses.
#[derive(Debug, Clone, Copy)]
pub struct CompareFolders<'a> {
    /// The workspace with the scenarios and the cassettes.
    pub workspace: &'a Workspace,
    /// The folder in which built revisions are kept.
    pub builds: &'a Path,
    /// The program that is running.
    pub this: &'a Path,
    /// The limits of one replay of a program.
    pub limits: CallLimits,
    /// A flag that ends a build when the caller sets it.
    pub stop: &'a AtomicBool,
}

/// A side that can be asked for traces.
#[derive(Debug)]
pub struct CompareSubject {
    /// The description of the side.
    pub about: SideDescription,
    /// The program that is called; `None` when this process replays.
    program: Option<PathBuf>,
    /// The folder in which the program is called.
    root: PathBuf,
    /// True for a program that is named by its path; its trace is accepted without a check.
    foreign: bool,
    /// The lanes that the program knows; set once a call showed that it does not know all of them.
    lanes: OnceLock<BTreeSet<Lane>>,
    /// The limits of one replay.
    limits: CallLimits,
    /// The account of the command, in which the traces of both sides and their differences are counted.
    pub(super) kept: Arc<KeptBytes>,
    /// The chats of a subject that was played in real time, by `scenario/version`; `None` for other sides.
    seen: Option<BTreeMap<String, Vec<Entry>>>,
}

/// A trace, and the lanes for which the subject was asked.
pub(super) struct Trace {
    pub(super) entries: Vec<Entry>,
    pub(super) lanes: BTreeSet<Lane>,
    /// The part of the account in which a program's trace is counted.
    _held: Option<Held>,
}

impl Trace {
    /// Returns a trace of this process, which is not counted.
    fn own(entries: Vec<Entry>, lanes: BTreeSet<Lane>) -> Self {
        Self { entries, lanes, _held: None }
    }
}

/// Turns both sides into subjects. A revision is looked up and is built, unless its program is kept already.
///
/// # Errors
///
/// [`CompareError`] when both sides are the same, a revision does not exist or does not build, a program can't
/// be called, or the caller asks to stop.
pub fn resolve(
    sides: [&SideName; 2],
    around: CompareFolders<'_>,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<[CompareSubject; 2], CompareError> {
    let [a, b] = sides;
    if a == b {
        return Err(CompareError::Same(name(a)));
    }
    match (a, b) {
        (SideName::Version(_), SideName::Version(_)) => {}
        (SideName::Version(version), _) | (_, SideName::Version(version)) => {
            return Err(CompareError::Mixed { version: version.to_string() });
        }
        _ => {}
    }
    if let (SideName::Subject(_), _) | (_, SideName::Subject(_)) = (a, b) {
        return Err(CompareError::Subject);
    }
    // A mistake in a name is reported before any build starts.
    let paths = [program(a)?, program(b)?];
    if let [Some(a), Some(b)] = &paths
        && a == b
    {
        return Err(CompareError::Same(format!("both paths lead to {}", a.display())));
    }
    let root = around.workspace.root();
    let revision = |side: &SideName| match side {
        SideName::Git(revision) => find(root, revision, around.stop).map(Some),
        _ => Ok(None),
    };
    let revisions = [revision(a)?, revision(b)?];
    if let [Some(a), Some(b)] = &revisions
        && a.sha == b.sha
    {
        return Err(CompareError::Same(format!("both revisions are {}", a.sha)));
    }
    let mut ready = Vec::new();
    let account = Arc::new(KeptBytes::within(around.limits.kept));
    for ((side, path), revision) in sides.into_iter().zip(paths).zip(revisions) {
        let mut facts = Vec::new();
        let mut program = path;
        let mut note = String::new();
        if let Some(revision) = revision {
            note = format!(" # clitape as of {}", revision.short());
            program = Some(build(&revision, around.builds, around.stop, report)?);
            facts.push(("revision", revision.sha));
            facts.push(("commit", revision.title));
        }
        let here = || format!("{}, in process", env!("CARGO_PKG_VERSION"));
        match side {
            SideName::Version(version) => {
                facts.push(("cassettes of", format!("claude {version}")));
                facts.push(("replayed by clitape", here()));
            }
            SideName::This => facts.push(("clitape", here())),
            SideName::Git(_) | SideName::Program(_) | SideName::Subject(_) => {}
        }
        let hashed = sha256_of_file(program.as_deref().unwrap_or(around.this))?;
        facts.push(("program's sha256", hashed));
        let command = match side {
            SideName::Program(path) => shell_quote(&file_name(path)),
            SideName::This | SideName::Git(_) | SideName::Subject(_) | SideName::Version(_) => {
                "clitape".to_owned()
            }
        };
        let about = SideDescription { name: name(side), facts, command, note };
        let root = root.to_owned();
        let foreign = matches!(side, SideName::Program(_));
        let (lanes, limits, kept) = (OnceLock::new(), around.limits, account.clone());
        ready.push(CompareSubject {
            about,
            program,
            root,
            foreign,
            lanes,
            limits,
            kept,
            seen: None,
        });
    }
    match <[CompareSubject; 2]>::try_from(ready) {
        Ok(both) => Ok(both),
        Err(_) => unreachable!("two sides give two subjects"),
    }
}

impl CompareSubject {
    /// Returns the side that replays in this process.
    pub(super) fn here(about: SideDescription) -> Self {
        Self { foreign: false, seen: None, ..Self::seen(about, BTreeMap::new()) }
    }

    /// Returns a subject whose chats were seen in real time, by `scenario/version`. Their times are left out.
    pub fn seen(about: SideDescription, chats: BTreeMap<String, Vec<Entry>>) -> Self {
        Self {
            about,
            program: None,
            root: PathBuf::new(),
            foreign: true,
            lanes: OnceLock::new(),
            limits: CallLimits::DEFAULT,
            // The side calls no program, and the caller has counted the chats already.
            kept: Arc::new(KeptBytes::within(ByteSize::bytes(u64::MAX))),
            seen: Some(chats),
        }
    }

    /// Returns the line of a shell that gives the trace of a recording again.
    pub(super) fn line(&self, recording: &Recording, setup: Setup, lane: Lane) -> String {
        match &self.seen {
            Some(_) => {
                let (scenario, version) = (&recording.scenario.name, recording.version());
                format!("{} {scenario}/{version}", self.about.command)
            }
            None => {
                let request = request(recording, setup, &[lane].into());
                request.line(&self.about.command) + &self.about.note
            }
        }
    }

    /// Returns whether the chats of the side were seen in real time.
    pub(super) fn is_seen(&self) -> bool {
        self.seen.is_some()
    }

    /// Returns whether the side is a program named by its path, whose trace is accepted without a check.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns the lanes that the program does not know. A program that knows no lane fails in another way, so that the
    /// result is empty for it.
    pub(super) fn unknown(&self) -> BTreeSet<Lane> {
        let Some(known) = self.lanes.get().filter(|known| !known.is_empty()) else {
            return BTreeSet::new();
        };
        LANES.into_iter().filter(|lane| !known.contains(lane)).collect()
    }

    /// Returns the traces of a cassette's canonical replay, one for each of `setups`. A program is called when its trace
    /// is taken, so that a caller who drops one before the next has one at a time.
    pub(super) fn traces<'t>(
        &'t self,
        recording: &'t Recording,
        setups: &'t [Setup],
        stop: &'t AtomicBool,
    ) -> Box<dyn Iterator<Item = Result<Trace, CallError>> + 't> {
        if let Some(seen) = &self.seen {
            let name = format!("{}/{}", recording.scenario.name, recording.version());
            let trace = move |number: usize| match (number, seen.get(&name)) {
                (0, Some(entries)) => Ok(Trace::own(entries.clone(), [Lane::Telegram].into())),
                // The subject was seen in one chat, whatever chats the scenario has.
                (_, Some(_)) => Ok(Trace::own(Vec::new(), BTreeSet::new())),
                (_, None) => Err(CallError::Failed("it was not played".to_owned())),
            };
            return Box::new((0..setups.len()).map(trace));
        }
        if let Some(program) = &self.program {
            let trace = |setup: &Setup| self.call(program, recording, *setup, stop);
            return Box::new(setups.iter().map(trace));
        }
        let replays = recording.replays(setups).into_iter();
        let trace = move |mut replay: Replay| {
            replay.add_session(&recording.cassette, recording.scenario.session.as_ref());
            Ok(Trace::own(replay.into_entries().into(), LANES.into()))
        };
        Box::new(replays.map(trace))
    }

    /// Calls a program and returns the trace that it prints.
    fn call(
        &self,
        program: &Path,
        recording: &Recording,
        setup: Setup,
        stop: &AtomicBool,
    ) -> Result<Trace, CallError> {
        let ask = |lanes: &BTreeSet<Lane>| {
            let args = request(recording, setup, lanes).args();
            call(program, &self.root, &args, self.limits, &self.kept, stop)
        };
        let known = self.lanes.get().cloned().unwrap_or_else(|| LANES.into());
        let (CountedTrace { entries, held }, lanes) = match ask(&known) {
            Err(CallError::Unknown(why)) if known.len() == LANES.len() => {
                let known = self.lanes.get_or_init(|| self.probe(program, recording, stop));
                if known.is_empty() || known.len() == LANES.len() {
                    return Err(CallError::Unknown(why));
                }
                (ask(known)?, known.clone())
            }
            answer => (answer?, known),
        };
        if entries.is_empty() && lanes.contains(&Lane::Lifecycle) {
            return Err(CallError::Failed("it printed nothing".to_owned()));
        }
        Ok(Trace { entries, lanes, _held: Some(held) })
    }

    /// Asks the program for each lane alone, and returns the lanes that it knows.
    fn probe(&self, program: &Path, recording: &Recording, stop: &AtomicBool) -> BTreeSet<Lane> {
        let knows = |lane: &Lane| {
            let input = format!("cassettes/{}/{}", recording.scenario.name, recording.version());
            let request = ReplayRequest { json: true, ..ReplayRequest::new(input) };
            let args = request.lanes([*lane]).args();
            let answer = call(program, &self.root, &args, self.limits, &self.kept, stop);
            !matches!(answer, Err(CallError::Unknown(_) | CallError::Stopped))
        };
        LANES.into_iter().filter(knows).collect()
    }
}

/// Returns the request for the canonical replay of a cassette in `setup` that prints `lanes` as JSON.
fn request(recording: &Recording, setup: Setup, lanes: &BTreeSet<Lane>) -> ReplayRequest {
    let request = recording.request(setup).lanes(lanes.iter().copied());
    ReplayRequest { json: true, ..request }
}

/// Returns the full path of the program that a side names, if it names one.
fn program(side: &SideName) -> Result<Option<PathBuf>, CompareError> {
    use std::os::unix::fs::PermissionsExt as _;

    let SideName::Program(path) = side else { return Ok(None) };
    let cannot = |why: &str| CompareError::Program { path: path.clone(), why: why.to_owned() };
    let full = path.canonicalize().map_err(|error| cannot(&error.to_string()))?;
    let metadata = fs::metadata(&full)?;
    match metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        true => Ok(Some(full)),
        false => Err(cannot("it is no program (a file with permission to execute it)")),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the name of a side for pages. A program is shown by the name of its file, without the path.
fn name(side: &SideName) -> String {
    match side {
        SideName::This => "this".to_owned(),
        SideName::Git(revision) => format!("git:{revision}"),
        SideName::Program(path) => file_name(path),
        SideName::Subject(subject) => format!("subject:{subject}"),
        SideName::Version(version) => version.to_string(),
    }
}

/// The longest time that one git command may take.
const GIT_TIME: Duration = Duration::from_secs(600);
/// The longest time of a build, which only the caller ends.
const BUILD_TIME: Duration = Duration::MAX;
/// The most bytes that git or cargo may print.
const OUTPUT: ByteSize = ByteSize::mib(64);
/// The name of the program.
const PROGRAM: &str = "clitape";

/// The limits of git.
const GIT: InstallLimits = InstallLimits { time: GIT_TIME, output: OUTPUT };

/// Finds a revision in the repository of `root`.
fn find(root: &Path, name: &str, stop: &AtomicBool) -> Result<Revision, CompareError> {
    Revision::find(root, name, GIT, stop).map_err(|error| match error {
        ProcessError::NoRepository { folder, reason } => {
            CompareError::Repository { root: folder, said: reason }
        }
        ProcessError::NoRevision { name, .. } => CompareError::Revision(name),
        error => of_git(error),
    })
}

/// Returns the program of a revision, and builds it first if it is not in `builds` yet.
fn build(
    revision: &Revision,
    builds: &Path,
    stop: &AtomicBool,
    report: &mut dyn FnMut(TrialEvent<'_>) -> io::Result<()>,
) -> Result<PathBuf, CompareError> {
    let kept = builds.join(&revision.sha);
    let program = kept.join("bin").join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        if !revision.has_file(file, stop).map_err(of_git)? {
            return Err(CompareError::Source { revision: revision.name.clone(), file });
        }
    }
    let short = revision.short();
    report(TrialEvent::Step(&format!(
        "building clitape {short} with cargo; it is kept for the next time"
    )))?;
    let built = once(&kept, |whole, lock| {
        let source = whole.with_file_name("source");
        fs::create_dir(&source)?;
        revision.check_out(&source, lock, GIT, stop)?;
        let mut cargo = command("cargo");
        cargo
            .args(["install", "--path", ".", "--bin", PROGRAM, "--locked", "--no-track", "--root"])
            .arg(whole)
            .current_dir(&source)
            .env("CARGO_TARGET_DIR", builds.join("target"))
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never");
        let limits = RunLimits {
            output: OutputLimits::within(OUTPUT),
            kept: None,
            time: BUILD_TIME,
            guard: Guard { lock: Some(lock), ..Guard::default() },
        };
        run_build(cargo, limits, stop, &mut |line| {
            // The build goes on without the line, and the next report fails too.
            let _ = report(TrialEvent::StepGoesOn(line));
        })
    });
    built.map_err(|error| match error {
        ProcessError::Build { lines } => CompareError::Build {
            revision: revision.name.clone(),
            sha: revision.sha.clone(),
            said: lines.iter().map(|line| format!("\n  {line}")).collect(),
        },
        error => error.into(),
    })?;
    Ok(program)
}

/// Converts the error of a git that could not be run.
fn of_git(error: ProcessError) -> CompareError {
    match error {
        ProcessError::Io(error) => CompareError::Git(error),
        error => error.into(),
    }
}

/// The exit code of a program that does not know the arguments it was called with.
const USAGE: i32 = 2;
/// The number of last lines, and of characters in them, that are shown of a program's stderr.
const LAST_WORDS: (usize, usize) = (4, 400);

/// The reason why a call gave no trace.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// The program does not know the arguments.
    #[error("{0}")]
    Unknown(String),
    /// The program failed.
    #[error("{0}")]
    Failed(String),
    /// The account has no room for the trace.
    #[error(
        "its trace would take more than {} of memory, with that of the other side; raise the limit with `--max-kept`",
        .0.limit
    )]
    Full(#[from] Full),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Calls `program` in `folder` and returns its trace, which is counted in `kept`. The call ends when the program
/// exceeds a limit.
fn call(
    program: &Path,
    folder: &Path,
    args: &[OsString],
    limits: CallLimits,
    kept: &Arc<KeptBytes>,
    stop: &AtomicBool,
) -> Result<CountedTrace, CallError> {
    let mut command = command(program);
    command.args(args).current_dir(folder);
    let (output, time, guard) = (limits.output, limits.time, Guard::default());
    let limits_of_run = RunLimits { output, kept: Some(kept), time, guard };
    let ended = run_to_end(command, limits_of_run, stop).map_err(|error| match error {
        ProcessError::Stopped => CallError::Stopped,
        error => CallError::Failed(format!("it can't be started: {error}")),
    })?;
    let said = last_words(&ended.output.stderr);
    match (&ended.why, ended.exit) {
        (Why::Limit, _) => {
            let s = limits.time.as_secs_f64();
            let raise = "raise the limit with `--timeout`";
            return Err(CallError::Failed(format!("it had not ended after {s} s ({raise}){said}")));
        }
        (Why::Overflow(Overflow::Kept(limit)), _) => return Err(Full { limit: *limit }.into()),
        (Why::Overflow(what), _) => {
            let raise = format!("and was ended; raise the limit with `{}`", what.option());
            return Err(CallError::Failed(format!("it printed {what} {raise}")));
        }
        (Why::Itself, Exit::Code(0)) => {}
        (Why::Itself, Exit::Code(USAGE)) => {
            return Err(CallError::Unknown(format!("it ended with code {USAGE}{said}")));
        }
        (Why::Itself, Exit::Code(code)) => {
            return Err(CallError::Failed(format!("it ended with code {code}{said}")));
        }
        (Why::Itself, Exit::Signal(signal)) => {
            return Err(CallError::Failed(format!("signal {signal} ended it{said}")));
        }
    }
    read(&ended.output.stdout, Held::of(kept))
}

/// A trace that a program printed, and the part of the account in which it is counted.
#[derive(Debug)]
struct CountedTrace {
    pub(super) entries: Vec<Entry>,
    pub(super) held: Held,
}

/// Reads the entries of a trace, one JSON object per line, and counts each before it is parsed.
fn read(stdout: &[u8], mut held: Held) -> Result<CountedTrace, CallError> {
    let text = std::str::from_utf8(stdout)
        .map_err(|error| CallError::Failed(format!("it printed no text: {error}")))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut entries = Vec::new();
    for (number, line) in lines {
        let most = size_of::<Entry>() + parsed_bytes(line.as_bytes());
        held.try_keep(most)?;
        let entry: Entry = serde_json::from_str(line).map_err(|error| {
            let start = truncate(line, 80, Keep::Start);
            let what = format!("line {number} it printed is no entry of a trace");
            CallError::Failed(format!("{what}: {error}: {start}"))
        })?;
        held.keep(entry_bytes(&entry));
        held.release(most);
        entries.push(entry);
    }
    Ok(CountedTrace { entries, held })
}

/// Returns the last lines that a program printed to stderr, as the end of a sentence.
fn last_words(stderr: &[u8]) -> String {
    let (lines, length) = LAST_WORDS;
    let text = String::from_utf8_lossy(stderr);
    let said: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = said[said.len().saturating_sub(lines)..].join(" / ");
    match said.as_str() {
        "" => " and said nothing".to_owned(),
        said => format!(": {}", truncate(said, length, Keep::End)),
    }
}

#[cfg(test)]
mod tests;
