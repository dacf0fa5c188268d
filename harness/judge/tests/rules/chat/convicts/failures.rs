//! Tests that a person reads of a turn that failed, broke off or was interrupted by no person.

use super::*;

const HALF: &str = "The build is made of four stag";

/// Judges the calls of a turn that ended after five seconds.
fn check_failed(cassette: &str, lines: &[Entry], expect: &[K]) -> Vec<Violation> {
    check_seen(Seen { cassette, lines, turns: played(5_000), ..Seen::default() }, expect)
}

#[test]
fn sb007_a_failure_is_told() {
    let failed = "resume-killed-mid-text/2.1.329";
    let check_failed = |lines: &[Entry], expect: &[K]| check_failed(failed, lines, expect);
    let draft = send(2_000, 1, "📖 Read the file");
    check_failed(&[draft.clone(), edit(6_000, 1, "The agent ended without an answer.")], &[]);
    check_failed(std::slice::from_ref(&draft), &[K::FailureUntold]);
    check_failed(&[], &[K::FailureUntold]);
    // What the model had said, shown late, says nothing of the failure.
    check_failed(&[draft.clone(), edit(6_000, 1, HALF)], &[K::FailureUntold]);
    // A line of a tool says nothing of the turn, unless a sign does.
    let turns = "max-turns/2.1.332";
    let tool = "▶️ Bash: sed -n 1p list.txt";
    let check_turns = |last: &str, expect: &[K]| {
        let lines = [send(2_000, 1, tool), edit(5_200, 1, last)];
        check_seen(
            Seen { cassette: turns, lines: &lines, turns: played(5_000), ..Seen::default() },
            expect,
        );
    };
    check_turns(
        &format!("{tool}\n▶️ Bash: sed -n 2p list.txt\n\n⏱ 0s · 3 turns"),
        &[K::FailureUntold],
    );
    check_turns(&format!("{tool}\n⏹ Bash: sed -n 2p list.txt"), &[]);
    // Without the times of the turn, only an empty chat is certain to be wrong.
    check_of(failed, &[draft], &[]);
}

#[test]
fn sb007_words_of_success_do_not_tell_of_a_failure() {
    let failed = "resume-killed-mid-text/2.1.329";
    let draft = send(2_000, 1, "🔧 3 tools · 4 s");
    for news in [
        "✅ Done",
        "✅ 完成\n执行完成，无输出",
        "(no output)",
        "✅ 1 tools · 6s",
        "🔧 3 tools · 5 s",
        "✅ Done (5s)\n\n(No response from Claude)",
        "Finished in 5.1 s",
        "✅",
        "---",
    ] {
        let lines = [draft.clone(), edit(6_000, 1, &format!("{HALF}\n\n{news}"))];
        check_failed(failed, &lines, &[K::FailureUntold]);
    }
    let lines = [draft.clone(), edit(6_000, 1, "✅ Done")];
    let found = check_failed(failed, &lines, &[K::FailureUntold]);
    assert!(found[0].sentence.contains("at 6.0 s, is “✅ Done”"), "{found:?}");
    for news in [
        "Stopped",
        "❌",
        "⏹ 5 s",
        "Остановлено",
        "✅ Beendet",
        "exit code 137",
        "claude ended",
        "⚠️ No result",
        "(No response from Claude)",
        "done, but no answer came",
        "interrupted",
    ] {
        let lines = [draft.clone(), edit(6_000, 1, &format!("{HALF}\n\n{news}"))];
        check_failed(failed, &lines, &[]);
    }
    check_failed(failed, &[draft, edit(6_000, 1, &format!("⚠️ {HALF}"))], &[]);
}

#[test]
fn sb007_an_interrupt_that_no_person_sent_is_told() {
    let story = "sigint-mid-text/2.1.332";
    let cassette = Cassette::load(&root().join("cassettes").join(story)).unwrap();
    let half = facts_of(&cassette).turn_facts()[0].segments.last().unwrap().text.clone();
    let draft = send(2_000, 1, &half);
    let stop = call(4_000, "(user)", serde_json::json!({ "text": "/stop" }));
    let found = check_failed(story, std::slice::from_ref(&draft), &[K::FailureUntold]);
    assert!(found[0].sentence.contains("for which no person had asked"), "{found:?}");
    check_failed(
        story,
        &[draft.clone(), edit(6_000, 1, &format!("{half}\n\n✅"))],
        &[K::FailureUntold],
    );
    check_failed(story, &[draft.clone(), edit(6_000, 1, &format!("{half}\n\n⏹"))], &[]);
    check_failed(story, &[draft.clone(), edit(6_000, 1, "error_during_execution")], &[]);
    // The person may also press the Stop button of the bot's draft.
    let button = call(4_000, "(stop)", serde_json::json!({ "draft_id": 1 }));
    check_failed(story, &[draft.clone(), button], &[]);
    check_failed(story, &[draft.clone(), stop], &[]);
    // A CLI that is killed at once prints nothing after the words that stop it.
    let stop = call(5_400, "(user)", serde_json::json!({ "text": "/stop" }));
    check_failed(story, &[draft.clone(), stop], &[]);
    let next = serde_json::json!({ "text": "Go on. [[clitape:plain-text]]" });
    check_failed(story, &[draft, call(5_400, "(user)", next)], &[K::FailureUntold]);
}
