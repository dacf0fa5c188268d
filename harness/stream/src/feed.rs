//! Events as iterators, for callers that prefer a loop to a callback.

use std::collections::VecDeque;

use crate::emitter::Stats;
use crate::owned::OwnedEvent;
use crate::parser::Parser;

impl Parser {
    /// Feeds bytes, cut anywhere, and returns the events that they complete.
    pub fn feed<'p, 'b>(&'p mut self, bytes: &'b [u8]) -> FeedEvents<'p, 'b> {
        FeedEvents { parser: self, rest: bytes, ready: VecDeque::new() }
    }

    /// Ends the bytes and returns the last events.
    pub fn finish(self) -> FinishEvents {
        let mut events = Vec::new();
        let stats = self.finish_with(&mut |event| events.push(event.into_owned()));
        FinishEvents { events: events.into_iter(), stats }
    }
}

/// Iterator over the events that some bytes complete; [`Parser::feed`] returns it.
///
/// The iterator reads the bytes line by line on demand. Dropping it reads the rest of them.
#[derive(Debug)]
pub struct FeedEvents<'p, 'b> {
    parser: &'p mut Parser,
    rest: &'b [u8],
    ready: VecDeque<OwnedEvent>,
}

impl Iterator for FeedEvents<'_, '_> {
    type Item = OwnedEvent;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |at| at + 1);
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest;
            let Self { parser, ready, .. } = self;
            parser.feed_with(line, &mut |event| ready.push_back(event.into_owned()));
        }
        self.ready.pop_front()
    }
}

impl Drop for FeedEvents<'_, '_> {
    fn drop(&mut self) {
        self.parser.feed_with(self.rest, &mut |_| {});
    }
}

/// Iterator over the last events of a run; [`Parser::finish`] returns it.
#[derive(Debug)]
pub struct FinishEvents {
    events: std::vec::IntoIter<OwnedEvent>,
    stats: Stats,
}

impl FinishEvents {
    /// Counts of what the parser read.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

impl Iterator for FinishEvents {
    type Item = OwnedEvent;

    fn next(&mut self) -> Option<Self::Item> {
        self.events.next()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::Event;

    const RUN: &[u8] = b"{\"type\":\"holo\"}\n{\"type\":\"keep_alive\"}\n{\"type\":\"result\",\"result\":\"Hi.\"}\n{";

    fn kinds(events: impl Iterator<Item = OwnedEvent>) -> Vec<String> {
        events.map(|event| serde_json::to_value(event).unwrap()["kind"].to_string()).collect()
    }

    #[test]
    pub(crate) fn the_iterator_gives_what_the_callback_gets() {
        let mut parser = Parser::new();
        let mut seen = kinds(parser.feed(&RUN[..20]));
        seen.extend(kinds(parser.feed(&RUN[20..])));
        let finish = parser.finish();
        assert_eq!(finish.stats().lines, 4);
        seen.extend(kinds(finish));
        assert_eq!(seen, [r#""unknown""#, r#""record""#, r#""outcome""#, r#""diagnostic""#]);
    }

    #[test]
    pub(crate) fn a_dropped_iterator_has_read_its_bytes() {
        let mut parser = Parser::new();
        assert!(matches!(parser.feed(RUN).next(), Some(Event::Unknown { .. })));
        drop(parser.feed(b"}"));
        assert_eq!(parser.finish().stats().lines, 4);
    }
}
