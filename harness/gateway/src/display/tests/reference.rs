//! The lines of the reference (OpenClaw 2026.6.1) for the same calls, and where and why we differ.

use serde_json::json;

use super::title;

/// The line of a call beside the reference's.
enum Ours {
    /// The same.
    Same,
    /// Another, and why.
    Differs(&'static str, &'static str),
}

#[test]
pub(crate) fn v2_lines_of_the_reference() {
    use Ours::{Differs, Same};
    const LABEL: &str = "the label stands in whatever case the name is written (openclaw#116350)";
    const ENTRY: &str = "the CLI's own tools have entries";
    let cases = [
        ("Read", json!({"file_path": "/etc/hosts"}), "📖 Read: from /etc/hosts", Same),
        (
            "Read",
            json!({"file_path": "/etc/hosts", "offset": 10, "limit": 5}),
            "📖 Read: lines 10-14 from /etc/hosts",
            Same,
        ),
        (
            "read",
            json!({"path": "/etc/hosts", "limit": 5}),
            "📖 Read: first 5 lines of /etc/hosts",
            Same,
        ),
        ("Read", json!({}), "📖 Read", Same),
        ("Bash", json!({"command": "ls"}), "🛠️ list files", Differs("🛠️ Bash: list files", LABEL)),
        ("bash", json!({"command": "ls"}), "🛠️ list files", Differs("🛠️ Bash: list files", LABEL)),
        (
            "exec",
            json!({"command": "ls -la /tmp"}),
            "🛠️ list files in /tmp",
            Differs("🛠️ Exec: list files in /tmp", LABEL),
        ),
        (
            "Bash",
            json!({"command": "ls -la /tmp | wc -l", "description": "Count entries"}),
            "🛠️ list files in /tmp -> run wc",
            Differs("🛠️ Bash: list files in /tmp -> count lines", "`wc` has words, too"),
        ),
        (
            "Bash",
            json!({"command": "cd /repo && npm install && npm test"}),
            "🛠️ install dependencies → run tests (in /repo)",
            Differs("🛠️ Bash: install dependencies → run tests (in /repo)", LABEL),
        ),
        (
            "Bash",
            json!({"command": "git status"}),
            "🛠️ check git status",
            Differs("🛠️ Bash: check git status", LABEL),
        ),
        (
            "Bash",
            json!({"command": "grep -rn foo src/"}),
            "🛠️ search \"foo\" in src/",
            Differs("🛠️ Bash: search \"foo\" in src/", LABEL),
        ),
        (
            "Bash",
            json!({"command": "for i in 1 2 3; do echo $i; done"}),
            "🛠️ for i in 1 2 3; do echo $i; done",
            Differs("🛠️ Bash: for i in 1 2 3; do echo $i; done", LABEL),
        ),
        ("Bash", json!({}), "🛠️ Bash", Same),
        (
            "Write",
            json!({"file_path": "/tmp/a.txt", "content": "hello"}),
            "✍️ Write: to /tmp/a.txt (5 chars)",
            Same,
        ),
        (
            "Edit",
            json!({"file_path": "/tmp/a.txt", "old_string": "a", "new_string": "bcd"}),
            "📝 Edit: in /tmp/a.txt (3 chars)",
            Same,
        ),
        (
            "MultiEdit",
            json!({"file_path": "/tmp/a.txt", "edits": []}),
            "🧩 MultiEdit",
            Differs("📝 MultiEdit: in /tmp/a.txt (0 edits)", ENTRY),
        ),
        (
            "Glob",
            json!({"pattern": "**/*.ts", "path": "/src"}),
            "🧩 Glob: path /src, pattern **/*.ts",
            Differs("📂 Glob: \"**/*.ts\" in /src", ENTRY),
        ),
        (
            "Grep",
            json!({"pattern": "TODO", "path": "/src"}),
            "🧩 Grep: path /src, pattern TODO",
            Differs("🔎 Grep: \"TODO\" in /src", ENTRY),
        ),
        (
            "WebSearch",
            json!({"query": "rust serde"}),
            "🧩 WebSearch: rust serde",
            Differs("🔎 WebSearch: for \"rust serde\"", ENTRY),
        ),
        (
            "WebFetch",
            json!({"url": "https://example.com", "prompt": "summarise"}),
            "🧩 WebFetch: https://example.com",
            Differs("📄 WebFetch: from https://example.com", ENTRY),
        ),
        ("web_search", json!({"query": "rust serde"}), "🔎 Web Search: for \"rust serde\"", Same),
        (
            "web_fetch",
            json!({"url": "https://example.com"}),
            "📄 Web Fetch: from https://example.com",
            Same,
        ),
        (
            "Task",
            json!({"description": "Find bugs", "prompt": "long prompt", "subagent_type": "Explore"}),
            "🧩 Task",
            Differs("🤖 Task: Find bugs", ENTRY),
        ),
        (
            "Agent",
            json!({"description": "Find bugs", "prompt": "p"}),
            "🧩 Agent",
            Differs("🤖 Agent: Find bugs", ENTRY),
        ),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "pending", "activeForm": "A"}]}),
            "🧩 TodoWrite",
            Differs("🗒️ TodoWrite: 0 of 1 done", ENTRY),
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "/n.ipynb", "new_source": "x"}),
            "🧩 NotebookEdit",
            Differs("📓 NotebookEdit: in /n.ipynb (1 char)", ENTRY),
        ),
        (
            "BashOutput",
            json!({"bash_id": "b1"}),
            "🧩 BashOutput",
            Differs("🛠️ BashOutput: of b1", ENTRY),
        ),
        (
            "KillShell",
            json!({"shell_id": "b1"}),
            "🧩 KillShell",
            Differs("🛑 KillShell: b1", ENTRY),
        ),
        (
            "ToolSearch",
            json!({"query": "select:Read", "max_results": 5}),
            "🧩 ToolSearch: select:Read",
            Differs("🧰 ToolSearch: select:Read", ENTRY),
        ),
        (
            "Skill",
            json!({"skill": "pdf", "args": "x"}),
            "🧩 Skill",
            Differs("🎓 Skill: pdf", ENTRY),
        ),
        (
            "ExitPlanMode",
            json!({"plan": "do it"}),
            "🧩 ExitPlanMode",
            Differs("🧭 ExitPlanMode: do it", ENTRY),
        ),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "q?"}]}),
            "🧩 AskUserQuestion",
            Differs("❓ AskUserQuestion: q?", ENTRY),
        ),
        (
            "mcp__openclaw__message",
            json!({"action": "send", "text": "hi", "to": "telegram:1"}),
            "🧩 Mcp Openclaw Message: telegram:1",
            Differs(
                "✉️ Message: send to telegram:1",
                "a gateway's own tool is shown as such wherever it comes from",
            ),
        ),
        (
            "mcp__github__create_issue",
            json!({"title": "T", "repo": "a/b"}),
            "🧩 Mcp Github Create Issue",
            Differs("🔌 github: create_issue (T)", "the server and its tool are told apart"),
        ),
        (
            "message",
            json!({"action": "send", "to": "telegram:1", "text": "hi"}),
            "✉️ Message: telegram:1",
            Differs("✉️ Message: send to telegram:1", "what is done is told"),
        ),
        (
            "",
            json!({"x": 1}),
            "🧰 Tool Call: start",
            Differs("🧩 Tool", "no tool was named, and `start` is not its doing"),
        ),
        (
            "ScheduleWakeup",
            json!({"delaySeconds": 60, "reason": "wait"}),
            "🧩 ScheduleWakeup",
            Differs("⏰ ScheduleWakeup: in 60 s: wait", ENTRY),
        ),
        (
            "LSP",
            json!({"operation": "hover", "filePath": "/a"}),
            "🧩 LSP",
            Differs("🧭 LSP: hover in /a", ENTRY),
        ),
    ];
    assert_eq!(cases.len(), 38);
    for (name, args, theirs, ours) in cases {
        let (expect, why) = match ours {
            Same => (theirs, "as the reference has it"),
            Differs(line, why) => (line, why),
        };
        assert_eq!(title(name, &args), expect, "{name} {args}: {why}");
    }
}
