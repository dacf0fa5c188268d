//! Chooses the scripted answer to a request, by the request's content alone.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::request::{Asked, clip};
use crate::scenario::{FailureKind, Model, Turn};

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    /// What ids are made of: the conversation's name.
    pub(crate) conversation: &'a str,
    /// What ids are made of: the turn's number, from 1.
    pub(crate) number: usize,
    /// What is said.
    pub(crate) turn: Cow<'a, Turn>,
    /// What goes wrong with it.
    pub(crate) failure: Option<&'a FailureKind>,
    /// What ids are made of: how many requests for the turn failed before this one.
    pub(crate) failed: usize,
    /// Whether the CLI asked beside the conversation. It does not wait for such an answer, so
    /// whether its tokens are in the sum of the `result` would differ from run to run.
    pub(crate) aside: bool,
}

/// The part of a request by which a question of the CLI's own is known.
enum Known {
    /// The system prompt has this text.
    System(&'static str),
    /// The last user text is this one.
    LastUser(&'static str),
}

const NO_FILES: &str = "<is_displaying_contents>\nfalse\n</is_displaying_contents>\n\n\
                        <filepaths>\n</filepaths>";

/// What CLI versions up to 2.0 ask a small model beside the conversation, and harmless answers.
const QUESTIONS: &[(Known, &str)] = &[
    // May this command run without asking? `none`: no rule covers it.
    (Known::System("Your task is to process Bash commands"), "none"),
    // Which files did this command show?
    (Known::System("Extract any file paths that this command reads"), NO_FILES),
    // Is this output worth a summary?
    (
        Known::System("output from a bash command to determine if it should be summarized"),
        "<should_summarize>false</should_summarize>",
    ),
    // Titles, of the terminal and in the list of sessions.
    (
        Known::System("indicates a new conversation topic"),
        r#"{"isNewTopic": false, "title": null}"#,
    ),
    (Known::System("Summarize this coding conversation in under 50 characters"), "A scripted run"),
    // Subagents of 2.0 are asked once before they are needed.
    (Known::LastUser("Warmup"), "Ready."),
];

/// How often each turn was asked for: conversation, number of the turn.
pub(crate) type Attempts = HashMap<(String, usize), usize>;

/// The answer to a request, if the script has one; a request for a turn is counted.
pub(crate) fn choose<'a>(
    model: &'a Model,
    asked: &Asked,
    attempts: &mut Attempts,
) -> Option<Answer<'a>> {
    side(model, asked).or_else(|| turn(model, asked, attempts))
}

fn side<'a>(model: &'a Model, asked: &Asked) -> Option<Answer<'a>> {
    let has = |text: &str| asked.system.contains(text) || asked.messages.contains(text);
    let scripted = model.sides.iter().map(|side| (has(&side.contains), side.text.as_str()));
    let known = QUESTIONS.iter().map(|(known, text)| {
        let fits = match known {
            Known::System(part) => asked.system.contains(part),
            Known::LastUser(text) => asked.last_user == *text,
        };
        (fits, *text)
    });
    let (at, (_, text)) = scripted.chain(known).enumerate().find(|(_, (fits, _))| *fits)?;
    Some(Answer {
        conversation: "side",
        number: at + 1,
        turn: Cow::Owned(Turn::at_once(text)),
        failure: None,
        failed: 0,
        aside: true,
    })
}

fn turn<'a>(model: &'a Model, asked: &Asked, attempts: &mut Attempts) -> Option<Answer<'a>> {
    let (conversation, turns) = conversation(model, asked);
    let number = asked.assistants + 1;
    let (turn, failure, failed) = match turns.get(asked.assistants) {
        Some(turn) => {
            let before = attempts.entry((conversation.to_owned(), number)).or_default();
            let (failure, failed) = turn.attempt(*before);
            *before += 1;
            (Cow::Borrowed(turn), failure, failed)
        }
        None => {
            let mut spares = model
                .spares
                .iter()
                .flat_map(|spare| std::iter::repeat_n(&spare.text, spare.times.get()));
            let text = spares.nth(asked.assistants - turns.len())?;
            (Cow::Owned(Turn::saying(text)), None, 0)
        }
    };
    Some(Answer { conversation, number, turn, failure, failed, aside: false })
}

fn conversation<'a>(model: &'a Model, asked: &Asked) -> (&'a str, &'a [Turn]) {
    model
        .conversations
        .iter()
        .find(|one| asked.first_user.contains(&one.marker))
        .map_or(("main", &model.turns), |one| (&one.name, &one.turns))
}

/// Says what was asked and what the script has, for a request without an answer.
pub(crate) fn complaint(model: &Model, method: &str, path: &str, asked: &Asked) -> String {
    let (conversation, _) = conversation(model, asked);
    let mut text = format!(
        "{method} {path}, model {}, {} assistant messages, conversation `{conversation}`\n  \
         asked: {}\n  scripted:",
        asked.model,
        asked.assistants,
        clip(&asked.last_user, 200),
    );
    for (name, turns) in model.all_turns() {
        let _ = write!(text, " `{name}` with {} turns,", turns.len());
    }
    let spares: usize = model.spares.iter().map(|spare| spare.times.get()).sum();
    let _ = write!(text, " {spares} spare");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "
        [[turn]]
        block = [{ text = 'main 1' }]
        [[turn]]
        block = [{ text = 'main 2' }]
        [[conversation]]
        name = 'sub'
        marker = 'SUB'
        turn = [{ block = [{ text = 'sub 1' }] }]
        [[spare]]
        text = 'more'
        times = 2
        [[spare]]
        text = 'last'
        [[side]]
        contains = 'TITLE'
        text = 'a title'";

    fn asked(assistants: usize, first: &str, last: &str, system: &str) -> Asked {
        Asked {
            assistants,
            system: system.into(),
            first_user: first.into(),
            last_user: last.into(),
            messages: format!("{first}\n{last}\n"),
            ..Asked::default()
        }
    }

    #[test]
    fn a_request_gets_the_turn_its_content_asks_for() {
        let model: Model = toml::from_str(MODEL).unwrap();
        let prefix = "Your task is to process Bash commands that an AI …";
        for (request, expect) in [
            (asked(0, "hi", "hi", ""), "main 1: main 1"),
            (asked(1, "hi", "SUB", ""), "main 2: main 2"),
            (asked(0, "do SUB now", "", ""), "sub 1: sub 1"),
            (asked(1, "SUB", "", ""), "sub 2: more"),
            (asked(2, "hi", "", ""), "main 3: more"),
            (asked(3, "hi", "", ""), "main 4: more"),
            (asked(4, "hi", "", ""), "main 5: last"),
            (asked(5, "hi", "", ""), "nothing"),
            (asked(0, "hi", "", "a TITLE"), "side 1: a title"),
            (asked(9, "hi", "TITLE", ""), "side 1: a title"),
            (asked(0, "hi", "", prefix), "side 2: none"),
            (asked(0, prefix, "", ""), "main 1: main 1"),
            (asked(0, "hi", "Warmup", ""), "side 7: Ready."),
        ] {
            let found =
                choose(&model, &request, &mut Attempts::new()).map_or("nothing".into(), |answer| {
                    let text = answer.turn.blocks[0].content.pieces().joined();
                    format!("{} {}: {text}", answer.conversation, answer.number)
                });
            assert_eq!(found, expect, "{request:?}");
        }
    }

    #[test]
    fn a_turn_counts_its_own_requests() {
        let model: Model = toml::from_str(
            "[[turn]]
             block = []
             failure = [{ status = 529, type = 'overloaded_error', message = '' }]
             [[turn]]
             block = []
             failure = [{ status = 500, type = 'api_error', message = '', times = 2 }]
             [[side]]
             contains = 'TITLE'
             text = ''",
        )
        .unwrap();
        let mut attempts = Attempts::new();
        let mut ask = |assistants, system| {
            let answer = choose(&model, &asked(assistants, "", "", system), &mut attempts).unwrap();
            (answer.failure.is_some(), answer.failed)
        };
        assert_eq!(ask(1, ""), (true, 0));
        assert_eq!(ask(0, ""), (true, 0));
        assert_eq!(ask(0, "TITLE"), (false, 0));
        assert_eq!(ask(0, ""), (false, 1));
        assert_eq!(ask(1, ""), (true, 1));
        assert_eq!(ask(1, ""), (false, 2));
        assert_eq!(ask(1, ""), (false, 2));
    }

    #[test]
    fn a_request_without_an_answer_is_told() {
        let model: Model = toml::from_str(MODEL).unwrap();
        let request = Asked { model: "claude-x".into(), ..asked(7, "a SUB b", "and\nnow?", "") };
        assert_eq!(
            complaint(&model, "POST", "/v1/messages?beta=true", &request),
            "POST /v1/messages?beta=true, model claude-x, 7 assistant messages, conversation `sub`\n  \
             asked: and now?\n  \
             scripted: `main` with 2 turns, `sub` with 1 turns, 3 spare"
        );
    }
}
