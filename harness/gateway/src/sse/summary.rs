//! The summary of a tool's result: which memories a search found, or why a call failed
//! ([S1](crate::rules::S1)).

use std::collections::HashSet;

use serde_json::{Map, Number, Value, json};

/// Tools whose results are summarised.
const RETRIEVAL: [&str; 2] = ["search_memory", "lobu_search_memory"];
/// Fields that may contain the words of an error, the best first.
const ERROR_FIELDS: [&str; 3] = ["message", "error", "error_code"];

/// Returns whether `name` searches a memory. The CLI puts the server before the name of an MCP
/// tool.
pub(super) fn is_retrieval(name: &str) -> bool {
    let tool = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    RETRIEVAL.contains(&tool.map_or(name, |(_, tool)| tool))
}

/// The summary of a result; `None` for an empty one.
pub(super) fn summary(name: &str, is_error: bool, result: &Value) -> Option<Value> {
    let error = |words: String| json!({ "error": words });
    if is_error {
        return words_of_error(result).map(error);
    }
    let found = if is_retrieval(name) { retrieved(result) } else { None };
    // Some servers report a failure as an ordinary text.
    found.or_else(|| parts(result).find(|text| text.starts_with("Error:")).map(error))
}

fn words_of_error(result: &Value) -> Option<String> {
    let field = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
    let words = result.as_str().map(str::to_owned);
    let words = words.or_else(|| ERROR_FIELDS.into_iter().find_map(field));
    words.or_else(|| parts(result).next()).filter(|words| !words.is_empty())
}

/// The texts of the parts of a result, which are in a list or in the list `content`.
fn parts(result: &Value) -> impl Iterator<Item = String> {
    let list = result.as_array().or_else(|| result.get("content")?.as_array());
    let texts = list.into_iter().flatten().filter(|part| part["type"] == "text");
    texts.filter_map(|part| part["text"].as_str()).map(str::to_owned)
}

/// Returns the memories that a search found: in the first text that is such a body, or in the
/// result itself.
fn retrieved(result: &Value) -> Option<Value> {
    let whole = result.as_str().map(str::to_owned);
    let body = whole.into_iter().chain(parts(result)).find_map(|text| {
        let (body, is_cut) = parse(&text)?;
        found(&body, is_cut)
    });
    body.or_else(|| found(result, false))
}

/// The ids and texts in a body `{"content": [{"id": 1, "text_content": "…"}, …]}`, each id once.
fn found(body: &Value, is_cut: bool) -> Option<Value> {
    let items = body.get("content")?.as_array()?;
    let (mut ids, mut snippets) = (Vec::new(), Vec::new());
    let (mut seen, mut told): (HashSet<&Number>, HashSet<&Number>) = Default::default();
    for item in items {
        let Some(Value::Number(id)) = item.get("id") else { continue };
        if seen.insert(id) {
            ids.push(id);
        }
        let text = item.get("text_content").and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(text) = text
            && told.insert(id)
        {
            snippets.push(json!({ "id": id, "text": text }));
        }
    }
    let mut summary = Map::new();
    if !ids.is_empty() {
        summary.insert("event_ids".to_owned(), json!(ids));
    }
    if !snippets.is_empty() {
        summary.insert("snippets".to_owned(), json!(snippets));
    }
    if is_cut && !summary.is_empty() {
        summary.insert("truncated".to_owned(), Value::Bool(true));
    }
    (!summary.is_empty()).then_some(Value::Object(summary))
}

/// Reads JSON text; of a text that was cut (B2 cuts long ones), what is whole, and that it was.
fn parse(text: &str) -> Option<(Value, bool)> {
    match serde_json::from_str(text) {
        Ok(value) => Some((value, false)),
        Err(_) => Some((serde_json::from_str(&whole_part(text)?).ok()?, true)),
    }
}

/// JSON text up to the last array or object that is whole, with what is open after it closed.
fn whole_part(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let (mut in_string, mut escaped) = (false, false);
    let mut open = Vec::new();
    let mut last = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => {
                open.pop()?;
                last = Some((at + 1, open.len()));
            }
            _ => {}
        }
    }
    let (end, depth) = last?;
    // What was closed after `last` does not exist: all that is open there is open still.
    let closers: String = open.get(..depth)?.iter().rev().collect();
    Some(format!("{}{closers}", &text[..end]))
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]
pub(crate) mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, is_error: bool, result: Value, expect: Value) {
        assert_eq!(summary(name, is_error, &result).unwrap_or_default(), expect, "{result}");
    }

    /// Two hits as a search's body, and what is said of them.
    fn body() -> (Value, Value) {
        (
            json!({
                "matches": [{"id": 1}],
                "content": [{"id": 42, "text_content": "T42"}, {"id": 43, "text_content": "T43"}],
            }),
            json!({
                "event_ids": [42, 43],
                "snippets": [{"id": 42, "text": "T42"}, {"id": 43, "text": "T43"}],
            }),
        )
    }

    fn text(text: impl ToString) -> Value {
        json!({ "type": "text", "text": text.to_string() })
    }

    #[test]
    pub(crate) fn s1_a_search_is_summarised() {
        let (body, told) = body();
        let none = Value::Null;
        let image = json!({"type": "image", "data": "AA", "mimeType": "image/png"});
        let content = |parts: Value| json!({ "content": parts });
        let name = "search_memory";
        for (result, expect) in [
            // As an object, in an MCP result, in the list of parts the CLI prints, as text.
            (body.clone(), &told),
            (content(json!([text(&body)])), &told),
            (json!([text(&body)]), &told),
            (json!(body.to_string()), &told),
            // Δ Every text part is looked at, also after one that is not JSON or not such a body.
            (content(json!([text("Found 2 results:"), text(&body)])), &told),
            (json!([text(""), image, text("[1,2]"), text("42"), text("null"), text(&body)]), &told),
            // The search was empty, or its result can't be understood.
            (content(json!([text("no json here")])), &none),
            (content(json!([text(content(json!([text(&body)])))])), &none),
            (json!({"matches": []}), &none),
            (content(json!([])), &none),
            (json!("just text"), &none),
            (none.clone(), &none),
        ] {
            check(name, false, result, expect.clone());
        }
    }

    #[test]
    pub(crate) fn s1_only_numbers_are_ids_and_each_is_listed_once() {
        let check = |content: Value, expect: Value| {
            check("search_memory", false, json!({ "content": content }), expect);
        };
        check(
            json!([{"id": 1}, {"id": 2, "text_content": ""}, {"id": 3, "text_content": "x"}]),
            json!({"event_ids": [1, 2, 3], "snippets": [{"id": 3, "text": "x"}]}),
        );
        check(
            json!([{"id": "7", "text_content": "x"}, {"id": 8, "text_content": 5},
                {"text_content": "y"}, null, "s", 9]),
            json!({"event_ids": [8]}),
        );
        // Δ lobu#918 lists an id as often as it comes.
        check(
            json!([{"id": 1}, {"id": 1, "text_content": "a"}, {"id": 1, "text_content": "b"}]),
            json!({"event_ids": [1], "snippets": [{"id": 1, "text": "a"}]}),
        );
        check(
            json!([{"id": 1.5, "text_content": "a"}, {"id": -1}, {"id": 9007199254740992_u64}]),
            json!({"event_ids": [1.5, -1, 9007199254740992_u64],
                "snippets": [{"id": 1.5, "text": "a"}]}),
        );
        // Δ A hit that looks like a text part is a hit.
        check(
            json!([{"type": "text", "text": "hello", "id": 5, "text_content": "z"}]),
            json!({"event_ids": [5], "snippets": [{"id": 5, "text": "z"}]}),
        );
    }

    #[test]
    pub(crate) fn s1_which_tools_are_searches() {
        let (body, told) = body();
        for (name, expect) in [
            ("search_memory", &told),
            ("lobu_search_memory", &told),
            // Δ The CLI's names of MCP tools.
            ("mcp__lobu__search_memory", &told),
            ("mcp__lobu__search_memory_all", &Value::Null),
            ("my_search_memory", &Value::Null),
            ("other", &Value::Null),
        ] {
            check(name, false, body.clone(), expect.clone());
        }
    }

    #[test]
    pub(crate) fn s1_an_error_is_summarised_in_its_own_words() {
        let told = |words: &str| json!({ "error": words });
        let none = Value::Null;
        for (result, expect) in [
            (json!("boom"), told("boom")),
            (json!({"message": "auth required", "error": "x"}), told("auth required")),
            (json!({"message": 5, "error": "bad"}), told("bad")),
            (json!({"error_code": "max_uses_exceeded"}), told("max_uses_exceeded")),
            // Δ The CLI gives the words of an MCP tool's failure as text parts.
            (json!({"content": [text("boom")]}), told("boom")),
            (json!([text("boom")]), told("boom")),
            (json!(""), none.clone()),
            (none.clone(), none.clone()),
        ] {
            check("search_memory", true, result, expect);
        }
        check("x", false, json!([text("Error: forbidden")]), told("Error: forbidden"));
        check("Bash", false, json!("Error: what a command printed"), none);
    }

    #[test]
    pub(crate) fn s1_a_text_that_was_cut_is_summarised_by_its_whole_hits() {
        let hits: Vec<Value> =
            (0..3).map(|id| json!({"id": id, "text_content": "a}]\"\\b"})).collect();
        let whole = json!({ "content": hits, "more": {"a": [1]} }).to_string();
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let result = json!([text(format!("{}\n…(truncated)…", &whole[..end]))]);
            let count = whole[..end].matches("b\"}").count();
            let Some(told) = summary("search_memory", false, &result) else {
                assert_eq!(count, 0, "{end}");
                continue;
            };
            assert_eq!(told["event_ids"], json!((0..count).collect::<Vec<_>>()), "{end}");
            assert_eq!(told["truncated"], true);
        }
    }
}
