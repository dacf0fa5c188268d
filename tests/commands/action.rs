//! Tests of the GitHub Action: its scripts run in an environment like that of a runner, with a server on this machine in
//! the place of the API; and workflows are linted where actionlint is installed.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{check, clitape, files, has_program, root, workspace};

/// The comments of the pull request, and the calls in their order.
#[derive(Default)]
struct Issue {
    comments: Vec<Value>,
    calls: Vec<String>,
    /// The status of every answer that would write.
    refuses: Option<u16>,
}

/// Serves the comments of pull request 7 of `o/r` on this machine, and returns the address.
fn serve(issue: &Arc<Mutex<Issue>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let issue = Arc::clone(issue);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), &issue);
        }
    });
    address
}

fn answer(mut stream: TcpStream, issue: &Mutex<Issue>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the request ends early: {head}");
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    assert!(head.contains("Bearer secret"), "{head}");

    let mut issue = issue.lock().unwrap();
    let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    issue.calls.push(line.clone());
    let text = serde_json::from_slice::<Value>(&body).map(|body| body["body"].clone());
    let is_read = line.starts_with("GET ");
    let (status, value) =
        match (issue.refuses.filter(|_| !is_read), line.split_once(" /repos/o/r/issues/")) {
            (Some(status), _) => (status, json!({ "message": "no" })),
            (None, Some(("GET", path))) if path.starts_with("7/comments?") => {
                let page: usize = path.rsplit_once("page=").unwrap().1.parse().unwrap();
                let comments = issue.comments.chunks(100).nth(page - 1).unwrap_or_default();
                (200, Value::from(comments))
            }
            (None, Some(("POST", "7/comments"))) => {
                let id = issue.comments.len();
                let comment = json!({ "id": id, "body": text.unwrap(), "user": { "type": "Bot" } });
                issue.comments.push(comment.clone());
                (201, comment)
            }
            (None, Some(("PATCH", path))) => {
                let id: usize = path.strip_prefix("comments/").unwrap().parse().unwrap();
                issue.comments[id]["body"] = text.unwrap();
                (200, issue.comments[id].clone())
            }
            _ => (404, json!({ "message": line })),
        };
    let value = value.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{value}",
        value.len()
    )
    .unwrap();
}

/// A folder like that of a runner's step, with an event about pull request 7.
struct Runner {
    dir: TempDir,
    api: String,
}

impl Runner {
    fn new(api: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let event = json!({ "action": "opened", "pull_request": { "number": 7 } });
        fs::write(dir.path().join("event.json"), event.to_string()).unwrap();
        fs::create_dir(dir.path().join("temp")).unwrap();
        Self { dir, api: api.to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns a command for a script of the action.
    fn script(&self, program: &str, script: &str) -> Command {
        let mut command = Command::new(program);
        command.arg(root().join("packaging/action").join(script));
        let built = Path::new(env!("CARGO_BIN_EXE_clitape")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(built.to_owned()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).unwrap());
        command.env("NO_COLOR", "1").env("XDG_STATE_HOME", self.path("state"));
        for (name, file) in [
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_PATH", "path"),
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("GITHUB_EVENT_PATH", "event.json"),
            ("RUNNER_TEMP", "temp"),
        ] {
            command.env(name, self.path(file));
        }
        command.env("GITHUB_API_URL", &self.api).env("GITHUB_SERVER_URL", "https://example.org");
        command.env("GITHUB_REPOSITORY", "o/r").env("GITHUB_RUN_ID", "12");
        command.env("NAME", "clitape").env("TOKEN", "secret").env_remove("GITHUB_ACTIONS");
        command
    }

    /// Runs `clitape test` in a workspace as the action does, and returns the folder of the reports.
    fn test(&self, workspace: &Path, args: &str, shard: &str, merge: &str) -> PathBuf {
        let mut command = self.script("bash", "test.sh");
        command.current_dir(workspace).env("ARGS", args).env("SHARD", shard).env("MERGE", merge);
        succeeds(&mut command);
        self.path("temp/clitape-report/clitape")
    }

    /// Writes the comment about the reports in a folder, and returns what the script says.
    fn comment(&self, report: &Path) -> String {
        let mut command = self.script("node", "comment.mjs");
        succeeds(command.env("REPORT", report).env("PAGE", "https://example.org/page"))
    }
}

/// Runs a command that must end well, and returns its stdout.
#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{command:?}\n{stdout}{}", String::from_utf8_lossy(&stderr));
    stdout
}

/// Makes a workspace in which one chat is not what its goldens say.
fn red_workspace() -> TempDir {
    let workspace = workspace(&["three-tools", "plain-text"]);
    for golden in files(&workspace.path().join("scenarios/three-tools"), ".snap") {
        let text = fs::read_to_string(&golden).unwrap();
        fs::write(&golden, text.replace("Now the other one", "Now an other one")).unwrap();
    }
    workspace
}

#[test]
fn a_run_leaves_reports_a_summary_and_its_exit_code() {
    let (runner, workspace) = (Runner::new(""), red_workspace());
    let report = runner.test(workspace.path(), "--plans 1", "", "false");
    let output = runner.text("output");
    assert!(output.contains("code=3\n") && output.contains("artefact=clitape\n"), "{output}");
    assert!(output.contains(&format!("report={}\n", report.display())), "{output}");
    for file in ["report.json", "report.md", "report.xml", "page/index.html"] {
        assert!(report.join(file).is_file(), "{file}");
    }
    assert!(runner.text("summary").contains("GD001"), "{}", runner.text("summary"));

    // A word is no pattern of files, and a scenario that passes is no finding.
    let runner = Runner::new("");
    runner.test(workspace.path(), "plain-t*  --plans 1", "", "false");
    assert!(runner.text("output").contains("code=0\n"), "{}", runner.text("output"));
}

#[test]
fn shards_are_joined_to_one_verdict() {
    let (runner, workspace) = (Runner::new(""), red_workspace());
    for shard in ["1/2", "2/2"] {
        let report = runner.test(workspace.path(), "--plans 1", shard, "false");
        let artefact = format!("clitape-shard-{}", shard.replace('/', "-of-"));
        assert!(runner.text("output").contains(&format!("artefact={artefact}\n")));
        let kept = runner.path("temp/clitape-shards").join(artefact);
        fs::create_dir_all(&kept).unwrap();
        fs::rename(report.join("report.json"), kept.join("report.json")).unwrap();
    }
    fs::remove_file(runner.path("output")).unwrap();
    let report = runner.test(workspace.path(), "", "", "true");
    let output = runner.text("output");
    assert!(output.contains("code=3\n") && output.contains("artefact=clitape\n"), "{output}");
    let merged: Value =
        serde_json::from_str(&fs::read_to_string(report.join("report.json")).unwrap()).unwrap();
    assert_eq!(merged["totals"]["scenarios"], 2);

    let runner = Runner::new("");
    runner.test(workspace.path(), "", "", "true");
    assert!(runner.text("output").contains("code=4\n"), "{}", runner.text("output"));
}

#[test]
fn one_comment_is_written_and_then_changed() {
    if !has_program("node") {
        return;
    }
    let issue = Arc::default();
    let (runner, workspace) = (Runner::new(&serve(&issue)), red_workspace());
    let report = runner.test(workspace.path(), "--plans 1", "", "false");
    // A person's comment that begins with the marker stays as it is, and so do a hundred others.
    let marker = "<!-- clitape action: clitape -->";
    let person = |text: &str| json!({ "id": 0, "body": text, "user": { "type": "User" } });
    issue.lock().unwrap().comments = vec![person("Looks good."); 120];
    issue.lock().unwrap().comments[3] = person(&format!("{marker} is what it writes"));

    let said = runner.comment(&report);
    assert!(said.contains("wrote the comment"), "{said}");
    let body = issue.lock().unwrap().comments[120]["body"].as_str().unwrap().to_owned();
    for part in [
        marker,
        "## clitape: ",
        "### GD001 golden-differs",
        "<th>expected</th><th>came at 5.400 s</th>",
        "<b>Now an other one.</b></code></pre></td><td",
        "<b>Now the other one.</b></code></pre></td></tr>",
        "clitape test three-tools --update && clitape review",
        "[The page](https://example.org/page) · [the run](https://example.org/o/r/actions/runs/12)",
    ] {
        assert!(body.contains(part), "no `{part}` in\n{body}");
    }
    assert_eq!(body.matches("### GD001").count(), 1, "one cause is one section:\n{body}");

    // The chat is right again: the same comment says so.
    for golden in files(&workspace.path().join("scenarios/three-tools"), ".snap") {
        let text = fs::read_to_string(&golden).unwrap();
        fs::write(&golden, text.replace("Now an other one", "Now the other one")).unwrap();
    }
    let report = runner.test(workspace.path(), "--plans 1", "", "false");
    let said = runner.comment(&report);
    assert!(said.contains("changed the comment"), "{said}");
    let issue = issue.lock().unwrap();
    assert_eq!(issue.comments.len(), 121);
    let body = issue.comments[120]["body"].as_str().unwrap();
    assert!(body.starts_with(marker) && !body.contains("GD001"), "{body}");
    assert_eq!(issue.calls.last().unwrap(), "PATCH /repos/o/r/issues/comments/120");
}

#[test]
fn there_is_no_comment_without_a_pull_request_or_the_right_to_write() {
    if !has_program("node") {
        return;
    }
    let issue = Arc::default();
    let runner = Runner::new(&serve(&issue));
    let report = made_report(&runner, &[(vec!["a"], vec!["b"])]);
    fs::write(runner.path("event.json"), r#"{"ref":"refs/heads/main"}"#).unwrap();
    let said = runner.comment(&report);
    assert!(said.contains("no pull request"), "{said}");
    assert!(issue.lock().unwrap().calls.is_empty());

    let runner = Runner::new(&runner.api);
    issue.lock().unwrap().refuses = Some(403);
    let said = runner.comment(&made_report(&runner, &[(vec!["a"], vec!["b"])]));
    assert!(
        said.contains("::warning title=clitape::the token can't write the comment (403)"),
        "{said}"
    );
    let said = runner.comment(&runner.path("nowhere"));
    assert!(said.contains("::warning title=clitape::clitape has left no report"), "{said}");
}

/// Writes a report with a cause for each chat, as lines that were expected and that came.
fn made_report(runner: &Runner, chats: &[(Vec<&str>, Vec<&str>)]) -> PathBuf {
    let findings: Vec<Value> = chats
        .iter()
        .enumerate()
        .map(|(i, (expected, got))| {
            json!({
                "id": "GD001 golden-differs", "place": format!("s-{i} 2.1.332 telegram-partial"),
                "sentence": format!("difference {i}"), "reproduce": format!("clitape test s-{i}"),
                "chat": { "at": 200, "above": 0, "expected": [expected], "got": [got] },
            })
        })
        .collect();
    let check = |i: usize, finding: &Value| {
        json!({ "name": format!("s-{i}"), "pending": 0, "checks": [{
            "name": "2.1.332::telegram-partial", "cassettes": 1, "goldens": 1, "plans": 0,
            "findings": [finding],
        }] })
    };
    let scenarios: Vec<Value> = findings.iter().enumerate().map(|(i, it)| check(i, it)).collect();
    let count = findings.len();
    let report = json!({
        "format": 1, "clitape": env!("CARGO_PKG_VERSION"),
        "totals": { "scenarios": count, "checks": count, "cassettes": count, "goldens": count, "plans": 0,
            "findings": count, "errors": 0, "pending": 0 },
        "scenarios": scenarios, "house": [],
    });
    let folder = runner.path("report");
    fs::create_dir_all(&folder).unwrap();
    let json = folder.join("made.json");
    fs::write(&json, report.to_string()).unwrap();
    // The Markdown is what clitape itself makes of the report.
    let args = ["report", "merge", "made.json", "--out", "report.json", "--markdown", "report.md"];
    check_merge(&folder, &args);
    folder
}

fn check_merge(folder: &Path, args: &[&str]) {
    check(folder, args, 3, &[], &[]);
}

#[test]
fn text_of_a_chat_stays_code_and_mentions_nobody() {
    if !has_program("node") {
        return;
    }
    let issue = Arc::default();
    let runner = Runner::new(&serve(&issue));
    let lines = vec![
        "```",
        "````",
        "@octocat and @o/team",
        "",
        "</code></pre></td></tr></table>",
        "",
        "# <img src=x onerror=alert(1)> & 'quoted' \"twice\"",
        "### `GD002 not-a-section`",
        "[x](https://example.org) fixes #1",
    ];
    let report = made_report(&runner, &[(lines.clone(), vec!["b"])]);
    runner.comment(&report);
    let issue = issue.lock().unwrap();
    let body = issue.comments[0]["body"].as_str().unwrap();
    assert_eq!(body.matches("<table>").count(), 1);

    // GitHub links no name inside of `code`, neither of Markdown nor of HTML.
    let mut shown = String::new();
    let mut html = String::new();
    let mut blocks: Vec<String> = Vec::new();
    let mut is_code = false;
    for event in Parser::new_ext(body, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                blocks.push(language.to_string());
                is_code = true;
            }
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(text) if !is_code => shown.push_str(&text),
            Event::Html(text) | Event::InlineHtml(text) => html.push_str(&text),
            _ => {}
        }
    }
    assert_eq!(blocks, ["text", "sh"], "the table ends before the block below it:\n{body}");
    for bad in ["octocat", "not-a-section", "onerror", "fixes"] {
        assert!(!shown.contains(bad), "`{bad}` is text:\n{shown}");
    }
    let tags: Vec<&str> =
        html.split('<').skip(1).map(|tag| tag.split(['>', ' ']).next().unwrap()).collect();
    let known = ["!--", "table", "tr", "th", "td", "pre", "code", "b"];
    assert!(tags.iter().all(|tag| known.contains(&tag.trim_start_matches('/'))), "{tags:?}");
    let code: String =
        html.split("<code>").skip(1).map(|part| part.split("</code>").next().unwrap()).collect();
    let outside = html.matches("octocat").count() - code.matches("octocat").count();
    assert_eq!((code.matches("@octocat").count(), outside), (1, 0), "{html}");
    assert!(code.contains("&lt;/code&gt;&lt;/pre&gt;"), "{code}");
}

#[test]
fn a_long_comment_ends_between_two_causes_and_says_so() {
    if !has_program("node") {
        return;
    }
    let issue = Arc::default();
    let runner = Runner::new(&serve(&issue));
    let (old, new) = ("ü".repeat(9_000), "😀".repeat(4_000));
    let chats: Vec<_> = (0..6).map(|_| (vec![old.as_str()], vec![new.as_str()])).collect();
    runner.comment(&made_report(&runner, &chats));
    let issue = issue.lock().unwrap();
    let body = issue.comments[0]["body"].as_str().unwrap();
    assert!(body.encode_utf16().count() <= 65_536, "{}", body.encode_utf16().count());
    let shown = body.matches("<table>").count();
    assert!((1..6).contains(&shown), "{shown}");
    assert_eq!(body.matches("</table>").count(), shown);
    let says = format!("it shows {shown} of 6 causes");
    assert!(body.contains(&says), "no `{says}` in\n{}", &body[body.len() - 600..]);
    assert!(body.trim_end().ends_with("actions/runs/12)"));
}

#[test]
fn the_version_is_that_of_the_action_unless_another_is_asked_for() {
    let version = |version: &str, from: &str, repository: &str| {
        let runner = Runner::new("");
        let mut command = runner.script("bash", "version.sh");
        command.env("VERSION", version).env("FROM", from).env("REPOSITORY", repository);
        let Output { status, stderr, .. } = command.output().unwrap();
        let error = String::from_utf8(stderr).unwrap();
        (
            status.code(),
            runner.text("output").replace(&runner.path("temp").display().to_string(), "TEMP"),
            error,
        )
    };
    let own = env!("CARGO_PKG_VERSION");
    let (code, output, _) = version("", "", "o/clitape");
    assert_eq!(code, Some(0));
    let from = format!("from=https://example.org/o/clitape/releases/download/v{own}\n");
    assert_eq!(output, format!("version={own}\n{from}folder=TEMP/clitape-{own}\n"));
    let (_, output, _) = version("v1.2.3-rc.1", "file:///srv/release", "");
    assert_eq!(
        output,
        "version=1.2.3-rc.1\nfrom=file:///srv/release\nfolder=TEMP/clitape-1.2.3-rc.1\n"
    );
    for bad in ["latest", "1.2", "../../etc", "1.2.3\nfolder=/"] {
        let (code, output, error) = version(bad, "", "o/clitape");
        assert_eq!((code, output.as_str()), (Some(2), ""), "{bad}");
        assert!(error.contains("write one such as 0.1.0"), "{error}");
    }
    let (code, _, error) = version("", "", "");
    assert_eq!(code, Some(2));
    assert!(error.contains("give it the input from"), "{error}");
}

#[test]
fn a_release_is_installed_once_and_must_be_of_the_asked_version() {
    // The installer is another program's test; this one copies, and notes that it ran.
    let dir = tempfile::tempdir().unwrap();
    let packaging = dir.path().join("packaging");
    fs::create_dir_all(packaging.join("action")).unwrap();
    let script = packaging.join("action/install.sh");
    fs::copy(root().join("packaging/action/install.sh"), &script).unwrap();
    let installer = "test \"$1 $3 $5\" = '--version --from --to' && mkdir -p \"$6\" && cp \"$4/clitape\" \"$6\" && echo ran\n";
    fs::write(packaging.join("install.sh"), installer).unwrap();
    let release = dir.path().join("release");
    fs::create_dir(&release).unwrap();
    let program = release.join("clitape");
    fs::write(&program, "#!/bin/sh\necho clitape 1.2.3\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();

    let install = |version: &str| {
        let mut command = Command::new("bash");
        command.arg(&script).env("VERSION", version).env("FROM", &release);
        command.env("FOLDER", dir.path().join("to")).env("GITHUB_PATH", dir.path().join("path"));
        let Output { status, stdout, stderr } = command.output().unwrap();
        let path = fs::read_to_string(dir.path().join("path")).unwrap_or_default();
        let said = String::from_utf8([stdout, stderr].concat()).unwrap();
        (status.code(), said, path.lines().count())
    };
    assert_eq!(install("1.2.3"), (Some(0), "ran\n".to_owned(), 1));
    assert_eq!(install("1.2.3"), (Some(0), String::new(), 2), "the cache has brought it");
    let (code, said, paths) = install("1.2.4");
    assert_eq!((code, paths), (Some(1), 2), "{said}");
    assert!(said.contains("has another version than 1.2.4"), "{said}");
    assert!(!dir.path().join("to/clitape").exists(), "a wrong program stays in no folder");
}

/// A workflow that uses the action of this checkout with every input.
fn workflow_with_the_action() -> String {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    let (_, inputs) = action.split_once("\ninputs:\n").unwrap();
    let (inputs, _) = inputs.split_once("\noutputs:\n").unwrap();
    let names = inputs.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.strip_suffix(':')?;
        (!name.starts_with(' ')).then_some(name)
    });
    let with: String = names.map(|name| format!("          {name}: x\n")).collect();
    assert!(with.lines().count() > 8, "{with}");
    format!(
        "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - id: clitape\n        uses: ./\n        \
         with:\n{with}      - run: echo \"$CODE\"\n        env:\n          CODE: ${{{{ steps.clitape.outputs.code }}}}\n"
    )
}

#[test]
fn workflows_pass_actionlint() {
    if !has_program("actionlint") {
        return;
    }
    // A repository with this action, the workflows of this one, and those that `clitape init` writes.
    let dir = tempfile::tempdir().unwrap();
    let workflows = dir.path().join(".github/workflows");
    fs::create_dir_all(&workflows).unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    fs::copy(root().join("action.yml"), dir.path().join("action.yml")).unwrap();
    fs::write(workflows.join("action.yml"), workflow_with_the_action()).unwrap();
    for path in files(&root().join(".github/workflows"), ".yml") {
        fs::copy(&path, workflows.join(path.file_name().unwrap())).unwrap();
    }
    for (name, args) in [("init.yml", &["init"][..]), ("init-gateway.yml", &["init", "--gateway"])]
    {
        let made = tempfile::tempdir().unwrap();
        fs::create_dir(made.path().join(".git")).unwrap();
        assert!(clitape().current_dir(made.path()).args(args).output().unwrap().status.success());
        fs::copy(made.path().join(".github/workflows/clitape.yml"), workflows.join(name)).unwrap();
    }
    let lint = || {
        // What the scripts inside say to shellcheck and pyflakes depends on what is installed.
        let mut command = Command::new("actionlint");
        command.args(["-shellcheck=", "-pyflakes=", "-no-color"]).current_dir(dir.path());
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text =
            [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        (status.success(), text)
    };
    let (is_good, text) = lint();
    assert!(is_good, "{text}");

    // It reads the action, too: an input that does not exist is an error.
    let wrong = workflow_with_the_action().replace("          shard: x\n", "          shards: x\n");
    fs::write(workflows.join("action.yml"), wrong).unwrap();
    let (is_good, text) = lint();
    assert!(!is_good && text.contains("shards"), "{text}");
}
