//! `record.host`: the hosts whose way to run the CLI a recording can follow, as one table of data.

use serde::Deserialize;

/// A host that keeps the CLI running and speaks with it by stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::Display)]
pub enum HostPreset {
    /// As gateways run it: an `initialize` with hooks, whose calls are answered at once, a uuid on each message.
    #[serde(rename = "live")]
    #[strum(serialize = "live")]
    Live,
    /// OpenClaw 2026.6.1: no `initialize`, no uuids, no permission questions.
    #[serde(rename = "openclaw-2026.6.1")]
    #[strum(serialize = "openclaw-2026.6.1")]
    OpenClaw2026_6_1,
    /// OpenClaw 2026.9.6: as `live`, with a session id of its own and its own arguments.
    #[serde(rename = "openclaw-2026.9.6")]
    #[strum(serialize = "openclaw-2026.9.6")]
    OpenClaw2026_9_6,
    /// The official SDK: an `initialize` without hooks, permission questions on stdout.
    #[serde(rename = "sdk")]
    #[strum(serialize = "sdk")]
    Sdk,
}

/// How a host runs the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostProfile {
    /// Its arguments, before those of the scenario. Those that choose a model and those that name a file of
    /// the host are left out.
    pub args: &'static [&'static str],
    /// Further variables of the environment.
    pub environment: &'static [(&'static str, &'static str)],
    /// The request with which it begins.
    pub initialize: Option<&'static str>,
    /// A message; the content takes the place of `null` there, as does the uuid.
    pub message: &'static str,
    /// Whether a text is sent as a text, and not as a block.
    pub plain_text: bool,
    /// Whether its `PreToolUse` hook allows every call, so that the CLI asks no permission question.
    pub allows_every_call: bool,
}

/// The session id that OpenClaw 2026.9.6 gives; it is the same in every recording.
const SESSION: &str = "c11fa9e0-0000-4000-8000-5e5510000001";

/// The hooks of a gateway.
const HOOKED: &str = r#"{"subtype":"initialize","hooks":{"UserPromptSubmit":[{"hookCallbackIds":["UserPromptSubmit"]}],"PreToolUse":[{"hookCallbackIds":["PreToolUse"]}]}}"#;

/// The host of a scenario that names none: only what its steps say.
pub const PLAIN: HostProfile = HostProfile {
    args: &[],
    environment: &[],
    initialize: None,
    message: r#"{"type":"user","message":{"role":"user","content":null}}"#,
    plain_text: false,
    allows_every_call: false,
};

const LIVE: HostProfile = HostProfile {
    args: &[
        "--input-format",
        "stream-json",
        "--replay-user-messages",
        "--permission-prompt-tool",
        "stdio",
    ],
    environment: &[],
    initialize: Some(HOOKED),
    message: r#"{"type":"user","message":{"role":"user","content":null},"parent_tool_use_id":null,"uuid":null}"#,
    plain_text: true,
    allows_every_call: true,
};

const OPENCLAW_2026_6_1: HostProfile = HostProfile {
    args: &[
        "--setting-sources",
        "user",
        "--allowedTools",
        "mcp__openclaw__*",
        "--permission-mode",
        "bypassPermissions",
        "--strict-mcp-config",
        "--input-format",
        "stream-json",
        "--permission-prompt-tool",
        "stdio",
        "--replay-user-messages",
    ],
    // Without it, the CLI refuses `bypassPermissions` to the superuser.
    environment: &[("IS_SANDBOX", "1")],
    initialize: None,
    message: r#"{"type":"user","session_id":"","parent_tool_use_id":null,"message":{"role":"user","content":null}}"#,
    plain_text: true,
    allows_every_call: false,
};

const OPENCLAW_2026_9_6: HostProfile = HostProfile {
    args: &[
        "--disallowedTools",
        "ScheduleWakeup,CronCreate,Bash(run_in_background:true),Monitor",
        "--strict-mcp-config",
        "--input-format",
        "stream-json",
        "--replay-user-messages",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        "default",
        "--setting-sources",
        "user",
        "--allowedTools",
        "mcp__openclaw__*",
        "--session-id",
        SESSION,
    ],
    environment: &[],
    initialize: Some(
        r#"{"subtype":"initialize","appendSystemPrompt":"You are a personal assistant.","excludeDynamicSections":false,"hooks":{"UserPromptSubmit":[{"hookCallbackIds":["UserPromptSubmit"]}],"PreToolUse":[{"hookCallbackIds":["PreToolUse"]}]}}"#,
    ),
    message: r#"{"type":"user","message":{"role":"user","content":null},"parent_tool_use_id":null,"uuid":null,"session_id":"c11fa9e0-0000-4000-8000-5e5510000001"}"#,
    plain_text: true,
    allows_every_call: true,
};

const SDK: HostProfile = HostProfile {
    args: &["--input-format", "stream-json", "--permission-prompt-tool", "stdio"],
    environment: &[],
    initialize: Some(r#"{"subtype":"initialize","hooks":null}"#),
    message: r#"{"type":"user","session_id":"","message":{"role":"user","content":null},"parent_tool_use_id":null}"#,
    plain_text: false,
    allows_every_call: false,
};

impl HostPreset {
    /// How the host runs the CLI.
    pub fn profile(self) -> &'static HostProfile {
        match self {
            Self::Live => &LIVE,
            Self::OpenClaw2026_6_1 => &OPENCLAW_2026_6_1,
            Self::OpenClaw2026_9_6 => &OPENCLAW_2026_9_6,
            Self::Sdk => &SDK,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_host_has_lines_of_json_with_a_place_for_the_content() {
        for profile in [&PLAIN, &LIVE, &OPENCLAW_2026_6_1, &OPENCLAW_2026_9_6, &SDK] {
            let message: Value = serde_json::from_str(profile.message).unwrap();
            assert_eq!(message.pointer("/message/content"), Some(&Value::Null));
            if let Some(session) = message.get("session_id").and_then(Value::as_str) {
                assert!(session.is_empty() || profile.args.contains(&session), "{session}");
            }
            let request =
                profile.initialize.map(serde_json::from_str::<Value>).transpose().unwrap();
            assert!(request.is_none_or(|request| request["subtype"] == "initialize"));
            assert!(profile.args.is_empty() || profile.args.contains(&"stream-json"));
        }
    }
}
