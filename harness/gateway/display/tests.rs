//! One line a tool, and one a kind of command.

use serde_json::{Value, json};

use super::title;

fn check(cases: &[(&str, Value, &str)]) {
    for (name, args, expect) in cases {
        assert_eq!(title(name, args), *expect, "{name} {args}");
    }
}

#[test]
fn v2_tool_lines() {
    let a = "/tmp/a.txt";
    check(&[
        ("Read", json!({"file_path": "/etc/hosts"}), "📖 Read: from /etc/hosts"),
        (
            "Read",
            json!({"file_path": "/etc/hosts", "offset": 10, "limit": 5}),
            "📖 Read: lines 10-14 from /etc/hosts",
        ),
        ("read", json!({"path": "/x", "limit": 5}), "📖 Read: first 5 lines of /x"),
        ("READ", json!({"path": "/x", "offset": 7, "limit": 1}), "📖 Read: line 7 from /x"),
        ("Read", json!({"path": "/x", "offset": 7}), "📖 Read: from line 7 in /x"),
        ("Read", json!({}), "📖 Read"),
        ("Read", Value::Null, "📖 Read"),
        ("Write", json!({"file_path": a, "content": "hello"}), "✍️ Write: to /tmp/a.txt (5 chars)"),
        ("Edit", json!({"file_path": a, "new_string": "bcd"}), "📝 Edit: in /tmp/a.txt (3 chars)"),
        (
            "MultiEdit",
            json!({"file_path": a, "edits": [1, 2]}),
            "📝 MultiEdit: in /tmp/a.txt (2 edits)",
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "/n", "new_source": "x"}),
            "📓 NotebookEdit: in /n (1 chars)",
        ),
        ("Bash", json!({"command": "ls"}), "🛠️ Bash: list files"),
        ("Bash", json!({"description": "Count"}), "🛠️ Bash: Count"),
        ("BashOutput", json!({"bash_id": "b1"}), "🛠️ BashOutput: of b1"),
        ("KillShell", json!({"shell_id": "b1"}), "🛑 KillShell: b1"),
        ("Grep", json!({"pattern": "TODO", "path": "/src"}), "🔎 Grep: \"TODO\" in /src"),
        ("Glob", json!({"pattern": "**/*.ts"}), "📂 Glob: \"**/*.ts\""),
        (
            "WebFetch",
            json!({"url": "https://example.com"}),
            "📄 WebFetch: from https://example.com",
        ),
        ("WebSearch", json!({"query": "rust serde"}), "🌐 WebSearch: \"rust serde\""),
        ("Task", json!({"description": "Find bugs", "prompt": "p"}), "🤖 Task: Find bugs"),
        ("Agent", json!({"prompt": "First\nSecond"}), "🤖 Agent: First"),
        (
            "TodoWrite",
            json!({"todos": [{"status": "completed"}, {"status": "in_progress", "activeForm": "Building"}]}),
            "🗒️ TodoWrite: 1 of 2 done, doing: Building",
        ),
        ("TaskCreate", json!({"subject": "Build"}), "🗒️ TaskCreate: Build"),
        (
            "TaskUpdate",
            json!({"taskId": "3", "status": "completed"}),
            "🗒️ TaskUpdate: #3 → completed",
        ),
        ("TaskList", json!({}), "🗒️ TaskList"),
        ("TaskGet", json!({"taskId": "3"}), "🗒️ TaskGet: #3"),
        ("TaskStop", json!({"task_id": "b1"}), "🛑 TaskStop: b1"),
        ("TaskOutput", json!({"task_id": "b1"}), "🛠️ TaskOutput: of b1"),
        ("Skill", json!({"skill": "pdf"}), "🎓 Skill: pdf"),
        ("ToolSearch", json!({"query": "select:Read"}), "🧰 ToolSearch: select:Read"),
        ("ExitPlanMode", json!({"plan": "do it"}), "🧭 ExitPlanMode: do it"),
        ("AskUserQuestion", json!({"questions": [{"question": "q?"}]}), "❓ AskUserQuestion: q?"),
        ("Monitor", json!({"description": "the build"}), "👀 Monitor: the build"),
        ("ScheduleWakeup", json!({"reason": "wait"}), "⏰ ScheduleWakeup: wait"),
        (
            "mcp__github__create_issue",
            json!({"title": "T", "repo": "a/b"}),
            "🔌 github: create_issue (T)",
        ),
        ("mcp__x__y", json!({}), "🔌 x: y"),
        ("Custom", json!({"id": 7, "query": "q", "on": false}), "🧩 Custom: id 7, query q"),
        (" ", json!({}), "🧩 Tool"),
        ("two\nlines", json!({}), "🧩 two lines"),
    ]);
}

#[test]
fn b2_tool_lines_are_redacted_and_short() {
    let long = format!("/{}/end", "x".repeat(400));
    let line = title("Read", &json!({"file_path": long}));
    assert!(line.chars().count() < 180 && line.contains('…') && line.ends_with("/end"), "{line}");
    check(&[
        (
            "WebFetch",
            json!({"url": "https://x/?token=abcdefghijklmnopqrstuvwxyz"}),
            "📄 WebFetch: from https://x/?token=abcdef…wxyz",
        ),
        ("Bash", json!({"command": "deploy --token hunter2"}), "🛠️ Bash: deploy --token ***"),
        ("X", json!({"command": ["deploy", "--token", "hunter2"]}), "🧩 X: deploy, --token, ***"),
    ]);
}

#[test]
fn v2_commands_are_explained() {
    let cases = [
        ("ls -la /tmp", "list files in /tmp"),
        ("ls -la /tmp | wc -l", "list files in /tmp -> run wc"),
        ("cat a | sort | uniq | head -3", "show a -> show first 3 lines (+2 steps)"),
        ("cd /repo && npm install && npm test", "install dependencies → run tests (in /repo)"),
        ("set -e; export A=1; git -C x status", "check git status"),
        ("bash -lc 'git diff --stat'", "check git diff"),
        ("git log --oneline -5 2>/dev/null", "view git history"),
        ("grep -rn foo src/", "search \"foo\" in src/"),
        ("rg -g '*.rs' -e 'a b'", "search \"a b\""),
        ("find . -name '*.rs' -type f", "find files named \"*.rs\" in ."),
        ("head -n 5 a.txt", "show first 5 lines of a.txt"),
        ("tail -20 log", "show last 20 lines of log"),
        ("sed -n '1,5p' a.txt", "show lines 1-5 of a.txt"),
        ("sed -i s/a/b/ a.txt", "edit a.txt"),
        ("echo hi > out.txt 2>&1", "print text to out.txt"),
        ("cp -r a b", "copy a to b"),
        ("rm -rf x y", "remove x y"),
        ("sudo mkdir -p /a/b", "create folder /a/b"),
        ("curl -s https://example.com", "fetch https://example.com"),
        ("npm run lint:all", "run lint:all"),
        ("python3 -c 'print(1)'", "run python3 inline script"),
        ("FOO=1 ls; cargo test", "list files → run cargo test"),
        // What the table does not know stands as it is.
        ("cargo test --all", "cargo test --all"),
        ("cd /repo", "cd /repo"),
        ("for i in 1 2 3; do echo $i; done", "for i in 1 2 3; do echo $i; done"),
        ("echo $(date)", "echo $(date)"),
        ("cat <<EOF\nx\nEOF", "cat <<EOF x EOF"),
        ("echo 'open", "echo 'open"),
        ("", ""),
        (";", ";"),
    ];
    for (command, expect) in cases {
        assert_eq!(super::shell::explain(command), expect, "{command}");
    }
}
