//! The view that an ACP client has of a tool call and its result: title, content and places; its kind
//! is that of the display.
//!
//! One table, by the tool's name; its entries are the views that clients of the Claude adapter are
//! used to. All of it is made of arguments that are sanitised already.

use serde_json::{Map, Value, json};

use super::files::{FileTable, str_of, without_reminders};
use super::update::{CallContent, ContentBlock, Location};
use crate::display::{self, ToolCategory};
use crate::excerpt::cut;
use BodySource::Nothing;
use LocationSource::{File, Nowhere};
use TitleSource::{Made, Path, Text, Words};

/// Characters of a title.
const TITLE_LIMIT: usize = 200;

type ToolArgs = Map<String, Value>;

/// The view that a client has of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallView {
    pub(super) title: String,
    pub(super) kind: ToolCategory,
    pub(super) content: Vec<CallContent>,
    pub(super) locations: Vec<Location>,
}

/// The view of one tool.
struct AcpToolEntry {
    names: &'static [&'static str],
    title: TitleSource,
    body: BodySource,
    place: LocationSource,
}

const fn entry(
    names: &'static [&'static str],
    title: TitleSource,
    body: BodySource,
    place: LocationSource,
) -> AcpToolEntry {
    AcpToolEntry { names, title, body, place }
}

/// The source of a title.
enum TitleSource {
    /// Always the same words.
    Words(&'static str),
    /// The text under a key, else these words.
    Text(&'static str, &'static str),
    /// Words before and after the path under the key, else the last words.
    Path(&'static str, &'static str, &'static str, &'static str),
    /// Made by a function, of a path below the working directory where there is one.
    Made(fn(&ToolArgs, Option<&str>) -> String),
}

/// The source of a call's content before its result.
#[derive(Clone, Copy, PartialEq)]
enum BodySource {
    Nothing,
    /// The text under a key.
    Text(&'static str),
    /// The list under a key, as JSON.
    Json(&'static str),
    /// The change of a file, or its text while the path is missing.
    Diff,
    /// A link to the fetched page.
    Link,
    /// The command, or a terminal.
    Command,
}

/// Where a call works.
enum LocationSource {
    Nowhere,
    /// At the path under a key.
    File(&'static str),
    /// At the path and the line a Read begins with.
    Lines,
}

const TABLE: &[AcpToolEntry] = &[
    entry(&["Task"], Text("description", "Task"), BodySource::Text("prompt"), Nowhere),
    entry(&["Agent"], Text("description", "Agent"), BodySource::Text("prompt"), Nowhere),
    entry(&["Bash"], Text("description", "Execute command"), BodySource::Command, Nowhere),
    entry(&["BashOutput"], Words("Tail Logs"), Nothing, Nowhere),
    entry(&["KillShell"], Words("Kill Process"), Nothing, Nowhere),
    entry(&["Read"], Made(read), Nothing, LocationSource::Lines),
    entry(
        &["NotebookRead"],
        Path("Read Notebook ", "notebook_path", "", "Read Notebook"),
        Nothing,
        File("notebook_path"),
    ),
    entry(
        &["NotebookEdit"],
        Path("Edit Notebook ", "notebook_path", "", "Edit Notebook"),
        BodySource::Text("new_source"),
        File("notebook_path"),
    ),
    entry(&["LS"], Made(list), Nothing, Nowhere),
    entry(
        &["Edit", "MultiEdit"],
        Path("Edit `", "file_path", "`", "Edit"),
        BodySource::Diff,
        File("file_path"),
    ),
    entry(
        &["Write"],
        Path("Write ", "file_path", "", "Write"),
        BodySource::Diff,
        File("file_path"),
    ),
    entry(&["Glob"], Made(glob), Nothing, File("path")),
    entry(&["Grep"], Made(grep), Nothing, Nowhere),
    entry(&["WebFetch", "web_fetch"], Words("Fetch"), BodySource::Link, Nowhere),
    entry(&["WebSearch", "web_search"], Made(web_search), Nothing, Nowhere),
    entry(&["ExitPlanMode"], Words("Ready to code?"), BodySource::Text("plan"), Nowhere),
    entry(&["AskUserQuestion"], Made(question), BodySource::Json("questions"), Nowhere),
];

/// Returns the view of a call of the tool `name` with the arguments so far. `terminal` is the id of
/// the terminal that shows a command, if the client shows terminals.
pub(super) fn look(
    name: &str,
    input: &ToolArgs,
    cwd: Option<&str>,
    terminal: Option<&str>,
    files: &FileTable,
) -> CallView {
    let Some(entry) = TABLE.iter().find(|entry| entry.names.contains(&name)) else {
        let title = one_line(mcp_tool(name));
        return CallView {
            title,
            kind: ToolCategory::Other,
            content: Vec::new(),
            locations: Vec::new(),
        };
    };
    let title = match entry.title {
        Words(words) => words.to_owned(),
        Text(key, words) => some(input, key).unwrap_or(words).to_owned(),
        Path(before, key, after, words) => match some(input, key) {
            Some(path) => format!("{before}{}{after}", below(path, cwd)),
            None => words.to_owned(),
        },
        Made(make) => make(input, cwd),
    };
    CallView {
        title: one_line(&title),
        kind: display::kind(name),
        content: body(entry.body, name, input, terminal, files),
        locations: places(&entry.place, input),
    }
}

/// Returns whether a call of the tool `name` is a command, which a terminal may show.
pub(super) fn is_command(name: &str) -> bool {
    TABLE.iter().any(|entry| entry.body == BodySource::Command && entry.names.contains(&name))
}

fn body(
    body: BodySource,
    name: &str,
    input: &ToolArgs,
    terminal: Option<&str>,
    files: &FileTable,
) -> Vec<CallContent> {
    let text = |key| some(input, key).map(CallContent::text).into_iter().collect();
    match (body, terminal) {
        (BodySource::Nothing, _) => Vec::new(),
        (BodySource::Text(key), _) => text(key),
        (BodySource::Json(key), _) => {
            let list = input.get(key).filter(|list| list.is_array());
            list.map(|list| CallContent::text(format!("{list:#}"))).into_iter().collect()
        }
        (BodySource::Diff, _) if some(input, "file_path").is_none() => text("content"),
        (BodySource::Diff, _) => files.diffs(name, input),
        (BodySource::Link, _) => link(input).into_iter().collect(),
        (BodySource::Command, Some(id)) => {
            vec![CallContent::Terminal { terminal_id: id.to_owned() }]
        }
        (BodySource::Command, None) => text("command"),
    }
}

/// The link to what a call fetches.
fn link(input: &ToolArgs) -> Option<CallContent> {
    let url = some(input, "url")?;
    Some(CallContent::Content {
        content: ContentBlock::ResourceLink {
            uri: url.to_owned(),
            name: url.to_owned(),
            description: some(input, "prompt").map(str::to_owned),
        },
    })
}

fn places(place: &LocationSource, input: &ToolArgs) -> Vec<Location> {
    let (key, line) = match place {
        Nowhere => return Vec::new(),
        File(key) => (*key, None),
        LocationSource::Lines => ("file_path", Some(number(input, "offset").unwrap_or(1))),
    };
    let path = some(input, key);
    path.map(|path| Location { path: path.to_owned(), line }).into_iter().collect()
}

fn read(input: &ToolArgs, cwd: Option<&str>) -> String {
    let Some(path) = some(input, "file_path") else { return "Read File".to_owned() };
    let path = below(path, cwd);
    match (number(input, "offset"), number(input, "limit")) {
        (from, Some(count)) => {
            let from = from.unwrap_or(1);
            format!("Read {path} ({from} - {})", from.saturating_add(count).saturating_sub(1))
        }
        (Some(from), None) => format!("Read {path} (from line {from})"),
        (None, None) => format!("Read {path}"),
    }
}

fn list(input: &ToolArgs, _: Option<&str>) -> String {
    match some(input, "path") {
        Some(path) => format!("List the `{path}` directory's contents"),
        None => "List the current directory's contents".to_owned(),
    }
}

fn glob(input: &ToolArgs, _: Option<&str>) -> String {
    let words = ["path", "pattern"].into_iter().filter_map(|key| some(input, key));
    words.fold("Find".to_owned(), |title, word| format!("{title} \"{word}\""))
}

fn grep(input: &ToolArgs, _: Option<&str>) -> String {
    let is_on = |key: &str| input.get(key) == Some(&Value::Bool(true));
    let mut words = vec!["grep".to_owned()];
    words.extend(["-i", "-n"].into_iter().filter(|flag| is_on(flag)).map(str::to_owned));
    let counts = ["-A", "-B", "-C"].into_iter();
    words.extend(counts.filter_map(|flag| Some(format!("{flag} {}", number(input, flag)?))));
    words.extend(match str_of(input, "output_mode") {
        Some("files_with_matches") => Some("-l".to_owned()),
        Some("count") => Some("-c".to_owned()),
        _ => None,
    });
    words.extend(number(input, "head_limit").map(|count| format!("| head -{count}")));
    words.extend(some(input, "glob").map(|glob| format!("--include=\"{glob}\"")));
    words.extend(some(input, "type").map(|kind| format!("--type={kind}")));
    words.extend(is_on("multiline").then(|| "-P".to_owned()));
    words.extend(some(input, "pattern").map(|pattern| format!("\"{pattern}\"")));
    words.extend(some(input, "path").map(str::to_owned));
    words.join(" ")
}

fn web_search(input: &ToolArgs, _: Option<&str>) -> String {
    let Some(query) = some(input, "query") else { return "Search the web".to_owned() };
    let sites = |key: &str, word: &str| {
        let sites = input.get(key)?.as_array()?.iter().filter_map(Value::as_str);
        let sites = sites.collect::<Vec<_>>().join(", ");
        (!sites.is_empty()).then(|| format!(" ({word}: {sites})"))
    };
    let allowed = sites("allowed_domains", "allowed").unwrap_or_default();
    let blocked = sites("blocked_domains", "blocked").unwrap_or_default();
    format!("\"{query}\"{allowed}{blocked}")
}

fn question(input: &ToolArgs, _: Option<&str>) -> String {
    let first = input.get("questions").and_then(|questions| questions.get(0)?.get("question"));
    first.and_then(Value::as_str).unwrap_or("Question").to_owned()
}

/// The tool's own name in `mcp__server__tool`; other names as they are.
fn mcp_tool(name: &str) -> &str {
    let tool = name.strip_prefix("mcp__").and_then(|rest| Some(rest.split_once("__")?.1));
    match tool.filter(|tool| !tool.is_empty()).unwrap_or(name) {
        "" => "Unknown Tool",
        tool => tool,
    }
}

/// `path` as seen from the working directory, if it lies below it.
fn below<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let rest = cwd.and_then(|cwd| path.strip_prefix(cwd.trim_end_matches('/')));
    rest.and_then(|rest| rest.strip_prefix('/')).filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// The string under `key`, if it says anything.
fn some<'a>(input: &'a ToolArgs, key: &str) -> Option<&'a str> {
    str_of(input, key).filter(|text| !text.trim().is_empty())
}

fn number(input: &ToolArgs, key: &str) -> Option<u64> {
    input.get(key)?.as_u64()
}

/// `text` on one line, cut to the limit.
fn one_line(text: &str) -> String {
    cut(text.trim().replace(char::is_control, " "), TITLE_LIMIT)
}

/// The view of the result of a tool that went well.
#[derive(Clone, Copy)]
enum ResultStyle {
    /// Not at all: what the call showed stays.
    Not,
    /// As the output of a command.
    Console,
    /// As the text of a file, without what the CLI whispers to the model.
    File,
    /// Below the link to what was fetched.
    Fetched,
}

const RESULTS: &[(&str, ResultStyle)] = &[
    ("Edit", ResultStyle::Not),
    ("MultiEdit", ResultStyle::Not),
    ("Write", ResultStyle::Not),
    ("NotebookEdit", ResultStyle::Not),
    ("Bash", ResultStyle::Console),
    ("Read", ResultStyle::File),
    ("WebFetch", ResultStyle::Fetched),
    ("web_fetch", ResultStyle::Fetched),
];

/// The titles that calls have when they went well, where they are others than before.
const TITLES: &[(&str, &str)] =
    &[("ExitPlanMode", "Exited Plan Mode"), ("AskUserQuestion", "Question answered")];

/// The title of a call that went well, if the result changes it.
pub(super) fn title(name: &str) -> Option<&'static str> {
    TITLES.iter().find(|(tool, _)| *tool == name).map(|(_, title)| *title)
}

/// `rawOutput`: the result's blocks and whether it is an error.
pub(super) fn raw_output(is_error: bool, result: &Value) -> Value {
    json!({ "content": blocks(result), "isError": is_error })
}

/// The content of the result for a person; `None` leaves the content of the call.
pub(super) fn content(
    name: &str,
    input: &Map<String, Value>,
    is_error: bool,
    result: &Value,
) -> Option<Vec<CallContent>> {
    let shown = RESULTS.iter().find(|(tool, _)| *tool == name).map(|(_, shown)| *shown);
    let text = plain(result);
    if is_error {
        return (!text.trim().is_empty()).then(|| vec![CallContent::text(fenced("", &text))]);
    }
    match shown {
        Some(ResultStyle::Not) => None,
        _ if text.trim().is_empty() => None,
        Some(ResultStyle::Console) => {
            Some(vec![CallContent::text(fenced("console", text.trim_end()))])
        }
        Some(ResultStyle::File) => {
            Some(vec![CallContent::text(fenced("", &without_reminders(&text)))])
        }
        Some(ResultStyle::Fetched) => {
            Some(link(input).into_iter().chain([CallContent::text(text)]).collect())
        }
        None => Some(vec![CallContent::text(text)]),
    }
}

/// The result as one text: its texts as they are, what is none as JSON, a line each.
pub(super) fn plain(result: &Value) -> String {
    let texts = blocks(result).into_iter().map(|block| match block.get("text") {
        Some(Value::String(text)) if block.get("type") == Some(&json!("text")) => text.clone(),
        _ => format!("{block:#}"),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The exit code that a failed command's output begins with; 1 if it has none.
pub(super) fn exit_code(is_error: bool, output: &str) -> i64 {
    let told = output.strip_prefix("Exit code ").and_then(|rest| rest.lines().next());
    if is_error { told.and_then(|code| code.trim().parse().ok()).unwrap_or(1) } else { 0 }
}

/// The blocks of a result: a text is one, and so is an object.
fn blocks(result: &Value) -> Vec<Value> {
    match result {
        Value::Null => Vec::new(),
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        other => vec![other.clone()],
    }
}

/// `text` in a fence longer than any in it.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests;
