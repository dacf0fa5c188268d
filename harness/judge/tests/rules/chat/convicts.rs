//! Tests that each rule finds the runs that break it and accepts the others.

use clitape_judge::FindingKind as K;

use super::*;

mod asked;
mod bus;
mod drafts;
mod failures;
mod grows;
mod late;
mod sent_once;
mod sessions;

/// The answer of `three-tools`.
const ANSWER: &str =
    "They do not agree: the server listens on port 8080, the client asks for port 8081.";
/// A tool line of `three-tools`, with which a turn names the tools that ran.
const TOOLS: &str = "📖 Read: server.conf";

/// The observed entries of a run, with its settings.
struct Seen<'s> {
    cassette: &'s str,
    lines: &'s [Entry],
    turns: Vec<PlayedTurn>,
    ending: ObservedEnding,
    traits: SubjectTraits,
    bus: Option<Vec<SubjectEvent>>,
}

impl Default for Seen<'_> {
    fn default() -> Self {
        Self {
            cassette: "three-tools/2.1.329",
            lines: &[],
            turns: Vec::new(),
            ending: ObservedEnding::Over,
            traits: SubjectTraits::default(),
            bus: None,
        }
    }
}

/// Judges an observation, and expects these violations.
fn check_seen(seen: Seen<'_>, expect: &[K]) -> Vec<Violation> {
    let cassette = Cassette::load(&root().join("cassettes").join(seen.cassette)).unwrap();
    let Seen { lines, turns, ending, traits, bus, .. } = seen;
    let entries = lines.to_vec();
    let seen_chat = Observation::of_chat(facts_of(&cassette), entries);
    let observation = Observation { turns, ending, traits, bus, ..seen_chat };
    let found = judge(&observation);
    let kinds: Vec<K> = found.iter().map(|violation| violation.kind).collect();
    assert_eq!(kinds, expect, "{found:#?}");
    for violation in &found {
        let sentence = &violation.sentence;
        assert!(sentence.len() > 30 && !sentence.contains("  "), "{sentence}");
    }
    found
}

/// Works as [`check_seen`] with calls in `three-tools`.
fn check(lines: &[Entry], expect: &[K]) -> Vec<Violation> {
    check_seen(Seen { lines, ..Seen::default() }, expect)
}

/// Works as [`check`] with another cassette.
fn check_of(cassette: &str, lines: &[Entry], expect: &[K]) -> Vec<Violation> {
    check_seen(Seen { cassette, lines, ..Seen::default() }, expect)
}

/// The calls of a good run: a draft with a tool line that becomes the answer.
fn good() -> Vec<Entry> {
    vec![
        call(0, "(user)", serde_json::json!({ "text": "Do the ports agree?" })),
        typing(100),
        send(2_000, 7, "Let me look at both files.\n\n📖 Read running…"),
        edit(4_000, 7, &format!("Let me look at both files.\n\n{TOOLS}\n\nNow the other one.")),
        edit(9_000, 7, ANSWER),
    ]
}

/// The good run with further calls.
fn good_and(more: &[Entry]) -> Vec<Entry> {
    [good(), more.to_vec()].concat()
}

/// The good run without its last calls, with others in their place.
fn good_but(count: usize, more: &[Entry]) -> Vec<Entry> {
    let mut lines = good();
    lines.truncate(lines.len() - count);
    lines.extend_from_slice(more);
    lines
}

#[test]
fn what_a_reasonable_gateway_does_is_no_violation() {
    check(&good(), &[]);
    // The answer with all texts of the model, with a status above and a footer below, in markup.
    let all = "✅ Done in 12 s\n\nLet me look at both files.\n\nNow the other one.\n\nI'll compare the two lines.\n\n";
    check(&good_but(1, &[edit(9_000, 7, &format!("{all}{ANSWER}\n\n$0.02 · 3 tools"))]), &[]);
    let html = "They <b>do not</b> agree: the server listens on port <code>8080</code>, the client asks for port 8081.";
    let data = serde_json::json!({ "message_id": 7, "text": html, "parse_mode": "HTML" });
    check(&good_but(1, &[call(9_000, "editMessageText", data)]), &[]);
    let escaped = ANSWER.replace('.', "\\.");
    let data = serde_json::json!({ "message_id": 7, "text": escaped, "parse_mode": "MarkdownV2" });
    check(&good_but(1, &[call(9_000, "editMessageText", data)]), &[]);
    // The final message comes before the draft is deleted; reactions come later.
    let reaction = call(12_000, "setMessageReaction", serde_json::json!({ "message_id": 1 }));
    check(&good_but(1, &[send(9_000, 8, ANSWER), delete(10_000, 7), reaction]), &[]);
    // Each part is a separate message.
    let parts = [
        send(1_000, 2, "Let me look at both files."),
        send(2_000, 3, TOOLS),
        send(3_000, 4, "Now the other one."),
    ];
    check(&[&parts[..], &[send(9_000, 5, ANSWER)]].concat(), &[]);
    // A footer is edited in after the answer.
    check(&good_and(&[edit(9_500, 7, &format!("{ANSWER}\n\n✅ 12 s"))]), &[]);
    // A draft is deleted and the final message follows at once.
    check(&good_but(1, &[delete(9_000, 7), send(9_300, 8, ANSWER)]), &[]);
}

#[test]
fn sb001_sb002_the_answer_is_there_whole() {
    let found = check(&good_but(1, &[]), &[K::AnswerMissing]);
    assert!(found[0].sentence.contains("never came to the chat"), "{found:?}");
    check(&good_and(&[delete(9_500, 7)]), &[K::AnswerMissing]);
    let cut = "They do not agree: the server listens on";
    let found = check(&good_but(1, &[edit(9_000, 7, cut)]), &[K::AnswerNotWhole]);
    assert!(found[0].sentence.contains("ends at “They do not agree: the server”"), "{found:?}");
    // The rest may be in a file, or behind a button.
    let file = |name: &str| {
        call(
            9_100,
            "sendDocument",
            serde_json::json!({ "message_id": 8, "text": "", "file": name }),
        )
    };
    check(&good_but(1, &[edit(9_000, 7, cut), file("answer.md")]), &[]);
    check(&good_but(1, &[edit(9_000, 7, cut), file("photo.png")]), &[K::AnswerNotWhole]);
    let with_text = |text: &str| {
        let data =
            serde_json::json!({ "message_id": 8, "text": "", "file": "a.html", "file_text": text });
        call(9_100, "sendDocument", data)
    };
    let page = format!("<p>{}</p>", ANSWER.replace("server", "<b>ser</b>ver"));
    check(&good_but(1, &[edit(9_000, 7, cut), with_text(&page)]), &[]);
    check(&good_but(1, &[edit(9_000, 7, cut), with_text("")]), &[K::AnswerNotWhole]);
    let paged = |label: &str| {
        let data = serde_json::json!({ "message_id": 7, "text": cut, "buttons": [[label]] });
        call(9_000, "editMessageText", data)
    };
    check(&good_but(1, &[paged("▶️ Next")]), &[]);
    check(&good_but(1, &[paged("🗑 New")]), &[K::AnswerNotWhole]);
    let wrong = ANSWER.replace("8081", "8089");
    check(&good_but(1, &[edit(9_000, 7, &wrong)]), &[K::AnswerNotWhole]);
}

#[test]
fn sb002_control_sequences_may_be_stripped() {
    let hostile = "hostile-output/2.1.332";
    let cassette = Cassette::load(&root().join("cassettes").join(hostile)).unwrap();
    let answer = facts_of(&cassette).turn_facts()[0].answer.clone().unwrap();
    let shown =
        answer.replace("\x1b[31m", "").replace("\x1b[2J", "").replace("\x1b]0;owned\x07", "");
    assert!(!shown.contains('\x1b'), "{shown:?}");
    check_of(hostile, &[send(1_000, 1, "🔧 Read hostile.txt"), edit(9_000, 1, &shown)], &[]);
    let cut = shown.split("turned").next().unwrap();
    check_of(
        hostile,
        &[send(1_000, 1, "🔧 Read hostile.txt"), edit(9_000, 1, cut)],
        &[K::AnswerNotWhole],
    );
}

#[test]
fn sb003_no_markup_is_shown_as_text() {
    let check_text = |text: &str, expect: &[K]| {
        check(&good_but(1, &[edit(9_000, 7, text)]), expect);
    };
    check_text(&format!("<b>Answer</b>\n{ANSWER}"), &[K::AnswerAltered]);
    check_text(&ANSWER.replace('.', "\\."), &[K::AnswerAltered]);
    check_text(&format!("{ANSWER} &amp; more"), &[K::AnswerAltered]);
    check_text(&format!("{ANSWER}\n\n_\\[Part 1/2\\]_"), &[K::AnswerAltered]);
    // The words are all there, and tags stand between them, because a refused text was sent again as it was.
    let raw = ANSWER.replace("do not", "<b>do</b> not").replace("8080", "</s><code>8080</code>");
    check_text(&raw, &[K::AnswerAltered]);
    // Markdown that is shown unchanged is a choice.
    check_text(&ANSWER.replace("agree", "**agree**"), &[]);
}

#[test]
fn sb004_the_answer_is_there_once() {
    let found = check(&good_and(&[send(9_500, 8, ANSWER)]), &[K::AnswerTwice]);
    assert!(found[0].sentence.contains("messages #7 and #8 of 2.0 s and 9.5 s"), "{found:?}");
    check(&good_but(1, &[edit(9_000, 7, &format!("{ANSWER}\n\n{ANSWER}"))]), &[K::AnswerTwice]);
    check(&good_and(&[send(9_500, 8, ANSWER), delete(10_000, 7)]), &[]);
    // A card that repeats the answer below lines of its own is one fault.
    let card = format!("✅ Claude Code · #ada0\n└ {ANSWER}");
    check(&good_but(1, &[edit(8_900, 7, &card), send(9_000, 8, ANSWER)]), &[K::DraftLeft]);
}

#[test]
fn sb005_the_answer_is_not_overwritten() {
    let stale = "Let me look at both files.";
    check(&good_and(&[edit(9_500, 7, stale)]), &[K::AnswerMissing, K::AnswerOverwritten]);
    check(&good_and(&[edit(9_500, 7, stale), edit(15_000, 7, ANSWER)]), &[K::AnswerOverwritten]);
    check(&good_and(&[edit(9_500, 7, "✅ Done, see below"), send(9_700, 8, ANSWER)]), &[]);
}

#[test]
fn sb006_pages_are_in_their_order() {
    let long = "long-answer/2.1.329";
    let cassette = Cassette::load(&root().join("cassettes").join(long)).unwrap();
    let answer = Facts::of(&cassette).turn_facts()[0].answer.clone().unwrap();
    // A cut in the middle of a word.
    let half = answer.char_indices().nth(answer.chars().count() / 2 + 3).unwrap().0;
    let (first, second) = answer.split_at(half);
    let pages = |a: &str, b: &str| [send(9_000, 1, TOOLS), send(9_100, 2, a), send(9_200, 3, b)];
    check_of(long, &pages(&format!("(1/2) {first}"), &format!("(2/2) {second}")), &[]);
    let found = check_of(long, &pages(second, first), &[K::PagesOutOfOrder]);
    assert!(found[0].sentence.contains("out of order"), "{found:?}");
    check_of(long, &pages(first, "(2/2)"), &[K::AnswerNotWhole]);
}

#[test]
fn sb008_sb009_nothing_is_left_beside_the_answer() {
    let lines = good_but(
        1,
        &[send(9_000, 8, &format!("Let me look at both files.\n\nNow the other one.\n\n{ANSWER}"))],
    );
    check(&lines, &[K::DraftLeft]);
    let lines = good_but(1, &[send(9_000, 8, ANSWER)]);
    check(&lines, &[]);
    let one = SubjectTraits { one_message: true, ..SubjectTraits::default() };
    check_seen(Seen { lines: &lines, traits: one, ..Seen::default() }, &[K::SeveralMessages]);
    check_seen(Seen { lines: &good(), traits: one, ..Seen::default() }, &[]);
}

#[test]
fn sb010_sb011_nothing_runs_on() {
    let check_text = |text: &str, expect: &[K]| {
        check(&good_but(1, &[edit(9_000, 7, &format!("{ANSWER}\n{text}"))]), expect);
    };
    for text in [
        "🛠️ Bash: sort lines running…",
        "Thinking ...",
        "⏳",
        "_Running Claude..._",
        "Working on your request…",
        "✅ Done (5s)\n⏳ Working...",
        "🔧 Read: done\n⏳ Bash running…",
    ] {
        check_text(text, &[K::RunningLeft]);
    }
    for text in [
        "The job was running. It is overworking nobody…",
        "🔧 Running sort server.conf…",
        "⏳ Working...\n🔧 Read: server.conf\n✅ Done (5s)",
    ] {
        check_text(text, &[]);
    }
    check(&good_and(&[typing(9_500), typing(11_000)]), &[]);
    check(&good_and(&[typing(14_000), typing(19_000)]), &[K::TypingLeft]);
}

#[test]
fn sb010_a_card_with_a_button_to_stop_is_taken_away() {
    let card = |at: u64, method: &str, text: &str, buttons: &[&str]| {
        let data = serde_json::json!({ "message_id": 8, "text": text, "buttons": [buttons] });
        call(at, method, data)
    };
    let check_card = |at: u64, text: &str, buttons: &[&str], expect: &[K]| {
        let born =
            card(1_000, "sendMessage", "🟢 myproject · running · 1 turn", &["Stop", "Pause"]);
        let lines = good_and(&[born, card(at, "editMessageText", text, buttons)]);
        check_seen(Seen { lines: &lines, turns: played(9_500), ..Seen::default() }, expect);
    };
    let running = "🟢 myproject · running · 4 turns";
    check_card(8_000, running, &["Stop", "Pause"], &[K::RunningLeft]);
    // The process lives on, and the card says so at the end of the turn.
    check_card(9_600, running, &["Stop", "Pause"], &[]);
    check_card(8_000, running, &["Details"], &[]);
    check_card(8_000, "🟢 myproject · idle", &["Stop"], &[]);
}

#[test]
fn sb012_the_screen_is_never_blank() {
    let lines = good_but(1, &[delete(5_000, 7), send(9_000, 8, ANSWER)]);
    let found = check(&lines, &[K::BlankScreen]);
    assert!(found[0].sentence.contains("saw nothing of it for 4.0 s"), "{found:?}");
    // Another message of the turn was visible.
    let lines =
        good_but(1, &[send(4_500, 8, "Working on it"), delete(5_000, 7), send(9_000, 9, ANSWER)]);
    check(&lines, &[]);
}

#[test]
fn sb013_a_sign_of_life_comes_soon() {
    let check_life = |first: &[Entry], expect: &[K]| {
        let tools = [send(40_000, 7, TOOLS), edit(41_000, 7, ANSWER)];
        let lines = [first, &tools].concat();
        check_seen(Seen { lines: &lines, turns: played(41_000), ..Seen::default() }, expect);
    };
    check_life(&[], &[K::NoSignOfLife]);
    check_life(&[typing(1_000)], &[K::NoSignOfLife]);
    check_life(&[typing(15_000), typing(30_000)], &[]);
    check_life(&[send(15_000, 6, "On it")], &[]);
}

#[test]
fn sb014_texts_are_not_glued() {
    let glued = "Let me look at both files.Now the oth";
    let found =
        check(&good_but(1, &[edit(5_000, 7, glued), edit(9_000, 7, ANSWER)]), &[K::TextGlued]);
    assert!(found[0].sentence.contains("files.Now"), "{found:?}");
    check(
        &good_but(
            1,
            &[edit(5_000, 7, "Let me look at both files. Now the oth"), edit(9_000, 7, ANSWER)],
        ),
        &[],
    );
    // The first message broke off in the midst of its sentence.
    let refusal = "I can't help with that, but I can explain how to protect yourself.";
    let check_refusal = |between: &str, expect: &[K]| {
        let lines = [send(2_000, 7, &format!("Here is how{between}{refusal}"))];
        check_of("refusal/2.1.332", &lines, expect);
    };
    check_refusal("", &[K::TextGlued]);
    check_refusal("\n\n", &[]);
    // The answer of a subagent stands before that of the agent.
    let counted = "The helper counted four lines in notes.txt.";
    let lines = [send(2_000, 7, &format!("🔧 Agent\n\nnotes.txt has 4 lines.{counted}"))];
    check_of("subagent-streams/2.1.329", &lines, &[K::TextGlued]);
}

#[test]
fn sb041_sb042_text_is_what_the_model_wrote() {
    let check_draft = |draft: &str, expect: &[K]| {
        check(&[send(1_000, 1, &format!("{TOOLS}\n\n{draft}")), edit(9_000, 1, ANSWER)], expect);
    };
    check_draft("They do not agree: theserver listens", &[K::BlanksLost]);
    for draft in
        ["They do not agree: the\nserver lis", "They do not agree: the\u{a0}server", "thes"]
    {
        check_draft(draft, &[]);
    }
    let stand_in = "Error: clitape stand-in: expected an interrupt, got a user message";
    check_draft(stand_in, &[K::RecordShown]);
    let record = r#"{"type":"stream_event","event":{"type":"message_start"}}"#;
    check_draft(record, &[K::RecordShown]);
    check_draft(r#"{"type":"event"}"#, &[]);
}

#[test]
fn sb016_sb017_tools_are_told() {
    let lines = [typing(100), send(2_000, 7, "Let me look at both files."), edit(9_000, 7, ANSWER)];
    let found = check(&lines, &[K::ToolsUntold]);
    assert!(found[0].sentence.contains("3 tools, the first was Read"), "{found:?}");
    let silent = SubjectTraits { shows_tools: false, ..SubjectTraits::default() };
    check_seen(Seen { lines: &lines, traits: silent, ..Seen::default() }, &[]);
    // On a loaded machine a subject may begin late, and the end of the turn may be noted late.
    for (first, last, ended_ms, expect) in [
        (1_000, 9_000, 8_900, &[K::ToolsUntold][..]),
        (7_000, 9_000, 8_900, &[]),
        (7_000, 9_000, 14_000, &[]),
        (9_000, 9_500, 8_900, &[K::ToolsUntold]),
    ] {
        let lines = [typing(first), send(last, 7, ANSWER)];
        let turns = vec![PlayedTurn { began_ms: 500, ended_ms: Some(ended_ms) }];
        check_seen(Seen { lines: &lines, turns, ..Seen::default() }, expect);
    }
    // A call may be told by the description in its input.
    let described = [
        typing(100),
        send(2_000, 7, "▶️ Run the self-test"),
        edit(9_000, 7, "The self-test failed with exit code 3: the disk is not writable."),
    ];
    check_of("tool-error/2.1.332", &described, &[]);
    let below = call(
        2_000,
        "sendMessage",
        serde_json::json!({
            "message_id": 7, "text": "▶️ Running:\n<code>sh selftest.sh</code>", "parse_mode": "HTML",
        }),
    );
    check_of("tool-error/2.1.332", &[typing(100), below, described[2].clone()], &[]);
    for (line, expect) in [
        ("🔧 Read {}", &[K::ArgumentsEmpty][..]),
        ("🔧 Read(undefined)", &[K::ArgumentsEmpty]),
        ("Read: null", &[K::ArgumentsEmpty]),
        ("🔧 Read {\"file_", &[K::ArgumentsEmpty]),
        ("🔧 Read", &[]),
        ("🔧 Read {\"file_…", &[]),
        ("🔧 Read {\"file_path\":\"server.conf\"}", &[]),
        ("🔧 Read {\"file_\n🔧 Read server.conf", &[]),
        ("🔧 Read nonexistent.txt", &[]),
    ] {
        check(&[send(2_000, 7, line), edit(9_000, 7, ANSWER)], expect);
    }
}

#[test]
fn sb018_sb019_questions_are_asked_and_closed() {
    let asks = SubjectTraits { asks_questions: true, ..SubjectTraits::default() };
    let check_asked = |lines: &[Entry], expect: &[K]| {
        let cassette = "permission-allow/2.1.332";
        check_seen(Seen { cassette, lines, traits: asks, ..Seen::default() }, expect)
    };
    let answer = "The file made.txt is there.";
    // Without a tool for permissions the CLI can't ask.
    let lines = &[send(8_000, 6, answer)];
    let (cassette, traits) =
        ("permission-allow/2.1.332", SubjectTraits { lets_claude_ask: false, ..asks });
    let found =
        check_seen(Seen { cassette, lines, traits, ..Seen::default() }, &[K::QuestionUntold]);
    assert!(found[0].sentence.contains("--permission-prompt-tool"), "{found:?}");
    let question = call(
        2_000,
        "sendMessage",
        serde_json::json!({
            "message_id": 5, "buttons": [["Yes", "No"]],
            "text": "Allow Bash: touch /clitape/project/made.txt && ls /clitape/project?",
        }),
    );
    let press = call(3_000, "(press)", serde_json::json!({ "message_id": 5, "label": "Yes" }));
    let closed = call(3_100, "editMessageReplyMarkup", serde_json::json!({ "message_id": 5 }));
    let last = send(8_000, 6, answer);
    check_asked(&[question.clone(), press.clone(), closed, last.clone()], &[]);
    // The last call may come soon after the press, because the run was over before a further one.
    for last in [send(3_400, 6, answer), last.clone()] {
        check_asked(&[question.clone(), press.clone(), last], &[K::ButtonsLeft]);
    }
    // Nobody has pressed, and the turn is over.
    let asked = |label: &str| {
        let mut asked = question.clone();
        asked.data_mut().insert("buttons".to_owned(), serde_json::json!([[label]]));
        asked
    };
    for label in ["✅ Allow", "No, don't"] {
        let found = check_asked(&[asked(label), last.clone()], &[K::ButtonsLeft]);
        assert!(found[0].sentence.contains("without an answer to its question"), "{found:?}");
    }
    check_asked(&[asked("Details"), last.clone()], &[]);
    let helped = serde_json::json!({
        "message_id": 6, "buttons": [["Yes", "No"]],
        "text": format!("🛠️ Bash: touch /clitape/project/made.txt\n\n{answer}\n\nDid it help?"),
    });
    check_asked(&[call(8_000, "sendMessage", helped)], &[]);
    let untold = [send(1_000, 1, "🛠️ Bash running…"), edit(8_000, 1, answer)];
    check_asked(&untold, &[K::QuestionUntold]);
    // `claude` waited for the answer: to a question that nobody was asked, or one that was.
    let waited = |lines: &[Entry], rule: K| {
        let sentence = "expected the answer to question q1 (Bash), got no line in 30 s";
        let ending = ObservedEnding::Refused(sentence.to_owned());
        let cassette = "permission-allow/2.1.332";
        check_seen(Seen { cassette, lines, traits: asks, ending, ..Seen::default() }, &[rule])
    };
    waited(&untold[..1], K::QuestionUntold);
    let denied = "expected `allow` as the answer to question q1 (Bash), got `deny`";
    let denied = || ObservedEnding::Refused(denied.to_owned());
    let check_denied = |lines: &[Entry], expect: K, words: &str| {
        let (cassette, ending) = ("permission-allow/2.1.332", denied());
        let seen = Seen { cassette, lines, traits: asks, ending, ..Seen::default() };
        let found = check_seen(seen, &[expect]);
        assert!(found[0].sentence.contains(words), "{found:?}");
    };
    check_denied(&untold[..1], K::QuestionUntold, "no message of the chat did");
    check_denied(std::slice::from_ref(&question), K::SubjectRefused, "said no by itself");
    check_denied(&[question.clone(), press.clone()], K::SubjectRefused, "what it does not read");
    let found = waited(&[question, press], K::SubjectRefused);
    assert!(found[0].sentence.contains("waited 30 s for the answer to question q1"), "{found:?}");
    check_of("permission-allow/2.1.332", &[last], &[]);
}

#[test]
fn sb035_nothing_of_another_conversation_is_shown() {
    let load = |name: &str| Cassette::load(&root().join("cassettes").join(name)).unwrap();
    let names = ["three-tools/2.1.329", "plain-text/2.1.329"];
    let facts = names.map(|name| facts_of(&load(name)));
    let run = RunWords::of(names.map(str::to_owned).into_iter().zip(facts.iter().map(|it| &**it)));
    let run = Arc::new(run);
    let other = facts[1].turn_facts()[0].answer.clone().unwrap();
    let check = |text: &str, expect: Option<&str>| {
        let draft = send(1_000, 1, &format!("{TOOLS}\n\n{text}"));
        let entries = vec![draft, edit(9_000, 1, &format!("{TOOLS}\n\n{ANSWER}"))];
        let seen = Observation::of_chat(facts[0].clone(), entries);
        let found = judge(&Observation { neighbours: Some(run.around(0)), ..seen });
        let beside = found.iter().find(|found| found.kind == K::OtherConversation);
        assert_eq!(beside.and_then(|found| found.beside.as_deref()), expect, "{found:#?}");
    };
    check("They do not agree", None);
    check(&other, Some(names[1]));
    check(&format!("<i>{other}</i>"), Some(names[1]));
}

#[test]
fn sb044_to_sb047_what_an_interlude_broke_off_is_told_and_what_came_is_answered_once() {
    use FurtherAct::*;
    use InterludeKind::{Person, Restart};
    use RestartMoment::*;
    use clap::ValueEnum as _;
    let facts = facts_of(&Cassette::load(&root().join("cassettes/three-tools/2.1.329")).unwrap());
    let as_is = |kind| Interlude {
        kind,
        began_ms: 3_000,
        over_ms: 5_000,
        starts_again: 0,
        pressed: None,
        unheard: None,
        went_on: None,
        left: None,
        forgotten: None,
        resumed: Some("b".to_owned()),
        sessions: vec!["a".to_owned(), "b".to_owned()],
    };
    let said = |at| call(at, "(user)", serde_json::json!({ "text": "Go on." }));
    let check = |interlude: &Interlude, between: &[Entry], expect: &[K]| {
        let begun = [send(1_000, 7, TOOLS), typing(4_000)];
        let next = [said(9_000), send(10_000, 8, "Next.")];
        let entries = [&[said(0)], &begun[..], between, &next].concat();
        let seen = Observation::of_chat(facts.clone(), entries);
        let mut found = judge(&Observation { interlude: Some(interlude.clone()), ..seen });
        let of_interlude = [
            K::StopIgnored,
            K::RestartUntold,
            K::MessageLost,
            K::AnsweredAgain,
            K::OldSession,
            K::RuleForgotten,
        ];
        found.retain(|found| of_interlude.contains(&found.kind));
        let kinds: Vec<K> = found.iter().map(|found| found.kind).collect();
        assert_eq!(kinds, expect, "{interlude:?}: {found:#?}");
    };
    let told = [edit(6_000, 7, "I was restarted.")];
    let refused = serde_json::json!({ "message_id": 7, "text": "x", "refused": "Bad Request" });
    let refused = [call(6_000, "editMessageText", refused)];
    for kind in [MidTurn, MidQuestion].map(Restart) {
        check(&as_is(kind), &told, &[]);
        check(&as_is(kind), &refused, &[K::RestartUntold]);
        check(&as_is(kind), &[], &[K::RestartUntold]);
        check(&Interlude { starts_again: 1, ..as_is(kind) }, &[], &[]);
    }
    for kind in [AfterAnswer, SessionGone].map(Restart) {
        check(&as_is(kind), &[], &[]);
        check(&Interlude { starts_again: 1, ..as_is(kind) }, &[], &[K::AnsweredAgain]);
    }
    let left = Some("`claude` was not started".to_owned());
    let after_answer = as_is(Restart(AfterAnswer));
    check(&Interlude { left: left.clone(), ..after_answer.clone() }, &told, &[K::MessageLost]);
    check(&Interlude { left: left.clone(), ..as_is(Restart(SessionGone)) }, &told, &[]);
    for act in FurtherAct::value_variants() {
        let kind = Person(*act);
        check(&Interlude { left: left.clone(), ..as_is(kind) }, &told, &[K::MessageLost]);
        let unheard = Some("part 2 of 3".to_owned());
        let unheard = Interlude { unheard, ..as_is(kind) };
        check(&unheard, &told, &[K::MessageLost]);
        let words = "Sorry, please press a button.";
        check(&unheard, &[edit(4_000, 7, words)], &[]);
        let later = if *act == AnswerByText { &[K::MessageLost][..] } else { &[] };
        check(&unheard, &[edit(6_000, 7, words)], later);
    }
    let stopped = as_is(Person(StopAtOnce));
    let stop = [said(100), said(8_000)];
    check(&stopped, &stop, &[K::MessageLost]);
    check(&stopped, &[said(100), send(200, 7, "Stopped.")], &[]);
    let forgotten = Some("Always allow".to_owned());
    let press = [call(8_000, "(press)", serde_json::json!({ "label": "Allow" }))];
    let always = Interlude { forgotten, ..as_is(Person(AllowAlways)) };
    check(&always, &press, &[K::RuleForgotten]);
    check(&as_is(Person(AllowAlways)), &press, &[]);
    let went_on = Some("claude went on for 2.0 s, to the end of the turn".to_owned());
    check(&Interlude { went_on, ..stopped }, &stop, &[K::StopIgnored]);
    let resumed = |id: &str| Interlude { resumed: Some(id.to_owned()), ..after_answer.clone() };
    check(&resumed("a"), &[], &[K::OldSession]);
    check(&Interlude { resumed: None, ..after_answer.clone() }, &[], &[]);
}

#[test]
fn sb036_sb037_the_answer_is_alone_unless_that_is_meant() {
    let check = |cassette: &str, beside: &str, answer: &str, rule: K| {
        let lines =
            [send(1_000, 1, "🛠️ Bash: awk"), edit(9_000, 1, &format!("{beside}\n\n{answer}"))];
        let seen = |traits| Seen { cassette, lines: &lines, traits, ..Seen::default() };
        check_seen(seen(SubjectTraits { shows_tools: false, ..SubjectTraits::default() }), &[rule]);
        let shows_all = SubjectTraits {
            shows_tools: false,
            shows_reasoning: true,
            shows_subagents: true,
            ..SubjectTraits::default()
        };
        check_seen(seen(shows_all), &[]);
    };
    let total = "The second total, 60, is right; the first one left out the last line.";
    let thought = "Two totals are written down. I should add up the numbers myself";
    check("thinking/2.1.332", thought, total, K::ReasoningInAnswer);
    let facts =
        facts_of(&Cassette::load(&root().join("cassettes/subagent-background/2.1.332")).unwrap());
    let answers = facts.turn_facts().iter().filter_map(|turn| turn.answer.as_deref());
    let answers = answers.collect::<Vec<_>>().join("\n\n");
    for beside in ["notes.txt has 4 lines.", "Counting."] {
        check("subagent-background/2.1.332", beside, &answers, K::SubagentInAnswer);
    }
}

#[test]
fn sb038_what_went_well_is_not_told_as_a_failure() {
    let check_line = |line: &str, expect: &[K]| {
        check(&[send(1_000, 1, TOOLS), edit(9_000, 1, &format!("{line}\n\n{ANSWER}"))], expect);
    };
    for line in ["❌ The run failed:", "Error: claude ended without an answer", "🔴 claude"] {
        check_line(line, &[K::SuccessToldFailed]);
    }
    for line in
        ["✅ 3 tools, 0 errors, 12 s", "✅ no tool failed", "📖 Read: server.conf", "[stop]"]
    {
        check_line(line, &[]);
    }
}

#[test]
fn sb039_sb040_a_line_says_what_its_call_did() {
    let failed = "The self-test failed with exit code 3: the disk is not writable.";
    let check_line = |line: &str, expect: &[K]| {
        check_of("tool-error/2.1.332", &[send(1_000, 1, line), edit(9_000, 1, failed)], expect);
    };
    check_line("✅ Bash: sh selftest.sh", &[K::FailureShownDone]);
    for line in
        ["❌ Bash: sh selftest.sh", "🔧 Bash: sh selftest.sh", "✅ Bash: sh selftest.sh (exit 3)"]
    {
        check_line(line, &[]);
    }
    let check_tools = |line: &str, expect: &[K]| {
        check(&[send(1_000, 1, line), edit(9_000, 1, ANSWER)], expect);
    };
    check_tools("📖 Read: server.conf\n📖 Read: grep -h port /clitape", &[K::ArgumentOfAnother]);
    check_tools("📖 Read: server.conf\n📖 Read: client.conf\n🔧 Bash: client.conf", &[]);
    // The other file is shown nowhere; in one line it would be that of both calls.
    let twice = "📖 Read: server.conf\n📖 Read: server.conf";
    check_tools(twice, &[K::ArgumentOfAnother]);
    for also in ["🔧 Read: client.conf", "📖 Read: server.conf"] {
        check_tools(&format!("{twice}\n{also}"), &[]);
    }
    check_tools("📖 Read: server.conf", &[]);
}

#[test]
fn sb020_a_silent_run_is_silent() {
    let keeps = SubjectTraits { keeps_silence: true, ..SubjectTraits::default() };
    let check_silent = |lines: &[Entry], traits: SubjectTraits, expect: &[K]| {
        check_seen(
            Seen { cassette: "silent-run/2.1.329", lines, traits, ..Seen::default() },
            expect,
        );
    };
    let told = [send(1_000, 1, "NO_REPLY")];
    check_silent(&told, keeps, &[K::SilenceBroken]);
    check_silent(&told, SubjectTraits::default(), &[]);
    check_silent(&[told[0].clone(), delete(2_000, 1)], keeps, &[]);
}

#[test]
fn sb022_sb023_what_the_server_refuses_is_sent_again() {
    let refused = |at: u64, text: &str, why: &str| {
        call(
            at,
            "sendMessage",
            serde_json::json!({
                "text": text, "parse_mode": "HTML", "refused": why, "shown": false,
            }),
        )
    };
    let parse = "Bad Request: can't parse entities: Unsupported start tag";
    let again = [refused(8_000, &format!("<x>{ANSWER}"), parse), edit(9_000, 7, ANSWER)];
    check(&good_but(1, &again), &[]);
    check(&good_but(1, &again[..1]), &[K::AnswerMissing, K::MarkupRefused]);
    // Sent again as it was, so that its tags are read.
    let raw = ANSWER.replace("do not", "<b>do</b> not");
    let again = [refused(8_000, &raw, parse), edit(9_000, 7, &raw)];
    check(&good_but(1, &again), &[K::AnswerAltered]);
    let long = [refused(8_000, ANSWER, "Bad Request: message is too long"), edit(9_000, 7, ANSWER)];
    check(&good_but(1, &long), &[]);
    check(&good_but(1, &long[..1]), &[K::AnswerMissing, K::MessageTooLong]);
}

#[test]
fn gw014_two_edits_of_one_message_are_not_under_way_at_a_time() {
    let slow = |id: i64| {
        let data = serde_json::json!({ "message_id": id, "text": TOOLS, "took_ms": 900 });
        call(5_000, "editMessageText", data)
    };
    check(&good_but(1, &[slow(7), edit(5_900, 7, ANSWER)]), &[]);
    check(&good_but(1, &[slow(7), edit(5_500, 7, ANSWER)]), &[K::CallsOverlap]);
    // Neither of two messages replaces the other.
    let other = [send(4_000, 8, TOOLS), slow(8), edit(5_500, 7, ANSWER)];
    check(&good_but(1, &other), &[]);
}

#[test]
fn sb024_sb025_the_server_is_left_in_peace() {
    let limited = call(
        5_000,
        "editMessageText",
        serde_json::json!({
            "message_id": 7, "text": TOOLS, "answer": "rate-limit:3s", "shown": false, "took_ms": 40,
        }),
    );
    let last = |at: u64| good_but(1, &[limited.clone(), edit(at, 7, ANSWER)]);
    check(&last(8_100), &[]);
    check(&last(6_000), &[K::WaitIgnored]);
    // The call was in progress when the answer came.
    check(&last(5_030), &[]);
    let edits = |every: u64| -> Vec<Entry> {
        let edit = |n: u64| edit(5_000 + n * every, 7, &format!("{TOOLS} {n}"));
        let last = self::edit(90_000, 7, ANSWER);
        good_but(1, &(0..40).map(edit).chain([last]).collect::<Vec<_>>())
    };
    check(&edits(1_000), &[]);
    check(&edits(200), &[K::TooManyCalls]);
}

#[test]
fn sb026_to_sb029_a_run_that_does_not_end_says_why() {
    let ended = |ending: ObservedEnding, kind: K, words: &str| {
        let found = check_seen(Seen { ending, lines: &good()[..2], ..Seen::default() }, &[kind]);
        assert!(found[0].sentence.contains(words), "{found:?}");
    };
    let hung = ObservedEnding::Hung {
        waited_s: 60,
        waited_for: "claude was never started".to_owned(),
        last_words: "no route".to_owned(),
    };
    ended(hung.clone(), K::SubjectHung, "for 60 s, claude was never");
    ended(hung, K::SubjectHung, "its last words are “no route”");
    ended(ObservedEnding::Refused("expected q1".to_owned()), K::SubjectRefused, "expected q1");
    let (how, last_words) = ("exit code 1".to_owned(), "TypeError: x is undefined".to_owned());
    ended(ObservedEnding::Died { how, last_words }, K::SubjectDied, "TypeError");
    let waited = "expected an interrupt, got no line in 30 s".to_owned();
    let words = "the person asked to stop at 0.0 s, and claude got no interrupt in 30 s";
    ended(ObservedEnding::Refused(waited), K::StopIgnored, words);
    ended(ObservedEnding::Flooded("2,000 calls".to_owned()), K::SubjectFlooded, "2,000 calls");
}

#[test]
fn sb021_no_secret_is_shown() {
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    let mut cassette = Cassette::load(&root().join("cassettes/three-tools/2.1.329")).unwrap();
    let stdout = String::from_utf8(cassette.stdout).unwrap();
    let field = "\"type\":\"tool_result\",\"content\":\"";
    assert!(stdout.contains(field), "the cassette has a result of a tool");
    cassette.stdout = stdout.replacen(field, &format!("{field}token {secret} "), 1).into_bytes();
    let judged = |text: &str| {
        let lines = good_but(1, &[send(5_000, 8, text), delete(6_000, 8), edit(9_000, 7, ANSWER)]);
        judge(&Observation::of_chat(facts_of(&cassette), lines))
    };
    let found = judged(&format!("Output: token {secret}"));
    let kinds: Vec<K> = found.iter().map(|violation| violation.kind).collect();
    assert_eq!(kinds, [K::SecretShown], "{found:?}");
    assert!(!found[0].sentence.contains(&secret), "the sentence shows the secret: {found:?}");
    assert_eq!(judged("Output: token ***"), []);
    let file =
        serde_json::json!({ "message_id": 8, "text": "", "file": "log.txt", "file_text": secret });
    let lines = good_and(&[call(9_500, "sendDocument", file)]);
    let found = judge(&Observation::of_chat(facts_of(&cassette), lines));
    assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), [K::SecretShown]);
    let draft = serde_json::json!({ "draft_id": 1, "text": format!("token {secret}") });
    let lines = good_but(1, &[call(5_000, "sendMessageDraft", draft), edit(9_000, 7, ANSWER)]);
    let found = judge(&Observation::of_chat(facts_of(&cassette), lines));
    assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), [K::SecretShown]);
}
