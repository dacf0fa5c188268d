//! The rules of the answer: it is in the chat, whole, as it was written, once, and it stays. A text that the chat's
//! server refuses is sent again.

use std::collections::HashSet;

use clitape_recording::chat::{MessageHistory, SeenFile, SeenMessage};
use clitape_recording::facts::{RecordedBlock, texts_in};
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::without_tags;
use clitape_recording::text::quoted;

use super::visible::draft_left;
use crate::case::{Broken, Case, DueAnswer, by_index, letters_between_tags, whole};
use crate::words::{FEW_LETTERS, Piece, contains, count, letters, pieces, seconds};

/// The time for which an answer may be missing from the chat while it is replaced, in ms.
const REPLACING_MS: u64 = 2_000;
/// The time for which `claude` must live on after its result, so that an answer that waits for its end is late, in ms.
const LIVES_ON_MS: u64 = 5_000;
/// The percentage of an answer's pieces that are there twice if the answer is. The others are cut by pages.
const TWICE_PERCENT: usize = 80;

/// An answer, and the pieces of it that are missing from the chat.
struct Left<'c> {
    answer: &'c DueAnswer,
    missing: Vec<&'c Piece>,
}

/// Finds the first answer with missing pieces. Raw tags between its words are a matter of another rule.
fn incomplete<'c>(case: Case<'c>) -> Option<Left<'c>> {
    let pages = case.end_pages();
    let between_tags = case.end_pages_between_tags();
    let between_tags: Vec<&str> = between_tags.iter().map(|page| &**page).collect();
    case.answers().iter().find_map(|answer| {
        let is_missing = |piece: &&Piece| {
            !contains(&pages, &piece.letters) && !contains(&between_tags, &piece.letters)
        };
        let missing: Vec<&Piece> = answer.pieces.iter().filter(is_missing).collect();
        (!missing.is_empty() && !may_be_elsewhere(case, answer, &missing))
            .then_some(Left { answer, missing })
    })
}

/// The words and signs of a button that turns to the next page.
const NEXT: [&str; 6] = ["next", "more", "▶", "➡", "→", "»"];

/// Returns whether the pieces of an answer that are missing in the chat are in a file, or may be behind a button of a
/// message with a part of it.
fn may_be_elsewhere(case: Case<'_>, answer: &DueAnswer, missing: &[&Piece]) -> bool {
    let began = case.times(answer.turn).map_or(0, |times| times.began_ms);
    let has_missing = |file: &SeenFile| match &file.text {
        Some(text) => {
            let (bare, text) = (letters(&without_tags(text)), letters(text));
            let is_there =
                |piece: &&Piece| text.contains(&piece.letters) || bare.contains(&piece.letters);
            missing.iter().all(is_there)
        }
        None => SeenFile::is_text(&file.name),
    };
    let has_part = |message: &MessageHistory| {
        let is_there = |piece: &Piece| {
            piece.letters.len() >= FEW_LETTERS && message.last().letters().contains(&piece.letters)
        };
        answer.pieces.iter().any(is_there)
    };
    let turns = |label: &String| NEXT.iter().any(|word| label.to_lowercase().contains(word));
    case.chat().at_end().filter(|message| message.born() >= began).any(|message| {
        let last = message.last();
        last.file.as_ref().is_some_and(has_missing)
            || last.buttons.iter().flatten().any(turns) && has_part(message)
    })
}

/// Checks that no words of another conversation are in the chat, not even for a moment, or in the editor.
pub(crate) fn of_another(case: Case<'_>) -> Option<Broken<'_>> {
    let neighbours = case.neighbours?;
    let foreign = |line: &str| {
        let shown = letters(line);
        if case.is_recorded(&shown) {
            return None;
        }
        let mut found = neighbours.words_in(line, &shown);
        let (name, _) =
            found.find(|(_, words)| has_long_words(line, words) && !case.is_recorded(words))?;
        Some(name.to_owned())
    };
    let sentence = |reads: String, name: &str| {
        format!("{reads}, which the model said in another conversation, that of {name}")
    };
    if case.setup.acp.is_some() {
        let (line, name) = case.told().lines().find_map(|line| Some((line, foreign(line)?)))?;
        let reads = format!("the editor has {}", quoted(line));
        return Some(whole(sentence(reads, &name))?.beside(&name));
    }
    case.chat().ever_seen().find_map(|version| {
        let mut lines = version.texts().flat_map(str::lines);
        let (line, name) = lines.find_map(|line| Some((line, foreign(line)?)))?;
        let reads = format!("at {} the person reads {}", seconds(version.at), quoted(line));
        Some(by_index(case, version.entry, sentence(reads, &name))?.beside(&name))
    })
}

/// The letters of a long word, and the number of such words that no two texts have in a row by chance; single letters
/// of commands may be.
const LONG_WORD: usize = 4;
const LONG_WORDS: usize = 3;

/// Returns whether the letters are those of some long words of a line.
fn has_long_words(line: &str, letters_of_line: &str) -> bool {
    let words = line.split(|c: char| !c.is_alphanumeric()).map(letters);
    let long = words.filter(|word| word.chars().count() >= LONG_WORD);
    long.filter(|word| letters_of_line.contains(word.as_str())).count() >= LONG_WORDS
}

/// Checks that the answer, or a part of it, is in the chat when the run is over.
pub(crate) fn missing(case: Case<'_>) -> Option<Broken<'_>> {
    let Left { answer, missing } = incomplete(case)?;
    if missing.len() < answer.pieces.len() {
        return None;
    }
    let turn = case.of_turn(answer.turn);
    let text = quoted(&answer.text);
    let last = case.chat().at_end().last().map(|message| quoted(message.last().plain_text()));
    let last = last.map_or_else(
        || "nothing of the bot's is left there".to_owned(),
        |last| format!("the last message is {last}"),
    );
    let seen = match case.answered_by(answer) {
        Some(entry) => {
            let at = seconds(case.entries[entry].at);
            format!("{turn}the answer {text} was in the chat at {at} and is gone at the end")
        }
        None => format!("{turn}the answer {text} never came to the chat"),
    };
    whole(format!("{seen}; {last}"))
}

/// Checks that the answer does not wait for the end of `claude`, which may live on long after its result. A draft with
/// all of the answer is enough.
pub(crate) fn late(case: Case<'_>) -> Option<Broken<'_>> {
    let exited = case.exited_ms?;
    let (last, _) = case.played().last()?;
    let answer =
        case.answers().last().filter(|answer| answer.turn == last && !answer.is_short())?;
    let printed = case.times(last)?.ended_ms.filter(|printed| printed + LIVES_ON_MS <= exited)?;
    let shown = case.answered_by(answer)?;
    let entry = &case.entries[shown];
    let is_whole =
        |draft: &str| answer.pieces.iter().all(|piece| contains(&[draft], &piece.letters));
    let mut drafts = case.shown().map(|(_, entry)| entry).filter(|entry| entry.shows_draft());
    let is_read = drafts.any(|draft| draft.at < exited && is_whole(&letters(&draft.plain_text())));
    if entry.at < exited || is_read {
        return None;
    }
    let [printed, exited, at] = [printed, exited, entry.at].map(seconds);
    let sentence = format!(
        "{}the result came at {printed} and `claude` lived on until {exited}, for which the answer waited: it came at {at}",
        case.of_turn(last)
    );
    by_index(case, shown, sentence)
}

/// Checks that every part of the answer is in the chat when the run is over.
pub(crate) fn not_whole(case: Case<'_>) -> Option<Broken<'_>> {
    let Left { answer, missing } = incomplete(case)?;
    let (all, lost) = (answer.pieces.len(), missing.len());
    if lost == all {
        return None;
    }
    let turn = case.of_turn(answer.turn);
    let first = missing.first()?;
    let kept = &answer.pieces[all - lost - 1];
    let is_cut = answer.pieces[all - lost..].iter().zip(&missing).all(|(a, b)| a == *b);
    let sentence = if is_cut {
        format!(
            "the answer ends at {}; {} should follow",
            quoted(&kept.words),
            quoted(&first.words)
        )
    } else {
        format!("{lost} of {all} parts of the answer are missing, such as {}", quoted(&first.words))
    };
    whole(format!("{turn}{sentence}"))
}

/// Checks that the chat shows no markup as text: no tags, entities or backslashes that are not in the answer.
pub(crate) fn altered(case: Case<'_>) -> Option<Broken<'_>> {
    const TRACES: [&str; 23] = [
        "&lt;", "&gt;", "&amp;", "&quot;", "<b>", "</b>", "<i>", "</i>", "<s>", "</s>", "<code>",
        "</code>", "<pre>", "</pre>", "\u{fffd}", "<a href", "</a>", r"\.", r"\!", r"\[", r"\(",
        r"\-", r"\_",
    ];
    // Others take a backslash before more signs.
    let of_telegram = case.setup.channel.is_none_or(|chat| chat.profile == ChatProfile::Telegram);
    let raw = |text: &str, trace: &str| text.contains(trace);
    let recorded = |trace: &str| {
        let mut turns = case.turns().iter().flat_map(|turn| turn.texts());
        turns.any(|text| raw(text, trace))
            || case.words().others.iter().any(|text| raw(text, trace))
    };
    let bears_answer = |version: &SeenMessage| {
        let mut pieces = case.answers().iter().flat_map(|answer| &answer.pieces);
        let shown = letters_between_tags(version);
        pieces.any(|piece| piece.letters.len() >= FEW_LETTERS && shown.contains(&piece.letters))
    };
    case.chat().at_end().map(|message| message.last()).find_map(|last| {
        let text = last.plain_text();
        let mut traces = TRACES.iter().filter(|trace| of_telegram || !trace.starts_with('\\'));
        let trace = traces.find(|trace| raw(text, trace) && !recorded(trace))?;
        if !bears_answer(last) {
            return None;
        }
        let line = text.lines().find(|line| line.contains(trace)).unwrap_or(text);
        let (at, line) = (seconds(last.at), quoted(line));
        by_index(case, last.entry, format!(
            "at {at} the person reads {line}: the mark “{trace}” is not in the answer and should have been \
             obeyed by the chat, not shown"
        ))
    })
}

/// Checks that the answer is in the chat once, and is sent once.
pub(crate) fn twice(case: Case<'_>) -> Option<Broken<'_>> {
    left_twice(case).or_else(|| sent_twice(case))
}

/// Checks that the answer is sent as a new message once. A draft may have all of it too; of two messages that do,
/// neither is the draft if another message was there before them and was deleted after them.
fn sent_twice(case: Case<'_>) -> Option<Broken<'_>> {
    case.answers().iter().filter(|answer| is_said_once(case, answer)).find_map(|answer| {
        let is_whole = |message: &&MessageHistory| {
            let letters = message.first().letters();
            answer.pieces.iter().all(|piece| letters.contains(&piece.letters))
        };
        let messages = || case.chat().messages();
        let mut whole = messages().filter(is_whole);
        let (first, second) = (whole.next()?, whole.next()?);
        let is_draft = |other: &&MessageHistory| {
            let was_deleted =
                other.deleted.is_some_and(|deletion| deletion.entry > second.first().entry);
            was_deleted && other.first().entry < first.first().entry
        };
        let draft = messages().find(is_draft)?;
        let gone = match (first.deleted, second.deleted) {
            (Some(deletion), _) => format!("the first was deleted at {}", seconds(deletion.at)),
            (None, Some(deletion)) => format!("the second was deleted at {}", seconds(deletion.at)),
            (None, None) => "both stay".to_owned(),
        };
        let turn = case.of_turn(answer.turn);
        by_index(case, second.first().entry, format!(
            "{turn}the answer {} was sent twice as a new message, as #{} at {} and as #{} at {}; {gone}, and neither is \
             the draft, which was #{}",
            quoted(&answer.text),
            first.id,
            seconds(first.born()),
            second.id,
            seconds(second.born()),
            draft.id,
        ))
    })
}

/// Returns whether an answer is long enough to be recognised, and the recording has its words once.
fn is_said_once(case: Case<'_>, answer: &DueAnswer) -> bool {
    !answer.is_short()
        && answer.pieces.iter().all(|piece| count(&case.words().recorded, &piece.letters) <= 1)
}

/// Checks that the answer is in the chat once when the run is over.
fn left_twice(case: Case<'_>) -> Option<Broken<'_>> {
    let pages = case.end_pages();
    case.answers().iter().find_map(|answer| {
        let is_twice =
            |piece: &&Piece| count(&pages, &piece.letters) > case.times_recorded(&piece.letters);
        let long: Vec<&Piece> =
            answer.pieces.iter().filter(|piece| piece.letters.len() >= FEW_LETTERS).collect();
        let is_answered_twice = if long.is_empty() {
            let own = letters(&answer.text);
            let said = case.words().said.iter().filter(|text| **text == own).count().max(1);
            pages.iter().filter(|page| **page == own).count() > said
        } else {
            let twice = long.iter().copied().filter(is_twice).count();
            twice * 100 >= long.len() * TWICE_PERCENT
        };
        if !is_answered_twice {
            return None;
        }
        let turn = case.of_turn(answer.turn);
        let needle = long.first().map_or_else(|| letters(&answer.text), |p| p.letters.clone());
        let having =
            || case.chat().at_end().filter(|message| message.last().letters().contains(&needle));
        // A draft or a card that has other lines too is left beside the answer.
        let first = having().next()?.last().letters();
        let are_equal = having().all(|message| message.last().letters() == first);
        if !are_equal && draft_left(case).is_some() {
            return None;
        }
        let ids: Vec<String> = having().map(|message| format!("#{}", message.id)).collect();
        let last = having().last()?.last();
        let times: Vec<String> = having().map(|message| seconds(message.born())).collect();
        by_index(
            case,
            last.entry,
            format!(
                "{turn}the answer {} stands in the chat more than once, in messages {} of {}",
                quoted(&answer.text),
                ids.join(" and "),
                times.join(" and "),
            ),
        )
    })
}

/// Checks that no edit removes the answer after the chat had all of it.
pub(crate) fn overwritten(case: Case<'_>) -> Option<Broken<'_>> {
    if case.facts.has_retractions() {
        return None;
    }
    // An answer that the model also gives elsewhere may have been in the chat before.
    case.answers().iter().filter(|answer| is_said_once(case, answer)).find_map(|answer| {
        let whole = case.answered_by(answer)?;
        let mut later = case.shown().filter(|(index, _)| *index > whole);
        let (by, entry) = later.find(|(index, _)| !case.has_answer(answer, *index))?;
        if !entry.kind.starts_with("edit") {
            return None;
        }
        let back = later.find(|(index, _)| case.has_answer(answer, *index));
        if back.is_some_and(|(_, back)| back.at < entry.at + REPLACING_MS) {
            return None;
        }
        let until = match back {
            Some((_, back)) => format!("it came back at {}", seconds(back.at)),
            None => "it never came back".to_owned(),
        };
        let turn = case.of_turn(answer.turn);
        let first = seconds(case.entries[whole].at);
        let text = quoted(&entry.plain_text());
        by_index(case, by, format!(
            "{turn}the answer was whole in the chat at {first}; at {} an edit replaced it with {text}, and {until}",
            seconds(entry.at)
        ))
    })
}

/// Checks that what the model said between its calls stands in order within a message. The last of it may stand above the
/// rest, because it is the answer.
fn segments_out_of_order(case: Case<'_>) -> Option<Broken<'_>> {
    case.played().find_map(|(number, turn)| {
        let (_, before_last) = turn.segments.split_last()?;
        let said: Vec<(&str, String)> = before_last
            .iter()
            .map(|segment| (&*segment.text, letters(&segment.text)))
            .filter(|(_, letters)| letters.len() >= FEW_LETTERS)
            .collect();
        case.chat().at_end().find_map(|message| {
            let page = letters_between_tags(message.last());
            let place = |letters: &str| {
                Some(page.find(letters)?).filter(|_| page.matches(letters).count() == 1)
            };
            let shown: Vec<_> =
                said.iter().filter_map(|(text, letters)| Some((place(letters)?, text))).collect();
            let wrong = shown.windows(2).find(|two| two[0].0 > two[1].0)?;
            let turn = case.of_turn(number);
            let [first, second] = [wrong[0].1, wrong[1].1].map(|text| quoted(text));
            let sentence =
                format!("{turn}{second} stands above {first}, and the model said it after that");
            by_index(case, message.last().entry, sentence)
        })
    })
}

/// Checks that the pages of a long answer are in order.
pub(crate) fn out_of_order(case: Case<'_>) -> Option<Broken<'_>> {
    if let Some(broken) = segments_out_of_order(case) {
        return Some(broken);
    }
    let pages = case.end_pages_between_tags();
    case.answers().iter().find_map(|answer| {
        // The place of each message is that of its first piece that is in no other message and once in the answer.
        let all: Vec<&str> = answer.pieces.iter().map(|piece| piece.letters.as_str()).collect();
        let is_mark = |letters: &str| {
            letters.len() >= FEW_LETTERS
                && count(&pages, letters) == 1
                && count(&all, letters) == 1
        };
        let place = |page: &str| {
            answer.pieces.iter().position(|piece| {
                is_mark(&piece.letters) && page.contains(&piece.letters)
            })
        };
        let messages = pages.iter().zip(case.chat().at_end());
        let places: Vec<_> =
            messages.filter_map(|(page, message)| Some((place(page)?, message))).collect();
        let wrong = places.windows(2).find(|two| two[0].0 > two[1].0)?;
        let [(_, before), (_, after)] = wrong else { return None };
        let turn = case.of_turn(answer.turn);
        by_index(case, after.last().entry, format!(
            "{turn}the pages of the answer are out of order: {} stands above {}, and the answer has them the \
             other way round",
            quoted(before.last().plain_text()),
            quoted(after.last().plain_text()),
        ))
    })
}

/// Returns whether a message has a text of the model, most of which is the answer.
pub(super) fn has_text_of_model(case: Case<'_>, message: &MessageHistory) -> bool {
    let texts = case.turns().iter().flat_map(|turn| &turn.segments);
    let is_there = |piece: &Piece| {
        piece.letters.len() >= FEW_LETTERS && message.last().letters().contains(&piece.letters)
    };
    texts.into_iter().any(|segment| pieces(&segment.text).iter().any(is_there))
}

/// Checks that the message with the answer has no reasoning, unless the subject shows it there.
pub(crate) fn reasoning_in_answer(case: Case<'_>) -> Option<Broken<'_>> {
    let blocks = case.facts.messages.iter().flat_map(|message| &message.reasoning);
    let blocks = blocks.filter(|_| !case.traits.shows_reasoning);
    beside_answer(case, blocks, "the model's reasoning")
}

/// Checks that the message with the answer does not have the words of a subagent, unless the subject shows them there.
pub(crate) fn subagent_in_answer(case: Case<'_>) -> Option<Broken<'_>> {
    let others = case.facts.messages.iter().filter(|message| message.parent.is_some());
    let blocks = others.flat_map(|message| &message.texts);
    let blocks = blocks.filter(|_| !case.traits.shows_subagents);
    beside_answer(case, blocks, "what a subagent said")
}

/// Finds a block whose beginning stands in a message with a part of the answer, and is in no text of the main
/// conversation, no input and no result of a call.
fn beside_answer<'c>(
    case: Case<'c>,
    mut blocks: impl Iterator<Item = &'c RecordedBlock>,
    what: &str,
) -> Option<Broken<'c>> {
    blocks.find_map(|block| {
        let letters = letters(block.text());
        let end = letters.char_indices().nth(2 * FEW_LETTERS).map_or(letters.len(), |(at, _)| at);
        let begins = &letters[..end];
        let is_it = |message: &&MessageHistory| {
            !begins.is_empty()
                && has_words(message.last(), begins)
                && has_text_of_model(case, message)
        };
        let message = case.chat().at_end().find(is_it).filter(|_| !is_elsewhere(case, begins))?;
        let sentence =
            format!("the message with the answer has {what} too: {}", quoted(block.text()));
        by_index(case, message.last().entry, sentence)
    })
}

/// Returns whether a text of the main conversation, an input or a result of a call has these letters.
fn is_elsewhere(case: Case<'_>, words: &str) -> bool {
    let inputs = case.facts.calls.iter().filter_map(|call| call.whole.as_ref());
    let results = case.facts.calls.iter().filter_map(|call| call.result.as_ref());
    let values = inputs.chain(results.map(|(result, _)| result));
    case.words().said.iter().any(|text| text.contains(words))
        || values.flat_map(texts_in).any(|text| letters(text).contains(words))
}

/// Returns whether a message has these letters; a few only count as a line of their own.
fn has_words(message: &SeenMessage, words: &str) -> bool {
    match words.len() < FEW_LETTERS {
        true => message.plain_text().lines().any(|line| letters(line) == words),
        false => message.letters().contains(words),
    }
}

/// The percentage of a refused text's words that are shown later if the text was sent again.
const SENT_AGAIN_PERCENT: usize = 80;

/// Checks that a text whose markup the server refuses is sent again, so that it is not lost.
pub(crate) fn markup_refused(case: Case<'_>) -> Option<Broken<'_>> {
    let what = "because of its markup, and nothing of it was sent again as plain text";
    refused_text_lost(case, &["can't parse entities", "cant parse entities"], what)
}

/// Checks that a text longer than 4,096 code points is sent in pages.
pub(crate) fn text_too_long(case: Case<'_>) -> Option<Broken<'_>> {
    let what = "because it is too long, and it was not sent in pages";
    refused_text_lost(
        case,
        &["message is too long", "MESSAGE_TOO_LONG", "caption is too long"],
        what,
    )
}

/// Finds a refused text whose words the chat does not show afterwards.
fn refused_text_lost<'c>(case: Case<'c>, reasons: &[&str], what: &str) -> Option<Broken<'c>> {
    case.calls().find_map(|(index, entry)| {
        let reason = entry.text("refused");
        if !reasons.iter().any(|part| reason.to_lowercase().contains(&part.to_lowercase())) {
            return None;
        }
        let text = entry.sent_text()?;
        let is_html = entry.text("parse_mode").eq_ignore_ascii_case("html");
        let words = if is_html { words(&without_tags(text)) } else { words(text) };
        let mut shown = HashSet::new();
        for (_, later) in case.shown().filter(|(later, _)| *later > index) {
            let text = later.plain_text();
            shown.extend(self::words(&text));
            // Sent again as it was, its tags are read as text.
            shown.extend(self::words(&without_tags(&text)));
        }
        let there = words.iter().filter(|word| shown.contains(*word)).count();
        (there * 100 < words.len() * SENT_AGAIN_PERCENT).then(|| {
            by_index(
                case,
                index,
                format!(
                    "at {} the server refused {} of {} {what}; it said {}",
                    seconds(entry.at),
                    entry.kind,
                    quoted(text),
                    quoted(reason)
                ),
            )
        })?
    })
}

/// The words of a text that have three letters or more.
fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
}
