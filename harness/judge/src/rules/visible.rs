//! The rules of the visible chat: no draft is left over, the chat is never blank, and text grows.

use std::collections::{BTreeMap, HashMap};

use clitape_recording::chat::{DRAFT_MS, Deletion, MessageHistory, SeenMessage, TYPING_MS};
use clitape_recording::facts::{QuestionFacts, RecordedMessage, TextSegment, TurnFacts};
use clitape_recording::text::asked::AskedText;
use clitape_recording::text::quoted;
use clitape_recording::trace::Entry;

use crate::case::{Broken, Case, PERSON, by_index, whole};
use crate::observation::{ObservedEnding, PlayedTurn, STAND_IN, WAITED_IN_VAIN};
use crate::words::{
    FEW_LETTERS, Letter, Piece, contains, letters, letters_of_markdown, pieces_of_plain, seconds,
    shown_letters,
};

/// The time for which the screen may be blank while a message is replaced, in ms.
const REPLACING_MS: u64 = 2_000;
/// The time within which a person sees a first sign of life, in ms.
const SIGN_OF_LIFE_MS: u64 = 20_000;
/// The delay with which a typing signal from before the answer may arrive, in ms.
const TYPING_SLACK_MS: u64 = 3_000;
/// The words of work in progress. They count as left over with an ellipsis behind them, or on a card with a button that
/// stops the work.
pub(super) const AT_WORK: [&str; 7] =
    ["running", "thinking", "working", "processing", "executing", "loading", "typing"];
/// The words that may stand before the ellipsis: they say who works, or on what.
const WHO_WORKS: [&str; 9] =
    ["claude", "code", "the", "agent", "on", "about", "it", "your", "request"];
/// The labels of buttons that stop work in progress.
const STOPS: [&str; 5] = ["stop", "pause", "cancel", "interrupt", "abort"];
/// The words with which a line says that the work is over.
const IS_OVER: [&str; 4] = ["done", "finished", "completed", "complete"];
/// The signs of work in progress.
const HOURGLASSES: [char; 2] = ['⏳', '⌛'];
/// The number of code points that fit into one message with room for lines around them.
const ONE_PAGE: usize = 3_000;

/// Checks that no draft is left beside the answer that it became.
pub(crate) fn draft_left(case: Case<'_>) -> Option<Broken<'_>> {
    let ends: Vec<&MessageHistory> = case.chat().at_end().collect();
    ends.iter().filter(|message| !message.last().is_out_of_reach).find_map(|message| {
        let last = message.last();
        let others: Vec<&str> = ends
            .iter()
            .filter(|other| other.id != message.id)
            .map(|other| other.last().letters())
            .collect();
        let is_said = |piece: &Piece| {
            piece.letters.len() >= FEW_LETTERS
                && case.words().said.iter().any(|text| text.contains(&piece.letters))
        };
        let lines = last.plain_text().lines();
        let pieces: Vec<Piece> = lines.flat_map(pieces_of_plain).filter(is_said).collect();
        let is_elsewhere = |piece: &Piece| {
            let there = contains(&others, &piece.letters);
            let seen =
                1 + others.iter().map(|text| text.matches(&*piece.letters).count()).sum::<usize>();
            there && seen > case.times_recorded(&piece.letters)
        };
        let is_left = !pieces.is_empty() && pieces.iter().all(is_elsewhere);
        // Two equal messages are no drafts: they are an answer that is there twice.
        let is_equal = others.contains(&last.letters());
        (is_left && !is_equal).then(|| {
            let (born, text) = (seconds(message.born()), quoted(last.plain_text()));
            by_index(
                case,
                last.entry,
                format!(
                    "message #{} of {born} is left beside the answer, which says the same: {text}",
                    message.id
                ),
            )
        })?
    })
}

/// Checks that a turn leaves one message, if the subject promises it; pages and questions do not count.
pub(crate) fn several_messages(case: Case<'_>) -> Option<Broken<'_>> {
    if !case.traits.one_message {
        return None;
    }
    let size = |text: &str| text.chars().count();
    let texts = case.played().flat_map(|(_, turn)| turn.texts()).map(size).sum::<usize>();
    let questions = || case.played().flat_map(|(_, turn)| &turn.questions);
    let is_long = |question: &QuestionFacts| {
        question.texts.iter().flat_map(AskedText::texts).map(size).sum::<usize>() > ONE_PAGE
    };
    let is_paged = texts > ONE_PAGE || questions().any(is_long);
    let turns = case.played().count();
    // One question of the CLI may have several parts.
    let asked = |turn: &TurnFacts| {
        turn.questions.iter().map(|question| question.words.len().max(1)).sum::<usize>()
    };
    let questions: usize = case.played().map(|(_, turn)| asked(turn)).sum();
    let messages: Vec<&MessageHistory> = case.chat().left().collect();
    let extra = messages.get(turns + questions).filter(|_| !is_paged)?;
    let last = extra.last();
    let (count, text) = (messages.len(), quoted(last.plain_text()));
    by_index(
        case,
        last.entry,
        format!(
            "{count} messages are left of {turns} turn(s) and {questions} question(s), and one a turn is promised; \
         one too many is {text}"
        ),
    )
}

/// Checks that no message says that the agent still works when the run is over.
pub(crate) fn running_left(case: Case<'_>) -> Option<Broken<'_>> {
    if case.facts.has_background() {
        return None;
    }
    case.chat().left().find_map(|message| {
        let last = message.last();
        let line = status_left(case, last).or_else(|| card_left(case, message))?;
        let line = quoted(line);
        by_index(
            case,
            last.entry,
            format!(
                "the run is over, and message #{} still says {line}, since {}",
                message.id,
                seconds(last.at)
            ),
        )
    })
}

/// Finds a line of the subject that says that work is in progress, unless a line below it says that it is over.
fn status_left<'m>(case: Case<'_>, message: &'m SeenMessage) -> Option<&'m str> {
    let is_own = |line: &str| !case.own_lines(line).is_empty();
    let lines: Vec<&str> = message.plain_text().lines().collect();
    // Clitape's own chat takes such a line away.
    let over = lines.iter().rposition(|line| says_over(line) && is_own(line));
    let over = over.filter(|_| case.own.is_none()).unwrap_or_default();
    let at_work = lines[over..].iter().find(|line| is_at_work(line) && is_own(line));
    // A line such as `⏳` has no letters, so every line is searched for it.
    let mut texts = case.turns().iter().flat_map(TurnFacts::texts);
    let hourglass = || {
        let line = lines[over..].iter().find(|line| line.contains(HOURGLASSES))?;
        (!texts.any(|text| text.contains(HOURGLASSES))).then_some(line)
    };
    at_work.or_else(hourglass).copied()
}

/// Finds the line of a card that says that the agent works: the card was edited in a turn, not since, and has a button
/// that stops the work. The card of a process that lives on says the same on purpose, at the end of the turn too.
fn card_left<'m>(case: Case<'_>, message: &'m MessageHistory) -> Option<&'m str> {
    let last = message.last();
    let has_word = |text: &str, words: &[&str]| {
        let text = text.to_lowercase();
        text.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
    };
    let is_of_turn = |(number, _)| {
        case.times(number).is_some_and(|PlayedTurn { began_ms, ended_ms }| {
            began_ms <= message.born() && ended_ms.is_some_and(|ended| last.at < ended)
        })
    };
    let is_card = message.versions.len() > 1
        && last.buttons.iter().flatten().any(|label| has_word(label, &STOPS))
        && case.played().any(is_of_turn);
    let mut lines = last.plain_text().lines().filter(|_| is_card);
    lines.find(|line| has_word(line, &AT_WORK) && !case.own_lines(line).is_empty())
}

/// Returns whether a line says that work is in progress: a word with an ellipsis behind it, or behind who works on what.
fn is_at_work(line: &str) -> bool {
    let line = line.to_lowercase();
    AT_WORK.iter().any(|word| {
        line.match_indices(word).any(|(at, _)| {
            let is_word = !line[..at].ends_with(char::is_alphanumeric);
            let mut after = line[at + word.len()..].trim_start();
            while let Some(rest) = WHO_WORKS.iter().find_map(|word| after.strip_prefix(word))
                && !rest.starts_with(char::is_alphanumeric)
            {
                after = rest.trim_start();
            }
            is_word && (after.starts_with('…') || after.starts_with("..."))
        })
    })
}

/// Returns whether a line says that the work is over: a word, behind signs alone.
fn says_over(line: &str) -> bool {
    let line = line.to_lowercase();
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = line.split(|c: char| !c.is_alphanumeric()).next();
    word.is_some_and(|word| IS_OVER.contains(&word))
}

/// Checks that the typing signal stops with the answer.
pub(crate) fn typing_left(case: Case<'_>) -> Option<Broken<'_>> {
    let last = case.answers().last()?;
    let is_last = case.played().last().is_some_and(|(number, _)| number == last.turn);
    let by = case.answered_by(last).filter(|_| is_last && !case.facts.has_background())?;
    let answered = case.entries[by].answered_at();
    let ended = case.times(last.turn).and_then(|times| times.ended_ms).unwrap_or(0);
    let from = answered.max(ended) + TYPING_SLACK_MS;
    let late: Vec<(usize, &Entry)> =
        case.shown().filter(|(_, entry)| entry.is_typing() && entry.at > from).collect();
    // The first late signal may have been on its way.
    let (index, second) = late.get(1)?;
    by_index(
        case,
        *index,
        format!(
            "the answer was whole at {}, and the chat still shows that the bot is typing at {}, {} times since",
            seconds(answered),
            seconds(second.at),
            late.len()
        ),
    )
}

/// Checks that after the bot's first message of a turn, a message of the turn is visible until its end.
pub(crate) fn blank_screen(case: Case<'_>) -> Option<Broken<'_>> {
    let entries = case.entries;
    // Finds the time of the person's last message before a moment.
    let spoken = |before: u64| {
        let spoken = entries.iter().filter(|entry| PERSON.contains(&entry.kind.as_ref()));
        spoken.map(|entry| entry.at).filter(|at| *at <= before).max().unwrap_or(0)
    };
    let seen = || case.chat().messages().chain(case.chat().drafts().map(|draft| &draft.text));
    case.chat().messages().find_map(|message| {
        let Deletion { at: gone, entry: by } = message.deleted?;
        let since = spoken(message.born());
        // A person who has written meanwhile looks at another message.
        if spoken(gone) > since {
            return None;
        }
        let is_there = |other: &MessageHistory| {
            other.born() >= since
                && other.born() <= gone
                && other.deleted.is_none_or(|deletion| deletion.at > gone)
        };
        if seen().any(is_there) {
            return None;
        }
        let next = seen()
            .filter(|other| other.born() > gone)
            .min_by_key(|other| other.born())?;
        let blank = next.born() - gone;
        let has_spoken = spoken(next.born()) > since;
        (blank > REPLACING_MS && !has_spoken).then(|| {
            let text = quoted(message.last().plain_text());
            by_index(case, by, format!(
                "at {} the bot deleted {text}, and until {} the person saw nothing of it for {}; the next message \
                 should come before the delete",
                seconds(gone),
                seconds(next.born()),
                seconds(blank)
            ))
        })?
    })
}

/// Checks that a person sees a sign of life within some seconds while a turn runs.
pub(crate) fn no_sign_of_life(case: Case<'_>) -> Option<Broken<'_>> {
    if !case.traits.shows_progress {
        return None;
    }
    let is_sign = |entry: &Entry| {
        entry.sets_text()
            || entry.shows_draft()
            || entry.is_typing()
            || entry.kind == "setMessageReaction"
    };
    case.played().find_map(|(number, _)| {
        let times = case.times(number)?;
        let ended = times.ended_ms?;
        let mut seen = times.began_ms;
        for (index, entry) in case.shown().filter(|(_, entry)| is_sign(entry)) {
            let at = entry.answered_at();
            if at < times.began_ms {
                // A message from before the turn counts while it is visible.
                continue;
            }
            if at.min(ended).saturating_sub(seen) > SIGN_OF_LIFE_MS {
                return silent(case, number, seen, at.min(ended), Some(index));
            }
            if entry.sets_text() || at >= ended {
                return None;
            }
            seen = at + if entry.shows_draft() { DRAFT_MS } else { TYPING_MS };
        }
        (ended.saturating_sub(seen) > SIGN_OF_LIFE_MS)
            .then(|| silent(case, number, seen, ended, None))?
    })
}

fn silent(
    case: Case<'_>,
    turn: usize,
    from: u64,
    to: u64,
    by: Option<usize>,
) -> Option<Broken<'_>> {
    // A message of this turn that is already visible is a sign of life.
    let is_there = |message: &MessageHistory| {
        message.born() <= from && message.deleted.is_none_or(|deletion| deletion.at >= to)
    };
    if turn == 0 && case.chat().messages().any(is_there) || turn > 0 {
        return None;
    }
    let sentence = format!(
        "from {} to {} claude worked, and the person saw neither a message nor that the bot is typing",
        seconds(from),
        seconds(to)
    );
    match by {
        Some(entry) => by_index(case, entry, sentence),
        None => whole(sentence),
    }
}

/// Checks that two messages of the model are not joined without a space or a line break between their sentences. A
/// message that was refused may break off in the midst of one.
pub(crate) fn glued(case: Case<'_>) -> Option<Broken<'_>> {
    let segments: Vec<&TextSegment> = case.turns().iter().flat_map(|turn| &turn.segments).collect();
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | ':' | '…');
    let sentences = segments.windows(2).filter_map(|two| {
        let [left, right] = two else { return None };
        let is_other = left.message_id != right.message_id;
        (is_other && left.text.trim_end().ends_with(is_end)).then_some((&*left.text, &*right.text))
    });
    // Those of a refused message and of a subagent are in no segment.
    let has_text = |message: &&RecordedMessage| !message.texts.is_empty();
    let messages: Vec<&RecordedMessage> = case.facts.messages.iter().filter(has_text).collect();
    let others = messages.windows(2).filter_map(|two| {
        let [left, right] = two else { return None };
        let (end, start) = (left.texts.last()?.text(), right.texts.first()?.text());
        let is_whole = left.parent != right.parent && end.trim_end().ends_with(is_end);
        (is_whole || left.is_refused && left.parent == right.parent).then_some((end, start))
    });
    sentences
        .chain(others)
        .find_map(|(left, right)| joined(case, left.trim_end(), right.trim_start()))
}

/// Finds two texts of the model in the chat with nothing between them, the second of which begins a sentence.
fn joined<'c>(case: Case<'c>, left: &str, right: &str) -> Option<Broken<'c>> {
    let from = left.char_indices().rev().nth(9).map_or(0, |(at, _)| at);
    let to = right.char_indices().nth(3).map_or(right.len(), |(at, _)| at);
    let joined = format!("{}{}", &left[from..], &right[..to]);
    let mut recorded = case.turns().iter().flat_map(TurnFacts::texts);
    let is_recorded = recorded.any(|text| text.contains(&joined))
        || case.words().others.iter().any(|text| text.contains(&joined));
    let is_sentence = right.starts_with(char::is_uppercase) && joined.chars().count() >= 6;
    if is_recorded || !is_sentence {
        return None;
    }
    let mut seen = case.chat().ever_seen();
    let version = seen.find(|version| version.plain_text().contains(&joined))?;
    let (at, joined) = (seconds(version.at), quoted(&format!("…{joined}…")));
    let what = "two messages of the model are joined without a space or a line break";
    by_index(case, version.entry, format!("at {at} the person reads {joined}: {what}"))
}

/// The number of letters from which a word counts whose blank is lost.
const WORD: usize = 3;

/// Checks that no two words of the model are joined, as they are if each delta is trimmed, and that the lines of a code
/// block stay lines.
pub(crate) fn blanks_lost(case: Case<'_>) -> Option<Broken<'_>> {
    words_joined(case).or_else(|| code_lines_joined(case))
}

/// Finds two lines of a code block that stand on one line at the end, as they do if runs of white space become a blank.
fn code_lines_joined(case: Case<'_>) -> Option<Broken<'_>> {
    let texts = || case.turns().iter().flat_map(|turn| &turn.segments).map(|one| &*one.text);
    let is_line = |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).count() >= WORD;
    let joined: Vec<String> = texts()
        .flat_map(code_lines)
        .filter(|two| two.iter().all(is_line))
        .map(|two| two.join(" "))
        .filter(|joined| !texts().any(|text| text.contains(joined.as_str())))
        .collect();
    let mut at_end = case.chat().at_end().map(MessageHistory::last);
    at_end.find_map(|version| {
        let line = joined.iter().find(|line| version.plain_text().contains(line.as_str()))?;
        let (at, line) = (seconds(version.at), quoted(line));
        let what = "the model wrote that in two lines of a code block";
        by_index(case, version.entry, format!("at {at} the person reads {line}: {what}"))
    })
}

/// Returns each line of a Markdown text's code blocks with the line below it.
fn code_lines(text: &str) -> Vec<[&str; 2]> {
    let mut is_code = false;
    let mut above: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            (is_code, above) = (!is_code, None);
        } else if is_code {
            lines.extend(above.map(|above| [above, line]));
            above = Some(line);
        }
    }
    lines
}

/// Finds two words of the model that are joined.
fn words_joined(case: Case<'_>) -> Option<Broken<'_>> {
    let is_word =
        |word: &&str| word.chars().count() >= WORD && word.chars().all(char::is_alphabetic);
    let mut joined: HashMap<String, String> = HashMap::new();
    let texts = || case.turns().iter().flat_map(|turn| &turn.segments).map(|one| &*one.text);
    for text in texts() {
        let words: Vec<&str> = text.split_whitespace().collect();
        for two in words.windows(2).filter(|two| two.iter().all(is_word)) {
            joined.insert(two.concat(), two.join(" "));
        }
    }
    // Words that the recording itself joins, such as the name of a file.
    let others = case.words().others.iter().map(String::as_str);
    for known in texts().chain(others).flat_map(tokens) {
        joined.remove(known);
    }
    case.chat().ever_seen().filter(|_| !joined.is_empty()).find_map(|version| {
        let mut tokens = tokens(version.plain_text());
        let (token, words) = tokens.find_map(|token| joined.get_key_value(token))?;
        let (at, token, words) = (seconds(version.at), quoted(token), quoted(words));
        by_index(
            case,
            version.entry,
            format!("at {at} the person reads {token}, and the model wrote {words}"),
        )
    })
}

/// Returns the runs of letters of a text.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|token| !token.is_empty())
}

/// The beginnings of the records that `claude` prints.
const RECORDS: [&str; 5] = [
    r#"{"type":"stream_event""#,
    r#"{"type":"assistant""#,
    r#"{"type":"user""#,
    r#"{"type":"system""#,
    r#"{"type":"result""#,
];

/// Checks that the person never reads a record of stdout, unless the model or a tool writes one, nor what the stand-in
/// for `claude` prints about a line that it refuses.
pub(crate) fn record_shown(case: Case<'_>) -> Option<Broken<'_>> {
    // A run that broke off says more of the line that was refused.
    let is_over = *case.ending == ObservedEnding::Over;
    let refusal = format!("{STAND_IN}{}", WAITED_IN_VAIN[0]);
    let is_own = |record: &&&str| {
        let said = case.turns().iter().flat_map(TurnFacts::texts);
        let mut known = said.chain(case.words().others.iter().map(String::as_str));
        known.any(|text| text.contains(**record))
    };
    case.chat().ever_seen().find_map(|version| {
        let text = version.plain_text();
        if let Some(line) = text.lines().find(|line| is_over && line.contains(&refusal)) {
            let (at, line) = (seconds(version.at), quoted(line));
            let what = "clitape prints that in the place of claude, which got a line that it does not read";
            return by_index(case, version.entry, format!("at {at} the person reads {line}: {what}"));
        }
        let record = RECORDS.iter().find(|record| text.contains(**record))?;
        let line = text.lines().find(|line| line.contains(record)).filter(|_| !is_own(&record))?;
        let (at, line) = (seconds(version.at), quoted(line));
        by_index(
            case,
            version.entry,
            format!("at {at} the person reads {line}: a record of claude's stdout"),
        )
    })
}

/// A text of the model that grows in a chat.
struct GrowingText {
    /// The number of the turn, from 1.
    turn: u64,
    letters: Vec<Letter>,
    /// The first letters, which any page with a part of the text has; `None` if a page may leave some of them out.
    start: Option<String>,
}

/// Returns whether another message at the end has these letters: the draft of a long text becomes the first of several
/// pages, which ends earlier. Clitape's own draft is held to more.
fn goes_on_below(case: Case<'_>, message: &MessageHistory, rest: &str) -> bool {
    let mut others = case.chat().at_end().filter(|other| other.id != message.id);
    case.own.is_none()
        && !rest.is_empty()
        && others.any(|other| other.last().letters().contains(rest))
}

impl GrowingText {
    fn new(turn: u64, markdown: &str) -> Self {
        let letters = letters_of_markdown(markdown);
        let start =
            letters.get(..2 * FEW_LETTERS).filter(|start| start.iter().all(Letter::is_text));
        let start = start.map(|start| start.iter().map(Letter::letter).collect());
        Self { turn, letters, start }
    }

    /// Returns some letters behind those of a page.
    fn text_behind(&self, shown: usize) -> String {
        let all = self.letters.iter().filter(|letter| letter.is_text());
        all.skip(shown).take(FEW_LETTERS).map(Letter::letter).collect()
    }

    /// Returns whether a page has the beginning of the text, so that its other words are there on purpose.
    fn may_be_in(&self, page: &SeenMessage) -> bool {
        self.start.as_ref().is_none_or(|start| page.letters().contains(start))
    }
}

/// Checks that a text that grows in the chat does not become shorter, unless the model took it back. Parts that a
/// renderer may leave out do not count: an address is visible until its link is closed.
pub(crate) fn taken_back(case: Case<'_>) -> Option<Broken<'_>> {
    if case.facts.has_retractions() {
        return None;
    }
    let is_unique = |segment: &&TextSegment| {
        let text = letters(&segment.text);
        case.words().recorded.iter().filter(|other| other.contains(&text)).count() == 1
    };
    // Clitape's own draft of a longer text becomes the first of several pages, which ends earlier.
    let is_paged = |segment: &&TextSegment| segment.text.chars().count() > ONE_PAGE;
    let segments: Vec<GrowingText> = (1..)
        .zip(case.turns())
        .flat_map(|(turn, facts)| facts.segments.iter().map(move |segment| (turn, segment)))
        .filter(|(_, segment)| is_unique(segment))
        .filter(|(_, segment)| case.own.is_none() || !is_paged(segment))
        .map(|(turn, segment)| GrowingText::new(turn, &segment.text))
        // A shorter text may be on a page by chance.
        .filter(|text| text.letters.len() >= 2 * FEW_LETTERS)
        .collect();
    // An entry of clitape's own chat has the number of its turn.
    let turn_of = |version: &SeenMessage| {
        case.own.and_then(|_| case.entries.get(version.entry)).map(Entry::turn)
    };
    let messages = case.chat().messages().map(|message| (message, false));
    let drafts = case.chat().drafts().map(|draft| (&draft.text, true));
    messages.chain(drafts).find_map(|(message, is_draft)| {
        // The number of letters of each piece of text that the message has shown so far.
        let mut most: BTreeMap<usize, usize> = BTreeMap::new();
        let may_be_page =
            |version: &SeenMessage| !is_draft && version.entry == message.last().entry;
        message.versions.iter().find_map(|version| {
            if version.plain_text().chars().count() > ONE_PAGE {
                return None;
            }
            let turn = turn_of(version);
            let of_turn = |segment: &GrowingText| turn.is_none_or(|turn| segment.turn == turn);
            let shown_in = |segment: &GrowingText| of_turn(segment) && segment.may_be_in(version);
            segments.iter().enumerate().filter(|(_, one)| shown_in(one)).find_map(|(number, segment)| {
                let shown = shown_letters(&segment.letters, version.letters());
                let most = most.entry(number).or_default();
                let before = std::mem::replace(most, shown.at_least.max(*most));
                let is_less = shown.at_most > 0 && shown.at_most < before;
                let rest = || segment.text_behind(shown.at_most);
                (is_less && !(may_be_page(version) && goes_on_below(case, message, &rest()))).then(|| {
                    let name = match is_draft {
                        true => "the draft".to_owned(),
                        false => format!("message #{}", message.id),
                    };
                    by_index(case, version.entry, format!(
                        "at {} {name} shows less of the text than before: it ends at {}, as if an older text had \
                         come after a newer one",
                        seconds(version.at),
                        quoted(version.plain_text().lines().last().unwrap_or_default())
                    ))
                })?
            })
        })
    })
}
