use super::*;

const UUID: &str = "11111111-2222-4333-8444-555555555555";

/// Returns the refusal of these arguments by a version, without the newline.
fn says(version: &str, line: &str) -> Option<Refusal> {
    let cli = CliOptions::of(Some(version));
    let line =
        line.replace("STREAM", "--output-format stream-json --verbose").replace("UUID", UUID);
    let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let arguments = Arguments::parse(&args, &cli, false);
    let has_session = |id: &str| id == UUID;
    let folder = Path::new("/no-such-folder");
    refusal(&StandInStart { arguments: &arguments, folder, has_session: &has_session }, &cli)
}

/// Compares the refusals of 1.0.128, 2.1.148 and 2.1.332 of the same arguments; an empty text means that they run.
#[track_caller]
fn check(line: &str, expect: [&str; 3]) {
    for (version, expect) in ["1.0.128", "2.1.148", "2.1.332"].into_iter().zip(expect) {
        let text = says(version, line).map(|refusal| refusal.text).unwrap_or_default();
        assert_eq!(text, expect, "{version}: {line}");
    }
}

#[test]
fn what_all_versions_refuse_is_refused_in_their_words() {
    for (line, expect) in [
        ("-p Hi STREAM", ""),
        ("-p --input-format stream-json STREAM --replay-user-messages", ""),
        ("-p Hi STREAM --include-partial-messages --session-id UUID", ""),
        ("-p Hi --permission-prompt-tool stdio --max-turns 3", ""),
        ("--version --frob", ""),
        ("Hi --output-format json", ""),
        (
            "-p Hi --output-format stream-json",
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            "--input-format stream-json --output-format stream-json",
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        ("-p Hi --frob value", "error: unknown option '--frob'"),
        ("-p Hi -x", "error: unknown option '-x'"),
        ("-p --verbos Hi", "error: unknown option '--verbos'\n(Did you mean --verbose?)"),
        ("--print=Hi", "error: unknown option '--print=Hi'\n(Did you mean --print?)"),
        ("-p Hi --frob --session-id abc", "error: unknown option '--frob'"),
        ("-p Hi --model", "error: option '--model <model>' argument missing"),
        (
            "-p Hi --allowedTools",
            "error: option '--allowedTools, --allowed-tools <tools...>' argument missing",
        ),
        (
            "-p Hi --output-format yaml",
            "error: option '--output-format <format>' argument 'yaml' is invalid. Allowed choices are text, json, \
             stream-json.",
        ),
        (
            "-p Hi --input-format json",
            "error: option '--input-format <format>' argument 'json' is invalid. Allowed choices are text, stream-json.",
        ),
        ("-p Hi --session-id abc", "Error: Invalid session ID. Must be a valid UUID."),
        (
            "-p --input-format stream-json",
            "Error: --input-format=stream-json requires output-format=stream-json.",
        ),
        (
            "-p Hi --replay-user-messages STREAM",
            "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json.",
        ),
        (
            "-p Hi --include-partial-messages --output-format json",
            "Error: --include-partial-messages requires --print and --output-format=stream-json.",
        ),
        ("-p Hi --resume-session-at x", "Error: --resume-session-at requires --resume"),
        (
            "-p Hi --setting-sources bogus",
            "Error processing --setting-sources: Invalid setting source: bogus. Valid options are: user, project, local",
        ),
        (
            "-p Hi --mcp-config no.json",
            "Error: Invalid MCP configuration:\nMCP config file not found: /no-such-folder/no.json",
        ),
    ] {
        check(line, [expect; 3]);
    }
}

#[test]
fn what_the_versions_say_differently_is_refused_as_each_says_it() {
    let mode = |value: &str, choices: &str| {
        format!(
            "error: option '--permission-mode <mode>' argument '{value}' is invalid. Allowed choices are {choices}."
        )
    };
    let [old, middle, new] = [
        "acceptEdits, bypassPermissions, default, plan",
        "acceptEdits, auto, bypassPermissions, default, dontAsk, plan",
        "acceptEdits, auto, bypassPermissions, manual, dontAsk, plan",
    ];
    check("-p Hi --permission-mode default", ["", "", ""]);
    check(
        "-p Hi --frob --permission-mode yolo",
        [&*mode("yolo", old), &*mode("yolo", middle), &*mode("yolo", new)],
    );
    check("-p Hi --permission-mode auto", [&*mode("auto", old), "", ""]);
    check("-p Hi --permission-mode manual", [&*mode("manual", old), &*mode("manual", middle), ""]);
    check("-p Hi --effort high", ["error: unknown option '--effort'", "", ""]);
    check(
        "-p Hi --effort yolo",
        [
            "error: unknown option '--effort'",
            "error: option '--effort <level>' argument 'yolo' is invalid. It must be one of: low, medium, high, xhigh, \
             max",
            "",
        ],
    );
    check("-p Hi --mcp-debug", ["", "", "error: unknown option '--mcp-debug'"]);
    check(
        "-p Hi --max-turns x",
        ["", "", "error: option '--max-turns <turns>' argument 'x' is invalid. must be a number"],
    );
    let session = [
        "Error: --session-id cannot be used with --continue or --resume.",
        "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.",
        "Error: --session-id with --continue or --resume also needs --fork-session.",
    ];
    check("-p Hi --session-id UUID --resume UUID", session);
    check("-p Hi --session-id abc --continue", session);
    check("-p Hi --session-id UUID --resume UUID --fork-session", [session[0], "", ""]);
    let new = "Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p \
               --resume <session-id|title>";
    let old = "Error: --resume requires a valid session ID when used with --print\nUsage: claude -p --resume \
               <session-id>";
    check("-p Hi --resume UUID", ["", "", ""]);
    check("-p Hi --resume", [old, new, new]);
    let other = "99999999-2222-4333-8444-555555555555";
    let none = format!("No conversation found with session ID: {other}");
    check(&format!("-p Hi --resume {other}"), [&*none, &*none, &*none]);
    check(&format!("-p Hi --resume {other} --fork-session"), [&*none, &*none, &*none]);
    let wrong = format!(
        "{new}. Provided value \"abc\" is not a UUID and does not match any session title."
    );
    let old = format!(
        "{old}\nSession IDs must be in UUID format (e.g., 550e8400-e29b-41d4-a716-446655440000)\nProvided value \"abc\" \
         is not a valid UUID"
    );
    check("-p Hi --resume abc --output-format stream-json", [&*old, &*wrong, &*wrong]);
    check(
        "-p Hi --settings no.json",
        [
            "Error: Settings file not found: no.json",
            "Error: Settings file not found: no.json",
            "Error: Settings file not found: /no-such-folder/no.json",
        ],
    );
}

#[test]
fn a_session_that_is_none_has_a_record_on_stdout() {
    for (version, line, expect) in [
        ("1.0.128", "-p Hi --resume abc STREAM", false),
        ("2.1.148", "-p Hi --resume abc STREAM", true),
        ("2.1.332", "-p Hi --resume abc STREAM", true),
        ("2.1.332", "-p Hi --resume abc", false),
        ("1.0.128", "-p Hi --resume 99999999-2222-4333-8444-555555555555 STREAM", false),
        ("2.1.332", "-p Hi --resume 99999999-2222-4333-8444-555555555555 STREAM", true),
    ] {
        let stdout = says(version, line).unwrap().stdout;
        assert_eq!(stdout.contains("error_during_execution"), expect, "{version} {line}");
    }
}

#[test]
fn a_version_that_is_newer_than_all_known_ones_may_have_more_options() {
    assert_eq!(says("9.0.0", "-p Hi --frob"), None);
    let text = says("9.0.0", "-p Hi --session-id abc").unwrap().text;
    assert_eq!(text, "Error: Invalid session ID. Must be a valid UUID.");
}
