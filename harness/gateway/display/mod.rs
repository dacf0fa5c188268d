//! The line that tells a tool call to a person: `📖 Read: from /etc/hosts` (V2).
//!
//! What a tool is called and which of its arguments are worth a word is a table here; how an
//! argument becomes words is [`detail`]; how a shell command does is [`shell`].

mod detail;
mod shell;
mod words;

use serde_json::Value;

use detail::{Detail, clip};

/// Characters of a whole line.
const LINE_LIMIT: usize = 200;
/// A tool of an MCP server.
const MCP: &str = "🔌";
/// A tool that is not in the table.
const UNKNOWN: &str = "🧩";

/// How one tool is shown.
struct Entry {
    /// Its names, in small letters; the case of a call's name does not matter.
    names: &'static [&'static str],
    emoji: &'static str,
    label: &'static str,
    detail: Detail,
}

const fn entry(
    names: &'static [&'static str],
    emoji: &'static str,
    label: &'static str,
    detail: Detail,
) -> Entry {
    Entry { names, emoji, label, detail }
}

const PATH: &[&str] = &["file_path", "path", "filePath"];
const NOTEBOOK: &[&str] = &["notebook_path", "file_path"];
const PURPOSE: &[&str] = &["description", "prompt"];
const TASK: &[&str] = &["task_id", "taskId", "bash_id", "shell_id"];

const TABLE: &[Entry] = &[
    entry(&["read"], "📖", "Read", Detail::Lines(PATH)),
    entry(&["write"], "✍️", "Write", Detail::Size("to ", PATH, &["content", "newText"])),
    entry(
        &["edit"],
        "📝",
        "Edit",
        Detail::Size("in ", PATH, &["new_string", "newText", "content"]),
    ),
    entry(&["multiedit"], "📝", "MultiEdit", Detail::Count("in ", PATH, "edits", "edit")),
    entry(&["notebookedit"], "📓", "NotebookEdit", Detail::Size("in ", NOTEBOOK, &["new_source"])),
    entry(&["bash", "shell", "exec"], "🛠️", "Bash", Detail::Command),
    entry(&["bashoutput"], "🛠️", "BashOutput", Detail::First("of ", TASK)),
    entry(&["killshell", "killbash"], "🛑", "KillShell", Detail::First("", TASK)),
    entry(&["grep"], "🔎", "Grep", Detail::Search("pattern", PATH)),
    entry(&["glob"], "📂", "Glob", Detail::Search("pattern", PATH)),
    entry(&["ls"], "📂", "LS", Detail::First("", PATH)),
    entry(&["webfetch", "web_fetch"], "📄", "WebFetch", Detail::First("from ", &["url"])),
    entry(&["websearch", "web_search"], "🌐", "WebSearch", Detail::Search("query", &[])),
    entry(&["task"], "🤖", "Task", Detail::First("", PURPOSE)),
    entry(&["agent"], "🤖", "Agent", Detail::First("", PURPOSE)),
    entry(&["todowrite"], "🗒️", "TodoWrite", Detail::Todos("todos")),
    entry(&["taskcreate"], "🗒️", "TaskCreate", Detail::First("", &["subject", "description"])),
    entry(&["taskupdate"], "🗒️", "TaskUpdate", Detail::Change("taskId", "status")),
    entry(&["tasklist"], "🗒️", "TaskList", Detail::Nothing),
    entry(&["taskget"], "🗒️", "TaskGet", Detail::First("#", &["taskId", "task_id"])),
    entry(&["taskstop"], "🛑", "TaskStop", Detail::First("", TASK)),
    entry(&["taskoutput"], "🛠️", "TaskOutput", Detail::First("of ", TASK)),
    entry(&["skill"], "🎓", "Skill", Detail::First("", &["skill", "command"])),
    entry(&["slashcommand"], "🎓", "SlashCommand", Detail::First("", &["command"])),
    entry(&["toolsearch"], "🧰", "ToolSearch", Detail::First("", &["query"])),
    entry(&["enterplanmode"], "🧭", "EnterPlanMode", Detail::Nothing),
    entry(&["exitplanmode"], "🧭", "ExitPlanMode", Detail::First("", &["plan"])),
    entry(&["askuserquestion"], "❓", "AskUserQuestion", Detail::Question("questions")),
    entry(&["monitor"], "👀", "Monitor", Detail::First("", &["description", "command", "task_id"])),
    entry(&["schedulewakeup"], "⏰", "ScheduleWakeup", Detail::First("", &["reason"])),
    entry(&["lsp"], "🧭", "LSP", Detail::First("", &["operation"])),
];

/// The line for a call of the tool `name` with `args`, without markup. It is redacted, however
/// whole `args` are (B2).
pub(crate) fn title(name: &str, args: &Value) -> String {
    let name = name.trim();
    let key = name.to_lowercase();
    let entry = TABLE.iter().find(|e| e.names.contains(&key.as_str()));
    let line = match (entry, mcp(name)) {
        (Some(e), _) => join(e.emoji, e.label, &detail::of(&e.detail, args), (": ", "")),
        (None, Some(label)) => join(MCP, &label, &detail::of(&Detail::Any, args), (" (", ")")),
        (None, None) => {
            let label = if name.is_empty() { "Tool" } else { name };
            join(UNKNOWN, label, &detail::of(&Detail::Any, args), (": ", ""))
        }
    };
    clip(&line.replace(char::is_control, " "), LINE_LIMIT)
}

/// `server: tool` for `mcp__server__tool`.
fn mcp(name: &str) -> Option<String> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some(format!("{server}: {tool}"))
}

fn join(emoji: &str, label: &str, detail: &str, around: (&str, &str)) -> String {
    if detail.is_empty() {
        format!("{emoji} {label}")
    } else {
        format!("{emoji} {label}{}{detail}{}", around.0, around.1)
    }
}

#[cfg(test)]
mod tests;
