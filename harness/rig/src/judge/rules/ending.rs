//! The rules of how a run ended: the subject lives, and the person reads of a failure.

use crate::judge::case::Case;
use crate::judge::expect::TurnEnd;
use crate::judge::screen::changes_text;
use crate::judge::violation::Found;
use crate::judge::words::{contains, pieces_of_plain, quoted, seconds, told};
use crate::observation::RunEnding;

/// A result may come this long before the stand-in's last byte, in ms.
const RESULT_MS: u64 = 1_000;
/// The clocks of the stand-in and of the chat may differ by this much, in ms.
const CLOCKS_MS: u64 = 50;

/// The subject does not end by itself.
pub(super) fn died(case: &Case<'_>) -> Option<Found> {
    let RunEnding::Died { how, last_words } = &case.observation.ending else { return None };
    Found::whole(format!("the gateway ended during the run ({how}); {}", told(last_words)))
}

/// The subject starts `claude` and goes on talking to it.
pub(super) fn hung(case: &Case<'_>) -> Option<Found> {
    let RunEnding::Hung { waited_s, waited_for, last_words } = &case.observation.ending else {
        return None;
    };
    let last = case.observation.entries.last();
    let last = last.map_or_else(
        || "the chat was empty".to_owned(),
        |last| format!("the last call, at {}, was {}", seconds(last.at), last.kind),
    );
    let words = told(last_words);
    Found::whole(format!("the gateway hung: for {waited_s} s, {waited_for}; {last}; {words}"))
}

/// The subject writes to `claude` what `claude` reads.
pub(super) fn refused(case: &Case<'_>) -> Option<Found> {
    let RunEnding::Refused(sentence) = &case.observation.ending else { return None };
    Found::whole(format!("claude got from the gateway what it does not read: {sentence}"))
}

/// The subject stays within the bounds of a run.
pub(super) fn flooded(case: &Case<'_>) -> Option<Found> {
    let RunEnding::Flooded(what) = &case.observation.ending else { return None };
    Found::whole(format!("the gateway was stopped because it did too much: {what}"))
}

/// A person reads something when a turn fails or breaks off: the chat is not empty, and it changes once the CLI
/// has ended.
pub(super) fn failure_untold(case: &Case<'_>) -> Option<Found> {
    let mut failed = case.played().filter_map(|(number, turn)| match &turn.end {
        TurnEnd::Failed(words) => Some((number, RESULT_MS, words.as_str())),
        // Before the end, nobody can know that no result will come.
        TurnEnd::CutOff => Some((number, CLOCKS_MS, "")),
        TurnEnd::Answered | TurnEnd::Silent | TurnEnd::Interrupted => None,
    });
    failed.find_map(|(number, before, words)| {
        let what = match words {
            "" => "the turn failed: the CLI ended without a result".to_owned(),
            words => format!("the turn failed ({})", quoted(words)),
        };
        let turn = case.of_turn(number);
        if case.screen.at_end().next().is_none() {
            return Found::whole(format!(
                "{turn}{what}, and nothing in the chat says so: it is empty"
            ));
        }
        let ended = case.times(number)?.ended_ms?;
        // Until the next turn begins.
        let next = case.times(number + 1).map_or(u64::MAX, |next| next.began_ms);
        let is_told = case.shown().any(|(_, entry)| {
            changes_text(&entry.kind) && entry.at + before >= ended && entry.at < next
        });
        // The CLI's own words about the failure may have been streamed before.
        let pages = case.end_pages();
        let is_told =
            is_told || pieces_of_plain(words).iter().any(|piece| contains(&pages, &piece.letters));
        let last = case.screen.at_end().last()?.last();
        (!is_told).then(|| {
            let (ended, text) = (seconds(ended), quoted(&last.text));
            Found::whole(format!(
                "{turn}{what} at {ended}, and the chat never said so: {text} stands there as before"
            ))
        })?
    })
}
