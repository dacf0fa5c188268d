//! Tests of runs, with small shell scripts in the CLI's place.

use std::sync::mpsc::channel;

use clitape_gateway::ByteSize;
use clitape_process::Overflow;
use clitape_recording::scenario::Trigger;

use super::*;
use crate::record::workspace::Folders;

mod trigger;

/// The time between two checks of a script's effects.
const LOOK: Duration = Duration::from_millis(10);

/// A record that says "half".
const LINE: &str =
    r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"half"}]}}"#;

struct Case {
    script: &'static str,
    host: Option<HostScript>,
    limit: Duration,
    stop: bool,
    /// Raises an alarm as soon as the script has made the file `$READY`.
    alarm: bool,
    signal: Option<SignalPlan>,
}

fn script(script: &'static str) -> Case {
    Case {
        script,
        host: None,
        limit: Duration::from_secs(60),
        stop: false,
        alarm: false,
        signal: None,
    }
}

fn run(case: &Case) -> AttendedRun {
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", case.script]).env("READY", &ready).env("LINE", LINE);
    let (sender, alarms) = channel();
    if case.alarm {
        std::thread::spawn(move || {
            while !ready.exists() {
                std::thread::sleep(LOOK);
            }
            sender.send(Alarm::Unscripted("ready".into()))
        });
    }
    let script = AttendedScript {
        host: case.host.as_ref(),
        signal: case.signal.as_ref(),
        time: case.limit,
        ..AttendedScript::default()
    };
    run_attended(command, script, &alarms, &AtomicBool::new(case.stop)).unwrap()
}

/// Checks the stdout, stderr, exit and reason of a run.
#[track_caller]
fn check(case: &Case, stdout: &str, stderr: &str, exit: Exit, why: &Ending<Alarm>) {
    let ended = run(case);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (text(&ended.stdout).as_str(), text(&ended.stderr).as_str(), ended.exit, &ended.why),
        (stdout, stderr, exit, why),
        "{}",
        case.script
    );
}

#[test]
fn what_is_printed_is_kept_with_the_exit() {
    check(&script("echo a; echo b >&2; exit 3"), "a\n", "b\n", Exit::Code(3), &Ending::Itself);
    check(&script("printf half; kill -9 $$"), "half", "", Exit::Signal(9), &Ending::Itself);
    check(&script("read x || echo no stdin"), "no stdin\n", "", Exit::Code(0), &Ending::Itself);
}

#[test]
fn a_signal_is_sent_when_its_trigger_was_seen() {
    let line = LINE;
    let signal = |send| SignalPlan { send, when: Trigger::Text("half".into()), delay_ms: 20 };
    let waits = "trap 'echo bye; exit 7' TERM; echo \"$LINE\"; while :; do sleep 0.02; done";
    for (send, stdout, exit) in [
        (SignalName::Term, format!("{line}\nbye\n"), Exit::Code(7)),
        (SignalName::Kill, format!("{line}\n"), Exit::Signal(9)),
    ] {
        let case = Case { signal: Some(signal(send)), ..script(waits) };
        check(&case, &stdout, "", exit, &Ending::Itself);
        let events = run(&case).events;
        let marked = events.iter().any(|(_, kind)| *kind == TickKind::Marker(send.as_str().into()));
        assert!(marked, "{events:?}");
    }
}

#[test]
fn a_fast_tail_is_kept_whole() {
    let ended = run(&script("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end"));
    assert_eq!(ended.stdout.len(), 300_005);
    assert!(ended.stdout.ends_with(b"x\nend\n"));
    let reads = ended.events.iter().filter_map(|(_, kind)| match kind {
        TickKind::Out(n) => Some(*n),
        _ => None,
    });
    assert_eq!(reads.sum::<u64>(), 300_005);
    assert!(ended.events.is_sorted_by_key(|(at, _)| *at));
    let exits = ended.events.iter().filter(|(_, kind)| matches!(kind, TickKind::Exit(_)));
    assert_eq!(exits.count(), 1);
}

#[test]
fn lines_are_written_when_the_results_they_wait_for_were_seen() {
    let record = "[[say]]\nraw = 'one'\n\
                  [[say]]\nraw = 'two'\nwhen = { result = 1 }\n[[say]]\nraw = 'three'";
    let record = toml::from_str(record).unwrap();
    let case = Case {
        host: HostScript::new(&record, &Folders::canonical()),
        ..script(
            "read a; echo got $a; echo '{\"type\":\"result\"}'\n\
             read b; read c; echo got $b $c; read d || echo closed",
        )
    };
    let expect = "got one\n{\"type\":\"result\"}\ngot two three\nclosed\n";
    check(&case, expect, "", Exit::Code(0), &Ending::Itself);
    let ended = run(&case);
    assert_eq!(ended.stdin, b"one\ntwo\nthree\n");
    let order: Vec<_> = ended.events.into_iter().map(|(_, kind)| kind).collect();
    let place = |line, offset| {
        let wanted = TickKind::In { line, offset: Some(offset) };
        order.iter().position(|kind| *kind == wanted).unwrap()
    };
    let first_read = order.iter().position(|kind| matches!(kind, TickKind::Out(_))).unwrap();
    assert!(place(1, 0) < first_read && first_read < place(2, 26) && place(2, 26) < place(3, 26));
}

#[test]
fn a_run_that_must_end_is_asked_and_then_killed() {
    let term = Exit::Signal(15);
    let late = Case { limit: Duration::ZERO, ..script("exec sleep 600") };
    check(&late, "", "", term, &Ending::Limit);
    let stopped = Case { stop: true, ..script("exec sleep 600") };
    check(&stopped, "", "", term, &Ending::Stopped);
    let alarmed = Case { alarm: true, ..script("echo up; : > $READY; exec sleep 600") };
    check(&alarmed, "up\n", "", term, &Ending::Reason(Alarm::Unscripted("ready".into())));
    let deaf = Case {
        alarm: true,
        ..script("trap '' TERM; echo up; : > $READY; while :; do sleep 1; done")
    };
    check(&deaf, "up\n", "", Exit::Signal(9), &Ending::Reason(Alarm::Unscripted("ready".into())));
}

#[test]
fn nothing_of_the_group_outlives_the_run() {
    for (text, alarm) in [
        ("sleep 600 & echo $!; : > $READY; wait", true),
        ("trap '' TERM; sleep 600 & echo $!; : > $READY; wait", true),
        ("sleep 600 >/dev/null 2>&1 & echo $!", false),
        ("sleep 600 & echo $!", false),
    ] {
        let ended = run(&Case { alarm, ..script(text) });
        let pid = String::from_utf8(ended.stdout).unwrap().trim().parse().unwrap();
        // A killed process stays in the table until its new parent collects it.
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_err()
                || stat.is_ok_and(|stat| stat.contains(") Z "))
        };
        let begin = Instant::now();
        while !gone() {
            assert!(begin.elapsed() < Duration::from_secs(30), "{text}: {pid} is left");
            std::thread::sleep(LOOK);
        }
    }
}

#[test]
fn a_program_that_floods_is_ended_with_its_group() {
    let output = OutputLimits { bytes: ByteSize::mib(1), line: ByteSize::kib(64), lines: 1_000 };
    for (script, expect) in [
        ("exec tr '\\0' x < /dev/zero", Overflow::Line(output.line)),
        ("exec tr '\\0' x < /dev/zero >&2", Overflow::Line(output.line)),
        ("exec yes $(seq 9999) ", Overflow::Bytes(output.bytes)),
        ("exec yes", Overflow::Lines(1_000)),
        ("trap '' TERM PIPE; yes & yes >&2 & wait", Overflow::Lines(1_000)),
    ] {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let (_sender, alarms) = channel();
        let time = Duration::from_secs(60);
        let script = AttendedScript { output, time, ..AttendedScript::default() };
        let ended = run_attended(command, script, &alarms, &AtomicBool::new(false)).unwrap();
        assert_eq!(ended.why, Ending::Overflow(expect));
        assert!(ended.stdout.len().max(ended.stderr.len()) <= 1 << 20);
    }
}
