//! The rules of the model's words: each comes to the editor once and whole.

use clitape_recording::facts::TurnFacts;

use super::case::EditorCase;
use crate::judge::violation::Found;
use crate::judge::words::{FEW_LETTERS, letters, pieces_of_plain, quoted};

/// The answers that must come, each with its letters.
fn answers<'c>(case: &'c EditorCase<'_>) -> impl Iterator<Item = (&'c str, String)> {
    let turns = case.played().filter(|turn| turn.must_be_answered());
    let answers = turns.filter_map(|turn| turn.answer.as_deref());
    answers.map(|answer| (answer, letters(answer))).filter(|(_, letters)| !letters.is_empty())
}

/// Something of each answer comes.
pub(super) fn missing(case: &EditorCase<'_>) -> Option<Found> {
    let told = letters(&case.told);
    let is_missing = |answer: &str| {
        let pieces = pieces_of_plain(answer);
        !pieces.iter().any(|piece| told.contains(&piece.letters))
    };
    let (answer, _) = answers(case).find(|(answer, _)| is_missing(answer))?;
    Found::whole(format!("the answer {} never came to the editor", quoted(answer)))
}

/// Each answer comes whole.
pub(super) fn not_whole(case: &EditorCase<'_>) -> Option<Found> {
    if missing(case).is_some() {
        return None;
    }
    let told = letters(&case.told);
    let (answer, _) = answers(case).find(|(_, letters)| !told.contains(letters))?;
    let pieces = pieces_of_plain(answer);
    let lost = pieces.iter().find(|piece| !told.contains(&piece.letters));
    let what = match lost {
        Some(piece) => format!("its words {} never came", quoted(&piece.words)),
        None => "its words came in another order".to_owned(),
    };
    Found::whole(format!("the answer {} is not whole in the editor: {what}", quoted(answer)))
}

/// No answer comes more often than the model said it.
pub(super) fn twice(case: &EditorCase<'_>) -> Option<Found> {
    let told = letters(&case.told);
    let said: Vec<String> = case.played().map(all).collect();
    let times = |answer: &str| said.iter().map(|text| text.matches(answer).count()).sum::<usize>();
    let is_twice = |answer: &str| {
        answer.len() >= FEW_LETTERS && told.matches(answer).count() > times(answer).max(1)
    };
    let (answer, own) = answers(case).find(|(_, letters)| is_twice(letters))?;
    let last = case.entries().filter(|(_, entry)| entry.kind == "agent_message_chunk").last();
    let count = told.matches(&own).count();
    let sentence = format!("the answer {} came to the editor {count} times", quoted(answer));
    match last {
        Some((index, _)) => Found::by(index, sentence),
        None => Found::whole(sentence),
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
pub(super) fn untold(case: &EditorCase<'_>) -> Option<Found> {
    if case.facts.has_retractions() {
        return None;
    }
    let told = letters(&case.told);
    let turns = case.played().filter(|turn| turn.must_be_answered());
    let mut segments = turns.flat_map(|turn| {
        let answer = turn.answer.as_deref().map(letters).unwrap_or_default();
        let others = move |text: &&str| !answer.contains(&letters(text));
        turn.segments.iter().map(|segment| segment.text.as_str()).filter(others)
    });
    let lost = segments.find(|text| !told.contains(&letters(text)))?;
    Found::whole(format!("the model said {}, which never came to the editor", quoted(lost)))
}
