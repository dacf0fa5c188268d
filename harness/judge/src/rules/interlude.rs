//! The rules of what happens in the midst of a recording: the subject is killed and started again, or the person
//! does more than the recorded one. What the subject had taken over is answered once or told, and the chat stays one
//! conversation.

use std::ops::RangeInclusive;

use clitape_recording::chat::PRESS;
use clitape_recording::text::quoted;
use clitape_recording::trace::Entry;

use super::run::is_stop;
use crate::case::{Broken, Case, PERSON, by_index, whole};
use crate::observation::{FurtherAct, Interlude, InterludeKind, RestartMoment, SessionOrigin};
use crate::words::seconds;

/// Checks that a person learns what became of a turn or of a question that the restart broke off.
///
/// An answer to the same message counts too, and so does any new text, because each gateway has its own words.
pub(crate) fn untold(case: Case<'_>) -> Option<Broken<'_>> {
    let Interlude { kind, began_ms, over_ms, pressed, starts_again, .. } = case.interlude?;
    let is_open = kind.breaks_off() && *starts_again == 0;
    let begin = case.entries.iter().position(|entry| entry.at >= *began_ms)?;
    let until_next = case.entries[begin..].iter().take_while(|entry| entry.kind != PERSON[0]);
    let end = begin + until_next.clone().count();
    if !is_open || until_next.clone().any(tells) {
        return None;
    }
    let times = format!(
        "the gateway was killed at {} and ran again at {}",
        seconds(*began_ms),
        seconds(*over_ms)
    );
    by_index(
        case,
        end.saturating_sub(1),
        match pressed {
            Some(label) => format!(
                "{times}; then the person pressed {}, and the chat says nothing of the question",
                quoted(label)
            ),
            None => format!("{times}; the chat says nothing of the turn that broke off"),
        },
    )
}

/// Returns whether an entry gives the person something new to read.
fn tells(entry: &Entry) -> bool {
    let has_text = ["text", "caption"].iter().any(|field| !entry.text(field).is_empty());
    !PERSON.contains(&&*entry.kind) && entry.is_shown() && has_text
}

/// Checks that what a person writes reaches `claude`, and that a message is answered that came while the subject was down
/// or busy. Where the session is gone, words about that are enough.
pub(crate) fn message_lost(case: Case<'_>) -> Option<Broken<'_>> {
    let Interlude { kind, began_ms, over_ms, unheard, went_on, left, .. } = case.interlude?;
    let is_by_text = *kind == InterludeKind::Person(FurtherAct::AnswerByText);
    let within_ms = *began_ms..=if is_by_text { *over_ms } else { u64::MAX };
    let asks = |(_, entry): (usize, &Entry)| {
        let is_question = entry.kind == "sendMessage" && entry.field("buttons").is_some();
        is_by_text && is_question && within_ms.contains(&entry.at)
    };
    let is_told = says_not_done(case, &within_ms) || case.shown().any(asks);
    if let Some(unheard) = unheard.as_ref().filter(|_| !is_told) {
        return whole(format!("{unheard} never reached `claude`, and the chat does not say so"));
    }
    if *kind == InterludeKind::Person(FurtherAct::StopAtOnce) && went_on.is_none() {
        let stop = case.entries.iter().enumerate().filter(|(_, entry)| entry.kind == PERSON[0]);
        let (stop, _) = stop.take(2).last()?;
        let mut later = case.entries[stop + 1..].iter();
        if !later.by_ref().take_while(|entry| entry.kind != PERSON[0]).any(tells) {
            let what =
                "the person asked to stop right behind the prompt, and the chat says nothing of it";
            return by_index(case, stop, what.to_owned());
        }
    }
    let left = left.as_ref().filter(|_| !(kind.is_further_message() && is_told))?;
    let mut later = case.entries.iter().filter(|entry| entry.at > *over_ms);
    let is_gone = *kind == InterludeKind::Restart(RestartMoment::SessionGone);
    if is_gone && later.any(tells) {
        return None;
    }
    whole(match kind {
        InterludeKind::Restart(_) => format!(
            "a message that the person wrote after the gateway was killed at {} (it ran again at {}) has no answer: \
             {left}",
            seconds(*began_ms),
            seconds(*over_ms)
        ),
        InterludeKind::Person(FurtherAct::MessageInTurn) => format!(
            "a message that the person wrote at {}, during the turn, has no answer: {left}",
            seconds(*began_ms)
        ),
        InterludeKind::Person(FurtherAct::MessageAtQuestion) => format!(
            "a message that the person wrote at {}, while a question was open, has no answer: {left}",
            seconds(*began_ms)
        ),
        InterludeKind::Person(FurtherAct::Reply) => {
            format!("a reply of the person to the last answer has no answer: {left}")
        }
        InterludeKind::Person(_) => {
            format!("{}, the person's next message has no answer: {left}", kind.after())
        }
    })
}

/// The words, in lower case, by which a gateway says that something is not done, not now, or by a button alone.
const NOT_DONE: [&str; 28] = [
    "too long",
    "too large",
    "too many",
    "too fast",
    "at a time",
    "only text",
    "not support",
    "unsupported",
    "can't",
    "can’t",
    "cannot",
    "could not",
    "couldn't",
    "unable",
    "sorry",
    "ignor",
    "dropped",
    "discard",
    "please",
    "later",
    "wait",
    "busy",
    "queue",
    "first",
    "button",
    "press",
    "choose",
    "tap ",
];

/// Returns whether the chat says in this time, in words of the gateway itself, that something is not done, not now, or
/// by a button alone.
fn says_not_done(case: Case<'_>, within_ms: &RangeInclusive<u64>) -> bool {
    let says = |text: &str| {
        case.own_lines(text).iter().any(|line| {
            let line = line.to_lowercase();
            NOT_DONE.iter().any(|words| line.contains(words))
        })
    };
    let mut shown = case.shown().filter(|(_, entry)| within_ms.contains(&entry.at));
    shown.any(|(_, entry)| ["text", "caption"].iter().any(|field| says(entry.text(field))))
}

/// Checks that a message that has its answer is not answered once more.
pub(crate) fn answered_again(case: Case<'_>) -> Option<Broken<'_>> {
    let Interlude { kind, over_ms, starts_again, .. } = case.interlude?;
    if kind.breaks_off() || *starts_again == 0 {
        return None;
    }
    let once_more = match kind {
        InterludeKind::Restart(_) => format!(
            "this message had its answer, and the gateway started `claude` for it once more after it ran again at {}",
            seconds(*over_ms)
        ),
        InterludeKind::Person(FurtherAct::Album) => {
            "this album is one message of the person, and the gateway asked `claude` once more for a part of it"
                .to_owned()
        }
        InterludeKind::Person(_) => return None,
    };
    let message = case.entries.iter().position(|entry| entry.kind == PERSON[0])?;
    by_index(case, message, once_more)
}

/// Checks that a resumed session is the newest one of the chat, and not that of another one.
pub(crate) fn old_session(case: Case<'_>) -> Option<Broken<'_>> {
    let mut turns = case.sessions.iter().enumerate();
    let found = turns.find_map(|(turn, session)| {
        let SessionOrigin::Resumed { id, of_other } = &session.from else { return None };
        let newest = turn.checked_sub(1).map(|before| &case.sessions[before].id);
        let whose = match (of_other, newest) {
            (Some(other), _) => format!("that is the session of another chat, that of {other}"),
            (None, Some(newest)) if newest != id => {
                format!("the newest session of this chat is {newest}")
            }
            (None, _) => return None,
        };
        let sentence = format!("{}`claude` resumes session {id}, and {whose}", case.of_turn(turn));
        let broken = by_index(case, message_of(case, turn)?, sentence)?;
        Some(of_other.iter().fold(broken, |broken, other| broken.beside(other)))
    });
    found.or_else(|| old_session_after_restart(case))
}

/// Checks that a turn goes on with the conversation of the turn before it, which no person broke off.
pub(crate) fn session_forgotten(case: Case<'_>) -> Option<Broken<'_>> {
    if !case.traits.resumes_sessions {
        return None;
    }
    (1..).zip(case.sessions.windows(2)).find_map(|(turn, pair)| {
        let [before, next] = pair else { return None };
        if next.from != SessionOrigin::New || is_stopped(case, turn - 1) {
            return None;
        }
        let what = "for this message `claude` was started without `--resume`, so that the agent has forgotten what was said before";
        let sentence = format!("{}{what}; the session of this chat is {}", case.of_turn(turn), before.id);
        by_index(case, message_of(case, turn)?, sentence)
    })
}

/// Returns the index of the person's message that began a turn.
fn message_of(case: Case<'_>, turn: usize) -> Option<usize> {
    let began = case.times(turn)?.began_ms;
    case.entries.iter().rposition(|entry| entry.kind == PERSON[0] && entry.at <= began)
}

/// Returns whether the person asked something of the gateway itself between the beginning of a turn and the next one,
/// such as to stop.
fn is_stopped(case: Case<'_>, turn: usize) -> bool {
    let [Some(from), Some(until)] = [turn, turn + 1].map(|turn| case.times(turn)) else {
        return false;
    };
    let is_between = |entry: &&Entry| (from.began_ms..=until.began_ms).contains(&entry.at);
    let mut acts = case.entries.iter().filter(is_between);
    acts.any(|entry| is_stop(entry) || entry.kind == "(stop)")
}

/// Checks that a person who allowed the like of a call from now on is not asked about the same call again.
pub(crate) fn rule_forgotten(case: Case<'_>) -> Option<Broken<'_>> {
    let label = case.interlude?.forgotten.as_ref()?;
    let again = case.entries.iter().rposition(|entry| entry.kind == PRESS)?;
    let sentence = format!(
        "the person pressed {}, which `claude` got without a rule (`updatedPermissions`), and the chat asked about the same \
         call again",
        quoted(label)
    );
    by_index(case, again, sentence)
}

/// Checks that a session that is resumed after a restart is the newest one of the chat.
fn old_session_after_restart(case: Case<'_>) -> Option<Broken<'_>> {
    let Interlude { resumed, sessions, .. } = case.interlude?;
    let (resumed, newest) = (resumed.as_ref()?, sessions.last()?);
    if resumed == newest {
        return None;
    }
    whole(format!(
        "after the restart, `claude` resumes session {resumed}, and the newest session of this chat is {newest}"
    ))
}
