#![allow(clippy::needless_pass_by_value, reason = "`json!` borrows what a test hands over")]

use crate::acp::tools::*;

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
