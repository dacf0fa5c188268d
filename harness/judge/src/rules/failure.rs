//! The rules of failures: a person reads that a turn failed, broke off or was interrupted by no person, and of no failure
//! where all went well.
//!
//! A gateway may tell of a failure in any words of any language. So a turn counts as untold only if, once it has ended,
//! the chat gets nothing but words of the model, lines that it had before, and words of success.

use std::collections::HashSet;

use clitape_recording::facts::{RecordedMessage, ToolFacts, ToolOutcome, TurnEnding, TurnFacts};
use clitape_recording::text::quoted;
use clitape_recording::trace::Entry;

use super::answer::has_text_of_model;
use super::run::is_stop;
use super::tools::is_line_of;
use super::visible::AT_WORK;
use crate::case::{Broken, Case, PERSON, by, by_index, has_server_faults, whole};
use crate::words::{FEW_LETTERS, contains, letters, pieces_of_plain, seconds};

/// The time by which a result may precede the stand-in's last byte, in ms.
const RESULT_MS: u64 = 1_000;
/// The possible difference between the clocks of the stand-in and of the chat, in ms.
const CLOCKS_MS: u64 = 50;

/// Checks that a person reads of a turn that fails, breaks off or is interrupted by no person: the chat is not empty, and
/// once the CLI has ended it gets a line that may say so.
pub(crate) fn failure_untold(case: Case<'_>) -> Option<Broken<'_>> {
    let mut failed = case.played().filter_map(|(number, turn)| FailedTurn::of(case, number, turn));
    failed.find_map(|turn| turn.untold(case))
}

/// A turn of whose ending a person must read.
struct FailedTurn<'c> {
    number: usize,
    /// The ending, in words.
    what: String,
    /// The CLI's own words about it; empty if it has none.
    words: &'c str,
    /// The time before the last byte from which the chat may say so, in ms.
    before_ms: u64,
    /// True if nothing before the end shows that there will be no answer.
    is_sudden: bool,
}

impl<'c> FailedTurn<'c> {
    fn of(case: Case<'c>, number: usize, turn: &'c TurnFacts) -> Option<Self> {
        let failed = |what: String, words, before_ms, is_sudden| {
            Some(Self { number, what, words, before_ms, is_sudden })
        };
        match &turn.ending {
            TurnEnding::Failed(words) => {
                failed(format!("the turn failed ({})", quoted(words)), words, RESULT_MS, false)
            }
            TurnEnding::CutOff => {
                let what = "the turn failed: the CLI ended without a result".to_owned();
                failed(what, "", CLOCKS_MS, true)
            }
            TurnEnding::Interrupted if is_interrupted_by_nobody(case, number, turn) => {
                let what = "the turn was interrupted, for which no person had asked".to_owned();
                failed(what, "", RESULT_MS, true)
            }
            TurnEnding::Answered | TurnEnding::Silent | TurnEnding::Interrupted => None,
        }
    }

    fn untold(&self, case: Case<'c>) -> Option<Broken<'c>> {
        let (turn, what) = (case.of_turn(self.number), &self.what);
        if case.chat().at_end().next().is_none() {
            return whole(format!("{turn}{what}, and nothing in the chat says so: it is empty"));
        }
        let times = case.times(self.number)?;
        let ended = times.ended_ms?;
        // The time until the next turn begins.
        let next = case.times(self.number + 1).map_or(u64::MAX, |next| next.began_ms);
        let is_late = |at: u64| at + self.before_ms >= ended;
        // Of a failure that shows before the end, the chat may have told before.
        let versions = case.chat().ever_seen().filter(|_| self.is_sudden);
        let before = versions.filter(|it| it.at >= times.began_ms && !is_late(it.at));
        let known = LinesBefore::of(before.map(|version| version.plain_text()));
        let mut success: Option<(&Entry, String)> = None;
        let mut is_answerless = false;
        for (_, entry) in case.shown() {
            if !(entry.sets_text() || entry.shows_draft()) || !is_late(entry.at) || entry.at >= next
            {
                continue;
            }
            for line in entry.plain_text().lines() {
                match known.news_of(case, line) {
                    News::Failure => return None,
                    News::Success => success = success.or_else(|| Some((entry, line.to_owned()))),
                    News::NoAnswer => is_answerless = true,
                    News::Nothing => {}
                }
            }
        }
        // The CLI's own words about the failure may have been streamed before.
        let pages = case.end_pages();
        if pieces_of_plain(self.words).iter().any(|piece| contains(&pages, &piece.letters)) {
            return None;
        }
        if is_answerless && success.is_none() {
            return None;
        }
        let ended = seconds(ended);
        if let Some((entry, line)) = success {
            let (at, line) = (seconds(entry.at), quoted(&line));
            let sentence = format!(
                "{turn}{what} at {ended}, and all that the chat says of it, at {at}, is {line}"
            );
            return by(entry, sentence);
        }
        let text = quoted(case.chat().at_end().last()?.last().plain_text());
        whole(format!(
            "{turn}{what} at {ended}, and the chat never said so: {text} stands there as before"
        ))
    }
}

/// Returns whether no person of the chat interrupted a turn: nobody wrote or pressed a button in it, and it asked nothing
/// that a gateway may have denied by itself. A CLI that is killed prints nothing after the words that stop it.
fn is_interrupted_by_nobody(case: Case<'_>, number: usize, turn: &TurnFacts) -> bool {
    let Some(times) = case.times(number) else { return false };
    let next = case.times(number + 1).map_or(u64::MAX, |next| next.began_ms);
    let acts = case.entries.iter().filter(|entry| PERSON.contains(&entry.kind.as_ref()));
    let is_in_turn = |entry: &Entry| {
        let end = if is_stop(entry) { Some(next) } else { times.ended_ms };
        entry.at > times.began_ms && end.is_none_or(|end| entry.at <= end)
    };
    turn.questions.is_empty() && !acts.into_iter().any(is_in_turn)
}

/// The meaning of a line that a chat gets after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// The line has words of the model, a status, or what the chat had before.
    Nothing,
    /// The line has words of success and no others.
    Success,
    /// The line says that there is no answer, which tells of a failure unless another line tells of success.
    NoAnswer,
    /// The line may tell of the failure.
    Failure,
}

/// The lines of a chat before a failure.
#[derive(Debug, Default)]
struct LinesBefore {
    /// The letters of each line, without digits, because times and counts go on.
    lines: HashSet<String>,
    /// The pictograms.
    signs: HashSet<char>,
}

impl LinesBefore {
    fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut known = Self::default();
        for line in texts.flat_map(str::lines) {
            known.lines.insert(without_digits(line));
            known.signs.extend(line.chars().filter(|c| is_pictogram(*c)));
        }
        known
    }

    /// Returns the meaning of a line.
    fn news_of(&self, case: Case<'_>, line: &str) -> News {
        // The subtype of a result that failed may be this word.
        if letters(line) == "success" {
            return News::Success;
        }
        let is_said =
            |c: char| case.turns().iter().flat_map(TurnFacts::texts).any(|text| text.contains(c));
        let is_new = |c: &char| is_pictogram(*c) && !self.signs.contains(c) && !is_said(*c);
        let new: Vec<char> = line.chars().filter(is_new).collect();
        let mut tools = case.turns().iter().flat_map(|turn| &turn.tools);
        if !new.iter().any(|sign| WARNINGS.contains(sign)) && tools.any(|it| is_line_of(line, it)) {
            return News::Nothing;
        }
        if new.iter().any(|sign| !QUIET_SIGNS.contains(sign) && !DONE.contains(sign)) {
            return News::Failure;
        }
        let has_done = new.iter().any(|sign| DONE.contains(sign));
        let signs = if has_done { News::Success } else { News::Nothing };
        let own = without_digits(line);
        if own.is_empty() || self.has(&own) || is_of_model(case, line) {
            return signs;
        }
        match Wording::of(line) {
            Wording::Success => News::Success,
            Wording::NoAnswer => News::NoAnswer,
            Wording::Quiet => signs,
            Wording::Open => News::Failure,
        }
    }

    /// Returns whether the chat had a line with these letters.
    fn has(&self, letters: &str) -> bool {
        let is_long = letters.len() >= FEW_LETTERS;
        self.lines.contains(letters) || is_long && self.lines.iter().any(|it| it.contains(letters))
    }
}

/// Returns the letters of a line without its digits.
fn without_digits(line: &str) -> String {
    letters(line).chars().filter(|letter| !letter.is_numeric()).collect()
}

/// Returns whether a line has words of the model alone; a few letters must begin a line of the model.
fn is_of_model(case: Case<'_>, line: &str) -> bool {
    let shown = letters(line);
    if shown.len() >= FEW_LETTERS {
        return case.words().said.iter().any(|text| text.contains(&shown));
    }
    let lines = case.turns().iter().flat_map(TurnFacts::texts).flat_map(str::lines);
    lines.into_iter().any(|said| letters(said).starts_with(&shown))
}

/// The signs of success.
const DONE: [char; 5] = ['✅', '✔', '☑', '🟢', '🏁'];
/// The signs that say nothing of success.
const QUIET_SIGNS: [char; 12] =
    ['⏳', '⌛', '⏱', '⏲', '🕐', '🤖', '💬', '📝', '💰', '💵', '📊', '🧠'];

/// The signs of a failure, with which a line of a tool may tell of one.
const WARNINGS: [char; 10] = ['❌', '✖', '✗', '⚠', '⛔', '🛑', '⏹', '🔴', '💥', '🚫'];

/// Returns whether a character is a picture rather than a letter or a mark.
fn is_pictogram(c: char) -> bool {
    matches!(
        c,
        '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{23ff}'
            | '\u{2600}'..='\u{27bf}'
            | '\u{2b00}'..='\u{2bff}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// The words of success.
const SUCCESS: [&str; 9] = [
    "done",
    "complete",
    "completed",
    "finished",
    "success",
    "successful",
    "successfully",
    "ok",
    "ready",
];
/// The same in Chinese, which has no blanks between words, with the words around them.
const SUCCESS_HAN: [&str; 4] = ["完成", "成功", "完毕", "无输出"];
const QUIET_HAN: [&str; 4] = ["执行", "任务", "已", "了"];
/// The words with which a line of success says that there was no more to say.
const NO_OUTPUT: [&str; 2] = ["no output", "no content"];
/// The words with which a line says that there is no answer.
const NO_ANSWER: [&str; 2] = ["no response", "no answer"];
/// The words beside those of success that say neither good nor bad.
const QUIET_WORDS: [&str; 43] = [
    "a", "after", "agent", "all", "and", "call", "calls", "claude", "code", "cost", "duration",
    "for", "from", "h", "in", "input", "is", "m", "min", "minutes", "ms", "of", "out", "output",
    "request", "run", "s", "sec", "second", "seconds", "session", "step", "steps", "task", "the",
    "time", "token", "tokens", "took", "tool", "tools", "turn", "turns",
];

/// The kind of the words of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wording {
    /// All words are of success, or say neither good nor bad beside one.
    Success,
    /// The words say that there is no answer, and nothing else.
    NoAnswer,
    /// All words say neither good nor bad.
    Quiet,
    /// A word may say anything.
    Open,
}

impl Wording {
    fn of(line: &str) -> Self {
        let mut line = line.to_lowercase();
        let mut is_success = false;
        let phrases = NO_OUTPUT.iter().chain(&SUCCESS_HAN).map(|phrase| (phrase, true));
        for (phrase, says_success) in phrases.chain(QUIET_HAN.iter().map(|phrase| (phrase, false)))
        {
            if line.contains(phrase) {
                is_success |= says_success;
                line = line.replace(phrase, " ");
            }
        }
        let is_answerless = NO_ANSWER.iter().any(|phrase| line.contains(phrase));
        for phrase in NO_ANSWER {
            line = line.replace(phrase, " ");
        }
        for word in line.split(|c: char| !c.is_alphanumeric()) {
            // A number may have its unit behind it.
            let word = word.trim_start_matches(char::is_numeric);
            is_success |= SUCCESS.contains(&word);
            let is_known =
                [&SUCCESS[..], &QUIET_WORDS, &AT_WORK].iter().any(|all| all.contains(&word));
            if !word.is_empty() && !is_known {
                return Self::Open;
            }
        }
        match is_success {
            _ if is_answerless => Self::NoAnswer,
            true => Self::Success,
            false => Self::Quiet,
        }
    }
}

/// The signs with which a gateway tells of a failure.
const FAILURE_SIGNS: [char; 3] = ['❌', '🔴', '💥'];
/// The words with which it does so.
const FAILURE_WORDS: [&str; 6] = ["failed", "failure", "error", "crashed", "aborted", "exception"];
/// The words with which a line says that there was no failure.
const NONE: [&str; 3] = ["0", "no", "none"];

/// Checks that no line of the gateway in the message with the answer tells of a failure if all went well.
pub(crate) fn success_told_failed(case: Case<'_>) -> Option<Broken<'_>> {
    let went_well = |turn: &TurnFacts| {
        let is_done = |tool: &ToolFacts| tool.outcome == Some(ToolOutcome::Completed);
        turn.ending == TurnEnding::Answered
            && turn.tools.iter().all(is_done)
            && turn.questions.is_empty()
    };
    let is_odd = |message: &RecordedMessage| message.is_error || message.is_doubtful;
    let has_trouble = case.facts.messages.iter().any(is_odd) || !case.facts.notices.is_empty();
    if has_trouble || has_server_faults(case) || !case.played().all(|(_, turn)| went_well(turn)) {
        return None;
    }
    case.chat().at_end().find_map(|message| {
        let mut lines = message.last().plain_text().lines();
        let is_own = |line: &&str| tells_failure(case, line) && !case.is_recorded(&letters(line));
        let line = lines.find(is_own).filter(|_| has_text_of_model(case, message))?;
        let sentence = format!("the turn went well, and with the answer stands {}", quoted(line));
        by_index(case, message.last().entry, sentence)
    })
}

/// Returns whether a line of the gateway tells of a failure in words that are not the model's.
fn tells_failure(case: Case<'_>, line: &str) -> bool {
    let line = line.to_lowercase();
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).collect();
    let is_said = |word: &str| case.words().said.iter().any(|text| text.contains(word));
    let has_word = FAILURE_WORDS.iter().any(|word| words.contains(word) && !is_said(word));
    let has_sign = line.trim_start().starts_with(FAILURE_SIGNS);
    (has_word || has_sign) && !NONE.iter().any(|none| words.contains(none))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_success_are_told_from_others() {
        let check = |expect: Wording, lines: &[&str]| {
            for line in lines {
                assert_eq!(Wording::of(line), expect, "{line}");
            }
        };
        check(
            Wording::Success,
            &[
                "✅ Done",
                "Done in 12s",
                "(no output)",
                "✅ 完成",
                "执行完成，无输出",
                "Claude finished: 3 turns",
                "OK.",
            ],
        );
        check(
            Wording::Quiet,
            &["", "✅", "1 tools · 6s", "⏳ Working… 12s", "$0.02 · 1,000 tokens"],
        );
        check(Wording::NoAnswer, &["(No response from Claude)", "⚠️ No answer"]);
        check(
            Wording::Open,
            &[
                "Stopped",
                "✅ Остановлено",
                "not done",
                "incomplete",
                "done, exit code 137",
                "Abgebrochen",
                "已停止",
                "No answer, stopped",
                "0 errors",
                "Done: sort lines",
                "interrupted",
            ],
        );
    }
}
