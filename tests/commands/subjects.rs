//! Tests of a gateway of clitape.toml, with the example gateway in Python: the output, the rules that convict, and that
//! no process or file is left. Without python3 or node, its tests pass without a check; they fail instead if
//! `CLITAPE_REQUIRE` names `python3` or `node`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{check, clitape, has_program, put_program, root, run, workspace};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// Makes a workspace with a scenario and these subjects.
pub(crate) fn with_subjects(toml: &str) -> TempDir {
    let dir = workspace(&["plain-text"]);
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    dir
}

/// Returns the settings of the example gateway, with further arguments and settings.
pub(crate) fn example(arguments: &str, settings: &str) -> String {
    let program = root().join("subjects/examples/telegram.py");
    format!(
        "[subject.mine]\nkind = 'gateway'\ncommand = ['python3', '{}'{arguments}]\nidle_s = 2\n{settings}\n\
         env = {{ TELEGRAM_API = '{{bot_api}}', TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}' }}\n",
        program.display()
    )
}

#[test]
fn a_right_gateway_holds_and_its_chat_can_be_accepted() {
    if !has_program("python3") {
        return;
    }
    let dir = with_subjects(&example("", ""));
    let path = dir.path();
    check(path, &["subject", "list"], 0, &["mine", "gateway, one-shot", "python3"], &[]);
    let says = ["it starts and is ready after", "plain-text/", "is answered in", "it ends"];
    check(path, &["subject", "check", "--yes", "mine"], 0, &says, &[]);
    let test = ["test", "--yes", "--subject", "mine", "plain-text"];
    check(path, &[&test[..], &["--update"]].concat(), 0, &["all held", "1 pending golden"], &[]);
    let golden = path.join("scenarios/plain-text/golden/mine/telegram.snap");
    assert!(golden.with_extension("snap.new").is_file());
    check(path, &["review", "--accept"], 0, &["1 accepted"], &[]);
    check(path, &test, 0, &["1 golden", "all held"], &[]);
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replace("sendMessage", "sendMessages")).unwrap();
    check(path, &test, 3, &["GD001", "the chat is not what was accepted"], &[]);
    let says = ["sendMessage", "it came to its end", "claude       recorded"];
    let page = path.join("page");
    let html = ["--html", page.to_str().unwrap()];
    check(
        path,
        &[&["rig", "--yes", "mine", "plain-text", "--calls"], &html[..]].concat(),
        3,
        &says,
        &[],
    );
    let page = fs::read_to_string(page.join("index.html")).unwrap();
    assert!(page.contains("What is recorded and what is real"));
}

#[test]
fn a_gateway_whose_arguments_claude_refuses_is_convicted_soon() {
    if !has_program("python3") {
        return;
    }
    let dir = with_subjects("");
    let path = dir.path();
    let script = path.join("more-arguments");
    put_program(&script, "#!/bin/sh\nexec \"$REAL_CLAUDE\" \"$@\" --frob\n");
    let toml = example("", "")
        .replace("'{claude}'", &format!("'{}', REAL_CLAUDE = '{{claude}}'", script.display()));
    fs::write(path.join("clitape.toml"), toml).unwrap();
    let says = [
        "SB027",
        "claude refused the arguments that the gateway started it with, and said: error: unknown option '--frob'",
    ];
    let begin = Instant::now();
    check(path, &["rig", "--yes", "mine", "plain-text"], 3, &says, &[]);
    assert!(begin.elapsed() < Duration::from_secs(90), "{:?}", begin.elapsed());
}

#[test]
fn options_of_a_run_mean_the_same_for_every_subject() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text", "bash-count"]);
    let path = dir.path();
    // A gateway that never answers, a parser that prints no entry, and a program that prints no chat.
    let idle =
        "command = ['python3', '-c', 'print(\"up\", flush=True); import time; time.sleep(600)']";
    let gateway =
        format!("[subject.gateway]\nkind = 'gateway'\nready = {{ output = 'up' }}\n{idle}\n");
    let called = ["parser", "replay"].map(|kind| {
        format!("[subject.{kind}]\nkind = '{kind}'\ncommand = ['python3', '-c', 'pass']\n")
    });
    fs::write(path.join("clitape.toml"), gateway + &called.concat()).unwrap();
    for kind in ["gateway", "parser", "replay"] {
        let options = ["--fail-fast", "--jobs", "1", "--timeout", "1s"];
        let test = [&["test", "--yes", "--subject", kind], &options[..]].concat();
        let says = ["FAILED bash-count", "1 scenario: ", "1 finding", "not checked: 1 scenario"];
        let begin = Instant::now();
        check(path, &test, 3, &says, &[]);
        assert!(begin.elapsed() < Duration::from_secs(60), "{kind}: {:?}", begin.elapsed());
    }
    // A program that ends with another code unless it runs beside itself.
    let beside = "touch beside-$$; for i in $(seq 400); do set -- beside-*; [ $# -gt 1 ] && exit 0; sleep 0.05; done; exit 9";
    for kind in ["parser", "replay"] {
        let subject =
            format!("[subject.two]\nkind = '{kind}'\ncommand = ['sh', '-c', '{beside}']\n");
        fs::write(path.join("clitape.toml"), subject).unwrap();
        let test = ["test", "--yes", "--subject", "two", "--jobs", "2"];
        let told = check(path, &test, 3, &["FAILED plain-text", "2 scenarios: "], &[]);
        assert!(!told.contains("code 9"), "{told}");
        for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with("beside-") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

/// What was judged until a signal came is reported, and the exit code says that this is not all.
#[test]
fn a_run_that_is_stopped_reports_what_was_judged() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["bash-count", "long-answer", "three-tools"]);
    let path = dir.path();
    fs::write(path.join("clitape.toml"), example("", "")).unwrap();
    let own = ["test", "--jobs", "1", "--plans", "200"];
    let subject = ["test", "--yes", "--subject", "mine", "--jobs", "1"];
    for args in [&own[..], &subject] {
        let json = path.join("report.json");
        let mut command = clitape();
        command.current_dir(path).args(args).arg("--json").arg(&json);
        let mut child = command.args(["--html", "pages"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains("ok bash-count"), "{first}");
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(child.wait().unwrap().code(), Some(4), "{rest:#?}");
        let stopped = "stopped by a signal: not checked: 2 scenarios";
        assert!(rest.iter().any(|line| line == stopped), "{args:?}: {rest:#?}");
        let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(report["scenarios"].as_array().unwrap().len(), 1, "{report}");
    }
    let pages = fs::read_dir(path.join("pages")).unwrap().map(|page| page.unwrap().file_name());
    let mut pages: Vec<_> = pages.collect();
    pages.sort();
    assert_eq!(pages, ["bash-count-2.1.332.html", "index.html"], "of the subject's run");
}

#[test]
fn an_interlude_that_is_stopped_is_not_green() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text", "three-tools"]);
    fs::write(dir.path().join("clitape.toml"), example("", "")).unwrap();
    for interlude in [["--restart", "mid-turn"], ["--person", "edit"]] {
        let mut command = clitape();
        command.current_dir(dir.path()).args(["test", "--yes", "--subject", "mine", "plain-text"]);
        command.args(interlude).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        // Whenever it is stopped: an interlude takes longer.
        std::thread::sleep(Duration::from_secs(2));
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert_eq!(ended.status.code(), Some(4), "{interlude:?}\n{told}");
        assert!(!told.contains("all held") && !told.contains("nothing ran"), "{told}");
        assert!(told.contains("stopped"), "{told}");
    }
}

/// Returns the settings of the example gateway in Python, with a fault of `bugs.py`.
fn in_python(bug: &str) -> String {
    let arguments = if bug.is_empty() { String::new() } else { format!(", '--bug', '{bug}'") };
    example(&arguments, "stop = '/stop'")
}

/// Returns the settings of the example gateway on Node, which a changed copy of it may take the place of.
fn on_node(program: &Path) -> String {
    let settings = "host = 'live'\nstop = '/stop'\nquestions_asked = true";
    let python = root().join("subjects/examples/telegram.py");
    let (python, node) = (python.display().to_string(), program.display().to_string());
    example("", settings).replace("python3", "node").replace(&python, &node)
}

/// A gateway, the option of an interlude, the exit code, and what the run says.
type Interlude = (String, &'static str, i32, &'static str);

/// Plays interludes at gateways, some at a time.
fn check_interludes(scenarios: &[&str], interludes: &[Interlude]) {
    if !has_program("python3") || !has_program("node") {
        return;
    }
    for some in interludes.chunks(5) {
        std::thread::scope(|scope| {
            for (subject, interlude, exit, says) in some {
                scope.spawn(move || {
                    let dir = workspace(scenarios);
                    fs::write(dir.path().join("clitape.toml"), subject).unwrap();
                    let interlude: Vec<&str> = interlude.split(' ').collect();
                    let test = [&["test", "--yes", "--subject", "mine"], &interlude[..]].concat();
                    check(dir.path(), &test, *exit, &[*says], &[]);
                });
            }
        });
    }
}

const HELD: &str = "1 scenario: 1 cassette";

#[test]
fn a_gateway_is_killed_and_started_again() {
    let right = on_node(&root().join("subjects/examples/telegram.mjs"));
    let (after, mid_turn, question) =
        ("--restart after-answer", "--restart mid-turn", "--restart mid-question");
    check_interludes(
        &["plain-text", "three-tools", "permission-allow"],
        &[
            (in_python(""), after, 0, HELD),
            (in_python(""), mid_turn, 0, HELD),
            (in_python(""), "--restart session-gone", 0, HELD),
            (right.clone(), mid_turn, 0, HELD),
            (
                in_python("forgets-sessions"),
                after,
                0,
                "it began a new session: the agent has forgotten",
            ),
            (right, question, 0, HELD),
            (
                in_python("forgets-turns"),
                mid_turn,
                3,
                "the chat says nothing of the turn that broke",
            ),
            (in_python("drops-pending"), after, 3, "SB045"),
            (
                in_python("no-offset"),
                after,
                3,
                "had its answer, and the gateway started `claude` for",
            ),
            (in_python(""), question, 4, "nobody is asked for a permission"),
        ],
    );
}

#[test]
fn a_person_does_more_than_the_recorded_one() {
    let source = root().join("subjects/examples/telegram.mjs");
    let code = fs::read_to_string(&source).unwrap();
    let copies = tempfile::tempdir().unwrap();
    // A copy of the gateway on Node with other lines in the places of some.
    let changed = |name: &str, lines: &[(&str, &str)]| {
        let changed = lines.iter().fold(code.clone(), |code, (from, to)| {
            assert!(code.contains(from), "{from}");
            code.replace(from, to)
        });
        let path = copies.path().join(format!("{name}.mjs"));
        fs::write(&path, changed).unwrap();
        on_node(&path)
    };
    let right = || on_node(&source);
    let drops = (
        "this.turn ? void this.waiting.push(text) : this.begin(text)",
        "this.questions.size ? undefined : this.turn ? void this.waiting.push(text) : this.begin(text)",
    );
    let deaf = changed("deaf", &[drops]);
    let only_buttons = changed("buttons", &[drops, ("if (question && (yes || no))", "if (false)")]);
    let impatient = in_python("no-captions").replace("idle_s = 2", "idle_s = 2\nwithin_s = 20");
    let forgets = changed("forgets", &[(", updatedPermissions: question.rules", "")]);
    let keeps = changed(
        "keeps",
        &[
            (
                "if (how === \"Always\")",
                "if (how === \"Always\") this.always = true, this.reply(id, { behavior: \"allow\", updatedInput: question.input });\n    if (false)",
            ),
            (
                "    const asked = Object",
                "    if (this.always) return this.reply(id, { behavior: \"allow\", updatedInput: input });\n    const asked = Object",
            ),
        ],
    );
    let (long, in_turn, at_question, stop, by_text) = (
        "--person long-prompt",
        "--person message-in-turn",
        "--person message-at-question",
        "--person stop-at-once",
        "--person answer-by-text",
    );
    check_interludes(
        &["plain-text", "three-tools", "permission-allow", "live-interrupt-text"],
        &[
            (in_python(""), long, 0, "prompts of their own"),
            (right(), long, 0, "prompts of their own"),
            (
                in_python("last-of-burst"),
                long,
                3,
                "part 1 and part 2 of 3 of a prompt of 9,000 char",
            ),
            (in_python(""), in_turn, 0, HELD),
            (right(), in_turn, 0, HELD),
            (in_python("drops-second"), in_turn, 3, "during the turn, has no answer"),
            (in_python(""), stop, 0, HELD),
            (right(), stop, 0, HELD),
            (in_python("early-stop"), stop, 3, "to the end of the turn"),
            (right(), at_question, 0, HELD),
            (deaf, at_question, 3, "while a question was open, has no answer"),
            (right(), by_text, 0, HELD),
            (only_buttons, by_text, 3, "“yes”, by which the person answered the question at"),
            (in_python(""), by_text, 4, "nobody is asked"),
            (right(), "--person allow-always", 0, HELD),
            (keeps, "--person allow-always", 0, HELD),
            (forgets, "--person allow-always", 3, "asked about the same call again"),
            (in_python(""), "--person album", 0, HELD),
            (right(), "--person album", 0, HELD),
            (
                impatient,
                "--person album",
                3,
                "an album of two photos with the prompt as its caption",
            ),
            (in_python("each-photo"), "--person album", 3, "SB046"),
            (in_python(""), "--person reply", 0, HELD),
            (right(), "--person reply", 0, HELD),
            (
                in_python("quotes-only"),
                "--person reply",
                3,
                "a reply of the person to the last answer has no",
            ),
            (in_python(""), "--person edit", 0, HELD),
            (right(), "--person edit", 0, HELD),
            (in_python("edits-crash"), "--person edit", 3, "KeyError: 'message'"),
        ],
    );
}

#[test]
fn a_gateway_goes_on_with_the_newest_session_of_its_chat() {
    if !has_program("python3") || !has_program("node") {
        return;
    }
    let telegram = root().join("subjects/examples/telegram.py");
    let node = example("", "host = 'live'")
        .replace("python3", "node")
        .replace(telegram.to_str().unwrap(), telegram.with_extension("mjs").to_str().unwrap());
    let python = |bug: &str, settings: &str| example(&format!(", '--bug', '{bug}'"), settings);
    let (killed, twice) =
        (["resume-killed-mid-text", "plain-text"], ["resume-twice", "plain-text"]);
    let none = "sessions_resumed = false";
    let forgets = "Turn 2: for this message `claude` was started without `--resume`";
    std::thread::scope(|scope| {
        for (subject, played, exit, says) in [
            (example("", ""), twice, 0, "2 scenarios: 2 cassettes"),
            (example("", "chats = 'one'"), twice, 0, "2 scenarios: 2 cassettes"),
            (node, twice, 0, "2 scenarios: 2 cassettes"),
            (python("forgets-sessions", ""), killed, 3, forgets),
            (
                python("forgets-sessions", ""),
                killed,
                3,
                "if that is meant, write `sessions_resumed = false`",
            ),
            (
                python("forgets-sessions", none),
                killed,
                0,
                "begins one for each message (sessions_resumed = true)",
            ),
            (python("first-session", ""), twice, 3, "Turn 3: `claude` resumes session "),
            (
                python("one-session", "at_once = 1"),
                twice,
                3,
                "and that is the session of another chat, that of ",
            ),
        ] {
            scope.spawn(move || {
                let dir = workspace(&played);
                fs::write(dir.path().join("clitape.toml"), subject).unwrap();
                let test = ["test", "--yes", "--subject", "mine"];
                let told = check(dir.path(), &test, exit, &[], &[]);
                let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(told.contains(says), "{says}: {told}");
            });
        }
    });
}

#[test]
fn calls_of_the_chat_go_wrong_as_asked_and_the_finding_says_so() {
    if !has_program("python3") {
        return;
    }
    let dir = with_subjects(&example("", "stop = '/stop'"));
    let path = dir.path();
    let rig = ["rig", "--yes", "mine", "plain-text", "--calls"];
    // A right gateway waits as long as it is asked to, and goes on.
    let asked =
        ["calls of each chat that fail: 1:rate-limit:2s", "rate-limit:2s", "came to its end"];
    let faults = ["--chat-faults", "1:rate-limit:2s", "--pace", "40"];
    check(path, &[&rig[..], &faults].concat(), 0, &asked, &[]);
    // The line that repeats a finding has the faults.
    let hangs = "[subject.mine]\nkind = 'gateway'\nready = { output = 'up' }\nwithin_s = 1\n\
                 command = ['python3', '-c', 'print(\"up\", flush=True); import time; time.sleep(60)']\n";
    fs::write(path.join("clitape.toml"), hangs).unwrap();
    let asked: Vec<&str> = "--chat-faults sendMessage:2:lost-reply --pace 9".split(' ').collect();
    let says =
        ["SB026", "rig mine plain-text/2.1.332 --pace 9 --chat-faults sendMessage:2:lost-reply"];
    check(path, &[&rig[..], &asked].concat(), 3, &says, &[]);
    let words = "calls of each chat that fail: 1 of a hundred calls at random, by seed 7";
    let says = [words, "rig mine plain-text/2.1.332 --chat-seed 7 --chat-rate 1"];
    let seeded = ["--chat-seed", "7", "--chat-rate", "1"];
    check(path, &[&rig[..], &seeded].concat(), 3, &says, &[]);
    fs::write(path.join("clitape.toml"), example("", "")).unwrap();
    let wrong = ["test", "--chat-faults", "1:reset"];
    check(path, &wrong, 2, &[], &["name it with --subject"]);
    let wrong = ["test", "--yes", "--subject", "mine", "--chat-faults", "getMe:1:reset"];
    check(path, &wrong, 2, &[], &["is no fault of a call"]);
}

#[test]
fn another_claude_that_would_run_is_refused_and_a_subject_is_like_another() {
    if !has_program("python3") {
        return;
    }
    let toml = format!(
        "{}claude_first = ['{{root}}/there']\n[subject.other]\nlike = 'mine'\nclaude_first = []\n",
        example("", "")
    );
    let dir = with_subjects(&toml);
    let there = dir.path().join("there");
    fs::create_dir(&there).unwrap();
    check(dir.path(), &["subject", "check", "--yes", "mine"], 0, &["is answered in"], &[]);
    fs::write(there.join("claude"), "").unwrap();
    let err = ["there/claude is there, and the gateway would start it instead of the recordings"];
    check(dir.path(), &["test", "--yes", "--subject", "mine"], 2, &[], &err);
    check(dir.path(), &["subject", "check", "--yes", "other"], 0, &["is answered in"], &[]);
}

#[test]
fn a_gateway_that_ends_hangs_or_never_starts_is_told() {
    if !has_program("python3") {
        return;
    }
    let inline = |program: &str, settings: &str| {
        format!(
            "[subject.mine]\nkind = 'gateway'\ncommand = ['python3', '-c', '{program}']\n{settings}\n"
        )
    };
    let ready = "ready = { output = 'up', within_s = 5 }";
    for (toml, code, says) in [
        (inline("raise SystemExit(7)", ""), 2, "it ended with code 7 before it was ready"),
        (
            inline("import time; time.sleep(60)", "ready = { within_s = 1 }"),
            2,
            "did not ask api.telegram.org",
        ),
        (
            inline(
                "print(\"up\", flush=True); import time; time.sleep(60)",
                &format!("{ready}\nwithin_s = 1"),
            ),
            3,
            "asked for no updates and set no webhook",
        ),
        (
            inline(
                "print(\"up\", flush=True); import time; time.sleep(1); print(\"oh no\"); raise SystemExit(4)",
                ready,
            ),
            3,
            "oh no",
        ),
    ] {
        let dir = with_subjects(&toml);
        let (got, stdout, stderr) = run(dir.path(), &["test", "--yes", "--subject", "mine"]);
        let said = stdout + &stderr;
        assert!(got == code && said.contains(says), "{toml}: {got}\n{said}");
    }
}

#[test]
fn a_turn_that_nobody_began_belongs_to_the_run_however_long_the_pause_before_it() {
    if !has_program("node") {
        return;
    }
    let dir = workspace(&["bash-background"]);
    let example = example("", "host = 'live'").replace("python3", "node").replace(".py", ".mjs");
    fs::write(dir.path().join("clitape.toml"), example).unwrap();
    // The recorded pause is 5 s, and a run is over after two quiet seconds.
    let says = ["The build is running.", "The build is done.", "it came to its end"];
    check(dir.path(), &["rig", "--yes", "mine", "bash-background", "--calls"], 0, &says, &[]);
}

#[test]
fn nothing_of_a_gateway_is_left_after_a_kill() {
    if !has_program("python3") {
        return;
    }
    let dir = with_subjects(&example("", ""));
    let temporary = tempfile::tempdir().unwrap();
    let mut command = clitape();
    command.current_dir(dir.path()).args(["test", "--yes", "--subject", "mine"]);
    let mut running = command.env("TMPDIR", temporary.path()).spawn().unwrap();
    let begin = Instant::now();
    // The supervisor has the same environment. It is killed, with everything that it guards, once the gateway itself
    // runs.
    let is_gateway = |command: &String| command.contains(".py") && !command.contains("__supervise");
    while !gateways(temporary.path()).iter().any(is_gateway) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the gateway never started");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGKILL).unwrap();
    running.wait().unwrap();
    let begin = Instant::now();
    let is_clean = || {
        gateways(temporary.path()).is_empty()
            && fs::read_dir(temporary.path()).unwrap().count() == 0
    };
    while !is_clean() {
        let left = gateways(temporary.path());
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "processes or a folder are left: {left:?}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the command lines of the processes whose environment names a folder.
fn gateways(folder: &Path) -> Vec<String> {
    let home = format!("HOME={}/clitape-", folder.canonicalize().unwrap().display());
    let read = |process: &fs::DirEntry, file: &str| fs::read(process.path().join(file)).ok();
    let is_of = |process: &fs::DirEntry| {
        let environment = read(process, "environ").unwrap_or_default();
        environment.windows(home.len()).any(|part| part == home.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(is_of);
    let commands = processes.filter_map(|process| read(&process, "cmdline"));
    commands.map(|command| String::from_utf8_lossy(&command).replace('\0', " ")).collect()
}

#[test]
fn a_parser_is_compared_kind_by_kind() {
    if !has_program("python3") {
        return;
    }
    let parser = |text: &str| {
        format!(
            "import json, sys\nfor line in sys.stdin:\n  event = json.loads(line).get(\"event\") or {{}}\n  \
             delta = event.get(\"delta\") or {{}}\n  if delta.get(\"type\") == \"text_delta\":\n    \
             print(json.dumps({{\"at\": 0, \"lane\": \"lifecycle\", \"kind\": \"text\", \"data\": {{\"delta\": {text}}}}}))\n"
        )
    };
    for (text, code, says) in
        [("delta[\"text\"]", 0, "all held"), ("delta[\"text\"].upper()", 3, "SP001 parser-differs")]
    {
        let dir =
            with_subjects("[subject.p]\nkind = 'parser'\ncommand = ['python3', 'parser.py']\n");
        fs::write(dir.path().join("parser.py"), parser(text)).unwrap();
        check(dir.path(), &["test", "--yes", "--subject", "p"], code, &[says], &[]);
    }
}

#[test]
fn a_parser_that_is_started_once_reads_each_recording() {
    if !has_program("python3") {
        return;
    }
    // The parser prints a line at its start, answers each end, and runs `then` at the recording of `three-tools`.
    let parser = |then: &str| {
        format!(
            "import json, sys, time\nopen('starts', 'a').write('x')\n\
             def say(text):\n  data = {{'delta': text}}\n  \
             print(json.dumps({{'at': 0, 'lane': 'lifecycle', 'kind': 'text', 'data': data}}))\n\
             for line in sys.stdin:\n  record = json.loads(line)\n  \
             if record['type'] == 'clitape_end': print(flush=True)\n  \
             delta = record.get('event', {{}}).get('delta', {{}})\n  \
             if 'server.conf' in line: {then}\n  \
             if delta.get('type') == 'text_delta': say(delta['text'])\n"
        )
    };
    let toml =
        "[subject.p]\nkind = 'parser'\ncommand = ['python3', 'parser.py']\nstarted = 'once'\n";
    for (then, starts, code, says) in [
        ("pass", 1, 0, "all held"),
        (
            "sys.exit('no such file')",
            2,
            3,
            "the parser ended with code 1; its last words: no such file",
        ),
        (
            "time.sleep(60)",
            2,
            3,
            "the parser was given 6 s: it had not answered the line `clitape_end`",
        ),
        ("print('x' * 300_000_000)", 2, 3, "the parser: a line of more than 32MiB"),
        (
            "print('\\n'.join(['x' * 1_000_000] * 300))",
            2,
            3,
            "the parser: more than 256MiB on stdout",
        ),
        ("say('more')", 1, 3, "of the kind `text` clitape reads"),
    ] {
        let dir = workspace(&["plain-text", "three-tools", "tool-error"]);
        // A long limit for all others, so that a busy machine does not end them.
        let within_s = if then.contains("sleep") { 6 } else { 120 };
        fs::write(dir.path().join("clitape.toml"), format!("{toml}within_s = {within_s}\n"))
            .unwrap();
        fs::write(dir.path().join("parser.py"), parser(then)).unwrap();
        check(dir.path(), &["test", "--yes", "--subject", "p"], code, &[says], &[]);
        assert_eq!(fs::read(dir.path().join("starts")).unwrap().len(), starts, "{then}");
    }
}

/// Returns the settings of a subject in Python.
fn python(program: &str, settings: &str) -> String {
    format!(
        "[subject.mine]\nkind = 'gateway'\ncommand = ['python3', '-c', '''\n{program}\n''']\n{settings}\n"
    )
}

#[test]
fn a_check_says_what_a_gateway_lacks_and_what_it_printed() {
    if !has_program("python3") {
        return;
    }
    let within = |sign: &str| format!("ready = {{ {sign}, within_s = 2 }}");
    let sleep = "import time\nprint('starting', flush=True)\ntime.sleep(60)";
    let url = within("url = 'http://127.0.0.1:{port}/health'");
    let no_claude = example("", "").replace("'{claude}'", "'/nowhere/claude'");
    // Its length cuts it off, however long a slow machine takes to print that much.
    let flood = "print('x' * 100_000)\nwhile True: print('x' * 100_000)";
    let in_time = "ready = { output = 'up', within_s = 120 }";
    for (toml, says) in [
        (python(sleep, &within("poll = true")), "does it have `{token}`?"),
        (python(sleep, &within("output = 'up'")), "it did not print `up` within 2 s"),
        (python(sleep, &url), "/health did not answer with a status below 400 within 2 s"),
        (python("print(1/0)", ""), "ZeroDivisionError"),
        (python(flood, in_time), "before it was ready"),
        (
            "[subject.mine]\nkind = 'gateway'\ncommand = ['no-such-program']\n".into(),
            "no-such-program",
        ),
        (example("", "").replace("'{token}'", "'1:wrong'"), "Unauthorized"),
        (no_claude, "`claude` was not started; "),
    ] {
        let dir = with_subjects(&toml);
        let (code, stdout, stderr) = run(dir.path(), &["subject", "check", "--yes", "mine"]);
        assert!(!stdout.contains("{port}"), "{stdout}");
        let said = stdout + &stderr;
        assert!(code == 3 && said.contains(says), "{toml}: {code} without {says}\n{said}");
        assert!(said.lines().all(|line| line.chars().count() < 400), "{said}");
    }
}

/// The example gateway with habits of published ones: it compresses its calls, as grammY does on Bun; it drops an
/// update whose message id it has seen in any chat; it calls a method of a later Bot API; and it makes calls that are
/// refused.
const HABITS: &str = r"
import collections, concurrent.futures, gzip, sys, urllib.request
sys.path.insert(0, 'EXAMPLES')
import telegram
plain = urllib.request.Request
def compressed(url, body, headers):
    return plain(url, gzip.compress(body), {**headers, 'Content-Encoding': 'gzip'})
telegram.urllib.request.Request = compressed
def refused(method, **params):
    try: telegram.call(method, **params)
    except RuntimeError: pass
def answer(chat, prompt):
    refused('sendDice', chat_id=chat)
    note = telegram.call('sendMessage', chat_id=chat, text='I&#x27;ll &lt;look&gt;', parse_mode='HTML')['message_id']
    refused('editMessageText', chat_id=chat, message_id=note, text='\n')
    telegram.answer(chat, prompt)
    telegram.call('deleteMessage', chat_id=chat, message_id=note)
chats, offset, seen = collections.defaultdict(lambda: concurrent.futures.ThreadPoolExecutor(1)), 0, set()
while True:
    for update in telegram.call('getUpdates', offset=offset, timeout=50):
        offset, message = update['update_id'] + 1, update.get('message') or {}
        if 'text' in message and message['message_id'] not in seen:
            seen.add(message['message_id'])
            chats[message['chat']['id']].submit(answer, message['chat']['id'], message['text'])
";

#[test]
fn habits_of_published_gateways_are_understood_and_refused_calls_are_marked() {
    if !has_program("python3") {
        return;
    }
    let program = HABITS.replace("EXAMPLES", root().join("subjects/examples").to_str().unwrap());
    let env =
        "env = { TELEGRAM_API = '{bot_api}', TELEGRAM_TOKEN = '{token}', CLAUDE_BIN = '{claude}' }";
    let dir = workspace(&["plain-text", "three-tools"]);
    let path = dir.path();
    fs::write(path.join("clitape.toml"), python(&program, &format!("idle_s = 2\n{env}"))).unwrap();
    let unknown = |count: usize| {
        format!(
            "it called methods that the chat server does not know: sendDice ×{count}; they were answered with 404"
        )
    };
    let (once, twice) = (unknown(1), unknown(2));
    let test = ["test", "--yes", "--subject", "mine", "plain-text", "three-tools"];
    check(path, &test, 0, &["all held", &twice], &[]);
    check(path, &["subject", "check", "--yes", "mine"], 0, &["answered in", &once], &[]);
    let says = [
        "sendDice {} → refused: Not Found",
        "sendMessage #2 \"I&#x27;ll &lt;look&gt;\"",
        "editMessageText #2 \"\\n\" → refused: Bad Request: message text is empty",
        "deleteMessage",
        &once,
    ];
    check(path, &["rig", "--yes", "mine", "plain-text", "--calls"], 0, &says, &[]);
}

#[test]
fn a_gateway_that_answers_at_a_url_is_ready() {
    if !has_program("python3") {
        return;
    }
    let dir = with_subjects(
        "[subject.mine]\nkind = 'gateway'\nwithin_s = 1\n\
         command = ['python3', '-m', 'http.server', '--bind', '127.0.0.1', '{port}']\n\
         ready = { url = 'http://127.0.0.1:{port}/' }\n",
    );
    let says = ["it starts and is ready after", "`claude` was not started"];
    check(dir.path(), &["subject", "check", "--yes", "mine"], 3, &says, &[]);
}

#[test]
fn known_differences_mark_what_is_known_and_a_row_that_is_over_or_unused_stands_out() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text", "three-tools"]);
    let settings = "known = 'known.toml'\nexcept = { three-tools = 'tools are not shown yet' }";
    let toml = example(", '--bug', 'answer-twice'", settings);
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    let row = |rule: &str, expires: &str| {
        format!(
            "[[known]]\nrule = '{rule}'\nscenario = 'plain-*'\nreason = 'issue 12'\nexpires = '{expires}'\n"
        )
    };
    let known = |rows: &[String]| fs::write(dir.path().join("known.toml"), rows.concat()).unwrap();
    let test = ["test", "--yes", "--subject", "mine"];
    let marked = row("answer-twice", "9999-01-31");
    known(std::slice::from_ref(&marked));
    let says = [
        "all held but 1 known difference",
        "known: ",
        "(issue 12)",
        "tools are not shown yet: three-tools/",
    ];
    check(dir.path(), &test, 0, &says, &[]);
    known(&[marked, row("SB012", "9999-01-31")]);
    check(dir.path(), &test, 3, &["SB031 known-unused"], &[]);
    known(&[row("answer-twice", "2020-01-31")]);
    check(dir.path(), &test, 3, &["SB030 known-expired", "2020-01-31", "SB004"], &[]);
}

/// A pipe does not keep lines together, and a chat server may ask to wait at any call: a run without options shows both.
#[test]
fn lines_in_two_pieces_and_a_429_at_the_result_are_parts_of_each_run() {
    if !has_program("python3") {
        return;
    }
    // A gateway that waits for the end of `claude`, which may come long after the result.
    let late = workspace(&["plain-text"]);
    fs::write(late.path().join("clitape.toml"), example(", '--bug', 'late-answer'", "")).unwrap();
    let told = check(late.path(), &["test", "--yes", "--subject", "mine"], 3, &["SB051"], &[]);
    let lives_on = told.split("reproduce: clitape ").nth(1).unwrap().lines().next().unwrap();
    let rig = [&["rig", "--yes"][..], &lives_on.split(' ').skip(1).collect::<Vec<_>>()].concat();
    check(late.path(), &rig, 3, &["`claude` lived on until"], &[]);
    check(late.path(), &["rig", "--yes", "mine", "plain-text"], 0, &[], &[]);
    let dir = workspace(&["plain-text"]);
    let write = |bug: &str| fs::write(dir.path().join("clitape.toml"), example(bug, "")).unwrap();
    let test = ["test", "--yes", "--subject", "mine"];
    write("");
    check(dir.path(), &test, 0, &["all held"], &[]);
    write(", '--bug', 'per-read'");
    check(dir.path(), &test, 3, &["SB001 answer-missing"], &[]);
    check(dir.path(), &["rig", "--yes", "mine", "plain-text"], 3, &["SB001 answer-missing"], &[]);
    check(dir.path(), &["subject", "check", "--yes", "mine"], 3, &["never came to the chat"], &[]);
    check(dir.path(), &["rig", "--yes", "mine", "plain-text", "--whole-lines"], 0, &[], &[]);
    write(", '--bug', 'give-up'");
    let at_result = "--chat-faults result:1:rate-limit:3s";
    let told = check(dir.path(), &test, 3, &["SB001 answer-missing", at_result], &[]);
    assert!(told.contains("clitape rig mine plain-text/"), "{told}");
    let again = ["--chat-faults", "result:1:rate-limit:3s"];
    let rig = [&["rig", "--yes", "mine", "plain-text"][..], &again].concat();
    check(dir.path(), &rig, 3, &["SB001 answer-missing"], &[]);
    check(dir.path(), &["rig", "--yes", "mine", "plain-text"], 0, &[], &[]);
}

/// A gateway with one chat may be wrong because of what came before in it, and one that writes into its folder because of
/// an earlier run.
#[test]
fn what_came_before_is_part_of_the_command_and_what_is_left_is_named() {
    if !has_program("python3") {
        return;
    }
    // The second turn of a start, whatever it is about, has no answer.
    let dir = workspace(&["plain-text", "three-tools"]);
    let once = "import sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[:1]\n\
        import telegram as gateway\n\
        finish, count = gateway.Turn.finish, []\n\
        def first(turn, code):\n  \
          count.append(1); open('count.txt', 'w').write(str(len(count)))\n  \
          if len(count) < 2: finish(turn, code)\n\
        gateway.Turn.finish, gateway.Turn.show = first, lambda turn: None\n\
        source = open(gateway.__file__).read().split('__main__\":')[1]\n\
        exec('if True:' + source, vars(gateway))";
    let folder = root().join("subjects/examples");
    let env =
        "env = { TELEGRAM_API = '{bot_api}', TELEGRAM_TOKEN = '{token}', CLAUDE_BIN = '{claude}' }";
    let toml = format!(
        "[subject.mine]\nkind = 'gateway'\nchats = 'one'\nidle_s = 2\nprogress_shown = false\ntools_shown = false\n{env}\n\
         command = ['python3', '-c', \"\"\"{once}\"\"\", '{}']\n",
        folder.display()
    );
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    let test = ["test", "--yes", "--subject", "mine", "three-tools", "plain-text"];
    let left = "`count.txt` was written into the folder of clitape.toml";
    let told = check(dir.path(), &test, 3, &["SB001 answer-missing", left], &[]);
    let line = told.split("reproduce: clitape ").nth(1).unwrap().lines().next().unwrap();
    assert!(line.starts_with("test --subject mine three-tools/"), "{told}");
    let again = [&["test", "--yes"][..], &line.split(' ').skip(1).collect::<Vec<_>>()].concat();
    check(dir.path(), &again, 3, &["SB001 answer-missing"], &[]);
    check(dir.path(), &["rig", "--yes", "mine", "plain-text"], 0, &[], &[]);
}

#[test]
fn words_of_another_conversation_are_convicted_by_a_command_that_plays_both() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text", "three-tools"]);
    let toml = example(", '--bug', 'one-for-all'", "");
    fs::write(dir.path().join("clitape.toml"), toml).unwrap();
    let test = ["test", "--yes", "--subject", "mine"];
    let told = check(dir.path(), &test, 3, &["SB035 other-conversation", "that of "], &[]);
    let (_, found) = told.split_once("SB035").unwrap();
    let (_, line) = found.split_once("reproduce: clitape test --subject mine ").unwrap();
    let names: Vec<&str> = line.lines().next().unwrap().split(' ').collect();
    let scenarios: Vec<&str> = names.iter().filter_map(|name| name.split('/').next()).collect();
    assert!(scenarios.contains(&"plain-text") && scenarios.contains(&"three-tools"), "{told}");
    check(dir.path(), &[&test[..], &names].concat(), 3, &["SB035 other-conversation"], &[]);
}

#[test]
fn a_gateway_that_sends_too_much_is_ended_with_a_finding() {
    if !has_program("python3") {
        return;
    }
    // The commands of each language have a field that the Bot API does not know, and the Bot API does not limit how
    // often they are set.
    let flood = "import json, os, time, urllib.request\n\
        api = os.environ['API'] + '/bot' + os.environ['TOKEN'] + '/'\n\
        def call(method, **params):\n  \
          request = urllib.request.Request(api + method, json.dumps(params).encode(), {'Content-Type': 'application/json'})\n  \
          return json.load(urllib.request.urlopen(request))['result']\n\
        while not call('getUpdates', timeout=9): pass\n\
        print('flooding ' + api, flush=True)\n\
        command = {'command': 'a', 'description': 'b', 'more': 'x' * 300_000}\n\
        for number in range(100):\n  \
          try: call('setMyCommands', commands=[command], language_code=str(number))\n  \
          except OSError: time.sleep(1)";
    let env = "env = { API = '{bot_api}', TOKEN = '{token}' }";
    let dir = with_subjects(&python(flood, env));
    let says = ["SB029 subject-flooded", "more than 4MiB would have to be kept", "`--max-kept`"];
    let test = ["test", "--yes", "--subject", "mine", "--max-kept", "4MiB"];
    check(dir.path(), &test, 3, &says, &[]);
    // The token differs in each run, and is masked.
    let rig = ["rig", "--yes", "mine", "plain-text", "--calls", "--max-kept", "4MiB"];
    let shown = check(dir.path(), &rig, 3, &["flooding http://127.0.0.1", "/bot4242:***/"], &[]);
    assert_eq!(shown.matches("4242:").count(), shown.matches("4242:***").count(), "{shown}");
}
