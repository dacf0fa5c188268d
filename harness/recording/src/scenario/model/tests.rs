//! Tests the keys of `model.toml`, and the messages about mistakes in it.

use super::*;

fn load(text: &str) -> Result<Model, ScenarioError> {
    let dir = tempfile::tempdir().unwrap();
    fs_err::write(dir.path().join("model.toml"), text).unwrap();
    Model::load(dir.path())
}

/// Loads a text, and compares the error without its folder.
#[track_caller]
fn check(text: &str, expect: &str) {
    let error = load(text).unwrap_err().to_string();
    let at = error.find("model.toml").unwrap();
    assert_eq!(&error[at..], expect, "{text}");
}

const TEXT: &str = "[[turn]]\n[[turn.block]]\ntext = 'x'\n";

#[test]
fn a_mistake_is_told_with_its_line() {
    let cases = [
        (
            "cot = 3\n",
            "model.toml:1: unknown field `cot`, expected one of `cut`, `delay_ms`, `turn`, \
             `conversation`, `step`, `spare`, `side`; did you mean `cut`?",
        ),
        (
            "\n\ncut = 0\nturn = []\n",
            "model.toml:3: invalid value: integer `0`, expected a whole number other than 0",
        ),
        (
            "[[turn]]\n[[turn]]\nblock = []\n",
            "model.toml:1: a turn has a `block`, a `failure` or both; `block = []` is an empty message",
        ),
        (
            "[[turn]]\nblock = []\nstop_reason = 'done'\n",
            "model.toml:3: unknown value `done`, expected one of `end_turn`, `tool_use`, \
             `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`, `model_context_window_exceeded`",
        ),
        (
            "[[turn]]\n\n[[turn.block]]\ntext = 'x'\ntool = 'Bash'\n",
            "model.toml:3: a block has one of `text`, `thinking`, `tool`, `server_tool` and `raw`",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntool = 'Bash'\nserver_tool = 'web_search'\n",
            "model.toml:2: a block has one of `text`, `thinking`, `tool`, `server_tool` and `raw`",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntool = 'Bash'\ncitations = [{ url = 'x' }]\n",
            "model.toml:2: `citations` belong to a block with `text`",
        ),
        (
            "[[turn]]\n[[turn.block]]\nraw = { type = 3 }\n",
            "model.toml:2: `raw` is a whole block; write its `type`, such as \"redacted_thinking\"",
        ),
        (
            "[[turn]]\n[[turn.block]]\nraw = { type = 'x' }\ndelay_ms = 9\n",
            "model.toml:2: `raw` has no deltas; take `cut` and `delay_ms` away",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntext = 3\n",
            "model.toml:3: expected a string, or a list of strings that are one delta each",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntext = ['x']\ncut = 2\n",
            "model.toml:2: a list says where to cut; take `cut` away, or write one string",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntext = 'x'\ncut = 2\ncut_utf16 = 2\n",
            "model.toml:2: `cut` and `cut_utf16` exclude each other; keep one",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntext = 'x'\nsignature = 'y'\n",
            "model.toml:2: `signature` belongs to a block with `thinking`",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntext = 'x'\ninput = {}\n",
            "model.toml:2: `id`, `input` and `input_json` belong to a block with `tool` or `server_tool`",
        ),
        (
            "[[turn]]\n[[turn.block]]\ntool = 'x'\ninput = {}\ninput_json = '{}'\n",
            "model.toml:2: `input` and `input_json` exclude each other; keep one",
        ),
    ];
    for (text, expect) in cases {
        check(text, expect);
    }
}

#[test]
fn a_failure_that_makes_no_sense_is_told() {
    let one_of = "a failure has one of `status`, `error_after` and `drop_after`";
    let error = "type = 'api_error'\nmessage = 'm'";
    for (keys, expect) in [
        ("times = 2", one_of.to_owned()),
        (&format!("status = 500\ndrop_after = {{ block = 1 }}\n{error}"), one_of.to_owned()),
        (
            "status = 500\ntype = 'api_error'",
            "an error has both `type` and `message`; write the other one".into(),
        ),
        ("status = 500", "a failure with `status` has `type` and `message` too".into()),
        (
            "error_after = { block = 1 }",
            "a failure with `error_after` has `type` and `message` too".into(),
        ),
        (
            &format!("drop_after = {{ block = 1 }}\n{error}"),
            "a lost connection says nothing; take `type` and `message` away, or write `error_after`"
                .into(),
        ),
        (
            "drop_after = { block = 1 }\nheaders = { retry-after = '1' }",
            "`headers` belong to a failure with `status`".into(),
        ),
        (
            &format!("status = 200\n{error}"),
            "`status = 200` is no failure; write one from 400 to 599".into(),
        ),
        (
            &format!("status = 500\nheaders = {{ Retry-After = '1' }}\n{error}"),
            "`Retry-After: 1` is no header; a name has lower-case letters, digits and `-`, a value \
             plain ASCII"
                .into(),
        ),
    ] {
        let text = format!("[[turn]]\nblock = []\n[[turn.failure]]\n{keys}\n");
        check(&text, &format!("model.toml:3: {expect}"));
    }
    check(
        "[[turn]]\nblock = []\n[[turn.failure]]\nstatus = 500\ntype = 'oops'\nmessage = 'm'\n",
        "model.toml:5: unknown value `oops`, expected one of `invalid_request_error`, \
         `authentication_error`, `billing_error`, `permission_error`, `not_found_error`, \
         `request_too_large`, `rate_limit_error`, `api_error`, `timeout_error`, `overloaded_error`",
    );
}

#[test]
fn what_a_turn_lacks_is_told() {
    for (turn, expect) in [
        (
            "block = []\nstop_reason = 'max_tokens'\nstop_details = { type = 'refusal' }",
            "`stop_details` belong to a turn with `stop_reason = \"refusal\"`",
        ),
        (
            "block = [{ text = 'x' }]\nfailure = [{ drop_after = { block = 2 } }]",
            "a failure comes in block 2, and the turn has 1; name one of them, from 1",
        ),
        (
            "failure = [{ drop_after = { block = 1 } }]",
            "a failure comes in block 1, and the turn has 0; name one of them, from 1",
        ),
        (
            "block = [{ raw = { type = 'x' } }]\nfailure = [{ drop_after = { block = 1, deltas = 0 } }]",
            "block 1 is `raw` and has no deltas to fail after; take `deltas` away",
        ),
        (
            "block = []\nheaders = { X-Limit = '1' }",
            "`X-Limit: 1` is no header; a name has lower-case letters, digits and `-`, a value \
             plain ASCII",
        ),
    ] {
        check(&format!("[[turn]]\n{turn}\n"), &format!("model.toml:1: {expect}"));
    }
}

#[test]
fn a_turn_fails_as_often_as_it_says() {
    let failure = |status: u16, times: &str| {
        format!("[[turn.failure]]\nstatus = {status}\ntype = 'api_error'\nmessage = ''\n{times}\n")
    };
    let two = failure(529, "times = 2") + &failure(500, "");
    for (turn, expect) in [
        ("block = []\n".to_owned(), "ok 0, ok 0, ok 0, ok 0, ok 0"),
        (format!("block = []\n{two}"), "529 0, 529 1, 500 2, ok 3, ok 3"),
        (two, "529 0, 529 1, 500 2, 500 3, 500 4"),
    ] {
        let model = load(&format!("[[turn]]\n{turn}")).unwrap();
        let attempts = (0..5).map(|before| match model.turns[0].attempt(before) {
            (None, failed) => format!("ok {failed}"),
            (Some(ModelFailureKind::Http { status, .. }), failed) => format!("{status} {failed}"),
            other => format!("{other:?}"),
        });
        assert_eq!(attempts.collect::<Vec<_>>().join(", "), expect, "{turn}");
    }
}

#[test]
fn conversations_can_be_told_apart() {
    let cases = [
        (
            "name = 'a b'\nmarker = 'm'",
            "a conversation can't be called `a b`; use letters, digits and `_`",
        ),
        (
            "name = 'a'\nmarker = ''",
            "conversation `a` has an empty `marker`; write a word of its first message",
        ),
        (
            "name = 'main'\nmarker = 'm'",
            "two conversations are called `main`; rename one (the turns outside any are `main`)",
        ),
        (
            "name = 'a'\nmarker = 'm'\nturn = []\n[[conversation]]\nname = 'b'\nmarker = 'm'",
            "conversations `a` and `b` have the same `marker`; change one",
        ),
    ];
    for (keys, expect) in cases {
        let text = format!("{TEXT}[[conversation]]\n{keys}\nturn = []\n");
        check(&text, &format!("model.toml: {expect}"));
    }
    check(
        &format!("{TEXT}[[side]]\ncontains = ''\ntext = 'y'\n"),
        "model.toml: the `[[side]]` that says `y` has an empty `contains`; write what the request contains",
    );
}

#[test]
fn a_block_has_the_pace_of_the_file_or_its_own() {
    let model = load(
        "cut = 5\ndelay_ms = 7\n[[turn]]\n[[turn.block]]\ntext = 'x'\n\
         [[turn.block]]\ntext = 'y'\ncut_utf16 = 3\ndelay_ms = 0\n",
    )
    .unwrap();
    let n = |n| NonZeroUsize::new(n).unwrap();
    let paces: Vec<_> = model.turns[0].blocks.iter().map(|b| model.pace(b)).collect();
    assert_eq!(paces, [(DeltaCut::Chars(n(5)), 7), (DeltaCut::Utf16(n(3)), 0)]);
    let model = load(TEXT).unwrap();
    assert_eq!(model.pace(&model.turns[0].blocks[0]), (DeltaCut::Chars(n(12)), 30));
}

#[test]
fn a_turn_ends_for_the_reason_its_blocks_give() {
    let model = load(
        "[[turn]]\n[[turn.block]]\ntext = 'x'\n[[turn.block]]\ntool = 'Bash'\n\
         input = { command = 'ls', a = [1, { b = true }] }\n\
         [[turn]]\n[[turn.block]]\nthinking = 'hm'\n\
         [[turn]]\nblock = []\nstop_reason = 'max_tokens'\n\
         [[turn]]\n[[turn.block]]\nserver_tool = 'web_search'\n",
    )
    .unwrap();
    let reasons: Vec<_> = model.turns.iter().map(|t| t.stop_reason().as_str()).collect();
    assert_eq!(reasons, ["tool_use", "end_turn", "max_tokens", "end_turn"]);
    let input = model.turns[0].blocks[1].content.pieces().joined();
    assert_eq!(input, r#"{"a":[1,{"b":true}],"command":"ls"}"#);
}

#[test]
fn every_number_of_a_model_has_a_range() {
    let block = "[[turn]]\n[[turn.block]]\ntext = 'x'\n";
    for (text, expect) in [
        (
            format!("{block}delay_ms = 600001\n"),
            "model.toml:2: `delay_ms` is 600001; write a number from 0 to 600000",
        ),
        (
            format!("delay_ms = 9223372036854775807\n{block}"),
            "model.toml: `delay_ms` is 9223372036854775807; write a number from 0 to 600000",
        ),
        (
            "[[turn]]\nblock = []\nend_delay_ms = 600001\n".to_owned(),
            "model.toml:1: `end_delay_ms` is 600001; write a number from 0 to 600000",
        ),
        (
            "[[turn]]\n[[turn.failure]]\ndrop_after = { block = 1 }\ntimes = 10001\n".to_owned(),
            "model.toml:2: `times` is 10001; write a number from 1 to 10000",
        ),
        (
            format!("{block}[[spare]]\ntext = 'y'\ntimes = 9223372036854775807\n"),
            "model.toml: `times` is 9223372036854775807; write a number from 1 to 10000",
        ),
        (
            format!("{block}{}", "[[turn]]\nblock = []\n".repeat(10_000)),
            "model.toml: `[[turn]]` has 10001 entries; 10000 are the most",
        ),
    ] {
        check(&text, expect);
    }
}
