use std::path::Path;

use super::*;

const QUESTION: &str = r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"a \u00e9","n":1.50},"tool_use_id":"t","permission_suggestions":[{"mode":"acceptEdits"}]}}"#;

/// Describes a line in a few words.
fn described(line: &str) -> String {
    let Some(read) = WireLine::read(line.as_bytes()) else { return "no record".to_owned() };
    match read {
        WireLine::Message(message) => {
            let replay = if message.is_replay { " again" } else { "" };
            format!("message {:?} {}{replay}", message.uuid, message.text())
        }
        WireLine::Request(request) => {
            let more = match &request.kind {
                RequestKind::Permission(question) => format!(
                    " {} {:?} {} {}",
                    question.tool_name,
                    question.tool_use_id,
                    question.input.as_str(),
                    question.suggestions.len()
                ),
                RequestKind::Hook(call) => {
                    format!(" {} {} {:?}", call.callback_id, call.event, call.tool_name)
                }
                RequestKind::Initialize(hooks) => {
                    let hook = |hook: &RegisteredHook| {
                        let matcher = hook.matcher.as_deref().unwrap_or("any");
                        format!(" {}({matcher})={}", hook.event, hook.callback_id)
                    };
                    hooks.iter().map(hook).collect()
                }
                RequestKind::Other { tool_use_id, .. } => format!(" {tool_use_id:?}"),
                RequestKind::Interrupt => String::new(),
            };
            format!("request {} {}{more}", request.request_id, request.subtype())
        }
        WireLine::Response(response) => {
            let labels = response.permission().and_then(|answer| answer.chosen_labels());
            let labels = labels.map(|labels| format!(" {}", labels.join("|")));
            let decision = response.decision();
            format!("answer {} {decision}{}", response.request_id, labels.unwrap_or_default())
        }
        WireLine::Cancel { request_id } => format!("cancel {request_id}"),
        WireLine::Other { kind, subtype } => format!("other {kind} {subtype}"),
    }
}

#[test]
fn every_line_is_read() {
    for (line, expect) in [
        (
            r#"{"type":"user","message":{"role":"user","content":"a"},"uuid":"u","timestamp":"t"}"#,
            r#"message Some("u") a"#,
        ),
        (
            r#"{"type":"user","uuid":"","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#,
            "message None a\nb",
        ),
        (
            r#"{"type":"user","uuid":"u","isReplay":true,"timestamp":"t","message":{"content":"a"}}"#,
            r#"message Some("u") a again"#,
        ),
        (r#"{"type":"user","message":{"content":"a"}}"#, "message None a again"),
        (
            r#"{"type":"user","isReplay":true,"message":{"content":"<local-command-stdout>a"}}"#,
            "message None <local-command-stdout>a",
        ),
        (
            r#"{"type":"user","isReplay":true,"parent_tool_use_id":"t","message":{"content":"a"}}"#,
            "message None a",
        ),
        (r#"{"type":"user"}"#, "message None "),
        (QUESTION, r#"request q can_use_tool Bash Some("t") {"command":"a \u00e9","n":1.50} 1"#),
        (
            r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash"}}"#,
            "request q can_use_tool Bash None {} 0",
        ),
        (
            r#"{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"c","input":{"hook_event_name":"PreToolUse","tool_name":"Bash"}}}"#,
            r#"request h hook_callback c PreToolUse Some("Bash")"#,
        ),
        (
            r#"{"type":"control_request","request_id":"i","request":{"subtype":"initialize","hooks":{"Stop":[{"matcher":"Bash|Read","hookCallbackIds":["s1","s2"]}]}}}"#,
            "request i initialize Stop(Bash|Read)=s1 Stop(Bash|Read)=s2",
        ),
        (
            r#"{"type":"control_request","request_id":"i","request":{"subtype":"interrupt"}}"#,
            "request i interrupt",
        ),
        (
            r#"{"type":"control_request","request_id":"i","request":{"subtype":"holo","tool_use_id":"t"}}"#,
            r#"request i holo Some("t")"#,
        ),
        (r#"{"type":"control_request","request_id":5}"#, "request   None"),
        (
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny"}}}"#,
            "answer q deny",
        ),
        (
            r#"{"type":"control_response","response":{"request_id":"q","response":{"behavior":"allow","updatedInput":{"answers":{"a":"x, y","b":"z"}}}}}"#,
            "answer q allow x|y|z",
        ),
        (
            r#"{"type":"control_response","response":{"request_id":"q","response":{"hookSpecificOutput":{"permissionDecision":"allow"}}}}"#,
            "answer q allow",
        ),
        (
            r#"{"type":"control_response","response":{"request_id":"q","response":{"decision":"block"}}}"#,
            "answer q deny",
        ),
        (
            r#"{"type":"control_response","response":{"request_id":"q","response":{}}}"#,
            "answer q neutral",
        ),
        (
            r#"{"type":"control_response","response":{"subtype":"error","request_id":"q","error":"no"}}"#,
            "answer q neutral",
        ),
        (r#"{"type":"control_cancel_request","request_id":"q"}"#, "cancel q"),
        (r#"{"type":"keep_alive"}"#, "other keep_alive "),
        (r#"{"subtype":"init","type":"system"}"#, "other system init"),
        ("{}", "other  "),
        ("[1]", "no record"),
        ("hello", "no record"),
        (" \n", "no record"),
    ] {
        assert_eq!(described(line), expect, "{line}");
    }
}

/// Returns the JSON with the keys of each object in the opposite order.
fn turned(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(fields) => {
            let field = |(key, value): (&String, &serde_json::Value)| {
                format!("{} : {}", serde_json::Value::from(key.as_str()), turned(value))
            };
            format!("{{ {} }}", fields.iter().rev().map(field).collect::<Vec<_>>().join(" , "))
        }
        serde_json::Value::Array(items) => {
            format!("[ {} ]", items.iter().map(turned).collect::<Vec<_>>().join(" , "))
        }
        other => other.to_string(),
    }
}

/// Returns the recorded lines of both sides.
fn recorded() -> Vec<String> {
    let cassettes = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cassettes"));
    let files = walkdir::WalkDir::new(cassettes).into_iter().map(Result::unwrap);
    let is_of_dialogue = |name: &std::ffi::OsStr| name == "stdin.jsonl" || name == "stdout.jsonl";
    let files = files.filter(|file| is_of_dialogue(file.file_name()));
    let texts = files.map(|file| fs_err::read(file.path()).unwrap());
    texts
        .flat_map(|text| {
            String::from_utf8_lossy(&text).lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn recorded_lines_are_read_in_any_order_of_keys_and_written_as_they_were() {
    let mut controls = 0;
    for line in recorded() {
        let Some(read) = WireLine::read(line.as_bytes()) else { continue };
        let written = match &read {
            WireLine::Request(request) => request.to_string(),
            WireLine::Response(response) => response.to_string(),
            WireLine::Message(_) | WireLine::Cancel { .. } => line.clone(),
            WireLine::Other { .. } => continue,
        };
        controls += 1;
        assert_eq!(written, line);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        // Two lists of hooks are equal only in the same order.
        if !matches!(
            &read,
            WireLine::Request(ControlRequest { kind: RequestKind::Initialize(_), .. })
        ) {
            assert_eq!(WireLine::read(turned(&value).as_bytes()), Some(read), "{line}");
        }
    }
    assert!(controls > 500, "only {controls} lines were read");
}

#[test]
fn answers_are_written_as_hosts_write_them() {
    let input = Some(JsonText::of(&serde_json::json!({"command": "ls"})));
    let allow = PermissionDecision::Allow {
        updated_input: input.clone(),
        updated_permissions: Some(vec![JsonText::of(&5)]),
    };
    let deny = PermissionDecision::Deny { message: Some("No.".to_owned()), interrupt: true };
    let hook = HookCall {
        callback_id: "c".to_owned(),
        event: "PreToolUse".to_owned(),
        tool_name: Some("Bash".to_owned()),
        tool_input: input,
    };
    let answer = |decision: PermissionDecision, call: Option<&str>| {
        let answer = PermissionAnswer { decision, tool_use_id: call.map(str::to_owned) };
        let response = ControlResponse::success("q", &answer);
        assert_eq!(response.permission(), Some(answer));
        response
    };
    for (response, expect) in [
        (
            answer(allow, Some("t")),
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"allow","updatedInput":{"command":"ls"},"updatedPermissions":[5],"toolUseID":"t"}}}"#,
        ),
        (
            answer(deny, None),
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny","message":"No.","interrupt":true}}}"#,
        ),
        (
            ControlResponse::allow_call("q", &hook),
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}}}}"#,
        ),
        (
            ControlResponse::error("q", "gone").to_request("r"),
            r#"{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"gone"}}"#,
        ),
    ] {
        assert_eq!(response.to_string(), expect);
        assert_eq!(WireLine::read(expect.as_bytes()), Some(WireLine::Response(response)));
    }
}

#[test]
fn requests_are_written_as_hosts_write_them() {
    let hook = |event: &str, matcher: Option<&str>| RegisteredHook {
        event: event.to_owned(),
        matcher: matcher.map(str::to_owned),
        callback_id: event.to_owned(),
    };
    let id = || "i".to_owned();
    for (request, expect) in [
        (
            ControlRequest::initialize(id(), &[], None),
            r#"{"type":"control_request","request_id":"i","request":{"subtype":"initialize","hooks":null}}"#,
        ),
        (
            ControlRequest::initialize(
                id(),
                &[hook("Stop", None), hook("X", Some("Bash"))],
                Some("s"),
            ),
            r#"{"type":"control_request","request_id":"i","request":{"subtype":"initialize","hooks":{"Stop":[{"hookCallbackIds":["Stop"]}],"X":[{"matcher":"Bash","hookCallbackIds":["X"]}]},"appendSystemPrompt":"s"}}"#,
        ),
        (
            ControlRequest::interrupt(id()),
            r#"{"type":"control_request","request_id":"i","request":{"subtype":"interrupt"}}"#,
        ),
    ] {
        assert_eq!(request.to_string(), expect);
        assert_eq!(WireLine::read(expect.as_bytes()), Some(WireLine::Request(request)));
    }
}

#[test]
fn templates_keep_the_order_of_their_keys() {
    let template = r#"{"type":"user","uuid":null,"message":{"role":"user","content":null},"n":1}"#;
    let template = MessageTemplate::read(template).unwrap();
    assert!(template.has_uuid());
    assert_eq!(
        template.line("p".into(), Some("u".to_owned())),
        r#"{"type":"user","uuid":"u","message":{"role":"user","content":"p"},"n":1}"#
    );
    assert_eq!(
        template.line("p".into(), None),
        r#"{"type":"user","message":{"role":"user","content":"p"},"n":1}"#
    );
    assert!(MessageTemplate::read("{}").is_none());
}

#[test]
fn text_alone_has_no_other_block() {
    let alone = |content: &str| {
        let line = format!(r#"{{"type":"user","message":{{"content":{content}}}}}"#);
        match WireLine::read(line.as_bytes()) {
            Some(WireLine::Message(message)) => message.text_alone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(alone(r#""a""#).as_deref(), Some("a"));
    assert_eq!(alone(r#"[{"type":"text","text":"a"}]"#).as_deref(), Some("a"));
    assert_eq!(alone(r#"[{"type":"text","text":"a"},{"type":"image"}]"#), None);
    assert_eq!(alone("null"), None);
}

#[test]
fn hooks_have_limits() {
    for (event, ids, expect) in
        [("Stop".to_owned(), 9, 9), ("Stop".to_owned(), 9_999, 1_000), ("x".repeat(9_999), 9, 0)]
    {
        let ids: Vec<String> = (0..ids).map(|id| id.to_string()).collect();
        let request = serde_json::json!({
            "type": REQUEST, "request_id": "i",
            "request": {"subtype": "initialize", "hooks": {event: [{"hookCallbackIds": ids}]}},
        });
        match WireLine::read(request.to_string().as_bytes()) {
            Some(WireLine::Request(ControlRequest {
                kind: RequestKind::Initialize(hooks),
                ..
            })) => assert_eq!(hooks.len(), expect),
            other => panic!("{other:?}"),
        }
    }
}
