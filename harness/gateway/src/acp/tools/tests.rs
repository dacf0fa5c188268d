//! The views of calls, compared with those of the Claude adapter.

#![allow(clippy::needless_pass_by_value, reason = "`json!` borrows what a test hands over")]

use serde_json::json;

use super::*;

mod result;

/// The look of a call in `/repo`, as `[title, kind, content, locations]`.
fn check(name: &str, input: Value, expect: Value) {
    let look = look(name, input.as_object().unwrap(), Some("/repo"), None, &FileTable::default());
    let mut got = vec![json!(look.title), json!(look.kind)];
    got.extend([json!(look.content), json!(look.locations)]);
    let Value::Array(mut expect) = expect else { panic!("a list: {expect}") };
    expect.resize(4, json!([]));
    assert_eq!(got, expect, "{name} {input}");
}

fn text(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

#[test]
fn a1_a_call_looks_as_clients_of_the_adapter_know_it() {
    check("Task", json!({"description": "d", "prompt": "p"}), json!(["d", "think", text("p")]));
    check("Agent", json!({}), json!(["Agent", "think"]));
    check(
        "NotebookRead",
        json!({"notebook_path": "/n.ipynb"}),
        json!(["Read Notebook /n.ipynb", "read", [], [{"path": "/n.ipynb"}]]),
    );
    check(
        "NotebookEdit",
        json!({"notebook_path": "/n.ipynb", "new_source": "s"}),
        json!(["Edit Notebook /n.ipynb", "edit", text("s"), [{"path": "/n.ipynb"}]]),
    );
    check("Bash", json!({}), json!(["Execute command", "execute"]));
    check("Bash", json!({"command": "ls"}), json!(["Execute command", "execute", text("ls")]));
    check(
        "Bash",
        json!({"command": "ls", "description": "List"}),
        json!(["List", "execute", text("ls")]),
    );
    check("BashOutput", json!({"bash_id": "1"}), json!(["Tail Logs", "execute"]));
    check("KillShell", json!({}), json!(["Kill Process", "execute"]));
    check("LS", json!({"path": "/x"}), json!(["List the `/x` directory's contents", "search"]));
    check("LS", json!({}), json!(["List the current directory's contents", "search"]));
    check(
        "ExitPlanMode",
        json!({"plan": "# P"}),
        json!(["Ready to code?", "switch_mode", text("# P")]),
    );
    check(
        "AskUserQuestion",
        json!({"questions": [{"question": "Q?"}]}),
        json!(["Q?", "other", text("[\n  {\n    \"question\": \"Q?\"\n  }\n]")]),
    );
    check("Skill", json!({"skill": "x"}), json!(["Skill", "other"]));
    check("mcp__srv__tool_name", json!({"a": 1}), json!(["tool_name", "other"]));
    check("mcp__srv__a__b", json!({}), json!(["a__b", "other"]));
    check("mcp__onlyserver", json!({}), json!(["mcp__onlyserver", "other"]));
    check("", json!({}), json!(["Unknown Tool", "other"]));
}

#[test]
fn a1_calls_on_files_name_them_and_their_lines() {
    let at = |path: &str, line: u64| json!([{"path": path, "line": line}]);
    check("Read", json!({}), json!(["Read File", "read"]));
    check("Read", json!({"file_path": "/repo/a"}), json!(["Read a", "read", [], at("/repo/a", 1)]));
    check(
        "Read",
        json!({"file_path": "/other/a", "offset": 3}),
        json!(["Read /other/a (from line 3)", "read", [], at("/other/a", 3)]),
    );
    check(
        "Read",
        json!({"file_path": "/repo/a", "limit": 5}),
        json!(["Read a (1 - 5)", "read", [], at("/repo/a", 1)]),
    );
    check(
        "Read",
        json!({"file_path": "/repository/a"}),
        json!(["Read /repository/a", "read", [], at("/repository/a", 1)]),
    );
    let diff =
        |new: &str| json!([{"type": "diff", "path": "/repo/zz", "oldText": null, "newText": new}]);
    check("Edit", json!({}), json!(["Edit", "edit"]));
    check(
        "Edit",
        json!({"file_path": "/repo/zz", "old_string": "", "new_string": "n"}),
        json!(["Edit `zz`", "edit", diff("n"), [{"path": "/repo/zz"}]]),
    );
    check(
        "Write",
        json!({"file_path": "/repo/zz", "content": "c"}),
        json!(["Write zz", "edit", diff("c"), [{"path": "/repo/zz"}]]),
    );
    check("Write", json!({"content": "c"}), json!(["Write", "edit", text("c")]));
}

#[test]
fn a1_titles_of_searches_contain_the_query() {
    check(
        "Glob",
        json!({"pattern": "*.rs", "path": "/p"}),
        json!(["Find \"/p\" \"*.rs\"", "search", [], [{"path": "/p"}]]),
    );
    check(
        "Grep",
        json!({
            "pattern": "x", "-i": true, "-n": true, "-A": 1, "glob": "*.rs", "type": "rust",
            "output_mode": "files_with_matches", "head_limit": 3, "multiline": true,
            "path": "src",
        }),
        json!([
            "grep -i -n -A 1 -l | head -3 --include=\"*.rs\" --type=rust -P \"x\" src",
            "search",
        ]),
    );
    check(
        "Grep",
        json!({"pattern": "x", "output_mode": "count", "-C": 0}),
        json!(["grep -C 0 -c \"x\"", "search"]),
    );
    check(
        "WebFetch",
        json!({"url": "https://e.x", "prompt": "p"}),
        json!(["Fetch", "fetch", [{"type": "content", "content": {
            "type": "resource_link", "uri": "https://e.x", "name": "https://e.x",
            "description": "p",
        }}]]),
    );
    check(
        "WebSearch",
        json!({"query": "q", "allowed_domains": ["a", "b"], "blocked_domains": ["c"]}),
        json!(["\"q\" (allowed: a, b) (blocked: c)", "fetch"]),
    );
}

#[test]
fn a1_a_title_is_one_short_line() {
    let input = json!({"description": format!("a\nb{}", "é".repeat(300))});
    let look = look("Bash", input.as_object().unwrap(), None, None, &FileTable::default());
    assert_eq!(look.title, format!("a b{}…", "é".repeat(197)));
}
