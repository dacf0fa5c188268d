//! X2: each rule with its reason.

use super::*;

/// `expect`: the reason, then the orphans as `id:line`, then `cut` if the last answer is lost.
fn check(lines: &[Value], expect: &str) {
    let Resumability { resumable, reason, orphans, rules, .. } = resumability(&parse(lines));
    assert_eq!(resumable, reason.is_resumable());
    let mut told = reason.as_str().to_owned();
    for Orphan { id, line, .. } in &orphans {
        told += &format!(" {id}:{line}");
    }
    if rules.cut_mid_text {
        told += " cut";
    }
    assert_eq!(told, expect, "{lines:#?}");
}

/// The conversations that were tried on OpenClaw, without ids: lines follow each other.
#[test]
pub(crate) fn x2_conversations_of_the_reference() {
    let hi = prompt("", "", "hi");
    let say =
        |block: Value| line("", "", "assistant", &json!({"role": "assistant", "content": [block]}));
    let of =
        |blocks: Value| line("", "", "assistant", &json!({"role": "assistant", "content": blocks}));
    let done = |id: &str| result("", "", id);
    let web = json!({"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "w", "content": []});
    let mut sidechain = say(call("s"));
    sidechain["isSidechain"] = true.into();
    check(&[hi.clone(), say(text("yo"))], "complete");
    check(std::slice::from_ref(&hi), "no-assistant cut");
    check(&[hi.clone(), say(call("a"))], "orphaned-tool-use a:2");
    check(&[hi.clone(), say(call("a")), done("a")], "cut-mid-text cut");
    check(&[hi.clone(), say(call("a")), say(text("bye"))], "complete");
    check(&[hi.clone(), say(call("a")), prompt("", "", "next")], "orphaned-tool-use a:2 cut");
    check(&[hi.clone(), of(json!([call("a"), call("b")])), done("a")], "orphaned-tool-use b:2 cut");
    check(&[hi.clone(), say(text("t")), sidechain], "complete");
    check(&[hi.clone(), of(json!([web, found]))], "complete");
    check(&[hi.clone(), say(web)], "orphaned-tool-use w:2");
    check(&[], "empty");
    // An answer is found wherever it stands.
    let mut late = vec![hi; 1_000];
    late.push(say(text("yo")));
    check(&late, "complete");
}

#[test]
pub(crate) fn x2_the_lines_of_one_message_belong_together() {
    let ask = prompt("u", "", "hi");
    let a = said("1", "u", "m", Some("tool_use"), call("a"));
    let b = said("2", "1", "m", Some("tool_use"), call("b"));
    check(&[ask.clone(), a.clone(), b.clone(), result("3", "2", "b")], "orphaned-tool-use a:2 cut");
    // Results follow their own calls, so that the chain passes the later call by.
    let results = [result("3", "2", "b"), result("4", "1", "a")];
    let whole = [&[ask.clone(), a.clone(), b.clone()], &results[..]].concat();
    check(&whole, "cut-mid-text cut");
    check(&[ask, a, b, results[1].clone()], "orphaned-tool-use b:3 cut");
    let answer = said("5", "4", "n", Some("end_turn"), text("done"));
    check(&[&whole[..], &[answer]].concat(), "complete");
}

#[test]
pub(crate) fn x2_a_branch_that_was_left_does_not_count() {
    // What the CLI up to 2.1.200 writes when it resumes a session that ends in an open call.
    let killed = [
        prompt("u", "", "hi"),
        said("1", "u", "m", Some("tool_use"), text("Let me look.")),
        said("2", "1", "m", Some("tool_use"), call("a")),
    ];
    check(&killed, "orphaned-tool-use a:3");
    let resumed = [&killed[..], &[prompt("3", "1", "Carry on.")]].concat();
    check(&resumed, "cut-mid-text cut");
    let answered =
        [&resumed[..], &[said("4", "3", "n", Some("end_turn"), text("I see."))]].concat();
    check(&answered, "complete");
    // Ids of messages may come again; a prompt parts them.
    let again = [&resumed[..], &[said("4", "3", "m", Some("end_turn"), text("I see."))]].concat();
    check(&again, "complete");
    // And what 2.1.329 writes: a result of its own making, and an answer to it.
    let mended = [
        result("3", "2", "a"),
        said("4", "3", "s", Some("stop_sequence"), text("No response requested.")),
    ];
    check(&[&killed[..], &mended].concat(), "complete");
    // A rewind to before the call.
    let rewound = [prompt("5", "", "hi"), said("6", "5", "n", Some("end_turn"), text("yo"))];
    check(&[&killed[..], &rewound].concat(), "complete");
    check(&[&killed[..], &rewound[..1]].concat(), "no-assistant cut");
    // A line that follows one that was taken out of the file follows the one before it.
    let torn = [
        prompt("u", "", "hi"),
        said("1", "gone", "m", Some("end_turn"), text("yo")),
        prompt("2", "gone", "more"),
    ];
    check(&torn, "cut-mid-text cut");
    let abandoned = resumability(&parse(&[&killed[..], &rewound].concat())).lines.abandoned;
    assert_eq!(abandoned, 3);
}

#[test]
pub(crate) fn x2_a_message_that_was_cut() {
    let ask = prompt("u", "", "hi");
    let ended = said("1", "u", "m", Some("end_turn"), text("yo"));
    check(&[ask.clone(), ended.clone()], "complete");
    check(&[ask.clone(), ended, prompt("2", "1", "more")], "cut-mid-text cut");
    let open = said("1", "u", "m", None, text("yo"));
    check(&[ask.clone(), open.clone()], "cut-mid-text cut");
    let mut old = open;
    old["version"] = "1.0.128".into();
    check(&[ask.clone(), old.clone()], "complete");
    old.as_object_mut().unwrap().remove("version");
    check(&[ask.clone(), old], "complete");
    // Its call never came to be written.
    check(&[ask.clone(), said("1", "u", "m", Some("tool_use"), text("yo"))], "cut-mid-text cut");
    let stop = prompt("2", "1", "[Request interrupted by user]");
    let open = said("1", "u", "m", None, text("yo"));
    check(&[ask.clone(), open, stop], "interrupted cut");
    let call = said("1", "u", "m", Some("tool_use"), call("a"));
    let stop = prompt("3", "2", "[Request interrupted by user for tool use]");
    check(&[ask, call, result("2", "1", "a"), stop], "interrupted");
}

/// The lines that versions 1.0.128, 2.1.148 and 2.1.329 leave behind, and those that they add when
/// they resume.
#[test]
pub(crate) fn x2_what_the_cli_writes_when_it_is_killed() {
    let ask = prompt("u", "", "hi");
    // Killed while it answers: the prompt alone, or with version 1 an empty transcript.
    check(std::slice::from_ref(&ask), "no-assistant cut");
    let mut nudge = prompt("1", "u", "Continue from where you left off.");
    nudge["isMeta"] = true.into();
    let filler = said("2", "1", "s", Some("stop_sequence"), text("No response requested."));
    check(&[ask.clone(), nudge.clone()], "no-assistant cut");
    check(&[ask.clone(), nudge, filler], "complete");
    // Killed while one of two calls is at work: its result never comes.
    let parallel = [
        ask,
        said("1", "u", "m", Some("tool_use"), text("Two.")),
        said("2", "1", "m", Some("tool_use"), call("a")),
        said("3", "2", "m", Some("tool_use"), call("b")),
        result("4", "2", "a"),
    ];
    check(&parallel, "orphaned-tool-use b:4 cut");
    let mended = [
        result("5", "3", "b"),
        said("6", "5", "s", Some("stop_sequence"), text("No response requested.")),
    ];
    check(&[&parallel[..], &mended].concat(), "complete");
    let mut nudge = prompt("5", "4", "Continue from where you left off.");
    nudge["isMeta"] = true.into();
    check(&[&parallel[..], std::slice::from_ref(&nudge)].concat(), "orphaned-tool-use b:4 cut");
    let filler = said("6", "5", "s", Some("stop_sequence"), text("No response requested."));
    check(&[&parallel[..], &[nudge, filler]].concat(), "complete");
    // A model whose message ids come again: the open call is of the message before the prompt.
    let again = [prompt("5", "4", "go on"), said("6", "5", "m", Some("end_turn"), text("Done."))];
    check(&[&parallel[..], &again].concat(), "complete");
    // A result is one, whatever else its line says.
    let mut noted = result("5", "3", "b");
    noted["isMeta"] = true.into();
    check(&[&parallel[..], &[noted]].concat(), "cut-mid-text cut");
}

/// A compaction begins a new chain, and goes on with the old conversation all the same.
#[test]
fn x2_a_compaction_does_not_end_a_conversation() {
    let mut boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b"});
    boundary["logicalParentUuid"] = "1".into();
    boundary["parentUuid"] = Value::Null;
    let mut summary = prompt("s", "b", "So far");
    summary["isCompactSummary"] = true.into();
    let ended = said("1", "u", "m", Some("end_turn"), text("yo"));
    let lines = [prompt("u", "", "hi"), ended, boundary, summary];
    check(&lines, "complete");
    check(&[&lines[..], &[prompt("2", "s", "more")]].concat(), "cut-mid-text cut");
}
