//! The table of texts that are secrets. Every rule has an id, and a test line that bears it.
//!
//! In a pattern the groups `s`, `s1`, `s2` hold the secret (the first that took part counts) and
//! `name` holds what it is called. Rules run in order: a whole key block before the things in it,
//! the well-known shapes before the guesses by name.

use regex::Captures;

use super::names::{is_secret, is_secret_parameter, is_secret_variable};

/// One kind of text that holds a secret.
pub(super) struct Rule {
    /// Stable id, for tests and reports.
    pub(super) id: &'static str,
    /// Where it stands.
    pub(super) pattern: &'static str,
    /// What else must hold of a match.
    pub(super) when: fn(&Captures<'_>) -> bool,
}

const fn always(id: &'static str, pattern: &'static str) -> Rule {
    Rule { id, pattern, when: |_| true }
}

const fn named(id: &'static str, pattern: &'static str, when: fn(&Captures<'_>) -> bool) -> Rule {
    Rule { id, pattern, when }
}

fn has_secret_name(found: &Captures<'_>) -> bool {
    is_secret(&found["name"])
}

fn has_secret_variable(found: &Captures<'_>) -> bool {
    is_secret_variable(&found["name"])
}

fn has_secret_parameter(found: &Captures<'_>) -> bool {
    is_secret_parameter(&found["name"])
}

/// A line such as `password: hunter2` is one of a settings file, `token: string;` is one of code.
fn has_secret_name_and_digit(found: &Captures<'_>) -> bool {
    has_secret_name(found) && found["s"].chars().any(|c| c.is_ascii_digit())
}

/// The rules, in the order in which they run.
pub(super) const RULES: &[Rule] = &[
    always(
        "pem",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<s>[\s\S]*?)(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    always(
        "authorization",
        r#"(?i)\bauthorization["'\\]*\s*[:=]\s*["'\\]*(?:(?:bearer|basic|token|digest|negotiate|apikey)\s+(?P<s>[^\s"'\\,;]+)|(?P<s1>[^\s"'\\,;]{12,}))"#,
    ),
    always("bearer", r"(?i)\bbearer\s+(?P<s>[a-z0-9._~+/=-]{18,})"),
    always("cookie", r#"(?i)\b(?:set-)?cookie\s*:\s*(?P<s>[^"'\r\n]+)"#),
    named(
        "header",
        r#"(?i)\b(?P<name>(?:x-[a-z-]+|[a-z]+-(?:api-)?(?:key|token|secret)|api-key))["']?\s*:\s*["']?(?P<s>[^\s"'\\,;]+)"#,
        has_secret_name,
    ),
    always(
        "url-user",
        r#"(?i)\b[a-z][a-z0-9+.-]*://(?:[^\s:/@"']*:(?P<s>[^\s/"']+)|(?P<s1>[a-z0-9_-]{18,}))@"#,
    ),
    always("sk", r"\bsk-[A-Za-z0-9_-]{8,}"),
    always("stripe", r"\b(?:[srp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{8,}"),
    always("github", r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{16,}"),
    always("gitlab", r"\bgl(?:pat|dt|rt|cbt|soat)-[A-Za-z0-9_-]{16,}"),
    always("slack", r"\b(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}"),
    always("slack-hook", r"hooks\.slack\.com/services/(?P<s>[A-Za-z0-9/]{16,})"),
    always("aws-id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    always("cloud-id", r"\b(?:AKID|LTAI)[A-Za-z0-9]{12,}\b"),
    always(
        "google",
        r"\b(?:AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{10,}|GOCSPX-[A-Za-z0-9_-]{16,}|1//0[A-Za-z0-9_-]{16,})",
    ),
    always("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    always(
        "vendor",
        r"\b(?:npm_|hf_|r8_|gsk_|pplx-|xai-|tvly-|pypi-|dckr_pat_|dop_v1_|lin_api_|ntn_|shp(?:at|ss|ca)_|SG\.|ATATT|sq0[a-z]{3}-)[A-Za-z0-9_.-]{16,}",
    ),
    always("telegram", r"(?:\b|bot)(?P<s>\d{6,12}:[A-Za-z0-9_-]{30,})"),
    always("discord", r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    named("query", r#"[?&#](?P<name>[A-Za-z0-9_.-]+)=(?P<s>[^&\s"'<>#\\]+)"#, has_secret_parameter),
    named("json-escaped", r#"\\"(?P<name>[\w .-]+)\\"\s*:\s*\\"(?P<s>[^"\\]+)"#, has_secret_name),
    named(
        "json",
        r#""(?P<name>[\w .-]+)"\s*:\s*(?:"(?P<s>(?:[^"\\]|\\.)+)|(?P<s1>\d+))"#,
        has_secret_name,
    ),
    named("quoted-key", r#"'(?P<name>[\w .-]+)'\s*(?::|=>)\s*'(?P<s>[^'\\]+)"#, has_secret_name),
    named(
        "flag",
        r#"(?:^|[\s"'\[,])--?(?P<name>[A-Za-z][\w-]*)(?:=|["']?,?\s+)(?:\\?["'](?P<s>[^"'\\]+)|(?P<s1>[^\s"'\\-](?:[^\s"'\\]|\\[^"'])*))"#,
        has_secret_name,
    ),
    always(
        "curl-user",
        r#"\b(?:curl|wget|https?)\b[^\n|;&]*?\s(?:-u\s*|--user[= ]\s*)["']?[^\s:"']+:(?P<s>[^\s"']+)"#,
    ),
    always(
        "short-flag",
        r#"\b(?:sshpass\s+-p|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]*?\s-p|redis-cli\b[^\n|;&]*?\s-a\s|docker\s+login\b[^\n|;&]*?\s-p\s)\s*["']?(?P<s>[^\s"'\\]+)"#,
    ),
    named(
        "assignment",
        r#"\b(?P<name>[A-Za-z_][\w.-]*)=(?:\\?"(?P<s>[^"\\]+)|'(?P<s1>[^']+)|(?P<s2>[^\s"'`;&|<>\\][^\s"'`;&|<>]*))"#,
        has_secret_variable,
    ),
    named(
        "spaced-assignment",
        r#"\b(?P<name>[A-Za-z_][\w.-]*)\s*(?::?=|:)\s*["'`](?P<s>[^\s"'`\\]{6,})["'`]"#,
        has_secret_variable,
    ),
    named(
        "settings-line",
        r#"(?m)^[ \t]*(?:- )?(?P<name>[A-Za-z_][\w.-]*)\s*[:=]\s+(?P<s>[^\s"'`;,(){}\[\]<>]{6,})[ \t]*$"#,
        has_secret_name_and_digit,
    ),
];
