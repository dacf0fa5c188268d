//! The table of rules.

mod answer;
mod bus;
mod ending;
mod person;
mod server;
mod tools;
mod visible;

use clitape_judge::FindingKind as K;

use super::case::Case;
use super::unfinished::{GATEWAY, died, flooded, hung, refused};
use super::violation::Found;

/// A rule about what a person saw.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its id and name.
    pub kind: K,
    /// Whether it says something only about a run that came to its end.
    pub needs_end: bool,
    /// Finds what breaks it, the first in time.
    pub(super) check: fn(&Case<'_>) -> Option<Found>,
}

/// A rule that says something about every run.
const fn always(kind: K, check: fn(&Case<'_>) -> Option<Found>) -> Rule {
    Rule { kind, needs_end: false, check }
}

/// A rule that says something about a run that came to its end.
const fn at_end(kind: K, check: fn(&Case<'_>) -> Option<Found>) -> Rule {
    Rule { kind, needs_end: true, check }
}

/// All rules; the gravest first.
pub const RULES: &[Rule] = &[
    always(K::SubjectDied, |case| died(case.observation, GATEWAY)),
    always(K::SubjectHung, |case| hung(case.observation, GATEWAY)),
    always(K::SubjectRefused, |case| refused(case.observation, GATEWAY)),
    always(K::SubjectFlooded, |case| flooded(case.observation, GATEWAY)),
    at_end(K::AnswerMissing, answer::missing),
    at_end(K::AnswerNotWhole, answer::not_whole),
    at_end(K::AnswerAltered, answer::altered),
    at_end(K::AnswerTwice, answer::twice),
    at_end(K::AnswerOverwritten, answer::overwritten),
    at_end(K::PagesOutOfOrder, answer::out_of_order),
    at_end(K::FailureUntold, ending::failure_untold),
    at_end(K::DraftLeft, visible::draft_left),
    at_end(K::SeveralMessages, visible::several_messages),
    at_end(K::RunningLeft, visible::running_left),
    at_end(K::TypingLeft, visible::typing_left),
    always(K::BlankScreen, visible::blank_screen),
    always(K::NoSignOfLife, visible::no_sign_of_life),
    always(K::TextGlued, visible::glued),
    always(K::TextTakenBack, visible::taken_back),
    at_end(K::ToolsUntold, tools::untold),
    always(K::ArgumentsEmpty, tools::arguments_empty),
    at_end(K::BusUntold, bus::tools_untold),
    at_end(K::BusSilent, bus::silent),
    at_end(K::QuestionUntold, person::question_untold),
    always(K::QuestionUnshown, person::question_unshown),
    at_end(K::ButtonsLeft, person::buttons_left),
    at_end(K::SilenceBroken, person::silence_broken),
    always(K::SecretShown, person::secret_shown),
    at_end(K::MarkupRefused, server::markup_refused),
    at_end(K::MessageTooLong, server::too_long),
    always(K::WaitIgnored, server::wait_ignored),
    always(K::TooManyCalls, server::too_many_calls),
];
