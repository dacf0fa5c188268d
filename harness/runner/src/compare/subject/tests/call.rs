use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_recording::limits::OutputLimits;

use crate::compare::subject::*;

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
        &failed("it had not ended after 1 s (raise the limit with `--timeout`) and said nothing"),
    );
    let no_entry = "line 1 it printed is no entry of a trace: expected value at line 1 column 1: x";
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
