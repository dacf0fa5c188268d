//! The rule of how a turn ended: the person reads of a failure.

use clitape_recording::facts::TurnEnding;

use super::violation::{Broken, whole};
use crate::case::Case;
use crate::words::{contains, pieces_of_plain, quoted, seconds};

/// A result may come this long before the stand-in's last byte, in ms.
const RESULT_MS: u64 = 1_000;
/// The clocks of the stand-in and of the chat may differ by this much, in ms.
const CLOCKS_MS: u64 = 50;

/// A person reads something when a turn fails or breaks off: the chat is not empty, and it changes once the CLI
/// has ended.
pub(crate) fn failure_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let mut failed = case.played().filter_map(|(number, turn)| match &turn.ending {
        TurnEnding::Failed(words) => Some((number, RESULT_MS, words.as_str())),
        // Before the end, nobody can know that no result will come.
        TurnEnding::CutOff => Some((number, CLOCKS_MS, "")),
        TurnEnding::Answered | TurnEnding::Silent | TurnEnding::Interrupted => None,
    });
    failed.find_map(|(number, before, words)| {
        let what = match words {
            "" => "the turn failed: the CLI ended without a result".to_owned(),
            words => format!("the turn failed ({})", quoted(words)),
        };
        let turn = case.of_turn(number);
        if case.chat().at_end().next().is_none() {
            return whole(format!("{turn}{what}, and nothing in the chat says so: it is empty"));
        }
        let ended = case.times(number)?.ended_ms?;
        // Until the next turn begins.
        let next = case.times(number + 1).map_or(u64::MAX, |next| next.began_ms);
        let is_told = case
            .shown()
            .any(|(_, entry)| entry.sets_text() && entry.at + before >= ended && entry.at < next);
        // The CLI's own words about the failure may have been streamed before.
        let pages = case.end_pages();
        let is_told =
            is_told || pieces_of_plain(words).iter().any(|piece| contains(&pages, &piece.letters));
        let last = case.chat().at_end().last()?.last();
        (!is_told).then(|| {
            let (ended, text) = (seconds(ended), quoted(last.plain_text()));
            whole(format!(
                "{turn}{what} at {ended}, and the chat never said so: {text} stands there as before"
            ))
        })?
    })
}
