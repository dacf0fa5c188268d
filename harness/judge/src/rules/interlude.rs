//! The rules of what happens in the midst of a recording: the subject is killed and started again, or the person writes
//! once more. What the subject had taken over is answered once or told, and the chat stays one conversation.

use clitape_recording::text::quoted;
use clitape_recording::trace::Entry;

use crate::case::{Broken, Case, PERSON, by_index, whole};
use crate::observation::{Interlude, InterludeKind, MARK, SessionOrigin};
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

/// Checks that a message is answered that came while the subject was down or busy. Where the session is gone, words
/// about that are enough.
pub(crate) fn message_lost(case: Case<'_>) -> Option<Broken<'_>> {
    let Interlude { kind, began_ms, over_ms, left, .. } = case.interlude?;
    let left = left.as_ref()?;
    let mut later = case.entries.iter().filter(|entry| entry.at > *over_ms);
    if *kind == InterludeKind::SessionGone && later.any(tells) {
        return None;
    }
    if *kind == InterludeKind::SecondMessage {
        let at = seconds(*began_ms);
        return whole(format!(
            "a second message that the person wrote at {at}, during the turn, has no answer: {left}"
        ));
    }
    whole(format!(
        "a message that the person wrote after the gateway was killed at {} (it ran again at {}) has no answer: {left}",
        seconds(*began_ms),
        seconds(*over_ms)
    ))
}

/// Checks that a message that has its answer is not answered once more.
pub(crate) fn answered_again(case: Case<'_>) -> Option<Broken<'_>> {
    let Interlude { kind, over_ms, starts_again, .. } = case.interlude?;
    if kind.breaks_off() || *starts_again == 0 {
        return None;
    }
    let message = case.entries.iter().position(|entry| entry.kind == PERSON[0])?;
    let what = "had its answer, and the gateway started `claude` for it once more";
    by_index(
        case,
        message,
        format!("this message {what} after it ran again at {}", seconds(*over_ms)),
    )
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
    acts.any(|entry| match &*entry.kind {
        "(user)" => !entry.text("text").contains(MARK),
        kind => kind == "(stop)",
    })
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
