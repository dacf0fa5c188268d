//! The ends of turns: each one ends as its result says, with the text that stdout has.

use std::collections::HashMap;

use clitape_recording::facts::{RecordedBlock, RecordedTurn};
use clitape_recording::text::{plural, solid};
use clitape_recording::trace::{Entry, Lane};

use crate::zoom;

use crate::case::Case;
use crate::rules::turns::outcomes;
use crate::rules::violation::{Broken, by, by_turn, is_run_end, whole};

/// B3, T5: each result of stdout ends a turn, which is a failure if the result says so, and only then; the bus says
/// the same.
pub(in crate::rules) fn ending_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let ends = ended(case);
    if ends.len() < case.facts.turns.len() {
        let results = plural(case.facts.turns.len() as u64, "result");
        return whole(format!("stdout has {results}, and {} of them end a turn", ends.len()));
    }
    let runs = by_turn(case, Lane::Bus);
    (1..).zip(ends).zip(&case.facts.turns).find_map(|((turn, outcome), result)| {
        let is_failure = result.is_failure?;
        let words = if is_failure { "a failure" } else { "no failure" };
        if (outcome.text("status") != "ok") != is_failure {
            return by(outcome, format!("the result of turn {turn} on stdout is {words}"));
        }
        let run: &Vec<&Entry> = runs.get(&turn)?;
        let last = run.iter().rev().find(|entry| entry.kind == "lifecycle");
        let end = last.filter(|last| is_run_end(last))?;
        let says_so = (end.text("phase") == "error") == is_failure;
        let sentence = format!("the bus ends turn {turn} otherwise: on stdout it is {words}");
        (!says_so).then_some(sentence).and_then(|sentence| by(end, sentence))
    })
}

/// T2: the text of a turn that went well is all that the model said in it, once and in order, if its last message is
/// the result; what a message says that broke off is no part of it.
///
/// Stdout leaves two things open: of a message that broke off, the CLI may go on with what is whole; and where a message
/// follows another one without a call between them, the turn may end with the text from there on, because the CLI may
/// answer two messages of its host with one result.
pub(in crate::rules) fn answer_misread(case: Case<'_>) -> Option<Broken<'_>> {
    let ends = ended(case);
    let mut said = said(case);
    (0..).zip(ends.iter().zip(&case.facts.turns)).find_map(|(turn, (outcome, result))| {
        let RecordedTurn { is_failure: Some(false), text, .. } = result else { return None };
        let told = solid(outcome.text("text"));
        let [whole, resumed] = said
            .remove(&turn)
            .unwrap_or_default()
            .blocks()?
            .map(|said| expected(&said, &solid(text)));
        let (whole, resumed) = (whole?, resumed?);
        if whole.iter().chain(&resumed).any(|expect| *expect == told) {
            return None;
        }
        let (told, expect) = zoom(&told, &whole[0]);
        by(outcome, format!("the answer is “{told}”, and stdout has “{expect}”"))
    })
}

/// The texts, without blanks, with which a turn may end that said this, and whose result is `result`. None if the last
/// text is not the result.
fn expected(said: &[(usize, &RecordedBlock)], result: &str) -> Option<Vec<String>> {
    let (_, last) = said.last()?;
    if solid(last.text()) != result {
        return None;
    }
    let from =
        |at: usize| -> String { said[at..].iter().map(|(_, block)| solid(block.text())).collect() };
    let goes_on = |pair: &[(usize, &RecordedBlock)]| {
        pair[0].0 == pair[1].0 || pair[0].1.calls_before < pair[1].1.calls_before
    };
    let begun = said.windows(2).rposition(|pair| !goes_on(pair)).map_or(0, |at| at + 1);
    let is_split = said[begun].1.calls_before < last.calls_before;
    let alone = (!is_split).then(|| result.to_owned());
    Some([from(begun), from(0)].into_iter().chain(alone).collect())
}

/// The blocks of text that the main conversation says in a turn, with the numbers of their messages.
#[derive(Default)]
struct SaidInTurn<'s> {
    /// Those that are whole.
    all: Vec<(usize, &'s RecordedBlock)>,
    /// Those of messages that did not break off.
    of_whole_messages: Vec<(usize, &'s RecordedBlock)>,
}

impl<'s> SaidInTurn<'s> {
    /// Without those of messages that broke off, and with them. None where reasoning is hidden in one of them.
    fn blocks(self) -> Option<[Vec<(usize, &'s RecordedBlock)>; 2]> {
        let is_plain = self.all.iter().all(|(_, block)| block.is_plain());
        is_plain.then_some([self.of_whole_messages, self.all])
    }
}

/// What the main conversation says in each turn.
fn said(case: Case<'_>) -> HashMap<usize, SaidInTurn<'_>> {
    let facts = case.facts;
    let broken_off = facts.broken_off();
    let mut turns: HashMap<usize, SaidInTurn<'_>> = HashMap::new();
    for (at, message) in facts.messages.iter().enumerate() {
        if message.parent.is_some() || message.is_error {
            continue;
        }
        let turn = turns.entry(message.turn).or_default();
        for block in message.texts.iter().filter(|block| block.whole.is_some()) {
            turn.all.push((at, block));
            if !broken_off.contains(&at) {
                turn.of_whole_messages.push((at, block));
            }
        }
    }
    turns
}

/// The outcomes of turns that a result ended.
fn ended(case: Case<'_>) -> Vec<&Entry> {
    outcomes(case).filter(|outcome| outcome.text("status") != "incomplete").collect()
}
