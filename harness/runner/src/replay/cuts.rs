//! Runs the parser alone under the cuts of a plan, because cuts are the parser's business: the gateway is given events.

use clitape_stream::{DiagnosticCode, Event, OwnedEvent, Parser, Stats};

use super::dialogue::Action;
use super::played::PlayedPlan;

/// The input with which the parser reports an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventCause {
    /// The bytes of stdout from the first of these places to the second.
    Piece(u64, u64),
    /// The line of the host that has this number, from 1.
    HostLine(u64),
    /// The end of the input.
    End,
}

impl EventCause {
    /// Returns whether an event that whole lines cause with `line` is reported with the piece that ends that line.
    fn ends(self, line: Self) -> bool {
        match (self, line) {
            (Self::Piece(from, to), Self::Piece(_, end)) => from < end && end <= to,
            _ => self == line,
        }
    }
}

/// An event of the parser.
struct ReportedEvent {
    event: OwnedEvent,
    cause: EventCause,
}

/// The events of the parser for whole lines.
pub(crate) struct ParserReport {
    events: Vec<ReportedEvent>,
    stats: Stats,
}

impl ParserReport {
    /// Parses a plan that leaves lines whole.
    pub(crate) fn of(uncut: &PlayedPlan<'_>) -> Self {
        let mut events = Vec::new();
        let report = &mut |event: &Event<'_>, cause| {
            events.push(ReportedEvent { event: event.clone().into_owned(), cause });
        };
        let stats = parse(uncut, report);
        Self { events, stats }
    }

    /// Returns the first difference between this and the parser's events under the cuts of a plan, in a sentence. It is
    /// `None` if both have the same events and counts, and each event comes with the piece that ends its line.
    pub(crate) fn difference(&self, played: &PlayedPlan<'_>) -> Option<String> {
        let (mut count, mut difference) = (0, None);
        let stats = parse(played, &mut |event, cause| {
            let expected = self.events.get(count);
            count += 1;
            if difference.is_none() {
                difference = expected.map_or_else(
                    || {
                        Some(format!(
                            "event {count} comes with these cuts and not with whole lines"
                        ))
                    },
                    |expected| event_difference(count, event, cause, expected),
                );
            }
        });
        let is_short = count < self.events.len();
        let counts_differ = || "the counts of lines differ from those of whole lines".to_owned();
        difference
            .or_else(|| {
                is_short.then(|| format!("event {} comes with whole lines alone", count + 1))
            })
            .or_else(|| (stats != self.stats).then(counts_differ))
    }
}

/// Returns how the event with a number differs from the one that whole lines give.
fn event_difference(
    number: usize,
    event: &Event<'_>,
    cause: EventCause,
    expected: &ReportedEvent,
) -> Option<String> {
    if event.clone().without_texts() != expected.event {
        return Some(format!("event {number} is another one than with whole lines"));
    }
    // The parser gives a line up as soon as it is too long.
    let is_early = matches!(event, Event::Diagnostic { code: DiagnosticCode::LineTooLong, .. });
    let is_in_place = is_early || cause.ends(expected.cause);
    let late = || format!("event {number} does not come with the piece that ends its line");
    (!is_in_place).then(late)
}

/// Gives the parser both sides of a plan, and each event with its cause to `report`.
fn parse(played: &PlayedPlan<'_>, report: &mut dyn FnMut(&Event<'_>, EventCause)) -> Stats {
    let mut parser = Parser::with_limits(played.limits());
    let (mut from, mut written) = (0, 0);
    for (_, action) in played.plan.actions(played.capture()) {
        match action {
            Action::Print(piece) => {
                let to = from + piece.len() as u64;
                let cause = EventCause::Piece(from, to);
                parser.feed_with(piece, &mut |event| report(&event, cause));
                from = to;
            }
            Action::Write(line) => {
                written += 1;
                let cause = EventCause::HostLine(written);
                parser.feed_stdin_with(&line, &mut |event| report(&event, cause));
            }
        }
    }
    parser.finish_with(&mut |event| report(&event, EventCause::End))
}

#[cfg(test)]
mod tests {
    use super::super::plan::Plan;
    use super::*;

    const RUN: &str = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
        "\n",
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Grüße"}]},"session_id":"s"}"#,
        "\n",
    );

    /// Holds the cuts of a seed, on `stdout`, against the whole lines of [`RUN`].
    fn check(stdout: &str, expect: Option<&str>) {
        let whole = Plan::canonical(RUN.as_bytes(), 1);
        let report = ParserReport::of(&whole.played(RUN.as_bytes().into()));
        for seed in 0..8 {
            let plan = Plan::seeded(stdout.as_bytes(), seed);
            let difference = report.difference(&plan.played(stdout.as_bytes().into()));
            assert_eq!(difference.as_deref(), expect, "seed {seed}: {stdout}");
        }
    }

    #[test]
    fn cuts_change_no_event() {
        check(RUN, None);
        check(
            &RUN.replace("Grüße", "Gruß!!"),
            Some("event 2 is another one than with whole lines"),
        );
        let init = RUN.lines().next().unwrap();
        check(init, Some("event 2 is another one than with whole lines"));
        check(
            &RUN.replace('}', " }"),
            Some("event 1 does not come with the piece that ends its line"),
        );
    }

    #[test]
    fn an_event_comes_with_the_piece_that_ends_its_line() {
        let line = EventCause::Piece(10, 20);
        let is_ended_by = |from, to| EventCause::Piece(from, to).ends(line);
        assert!(is_ended_by(10, 20) && is_ended_by(19, 20) && is_ended_by(5, 30));
        assert!(!is_ended_by(10, 19) && !is_ended_by(20, 30));
        assert!(
            EventCause::HostLine(2).ends(EventCause::HostLine(2))
                && EventCause::End.ends(EventCause::End)
        );
        assert!(
            !EventCause::HostLine(1).ends(EventCause::HostLine(2)) && !EventCause::End.ends(line)
        );
    }
}
