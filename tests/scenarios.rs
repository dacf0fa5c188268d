//! Runs the suite for every scenario as a separate test, so that `cargo test` and `cargo nextest run` fail where
//! `clitape test` does.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clitape_recording::scenario::Workspace;
use clitape_runner::check::check_workspace;
use clitape_runner::report::{CheckRun, Detail, Report, Screen, terminal};
use clitape_runner::suite::select::Selection;
use clitape_runner::suite::{OwnGateway, SuiteOptions, run};
use libtest_mimic::{Arguments, Failed, Trial};

/// The version of clitape that a report names.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Arguments::from_args();
    let workspace = Workspace::at(&root());
    Ok(libtest_mimic::run(&args, trials(&workspace)?).exit_code())
}

/// Returns the folder of the checkout. `cargo test` and `cargo nextest run` name it when they run a test, so that an
/// archive of tests that was built elsewhere judges the scenarios beside it.
fn root() -> PathBuf {
    let at_run_time = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    at_run_time.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")))
}

fn trials(workspace: &Workspace) -> Result<Vec<Trial>, Box<dyn Error>> {
    let mut trials = Vec::new();
    for scenario in Selection::everything(workspace)?.scenarios {
        let (name, workspace) = (scenario.name.to_string(), workspace.clone());
        let selection = Selection { scenarios: vec![scenario], ..Selection::default() };
        trials.push(Trial::test(name, move || {
            let options = SuiteOptions { jobs: Some(1), ..SuiteOptions::new(&selection) };
            let judged = run(&mut OwnGateway::new(&workspace), options, &mut |_| Ok(()))?;
            told(&Report::new(VERSION, judged.scenarios, judged.workspace))
        }));
    }
    for (check, findings) in check_workspace(workspace)? {
        let name = format!("workspace::{check}");
        let report = Report::new(VERSION, Vec::new(), vec![CheckRun::of(check, findings)]);
        trials.push(Trial::test(name, move || told(&report)));
    }
    Ok(trials)
}

/// Fails with the findings and errors of a report in the words of `clitape test`.
fn told(report: &Report) -> Result<(), Failed> {
    if report.holds() {
        return Ok(());
    }
    let mut text = Vec::new();
    terminal(report, Detail::Chat, &mut Screen::new(&mut text, None))?;
    let text = String::from_utf8_lossy(&text);
    Err(anstream::adapter::strip_str(&text).to_string().into())
}
