//! Calls a program with the arguments of `clitape replay`, and reads the trace that it prints.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use clitape_gateway::ByteSize;

use crate::cassette::Exit;
use crate::json_size::{map_bytes, parsed_bytes};
use crate::limits::CallLimits;
use crate::record::{Notes, Script, Why, command, drive};
use crate::replay::Entry;
use crate::text::{Keep, truncate};

/// The exit code of a program that does not know the arguments it was called with.
const USAGE: i32 = 2;
/// The number of last lines, and of characters in them, that are shown of a program's stderr.
const TAIL: (usize, usize) = (4, 400);

/// The reason why a call gave no trace.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The program does not know the arguments.
    Unknown(String),
    /// The program failed.
    Failed(String),
    /// The caller asked to stop.
    Stopped,
}

/// Calls `program` in `folder` and returns its trace. The call ends when the program exceeds a limit.
pub(super) fn call(
    program: &Path,
    folder: &Path,
    args: &[OsString],
    limits: CallLimits,
    stop: &AtomicBool,
) -> Result<Vec<Entry>, CallError> {
    let mut command = command(program);
    command.args(args).current_dir(folder);
    let script = Script { output: limits.output, ..Script::default() };
    let ended = drive(command, script, limits.time, stop, &Notes::new())
        .map_err(|error| CallError::Failed(format!("it can't be started: {error}")))?;
    let said = tail(&ended.stderr);
    match (&ended.why, ended.exit) {
        (Why::Stopped, _) => return Err(CallError::Stopped),
        (Why::Limit | Why::Alarm(_), _) => {
            let s = limits.time.as_secs_f64();
            let raise = "raise the limit with `--timeout`";
            return Err(CallError::Failed(format!("it had not ended after {s} s ({raise}){said}")));
        }
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
    read(&ended.stdout, limits.kept).map_err(CallError::Failed)
}

/// Reads the entries of a trace, one JSON object per line, which take at most `most` bytes of memory.
fn read(stdout: &[u8], most: ByteSize) -> Result<Vec<Entry>, String> {
    let text =
        std::str::from_utf8(stdout).map_err(|error| format!("it printed no text: {error}"))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (mut entries, mut kept) = (Vec::new(), 0);
    for (number, line) in lines {
        if most.is_below(kept + parsed_bytes(line.as_bytes())) {
            return Err(format!(
                "its trace would take more than {most} of memory; raise the limit with `--max-kept`"
            ));
        }
        let entry: Entry = serde_json::from_str(line).map_err(|error| {
            let start = truncate(line, 80, Keep::Start);
            format!("line {number} it printed is no entry of a trace: {error}: {start}")
        })?;
        kept += size_of::<Entry>() + map_bytes(&entry.data);
        entries.push(entry);
    }
    Ok(entries)
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

    use super::*;
    use crate::limits::OutputLimits;

    const ENTRY: &str = r#"{"at":0,"lane":"bus","kind":"x","data":{}}"#;

    /// Calls a shell with this script, and expects a number of entries or an error.
    fn check(script: &str, expect: &Result<usize, CallError>) {
        let args = ["-c".into(), script.into()];
        // A script that must reach the time limit gets a short one.
        let mut limits = CallLimits::DEFAULT;
        if script.starts_with("sleep") {
            limits.time = Duration::from_secs(1);
        }
        let got =
            call(Path::new("/bin/sh"), Path::new("/"), &args, limits, &AtomicBool::new(false));
        assert_eq!(&got.map(|entries| entries.len()), expect, "{script}");
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
            let got = call(shell, Path::new("/"), &args, limits, &stop);
            assert_eq!(got, Err(CallError::Failed(expect)), "{script}");
        }
    }

    #[test]
    fn a_trace_that_takes_too_much_memory_is_refused() {
        let lists = "[],".repeat(1_000);
        let line = format!(r#"{{"at":0,"lane":"bus","kind":"x","data":{{"a":[{lists}0]}}}}"#);
        let text = format!("{line}\n").repeat(20);
        assert_eq!(read(text.as_bytes(), ByteSize::mib(2)).map(|entries| entries.len()), Ok(20));
        let error = read(text.as_bytes(), ByteSize::mib(1)).unwrap_err();
        assert_eq!(
            error,
            "its trace would take more than 1MiB of memory; raise the limit with `--max-kept`"
        );
    }

    #[test]
    fn a_program_that_does_not_exist_is_told() {
        let none = Path::new("/nowhere/at-all");
        let got = call(none, Path::new("/"), &[], CallLimits::DEFAULT, &AtomicBool::new(false));
        assert!(matches!(got, Err(CallError::Failed(why)) if why.contains("can't be started")));
    }
}
