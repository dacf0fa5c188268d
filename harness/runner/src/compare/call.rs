//! Calls a program with the arguments of `clitape replay`, and reads the trace that it prints.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clitape_process::kept::{Full, Held, KeptBytes};
use clitape_process::{Guard, Overflow, ProcessError, RunLimits, Why, command, run_to_end};
use clitape_recording::cassette::Exit;
use clitape_recording::limits::{CallLimits, parsed_bytes};
use clitape_recording::text::{Keep, truncate};
use clitape_recording::trace::{Entry, entry_bytes};

/// The exit code of a program that does not know the arguments it was called with.
const USAGE: i32 = 2;
/// The number of last lines, and of characters in them, that are shown of a program's stderr.
const TAIL: (usize, usize) = (4, 400);

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
pub(super) fn call(
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
    let said = tail(&ended.output.stderr);
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
pub(super) struct CountedTrace {
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
fn tail(stderr: &[u8]) -> String {
    let (lines, length) = TAIL;
    let text = String::from_utf8_lossy(stderr);
    let said: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = said[said.len().saturating_sub(lines)..].join(" / ");
    match said.as_str() {
        "" => " and said nothing".to_owned(),
        said => format!(": {}", truncate(said, length, Keep::End)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clitape_gateway::ByteSize;
    use clitape_recording::limits::OutputLimits;

    use super::*;

    const ENTRY: &str = r#"{"at":0,"lane":"bus","kind":"x","data":{}}"#;

    /// Calls a shell with this script, and checks the number of entries or the error.
    fn check(script: &str, expect: &Result<usize, CallError>) {
        let args = ["-c".into(), script.into()];
        // A script that must reach the time limit gets a short one.
        let mut limits = CallLimits::DEFAULT;
        if script.starts_with("sleep") {
            limits.time = Duration::from_secs(1);
        }
        let (shell, stop) = (Path::new("/bin/sh"), AtomicBool::new(false));
        let got = call(shell, Path::new("/"), &args, limits, &Arc::default(), &stop);
        assert_eq!(&got.map(|trace| trace.entries.len()), expect, "{script}");
    }

    #[test]
    fn what_a_program_prints_is_read_or_its_failure_is_told() {
        let failed = |why: &str| Err(CallError::Failed(why.to_owned()));
        check(&format!("echo '{ENTRY}'; echo; echo '{ENTRY}'"), &Ok(2));
        check("true", &Ok(0));
        check("echo a >&2; echo b >&2; exit 3", &failed("it ended with code 3: a / b"));
        check("exit 1", &failed("it ended with code 1 and said nothing"));
        check("kill -9 $$", &failed("signal 9 ended it and said nothing"));
        let unknown = "it ended with code 2: what?";
        check("echo 'what?' >&2; exit 2", &Err(CallError::Unknown(unknown.to_owned())));
        check(
            "sleep 600",
            &failed(
                "it had not ended after 1 s (raise the limit with `--timeout`) and said nothing",
            ),
        );
        let no_entry =
            "line 1 it printed is no entry of a trace: expected value at line 1 column 1: x";
        check("echo x", &failed(no_entry));
        let start = "it printed no text: invalid utf-8 sequence of 1 bytes from index 0";
        check("printf '\\377\\n'", &failed(start));
    }

    #[test]
    fn a_program_that_floods_is_ended_and_told() {
        let output = OutputLimits { bytes: ByteSize::mib(2), ..OutputLimits::COMPARED };
        let raise = |what: &str, option: &str| {
            format!("it printed {what} and was ended; raise the limit with `{option}`")
        };
        for (script, output, expect) in [
            (
                "exec yes '{\"at\":0,\"lane\":\"bus\",\"kind\":\"x\",\"data\":{}}'",
                output,
                raise("more than 2MiB on stdout or stderr", "--max-output"),
            ),
            (
                "exec yes '{}'",
                OutputLimits { lines: 1_000, ..output },
                raise("more than 1000 lines, or in as many pieces", "--max-lines"),
            ),
            (
                "exec tr '\\0' x < /dev/zero",
                OutputLimits { line: ByteSize::mib(1), ..output },
                raise("a line of more than 1MiB", "--max-line"),
            ),
        ] {
            let args = ["-c".into(), script.into()];
            let (shell, stop) = (Path::new("/bin/sh"), AtomicBool::new(false));
            let limits = CallLimits { output, ..CallLimits::DEFAULT };
            let got = call(shell, Path::new("/"), &args, limits, &Arc::default(), &stop);
            assert_eq!(got.map(|_| ()), Err(CallError::Failed(expect)), "{script}");
        }
    }

    #[test]
    fn a_trace_that_takes_too_much_memory_is_refused() {
        let lists = "[],".repeat(1_000);
        let line = format!(r#"{{"at":0,"lane":"bus","kind":"x","data":{{"a":[{lists}0]}}}}"#);
        let text = format!("{line}\n").repeat(20);
        let account = |mib| Arc::new(KeptBytes::within(ByteSize::mib(mib)));
        let full = "its trace would take more than 3MiB of memory, with that of the other side; raise the limit with `--max-kept`";
        let (enough, little) = (account(4), account(3));
        let read_two = |account: &Arc<KeptBytes>| {
            let one = read(text.as_bytes(), Held::of(account))?;
            read(text.as_bytes(), Held::of(account)).map(|two| [one.entries, two.entries])
        };
        // The limit applies to all traces together, and each is released with its comparison.
        for _ in 0..3 {
            assert_eq!(read_two(&enough).map(|both| both.map(|one| one.len())), Ok([20, 20]));
            assert_eq!(read_two(&little).unwrap_err().to_string(), full);
            assert_eq!([enough.bytes(), little.bytes()], [0, 0]);
        }
    }

    #[test]
    fn what_a_program_prints_is_counted_while_it_prints() {
        let account = Arc::new(KeptBytes::within(ByteSize::mib(1)));
        let (shell, stop) = (Path::new("/bin/sh"), AtomicBool::new(false));
        for script in ["exec yes $(seq 9999)", "exec yes $(seq 9999) >&2"] {
            let args = ["-c".into(), script.into()];
            let got = call(shell, Path::new("/"), &args, CallLimits::DEFAULT, &account, &stop);
            assert!(matches!(got, Err(CallError::Full(_))), "{script}: {got:?}");
            assert_eq!(account.bytes(), 0, "{script}");
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_told() {
        let none = Path::new("/nowhere/at-all");
        let (limits, stop) = (CallLimits::DEFAULT, AtomicBool::new(false));
        let got = call(none, Path::new("/"), &[], limits, &Arc::default(), &stop);
        assert!(matches!(got, Err(CallError::Failed(why)) if why.contains("can't be started")));
    }
}
