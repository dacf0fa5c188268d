//! One line a rule, and the probes taken from OpenClaw.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rules::RULES;
use super::*;

const LONG: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

/// `(rule, text, expected)`; `~` stands for 36 letters and digits, `%` for them masked.
const TEXTS: &[(&str, &str, &str)] = &[
    ("authorization", "-H 'Authorization: Bearer ~' u", "-H 'Authorization: Bearer %' u"),
    ("authorization", "Authorization: Basic YTpi", "Authorization: Basic ***"),
    ("authorization", "Authorization: Bearer $TOKEN", "Authorization: Bearer $TOKEN"),
    ("authorization", "{\"Authorization\":\"Token ~\"}", "{\"Authorization\":\"***\"}"),
    ("authorization", "authorization=~", "authorization=%"),
    ("bearer", "sent bearer ~.", "sent bearer abcdef…789."),
    ("bearer", "the bearer of news", "the bearer of news"),
    ("cookie", "-H 'Cookie: sid=1; theme=dark'", "-H 'Cookie: ***'"),
    ("header", "x-api-key: ~", "x-api-key: %"),
    ("header", "X-Goog-Api-Key: \"short\"", "X-Goog-Api-Key: \"***\""),
    ("header", "X-Request-Id: ~", "X-Request-Id: ~"),
    ("url-user", "postgres://me:hunter2@db/x", "postgres://me:***@db/x"),
    ("url-user", "https://~@host/", "https://%@host/"),
    ("url-user", "http://host:8080/a@b", "http://host:8080/a@b"),
    ("sk", "key sk-ant-~ ok", "key sk-ant…6789 ok"),
    ("sk", "task-management-module", "task-management-module"),
    ("stripe", "sk_live_~", "sk_liv…6789"),
    ("github", "ghp_~", "ghp_ab…6789"),
    ("github", "github_pat_~_~", "github…6789"),
    ("gitlab", "glpat-~", "glpat-…6789"),
    ("slack", "xoxb-123456789012-abcdefghij", "xoxb-1…ghij"),
    (
        "slack-hook",
        "https://hooks.slack.com/services/T0000/B0000/~",
        "https://hooks.slack.com/services/T0000/…6789",
    ),
    ("aws-id", "AKIAIOSFODNN7EXAMPLE", "AKIAIO…MPLE"),
    ("cloud-id", "LTAI5tAbcdefghijklmn", "LTAI5t…klmn"),
    ("google", "AIza~", "AIzaab…6789"),
    ("google", "ya29.~", "ya29.a…6789"),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "eyJhbG…c2ln"),
    ("vendor", "npm_~", "npm_ab…6789"),
    ("vendor", "npm_config_registry", "npm_config_registry"),
    ("vendor", "hf_~", "hf_abc…6789"),
    (
        "telegram",
        "/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/getMe",
        "/bot123456…3456/getMe",
    ),
    ("telegram", "at 123456:30", "at 123456:30"),
    ("discord", "MTIzNDU2Nzg5MDEyMzQ1Njc4.abcdef.abcdefghijklmnopqrstuvwxyza", "MTIzND…xyza"),
    (
        "query",
        "https://x/?token=abcdefghijklmnopqrstuvwxyz&q=1",
        "https://x/?token=abcdef…wxyz&q=1",
    ),
    ("query", "https://x/?q=token&key=1", "https://x/?q=token&key=***"),
    ("json-escaped", "{\\\"apiKey\\\": \\\"~\\\"}", "{\\\"apiKey\\\": \\\"%\\\"}"),
    ("json", "{\"password\": \"a \\\" b\", \"n\": 1}", "{\"password\": \"***\", \"n\": 1}"),
    ("json", "{\"password\": \"cut o", "{\"password\": \"***"),
    ("json", "{\"token\": 12345}", "{\"token\": ***}"),
    ("quoted-key", "{'client_secret': '~'}", "{'client_secret': '%'}"),
    ("flag", "deploy --token ~ --dry", "deploy --token % --dry"),
    ("flag", "deploy --password=\"my own word\" x", "deploy --password=\"***\" x"),
    ("flag", "x --api-key $KEY --password-stdin y", "x --api-key $KEY --password-stdin y"),
    ("flag", "run --token --verbose", "run --token --verbose"),
    ("curl-user", "curl -s -u me:hunter2 https://x", "curl -s -u me:*** https://x"),
    ("curl-user", "docker run -u 1000:1000 x", "docker run -u 1000:1000 x"),
    ("short-flag", "mysql -h db -phunter2 x", "mysql -h db -p*** x"),
    ("short-flag", "mkdir -p hunter2", "mkdir -p hunter2"),
    ("assignment", "export STRIPE_KEY=~; ls", "export STRIPE_KEY=%; ls"),
    ("assignment", "tool says TOKEN=~", "tool says TOKEN=%"),
    ("assignment", "DB_PASSWORD='it is long and old' x", "DB_PASSWORD='it is … old' x"),
    (
        "assignment",
        "A_TOKEN=$OTHER B_TOKEN=\"$(pass show b)\"",
        "A_TOKEN=$OTHER B_TOKEN=\"$(pass show b)\"",
    ),
    ("assignment", "path=/a/b max_tokens=12", "path=/a/b max_tokens=12"),
    ("spaced-assignment", "let password = \"hunter22\";", "let password = \"***\";"),
    ("settings-line", "db:\n  password: hunter2\n  host: h1", "db:\n  password: ***\n  host: h1"),
    ("settings-line", "  token: string;", "  token: string;"),
    (
        "pem",
        "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
        "a\n-----BEGIN RSA PRIVATE KEY-----\n…redacted…\n-----END RSA PRIVATE KEY-----\nb",
    ),
    ("pem", "-----BEGIN PRIVATE KEY-----\nMIIE cut o", "-----BEGIN PRIVATE KEY-----\n…redacted…\n"),
    ("", "my password is abcd efgh ijkl mnop", "my password is abcd efgh ijkl mnop"),
    ("", "const token = getToken(request);", "const token = getToken(request);"),
    ("", "пароль: 日本語 🔑", "пароль: 日本語 🔑"),
];

#[test]
fn b2_texts() {
    let fill = |text: &str| text.replace('~', LONG).replace('%', "abcdef…6789");
    for (rule, text, expect) in TEXTS {
        let (text, expect) = (fill(text), fill(expect));
        assert_eq!(redact_text(&text), expect, "{rule}: {text}");
        assert_eq!(redact_text(&expect), expect, "{rule} twice: {text}");
    }
    let tested: BTreeSet<&str> = TEXTS.iter().map(|(rule, ..)| *rule).collect();
    for rule in RULES {
        assert!(tested.contains(rule.id), "{} has no line", rule.id);
    }
}

/// Arguments and results go by one policy.
fn check(value: &Value, expect: &Value) {
    assert_eq!(&sanitise_args(value), expect);
    assert_eq!(&sanitise_result(value), expect);
}

#[test]
fn b2_values() {
    let ghp = format!("ghp_{LONG}");
    let cases = [
        (json!(5), json!(5)),
        (json!(null), json!(null)),
        (json!(format!("raw {ghp}")), json!("raw ghp_ab…6789")),
        (json!([ghp, 5, null, true]), json!(["ghp_ab…6789", 5, null, true])),
        (
            json!({"file_path": "/etc/hosts", "password": "hunter2"}),
            json!({"file_path": "/etc/hosts", "password": "***"}),
        ),
        (
            json!({"credentials": {"user": "me", "pin": 1234, "ok": true}, "max_tokens": 5}),
            json!({"credentials": {"user": "***", "pin": "***", "ok": true}, "max_tokens": 5}),
        ),
        (
            json!({"token": "$TOKEN", "secret": "", "nested": {"api_key": LONG}}),
            json!({"token": "$TOKEN", "secret": "", "nested": {"api_key": "abcdef…6789"}}),
        ),
        (
            json!({"args": ["--token", "hunter2", "--dry", "x"]}),
            json!({"args": ["--token", "***", "--dry", "x"]}),
        ),
        (json!({ghp: 1}), json!({"ghp_ab…6789": 1})),
    ];
    for (value, expect) in &cases {
        check(value, expect);
    }
}

#[test]
fn b2_long_text_is_cut_with_a_mark() {
    let mark = "\n…(truncated)…";
    let kept = "é".repeat(8_000);
    check(&json!(kept), &json!(kept));
    check(
        &json!([{"type": "text", "text": format!("{kept}é")}]),
        &json!([{"type": "text", "text": format!("{kept}{mark}")}]),
    );
    // A secret that stands across the cut is masked before it is cut.
    let long = format!("{} ghp_{LONG}", "x".repeat(7_990));
    check(&json!(long), &json!(format!("{} ghp_ab…67{mark}", "x".repeat(7_990))));
}

#[test]
fn b2_image_and_document_data_is_replaced_by_its_size() {
    let image = "iVBORw0KGgoAAAANSUhEUg==";
    let cases = [
        (
            json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}}]),
            json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "bytes": 16, "omitted": true}}]),
        ),
        (
            json!({"content": [{"type": "image", "mimeType": "image/png", "data": image}]}),
            json!({"content": [{"type": "image", "mimeType": "image/png", "bytes": 16, "omitted": true}]}),
        ),
        (
            json!({"type": "text", "media_type": "text/plain", "data": "a plain document"}),
            json!({"type": "text", "media_type": "text/plain", "data": "a plain document"}),
        ),
        (
            json!(format!("![](data:image/png;base64,{})", "QUJD".repeat(20))),
            json!("![](data:image/png;base64,(60 bytes))"),
        ),
    ];
    for (value, expect) in &cases {
        check(value, expect);
    }
}
