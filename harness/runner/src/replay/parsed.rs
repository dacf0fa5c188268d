//! The parser alone under a plan, without a gateway: whether it tells the same as under another plan, with the same lines.

use clitape_stream::{Event, Parser, Stats};

use super::dialogue::Action;
use super::heard::{Came, EventComparison, Heard, HeardEvent, HeardRun};
use super::played::PlayedPlan;

/// What the parser tells of a plan.
pub(crate) fn parsed(played: &PlayedPlan<'_>) -> Heard {
    let mut events = Vec::new();
    parse(played, &mut |event, came| events.push(HeardEvent::new(event, came, None)));
    Heard::of(HeardRun { events: events.into(), ..HeardRun::default() })
}

/// The parser's counts of the lines of a plan, if it has the events that were heard of the same bytes, each with the
/// piece that ends its line.
pub(crate) fn parsed_in_step(played: &PlayedPlan<'_>, heard: &Heard) -> Option<Stats> {
    let mut events = EventComparison::with(heard)?;
    let stats = parse(played, &mut |event, came| {
        events.next(event, came);
    });
    events.has_kept_step().then_some(stats)
}

/// Gives the parser both sides of a plan, and each event to `hear`.
fn parse(played: &PlayedPlan<'_>, hear: &mut dyn FnMut(&Event<'_>, Came)) -> Stats {
    let mut parser = Parser::with_limits(played.limits());
    let (mut from, mut written) = (0, 0);
    for (_, action) in played.plan.actions(played.capture()) {
        match action {
            Action::Print(piece) => {
                let to = from + piece.len() as u64;
                let came = Came::Printed(from, to);
                parser.feed_with(piece, &mut |event| hear(&event, came));
                from = to;
            }
            Action::Write(line) => {
                written += 1;
                let came = Came::Written(written);
                parser.feed_stdin_with(&line, &mut |event| hear(&event, came));
            }
        }
    }
    parser.finish_with(&mut |event| hear(&event, Came::AtTheEnd))
}
