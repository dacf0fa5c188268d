//! The view that an ACP client has of a call's result.

use serde_json::{Map, Value, json};

use super::files::without_reminders;
use super::tools::link;
use super::update::CallContent;

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

const TABLE: &[(&str, ResultStyle)] = &[
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
    let shown = TABLE.iter().find(|(tool, _)| *tool == name).map(|(_, shown)| *shown);
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
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "`json!` borrows what a test hands over")]

    use super::*;

    fn check(name: &str, is_error: bool, result: Value, expect: Option<&str>) {
        let shown = content(name, &Map::new(), is_error, &result);
        let expect = expect.map(|text| vec![CallContent::text(text)]);
        assert_eq!(shown, expect, "{name} {result}");
    }

    #[test]
    fn a1_a_result_is_shown_as_what_it_is() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        check("Bash", false, json!("a\nb\n\n"), Some("```console\na\nb\n```"));
        check("Bash", false, json!(" \n"), None);
        check("Bash", true, json!("Exit code 1"), Some("```\nExit code 1\n```"));
        check("Read", false, text("1\t```\n2\t````"), Some("`````\n1\t```\n2\t````\n`````"));
        check(
            "Read",
            false,
            text("     5\tfn x\n<system-reminder>be nice</system-reminder>"),
            Some("```\n     5\tfn x\n```"),
        );
        check("Edit", false, json!("ok"), None);
        check("Edit", true, json!("no"), Some("```\nno\n```"));
        check("mcp__a__b", false, text("done"), Some("done"));
        check("mcp__a__b", false, json!([]), None);
        check("mcp__a__b", true, Value::Null, None);
        check(
            "web_search",
            false,
            json!([{"type": "text", "text": "t"}, {"type": "web_search_result", "url": "u"}]),
            Some("t\n{\n  \"type\": \"web_search_result\",\n  \"url\": \"u\"\n}"),
        );
    }

    #[test]
    fn a1_a_terminal_ends_with_the_command_s_exit_code() {
        for (is_error, output, code) in [
            (false, "Exit code 3", 0),
            (true, "Exit code 127\nnot found", 127),
            (true, "Exit code", 1),
            (true, "timed out", 1),
        ] {
            assert_eq!(exit_code(is_error, output), code, "{output}");
        }
    }
}
