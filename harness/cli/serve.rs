//! `clitape serve`: plays recordings at a gateway for a test runner, by lines of JSON on stdin and stdout.

use std::io::{self, BufRead, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use clitape_process::threads::start;
use clitape_recording::scenario::Workspace;
use clitape_rig::serve::{Greeting, PlayAnswer, PlayError, PlayRequest, REQUEST_BYTES, play};
use clitape_rig::subject::{NamedGateway, RigHost, Subjects};

use crate::conditions::check_chat;
use crate::confirm::{Confirmation, Consent};
use crate::exit::ExitStatus;
use crate::progress::ProgressLine;
use crate::rig_limits::RigLimitArgs;
use crate::subject::{LogArg, Machine, gateway};
use crate::terminal;

/// The interval at which the wait for a request checks for a signal.
const LOOK: Duration = Duration::from_millis(20);
/// The number of requests that may wait; a runner that writes more waits itself.
const WAITING: usize = 64;

/// Plays recordings at a gateway for a test runner
///
/// Each line of stdin is a request, such as {"id":1,"play":"three-tools"}, and each line of stdout the answer with the same
/// id: what a person saw, and the findings. `clitape help test-runners` describes the fields, and the clients for vitest,
/// jest, pytest and go test. The end of stdin ends it. The exit code is 0 whatever was found.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The subject of clitape.toml: NAME or NAME@VERSION
    #[arg(required_unless_present = "print_client")]
    subject: Option<String>,
    /// Speak JSON, a line for each request and each answer; there is no other form yet
    #[arg(long, required_unless_present = "print_client")]
    json: bool,
    /// Print the client for a test runner, a file to keep beside your tests, and end
    #[arg(long, value_name = "RUNNER", conflicts_with = "subject")]
    print_client: Option<TestRunner>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    log: LogArg,
    #[command(flatten)]
    rig_limits: RigLimitArgs,
}

/// A test runner that has a client.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum TestRunner {
    /// vitest, jest and others on Node: clitape.cjs
    Vitest,
    /// pytest: clitape_pytest.py
    Pytest,
    /// go test: clitape.go
    Go,
}

impl TestRunner {
    /// Returns the source of its client.
    fn client(self) -> &'static str {
        match self {
            Self::Vitest => include_str!("../../packaging/shims/vitest/clitape.cjs"),
            Self::Pytest => include_str!("../../packaging/shims/pytest/clitape_pytest.py"),
            Self::Go => include_str!("../../packaging/shims/go/clitape.go"),
        }
    }
}

pub(crate) fn run(
    workspace: impl FnOnce() -> anyhow::Result<Workspace>,
    args: &Args,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    if let Some(runner) = args.print_client {
        terminal::verbatim(runner.client().as_bytes())?;
        return Ok(ExitStatus::Ok);
    }
    let subject = args.subject.as_deref().context("name a subject of clitape.toml")?;
    serve(&workspace()?, subject, args, quiet)
}

/// Answers requests until stdin ends.
fn serve(
    workspace: &Workspace,
    subject: &str,
    args: &Args,
    quiet: bool,
) -> anyhow::Result<ExitStatus> {
    let subjects = Subjects::load(workspace.root())?;
    let gateway = gateway(&subjects, subject)?;
    let machine = Machine::new(args.rig_limits.limits())?.with_log(&args.log)?;
    let how = Confirmation { yes: args.consent.yes, quiet };
    machine.ask(workspace, &subjects, subject, how)?;
    let stop = machine.stop();
    let requests = read_requests()?;
    stop_without_reader(stop.clone())?;
    let mut out = terminal::stdout();
    let greeting = Greeting::new(env!("CARGO_PKG_VERSION"), gateway);
    out.json(&serde_json::to_string(&greeting)?)?;
    loop {
        match requests.recv_timeout(LOOK) {
            Ok(line) => {
                let request = line.and_then(|line| PlayRequest::parse(&line));
                let id = request.as_ref().ok().map(|request| request.id);
                let rig = machine.rig(workspace);
                let answer = request.and_then(|request| played(gateway, &request, rig, quiet));
                if answer.as_ref().is_err_and(|error| !error.is_stop()) {
                    // A run that fails stops its gateway by the flag; the next one starts its own.
                    stop.store(false, Ordering::Relaxed);
                }
                out.json(&match answer {
                    Ok(answer) => serde_json::to_string(&answer)?,
                    Err(error) => serde_json::to_string(&error.answer(id))?,
                })?;
                machine.check_log()?;
            }
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(ExitStatus::Nothing),
            Err(RecvTimeoutError::Disconnected) => return Ok(ExitStatus::Ok),
        }
        if terminal::reader_is_gone() {
            return Ok(ExitStatus::Ok);
        }
    }
}

/// Plays the recording of a request, and shows the progress on stderr.
fn played(
    gateway: NamedGateway<'_>,
    request: &PlayRequest,
    rig: RigHost<'_>,
    quiet: bool,
) -> Result<PlayAnswer, PlayError> {
    let conditions = request.conditions()?;
    check_chat(&conditions, gateway).map_err(|error| {
        let (id, message) = (Some(request.id), error.to_string());
        PlayError::Request { id, message }
    })?;
    let mut progress = ProgressLine::new(quiet);
    play(gateway, request, &conditions, rig, &mut progress.reporter())
}

/// A line of stdin, or the error about it.
type ReadRequest = Result<Vec<u8>, PlayError>;

/// Starts to read lines from stdin. The receiver is disconnected at the end of stdin.
fn read_requests() -> anyhow::Result<Receiver<ReadRequest>> {
    let (sender, requests) = sync_channel(WAITING);
    // An error of stdin ends the requests, as its end does.
    start("requests", move || drop(send_lines(&mut io::stdin().lock(), &sender)))?;
    Ok(requests)
}

/// Sends each line that is not blank.
fn send_lines(input: &mut dyn BufRead, sender: &SyncSender<ReadRequest>) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        if input.take(REQUEST_BYTES + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let is_long = line.len() as u64 > REQUEST_BYTES;
        if is_long && line.last() != Some(&b'\n') {
            input.skip_until(b'\n')?;
        }
        let request = match is_long {
            true => {
                let message = format!("a request has {REQUEST_BYTES} bytes at most; write less");
                Err(PlayError::Request { id: None, message })
            }
            false if line.trim_ascii().is_empty() => continue,
            false => Ok(line),
        };
        if sender.send(request).is_err() {
            return Ok(());
        }
    }
}

/// Sets the flag once nobody reads stdout any more, so that what was started for a test runner ends with it.
fn stop_without_reader(stop: Arc<AtomicBool>) -> anyhow::Result<()> {
    start("reader", move || {
        terminal::wait_until_reader_is_gone();
        stop.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_an_error_and_the_next_one_is_read() {
        let most = usize::try_from(REQUEST_BYTES).unwrap();
        let text = format!("{}\n\n {{}}\n{}\nlast", "x".repeat(most), "y".repeat(3 * most));
        let (sender, lines) = sync_channel(WAITING);
        send_lines(&mut text.as_bytes(), &sender).unwrap();
        drop(sender);
        let text = |line: ReadRequest| match line {
            Ok(line) => String::from_utf8(line).unwrap(),
            Err(error) => error.to_string(),
        };
        let long = "a request has 65536 bytes at most; write less";
        assert_eq!(lines.into_iter().map(text).collect::<Vec<_>>(), [long, " {}\n", long, "last"]);
    }
}
