//! The rules of a run that did not come to its end, which are the same for a chat and for an editor.

use super::violation::{Broken, whole};
use crate::case::Case;
use crate::observation::{ARGUMENTS_REFUSED, ObservedEnding};
use crate::words::{seconds, told};

/// The subject does not end by itself.
pub(crate) fn died(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Died { how, last_words } = case.ending else { return None };
    let subject = case.subject();
    whole(format!("the {subject} ended during the run ({how}); {}", told(last_words)))
}

/// The subject starts `claude`, goes on talking to it, and answers.
pub(crate) fn hung(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Hung { waited_s, waited_for, last_words } = case.ending else {
        return None;
    };
    let subject = case.subject();
    let last = case.entries.last().map_or_else(
        || "it had sent nothing".to_owned(),
        |last| format!("the last entry, at {}, was {}", seconds(last.at), last.kind),
    );
    let words = told(last_words);
    whole(format!("the {subject} hung: for {waited_s} s, {waited_for}; {last}; {words}"))
}

/// The subject writes to `claude` what `claude` reads.
pub(crate) fn refused(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Refused(sentence) = case.ending else { return None };
    let subject = case.subject();
    match sentence.strip_prefix(ARGUMENTS_REFUSED) {
        Some(words) => whole(format!(
            "claude refused the arguments that the {subject} started it with, and said: {words}"
        )),
        None => whole(format!("claude got from the {subject} what it does not read: {sentence}")),
    }
}

/// The subject stays within the bounds of a run.
pub(crate) fn flooded(case: Case<'_>) -> Option<Broken<'_>> {
    let ObservedEnding::Flooded(what) = case.ending else { return None };
    let subject = case.subject();
    whole(format!("the {subject} was stopped because it did too much: {what}"))
}
