//! Whatever turns a cassette into a trace: this clitape in process, or a program that is called.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fs_err as fs;

use super::build::{BuildProgress, build, find};
use super::call::{CallError, call};
use super::error::CompareError;
use super::model::About;
use super::side::SideName;
use crate::cassette::{Cassette, sha256_of_file};
use crate::check::{canonical_replay, command};
use crate::limits::OutputLimits;
use crate::replay::{Entry, Lane, Setup};
use crate::scenario::{Scenario, Workspace};
use crate::text::shell_quote;

/// The lanes that are compared: how bytes arrive is the plan's, not the subject's.
pub(super) const LANES: [Lane; 6] =
    [Lane::Lifecycle, Lane::Bus, Lane::Telegram, Lane::Acp, Lane::Sse, Lane::Session];

/// Where things are.
#[derive(Debug, Clone, Copy)]
pub struct CompareFolders<'a> {
    /// The project.
    pub workspace: &'a Workspace,
    /// Where built revisions are kept.
    pub builds: &'a Path,
    /// The program that is running.
    pub this: &'a Path,
    /// How long a program may take for one replay.
    pub time: Duration,
    /// How much a program may print for one replay.
    pub output: OutputLimits,
    /// Ends what is being built when it is set.
    pub stop: &'a AtomicBool,
}

/// A side that can be asked for traces.
#[derive(Debug)]
pub struct Subject {
    /// What it is.
    pub about: About,
    /// Calls this program; in process without one.
    program: Option<PathBuf>,
    /// The folder it is called in.
    root: PathBuf,
    /// Whether it is a program whose trace is taken at its word.
    foreign: bool,
    /// The lanes it knows, once it was seen not to know them all.
    lanes: OnceLock<BTreeSet<Lane>>,
    /// How long it may take for one replay, and how much it may print.
    limits: (Duration, OutputLimits),
}

/// A trace, and the lanes that were asked for.
pub(super) struct Trace {
    pub(super) entries: Vec<Entry>,
    pub(super) lanes: BTreeSet<Lane>,
}

/// One replay that is asked for.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) cassette: &'a Cassette,
    pub(super) setup: Setup,
}

/// Makes both sides ready: a revision is found and, unless it is kept from before, built.
///
/// # Errors
///
/// [`CompareError`] when they are one, a revision is not there or does not build, a program can't be
/// called, or the caller asks to stop.
pub fn resolve(
    sides: [&SideName; 2],
    around: CompareFolders<'_>,
    mut tell: impl FnMut(BuildProgress<'_>),
) -> Result<[Subject; 2], CompareError> {
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
    // What is wrong with a name is told before anything is built.
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
    for ((side, path), revision) in sides.into_iter().zip(paths).zip(revisions) {
        let mut facts = Vec::new();
        let mut program = path;
        let mut note = String::new();
        if let Some(revision) = revision {
            note = format!(" # clitape as of {}", revision.short());
            program = Some(build(root, &revision, around.builds, around.stop, &mut tell)?);
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
            SideName::Git(_) | SideName::Program(_) => {}
        }
        let hashed = sha256_of_file(program.as_deref().unwrap_or(around.this))?;
        facts.push(("program's sha256", hashed));
        let command = match side {
            SideName::Program(path) => shell_quote(&file_name(path)),
            SideName::This | SideName::Git(_) | SideName::Version(_) => "clitape".to_owned(),
        };
        let about = About { name: name(side), facts, command, note };
        let root = root.to_owned();
        let foreign = matches!(side, SideName::Program(_));
        let (lanes, limits) = (OnceLock::new(), (around.time, around.output));
        ready.push(Subject { about, program, root, foreign, lanes, limits });
    }
    match <[Subject; 2]>::try_from(ready) {
        Ok(both) => Ok(both),
        Err(_) => unreachable!("two sides give two subjects"),
    }
}

impl Subject {
    /// Whether it is a program whose trace is taken at its word.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The lanes it does not know; one that knows none fails in another way.
    pub(super) fn unknown(&self) -> BTreeSet<Lane> {
        let Some(known) = self.lanes.get().filter(|known| !known.is_empty()) else {
            return BTreeSet::new();
        };
        LANES.into_iter().filter(|lane| !known.contains(lane)).collect()
    }

    /// The trace of a cassette, replayed as goldens are made.
    pub(super) fn trace(&self, ask: Ask<'_>, stop: &AtomicBool) -> Result<Trace, CallError> {
        let Ask { scenario, cassette, setup } = ask;
        let Some(program) = &self.program else {
            let mut replay =
                canonical_replay(scenario, &cassette.stdout, setup, &scenario.chat.faults);
            replay.add_session(cassette);
            return Ok(Trace { entries: replay.entries, lanes: LANES.into() });
        };
        let ask = |lanes: &BTreeSet<Lane>| {
            let line = line(scenario, cassette.version(), setup, lanes);
            let args: Vec<String> = line.split(' ').skip(1).map(str::to_owned).collect();
            call(program, &self.root, &args, self.limits, stop)
        };
        let known = self.lanes.get().cloned().unwrap_or_else(|| LANES.into());
        let (entries, lanes) = match ask(&known) {
            Err(CallError::Unknown(why)) if known.len() == LANES.len() => {
                let known = self.lanes.get_or_init(|| self.probe(scenario, cassette, stop));
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
        Ok(Trace { entries, lanes })
    }

    /// Asks for one lane after the other, to find those it knows.
    fn probe(&self, scenario: &Scenario, cassette: &Cassette, stop: &AtomicBool) -> BTreeSet<Lane> {
        let Some(program) = &self.program else { return LANES.into() };
        let known = |lane: &Lane| {
            let (name, version) = (&scenario.name, cassette.version());
            let line = format!("replay cassettes/{name}/{version} --lane {lane} --json");
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            !matches!(
                call(program, &self.root, &args, self.limits, stop),
                Err(CallError::Unknown(_) | CallError::Stopped)
            )
        };
        LANES.into_iter().filter(known).collect()
    }
}

/// The command line of a replay, as `clitape replay` takes it.
pub(super) fn line(
    scenario: &Scenario,
    version: &str,
    setup: Setup,
    lanes: &BTreeSet<Lane>,
) -> String {
    let lanes = lanes.iter().map(|lane| lane.as_str()).collect::<Vec<_>>().join(",");
    let pace = scenario.run.pace_ms;
    format!("{} --pace {pace} --lane {lanes} --json", command(scenario, version, setup))
}

/// The full path of a program that can be called.
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

/// How a side is called on pages: of a path no more than the file's name.
fn name(side: &SideName) -> String {
    match side {
        SideName::This => "this".to_owned(),
        SideName::Git(revision) => format!("git:{revision}"),
        SideName::Program(path) => file_name(path),
        SideName::Version(version) => version.to_string(),
    }
}
