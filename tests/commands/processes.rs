//! Tests of the processes of a recording: they end with it, however it ends, and reach no file outside its folder. A
//! shell script replaces the CLI; it starts a daemon in the manner of `setsid` and `cd /`.

#![cfg(target_os = "linux")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use crate::common::project::{
    Project, RESULT, daemons, send, text, wait_for_emptiness_of, wait_for_silence_of, ways,
};
use crate::common::{clitape, put_program, workspace};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::rngs::ChaCha8Rng;
use rand::{Rng as _, SeedableRng as _};

/// The signals that end a command; it can handle all but the last one.
const SIGNALS: [Signal; 5] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGKILL];

/// The longest time from a signal to the end of the command, on a machine that is busy with other tests. A command that
/// ignores the signal would go on without an end.
const LONGEST: Duration = Duration::from_secs(60);
/// A shell line that makes the shell and its children ignore the signals that can be ignored.
const IGNORES: &str = "trap '' INT TERM HUP QUIT";

/// Draws a seed, and sixty of these signals in turn, each with a random number up to `most`.
fn draws(signals: &[Signal], most: f64) -> (u64, Vec<(usize, Signal, f64)>) {
    let seed = std::env::var("CLITAPE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        u64::from(now.subsec_nanos())
    });
    println!("seed {seed}; set CLITAPE_SEED to draw the same moments again");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // nohup(1) makes clitape ignore SIGHUP, and clitape must keep that.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    let is_hangup_ignored = u64::from_str_radix(ignored, 16).unwrap() & 1 == 1;
    let is_kept = |signal: &&Signal| **signal != Signal::SIGHUP || !is_hangup_ignored;
    let signals: Vec<Signal> = signals.iter().filter(is_kept).copied().collect();
    let draw = |number: usize| {
        let part = f64::from(random.next_u32()) / f64::from(u32::MAX) * most;
        (number, signals[number % signals.len()], part)
    };
    (seed, (0..60).map(draw).collect())
}

#[test]
fn sixty_signals_at_random_moments_leave_nothing() {
    let (seed, draws) = draws(&SIGNALS, 1.1);
    let ways = ways();
    let ways = ways.iter().copied().chain(ways.is_empty().then_some("none")).cycle();
    // Four projects run side by side, because most of the time is spent waiting.
    std::thread::scope(|scope| {
        for (draws, way) in draws.chunks(15).zip(ways) {
            scope.spawn(move || disturb(seed, way, draws));
        }
    });
}

/// Records again and again in a new project, each time with a signal at a part of the time that an undisturbed
/// recording takes, and checks that no process or file is left.
fn disturb(seed: u64, way: &str, draws: &[(usize, Signal, f64)]) {
    let begins = format!("{IGNORES}; echo '{{\"type\":\"x\"}}'; sleep 0.1; {RESULT}");
    let script = daemons(&begins);
    let project = Project::new(&script);
    let confine = ["--yes", "--confine", way];
    // The first recording is not disturbed, and measures the time.
    let begin = Instant::now();
    let first = project.record().args(confine).output().unwrap();
    assert!(first.status.success(), "{}", text(&first));
    let whole = begin.elapsed();
    project.wait_for_silence("undisturbed");
    project.check_files("undisturbed");
    for &(number, signal, part) in draws {
        let moment = whole.mul_f64(part);
        let what = format!("seed {seed}, number {number}, {way}: {signal} after {moment:?}");
        let child = project.record().args(confine).spawn().unwrap();
        std::thread::sleep(moment);
        send(&child, signal);
        let begin = Instant::now();
        let output = child.wait_with_output().unwrap();
        let (took, told) = (begin.elapsed(), format!("{what}: {}", text(&output)));
        assert!(took < LONGEST, "{took:?}: {told}");
        match output.status.code() {
            // It had ended, or had not begun.
            Some(0) => {}
            None => assert_eq!(output.status.signal(), Some(signal as i32), "{told}"),
            Some(code) => assert!(code == 4 && told.contains("stopped;"), "{told}"),
        }
        if signal == Signal::SIGKILL {
            project.wait_for_silence(&what);
            let next = project.record().args(confine).output().unwrap();
            assert!(next.status.success(), "{what}: {}", text(&next));
        }
        project.wait_for_silence(&what);
        project.check_files(&what);
    }
}

/// Returns a program that ignores all signals but SIGKILL, and so do the daemons that it starts.
fn stays(before: &str) -> String {
    let loops = format!("{before}\nwhile :; do sleep 0.1; done\n");
    format!("#!/bin/bash\n{IGNORES}\n{}", daemons(&loops))
}

/// Subjects for which a command waits: gateways that are never ready, that hang, or that are asked to end; an agent
/// that does not read; a parser and other programs that do not end.
const SUBJECTS: &str = "
[subject.unready]
kind = 'gateway'
command = ['./stays']
[subject.hangs]
kind = 'gateway'
command = ['./stays']
ready = { output = 'up' }
[subject.ends]
kind = 'gateway'
command = ['./stays']
ready = { output = 'up' }
within_s = 1
[subject.unnamed]
kind = 'gateway'
command = ['./stays']
ready = { url = 'http://name.invalid/' }
[subject.agent]
kind = 'agent'
command = ['./agent']
[subject.parser]
kind = 'parser'
command = ['./stays']
[subject.once]
kind = 'parser'
command = ['./stays']
started = 'once'
[subject.replay]
kind = 'replay'
command = ['./stays']
[subject.loud]
kind = 'parser'
command = ['./loud']
";

#[test]
fn sixty_signals_end_commands_whose_subjects_ignore_them() {
    /// The seconds from the start to the latest signal; by then some subjects are asked to end.
    const LATEST: f64 = 3.5;
    const COMMANDS: [&str; 13] = [
        "test --yes --subject unready",
        "rig --yes hangs plain-text",
        "subject check --yes ends",
        "test --yes --subject ends",
        "rig --yes unnamed plain-text",
        "test --yes --subject agent",
        "editor --prompt hi -- ./agent",
        "test --yes --subject parser",
        "test --yes --subject once",
        "test --yes --subject replay",
        "test --yes --subject loud",
        "compare --yes subject:hangs subject:ends --out out",
        "compare this ./stays plain-text --out out",
    ];
    let (seed, draws) = draws(&SIGNALS[..4], LATEST);
    let disturb = |draws: &[(usize, Signal, f64)]| {
        let dir = workspace(&["plain-text"]);
        let root = dir.path().canonicalize().unwrap();
        let temporary = root.join("tmp");
        fs::create_dir(&temporary).unwrap();
        put_program(&root.join("stays"), &stays("echo up"));
        let hello = r#"
            read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
            read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'"#;
        put_program(&root.join("agent"), &stays(hello));
        // Reading its text and comparing it takes longer than a signal may.
        let entry = r#"'{"at":0,"lane":"lifecycle","kind":"text","data":{"delta":"'"#;
        let loud = format!(
            "#!/bin/bash\nfor i in {{1..5}}; do printf %s {entry}; head -c 20000000 /dev/zero | tr '\\0' x\necho '\"}}}}'; done\n"
        );
        put_program(&root.join("loud"), &loud);
        fs::write(root.join("clitape.toml"), SUBJECTS).unwrap();
        for &(number, signal, seconds) in draws {
            let arguments = COMMANDS[number % COMMANDS.len()];
            let what =
                format!("seed {seed}, number {number}: {arguments}: {signal} after {seconds:.2} s");
            let mut command = clitape();
            command.args(arguments.split(' ')).current_dir(&root).env("TMPDIR", &temporary);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            std::thread::sleep(Duration::from_secs_f64(seconds));
            send(&child, signal);
            let begin = Instant::now();
            let output = child.wait_with_output().unwrap();
            let (took, told) = (begin.elapsed(), format!("{what}: {}", text(&output)));
            assert!(took < LONGEST, "{took:?}: {told}");
            match output.status.code() {
                // It had not installed its handler yet.
                None => assert_eq!(output.status.signal(), Some(signal as i32), "{told}"),
                // What was judged until then is reported, and a fast machine has finished.
                Some(3) if arguments.starts_with("test") && told.contains("1 finding") => {}
                Some(code) => assert!(code == 4 && told.contains("stopped"), "{told}"),
            }
            wait_for_silence_of(&root, &what);
            wait_for_emptiness_of(&temporary, &what);
        }
    };
    std::thread::scope(|scope| {
        for draws in draws.chunks(6) {
            scope.spawn(move || disturb(draws));
        }
    });
}

#[test]
fn programs_that_stop_or_kill_their_supervisor_are_ended() {
    const COMMANDS: [&str; 4] = [
        "subject check --yes hangs",
        "test --yes --subject loud",
        "editor --timeout 2 --prompt hi -- ./stays",
        "compare this ./stays plain-text --out out",
    ];
    let disturb = |arguments: &str, attack: &str| {
        let dir = workspace(&["plain-text"]);
        let root = dir.path().canonicalize().unwrap();
        let temporary = root.join("tmp");
        fs::create_dir(&temporary).unwrap();
        put_program(&root.join("stays"), &stays(&format!("echo up; sleep 0.2; {attack}")));
        let loud = stays(&format!("sleep 0.2; {attack}; head -c 100000000 /dev/zero"));
        put_program(&root.join("loud"), &loud);
        fs::write(root.join("clitape.toml"), SUBJECTS).unwrap();
        // Without a signal, `editor` ends by its own limit.
        let signals =
            [true, false].into_iter().filter(|send| *send || arguments.contains("--timeout"));
        for is_signalled in signals {
            let what = format!("{arguments}: {attack}: {is_signalled}");
            let mut command = clitape();
            command.args(arguments.split(' ')).current_dir(&root).env("TMPDIR", &temporary);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            if is_signalled {
                std::thread::sleep(Duration::from_secs(2));
                // An error means that it has ended, because its supervisor was killed.
                let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
            }
            let output = child.wait_with_output().unwrap();
            wait_for_silence_of(&root, &format!("{what}: {}", text(&output)));
        }
    };
    std::thread::scope(|scope| {
        for arguments in COMMANDS {
            for attack in ["kill -STOP $PPID", "kill -KILL $PPID"] {
                scope.spawn(move || disturb(arguments, attack));
            }
        }
    });
}

#[test]
fn the_next_recording_ends_what_a_killed_one_left() {
    for way in ways() {
        let project = Project::new(&daemons(": > \"$HOME/ready\"; sleep 600"));
        let confine = ["--yes", "--confine", way];
        let mut child = project.record().args(confine).spawn().unwrap();
        project.wait_for("ready");
        let is_supervisor = |(_, line): &&(i32, String)| line.contains("__supervise");
        let processes = project.processes();
        let (supervisor, _) = processes.iter().find(is_supervisor).unwrap();
        // Neither of the two can clean up, so the next recording has to. A supervisor that is merely stopped would go
        // on, because the kernel wakes a stopped group whose parent has ended.
        send(&child, Signal::SIGSTOP);
        kill(Pid::from_raw(*supervisor), Signal::SIGKILL).unwrap();
        send(&child, Signal::SIGKILL);
        child.wait().unwrap();
        assert!(!project.processes().is_empty());
        let short = fs::read_to_string(project.path().join("claude")).unwrap();
        let script = short.replace("sleep 600", "true") + "\n" + RESULT;
        fs::write(project.path().join("claude"), script).unwrap();
        let next = project.record().args(confine).output().unwrap();
        let told = text(&next);
        assert!(told.contains("temporary folders: 1, processes in them: "), "{way}: {told}");
        project.check_files("after the next");
    }
}

#[test]
fn a_killed_recording_leaves_nothing_in_a_sandbox() {
    for way in ways() {
        let project = Project::new(&daemons(": > \"$HOME/ready\"; sleep 600"));
        let mut child = project.record().args(["--yes", "--confine", way]).spawn().unwrap();
        project.wait_for("ready");
        let processes = project.processes();
        assert!(!processes.iter().any(|(_, line)| line.contains("bwrap")), "{processes:?}");
        send(&child, Signal::SIGKILL);
        child.wait().unwrap();
        project.wait_for_silence(way);
        project.check_files(way);
    }
}

#[test]
fn a_daemon_does_not_outlive_the_recording() {
    // The name of a program may have any bytes.
    let nameless = "name=\"$TMPDIR\"/$'\\xff\\xfe'; cp \"$(command -v sleep)\" \"$name\"; \
         (cd /; exec env -i setsid \"$name\" 600 </dev/null >/dev/null 2>&1) & sleep 0.2; ";
    for script in [daemons(RESULT), format!("{nameless}{RESULT}")] {
        for way in ways().into_iter().chain(["none"]) {
            let project = Project::new(&script);
            let output = project.record().args(["--yes", "--confine", way]).output().unwrap();
            assert!(output.status.success(), "{}", text(&output));
            let left = project.processes();
            assert!(left.is_empty(), "{way}: {left:?}");
            project.check_files("a daemon");
        }
    }
}

#[test]
fn a_cli_that_hangs_when_asked_for_its_version_is_stopped() {
    let project = Project::with_version(": > \"$HOME/ready\"; sleep 600", RESULT);
    let child = project.record().arg("--yes").spawn().unwrap();
    project.wait_for("ready");
    send(&child, Signal::SIGINT);
    let output = child.wait_with_output().unwrap();
    let told = text(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("stopped; nothing was written"), "{told}");
    project.wait_for_silence("a version");
    project.check_files("a version");
}

#[test]
fn a_fifo_in_a_workspace_is_refused() {
    let project = Project::new(RESULT);
    let fifo = project.path().join("scenarios/slow/workspace/pipe");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let output = project.record().arg("--yes").output().unwrap();
    let told = text(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("workspace/pipe is a FIFO"), "{told}");
}

#[test]
fn a_prompt_is_no_option() {
    let project = Project::new(&format!("printf 'arg:%s\\n' \"$@\"; {RESULT}"));
    let path = project.path().join("scenarios/slow/scenario.toml");
    let toml = fs::read_to_string(&path).unwrap().replace("Go.", "--version");
    fs::write(&path, toml + "args = ['--allowedTools', 'Read']\n").unwrap();
    let output = project.record().arg("--yes").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let stdout = fs::read_to_string(project.cassette().join("stdout.jsonl")).unwrap();
    assert!(stdout.contains("arg:Read\narg:--\narg:--version\n{"), "{stdout}");
    assert!(stdout.starts_with("arg:-p\narg:--output-format\n"), "{stdout}");
}

#[test]
fn an_unknown_scenario_is_shown_and_not_recorded_unasked() {
    let project = Project::new(RESULT);
    let model =
        "[[turn]]\n[[turn.block]]\ntool = 'Bash'\ninput = { command = \"ls \\u001b[2J\" }\n";
    fs::write(project.path().join("scenarios/slow/model.toml"), model).unwrap();
    for args in [&[][..], &["--check"], &["--quiet"]] {
        let output = project.record().args(args).output().unwrap();
        let told = text(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(r"the model calls Bash ×1: `ls \u{1b}[2J`"), "{told}");
        assert!(told.contains("pass --yes"), "{told}");
        assert!(!project.cassette().exists());
    }
    let output = project.record().args(["--yes", "--quiet"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
    let output = project.record().output().unwrap();
    assert_eq!(output.status.code(), Some(2), "--yes makes nothing known: {}", text(&output));
    // A scenario that this machine wrote is known, until its files change.
    let new = |args: &[&str]| project.record().args(args).output().unwrap();
    let state = project.path().join("state");
    let mut command = clitape();
    command.args(["new", "mine"]).current_dir(project.path()).env("XDG_STATE_HOME", state);
    assert!(command.output().unwrap().status.success());
    let told = text(&new(&["mine", "--yes"]));
    let mut known = clitape();
    known.args(["record", "mine", "--claude", "./none"]).current_dir(project.path());
    known.env("XDG_STATE_HOME", project.path().join("state"));
    let output = known.output().unwrap();
    assert_eq!(output.status.code(), Some(4), "there is no such CLI: {}{told}", text(&output));
    fs::write(project.path().join("scenarios/mine/workspace/more"), "").unwrap();
    assert_eq!(known.output().unwrap().status.code(), Some(2));
}
