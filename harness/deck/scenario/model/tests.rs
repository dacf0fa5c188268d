//! What `model.toml` may say, and how a mistake in it is told.

use super::*;

fn load(text: &str) -> Result<Model, ScenarioError> {
    let dir = tempfile::tempdir().unwrap();
    fs_err::write(dir.path().join("model.toml"), text).unwrap();
    Model::load(dir.path())
}

/// The error without its folder.
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
             `conversation`, `spare`, `side`",
        ),
        (
            "\n\ncut = 0\nturn = []\n",
            "model.toml:3: invalid value: integer `0`, expected a nonzero usize",
        ),
        ("[[turn]]\n[[turn]]\nblock = []\n", "model.toml:1: missing field `block`"),
        (
            "[[turn]]\nblock = []\nstop_reason = 'done'\n",
            "model.toml:3: unknown variant `done`, expected one of `end_turn`, `tool_use`, \
             `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`",
        ),
        (
            "[[turn]]\n\n[[turn.block]]\ntext = 'x'\ntool = 'Bash'\n",
            "model.toml:3: a block has one of `text`, `thinking` and `tool`",
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
            "model.toml:2: `id`, `input` and `input_json` belong to a block with `tool`",
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
    assert_eq!(paces, [(Cut::Chars(n(5)), 7), (Cut::Utf16(n(3)), 0)]);
    let model = load(TEXT).unwrap();
    assert_eq!(model.pace(&model.turns[0].blocks[0]), (Cut::Chars(n(12)), 30));
}

#[test]
fn a_turn_ends_for_the_reason_its_blocks_give() {
    let model = load(
        "[[turn]]\n[[turn.block]]\ntext = 'x'\n[[turn.block]]\ntool = 'Bash'\n\
         input = { command = 'ls', a = [1, { b = true }] }\n\
         [[turn]]\n[[turn.block]]\nthinking = 'hm'\n\
         [[turn]]\nblock = []\nstop_reason = 'max_tokens'\n",
    )
    .unwrap();
    let reasons: Vec<_> = model.turns.iter().map(|t| t.stop_reason().as_str()).collect();
    assert_eq!(reasons, ["tool_use", "end_turn", "max_tokens"]);
    let input = model.turns[0].blocks[1].content.pieces().joined();
    assert_eq!(input, r#"{"a":[1,{"b":true}],"command":"ls"}"#);
}
