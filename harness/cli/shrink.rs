//! `clitape shrink`: reduces a recording and a plan that fail to the smallest that still fail, and writes them as a
//! scenario. With a subject, the recording is reduced for which the subject has a finding.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use clitape_judge::Finding;
use clitape_recording::cassette::reduced;
use clitape_recording::files;
use clitape_recording::names::ScenarioName;
use clitape_recording::scenario::template::{self, SmallestFailure};
use clitape_recording::scenario::{Seeds, Workspace};
use clitape_recording::text::{plural, shell_quote};
use clitape_rig::limits::RigLimits;
use clitape_rig::subject::{SubjectSpec, Subjects};
use clitape_runner::check::{FewerRecords, Recording, fewer_records, shrink};
use clitape_runner::replay::PlanArg;
use clitape_runner::suite::select::{NamePattern, Selected, Selector};
use clitape_runner::suite::{CheckRun, SuiteOptions};

use crate::conditions::{ConditionArgs, FOR_GATEWAYS};
use crate::confirm::{Confirmation, remember};
use crate::exit::ExitStatus;
use crate::progress::ProgressLine;
use crate::subject::{ChosenSubject, Machine, split};
use crate::terminal;

/// The most recordings that a subject plays in real time.
const SUBJECT_TRIES: u32 = 100;

/// Makes a recording and a plan that fail as small as they get, and writes them as a scenario
///
/// Records are left out of the recording, and cuts, delays and faults of the plan, as long as the same kind of finding
/// shows. With --subject, a subject of clitape.toml plays the recording again and again, at most a hundred times, and records are
/// left out as long as its first finding shows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The scenario that fails; SCENARIO/VERSION names the recording [default: the newest one]
    #[arg(value_name = "SCENARIO")]
    scenario: NamePattern,
    /// Name of the scenario that is written
    #[arg(value_name = "NEW")]
    new: ScenarioName,
    /// The plan that fails: a file, - for standard input, or the JSON text that a finding prints [default: the first one that fails]
    #[arg(long, value_name = "FILE|JSON", conflicts_with = "subject")]
    plan: Option<PlanArg>,
    /// The subject of clitape.toml that fails, NAME or NAME@VERSION
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Start a subject that you have not agreed to here before without asking; for CI
    #[arg(long, requires = "subject")]
    yes: bool,
    /// With --subject: cut and delay what claude prints by this seed, as in the finding
    #[arg(long, value_name = "N", requires = "subject")]
    seed: Option<u64>,
    #[command(flatten)]
    conditions: ConditionArgs,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    match &args.subject {
        Some(subject) => of_subject(workspace, args, subject, quiet),
        None if !args.conditions.conditions(None).are_recorded() => {
            bail!("{FOR_GATEWAYS}")
        }
        None => own(workspace, &args.scenario, &args.new, args.plan.clone()),
    }
}

/// Reduces a recording and a plan of clitape's own bridge.
pub(crate) fn own(
    workspace: &Workspace,
    pattern: &NamePattern,
    new: &ScenarioName,
    plan: Option<PlanArg>,
) -> anyhow::Result<ExitStatus> {
    let case = FailingCase::new(workspace, pattern, new)?;
    let recording = &case.recording;
    let given = plan.map(|plan| recording.given_plan(plan)).transpose()?;
    let Some(shrunk) = shrink(recording, given.as_ref())? else {
        let which = if given.is_some() { "the plan does not fail" } else { "no plan fails" };
        let (name, version) = (&case.name, recording.version());
        terminal::stdout()
            .line(format_args!("{name} {version}: {which}, so that there is nothing to shrink"))?;
        return Ok(ExitStatus::Nothing);
    };
    let plan = shrunk.plan.to_line();
    let view = shrunk.outcome_of.map(|view| view.to_string());
    let part = FewerRecords { stdout: shrunk.stdout, stdin: shrunk.stdin, lines: shrunk.lines };
    case.write(&part, &shrunk.finding, Some(&plan), view.as_deref())?;
    remember(workspace, new);
    let test = format!("clitape test {}", shell_quote(new));
    case.print(&part, &shrunk.finding, Some(&plan), &test)
}

/// Reduces a recording for which a subject has a finding.
fn of_subject(
    workspace: &Workspace,
    args: &Args,
    subject: &str,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let case = FailingCase::new(workspace, &args.scenario, &args.new)?;
    let subjects = Subjects::load(workspace.root())?;
    let machine = Machine::new(RigLimits::default())?;
    machine.ask(workspace, &subjects, subject, Confirmation { yes: args.yes, quiet })?;
    let is_gateway = matches!(subjects.get(split(subject).0)?.1, SubjectSpec::Gateway(_));
    let conditions = args.conditions.conditions(args.seed.filter(|_| is_gateway));
    let mut chosen = ChosenSubject::new(&subjects, subject, &conditions, machine.rig(workspace))?;
    chosen.plays_all = true;
    let seed = args.seed.filter(|_| !is_gateway);
    let first = |pattern: &NamePattern| first_finding(workspace, &chosen, pattern, seed);
    let (name, version) = (&case.name, case.recording.version());
    let Some(finding) = first(&format!("{name}/{version}").parse()?)? else {
        let what = "has no finding, so that there is nothing to shrink";
        terminal::stdout().line(format_args!("{name} {version}: {subject} {what}"))?;
        return Ok(ExitStatus::Nothing);
    };
    let of_new: NamePattern = format!("{}/{version}", args.new).parse()?;
    let mut progress = ProgressLine::new(quiet);
    let (mut tries, mut failed) = (0, None);
    let is_stopped = || machine.is_stopped();
    let smallest = fewer_records(&case.recording, SUBJECT_TRIES, |part| {
        if failed.is_some() || is_stopped() {
            return false;
        }
        tries += 1;
        let [before, after] = part.lines;
        progress.now(&format!(
            "try {tries} of at most {SUBJECT_TRIES}: {after} of {}",
            plural(before, "line")
        ));
        let found = case.write(part, &finding, None, None).and_then(|()| first(&of_new));
        match found {
            Ok(found) => found.is_some_and(|found| found.id == finding.id),
            Err(_) if is_stopped() => false,
            Err(error) => {
                failed = Some(error);
                false
            }
        }
    });
    progress.clear();
    case.remove()?;
    if let Some(error) = failed {
        return Err(error);
    }
    let part = smallest.context("the recording has no record")?;
    case.write(&part, &finding, None, None)?;
    remember(workspace, &args.new);
    if is_stopped() {
        terminal::note("note: stopped early; the scenario is the smallest part so far");
    } else if tries == SUBJECT_TRIES {
        let more = format!("shrink {} as well to go on", args.new);
        terminal::note(format_args!("note: that took {tries} tries, which are the most; {more}"));
    }
    let seed = seed.map(|seed| format!(" --seed {seed} --plans 1")).unwrap_or_default();
    let command = if is_gateway { "rig" } else { "test --subject" };
    let words = [subject, args.new.as_str()].map(shell_quote).join(" ");
    let again = format!("clitape {command} {words}{seed}{}", conditions.arguments());
    case.print(&part, &finding, None, &again)
}

/// Returns the first finding of a subject that plays a recording; an error if it can't play it.
fn first_finding(
    workspace: &Workspace,
    chosen: &ChosenSubject<'_>,
    pattern: &NamePattern,
    seed: Option<u64>,
) -> anyhow::Result<Option<Finding>> {
    let selector = Selector { names: vec![pattern.clone()], ..Selector::default() };
    let selection = selector.choose(workspace)?;
    let seeds = seed.map(|first| Seeds { first, count: 1 });
    let suite = SuiteOptions { seeds, ..SuiteOptions::new(&selection) };
    let (run, _) = chosen.play(suite, &mut |_| Ok(()))?;
    if let Some(left_out) = run.left_out.first() {
        bail!("{} does not fit the subject: {}", left_out.name, left_out.why);
    }
    let checks: Vec<&CheckRun> = run.scenarios.iter().flat_map(|run| &run.checks).collect();
    if let Some(trouble) = checks.iter().find_map(|check| check.error.as_ref()) {
        bail!("{}", trouble.sentence);
    }
    Ok(checks.iter().flat_map(|check| &check.findings).next().cloned())
}

/// A recording that fails, and the scenario that a part of it becomes.
struct FailingCase<'a> {
    workspace: &'a Workspace,
    name: ScenarioName,
    new: &'a ScenarioName,
    recording: Recording,
}

impl<'a> FailingCase<'a> {
    /// Finds the one recording that a pattern means; an error if the new scenario is there already.
    fn new(
        workspace: &'a Workspace,
        pattern: &NamePattern,
        new: &'a ScenarioName,
    ) -> anyhow::Result<Self> {
        let Selected { name, versions, .. } = one(workspace, pattern)?;
        let scenario = Arc::new(workspace.scenario_of(&name)?);
        let usual = workspace.usual_version(&scenario)?;
        let version = versions.iter().flatten().next().or(usual.as_ref());
        let version =
            version.context("the scenario has no cassette; add one with `clitape record`")?;
        for there in [workspace.scenario(new), workspace.cassette(new, version)] {
            if files::is_there(&there) {
                let shown = workspace.shown(&there);
                bail!("{shown} is there already, and nothing is overwritten; choose another name");
            }
        }
        let recording = Recording::load(workspace, &scenario, version)?;
        Ok(Self { workspace, name, new, recording })
    }

    /// Writes a part of the recording as the new scenario, in place of a part that was written before.
    fn write(
        &self,
        part: &FewerRecords,
        finding: &Finding,
        plan: Option<&str>,
        variant_of: Option<&str>,
    ) -> anyhow::Result<()> {
        let Self { workspace, name: of, new, recording } = self;
        self.remove()?;
        let about = about(finding);
        let failure =
            SmallestFailure { of, version: recording.version(), about: &about, plan, variant_of };
        let scenario = template::smallest(workspace, new, failure)?;
        let stdin: Vec<(&[u8], u64)> =
            part.stdin.iter().map(|line| (line.line.as_slice(), line.offset)).collect();
        reduced(recording.manifest(), new, part.stdout.clone(), &stdin)
            .write_with(workspace, scenario)?;
        Ok(())
    }

    /// Removes the part that was written before, if there is one.
    fn remove(&self) -> anyhow::Result<()> {
        let Self { workspace, new, recording, .. } = self;
        files::remove_folder(&workspace.scenario(new), files::UNFINISHED)?;
        files::remove_folder(&workspace.cassette(new, recording.version()), files::UNFINISHED)?;
        Ok(())
    }

    /// Says what was written, and what runs it again.
    fn print(
        &self,
        part: &FewerRecords,
        finding: &Finding,
        plan: Option<&str>,
        again: &str,
    ) -> anyhow::Result<ExitStatus> {
        let shown = self.workspace.shown(&self.workspace.scenario(self.new));
        let [before, after] = part.lines;
        let before = plural(before, "line");
        let mut out = terminal::stdout();
        out.line(format_args!("wrote {shown}: {after} of {before}"))?;
        out.line(about(finding))?;
        if let Some(plan) = plan {
            out.line(format_args!("plan: {plan}"))?;
        }
        out.lines(format_args!("then:\n  {again}"))?;
        Ok(ExitStatus::Ok)
    }
}

/// Describes a finding for its scenario.
fn about(finding: &Finding) -> String {
    format!("{}: {}", finding.id, finding.sentence)
}

/// Returns the one scenario that the pattern means, with one version or without.
fn one(workspace: &Workspace, pattern: &NamePattern) -> anyhow::Result<Selected> {
    let selector = Selector { names: vec![pattern.clone()], ..Selector::default() };
    let mut scenarios = selector.choose(workspace)?.scenarios;
    let has_one = |one: &Selected| one.versions.as_ref().is_none_or(|all| all.len() == 1);
    match scenarios.pop().filter(|one| scenarios.is_empty() && has_one(one)) {
        Some(one) => Ok(one),
        None => {
            bail!("`{pattern}` means several recordings; name one, such as three-tools/2.1.329")
        }
    }
}
