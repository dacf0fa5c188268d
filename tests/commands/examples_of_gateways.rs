//! Tests of the example gateways in `subjects/examples/` between the stand-in and the chat server, in real time: the
//! right ones pass every rule, and each fault of `bugs.py` is convicted by its rule. Without Python or Node, its part
//! is left out; it fails instead if `CLITAPE_REQUIRE` names `python3` or `node`.

#![cfg(unix)]
#![allow(clippy::expect_used, reason = "a test that can't be set up fails")]

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clitape_recording::cassette::Cassette;
use clitape_recording::facts::LazyFacts;
use clitape_recording::trace::Entry;

use crate::common::has_program;
use clitape_judge::observation::{Observation, ObservedEnding, PlayedTurn, SubjectTraits};
use clitape_judge::{FindingKind as K, Violation, judge};
use clitape_rig::chat_server::{ChatServer, ChatServerSettings, Faults, PressTarget};
use clitape_rig::stand_in;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

/// The chat in which the person writes.
const CHAT: i64 = 1_000;
/// The longest time of a run, and the time of quiet after which it is over.
const LIMIT: Duration = Duration::from_secs(120);
const QUIET: Duration = Duration::from_secs(8);

/// A run of a gateway, with the rule that convicts it.
struct Run {
    gateway: &'static str,
    bug: &'static str,
    cassette: &'static str,
    play: &'static str,
    faults: &'static str,
    /// The rule that must convict it. Further rules may, because one fault has several effects.
    convicts: Option<K>,
}

/// Makes a run of the Python gateway with a fault, on `three-tools` in canonical pieces.
const fn bug(bug: &'static str, rule: K) -> Run {
    let (gateway, cassette, play) = ("telegram.py", "three-tools/2.1.329", "canonical");
    Run { gateway, bug, cassette, play, faults: "", convicts: Some(rule) }
}

/// Makes a run of a right gateway on a cassette.
const fn right(gateway: &'static str, cassette: &'static str, play: &'static str) -> Run {
    Run { gateway, bug: "", cassette, play, faults: "", convicts: None }
}

const WAITS: &str = "3:rate-limit:4s";
const RUNS: [Run; 44] = [
    bug("silent-tools", K::ToolsUntold),
    bug("args-empty", K::ArgumentsEmpty),
    bug("late-edit", K::AnswerOverwritten),
    bug("answer-twice", K::AnswerTwice),
    bug("blank", K::BlankScreen),
    bug("glued", K::TextGlued),
    Run { cassette: "hostile-output/2.1.329", ..bug("no-escape", K::MarkupRefused) },
    Run { cassette: "long-answer/2.1.329", play: "recorded", ..bug("too-long", K::MessageTooLong) },
    Run { faults: WAITS, ..bug("ignore-429", K::WaitIgnored) },
    bug("running-left", K::RunningLeft),
    bug("draft-left", K::DraftLeft),
    bug("typing-left", K::TypingLeft),
    Run { cassette: "resume-killed-mid-text/2.1.329", ..bug("hang-after-kill", K::FailureUntold) },
    bug("crash", K::SubjectDied),
    bug("failed-anyway", K::SuccessToldFailed),
    bug("trimmed", K::BlanksLost),
    Run { cassette: "cut-off-line/2.1.330", ..bug("raw-records", K::RecordShown) },
    Run { cassette: "thinking/2.1.332", ..bug("thoughts", K::ReasoningInAnswer) },
    Run { cassette: "subagent-background/2.1.332", ..bug("subagents", K::SubagentInAnswer) },
    Run { cassette: "tool-error/2.1.332", ..bug("all-done", K::FailureShownDone) },
    Run { cassette: "cut-off-line/2.1.330", ..bug("done-anyway", K::FailureUntold) },
    Run { cassette: "sigint-mid-text/2.1.332", ..bug("errors-dropped", K::FailureUntold) },
    bug("status-left", K::RunningLeft),
    Run { cassette: "secrets/2.1.332", ..bug("open-draft", K::SecretShown) },
    bug("one-input", K::ArgumentOfAnother),
    bug("first-delta", K::ArgumentsEmpty),
    Run { cassette: "long-answer/2.1.329", play: "recorded", ..bug("collapsed", K::BlanksLost) },
    right("telegram.py", "three-tools/2.1.329", "canonical"),
    right("telegram.py", "plain-text/2.1.329", "recorded"),
    right("telegram.py", "hostile-output/2.1.329", "canonical"),
    right("telegram.py", "long-answer/2.1.329", "recorded"),
    right("telegram.py", "no-partials/2.1.329", "canonical"),
    right("telegram.py", "api-400/2.1.329", "recorded"),
    right("telegram.py", "resume-killed-mid-text/2.1.329", "canonical"),
    Run { faults: WAITS, ..right("telegram.py", "three-tools/2.1.329", "canonical") },
    right("telegram.mjs", "three-tools/2.1.329", "canonical"),
    right("telegram.mjs", "plain-text/2.1.329", "recorded"),
    right("telegram.mjs", "long-answer/2.1.329", "recorded"),
    right("telegram.mjs", "unicode/2.1.329", "canonical"),
    right("telegram.mjs", "permission-allow/2.1.332", "canonical"),
    right("telegram.mjs", "permission-long/2.1.332", "canonical"),
    right("telegram.mjs", "bash-background/2.1.332", "recorded"),
    right("telegram.mjs", "subagent-background-live/2.1.332", "recorded"),
    Run { faults: WAITS, ..right("telegram.mjs", "three-tools/2.1.329", "canonical") },
];

#[test]
fn each_fault_is_convicted_by_its_rule_and_a_right_gateway_by_none() {
    let only = std::env::var("CLITAPE_EXAMPLE").unwrap_or_default();
    let has = ["python3", "node"].map(has_program);
    let wrong: Vec<String> = scope(|scope| {
        let runs = RUNS.iter().filter(|run| {
            let named = format!("{} {} {}", run.gateway, run.bug, run.cassette).contains(&only);
            named && has[usize::from(run.gateway.ends_with("mjs"))]
        });
        let threads: Vec<_> = runs.map(|run| scope.spawn(|| judged(run))).collect();
        let results =
            threads.into_iter().map(|thread| thread.join().expect("a run does not panic"));
        results.filter_map(Result::err).collect()
    });
    assert!(wrong.is_empty(), "{} runs:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Runs a gateway, and compares the findings of the judge with the expected ones.
fn judged(run: &Run) -> Result<(), String> {
    let Run { gateway, bug, cassette: name, convicts, .. } = run;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cassette = Cassette::load(&root.join("cassettes").join(name)).expect("a cassette");
    let Seen { entries, turns, ending, words } = watched(run);
    let calls: Vec<String> = entries.iter().map(Entry::to_line).collect();
    let traits = SubjectTraits {
        one_message: bug.is_empty() && !name.contains("long"),
        ..SubjectTraits::default()
    };
    let facts = Arc::new(LazyFacts::of(&cassette));
    let found =
        judge(&Observation { turns, ending, traits, ..Observation::of_chat(facts, entries) });
    let kinds: Vec<K> = found.iter().map(|Violation { kind, .. }| *kind).collect();
    let is_right = match convicts {
        Some(rule) => kinds.contains(rule),
        None => kinds.is_empty(),
    };
    let found: Vec<String> =
        found.iter().map(|found| format!("{}: {}", found.kind, found.sentence)).collect();
    let (found, calls) = (found.join("\n"), calls.join("\n"));
    let told = format!("{gateway} {bug} {name}, expected {convicts:?}:\n{found}");
    if std::env::var_os("CLITAPE_EXAMPLE").is_some() {
        println!("{told}\n");
    }
    if is_right { Ok(()) } else { Err(format!("{told}\n{calls}\n{words}")) }
}

/// The observation of a run.
struct Seen {
    entries: Vec<Entry>,
    turns: Vec<PlayedTurn>,
    ending: ObservedEnding,
    words: String,
}

/// Starts a gateway, writes to it, and watches until the chat is quiet.
fn watched(run: &Run) -> Seen {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| dir.path().join(name);
    let server =
        ChatServer::start(ChatServerSettings::default(), Arc::default()).expect("a server");
    if !run.faults.is_empty() {
        let faults = run.faults.split(',').map(|fault| fault.parse().expect("a fault"));
        server.set_faults(CHAT, Faults::Listed(faults.collect())).expect("a chat");
    }
    let program = Path::new(env!("CARGO_BIN_EXE_clitape"));
    let claude = stand_in::install(program, &path("bin")).expect("the stand-in");
    let log = path("log");
    let words = path("words");
    let mut command = Command::new(if run.gateway.ends_with("py") { "python3" } else { "node" });
    command.arg(root.join("subjects/examples").join(run.gateway));
    if !run.bug.is_empty() {
        command.args(["--bug", run.bug]);
    }
    let started = command
        .current_dir(dir.path())
        .envs([
            ("HOME", dir.path()),
            ("CLITAPE_ROOT", root),
            ("CLITAPE_LOG", &log),
            ("CLAUDE_BIN", &claude),
        ])
        .env("TELEGRAM_API", server.url())
        .env("TELEGRAM_TOKEN", server.token())
        .env("CLITAPE_PLAY", run.play)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&words).expect("a file"))
        .process_group(0)
        .spawn();
    let mut gateway = Gateway(started.expect("the gateway starts"));
    let begun = Instant::now();
    while !server.polled() && begun.elapsed() < LIMIT && gateway.ended().is_none() {
        sleep(Duration::from_millis(50));
    }
    let said_at = unix_ms();
    server.say(CHAT, &format!("Please do it. [[clitape:{}]]", run.cassette)).expect("a message");
    let mut ending = None;
    while ending.is_none() {
        sleep(Duration::from_millis(200));
        let is_asked = server.entries(CHAT).iter().any(|entry| entry.field("buttons").is_some());
        if is_asked && !server.entries(CHAT).iter().any(|entry| entry.kind == "(press)") {
            server.press(CHAT, PressTarget::Last, "Allow").expect("a button");
        }
        let words = || std::fs::read_to_string(&words).unwrap_or_default();
        let is_played = events(&log, "turn_end").next().is_some();
        ending = if let Some(how) = gateway.ended() {
            Some(ObservedEnding::Died { how: how.to_string(), last_words: words() })
        } else if is_played && quiet_for(&server) > QUIET {
            Some(ObservedEnding::Over)
        } else if begun.elapsed() > LIMIT {
            let (waited_s, waited_for) = (LIMIT.as_secs(), "the run was not over".to_owned());
            Some(ObservedEnding::Hung { waited_s, waited_for, last_words: words() })
        } else {
            None
        };
    }
    let at = |event: &Value| event["at"].as_u64().unwrap_or_default().saturating_sub(said_at);
    let ends = events(&log, "turn_end").map(|event| at(&event)).collect::<Vec<_>>();
    let begins = events(&log, "turn").map(|event| at(&event));
    let turns = begins.zip(ends.iter().map(|end| Some(*end)).chain(std::iter::repeat(None)));
    let turns = turns.map(|(began_ms, ended_ms)| PlayedTurn { began_ms, ended_ms }).collect();
    let words = std::fs::read_to_string(&words).unwrap_or_default();
    let ending = ending.expect("the loop ends with one");
    Seen { entries: server.entries(CHAT), turns, ending, words }
}

/// The process group of a gateway. Dropping it kills the group.
struct Gateway(Child);

impl Gateway {
    fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).expect("a process id");
        // The group may have ended by itself.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// Returns the time since the last text in the chat. Typing does not count, because a gateway may repeat the signal
/// without end.
fn quiet_for(server: &ChatServer) -> Duration {
    let entries = server.entries(CHAT);
    let said = server.now_ms().saturating_sub(server.last_call(CHAT).map_or(0, |last| last.at_ms));
    let last = entries.iter().rev().find(|entry| entry.kind != "sendChatAction");
    let typed = entries.iter().map(|entry| entry.at).max().unwrap_or_default();
    let since = typed.saturating_sub(last.map_or(0, |entry| entry.at));
    Duration::from_millis(said + since)
}

/// Returns the events of this name in the stand-in's log.
fn events(log: &Path, name: &'static str) -> impl Iterator<Item = Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    lines.into_iter().filter(move |event| event["event"] == name)
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    u64::try_from(now.as_millis()).expect("a time before the year 584,554,051")
}
