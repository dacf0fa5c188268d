use super::*;

mod timeline;
mod transcript;

const S: &str = "845df1a2-d680-4cdc-ba84-847c1f5bcaa3";
const U: &str = "4f3fd9bc-e361-4ac6-99ca-9a6738b97883";
const S1: &str = "00000000-0000-4000-85e5-000000000001";

fn facts() -> MachineFacts {
    MachineFacts {
        paths: vec![
            ("/tmp/r_1x/project".to_owned(), MachineFolder::Project),
            ("/tmp/r_1x/home".to_owned(), MachineFolder::Home),
            ("/tmp".to_owned(), MachineFolder::Tmp),
        ],
        host: Some("kermit".to_owned()),
        user: Some("ann".to_owned()),
        address: Some("127.0.0.1:4242".to_owned()),
        cli_version: Some("2.1.329".to_owned()),
    }
}

/// Compares the canonical form of `lines` with `expect`, and checks the properties of every canonical form.
fn check_with(facts: &MachineFacts, lines: &str, expect: &str) {
    let (found, _) = canonical(lines.as_bytes(), facts);
    assert_eq!(String::from_utf8_lossy(&found.bytes), expect);
    let (again, _) = canonical(&found.bytes, facts);
    assert_eq!(String::from_utf8_lossy(&again.bytes), expect, "twice");
    assert!(again.counts.is_empty(), "twice: {:?}", again.counts);
    let (guessed, _) = canonical(&found.bytes, &guess(&found.bytes));
    assert_eq!(String::from_utf8_lossy(&guessed.bytes), expect, "guessed");
    let ends = |text: &[u8]| -> Vec<u64> {
        let lines = (1_u64..).zip(text).filter(|(_, byte)| **byte == b'\n');
        lines.map(|(end, _)| end).collect()
    };
    let mapped = ends(lines.as_bytes()).into_iter();
    let mapped: Vec<u64> = mapped.map(|end| found.map_offset(end)).collect();
    assert_eq!(mapped, ends(&found.bytes), "ends of lines");
    let all = (0..=lines.len() as u64).map(|raw| found.map_offset(raw));
    assert!(all.is_sorted(), "offsets go back");
    assert_eq!(found.map_offset(lines.len() as u64), found.bytes.len() as u64);
}

fn check(lines: &str, expect: &str) {
    check_with(&facts(), lines, expect);
}

/// Makes the deltas of one block, a line each.
fn deltas(kind: &str, field: &str, parts: &[&str]) -> String {
    let line = |part: &&str| {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{field}":"{part}"}}}},"parent_tool_use_id":null}}"#
        ) + "\n"
    };
    parts.iter().map(line).collect()
}

#[test]
fn one_id_is_one_placeholder_everywhere() {
    check(
        &format!(
            "{{\"type\":\"system\",\"text\":\"{U} of {S}\"}}\n{{\"type\":\"assistant\",\"session_id\":\"{S}\",\"uuid\":\"{U}\"}}\n{S}\n"
        ),
        &format!(
            "{{\"type\":\"system\",\"text\":\"00000000-0000-4000-8a55-000000000001 of {S1}\"}}\n{{\"type\":\"assistant\",\"session_id\":\"{S1}\",\"uuid\":\"00000000-0000-4000-8a55-000000000001\"}}\n{S1}\n"
        ),
    );
}

#[test]
fn ids_of_tasks_keep_their_shape() {
    for (raw, expect) in [
        (
            r#"{"task_id":"a8a5307365817f7e6","x":"to: 'a8a5307365817f7e6'"}"#,
            r#"{"task_id":"a0000000000000001","x":"to: 'a0000000000000001'"}"#,
        ),
        (
            r#"{"task_id":"bpz190tga","run_id":"0mwpm0fn3-6e26899d","x":"tasks/bpz190tga.output"}"#,
            r#"{"task_id":"b00000001","run_id":"000000000-00000001","x":"tasks/b00000001.output"}"#,
        ),
        (
            r#"{"content":"Command running in background with ID: d7ae86. xd7ae86"}"#,
            r#"{"content":"Command running in background with ID: a00001. xd7ae86"}"#,
        ),
        (
            r#"{"content":"saved to: /x/tool-results/bbxrzpb5c.txt"}"#,
            r#"{"content":"saved to: /x/tool-results/b00000001.txt"}"#,
        ),
        (
            r#"{"content":"[Image saved to /x/mcp-cam-blob-1795235512060-m2a1af.png] a-blob-1-b"}"#,
            r#"{"content":"[Image saved to /x/mcp-cam-blob-0000000000000-000001.png] a-blob-1-b"}"#,
        ),
        (
            r#"{"x":"/.claude/plans/next-week.md","filePath":"/h/.claude/plans/paint-old-owl.md"}"#,
            r#"{"x":"/.claude/plans/next-week.md","filePath":"/h/.claude/plans/clitape-plan-000001.md"}"#,
        ),
        (
            r#"{"harnessSectionHash":"953a20fa5c9fd47c"}"#,
            r#"{"harnessSectionHash":"a000000000000001"}"#,
        ),
        (
            r#"{"agent_id":"architect","taskId":"1","id":"toolu_01","request_id":"req_1"}"#,
            r#"{"agent_id":"architect","taskId":"1","id":"toolu_01","request_id":"req_1"}"#,
        ),
    ] {
        check(raw, expect);
    }
}

#[test]
fn numbers_and_times_are_blanked_by_field() {
    for (raw, expect) in [
        (
            r#"{ "ttft_ms" : 72, "totalDurationMs":1.5, "durationSeconds":2, "num_turns":3 }"#,
            r#"{ "ttft_ms" : 0, "totalDurationMs":0, "durationSeconds":0, "num_turns":3 }"#,
        ),
        (
            r#"{"total_cost_usd":0.000616,"modelUsage":{"m":{"costUSD":1e-7,"contextWindow":9}}}"#,
            r#"{"total_cost_usd":0,"modelUsage":{"m":{"costUSD":0,"contextWindow":9}}}"#,
        ),
        (
            r#"{"patch":{"end_time":1795217290131},"timestamp":"2026-11-20T23:26:44.865Z"}"#,
            r#"{"patch":{"end_time":0},"timestamp":"2026-01-01T00:00:00.000Z"}"#,
        ),
        (
            r#"{"timestamp":"yesterday","ttft_ms":null,"at":"2026-11-20T23:26:44.865Z"}"#,
            r#"{"timestamp":"yesterday","ttft_ms":null,"at":"2026-11-20T23:26:44.865Z"}"#,
        ),
        (
            r#"{"content":"<usage>x: 16\nduration_ms: 482</usage><duration_ms>9</duration_ms>"}"#,
            r#"{"content":"<usage>x: 16\nduration_ms: 0</usage><duration_ms>0</duration_ms>"}"#,
        ),
        (
            r#"{"input":{"timeout_ms":9,"a":[{"timestamp":"2026-11-20T23:26:44Z"}]}}"#,
            r#"{"input":{"timeout_ms":9,"a":[{"timestamp":"2026-11-20T23:26:44Z"}]}}"#,
        ),
    ] {
        check(raw, expect);
    }
}

#[test]
fn machine_details_go_in_every_form() {
    for (raw, expect) in [
        (
            r#"{"cwd":"/tmp/r_1x/project","x":"a\n/tmp/r_1x/project/a.txt, /tmp/r_1x/projectb"}"#,
            r#"{"cwd":"/clitape/project","x":"a\n/clitape/project/a.txt, /clitape/projectb"}"#,
        ),
        (
            r#"{"auto":"/tmp/r_1x/home/.claude/projects/-tmp-r-1x-project/memory/"}"#,
            r#"{"auto":"/clitape/home/.claude/projects/-clitape-project/memory/"}"#,
        ),
        (
            r#"{"a":"/tmp/cc-socks/7329.sock","b":"/tmp/claude-1000/-tmp-r-1x-project/x"}"#,
            r#"{"a":"/clitape/tmp/cc-socks/0.sock","b":"/clitape/tmp/claude-0/-clitape-project/x"}"#,
        ),
        (
            r#"{"a":"/tmp, /tmpfs, x/tmp\n/tmp","/tmp/r_1x/project/k":1}"#,
            r#"{"a":"/clitape/tmp, /tmpfs, x/tmp\n/clitape/tmp","/clitape/project/k":1}"#,
        ),
        (
            r#"{"ann":"by ann@kermit\nann; anna, kermits","x":"http://127.0.0.1:4242/v1 127.0.0.1:42421"}"#,
            r#"{"ann":"by clitape-user@clitape-host\nclitape-user; anna, kermits","x":"http://127.0.0.1:0/v1 127.0.0.1:42421"}"#,
        ),
        // A user may have the name of a kind of record.
        (
            r#"{"type":"ann","x":"{\"subtype\" : \"ann\"}","role":"ann b","mytype":"ann"}"#,
            r#"{"type":"ann","x":"{\"subtype\" : \"ann\"}","role":"clitape-user b","mytype":"clitape-user"}"#,
        ),
    ] {
        check(raw, expect);
    }
}

#[test]
fn generic_names_stay() {
    let generic = MachineFacts {
        host: Some("vm".to_owned()),
        user: Some("Root".to_owned()),
        paths: vec![("/".to_owned(), MachineFolder::Project)],
        ..MachineFacts::default()
    };
    let line = r#"{"x":"Root@vm:/ ls /etc"}"#;
    check_with(&generic, line, line);
}

#[test]
fn windows_paths_go_escaped_once_and_twice() {
    let windows = MachineFacts {
        paths: vec![("C:\\Users\\ann\\p".to_owned(), MachineFolder::Project)],
        ..MachineFacts::default()
    };
    check_with(
        &windows,
        r#"{"cwd":"C:\\Users\\ann\\p","partial_json":"{\"p\":\"C:\\\\Users\\\\ann\\\\p\\\\a\"}"}"#,
        r#"{"cwd":"/clitape/project","partial_json":"{\"p\":\"/clitape/project\\\\a\"}"}"#,
    );
}

#[test]
fn values_split_over_deltas_are_replaced_and_split_again() {
    for (kind, field, raw, expect) in [
        (
            "input_json_delta",
            "partial_json",
            &["{\\\"f\\\":\\\"/tmp/r_", "1x/pro", "ject/a\\\"}"][..],
            &["{\\\"f\\\":\\\"/clitap", "e/proj", "ect/a\\\"}"][..],
        ),
        (
            "text_delta",
            "text",
            &["\\ud83d", "\\ude00 /tmp/r_1x", "/home/.x"],
            &["\\ud83d", "\\ude00 /clitape/", "home/.x"],
        ),
        (
            "thinking_delta",
            "thinking",
            &["at /tmp/r_1x/proj", "e", "ct", "", "or k", "ermit"],
            &["at /clitape/proje", "c", "t", "", "or c", "litape-host"],
        ),
        ("text_delta", "text", &["ka", "nn", "a"], &["ka", "nn", "a"]),
    ] {
        check(&deltas(kind, field, raw), &deltas(kind, field, expect));
    }
}

#[test]
fn an_id_split_over_three_deltas_is_known_from_a_later_record() {
    let record = |id: &str| format!("{{\"session_id\":\"{id}\"}}\n");
    check(
        &(deltas("text_delta", "text", &["ID ", &S[..7], &S[7..20], &S[20..]]) + &record(S)),
        &(deltas("text_delta", "text", &["ID ", &S1[..7], &S1[7..20], &S1[20..]]) + &record(S1)),
    );
}

#[test]
fn deltas_of_another_message_block_or_parent_are_not_joined() {
    let split = deltas("text_delta", "text", &["/tmp/r_1x/ho", "me"]);
    let (first, second) = split.split_at(split.len() / 2 + 5);
    let (first, second) = (first.lines().next().unwrap(), second.lines().last().unwrap());
    for between in [
        r#"{"event":{"type":"message_start"},"parent_tool_use_id":null}"#,
        r#"{"event":{"type":"content_block_start","index":0},"parent_tool_use_id":null}"#,
    ] {
        let lines = format!("{first}\n{between}\n{second}\n");
        let expect = lines.replace("/tmp/r_1x/ho", "/clitape/tmp/r_1x/ho");
        check(&lines, &expect);
    }
    for changed in
        [second.replace("\"index\":0", "\"index\":1"), second.replace("null", "\"toolu_1\"")]
    {
        let lines = format!("{first}\n{changed}\n");
        let expect = lines.replace("/tmp/r_1x/ho", "/clitape/tmp/r_1x/ho");
        check(&lines, &expect);
    }
    let other = "{\"type\":\"user\",\"parent_tool_use_id\":\"toolu_1\"}";
    check(
        &format!("{first}\n{other}\n{second}\n"),
        &format!("{first}\n{other}\n{second}\n")
            .replace("/tmp/r_1x/ho", "/clitape/hom")
            .replace("\"text\":\"me", "\"text\":\"e"),
    );
}

#[test]
fn members_of_model_usage_are_sorted_and_nothing_else() {
    check(
        r#"{"modelUsage":{"b":{"costUSD":1},"a":{"x":[2]}},"z":{"b":1,"a":2}}"#,
        r#"{"modelUsage":{"a":{"x":[2]},"b":{"costUSD":0}},"z":{"b":1,"a":2}}"#,
    );
    let (found, _) = canonical(br#"{"modelUsage":{"b":1,"a":2}}"#, &facts());
    assert_eq!(found.counts.get("order"), Some(&1));
}

#[test]
fn racing_fields_are_blanked_in_old_versions_only() {
    let snapshot = |middle: &str| {
        format!(r#"{{"type":"assistant","message":{{"model":"m","content":[],{middle}}}}}"#) + "\n"
    };
    let start = |content: &str| {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"message_start","message":{{"content":{content},"usage":{{"output_tokens":1}}}}}}}}"#
        ) + "\n"
    };
    let raced = snapshot(r#""stop_reason":"tool_use","usage":{"output_tokens":20}"#)
        + &start(r#"[{"type":"text","text":""}]"#);
    let blank = snapshot(r#""stop_reason":null,"usage":{"input_tokens":0,"output_tokens":0}"#)
        + &start("[]");
    for (version, expect) in [
        (Some("1.0.128"), &blank),
        (Some("2.1.99 (Claude Code)"), &blank),
        (Some("2.1.100"), &raced),
        (Some("latest"), &raced),
        (None, &raced),
    ] {
        let of_version = MachineFacts { cli_version: version.map(str::to_owned), ..facts() };
        check_with(&of_version, &raced, expect);
    }
    let old = MachineFacts { cli_version: Some("1.0.128".to_owned()), ..facts() };
    check_with(&old, &raced.replacen("\"usage\":{", "\"usage\":{\"ttft_ms\":7,", 1), &blank);
    let synthetic = raced.replace("\"model\":\"m\"", "\"model\":\"<synthetic>\"");
    let (found, _) = canonical(synthetic.as_bytes(), &old);
    assert_eq!(found.counts.get("racing"), Some(&1));
}

#[test]
fn lines_that_are_no_objects_and_odd_escapes_keep_their_bytes() {
    for (raw, expect) in [
        ("half {\"session_id\":\"x", "half {\"session_id\":\"x"),
        ("in /tmp/r_1x/project\r\n\n[1]\n", "in /clitape/project\r\n\n[1]\n"),
        (
            r#"{"k":"\ud83d","\ude00":1, "duration_ms":5 }"#,
            r#"{"k":"\ud83d","\ude00":1, "duration_ms":0 }"#,
        ),
        (
            r#"{"k":"\ud83d /tmp/r_1x/home","ttft_ms":5}"#,
            r#"{"k":"\ud83d /clitape/home","ttft_ms":0}"#,
        ),
    ] {
        check(raw, expect);
    }
    let deep = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    check(&deep, &deep);
    let (found, _) = canonical(b"\xff /tmp/r_1x/home \xfe\n", &facts());
    assert_eq!(found.bytes, b"\xff /clitape/home \xfe\n");
}

#[test]
fn ids_go_in_every_line_that_the_parser_reads() {
    let line = |text: &[u8]| {
        let id = format!("\"session_id\":\"{S}\",\"ttft_ms\":7}}\n");
        [b"{\"text\":\"", text, b"\",", id.as_bytes()].concat()
    };
    let canonical_line = |text: &[u8]| {
        let id = format!("\"session_id\":\"{S1}\",\"ttft_ms\":0}}\n");
        [b"{\"text\":\"", text, b"\",", id.as_bytes()].concat()
    };
    for text in
        [&b"not UTF-8: \xff\xf0\x9f"[..], b"raw \x01 control \t characters", b"half \\ud83d"]
    {
        let (found, _) = canonical(&line(text), &facts());
        assert_eq!(found.bytes, canonical_line(text), "{}", String::from_utf8_lossy(text));
        let (again, _) = canonical(&found.bytes, &facts());
        assert_eq!(again.bytes, found.bytes);
    }
    check(
        &format!("\u{feff}{{\"session_id\":\"{S}\"}}\r\n[{{\"ttft_ms\":7}}, {{\"ttft_ms\":8}}]\n"),
        &format!("\u{feff}{{\"session_id\":\"{S1}\"}}\r\n[{{\"ttft_ms\":0}}, {{\"ttft_ms\":0}}]\n"),
    );
}

#[test]
fn offsets_inside_a_value_stay_inside_its_placeholder() {
    let raw = "x/tmp/r_1x/projecty\n";
    let (found, _) = canonical(raw.as_bytes(), &facts());
    assert_eq!(found.bytes, b"x/clitape/projecty\n");
    let mapped = [0, 1, 2, 17, 18, 19, 20, 99].map(|at| found.map_offset(at));
    assert_eq!(mapped, [0, 1, 2, 17, 17, 18, 19, 19]);
}

#[test]
fn other_files_get_the_same_placeholders_and_the_next_numbers() {
    let stdout = format!("{{\"type\":\"user\",\"session_id\":\"{S}\",\"uuid\":\"{U}\"}}\n");
    let (_, mut substitutions) = canonical(stdout.as_bytes(), &facts());
    let transcript = format!(
        "{{\"type\":\"user\",\"sessionId\":\"{S}\",\"promptId\":\"{U}\",\"parentUuid\":\"{}\"}}\n",
        U.replace('4', "5")
    );
    let found = substitutions.apply_lines(transcript.as_bytes());
    assert_eq!(
        String::from_utf8_lossy(&found.bytes),
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"{S1}\",\"promptId\":\"00000000-0000-4000-805e-000000000001\",\"parentUuid\":\"00000000-0000-4000-805e-000000000002\"}}\n"
        ),
    );
    assert_eq!(
        substitutions.apply_text(&format!("--resume={S} --add-dir /tmp/r_1x/project é")),
        format!("--resume={S1} --add-dir /clitape/project é"),
    );
}

#[test]
fn ids_of_requests_are_the_same_on_both_sides() {
    let prompt = U.replace('4', "5");
    let hook = |id: &str, session: &str, prompt: &str| {
        format!(
            r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"hook_callback","input":{{"session_id":"{session}","prompt_id":"{prompt}","tool_input":{{"duration_ms":7}}}}}}}}"#
        )
    };
    let asked = r#"{"type":"control_request","request":{"subtype":"can_use_tool","input":{"duration_ms":7}}}"#;
    let answer = |id: &str| {
        format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}"}}}}"#
        )
    };
    let uuid = |n: u64| format!("00000000-0000-4000-8000-{n:012}");
    let stdout = [hook(U, S, &prompt), asked.into(), answer("clitape-1")].join("\n");
    check(&stdout, &[hook(&uuid(1), S1, &uuid(2)), asked.into(), answer("clitape-1")].join("\n"));
    let (_, mut substitutions) = canonical(stdout.as_bytes(), &facts());
    let found = substitutions.apply_lines(answer(U).as_bytes());
    assert_eq!(String::from_utf8_lossy(&found.bytes), answer(&uuid(1)));
    check(
        r#"{"type":"control_response","response":{"pid":29976}}"#,
        r#"{"type":"control_response","response":{"pid":0}}"#,
    );
}
