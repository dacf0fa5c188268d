//! The rules of the person: what they are asked, and what is kept from them.

use clitape_recording::chat::MessageHistory;
use clitape_recording::facts::{QuestionFacts, TurnEnding};
use clitape_recording::text::shown::ShownTexts;
use clitape_recording::trace::Entry;

use super::violation::{Broken, by_index, whole};
use crate::case::Case;
use crate::words::{letters, quoted, seconds};

/// Letters of a question that know it again.
const QUESTION: usize = 24;

/// What the CLI asks is shown to the person, if the subject passes questions on.
pub(crate) fn question_untold(case: Case<'_>) -> Option<Broken<'_>> {
    if !case.traits.asks_questions {
        return None;
    }
    if !case.traits.lets_claude_ask {
        let has_question = case.played().any(|(_, turn)| !turn.questions.is_empty());
        return has_question.then(|| {
            whole(
                "the gateway starts `claude` without `--permission-prompt-tool`, or in a mode that bypasses permissions, so \
                 that `claude` asks nobody; `questions_asked = true` says that the person is asked"
                    .to_owned(),
            )
        })?;
    }
    let mut questions =
        case.played().flat_map(|(number, turn)| turn.questions.iter().map(move |q| (number, q)));
    questions.find_map(|(number, question)| {
        let is_told = case
            .chat()
            .versions()
            .any(|version| !version.buttons.is_empty() || asks(version.letters(), question));
        (!is_told && !question.words.is_empty()).then(|| {
            let turn = case.of_turn(number);
            let words = question.words.first().map(|words| quoted(words)).unwrap_or_default();
            whole(format!(
                "{turn}claude asked about {} {words}, and no message of the chat did",
                question.name
            ))
        })?
    })
}

/// Whether a text has the words of a question.
fn asks(text: &str, question: &QuestionFacts) -> bool {
    question.words.iter().any(|words| {
        let words = letters(words);
        let cut = words.char_indices().nth(QUESTION).map_or(words.len(), |(at, _)| at);
        cut > 0 && text.contains(&words[..cut])
    })
}

/// Before the person presses a button of a question, the chat has shown all that it is about. What is inside a file is
/// not read.
pub(crate) fn question_unshown(case: Case<'_>) -> Option<Broken<'_>> {
    let entries = case.entries;
    let is_press = |(_, entry): &(usize, &Entry)| entry.kind == "(press)";
    let presses: Vec<(usize, &Entry)> = entries.iter().enumerate().filter(is_press).collect();
    let questions: Vec<_> = case
        .played()
        .flat_map(|(number, turn)| turn.questions.iter().map(move |question| (number, question)))
        .collect();
    // A file is about one question.
    let mut read = Vec::new();
    questions.iter().enumerate().find_map(|(index, (number, question))| {
        // Where a question takes several presses, or none, the last one has seen the most.
        let is_one_each = presses.len() == questions.len();
        let press = if is_one_each { presses.get(index) } else { presses.last() };
        let (at, press) = press?;
        let mut shown = ShownTexts::default();
        for version in case.chat().versions().filter(|version| version.entry < *at) {
            shown.add(version.plain_text());
            if !version.buttons.is_empty() {
                shown.note_hidden(version.plain_text());
            }
        }
        let (turn, label) = (case.of_turn(*number), quoted(press.text("label")));
        let pressed = format!("{turn}the person pressed {label} at {}", seconds(press.at));
        let name = &question.name;
        if let Some(c) = question.texts.iter().find_map(|text| text.hiding(&shown)) {
            let code = u32::from(c);
            let sentence = format!(
                "{pressed} below a text in which U+{code:04X}, of what claude asks about {name}, hides text or changes its order"
            );
            return by_index(case, *at, sentence);
        }
        let missing = question.texts.iter().find_map(|text| text.lacking(&shown))?;
        if let Some(file) = files(entries, *at).find(|file| !read.contains(file)) {
            read.push(file);
            return None;
        }
        let missing = quoted(&missing);
        by_index(case, *at,
            format!("{pressed} and was never shown {missing} of what claude asks about {name}"),
        )
    })
}

/// The files that were shown since the person's last message before this entry.
fn files(entries: &[Entry], at: usize) -> impl Iterator<Item = usize> {
    let asked = entries[..at].iter().rposition(|entry| entry.kind == "(user)").unwrap_or(0);
    let is_file = |entry: &Entry| entry.data.contains_key("file") && entry.is_shown();
    (asked..at).filter(move |index| is_file(&entries[*index]))
}

/// The buttons of a question leave the chat with its answer.
pub(crate) fn buttons_left(case: Case<'_>) -> Option<Broken<'_>> {
    let entries = case.entries;
    let pressed = entries.iter().enumerate().filter(|(_, entry)| entry.kind == "(press)");
    let still = |id: u64| {
        case.chat().left().find(|message| message.id == id && !message.last().buttons.is_empty())
    };
    let left = pressed.clone().find_map(|(_, press)| {
        let message = still(press.message_id()?)?;
        is_question(case, message).then_some((press, message))
    });
    let (press, message) = left?;
    let last = message.last();
    by_index(
        case,
        last.entry,
        format!(
            "the person pressed {} at {}, and {} still has the buttons {} when the run is over",
            quoted(press.text("label")),
            seconds(press.at),
            quoted(last.plain_text()),
            quoted(&last.buttons.concat().join(", "))
        ),
    )
}

/// Whether a message ever asked what the CLI asks.
fn is_question(case: Case<'_>, message: &MessageHistory) -> bool {
    let mut questions = case.turns().iter().flat_map(|turn| &turn.questions);
    questions.any(|question| {
        message.versions.iter().any(|version| {
            asks(version.letters(), question)
                || version.letters().contains(&letters(&question.name))
        })
    })
}

/// A turn that has nothing to say leaves nothing in the chat, if the subject promises it.
pub(crate) fn silence_broken(case: Case<'_>) -> Option<Broken<'_>> {
    let is_silent = case.played().count() > 0
        && case.played().all(|(_, turn)| turn.ending == TurnEnding::Silent);
    if !case.traits.keeps_silence || !is_silent {
        return None;
    }
    let last = case.chat().left().next()?.last();
    by_index(
        case,
        last.entry,
        format!(
            "the agent has nothing to say, and {} is left in the chat since {}",
            quoted(last.plain_text()),
            seconds(last.at)
        ),
    )
}
