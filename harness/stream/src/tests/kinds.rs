//! Every known kind of record becomes what `docs/stream.md` says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::*;
use crate::OTHER_KINDS;

/// The kinds that CLI 2.1.316 names, except the blocks of messages.
const CLI_2_1_316: &str = "assistant auth_status command_lifecycle conversation_reset \
    prompt_suggestion rate_limit_event result result/success stream_event tool_progress \
    tool_use_summary user system/api_retry system/background_tasks_changed \
    system/cloud_session_delta system/code_change_published system/commands_changed \
    system/compact_boundary system/control_request_progress system/dev_intent \
    system/elicitation_complete system/feedback_draft_queued system/file_attachments_missing \
    system/files_persisted system/hook_progress system/hook_response system/hook_started \
    system/informational system/inherited_asks_settled system/init \
    system/instruction_size_warning system/local_command_output system/memory_recall \
    system/mirror_error system/model_refusal_fallback system/model_refusal_no_fallback \
    system/notification system/peer_message_hold system/per_turn_effort_changed \
    system/permission_check_status system/permission_denied system/plugin_install \
    system/session_state_changed system/session_title_changed system/status \
    system/task_notification system/task_progress system/task_started system/task_updated \
    system/thinking_tokens system/turn_handoff_available system/turn_preempted system/ui_focus \
    system/ui_invalidate system/ui_log system/ui_panes system/ui_placed system/ui_scroll \
    system/ui_status system/ui_toast system/vcs_state_changed system/worker_shutting_down";

/// The blocks that it names, in messages of the assistant and of the user.
const CONTENT: &str = "text thinking redacted_thinking tool_use";
const GIVEN: &str = "text image document search_result tool_reference tool_result";

/// The rows `| kind | what it becomes | …` of the table of records on the page.
fn page() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stream.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, table) = page.split_once("\n| record | becomes |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].replace('`', ""), cells[2].to_owned())).collect()
}

/// A record of this kind without other fields.
fn bare(kind: &str) -> String {
    match kind.split_once('/') {
        Some(("control_request", subtype)) => {
            format!(r#"{{"request":{{"subtype":"{subtype}"}},"type":"control_request"}}"#)
        }
        Some(("control_response", subtype)) => {
            format!(r#"{{"response":{{"subtype":"{subtype}"}},"type":"control_response"}}"#)
        }
        Some((kind, subtype)) => format!(r#"{{"subtype":"{subtype}","type":"{kind}"}}"#),
        None => format!(r#"{{"type":"{kind}"}}"#),
    }
}

/// The events of one record.
fn events(record: &str) -> Vec<String> {
    let (mut seen, _) = run(record.as_bytes(), || usize::MAX);
    seen.pop();
    seen
}

#[test]
pub(crate) fn every_kind_becomes_what_the_page_says() {
    for (kind, becomes) in page() {
        let seen = events(&bare(&kind));
        let [only] = &seen[..] else {
            // Such a record has events of other kinds.
            assert!(becomes.starts_with("events") && seen.is_empty(), "{kind}: {seen:?}");
            continue;
        };
        let word = match becomes.split_once(' ').map_or(&*becomes, |(word, _)| word) {
            "notice" if becomes.contains("where") => "record",
            "notice" => "notice",
            "passed" => "record",
            // Such a record needs a body.
            "events" => "diagnostic",
            other => panic!("{kind} becomes {other}?"),
        };
        assert!(only.starts_with(word), "{kind} becomes {becomes}, not {only}");
    }
}

#[test]
pub(crate) fn every_kind_of_cli_2_1_316_is_on_the_page() {
    let page: BTreeSet<String> = page().into_keys().collect();
    for kind in CLI_2_1_316.split_whitespace() {
        let known = page.contains(kind) || page.contains(kind.split('/').next().unwrap());
        assert!(known, "{kind} is not on the page");
        let seen = events(&bare(kind));
        assert!(seen.iter().all(|event| !event.starts_with("unknown")), "{kind}: {seen:?}");
    }
    assert_eq!(CLI_2_1_316.split_whitespace().count(), 62);
}

#[test]
fn every_kind_the_parser_knows_is_on_the_page() {
    let page = page();
    let (_, rows) = include_str!("../notices.rs").split_once("const ROWS").unwrap();
    let (rows, _) = rows.split_once("\n];").unwrap();
    let mut seen = 0;
    for (open, before) in [("system(", "system/"), ("silent(", "")] {
        for row in rows.split(open).skip(1) {
            let kind = format!("{before}{}", row.split('"').nth(1).unwrap());
            assert!(page.contains_key(&kind), "{kind} is not on the page");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} rows");
}

#[test]
pub(crate) fn every_block_of_cli_2_1_316_is_known() {
    let block = |kind: &str| {
        format!(
            r#"{{"type":"{kind}","id":"t","name":"Bash","tool_use_id":"t","text":"x","thinking":"x","data":"x"}}"#
        )
    };
    for kind in CONTENT.split_whitespace() {
        let records = [message("a"), super::block(0, &block(kind)), snapshot("a", &block(kind))];
        let (seen, stats) = run(records.join("\n").as_bytes(), || usize::MAX);
        assert_eq!(stats.unknown + stats.diagnostics, 0, "{kind}: {seen:?}");
    }
    for kind in GIVEN.split_whitespace() {
        let user = format!(r#"{{"type":"user","message":{{"content":[{}]}}}}"#, block(kind));
        let records = [snapshot("a", &call("t", "{}")), user];
        let (seen, stats) = run(records.join("\n").as_bytes(), || usize::MAX);
        assert_eq!(stats.unknown + stats.diagnostics, 0, "{kind}: {seen:?}");
    }
}

#[test]
pub(crate) fn unknown_kinds_are_kept_raw_and_counted() {
    let records = [
        r#"{"type":"holo","session_id":"s","x":[1,{"a":2}]}"#,
        r#"{"type":"system","subtype":"holo","x":1e5}"#,
        r#"{"type":"system","subtype":"holo","x":2}"#,
        r#"{"type":"control_request","request":{"subtype":"holo"}}"#,
        r#"{"type":5}"#,
        r#"{"type":"system"}"#,
    ];
    let (seen, stats) = run(records.join("\n").as_bytes(), || usize::MAX);
    assert_eq!(
        seen,
        [
            "session s".to_owned(),
            format!("unknown holo {}", records[0]),
            format!("unknown system {}", records[1]),
            format!("unknown system {}", records[2]),
            format!("unknown control_request {}", records[3]),
            format!("unknown  {}", records[4]),
            format!("unknown system {}", records[5]),
            r#"incomplete "" no_result"#.to_owned(),
        ]
    );
    assert_eq!(stats.unknown, 6);
    let listed: Vec<_> = stats.unknown_kinds.iter().map(|(k, n)| format!("{k} {n}")).collect();
    assert_eq!(listed, [" 1", "control_request/holo 1", "holo 1", "system 1", "system/holo 2"]);
}

/// The counts of `records` records of `kinds` unknown kinds.
fn counted(records: usize, kinds: usize) -> Stats {
    let record = |n: usize| format!(r#"{{"type":"holo","subtype":"{}"}}"#, n % kinds);
    let records: Vec<String> = (0..records).map(record).collect();
    run(records.join("\n").as_bytes(), || usize::MAX).1
}

#[test]
pub(crate) fn of_very_many_kinds_the_first_have_counts() {
    let stats = counted(6000, 3000);
    assert_eq!(stats.unknown, 6000);
    let unknown = stats.unknown_kinds.iter().map(|(kind, count)| (&**kind, *count));
    let read = stats.by_kind.iter().map(|(kind, count)| (&**kind, *count));
    for counts in [unknown.collect::<BTreeMap<_, _>>(), read.collect()] {
        assert_eq!((counts.len(), counts[OTHER_KINDS]), (1025, 2 * (3000 - 1024)));
        assert!(counts.iter().all(|(kind, count)| *kind == OTHER_KINDS || *count == 2));
    }
}

#[test]
fn many_kinds_are_counted_as_few_are() {
    let stats = counted(250, 100);
    let count = |n: usize| stats.by_kind.get(format!("holo/{n}").as_str()).copied();
    for n in 0..100 {
        assert_eq!(count(n), Some(if n < 50 { 3 } else { 2 }), "{n}");
    }
    assert_eq!(stats.by_kind.len(), 100);
}
