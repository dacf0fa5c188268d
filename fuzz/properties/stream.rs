//! Bytes to events: whatever the bytes of either side, nothing panics, every cut gives the same events,
//! and the events keep their promises to one another.

use std::collections::HashMap;

use clitape_stream::{Event, Parser, ParserLimits, Stats};

/// Parses `bytes` whole and in pieces, with the usual limits and with tight ones.
pub fn check(bytes: &[u8]) {
    let limits = ParserLimits::default();
    let whole = run(bytes, limits, || usize::MAX);
    let mut random = super::numbers(bytes);
    assert_eq!(run(bytes, limits, || random() % 61), whole);

    let mut tight = ParserLimits::default();
    tight.line = random() % 400;
    tight.records = random() as u64 % 20;
    tight.bytes = random() as u64 % 4000;
    let bound = run(bytes, tight, || usize::MAX);
    assert_eq!(run(bytes, tight, || random() % 61), bound);
    assert!(bound.1.unread <= bytes.len() as u64);

    // Every other line as the host's, which answers what the CLI asks.
    assert_eq!(run_sides(bytes, || random() % 61), run_sides(bytes, || usize::MAX));
}

/// The events of two sides that take turns, line by line.
fn run_sides(bytes: &[u8], mut cut: impl FnMut() -> usize) -> Vec<String> {
    let (mut seen, mut open) = (Vec::new(), Vec::new());
    let mut sink = |event: Event<'_>| {
        check_question(&event, &mut open);
        seen.push(serde_json::to_string(&event).expect("events serialise"));
    };
    let mut parser = Parser::new();
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let mut rest = line;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(cut().clamp(1, rest.len()));
            match number % 2 {
                0 => parser.feed_with(piece, &mut sink),
                _ => parser.feed_stdin_with(piece, &mut sink),
            }
            rest = tail;
        }
    }
    let Stats { lines, blank, records, unknown, unusable, .. } = parser.stdin_stats();
    assert_eq!(lines, blank + records + unknown + unusable);
    parser.finish_with(&mut sink);
    seen
}

/// A question is asked once, and answered or withdrawn at most once.
fn check_question(event: &Event<'_>, open: &mut Vec<(String, bool)>) {
    match event {
        Event::Question { id, .. } => {
            assert!(!open.iter().any(|(known, _)| known == id));
            open.push((id.to_string(), true));
        }
        Event::Answered { id, .. } | Event::QuestionWithdrawn { id } => {
            let question = open.iter_mut().find(|(known, _)| known == id);
            let (_, is_open) = question.expect("a question comes before its end");
            assert!(std::mem::take(is_open), "one answer for a question");
        }
        _ => {}
    }
}

/// The events as they serialise, and what was read.
fn run(bytes: &[u8], limits: ParserLimits, mut cut: impl FnMut() -> usize) -> (Vec<String>, Stats) {
    let (mut seen, mut turns) = (Vec::new(), Turns::default());
    let mut sink = |event: Event<'_>| {
        check_event(&event, &mut turns);
        seen.push(serde_json::to_string(&event).expect("events serialise"));
    };
    let mut parser = Parser::with_limits(limits);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(cut().clamp(1, rest.len()));
        parser.feed_with(piece, &mut sink);
        rest = tail;
    }
    let stats = parser.finish_with(&mut sink);
    let Stats { lines, blank, records, unknown, unusable, .. } = stats;
    assert_eq!(lines, blank + records + unknown + unusable);
    assert_eq!(stats.bytes, bytes.len() as u64);
    assert!(turns.ended > 0, "the last turn has an outcome");
    assert!(!turns.lanes.contains_key(&(true, String::new())), "text belongs to a turn");
    (seen, stats)
}

/// What was emitted so far.
#[derive(Default)]
struct Turns {
    /// Number of outcomes.
    ended: u64,
    /// The texts so far: whether it is an answer, and the parent.
    lanes: HashMap<(bool, String), String>,
}

/// The deltas of a lane make up its text, lengths count its characters, and each turn has one
/// outcome, behind which the lanes of the main thread are empty.
fn check_event(event: &Event<'_>, Turns { ended, lanes }: &mut Turns) {
    if let Event::Outcome(outcome) = event {
        *ended += 1;
        assert_eq!(outcome.turn, *ended);
        lanes.retain(|(_, parent), _| !parent.is_empty());
    }
    let mut grow = |is_answer: bool, parent: &Option<_>, delta: &str, text: &str, length: u64| {
        let parent = parent
            .as_ref()
            .map_or(String::new(), |parent: &std::borrow::Cow<'_, str>| parent.to_string());
        let so_far = lanes.entry((is_answer, parent)).or_default();
        so_far.push_str(delta);
        assert_eq!(so_far, text);
        assert_eq!(length, text.chars().count() as u64);
    };
    match event {
        Event::Text { delta, text, length, parent, .. } => grow(true, parent, delta, text, *length),
        Event::Thinking { delta, text, length, parent, .. } => {
            grow(false, parent, delta, text, *length);
        }
        Event::Retract { text, thinking, length, thinking_length, parent, .. } => {
            assert_eq!(*length, text.chars().count() as u64);
            assert_eq!(*thinking_length, thinking.chars().count() as u64);
            let parent = parent.as_ref().map_or(String::new(), ToString::to_string);
            lanes.insert((true, parent.clone()), (*text).to_owned());
            lanes.insert((false, parent), (*thinking).to_owned());
        }
        _ => {}
    }
}
