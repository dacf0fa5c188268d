//! Tests of `clitape import` with captures that are not one whole run, and with the logs of gateways.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::path::Path;

use crate::common::check;

const INIT: &str =
    r#"{"type":"system","subtype":"init","session_id":"one","claude_code_version":"2.1.0"}"#;
const TEXT: &str = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Hi."}],"stop_reason":null},"session_id":"one"}"#;
const RESULT: &str =
    r#"{"type":"result","subtype":"success","is_error":false,"result":"Hi.","session_id":"one"}"#;

/// Imports a file with these options, and checks the exit code, the notes or the error, and the records that are kept, by
/// the number of their lines.
#[track_caller]
fn import(file: impl AsRef<[u8]>, options: &[&str], code: i32, messages: &[&str], lines: usize) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run.jsonl"), file).unwrap();
    let args = [&["import", "--scenario", "mine"], options].concat();
    check(dir.path(), &args, code, &[], messages);
    let mut kept = Vec::new();
    for version in fs::read_dir(dir.path().join("cassettes/mine")).into_iter().flatten() {
        kept.push(fs::read_to_string(version.unwrap().path().join("stdout.jsonl")).unwrap());
    }
    let count: usize = kept.iter().map(|text| text.lines().count()).sum();
    assert_eq!(count, lines, "{kept:?}");
}

#[test]
fn a_capture_that_is_not_one_whole_run_is_taken_with_a_note() {
    let other = |line: &str| line.replace("\"one\"", "\"two\"");
    let two = [INIT, TEXT, RESULT, &other(INIT), &other(TEXT), &other(RESULT)].join("\n") + "\n";
    let unnamed = INIT.replace(r#","claude_code_version":"2.1.0""#, "");
    for (file, options, messages, lines) in [
        (
            format!("{TEXT}\n{RESULT}\n"),
            &["run.jsonl"][..],
            &["no `system/init`", "is taken for ", "`--cli-version VERSION`"][..],
            2,
        ),
        (format!("{unnamed}\n{RESULT}\n"), &["run.jsonl"], &["is taken for 1.0.128"], 2),
        (format!("{unnamed}\n{RESULT}\n"), &["run.jsonl", "--cli-version", "1.0.9"], &[], 2),
        (
            format!("{{\"_meta\":true}}\n{INIT}\n{RESULT}\n"),
            &["run.jsonl"],
            &["1 line before the first record"],
            2,
        ),
        (format!("a banner\n{INIT}\n{RESULT}\n"), &["run.jsonl"], &[], 3),
        (format!("\u{feff}{INIT}\n{RESULT}\n"), &["run.jsonl"], &[], 2),
        (
            format!("{INIT}\n{TEXT}\n{}", &RESULT[..30]),
            &["run.jsonl"],
            &["line 3 ends within a record", "no `result` follows the message on line 2"],
            3,
        ),
        (
            format!("[{INIT},{TEXT},{RESULT}]\n"),
            &["run.jsonl"],
            &["3 records in an array of JSON, or over several lines"],
            3,
        ),
        (
            format!("{}\n{}", INIT.replace(',', ",\n  "), RESULT.replace(',', ",\n  ")),
            &["run.jsonl"],
            &["2 records in an array of JSON, or over several lines"],
            2,
        ),
        (
            format!("{INIT}{TEXT}\n> {TEXT}\n{}\n{RESULT}\n", &TEXT[..50]),
            &["run.jsonl"],
            &[
                "second one, on lines 1, 3: a reader loses it",
                "as in a log, on line 2; `--from-log FILE`",
            ],
            4,
        ),
        (two.clone(), &["run.jsonl"], &["one from line 1, two from line 4", "`--session ID`"], 6),
        (two.clone(), &["run.jsonl", "--session", "tw"], &[], 3),
    ] {
        import(&file, options, 0, messages, lines);
    }
    import(
        &two,
        &["run.jsonl", "--session", "x"],
        2,
        &["no session begins with x; it has one, two"],
        0,
    );
    // Records of stdout whose session has another name.
    let renamed = |line: &str| {
        line.replace("session_id", "sessionId").replacen('{', r#"{"parent_tool_use_id":null,"#, 1)
    };
    let renamed = [INIT, TEXT, RESULT].map(renamed).join("\n") + "\n";
    import(&renamed, &["run.jsonl"], 0, &[], 3);
    let kept = r#"{"type":"user","sessionId":"s","version":"2.1.0","message":{"role":"user"}}"#;
    import(kept, &["run.jsonl"], 2, &["the transcript of a session", "clitape session"], 0);
    let foreign = r#"{"type":"turn.started"}"#;
    import(foreign, &["run.jsonl"], 2, &["of a kind that claude prints"], 0);
    import("", &[], 2, &["--from-log"], 0);
    let log = format!("DEBUG {INIT}\nDEBUG {RESULT}\n");
    import(
        &log,
        &["run.jsonl"],
        2,
        &["it is a log with records; `clitape import --from-log FILE`"],
        0,
    );
    let utf_16: Vec<u8> =
        format!("\u{feff}{INIT}\r\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    import(utf_16, &["run.jsonl"], 2, &["it is UTF-16", "`| Out-File -Encoding utf8 FILE`"], 0);
    import(b"\x1f\x8b\x08\0", &["--from-log", "run.jsonl"], 2, &["unpack it with `gzip -d`"], 0);
}

#[test]
fn the_records_in_a_log_are_imported() {
    let quoted = serde_json::to_string(&format!("{TEXT}\n")).unwrap();
    let log = format!(
        "10:00:00 \u{1b}[32mINFO\u{1b}[0m starting\n10:00:01 DEBUG cli: {INIT}\n\
         {{\"level\":\"debug\",\"line\":{quoted}}}\n10:00:03 DEBUG cli: {{\"type\":\"assis\n{RESULT}\n"
    );
    let notes = ["3 of 5 lines have records", "1 cut record left out, on line 4; if the log cuts"];
    import(&log, &["--from-log", "run.jsonl"], 0, &notes, 3);
    let sent =
        log.replace("INFO\u{1b}[0m starting", "INFO\u{1b}[0m > {\"type\":\"control_response\"}");
    import(&sent, &["--from-log", "run.jsonl"], 0, &["1 record of the host, kept as its stdin"], 3);
    let pretty = log.replace("{\"type\":\"result\",", "RESULT {\n  \"type\":\"result\",\n  ");
    import(&pretty, &["--from-log", "run.jsonl"], 0, &["5 of 7 lines have records"], 3);
    let nothing = "1 line, and no stream-json record; let the gateway log";
    import("INFO starting\n", &["--from-log", "run.jsonl"], 2, &[nothing], 0);
    let cut = "DEBUG {\"type\": \"assistant\", \"mess\n".repeat(7);
    let nothing =
        ["no whole record", "7 cut records left out, on lines 1, 2, 3, 4, 5, …; if the log cuts"];
    import(&cut, &["--from-log", "run.jsonl"], 2, &nothing, 0);
}

/// Imports a capture and shrinks it in one command, and checks what is printed.
#[track_caller]
fn shrink(dir: &Path, file: &str, new: &str, code: i32, out: &[&str], err: &[&str]) {
    fs::write(dir.join("run.jsonl"), file).unwrap();
    let args =
        ["import", "run.jsonl", "--scenario", "mine", "--redact", "--shrink", new, "--force"];
    check(dir, &args, code, out, err);
}

#[test]
fn a_capture_becomes_a_scenario_and_its_smallest_part_in_one_command() {
    let dir = tempfile::tempdir().unwrap();
    let secret = ["ghp_", "aB3dE5fG7hI9kL1mN3pQ5rS7tU9vW1xY3zA5"].concat();
    let said = |line: &str| line.replace("Hi.", &secret);
    let run = [INIT.to_owned(), said(TEXT), said(RESULT), String::new()].join("\n");
    let kept = ["wrote cassettes/mine/2.1.0", "secrets replaced", "no plan fails"];
    shrink(dir.path(), &run, "small", 0, &kept, &[]);
    assert!(!dir.path().join("scenarios/small").exists(), "it was written");
    shrink(dir.path(), &run, "mine", 2, &[], &["is there already; choose another name"]);
}
