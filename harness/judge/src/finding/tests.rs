use std::collections::BTreeSet;

use crate::finding::*;

mod command;

#[test]
fn every_kind_has_one_id_of_its_own() {
    let rows = || FindingKind::ALL.iter().map(|kind| kind.row());
    let ids: BTreeSet<&str> = rows().map(|(id, _)| id).collect();
    let names: BTreeSet<&str> = rows().map(|(_, name)| name).collect();
    let count = FindingKind::ALL.len();
    assert_eq!((ids.len(), names.len()), (count, count), "an id or a name is used twice");
    assert_eq!(FindingKind::EditAfterFinal.to_string(), "GW003 edit-after-final");
}

#[test]
fn every_id_is_read_back_and_those_of_other_versions_are_kept() {
    for kind in FindingKind::ALL {
        let id = FindingId::from(kind.to_string());
        assert_eq!(id, FindingId::Known(*kind));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, format!("\"{kind}\""));
        assert_eq!(serde_json::from_str::<FindingId>(&json).unwrap(), id);
    }
    for (id, shown) in [
        ("GW999 from-tomorrow", "GW999 from-tomorrow"),
        ("GW003", "GW003"),
        ("GW003 \u{202e}", "GW003 \\u{202e}"),
    ] {
        assert_eq!(FindingId::from(id.to_owned()), FindingId::Other(shown.to_owned()));
    }
}

#[test]
fn all_text_of_a_finding_is_safe_to_print() {
    let hostile = || "a\u{1b}[31m\u{202e}\nb".to_owned();
    let safe = || "a\\u{1b}[31m\\u{202e}\\nb".to_owned();
    let change = Change { class: Class::Text, consequences: vec![hostile()] };
    let moment = ContextMoment { at: 1, input: vec![hostile()], output: vec![hostile()] };
    let line = DiffLine {
        side: crate::DiffSide::Got,
        old: None,
        new: Some(1),
        parts: vec![(true, hostile())],
    };
    let message = || vec![vec![hostile()]];
    let chat = ChatDiff { at: None, above: 0, expected: message(), got: message() };
    let made = Finding::new(FindingKind::LineLost, &hostile(), hostile(), hostile())
        .with_difference(Some(change), vec![line])
        .with_chat(Some(chat))
        .with_context(vec![moment]);
    let Finding { place, sentence, reproduce, consequences, context, chat, diff, .. } = &made;
    let chat = chat.as_ref().unwrap();
    let reproduce = reproduce.to_string();
    let texts = [place, sentence, &reproduce, &consequences[0], &context[0].input[0]];
    let more = [&context[0].output[0], &diff[0].parts[0].1, &chat.expected[0][0], &chat.got[0][0]];
    for text in texts.into_iter().chain(more) {
        assert_eq!(*text, safe());
    }
    assert_eq!(made.clone().safe(), made, "what is safe stays as it is");
}

#[test]
fn the_line_of_a_golden_is_that_of_the_first_difference() {
    let line = |expected: &str, came: &str| {
        let finding = Finding::new(FindingKind::GoldenDiffers, "x", "y".into(), "z".into());
        let diff = crate::align_texts(expected, came);
        finding.with_difference(None, diff).with_golden("bus.snap", 3).golden.unwrap().line
    };
    assert_eq!(line("a\nb\nc\n", "a\nx\nc\n"), 5);
    assert_eq!(line("a\nb\nc\n", "x\nb\nc\n"), 4);
    assert_eq!(line("a\nb\n", "a\nb\nc\n"), 5, "the line after which something came");
    assert_eq!(line("a\nb\n", "c\na\nb\n"), 4, "what came before all is at the first line");
    assert_eq!(line("a\nb\n", "a\n"), 5);
}
