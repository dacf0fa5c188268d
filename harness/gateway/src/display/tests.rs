//! One line a tool.

pub(crate) mod reference;

use serde_json::{Value, json};

use super::tools::ToolName;
use super::{Label, ToolCategory, detail, kind, label, title};

fn check(cases: &[(&str, Value, &str)]) {
    for (name, args, expect) in cases {
        assert_eq!(title(name, args), *expect, "{name} {args}");
    }
}

#[test]
pub(crate) fn v2_tool_lines() {
    let a = "/tmp/a.txt";
    check(&[
        ("READ", json!({"path": "/x", "offset": 7, "limit": 1}), "📖 Read: line 7 from /x"),
        ("Read", json!({"path": "/x", "offset": 7}), "📖 Read: from line 7 in /x"),
        ("Read", json!({"path": "/x", "limit": 1}), "📖 Read: first line of /x"),
        ("Read", json!({"file_path": "/home/anna/x"}), "📖 Read: from ~/x"),
        ("Write", json!({"file_path": a, "content": "ä"}), "✍️ Write: to /tmp/a.txt (1 char)"),
        ("Write", json!({"file_path": a, "content": ""}), "✍️ Write: to /tmp/a.txt (0 chars)"),
        (
            "MultiEdit",
            json!({"file_path": a, "edits": [1, 2]}),
            "📝 MultiEdit: in /tmp/a.txt (2 edits)",
        ),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Update File: a.rs\n-x\n+y\n*** Add File: b.rs"}),
            "🩹 Apply Patch: in a.rs, b.rs",
        ),
        ("Bash", json!({"description": "Count"}), "🛠️ Bash: Count"),
        ("Monitor", json!({"command": "tail -f a"}), "👀 Monitor: follow a"),
        ("Grep", json!({"pattern": "x", "glob": "*.rs"}), "🔎 Grep: \"x\" (*.rs)"),
        (
            "web_search",
            json!({"query": ["a", "b", "c", "d"], "count": 5}),
            "🔎 Web Search: for \"a\", \"b\", \"c\", … (top 5)",
        ),
        (
            "web_fetch",
            json!({"url": "https://x", "extractMode": "text", "maxChars": 9}),
            "📄 Web Fetch: from https://x (mode text, max 9 chars)",
        ),
        ("Agent", json!({"prompt": "\n\nFirst\nSecond"}), "🤖 Agent: First"),
        (
            "TodoWrite",
            json!({"todos": [{"status": "completed"}, {"status": "in_progress", "activeForm": "Building"}]}),
            "🗒️ TodoWrite: 1 of 2 done, doing: Building",
        ),
        ("TaskCreate", json!({"subject": "Build"}), "🗒️ TaskCreate: Build"),
        (
            "TaskUpdate",
            json!({"taskId": "3", "status": "in_progress"}),
            "🗒️ TaskUpdate: #3 → in progress",
        ),
        ("TaskList", json!({}), "🗒️ TaskList"),
        ("TaskGet", json!({"taskId": "3"}), "🗒️ TaskGet: #3"),
        ("TaskStop", json!({"task_id": "b1"}), "🛑 TaskStop: b1"),
        ("TaskOutput", json!({"task_id": "b1"}), "🛠️ TaskOutput: of b1"),
        (
            "ReadMcpResourceTool",
            json!({"server": "s", "uri": "u:1"}),
            "🔌 ReadMcpResource: u:1 from s",
        ),
        (
            "CronCreate",
            json!({"cron": "5 4 * * *", "prompt": "Wake"}),
            "⏰ CronCreate: \"5 4 * * *\": Wake",
        ),
        ("SendMessage", json!({"to": "bob", "message": "hi"}), "✉️ SendMessage: to bob: hi"),
        ("process", json!({"action": "poll", "sessionId": "s1"}), "🧰 Process: poll s1"),
        (
            "browser",
            json!({"action": "open", "targetUrl": "https://x"}),
            "🌐 Browser: open https://x",
        ),
        (
            "browser",
            json!({"action": "act", "request": {"kind": "type", "ref": "e1", "text": "hunter2"}}),
            "🌐 Browser: type e1",
        ),
        ("cron", json!({"action": "add", "job": {"name": "n"}}), "⏰ Cron: add n"),
        ("message", json!({"action": "list-pins", "to": "c"}), "✉️ Message: list pins to c"),
        (
            "message",
            json!({"action": "react", "emoji": "👍", "messageId": 7}),
            "✉️ Message: react with 👍 to 7",
        ),
        ("mcp__x__y", json!({}), "🔌 x: y"),
        ("mcp__plugin_x__y__z", json!({}), "🔌 plugin_x: y__z"),
        ("mcp__onlyserver", json!({}), "🧩 Mcp Onlyserver"),
        ("mcp__openclaw__frob", json!({"id": 1}), "🔌 openclaw: frob (1)"),
        (
            "create_thing",
            json!({"id": 7, "query": "q", "name": false}),
            "🧩 Create Thing: id 7, query q",
        ),
        (
            "Custom",
            json!({"file_path": "/a", "skill": "s", "prompt": "p"}),
            "🧩 Custom: file_path /a, skill s, prompt p",
        ),
        ("Custom", json!({"id": 0, "to": null, "name": "", "url": {}, "path": []}), "🧩 Custom"),
        ("two\nlines", json!({}), "🧩 Two Lines"),
        ("\u{202e}x", json!({"name": "a\u{7}b"}), "🧩 x: a b"),
    ]);
}

#[test]
fn v2_every_tool_of_the_cli_and_the_gateway_has_an_entry() {
    let cli = "Task Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit \
        EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LS LSP \
        ListAgents ListMcpResourcesTool Monitor MultiEdit NotebookEdit Read ReadMcpResourceTool \
        ReportFindings ScheduleWakeup SendMessage Skill SlashCommand StructuredOutput TaskCreate \
        TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch WebFetch WebSearch \
        Workflow Write";
    let gateway = "agents_list apply_patch attach bash browser canvas cron edit exec gateway image \
        image_generate memory_get memory_search message nodes pdf process read session_status \
        sessions_history sessions_list sessions_send sessions_spawn sessions_yield subagents \
        tool_call tts update_plan web_fetch web_search write";
    for name in cli.split_whitespace().chain(gateway.split_whitespace()) {
        assert!(matches!(ToolName::from(name), ToolName::Known(..)), "{name} has no entry");
    }
}

#[test]
pub(crate) fn v2_commands_are_explained() {
    check(&[
        (
            "Bash",
            json!({"command": "cd /r && git add . && git commit -m x"}),
            "🛠️ Bash: stage git changes → create git commit (in /r)",
        ),
        ("Bash", json!({"command": "frob\n--all"}), "🛠️ Bash: frob --all"),
        ("Bash", json!({"command": " ", "description": "Wait"}), "🛠️ Bash: Wait"),
        ("terminal", json!({"action": "run", "command": "ls"}), "⌨️ Terminal: run: list files"),
    ]);
}

#[test]
pub(crate) fn r116350_a_label_owes_nothing_to_letter_case() {
    for (names, emoji, title) in [
        (["Bash", "bash", " BASH "], "🛠️", "Bash"),
        (["WebFetch", "webfetch", "Webfetch"], "📄", "WebFetch"),
        (["message", "MESSAGE", "mcp__openclaw__Message"], "✉️", "Message"),
    ] {
        for name in names {
            assert_eq!(label(name), Label { emoji, title: title.to_owned() }, "{name}");
        }
    }
}

/// openclaw#81260: the first line of a call and the one with all of its arguments are of one form,
/// so the parts that are there do not change.
#[test]
fn r81260_a_line_grows_with_its_input() {
    for args in [Value::Null, json!({}), json!({"content": "hi"}), json!({"file_path": ""})] {
        assert_eq!(title("Write", &args), "✍️ Write", "{args}");
        assert_eq!(detail("Write", &args), None, "{args}");
    }
    let path = json!({"file_path": "/a"});
    assert_eq!(detail("Write", &path).as_deref(), Some("to /a"));
    check(&[
        ("Write", json!({"file_path": "/a", "content": "hi"}), "✍️ Write: to /a (2 chars)"),
        ("Bash", json!({"command": "git sta"}), "🛠️ Bash: git sta"),
        ("Bash", json!({"command": "ls 'a"}), "🛠️ Bash: ls 'a"),
        ("Grep", json!({"path": "/src"}), "🔎 Grep: in /src"),
        ("TaskUpdate", json!({"taskId": "3"}), "🗒️ TaskUpdate: #3"),
        ("cron", json!({"action": "add"}), "⏰ Cron: add"),
    ]);
}

#[test]
fn a1_kinds() {
    let cases = [
        ("read", "Read NotebookRead"),
        ("edit", "Write Edit MultiEdit NotebookEdit apply_patch"),
        ("search", "LS Glob Grep"),
        ("execute", "Bash BashOutput KillShell exec"),
        ("think", "Task Agent TodoWrite"),
        ("fetch", "WebFetch WebSearch"),
        ("switch_mode", "ExitPlanMode EnterPlanMode"),
        ("other", "AskUserQuestion Skill Other mcp__srv__read mcp__onlyserver"),
    ];
    for (expect, names) in cases {
        for name in names.split(' ') {
            assert_eq!(kind(name).as_str(), expect, "{name}");
        }
    }
    assert_eq!(kind(""), ToolCategory::Other);
}

#[test]
pub(crate) fn b2_tool_lines_are_redacted_and_short() {
    let long = format!("/{}/end", "x".repeat(400));
    let line = title("Read", &json!({"file_path": long}));
    assert_eq!(line.chars().count(), "📖 Read: from ".chars().count() + 160);
    assert!(line.contains('…') && line.ends_with("/end"), "{line}");
    let plan = json!({"name": long, "title": long, "query": long});
    assert_eq!(title("Custom", &plan).chars().count(), 200);
    check(&[
        (
            "WebFetch",
            json!({"url": "https://x/?token=abcdefghijklmnopqrstuvwxyz"}),
            "📄 WebFetch: from https://x/?token=abcdef…wxyz",
        ),
        ("Bash", json!({"command": "deploy --token hunter2"}), "🛠️ Bash: deploy --token ***"),
        ("Custom", json!({"command": ["--token", "hunter2"]}), "🧩 Custom: --token, ***"),
    ]);
}

mod any_input {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{shell, title};

    /// Text as a shell sees it: its signs, words that mean something, and anything else.
    fn command() -> impl Strategy<Value = String> {
        let sign = prop::sample::select(vec![
            "'",
            "\"",
            "\\",
            "$",
            "(",
            ")",
            "{",
            "}",
            "`",
            "<<E",
            "<<-",
            "<",
            ">",
            "&",
            "|",
            ";",
            "\n",
            "E",
            " ",
            "cd ",
            "sudo ",
            "bash -c ",
            "sed -n ",
            "grep -e ",
            "xargs -I ",
            "find ",
            "-",
            "=",
            "tar -xf ",
            "git ",
            "head -",
            "é",
            "😀",
            "\u{0}",
        ]);
        let part = prop_oneof![4 => sign.prop_map(str::to_owned), 1 => any::<String>()];
        prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn v2_no_input_breaks_a_line(command in command(), name in any::<String>()) {
            let said = shell::explain(&command);
            prop_assert!(said.chars().count() <= 120, "{said:?}");
            for name in [name.as_str(), "Bash", "Read", "Custom"] {
                let line = title(name, &json!({"command": command, "path": command, "offset": 1}));
                prop_assert!(line.chars().count() <= 200 && !line.contains(char::is_control));
            }
        }
    }

    #[test]
    fn v2_a_command_of_a_megabyte_is_explained() {
        for part in ["a;", "(", "'", "cat <<E\n", "\\", "x|", "bash -c ", "/home/", "\"$", "é"] {
            let said = shell::explain(&part.repeat((1 << 20) / part.len()));
            assert!(said.chars().count() <= 120, "{part:?}: {said}");
        }
    }
}
