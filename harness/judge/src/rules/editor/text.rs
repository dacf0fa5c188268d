//! The rules of the model's words: each comes to the editor once and whole.

use clitape_recording::facts::TurnFacts;

use super::super::violation::{Broken, by_index, whole};
use super::entries::{entries, played};
use crate::case::Case;
use crate::words::{FEW_LETTERS, letters, pieces_of_plain, quoted};

/// The answers that must come, each with its letters.
fn answers<'c>(case: Case<'c>) -> impl Iterator<Item = (&'c str, String)> {
    let turns = played(case).filter(|turn| turn.must_be_answered());
    let answers = turns.filter_map(|turn| turn.answer.as_deref());
    answers.map(|answer| (answer, letters(answer))).filter(|(_, letters)| !letters.is_empty())
}

/// Something of each answer comes.
pub(crate) fn missing(case: Case<'_>) -> Option<Broken<'_>> {
    let told = letters(case.told());
    let is_missing = |answer: &str| {
        let pieces = pieces_of_plain(answer);
        !pieces.iter().any(|piece| told.contains(&piece.letters))
    };
    let (answer, _) = answers(case).find(|(answer, _)| is_missing(answer))?;
    whole(format!("the answer {} never came to the editor", quoted(answer)))
}

/// Each answer comes whole.
pub(crate) fn not_whole(case: Case<'_>) -> Option<Broken<'_>> {
    if missing(case).is_some() {
        return None;
    }
    let told = letters(case.told());
    let (answer, _) = answers(case).find(|(_, letters)| !told.contains(letters))?;
    let pieces = pieces_of_plain(answer);
    let lost = pieces.iter().find(|piece| !told.contains(&piece.letters));
    let what = match lost {
        Some(piece) => format!("its words {} never came", quoted(&piece.words)),
        None => "its words came in another order".to_owned(),
    };
    whole(format!("the answer {} is not whole in the editor: {what}", quoted(answer)))
}

/// No answer comes more often than the model said it.
pub(crate) fn twice(case: Case<'_>) -> Option<Broken<'_>> {
    let told = letters(case.told());
    let said: Vec<String> = played(case).map(all).collect();
    let times = |answer: &str| said.iter().map(|text| text.matches(answer).count()).sum::<usize>();
    let is_twice = |answer: &str| {
        answer.len() >= FEW_LETTERS && told.matches(answer).count() > times(answer).max(1)
    };
    let (answer, own) = answers(case).find(|(_, letters)| is_twice(letters))?;
    let last = entries(case).filter(|(_, entry)| entry.kind == "agent_message_chunk").last();
    let count = told.matches(&own).count();
    let sentence = format!("the answer {} came to the editor {count} times", quoted(answer));
    match last {
        Some((index, _)) => by_index(case, index, sentence),
        None => whole(sentence),
    }
}

/// The letters of all that the model said in a turn.
fn all(turn: &TurnFacts) -> String {
    let segments: String = turn.segments.iter().map(|segment| letters(&segment.text)).collect();
    let answer = turn.answer.as_deref().map(letters).unwrap_or_default();
    match segments.contains(&answer) {
        true => segments,
        false => segments + &answer,
    }
}

/// What the model says before its answer comes too, because an editor keeps all of it.
pub(crate) fn untold(case: Case<'_>) -> Option<Broken<'_>> {
    if case.facts.has_retractions() {
        return None;
    }
    let told = letters(case.told());
    let turns = played(case).filter(|turn| turn.must_be_answered());
    let mut segments = turns.flat_map(|turn| {
        let answer = turn.answer.as_deref().map(letters).unwrap_or_default();
        let others = move |text: &&str| !answer.contains(&letters(text));
        turn.segments.iter().map(|segment| segment.text.as_str()).filter(others)
    });
    let lost = segments.find(|text| !told.contains(&letters(text)))?;
    whole(format!("the model said {}, which never came to the editor", quoted(lost)))
}
