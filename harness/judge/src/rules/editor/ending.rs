//! The rules of turns: an agent's messages are valid, and a prompt's answer ends the turn.

use clitape_recording::facts::{TurnEnding, TurnFacts};

use super::super::violation::{Broken, by_index};
use super::entries::{answered, entries, played};
use crate::case::Case;
use crate::words::{letters, pieces_of_plain, quoted, seconds};

/// The kinds of what belongs to a turn.
const OF_TURN: [&str; 5] =
    ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// The official types accept each message.
pub(crate) fn invalid(case: Case<'_>) -> Option<Broken<'_>> {
    let (index, entry) = entries(case).find(|(_, entry)| entry.data.contains_key("refused"))?;
    let why = quoted(entry.text("refused"));
    by_index(
        case,
        index,
        format!("an editor with the official types loses the agent's `{}`: {why}", entry.kind),
    )
}

/// Whether the person cancelled the turn that this entry answers.
fn is_cancelled(case: Case<'_>, response: usize) -> bool {
    let before = &case.entries[..response];
    let begin = before.iter().rposition(|entry| entry.kind == "(user)").unwrap_or(0);
    before[begin..].iter().any(|entry| entry.kind == "(cancel)")
}

/// The person reads that a turn failed: as an error, as a stop reason, or in words.
pub(crate) fn failure_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let told = letters(case.told());
    answered(case).into_iter().find_map(|(turn, index)| {
        let words = match &turn.ending {
            TurnEnding::Failed(words) => words.as_str(),
            TurnEnding::CutOff => "",
            TurnEnding::Answered | TurnEnding::Silent | TurnEnding::Interrupted => return None,
        };
        let entry = &case.entries[index];
        let has_words = pieces_of_plain(words).iter().any(|piece| told.contains(&piece.letters));
        if entry.data.contains_key("error") || entry.text("stopReason") != "end_turn" || has_words {
            return None;
        }
        let what = match words {
            "" => "the CLI ended without a result".to_owned(),
            words => quoted(words),
        };
        by_index(
            case,
            index,
            format!("the turn failed ({what}), and the prompt is answered with end_turn"),
        )
    })
}

/// The stop reason is true: `cancelled` after a cancel and only then, and no error where the model answered.
pub(crate) fn stop_reason(case: Case<'_>) -> Option<Broken<'_>> {
    answered(case).into_iter().find_map(|(turn, index)| {
        let entry = &case.entries[index];
        let sentence = wrong_stop(turn, entry, is_cancelled(case, index))?;
        by_index(case, index, sentence)
    })
}

fn wrong_stop(
    turn: &TurnFacts,
    entry: &clitape_recording::trace::Entry,
    is_cancelled: bool,
) -> Option<String> {
    let reason = entry.text("stopReason");
    match (is_cancelled, reason) {
        // A turn may end by itself before the cancel comes.
        (true, "cancelled") => None,
        (true, _) if turn.ending != TurnEnding::Interrupted => None,
        (true, "") => Some(format!(
            "the person cancelled the turn, and the prompt is answered with the error {}",
            quoted(entry.text("error"))
        )),
        (true, other) => {
            Some(format!("the person cancelled the turn, and the stop reason is {other}"))
        }
        (false, "cancelled") if turn.ending == TurnEnding::Answered => {
            Some("nobody cancelled the turn, and the stop reason is cancelled".to_owned())
        }
        (false, "") if turn.ending == TurnEnding::Answered => Some(format!(
            "the model answered, and the prompt is answered with the error {}",
            quoted(entry.text("error"))
        )),
        (false, _) => None,
    }
}

/// Nothing of a turn comes after its end, unless work goes on in the background.
pub(crate) fn told_after_end(case: Case<'_>) -> Option<Broken<'_>> {
    let goes_on = case.facts.has_background() || played(case).any(|turn| turn.is_interim);
    if goes_on {
        return None;
    }
    let mut open = 0_u64;
    let (index, entry) = entries(case).find(|(_, entry)| {
        match entry.kind.as_ref() {
            "(user)" => open += 1,
            "response" => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && OF_TURN.contains(&entry.kind.as_ref())
    })?;
    let at = seconds(entry.at);
    by_index(
        case,
        index,
        format!("`{}` came at {at}, when the prompt was already answered", entry.kind),
    )
}
