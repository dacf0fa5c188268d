//! Tests of the editor, with agents that are a few lines of shell.

#![allow(clippy::unwrap_used, reason = "what can't be done fails the test")]

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clitape_gateway::ByteSize;
use clitape_process::StdinPipe;
use clitape_process::host::HostPaths;
use clitape_recording::trace::{Entry, Lane};
use clitape_rig::editor::{Editor, EditorError, EditorSettings, PermissionChoice, run};
use clitape_rig::limits::{KeptBytes, RigLimits};
use serde_json::json;

/// The start of an agent: answers `initialize` and `session/new`, then reads the prompt.
const HELLO: &str = r#"
read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
read -r line
"#;

/// Returns the start of an agent that does not read the prompt.
fn deaf() -> &'static str {
    HELLO.trim_end().strip_suffix("read -r line").unwrap()
}

/// Returns the paths of the machine.
fn host() -> HostPaths {
    let (path, temporary) = (std::env::var_os("PATH").unwrap(), std::env::temp_dir());
    HostPaths { path, temporary, home: None }
}

/// Returns the settings of a shell as an agent that gets one prompt.
fn shell(script: &str, choice: PermissionChoice) -> EditorSettings {
    EditorSettings {
        command: ["sh", "-c", script].map(Into::into).to_vec(),
        environment: std::env::vars_os().collect(),
        folder: std::env::temp_dir(),
        prompts: vec!["hi".to_owned()],
        choices: vec![choice],
        within: Duration::from_secs(10),
        limits: RigLimits::default(),
    }
}

/// Runs an agent, and returns the entries and the error.
fn ran(settings: &EditorSettings, stop: &AtomicBool) -> (Vec<Entry>, Option<EditorError>) {
    let mut entries = Vec::new();
    let ended = run(settings, &host(), stop, &mut |entry| entries.push(entry.clone()));
    (entries, ended.err())
}

/// Runs a shell as an agent that begins with [`HELLO`], and returns the entries and the error.
fn played(agent: &str, choice: PermissionChoice) -> (Vec<Entry>, Option<String>) {
    let settings = shell(&format!("{HELLO}{agent}"), choice);
    let (entries, error) = ran(&settings, &AtomicBool::new(false));
    (entries, error.map(|error| error.to_string()))
}

#[test]
fn updates_are_entries_and_questions_are_answered() {
    let agent = r#"
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}'
echo '{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"o1","name":"Yes","kind":"allow_once"}]}}'
read -r answer
echo '{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"path":"x"}}'
read -r refused
case "$answer$refused" in
  *'"outcome":"selected","optionId":"o1"'*'"code":-32601'*) stop=end_turn ;;
  *'"outcome":"cancelled"'*'"code":-32601'*) stop=cancelled ;;
  *) stop=refusal ;;
esac
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"'$stop'"}}'
"#;
    for (choice, stop) in [
        (PermissionChoice::Option("allow_once".to_owned()), "end_turn"),
        (PermissionChoice::Option("Yes".to_owned()), "end_turn"),
        (PermissionChoice::Option("no such".to_owned()), "cancelled"),
        (PermissionChoice::Cancel, "cancelled"),
    ] {
        let (entries, error) = played(agent, choice.clone());
        assert_eq!(error, None, "{choice:?}");
        let kinds: Vec<&str> = entries.iter().map(|entry| &*entry.kind).collect();
        let expect = [
            "(user)",
            "agent_message_chunk",
            "request_permission",
            "(answer)",
            "fs/read_text_file",
            "response",
        ];
        assert_eq!(kinds, expect, "{choice:?}");
        assert!(entries.iter().all(|entry| entry.lane == Lane::Acp));
        assert!(entries.iter().all(|entry| !entry.data.contains_key("refused")), "{entries:?}");
        assert_eq!(entries[1].data["content"], json!({ "type": "text", "text": "a" }));
        assert_eq!(entries[5].data["stopReason"], stop, "{choice:?}");
    }
}

#[test]
fn an_agent_that_fails_is_reported() {
    let wrong = r#"echo '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"x"}}}'"#;
    for (agent, expect) in [
        ("exit 1", "the agent ended before it answered `session/prompt`"),
        ("echo no model >&2", "before it answered `session/prompt`: no model"),
        ("echo hello", "the agent ended before it answered"),
        (
            r#"echo '{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}'"#,
            "the agent answered `session/prompt` with an error: no",
        ),
        (wrong, "the agent ended before it answered"),
    ] {
        let (entries, error) = played(agent, PermissionChoice::Cancel);
        assert!(error.as_ref().unwrap().contains(expect), "{agent}: {error:?}");
        let refused = entries.iter().filter(|entry| entry.data.contains_key("refused")).count();
        let is_wrong = agent == wrong || agent == "echo hello";
        assert_eq!(refused, usize::from(is_wrong), "{entries:?}");
    }
}

#[test]
fn an_agent_that_hangs_is_ended_with_its_group() {
    let sleeps = shell("sleep 600 & sleep 600", PermissionChoice::Cancel);
    let settings = EditorSettings { within: Duration::from_secs(1), ..sleeps };
    let begun = Instant::now();
    let error = ran(&settings, &AtomicBool::new(false)).1.unwrap().to_string();
    assert_eq!(error, "the agent did not answer `initialize` within 1 s");
    assert!(begun.elapsed() < LONG);
}

/// A time longer than any run here takes that ends within a limit.
const LONG: Duration = Duration::from_secs(30);
/// An agent that answers, then asks for more than a pipe takes, and does not read the answers.
const ASKS: &str = r#"
i=0; while [ $i -lt 2000 ]; do
  echo '{"jsonrpc":"2.0","id":'$i',"method":"fs/read_text_file","params":{"sessionId":"s1"}}'; i=$((i+1))
done
"#;

#[test]
fn an_agent_that_reads_nothing_is_given_up_in_time() {
    let check = |script: String, prompt: usize, within: u64, says: &str| {
        let mut settings = shell(&script, PermissionChoice::Cancel);
        settings.prompts = vec!["x".repeat(prompt), "again".to_owned()];
        settings.within = Duration::from_secs(within);
        let begun = Instant::now();
        let error = ran(&settings, &AtomicBool::new(false)).1.unwrap();
        assert!(error.to_string().contains(says), "{script}: {error}");
        assert!(begun.elapsed() < LONG, "{script}: {:?}", begun.elapsed());
    };
    let (late, unread) = ("did not answer", "has not read its stdin for");
    std::thread::scope(|scope| {
        for (script, prompt, within, says) in [
            ("sleep 600".to_owned(), 1, 1, late),
            (format!("{} sleep 600", deaf()), 300_000, 4, unread),
            (format!("{HELLO}{ASKS} sleep 600"), 1, 4, unread),
            ("trap '' TERM; while :; do sleep 1; done".to_owned(), 1, 1, late),
        ] {
            scope.spawn(move || check(script, prompt, within, says));
        }
    });
}

#[test]
fn an_agent_is_ended_when_the_caller_stops() {
    for script in ["sleep 600", "trap '' TERM; while :; do sleep 1; done"] {
        let settings = EditorSettings { within: LONG, ..shell(script, PermissionChoice::Cancel) };
        let begun = Instant::now();
        let error = ran(&settings, &AtomicBool::new(true)).1;
        assert!(matches!(error, Some(EditorError::Stopped)), "{error:?}");
        assert!(begun.elapsed() < LONG / 2, "{script}: {:?}", begun.elapsed());
    }
}

/// Returns an agent that repeats a line until it is ended.
fn repeats(line: &str) -> String {
    format!("{HELLO}yes '{line}'")
}

#[test]
fn what_an_agent_sends_has_limits() {
    let update = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"x","value":{text}}}}}}}"#
        )
    };
    let small = update("1");
    // Two million objects in a line of 16 MiB would take a GiB of memory.
    let wide = format!(
        "{HELLO}printf '{}'; yes '{{\"a\":0}},' | tr -d '\\n' | head -c 16777216; echo '0]}}}}}}'; sleep 600",
        update("[").trim_end_matches('}')
    );
    let check = |script: String, limit: &str, says: &str| {
        let mut settings = shell(&script, PermissionChoice::Cancel);
        let RigLimits { kept, subject, .. } = &mut settings.limits;
        match limit {
            // More memory, because much may wait to be read on a busy machine before the limit is seen.
            "session" => *kept = ByteSize::mib(1024),
            "messages" => (subject.messages, *kept) = (9, ByteSize::mib(1024)),
            "bytes" => subject.output.bytes = ByteSize::mib(1),
            "lines" => subject.output.lines = 99,
            "line" => subject.output.line = ByteSize::bytes(64),
            "kept" => *kept = ByteSize::mib(1),
            "memory" => subject.memory = ByteSize::mib(64),
            _ => {}
        }
        settings.within = 2 * LONG;
        let begun = Instant::now();
        let (entries, error) = ran(&settings, &AtomicBool::new(false));
        let error = error.unwrap().to_string();
        let script = &script[..script.len().min(400)];
        assert!(error.contains(says), "{script}: {limit}: {error}");
        assert!(begun.elapsed() < 2 * LONG, "{script}: {limit}: {:?}", begun.elapsed());
        assert!(entries.len() <= 100_002, "{}", entries.len());
    };
    std::thread::scope(|scope| {
        for (script, limit, says) in [
            (
                repeats(&small),
                "session",
                "more than 100000 messages in a session; raise the limit with `--max-agent-messages`",
            ),
            (repeats(&small), "messages", "more than 9 messages in a session"),
            (
                repeats(&small),
                "bytes",
                "more than 1MiB on stdout or stderr; raise the limit with `--max-output`",
            ),
            (
                repeats(&small),
                "lines",
                "more than 99 lines, or in as many pieces; raise the limit with `--max-lines`",
            ),
            (repeats(&small), "line", "a line of more than 64B; raise the limit with `--max-line`"),
            (
                repeats(&small),
                "kept",
                "more than 1MiB would have to be kept in memory; raise the limit with `--max-kept`",
            ),
            (repeats(""), "", "more than 5000000 lines, or in as many pieces"),
            (wide, "", "more than 256MiB would have to be kept in memory"),
            (
                format!("{HELLO}{ASKS}{ASKS}{ASKS} sleep 600"),
                "kept",
                "would have to be kept in memory",
            ),
            (
                format!("{HELLO}head -c 400000000 /dev/zero | tail -c 400000000 | sleep 60"),
                "memory",
                "more than 64MiB of memory; raise the limit with `--max-memory`",
            ),
        ] {
            scope.spawn(move || check(script, limit, says));
        }
    });
}

/// A stdout at whose end the reader panics.
struct Panics(&'static [u8]);

impl Read for Panics {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(!self.0.is_empty(), "planted");
        self.0.read(buffer)
    }
}

#[test]
fn a_panic_of_the_reader_ends_the_wait() {
    let hello = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}
"#;
    let (limits, kept) = (RigLimits::default(), Arc::new(KeptBytes::default()));
    let editor =
        Editor::new(StdinPipe::new(io::sink()).unwrap(), Panics(hello), limits, kept).unwrap();
    let begun = Instant::now();
    let go_on = || false;
    let error = match editor.is_greeted(2 * LONG, &go_on) {
        Ok(_) => editor.open(Path::new("/"), 2 * LONG, &go_on).unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("a bug of clitape"), "{error}");
    assert!(begun.elapsed() < LONG);
}
