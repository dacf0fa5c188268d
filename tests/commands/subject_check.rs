//! Tests of `clitape subject check` with gateways that have a wrong setting: it ends by itself, names the problem, and
//! shows the facts and a proposal. Without python3 these tests pass without a check; they fail instead if
//! `CLITAPE_REQUIRE` names it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that can't be set up fails")]

use std::fs;
use std::process::Command;
use std::sync::Mutex;

use crate::common::{check, has_program, root, run, workspace};

/// A gateway, and the expected output of a check of it.
struct Case {
    /// The rows of `env` that replace usual ones or are added to them.
    env: &'static [(&'static str, &'static str)],
    /// Further lines of the settings.
    settings: &'static str,
    /// The expected parts of the output, in this order.
    says: &'static [&'static str],
}

/// Returns the settings of a case's gateway.
fn subject(case: &Case) -> String {
    let mut env = vec![
        ("TELEGRAM_API", "{bot_api}"),
        ("TELEGRAM_TOKEN", "{token}"),
        ("CLAUDE_BIN", "{claude}"),
    ];
    env.retain(|(name, _)| case.env.iter().all(|(other, _)| other != name));
    env.extend(case.env.iter().filter(|(_, value)| *value != "unset"));
    let env: Vec<_> = env.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
    let bot = root().join("tests/commands/subject_check/bot.py");
    let command = format!("command = ['python3', '{}']\n", bot.display());
    let command = if case.settings.contains("command") { "" } else { &command };
    let settings = case.settings;
    let env = env.join(", ");
    format!("[subject.mine]\nkind = 'gateway'\n{command}{settings}\nenv = {{ {env} }}\n")
}

/// Checks that a text has these parts, one after another.
fn check_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("no `{part}` there, in this order:\n{text}")
        };
        rest = after;
    }
}

const STILL: &str = "has done nothing for 8 s";

const CASES: [Case; 17] = [
    Case {
        env: &[("MODE", "prompts")],
        settings: "",
        says: &[
            "asks for an answer on a terminal",
            "Fix this now? (y/n):",
            "→ write what it asks for",
        ],
    },
    Case {
        env: &[("TELEGRAM_TOKEN", "4242:other")],
        settings: "",
        says: &[
            "did not ask http://127.0.0.1:",
            "getUpdates: Unauthorized",
            "again: ",
            "→ write `{token}`",
        ],
    },
    Case {
        env: &[("TELEGRAM_TOKEN", "4242:other"), ("MODE", "gives up")],
        settings: "",
        says: &["ended with code 1 before", "getUpdates: Unauthorized", "→ write `{token}`"],
    },
    Case {
        env: &[("MODE", "no verbose")],
        settings: "",
        says: &[
            "claude refuses its arguments: Error: When using --print",
            "the recording has `--verbose`, and the gateway does not pass it",
            "→ start `claude` with arguments that this version of it takes",
        ],
    },
    Case {
        env: &[("TELEGRAM_API", "{bot_api}/bot")],
        settings: "",
        says: &[": Not Found", "→ `{bot_api}` is the address without"],
    },
    Case {
        env: &[("TELEGRAM_API", "http://127.0.0.1:9")],
        settings: "",
        says: &[
            "did not ask api.telegram.org",
            STILL,
            "the last lines that it printed:",
            "again: ",
        ],
    },
    Case {
        env: &[("ALLOWED", "5,6")],
        settings: "",
        says: &[
            "it starts and is ready",
            "`claude` was not started",
            "the chat has: “Unauthorized. Your chat ID is: 7000002 & no other”",
            "→ it does not know this person: write `{person}`",
        ],
    },
    Case {
        env: &[("ALLOWED", "5"), ("MODE", "ignores")],
        settings: "",
        says: &["`claude` was not started", STILL, "the chat has no message", "`{person}`"],
    },
    Case {
        env: &[("CLAUDE_BIN", "/nowhere/claude")],
        settings: "",
        says: &["`claude` was not started", "No such file", "→ it did not find `claude`"],
    },
    Case {
        env: &[("TELEGRAM_TOKEN", "unset"), ("TOKEN", "{token}")],
        settings: "",
        says: &["ended with code 1 before", "KeyError", "→ it reads the variable TELEGRAM_TOKEN"],
    },
    Case {
        env: &[],
        settings: "command = ['./none']",
        says: &["can't start ./none", "→ `command` names the program"],
    },
    Case {
        env: &[],
        settings: "command = ['python3', '-m', 'no_such_gateway']",
        says: &["before it was ready", "→ the Python of `command` has no `no_such_gateway`"],
    },
    Case {
        env: &[("MODE", "session")],
        settings: "",
        says: &[
            "the chat has: “No active session.",
            "→ it waits for a command first: write `first = [\"/new test\"]`",
        ],
    },
    Case {
        env: &[("MODE", "echo")],
        settings: "",
        says: &[
            "`claude` was not started",
            "the chat has: “You said something.”",
            "start the program `{claude}`",
        ],
    },
    Case {
        env: &[("MODE", "own prompt")],
        settings: "",
        says: &[
            "nothing says which cassette to play",
            "the chat has: “Error: ",
            "→ pass the person's message on to `claude` as it is",
        ],
    },
    Case {
        env: &[("MODE", "writes nothing")],
        settings: "host = 'live'",
        says: &[
            STILL,
            "`claude` was started, and got no message: claude -p --input-format stream-json",
        ],
    },
    Case {
        env: &[("MODE", "ends")],
        settings: "",
        says: &["ended with code 1", "the database is locked"],
    },
];

#[test]
fn a_wrong_setting_is_named_before_any_limit() {
    if !has_program("python3") {
        return;
    }
    let cases = Mutex::new(CASES.iter());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = { cases.lock().unwrap().next() } {
                    let dir = workspace(&["plain-text"]);
                    fs::write(dir.path().join("clitape.toml"), subject(case)).unwrap();
                    let (code, out, err) = run(dir.path(), &["subject", "check", "--yes", "mine"]);
                    let text = format!("{:?} {}\n{out}{err}", case.env, case.settings);
                    assert_eq!(code, 3, "{text}");
                    check_order(&text, case.says);
                    assert!(!text.contains("within 60 s"), "a limit ended it: {text}");
                }
            });
        }
    });
}

#[test]
fn a_slow_gateway_is_waited_for_and_its_output_is_kept() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text"]);
    let case = Case { env: &[("MODE", "slow")], settings: "", says: &[] };
    fs::write(dir.path().join("clitape.toml"), subject(&case)).unwrap();
    let says = ["it starts and is ready", "is answered in", "next: clitape test --subject mine"];
    check(dir.path(), &["subject", "check", "--yes", "mine"], 0, &says, &[]);
    // The log has the whole output, without the token.
    let settings = "ready = { poll = true, within_s = 4 }";
    let case = Case { env: &[("TELEGRAM_API", "{bot_api}/{token}")], settings, says: &[] };
    fs::write(dir.path().join("clitape.toml"), subject(&case)).unwrap();
    for command in
        ["subject check --yes mine", "rig --yes mine plain-text", "test --yes --subject mine"]
    {
        let log = dir.path().join("its.log");
        fs::write(&log, "of an earlier run").unwrap();
        let args: Vec<_> = command.split(' ').chain(["--log", "its.log"]).collect();
        run(dir.path(), &args);
        let kept = fs::read_to_string(&log).unwrap();
        assert!(kept.starts_with("again: "), "{command}: {kept}");
        assert!(kept.contains("4242:***") && !kept.contains("earlier"), "{command}: {kept}");
        fs::remove_file(&log).unwrap();
    }
    let err = ["--subject"];
    check(dir.path(), &["test", "--log", "its.log"], 2, &[], &err);
}

#[test]
fn a_finding_that_does_not_show_alone_says_so() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text", "thinking"]);
    let settings = "idle_s = 2\nprogress_shown = false";
    for (mode, is_told) in [("tires", true), ("tired", false)] {
        let env: &'static [_] = if is_told { &[("MODE", "tires")] } else { &[("MODE", "tired")] };
        fs::write(dir.path().join("clitape.toml"), subject(&Case { env, settings, says: &[] }))
            .unwrap();
        let test = ["test", "--yes", "--subject", "mine", "plain-text", "thinking"];
        let told = check(dir.path(), &test, 3, &["SB001 answer-missing"], &[]);
        assert_eq!(
            told.contains("played once more alone, it did not show"),
            is_told,
            "{mode}: {told}"
        );
    }
}

#[test]
fn a_gateway_that_tells_of_tools_alone_is_not_convicted() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text", "three-tools"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let started = elsewhere.path().join("started");
    let gateway = root().join("subjects/examples/telegram.py");
    // The second start tells of tools, or none does.
    for (bug, code, says) in [
        (
            "[ -e $0 ] || bug='--bug silent-tools'; touch $0",
            0,
            "one did, so that this is no finding",
        ),
        ("bug='--bug silent-tools'", 3, "SB016 tools-untold subject mine: three-tools/"),
    ] {
        let toml = format!(
            "[subject.mine]\nkind = 'gateway'\nidle_s = 2\n\
             command = ['sh', '-c', \"\"\"{bug}; exec python3 {} $bug\"\"\", '{}']\n\
             env = {{ TELEGRAM_API = '{{bot_api}}', TELEGRAM_TOKEN = '{{token}}', CLAUDE_BIN = '{{claude}}' }}\n",
            gateway.display(),
            started.display()
        );
        fs::write(dir.path().join("clitape.toml"), toml).unwrap();
        let named = ["plain-text", "three-tools", "--pace", "100"];
        let test = [&["test", "--yes", "--subject", "mine"][..], &named].concat();
        check(dir.path(), &test, code, &[says], &[]);
    }
}

#[test]
fn a_gateway_is_proven_from_its_run() {
    if !has_program("python3") || !has_program("git") {
        return;
    }
    let dir = workspace(&["plain-text"]);
    let case = Case { env: &[], settings: "idle_s = 2", says: &[] };
    fs::write(dir.path().join("clitape.toml"), subject(&case)).unwrap();
    let proof = ["proof", "--yes", "--no-png", "--subject", "mine", "plain-text", "--out", "p"];
    let prove = || {
        check(dir.path(), &proof, 0, &["wrote p/proof.md"], &[]);
        fs::read_to_string(dir.path().join("p/proof.md")).unwrap()
    };
    let verify = ["proof", "--check", "p/proof.md"];
    // Nobody can find out what ran there.
    assert!(prove().contains("- Subject: mine\n- Revision: unknown\n- Run: `clitape proof --yes "));
    check(dir.path(), &verify, 3, &["say nothing", "\n  Revision\n"], &[]);
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
        let git = Command::new("git").current_dir(dir.path()).args(who).args(args).status();
        assert!(git.unwrap().success(), "{args:?}");
    }
    let text = prove();
    check(dir.path(), &verify, 0, &["passed: "], &[]);
    let page = fs::read_to_string(dir.path().join("p/index.html")).unwrap();
    for (told, whole) in [
        ("### ", &text),
        (" (plain-text/2.1.332): all held\n", &text),
        ("gateway (real: mine, `python3", &text),
        (" You ─╮\n", &text),
        ("the server and network of a real chat service", &text),
        ("What was run is mine, revision ", &page),
        ("last</b>", &page),
        ("What is recorded and what is real", &page),
    ] {
        assert!(whole.contains(told), "no `{told}` in\n{whole}");
    }
    let path = dir.path().join("p/proof.md");
    let told = "contradicted: the text does not name the subject that was tested: mine";
    fs::write(&path, text.replace("mine", "another")).unwrap();
    check(dir.path(), &verify, 3, &[told], &[]);
}

#[test]
fn every_recording_that_was_played_has_a_page() {
    if !has_program("python3") {
        return;
    }
    let dir = workspace(&["plain-text"]);
    let case = Case { env: &[], settings: "idle_s = 2", says: &[] };
    fs::write(dir.path().join("clitape.toml"), subject(&case)).unwrap();
    let test = ["test", "--yes", "--subject", "mine", "plain-text", "--html", "pages"];
    check(dir.path(), &test, 0, &["all held"], &[]);
    let index = fs::read_to_string(dir.path().join("pages/index.html")).unwrap();
    let file = index.split('"').find(|part| part.starts_with("plain-text-")).unwrap();
    let page = fs::read_to_string(dir.path().join("pages").join(file)).unwrap();
    assert!(page.contains("What is recorded and what is real"));
}

#[test]
fn a_scenario_that_does_not_exist_is_named() {
    let dir = workspace(&["plain-text"]);
    let said = "of the subject names plane-text, and there is no such scenario; did you mean `plain-text`?";
    for (key, kind) in [
        ("scenarios = ['plane-text']", "gateway"),
        ("except = { plane-text = 'slow' }", "gateway"),
        ("scenarios = ['plane-text']", "parser"),
    ] {
        let toml = format!("[subject.mine]\nkind = '{kind}'\ncommand = ['true']\n{key}\n");
        fs::write(dir.path().join("clitape.toml"), toml).unwrap();
        check(dir.path(), &["test", "--yes", "--subject", "mine"], 2, &[], &[said]);
        if kind == "gateway" {
            check(dir.path(), &["subject", "check", "--yes", "mine"], 2, &[], &[said]);
        }
    }
}

#[test]
fn every_recipe_is_read_and_has_six_lines() {
    let page = fs::read_to_string(root().join("docs/recipes/libraries.md")).unwrap();
    let dir = workspace(&[]);
    let mut recipes = 0;
    for section in page.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap();
        let Some((_, rest)) = section.split_once("```toml\n") else { continue };
        let (toml, _) = rest.split_once("```").unwrap();
        fs::write(dir.path().join("clitape.toml"), toml).unwrap();
        check(dir.path(), &["subject", "list"], 0, &["mine", "gateway"], &[]);
        assert!(toml.lines().count() <= 6, "{title}: {toml}");
        recipes += 1;
    }
    assert_eq!(recipes, 7);
    // The rows of the page that a gateway may need beside those.
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains(" = "));
    for row in rows {
        let keys: Vec<_> = row.split('`').filter(|part| part.contains(" = ")).collect();
        let head = "[subject.mine]\nkind = 'gateway'\ncommand = ['a']\n";
        let toml = format!("{head}{}\n", keys.join("\n"));
        fs::write(dir.path().join("clitape.toml"), &toml).unwrap();
        check(dir.path(), &["subject", "list"], 0, &["mine"], &[]);
    }
}
