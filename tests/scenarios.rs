//! Runs every check of every scenario as a separate test, so that `cargo test` and `cargo nextest run` fail where
//! `clitape test` does.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clitape_judge::Finding;
use clitape_recording::limits::{CHECK_TIME, ReplayLimits};
use clitape_recording::scenario::Workspace;
use clitape_runner::check::check_workspace;
use clitape_runner::report::write_finding;
use clitape_runner::suite::{judge_within, load};
use libtest_mimic::{Arguments, Failed, Trial};

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
    for (name, checks) in load(workspace, workspace.names()?, ReplayLimits::default(), None)? {
        let checks = Arc::new(checks?);
        for check in checks.checks().to_vec() {
            let checks = checks.clone();
            let title = format!("{name}::{check}");
            trials.push(Trial::test(title, move || {
                told(&judge_within(CHECK_TIME, &checks, &check, false)?.findings)
            }));
        }
    }
    for (check, findings) in check_workspace(workspace)? {
        trials.push(Trial::test(format!("cassettes::{check}"), move || told(&findings)));
    }
    Ok(trials)
}

/// Fails with the findings in the words of `clitape test`.
fn told(findings: &[Finding]) -> Result<(), Failed> {
    if findings.is_empty() {
        return Ok(());
    }
    let mut text = Vec::new();
    for finding in findings {
        write_finding(&mut text, finding)?;
    }
    let text = String::from_utf8_lossy(&text);
    Err(anstream::adapter::strip_str(&text).to_string().into())
}
