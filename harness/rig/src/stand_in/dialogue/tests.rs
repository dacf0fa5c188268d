use std::path::Path;

use super::*;

/// Loads a recorded cassette and cuts it.
fn cut(name: &str) -> (Cassette, Dialogue) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
    let cassette = Cassette::load(&root.join(name)).unwrap();
    let dialogue = Dialogue::cut(&cassette);
    (cassette, dialogue)
}

/// Compares the lines for which the CLI waits, in order.
#[track_caller]
fn check(name: &str, expect: &[&str]) {
    let (cassette, dialogue) = cut(name);
    let mut printed = 0;
    let mut awaited = Vec::new();
    for step in &dialogue.steps {
        match step {
            Step::Print(range) => {
                assert_eq!(range.start, printed, "{name}");
                assert_eq!(cassette.stdout[range.end - 1], b'\n', "{name}");
                printed = range.end;
            }
            Step::Await(index) => awaited.push(dialogue.awaits[*index].kind.words()),
            Step::Stderr(range) => awaited.push(format!("{} bytes of stderr", range.len())),
        }
    }
    assert_eq!(printed, cassette.stdout.len(), "{name}");
    assert_eq!(awaited, expect, "{name}");
}

#[test]
fn lines_are_read_whatever_the_order_of_their_keys() {
    for name in ["permission-allow/2.1.332", "live-multi-turn/2.1.329", "three-tools/1.0.128"] {
        let (cassette, dialogue) = cut(name);
        let mut reversed = Vec::new();
        for line in cassette.stdout.split_inclusive(|&byte| byte == b'\n') {
            let record: serde_json::Map<String, Value> = serde_json::from_slice(line).unwrap();
            let record: serde_json::Map<_, _> = record.into_iter().rev().collect();
            reversed.extend_from_slice(format!("{}\n", Value::from(record)).as_bytes());
        }
        let other = Dialogue::of(&reversed, b"", &[]);
        let roles = |dialogue: &Dialogue| -> Vec<Role> {
            dialogue.lines.iter().map(|line| line.role.clone()).collect()
        };
        assert_eq!(roles(&other), roles(&dialogue), "{name}");
    }
}

#[test]
fn a_cassette_is_cut_where_the_cli_waited() {
    let initialize = "the request `initialize`";
    let message = "a user message";
    let question = "the answer to question q1 (Bash)";
    for (name, expect) in [
        ("three-tools/2.1.329", &[][..]),
        ("permission-allow/2.1.329", &[initialize, message, question]),
        ("permission-stdin-closed/2.1.329", &[initialize, message, "the end of stdin"]),
        (
            "bad-line/2.1.329",
            &[initialize, message, "a line that is not JSON", "73 bytes of stderr"],
        ),
        ("resume-missing-live/2.1.329", &["76 bytes of stderr"]),
        (
            "permission-late/2.1.329",
            &[initialize, message, "an interrupt", message, "the answer to question q2 (Bash)"],
        ),
        (
            "live-interrupt-tool/2.1.329",
            &[
                initialize,
                message,
                "the answer to the hook UserPromptSubmit",
                "the answer to the hook PreToolUse (Bash)",
                "an interrupt",
            ],
        ),
    ] {
        check(name, expect);
    }
}

#[test]
fn a_cli_that_ended_by_itself_is_known() {
    for (name, expect) in [
        ("bad-line/2.1.329", true),
        ("resume-missing-live/2.1.332", true),
        ("live-interrupt-tool/2.1.329", false),
        ("permission-deny-interrupt/2.1.329", false),
        ("bash-background/2.1.329", false),
        ("live-multi-turn/2.1.329", false),
        ("resume-killed-mid-tool/2.1.329", true),
    ] {
        assert_eq!(cut(name).1.ends_itself, expect, "{name}");
    }
}

#[test]
fn a_message_without_a_uuid_has_that_of_its_replay() {
    let uuids = |name| -> Vec<Option<String>> {
        cut(name).1.messages().map(|(uuid, _)| uuid.map(str::to_owned)).collect()
    };
    let first = Some("00000000-0000-4000-8000-000000000001".to_owned());
    assert_eq!(uuids("three-tools-live/2.1.329"), [first]);
    assert_eq!(uuids("permission-allow/2.1.329"), [None]);
}

#[test]
fn lines_without_a_reaction_have_their_type() {
    for (line, expect) in [
        (r#"{"type":"keep_alive"}"#, HostAct::Other("keep_alive".to_owned())),
        ("{}", HostAct::Other("a record without a type".to_owned())),
        ("[1]", HostAct::Unusable),
        ("hello", HostAct::Unusable),
        (" \n", HostAct::Blank),
    ] {
        assert_eq!(HostAct::read(line.as_bytes()), expect, "{line}");
    }
}

#[test]
fn a_last_line_without_an_end_is_printed() {
    let stdout = b"{\"type\":\"system\"}\n{\"type\":\"res";
    for timeline in ["", "[0,\"o\",18]\n[5,\"o\",12]\n[9,\"x\",0]\n"] {
        let timeline = clitape_recording::cassette::parse_timeline(timeline).unwrap();
        let dialogue = Dialogue::of(stdout, b"", &timeline);
        assert_eq!(dialogue.steps, [Step::Print(0..stdout.len())], "{timeline:?}");
        assert_eq!(dialogue.lines.len(), 2, "{timeline:?}");
    }
}
