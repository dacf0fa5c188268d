//! `clitape proof`: writes the page for a reviewer, and the texts and pictures beside it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_recording::files;
use clitape_recording::scenario::Workspace;
use clitape_recording::secrets::{Hit, scan};
use clitape_recording::text::plural;
use clitape_rig::subject::{Conditions, GatewaySubject, Printing, Subjects, seen_runs};
use clitape_runner::report::proof::{
    Chromium, Photo, PhotoError, ProofRunReport, cast, check, check_against, photo, picture,
    seen_head, subject_text, text,
};
use clitape_runner::report::{Detail, Report, SeenRun, findings, page, seen_page};
use clitape_runner::suite::{
    GatheredCases, OwnGateway, ProofCase, ScenarioRun, SuiteOptions, run as run_suite,
};

use crate::conditions::{ChatFaultArgs, FOR_GATEWAYS, check_chat};
use crate::confirm::{Confirmation, Consent};
use crate::exit::ExitStatus;
use crate::input::{Names, SelectionArgs, WorkLimits, named};
use crate::outputs::{complain, exit, make_folder, write_file, write_files};
use crate::progress::ProgressLine;
use crate::record::host_paths;
use crate::rig_limits::RigLimitArgs;
use crate::signals::stop_on_signals;
use crate::subject::{Machine, gateway, print_left_out};
use crate::terminal;
use crate::tested::tested;

/// The report of the run, which `--check` reads beside the text.
const REPORT: &str = "proof.json";

/// Writes a proof of what scenarios show, each of its newest version or of those that are named, or says whether a proof
/// is complete
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["names", "track", "changed", "check"]))]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Folder for index.html, proof.md, proof.json, preview.cast, preview.svg and, where Chromium is
    /// installed, page.png; CLITAPE_CHROMIUM names one that is not on PATH
    #[arg(long, value_name = "DIR", required_unless_present = "check", conflicts_with = "check")]
    out: Option<PathBuf>,
    /// Prove what this gateway of clitape.toml shows, NAME or NAME@VERSION, in a run in real time, instead of clitape's
    /// own bridge; then DIR has index.html, proof.md, proof.json and page.png
    #[arg(long, value_name = "SUBJECT", conflicts_with = "check")]
    subject: Option<String>,
    #[command(flatten)]
    consent: Consent,
    /// Let claude print a line each so many milliseconds, instead of as it was recorded
    #[arg(long, value_name = "MS", requires = "subject", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pace: Option<u64>,
    #[command(flatten)]
    chat: ChatFaultArgs,
    /// Leave out the picture of the page that Chromium makes
    #[arg(long, conflicts_with = "check")]
    no_png: bool,
    /// Say whether the pull request text in this file proves what it says, and what is missing; a proof.json
    /// beside it says what the run gave
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "track", "changed", "exclude", "shard"])]
    check: Option<PathBuf>,
    #[command(flatten)]
    work: WorkLimits,
    #[command(flatten)]
    rig_limits: RigLimitArgs,
}

pub(crate) fn run(
    workspace: impl FnOnce() -> anyhow::Result<Workspace>,
    args: &Args,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let printing = args.pace.map_or(Printing::Recorded, Printing::Paced);
    let conditions = Conditions { printing, faults: args.chat.faults(), ..Conditions::default() };
    match (&args.check, &args.out, &args.subject) {
        (Some(file), ..) => check_file(file),
        (None, Some(out), Some(subject)) => {
            write_subject(&workspace()?, args, subject, &conditions, out, quiet)
        }
        (None, Some(out), None) if conditions.are_recorded() => {
            write(&workspace()?, args, out, quiet)
        }
        (None, Some(_), None) => bail!("{FOR_GATEWAYS}"),
        (None, None, _) => bail!("say where to write it, with --out DIR"),
    }
}

/// Writes the proof of a gateway from its run.
fn write_subject(
    workspace: &Workspace,
    args: &Args,
    subject: &str,
    conditions: &Conditions,
    dir: &Path,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let selection = args.selection.select(workspace, Names::default())?;
    let subjects = Subjects::load(workspace.root())?;
    let gateway = gateway(&subjects, subject)?;
    check_chat(conditions, gateway)?;
    let machine = Machine::new(args.rig_limits.limits())?;
    let how = Confirmation { yes: args.consent.yes, quiet };
    machine.ask(workspace, &subjects, subject, how)?;
    let mut progress = ProgressLine::new(quiet);
    let mut rigged = GatewaySubject::new(gateway, conditions, machine.rig(workspace));
    let suite = run_suite(&mut rigged, SuiteOptions::new(&selection), &mut progress.reporter())?;
    let played = rigged.played;
    progress.clear();
    let mut out = terminal::stdout();
    print_left_out(&mut out, &suite)?;
    let seen = seen_runs(gateway, conditions, &suite.scenarios, &played).into_iter();
    let seen: Vec<SeenRun> = seen.map(|(_, seen)| seen).collect();
    let judged = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, Vec::new());
    complain(&judged);
    if seen.is_empty() || !judged.troubles().is_empty() {
        findings(&judged, Detail::default(), &mut out.screen())?;
        terminal::note("nothing was written, because a recording was not played to its end");
        return Ok(if seen.is_empty() { ExitStatus::Nothing } else { exit(&judged) });
    }
    let tested = tested(gateway.shown(), gateway.version_shown(), workspace.root())?;
    let about = seen_head(&tested).replace('`', "");
    let report = ProofRunReport::of_subject(&tested, &seen);
    let published = [
        ("index.html", seen_page(&format!("Proof: {}", tested.subject), &about, &seen)),
        ("proof.md", subject_text(&tested, &seen, &suite.notes)),
        (REPORT, report.to_json().context("can't write the report as JSON")?),
    ];
    let allowed = played.iter().flat_map(|(job, _)| &job.cassette.manifest.allowed_secrets);
    refuse_secrets(&secrets_in(&published, &allowed.collect::<Vec<_>>()))?;
    publish(dir, args, published, quiet)?;
    findings(&judged, Detail::default(), &mut out.screen())?;
    Ok(if judged.holds() { ExitStatus::Ok } else { ExitStatus::Findings })
}

fn write(
    workspace: &Workspace,
    args: &Args,
    dir: &Path,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let mut selection = args.selection.select(workspace, Names::default())?;
    if let Some(why) = &selection.nothing {
        terminal::note(format_args!("nothing to prove: {why}"));
        return Ok(ExitStatus::Nothing);
    }
    for one in &mut selection.scenarios {
        let name = &one.name;
        let scenario = workspace.scenario_of(name)?;
        scenario.check_work(args.work.limits())?;
        if one.versions.is_none() {
            one.versions = Some(workspace.usual_version(&scenario)?.into_iter().collect());
        }
        if one.versions.as_ref().is_some_and(Vec::is_empty) {
            bail!("nothing of {name} is recorded; add it with `clitape record {name}`");
        }
    }
    let options = SuiteOptions {
        cases: GatheredCases::All,
        limits: args.work.limits(),
        ..SuiteOptions::new(&selection)
    };
    let mut progress = ProgressLine::new(quiet);
    let suite = run_suite(&mut OwnGateway::new(workspace), options, &mut progress.reporter())?;
    progress.clear();
    let cases = suite.cases;
    let asked = selection.scenarios.iter().flat_map(|one| &one.versions).flatten().count();
    let judged = Report::new(env!("CARGO_PKG_VERSION"), suite.scenarios, Vec::new());
    complain(&judged);
    if !judged.troubles().is_empty() || cases.len() < asked {
        findings(&judged, Detail::default(), &mut terminal::stdout().screen())?;
        terminal::note("nothing was written, because a check has no result");
        return Ok(exit(&judged));
    }
    let published = [
        ("index.html", page(&cases)),
        ("proof.md", text(&cases)),
        ("preview.cast", cast(&cases)),
        ("preview.svg", picture(&cases)),
        (REPORT, ProofRunReport::of(&cases).to_json().context("can't write the report as JSON")?),
    ];
    let allowed = cases.iter().flat_map(|case| &case.manifest.allowed_secrets);
    let mut secrets = secrets_in(&published, &allowed.collect::<Vec<_>>());
    secrets.extend(cases.iter().flat_map(|case| case.secrets.clone()));
    refuse_secrets(&secrets)?;
    publish(dir, args, published, quiet)?;
    let mut out = terminal::stdout();
    let scenario =
        |ProofCase { name, checks, .. }: ProofCase| ScenarioRun { name, pending: 0, checks };
    let scenarios = cases.into_iter().map(scenario).collect();
    let report = Report::new(env!("CARGO_PKG_VERSION"), scenarios, Vec::new());
    findings(&report, Detail::default(), &mut out.screen())?;
    Ok(if report.holds() { ExitStatus::Ok } else { ExitStatus::Findings })
}

/// Returns the secrets in the published files, without those of rules that the recordings allow.
fn secrets_in(published: &[(&str, String)], allowed: &[&String]) -> Vec<Hit> {
    let hits = published.iter().flat_map(|(file, text)| scan(file, text.as_bytes()));
    hits.filter(|hit| !allowed.iter().any(|rule| **rule == hit.rule)).collect()
}

fn refuse_secrets(secrets: &[Hit]) -> anyhow::Result<()> {
    let Some(first) = secrets.first() else { return Ok(()) };
    bail!(
        "{} would be published, the first is {first}; nothing was written; make the recording \
         again with `clitape record --redact` or `clitape import --redact`, or allow the rule there with \
         `clitape record --allow-secrets {}`",
        plural(secrets.len(), "secret"),
        first.rule
    )
}

/// Writes the files of a proof and the picture of its page, and names them.
fn publish<const N: usize>(
    dir: &Path,
    args: &Args,
    published: [(&str, String); N],
    quiet: bool,
) -> anyhow::Result<()> {
    make_folder(dir)?;
    let published = published.map(|(file, text)| (dir.join(file), text));
    let paths = published.each_ref().map(|(path, _)| path.clone());
    write_files(published)?;
    let mut out = terminal::stdout();
    for path in paths {
        out.line(format_args!("wrote {}", path.display()))?;
    }
    if !args.no_png {
        let mut progress = ProgressLine::new(quiet);
        progress.step("taking a picture of the page with Chromium");
        let taken = write_png(dir)?;
        progress.clear();
        out.line(taken)?;
    }
    Ok(())
}

/// Makes the picture of the page. A failure is returned as a sentence, because the proof is complete without it.
fn write_png(dir: &Path) -> anyhow::Result<String> {
    let path = dir.join("page.png");
    match take_photo(&dir.join("index.html")) {
        Ok(Photo { png, height, page_height }) => {
            write_file(&path, png)?;
            let part = match page_height {
                all if all > height => format!(", the first {height} of {all} pixels"),
                _ => String::new(),
            };
            Ok(format!("wrote {}{part}", path.display()))
        }
        Err(error) => {
            if error.downcast_ref().is_some_and(|error| matches!(error, PhotoError::Stopped)) {
                return Err(error);
            }
            // The picture of an earlier run would show another page.
            let _ = files::remove(&path);
            Ok(format!("no page.png: {error}"))
        }
    }
}

fn take_photo(page: &Path) -> anyhow::Result<Photo> {
    let named = std::env::var_os("CLITAPE_CHROMIUM").filter(|name| !name.is_empty());
    let host = host_paths();
    let chromium = Chromium::find(named.map(PathBuf::from), &host.path)?;
    let stop = stop_on_signals()?;
    Ok(photo(&chromium, page, &host.temporary, &stop)?)
}

fn check_file(file: &Path) -> anyhow::Result<ExitStatus> {
    let text = files::read_named_text(named(file))?;
    let beside = file.with_file_name(REPORT);
    let mut out = terminal::stdout();
    let checked = if files::is_there(&beside) {
        let report = ProofRunReport::parse(&files::read_text(&beside)?)
            .with_context(|| format!("{} is no report of a proof", beside.display()))?;
        let checked = check_against(&text, &report);
        out.lines(&checked)?;
        checked
    } else {
        let checked = check(&text);
        out.lines(&checked)?;
        out.line(format_args!(
            "there is no {REPORT} beside it, so that only the text was checked, and no run"
        ))?;
        checked
    };
    Ok(if checked.passed() { ExitStatus::Ok } else { ExitStatus::Findings })
}
