//! Records that the CLI prints around messages: turns, control records, interrupts, ends.

use super::*;

#[test]
pub(crate) fn several_turns_have_an_init_and_a_result_each() {
    let init = system("init", r#","session_id":"s","model":"m","claude_code_version":"2.1.329""#);
    check(
        &records![
            [
                system("hook_started", r#","session_id":"s""#),
                init.clone(),
                system("status", r#","status":"requesting""#)
            ],
            spoken("a", "One."),
            [result("One."), system("task_notification", r#","task_id":"b1""#), init],
            spoken("b", "Two."),
            one(result("Two.")),
        ],
        &[
            "session s",
            "record system/hook_started",
            "session s m 2.1.329",
            "record system/init",
            "record system/status",
            r#"text a "One.""#,
            r#"ok "One.""#,
            r#"notice system/task_notification {"task_id":"b1"}"#,
            "record system/init",
            r#"text b "Two.""#,
            r#"ok "Two." turn 2"#,
        ],
    );
}

#[test]
fn a_session_is_reported_again_when_only_its_model_or_its_version_changes() {
    let init = |model: &str, version: &str| {
        let fields =
            format!(r#","session_id":"s","model":"{model}","claude_code_version":"{version}""#);
        system("init", &fields)
    };
    let of_init = "record system/init";
    check(
        &[init("m", "1"), init("m", "1"), init("n", "1"), init("n", "2"), result("x")],
        &[
            "session s m 1",
            of_init,
            of_init,
            "session s n 1",
            of_init,
            "session s n 2",
            of_init,
            END,
        ],
    );
}

#[test]
fn an_outcome_names_the_messages_of_the_host_that_its_turn_answers() {
    let command = |uuid: &str, state: &str| {
        format!(r#"{{"type":"command_lifecycle","command_uuid":"{uuid}","state":"{state}"}}"#)
    };
    let of_command = "record command_lifecycle/-";
    check(
        &[
            system("init", ""),
            command("u1", "queued"),
            command("u2", "started"),
            command("u3", "completed"),
            system("status", r#","status":null,"user_message_uuids":["u4","u2"]"#),
            result("x"),
            command("u5", "completed"),
            result("y"),
        ],
        &[
            "record system/init",
            of_command,
            of_command,
            of_command,
            "record system/status",
            r#"ok "x" answers ["u2", "u3", "u4"]"#,
            of_command,
            r#"ok "y" turn 2"#,
        ],
    );
}

#[test]
pub(crate) fn a_result_may_be_the_only_record() {
    // 2.1.100 and later after a failed --resume: no init, and a new session id.
    let lone = r#"{"is_error":true,"errors":["No conversation found with session ID: s"],"session_id":"r","subtype":"error_during_execution","type":"result"}"#;
    check(&[lone.into()], &["session r", r#"error "" execution"#]);
    check(&[result("x")], &[END]);
}

#[test]
pub(crate) fn an_empty_result_before_the_real_one_is_a_turn_of_its_own() {
    // 2.1.200 and later, resumed after a subagent in the background was killed.
    let empty = r#"{"result":"","num_turns":0,"origin":{"kind":"task-notification"},"subtype":"success","type":"result"}"#;
    check(
        &records![
            [
                system("task_notification", r#","status":"stopped""#),
                system("init", ""),
                empty.into()
            ],
            spoken("a", "Real."),
            one(result("Real.")),
        ],
        &[
            r#"notice system/task_notification {"status":"stopped"}"#,
            "record system/init",
            r#"ok "" from task-notification"#,
            r#"text a "Real.""#,
            r#"ok "Real." turn 2"#,
        ],
    );
}

#[test]
pub(crate) fn control_records_have_no_session_id_and_change_none() {
    check(
        &[
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"session_id":"no"}}}"#.into(),
            system("init", r#","session_id":"s""#),
            r#"{"type":"control_request","request_id":"2","request":{"subtype":"can_use_tool","tool_name":"Write","tool_use_id":"t","input":{}}}"#.into(),
            r#"{"type":"control_cancel_request","request_id":"2"}"#.into(),
            result("x"),
        ],
        &[
            "control 1 - - {}",
            "session s",
            "record system/init",
            "question 2 Write t {} null {}",
            "withdrawn 2",
            END,
        ],
    );
}

#[test]
pub(crate) fn between_two_deltas_of_a_block_anything_may_come() {
    let between = [
        event(r#"{"type":"ping"}"#),
        event(r#"{"type":"holo"}"#),
        delta(0, "strange_delta", "text", "?"),
        delta(0, "citations_delta", "citation", "c"),
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#.into(),
        r#"{"type":"tool_progress","tool_use_id":"t","elapsed_time_seconds":3}"#.into(),
        r#"{"type":"keep_alive"}"#.into(),
        r#"{"type":"control_response","response":{"subtype":"success"}}"#.into(),
        system("status", r#","status":"compacting""#),
        "not a record".into(),
        "[]".into(),
    ];
    for record in between {
        let lines = [message("a"), text(0, "o"), record, text(0, "ne"), result("one")].join("\n");
        let (seen, _) = run(lines.as_bytes(), || usize::MAX);
        let texts: Vec<_> = seen.iter().filter(|event| event.starts_with("text")).collect();
        assert_eq!(texts, [r#"text a "o""#, r#"text a "ne""#], "{lines}");
        assert_eq!(seen.last().unwrap(), r#"ok "one""#, "{lines}");
    }
}

#[test]
pub(crate) fn text_of_the_user_side_is_no_answer() {
    for blocks in [
        text_block("Count the entries."),
        text_block("<local-command-stdout>Total cost: $0</local-command-stdout>"),
        text_block("Your response was cut off. Continue."),
        format!("{},{}", r#"{"type":"image","source":{}}"#, text_block("look")),
        String::new(),
    ] {
        for record in [user(&blocks), under("p", &user(&blocks))] {
            check(
                &records![one(record), spoken("a", "x"), one(result("x"))],
                &["record user/-", r#"text a "x""#, END],
            );
        }
    }
}

#[test]
pub(crate) fn an_answer_of_the_cli_itself_is_emitted() {
    let local = r#"{"type":"assistant","message":{"id":"l","model":"<synthetic>","stop_reason":"stop_sequence","content":[{"type":"text","text":"Total cost: $0"}]}}"#;
    check(
        &[local.into(), result("Total cost: $0")],
        &[r#"text l "Total cost: $0""#, r#"ok "Total cost: $0""#],
    );
}

#[test]
pub(crate) fn t6_an_api_error_after_a_finished_call_ends_neither_the_call_nor_the_run() {
    let error = r#"{"type":"assistant","error":"server_error","is_api_error_message":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: Server error mid-response"}]}}"#;
    check(
        &records![
            called("a", "t"),
            [error.to_owned(), tool_result("t", "ok")],
            spoken("b", "Done."),
            one(result("Done.")),
        ],
        &[
            r#"start t Bash {"a":1}"#,
            r#"notice assistant/api_error {"text":"API Error: Server error mid-response","error":"server_error"}"#,
            r#"result t Bash "ok""#,
            r#"text b "Done.""#,
            r#"ok "Done.""#,
        ],
    );
}

#[test]
pub(crate) fn b3_an_interrupted_call_fails_and_so_does_the_run() {
    // SIGINT while a tool runs (2.1.329); the exit code is 0.
    let rejected = r#"{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"The user doesn't want to proceed"}"#;
    let end = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["[ede_diagnostic] x"]}"#;
    check(
        &records![
            called("a", "t"),
            [
                user(rejected),
                user(&text_block("[Request interrupted by user for tool use]")),
                end.into()
            ],
        ],
        &[
            r#"start t Bash {"a":1}"#,
            r#"result t Bash error "The user doesn't want to proceed""#,
            "record user/-",
            r#"error "" interrupted"#,
        ],
    );
    // SIGTERM: the result of the killed command, as the last line.
    check(
        &records![called("a", "t"), one(tool_result("t", "Exit code 137"))],
        &[
            r#"start t Bash {"a":1}"#,
            r#"result t Bash "Exit code 137""#,
            r#"incomplete "" no_result"#,
        ],
    );
}

#[test]
pub(crate) fn b3_the_subtype_says_that_a_turn_failed_where_is_error_does_not() {
    // 1.0.128 and 2.0.70 print these with is_error false, and exit with 0.
    for (subtype, kind) in [
        ("error_max_turns", "max_turns"),
        ("error_max_budget_usd", "max_budget"),
        ("error_during_execution", "execution"),
        ("error_max_structured_output_retries", "other"),
        ("error_holo", "other"),
    ] {
        let end = format!(r#"{{"type":"result","subtype":"{subtype}","is_error":false}}"#);
        check(&[end], &[&format!(r#"error "" {kind}"#)]);
    }
}

#[test]
pub(crate) fn b3_unknown_reasons_are_no_failure() {
    let end = r#"{"type":"result","subtype":"success","is_error":false,"result":"x","terminal_reason":"holo","stop_reason":"holo"}"#;
    check(&[end.into()], &[END]);
}

#[test]
pub(crate) fn t2_a_result_that_is_no_text_means_what_was_streamed() {
    for odd in ["null", "5", r#"{"a":1}"#, r#"["x"]"#] {
        let end = format!(r#"{{"type":"result","subtype":"success","result":{odd}}}"#);
        check(&records![spoken("a", "said"), one(end)], &[r#"text a "said""#, r#"ok "said""#]);
    }
}

#[test]
pub(crate) fn t2_a_structured_answer_is_the_result_s() {
    check(
        &records![spoken("a", "Here it is."), one(result(r#"{\"a\":1}"#))],
        &[r#"text a "Here it is.""#, r#"ok "{\"a\":1}""#],
    );
}

#[test]
pub(crate) fn the_crate_needs_no_runtime() {
    let manifest = include_str!("../../Cargo.toml");
    let needs: Vec<_> =
        manifest.lines().filter(|line| line.contains(".workspace = true")).collect();
    assert!(manifest.contains("[dependencies]") && needs.len() > 5);
    for runtime in ["tokio", "async", "futures", "smol"] {
        assert!(!manifest.contains(runtime), "{runtime}");
    }
}
