//! The examples of the table, and values, open text and long text beside them.

use serde_json::{Value, json};

use super::cases::{examples, is_found};
use super::*;

const LONG: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

#[test]
pub(crate) fn b2_texts() {
    let mut failures = Vec::new();
    for rule in examples() {
        assert!(!rule.hit.is_empty(), "{} has no hit", rule.id);
        assert!(rule.miss.len() >= 2, "{} has no two misses that come near it", rule.id);
        assert!(rule.about.ends_with('.'), "{} is not explained", rule.id);
        for hit in &rule.hit {
            let (before, secret, behind) = hit.parts();
            assert!(secret.chars().count() >= 7, "{}: {secret} is too short to look for", rule.id);
            let text = format!("{before}{secret}{behind}");
            let mut masked = Masked::default();
            let out = redact(&text, &mut masked);
            if out != hit.out {
                failures.push(format!("{}: {text} gave {out}", rule.id));
            }
            // Of two rules that find the same, the first counts it.
            if masked.total() == 0 || !is_found(&rule.id, &text) {
                failures.push(format!("{} does not find {text}, but {masked:?}", rule.id));
            }
            if redact_text(&hit.out) != hit.out {
                failures.push(format!("{} twice: {}", rule.id, redact_text(&hit.out)));
            }
        }
        for text in &rule.miss {
            if redact_text(text) != *text {
                failures.push(format!("{} missed {text}: {}", rule.id, redact_text(text)));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Arguments and results go by one policy, and what is sanitised stays.
fn check(value: &Value, expect: &Value) {
    assert_eq!(&sanitise_args(value), expect);
    assert_eq!(&sanitise_result(value), expect);
    assert_eq!(&sanitise_args(expect), expect, "twice");
}

#[test]
pub(crate) fn b2_values() {
    let ghp = format!("ghp_{LONG}");
    let ghp2 = format!("ghp_abX{LONG}");
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
        // The usual place of secrets in the settings of MCP.
        (
            json!({"env": {"STRIPE_KEY": LONG, "GH_PAT": "a1b2c3d4", "SORT_KEY": "created_at", "PUBLIC_KEY": LONG}}),
            json!({"env": {"STRIPE_KEY": "abcdef…6789", "GH_PAT": "***", "SORT_KEY": "created_at", "PUBLIC_KEY": LONG}}),
        ),
        (
            json!([{"name": "API_KEY", "value": LONG}, {"name": "MODE", "value": LONG}]),
            json!([{"name": "API_KEY", "value": "abcdef…6789"}, {"name": "MODE", "value": LONG}]),
        ),
        (
            json!({"password": {"type": "string", "minLength": 8, "value": "hunter2"}}),
            json!({"password": {"type": "string", "minLength": 8, "value": "***"}}),
        ),
        (
            json!({"password": "Password", "token": "${{ github.token }}", "api_key": "YOUR_API_KEY", "secret": "xxxx"}),
            json!({"password": "Password", "token": "${{ github.token }}", "api_key": "YOUR_API_KEY", "secret": "xxxx"}),
        ),
        (
            json!({"kind": "Secret", "data": {"a": "aHVudGVyMg=="}, "metadata": {"name": "aHVudGVyMg=="}}),
            json!({"kind": "Secret", "data": {"a": "***"}, "metadata": {"name": "aHVudGVyMg=="}}),
        ),
        (
            json!({"token": "$TOKEN", "secret": "", "nested": {"api_key": LONG}}),
            json!({"token": "$TOKEN", "secret": "", "nested": {"api_key": "abcdef…6789"}}),
        ),
        (
            json!({"args": ["--token", "hunter2", "--dry", "x", ["--password"], "y"]}),
            json!({"args": ["--token", "***", "--dry", "x", ["--password"], "y"]}),
        ),
        (
            json!(["/usr/bin/curl", "-u", "me:hunter2", "https://x:80"]),
            json!(["/usr/bin/curl", "-u", "me:***", "https://x:80"]),
        ),
        (json!(["docker", "run", "-u", "1000:1000"]), json!(["docker", "run", "-u", "1000:1000"])),
        (json!({ghp: 1, ghp2: 2}), json!({"ghp_ab…6789": 1, "ghp_ab…6789'": 2})),
    ];
    for (value, expect) in &cases {
        check(value, expect);
    }
}

#[test]
fn b2_what_was_masked_is_counted_by_rule() {
    let mut masked = Masked::default();
    let value = json!({
        "token": "hunter2", "pins": {"password": 51_234}, "list": [format!("ghp_{LONG} and gho_{LONG}")],
        "type": "base64", "data": "QUJD", "text": "x".repeat(9_000), "a_token": "$KEPT", "secret": "***",
    });
    let clean = sanitise(&value, &mut masked);
    let expect = [("github", 2), ("long-text", 1), ("media", 1), ("secret-name", 2)];
    assert_eq!(masked.iter().collect::<Vec<_>>(), expect);
    assert_eq!(masked.total(), 6);
    let mut again = Masked::default();
    assert_eq!(sanitise(&clean, &mut again), clean);
    assert_eq!(again, Masked::default());
}

#[test]
pub(crate) fn b2_long_text_is_cut_with_a_mark() {
    let kept = "é".repeat(8_000);
    check(&json!(kept), &json!(kept));
    check(
        &json!([{"type": "text", "text": format!("{kept}é")}]),
        &json!([{"type": "text", "text": format!("{kept}{MARK}")}]),
    );
    // A secret that stands across the cut is masked before it is cut.
    let long = format!("{} ghp_{LONG}", "x".repeat(7_990));
    check(&json!(long), &json!(format!("{} ghp_ab…67{MARK}", "x".repeat(7_990))));
    // The rest of a mask can't begin a secret: it is masked again.
    let long = format!("{} token={LONG}", "x".repeat(7_985));
    check(&json!(long), &json!(format!("{} token=***{MARK}", "x".repeat(7_985))));
    // A secret at the end of what is looked at, when masking made the rest short.
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}", "QUJD".repeat(15_980));
    let long = format!("{key}\n-----END PRIVATE KEY-----\nsk-{LONG}{LONG}");
    let short = "-----BEGIN PRIVATE KEY-----\n…redacted…\n-----END PRIVATE KEY-----\n";
    check(&json!(long), &json!(format!("{short}{MARK}")));
}

#[test]
pub(crate) fn b2_image_and_document_data_is_replaced_by_its_size() {
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

/// A secret that only the text behind it gives away is shown while it grows, and masked from then
/// on.
#[test]
fn a_complete_only_rule_delays_no_text() {
    let check = |text: &str, growing: &str, whole: &str| {
        assert_eq!(redact_open(text), growing, "{text}");
        assert_eq!(redact_text(text), whole, "{text}");
        let fields = json!({"command": text});
        let open = sanitise_open_args(fields.as_object().unwrap(), Some("command"));
        assert_eq!(open["command"], growing, "{text}");
        assert_eq!(sanitise_args(&fields)["command"], whole, "{text}");
    };
    let same = |text: &str| check(text, text, text);
    same("echo hunter2 | sudo -");
    let masked = "echo *** | sudo -S ";
    check("echo hunter2 | sudo -S ", masked, masked);
    same("app:hunter2@tcp");
    check("app:hunter2@tcp(", "app:***@tcp(", "app:***@tcp(");
    let hash = "0123456789abcdef0123456789abcdef";
    same(&format!("{hash}-us"));
    check(&format!("{hash}-us1"), "012345…cdef-us1", "012345…cdef-us1");
    // Of a text that is too long to be looked at as a whole, what is complete is masked, too.
    let long = format!("echo hunter2 | sudo -S id\n{}", "x ".repeat(SCAN_LIMIT));
    let clean = sanitise_args(&json!(long));
    assert!(clean.as_str().unwrap().starts_with("echo *** | sudo -S id\n"), "{clean}");
}

/// `|` parts what is shown from what is held back.
#[test]
pub(crate) fn b2_open_text_withholds_what_may_become_a_secret() {
    let cases = [
        "ls -la /tmp|",
        "cat a > b |s",
        "x |sk-abc",
        "curl -H 'Authorization: Bearer |abcdef",
        "curl -u me:|hunter",
        "export API_KEY=|abc",
        "export PATH=/usr/bin:/bin|",
        "deploy --token '|a word and",
        "a\n-----BEGIN PRIVATE KEY-----|\nMIIE\nabc",
        "-----BEGIN PRIVATE KEY-----\n…redacted…\n-----END PRIVATE KEY-----\n and on|",
        "https://me:|hunt",
        "{\"password\": \"|hunter2 and",
        "{\"author\": \"someone|",
        "password=*** |g",
        "пароль 🔑|",
        "|",
    ];
    for case in cases {
        let (shown, held) = case.split_once('|').unwrap();
        assert_eq!(redact_open(&format!("{shown}{held}")), shown, "{case}");
    }
    assert_eq!(
        redact_open(&format!("A_KEY={LONG} sk-{LONG} gh")),
        "A_KEY=abcdef…6789 sk-abc…6789 "
    );
}

#[test]
pub(crate) fn b2_open_args_withhold_text_at_their_end_only() {
    let check = |fields: Value, open: Option<&str>, expect: Value| {
        let fields = fields.as_object().unwrap();
        assert_eq!(Value::Object(sanitise_open_args(fields, open)), expect, "{open:?}");
    };
    let fields = || json!({"a": "x sk-abc", "token": "hunter2", "b": ["sk-abc", {"c": "x ghp_a"}]});
    check(
        fields(),
        None,
        json!({"a": "x sk-abc", "token": "***", "b": ["sk-abc", {"c": "x ghp_a"}]}),
    );
    check(
        fields(),
        Some("b"),
        json!({"a": "x sk-abc", "token": "***", "b": ["sk-abc", {"c": "x "}]}),
    );
    check(
        fields(),
        Some("a"),
        json!({"a": "x ", "token": "***", "b": ["sk-abc", {"c": "x ghp_a"}]}),
    );
    // The ends of a growing secret would spell it.
    check(json!({"token": LONG}), Some("token"), json!({"token": "***"}));
    check(json!({"token": LONG}), None, json!({"token": "abcdef…6789"}));
    check(json!({"v": ["--token", LONG]}), Some("v"), json!({"v": ["--token", "***"]}));
}

/// Clean text costs one pass over it, however near a secret it comes: no rule has work to do, and
/// nothing is copied.
#[test]
fn b2_clean_text_is_looked_at_once() {
    let size = 2_000_000;
    let lines = [
        "The quick brown fox reads /etc/hosts: 127.0.0.1 localhost, and a 🔑.\n",
        "a_token_b_secret_c_key_",
        "0123456789abcdef",
        "sk-abc ",
        "curl -u me ",
        "\"max_tokens\": \"",
        "authorization of a bearer ",
        "http://a:",
        "login me password",
        "-----BEGIN RSA PRIVATE ",
        "--token --password ",
        "\\",
    ];
    for line in lines {
        let text = line.repeat(size / line.len());
        assert_eq!(find(&text), [], "{line}");
        assert!(matches!(redact_text(&text), std::borrow::Cow::Borrowed(_)), "{line}");
        assert!(redact_open(&text).len() + 2 * line.len() > text.len(), "{line}");
    }
}

#[test]
fn b2_secrets_that_touch_are_two_and_those_that_overlap_are_one() {
    let check = |text: &str, expect: &[(&str, &str)]| {
        let found = find(text);
        let found: Vec<_> =
            found.iter().map(|found| (found.rule, &text[found.bytes.clone()])).collect();
        assert_eq!(found, expect, "{text}");
    };
    let (header, key) = ("QXV0aG9yaXphdGlvbjogQUJDRA==", "sk-madeUpKey123");
    check(&format!("{header}{key}\n"), &[("base64-header", header), ("sk", key)]);
    check(&format!("{header} {key}\n"), &[("base64-header", header), ("sk", key)]);
    let url = format!("?token=x{key}");
    check(&format!("http://h.example/{url}\n"), &[("query", &url["?token=".len()..])]);
    check(&format!("http://me:{key}@h.example\n"), &[("url-password", key)]);
}
