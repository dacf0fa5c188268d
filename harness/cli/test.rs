//! `clitape test`: runs every scenario and says what does not hold.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clitape_deck::report::{Tally, scenario_line, summary, write_finding};
use clitape_deck::scenario::{House, Scenario};
use clitape_deck::tape::TapeError;
use clitape_deck::verdict::{Check, Finding, Golden, checks, judge, orphaned_cassettes};

use crate::exit::Exit;

/// Runs every scenario: goldens of every lane, and seeded plans
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only scenarios whose name contains this
    filter: Option<String>,
    /// Write what differs as .snap.new beside the golden, for `clitape review`
    #[arg(long)]
    update: bool,
}

type Judged = Result<(Tally, Vec<Finding>), TapeError>;

pub(crate) fn run(house: &House, args: &Args) -> anyhow::Result<Exit> {
    let filter = args.filter.as_deref().unwrap_or_default();
    let names: Vec<String> =
        house.names()?.into_iter().filter(|name| name.contains(filter)).collect();
    let mut scenarios = Vec::new();
    for name in &names {
        scenarios.push(house.load(name)?);
    }
    let mut out = anstream::stdout().lock();
    if scenarios.is_empty() {
        let what = if filter.is_empty() {
            "there is no scenario; write one with `clitape new NAME`".to_owned()
        } else {
            let all = house.names()?.join(", ");
            format!("no scenario's name contains `{filter}`; there are {all}")
        };
        writeln!(out, "nothing ran: {what}")?;
        return Ok(Exit::Nothing);
    }

    let mut total = Tally::default();
    let mut findings = Vec::new();
    let mut damaged = Vec::new();
    let mut failure = None;
    judge_all(house, &scenarios, args.update, |scenario, judged| match judged {
        Ok((tally, found)) => {
            total.add(tally);
            findings.extend(found);
            if let Err(error) = scenario_line(&mut out, &scenario.name, tally) {
                failure.get_or_insert(error);
            }
        }
        Err(error) => damaged.push(error),
    });
    if let Some(error) = failure {
        return Err(error.into());
    }
    if filter.is_empty() {
        let orphans = orphaned_cassettes(house)?;
        total.findings += orphans.len() as u64;
        findings.extend(orphans);
    }
    for finding in &findings {
        write_finding(&mut out, finding)?;
    }
    summary(&mut out, total)?;
    drop(out);
    let mut damaged = damaged.into_iter();
    if let Some(first) = damaged.next() {
        for more in damaged {
            anstream::eprintln!("error: {more}");
        }
        return Err(first.into());
    }
    Ok(match total {
        Tally { findings: 1.., .. } => Exit::Findings,
        Tally { cassettes: 0, .. } => Exit::Nothing,
        _ => Exit::Ok,
    })
}

/// Judges the scenarios on all cores, and tells each in order as soon as it is done.
fn judge_all(
    house: &House,
    scenarios: &[Scenario],
    update: bool,
    mut tell: impl FnMut(&Scenario, Judged),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(scenarios.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scenario) = scenarios.get(i) else { break };
                    if sender.send((i, judge_one(house, scenario, update))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = std::collections::BTreeMap::new();
        let mut due = 0;
        for (i, judged) in receiver {
            early.insert(i, judged);
            while let Some(judged) = early.remove(&due) {
                tell(&scenarios[due], judged);
                due += 1;
            }
        }
    });
}

fn judge_one(house: &House, scenario: &Scenario, update: bool) -> Judged {
    let mut tally = Tally { scenarios: 1, ..Tally::default() };
    let mut findings = Vec::new();
    for check in checks(house, scenario)? {
        tally.cassettes += u64::from(matches!(check, Check::Plans { .. }));
        let verdict = judge(house, scenario, &check, update)?;
        tally.goldens += verdict.goldens;
        tally.plans += verdict.plans;
        findings.extend(verdict.findings);
    }
    tally.findings = findings.len() as u64;
    tally.pending = Golden::pending(scenario)?.len() as u64;
    Ok((tally, findings))
}
