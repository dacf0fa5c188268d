//! The rules of a run that did not come to its end, which are the same for a chat and for an editor.

use super::violation::Found;
use super::words::{seconds, told};
use crate::observation::{ARGUMENTS_REFUSED, Observation, RunEnding};

/// What a subject in a chat is called.
pub(super) const GATEWAY: &str = "gateway";
/// What a subject in an editor is called.
pub(super) const AGENT: &str = "agent";

/// The subject does not end by itself.
pub(super) fn died(observation: &Observation<'_>, subject: &str) -> Option<Found> {
    let RunEnding::Died { how, last_words } = &observation.ending else { return None };
    Found::whole(format!("the {subject} ended during the run ({how}); {}", told(last_words)))
}

/// The subject starts `claude`, goes on talking to it, and answers.
pub(super) fn hung(observation: &Observation<'_>, subject: &str) -> Option<Found> {
    let RunEnding::Hung { waited_s, waited_for, last_words } = &observation.ending else {
        return None;
    };
    let last = observation.entries.last().map_or_else(
        || "it had sent nothing".to_owned(),
        |last| format!("the last entry, at {}, was {}", seconds(last.at), last.kind),
    );
    let words = told(last_words);
    Found::whole(format!("the {subject} hung: for {waited_s} s, {waited_for}; {last}; {words}"))
}

/// The subject writes to `claude` what `claude` reads.
pub(super) fn refused(observation: &Observation<'_>, subject: &str) -> Option<Found> {
    let RunEnding::Refused(sentence) = &observation.ending else { return None };
    match sentence.strip_prefix(ARGUMENTS_REFUSED) {
        Some(words) => Found::whole(format!(
            "claude refused the arguments that the {subject} started it with, and said: {words}"
        )),
        None => {
            Found::whole(format!("claude got from the {subject} what it does not read: {sentence}"))
        }
    }
}

/// The subject stays within the bounds of a run.
pub(super) fn flooded(observation: &Observation<'_>, subject: &str) -> Option<Found> {
    let RunEnding::Flooded(what) = &observation.ending else { return None };
    Found::whole(format!("the {subject} was stopped because it did too much: {what}"))
}
