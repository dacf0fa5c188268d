//! Finds the time when the signal of a scenario is due, from the output of the CLI.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use clitape_stream::{Event, Parser};

use clitape_recording::scenario::{SignalName, SignalPlan, Trigger};

/// The signal of a run, until it is sent.
pub(crate) struct Fuse<'a> {
    plan: Option<&'a SignalPlan>,
    parser: Parser,
    /// The number of calls that have started.
    calls: u64,
    /// The text of each thread so far.
    texts: HashMap<Option<String>, String>,
    /// The time when the trigger was read.
    lit: Option<Instant>,
}

impl<'a> Fuse<'a> {
    pub(crate) fn new(plan: Option<&'a SignalPlan>) -> Self {
        Self { plan, parser: Parser::new(), calls: 0, texts: HashMap::new(), lit: None }
    }

    /// Reads the bytes of stdout that came at `at`.
    pub(crate) fn feed(&mut self, at: Instant, bytes: &[u8]) {
        let Some(plan) = self.plan.filter(|_| self.lit.is_none()) else { return };
        let Self { parser, calls, texts, lit, .. } = self;
        parser.feed_with(bytes, &mut |event| {
            let is_it = match (&plan.when, &event) {
                (Trigger::Tool(name), Event::ToolStart { name: started, .. }) => started == name,
                (Trigger::Calls(least), Event::ToolStart { .. }) => {
                    *calls += 1;
                    *calls >= *least
                }
                (Trigger::Text(part), Event::Text { delta, parent, .. }) => {
                    let text = texts.entry(parent.as_deref().map(str::to_owned)).or_default();
                    text.push_str(delta);
                    text.contains(part.as_str())
                }
                _ => false,
            };
            if is_it {
                lit.get_or_insert(at);
            }
        });
    }

    /// Returns the signal once, when it is due.
    pub(crate) fn due(&mut self, now: Instant) -> Option<SignalName> {
        let (plan, lit) = (self.plan?, self.lit?);
        if now < lit + Duration::from_millis(plan.delay_ms) {
            return None;
        }
        self.plan = None;
        Some(plan.send)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"type":"assistant","message":{"id":"M","content":[{"type":"tool_use","id":"I","name":"N","input":{}}]},"parent_tool_use_id":null}"#;
    const TEXT: &str = r#"{"type":"assistant","message":{"id":"M","content":[{"type":"text","text":"N"}]},"parent_tool_use_id":P}"#;

    fn call(id: &str, name: &str) -> String {
        format!(
            "{}\n",
            CALL.replace('M', id)
                .replace("\"I\"", &format!("{id:?}"))
                .replace("\"N\"", &format!("{name:?}"))
        )
    }

    fn text(id: &str, text: &str, parent: &str) -> String {
        format!(
            "{}\n",
            TEXT.replace('M', id)
                .replace("\"N\"", &format!("{text:?}"))
                .replace("P}", &format!("{parent}}}"))
        )
    }

    /// Checks after which of `lines` the signal is due.
    fn check(when: Trigger, lines: &[String], expect: Option<usize>) {
        let plan = SignalPlan { send: SignalName::Term, when, delay_ms: 5 };
        let mut fuse = Fuse::new(Some(&plan));
        let begin = Instant::now();
        let due = lines.iter().position(|line| {
            fuse.feed(begin, line.as_bytes());
            assert_eq!(fuse.due(begin), None);
            fuse.due(begin + Duration::from_millis(5)).is_some()
        });
        assert_eq!(due, expect, "{:?}", plan.when);
        assert_eq!(fuse.due(begin + Duration::from_secs(9)), None);
    }

    #[test]
    fn a_signal_is_due_once_when_its_trigger_was_seen() {
        let lines = [
            text("a", "one hal", "null"),
            call("b", "Read"),
            text("c", "f", "\"b\""),
            call("d", "Bash"),
            text("e", "half", "\"b\""),
        ];
        check(Trigger::Tool("Bash".into()), &lines, Some(3));
        check(Trigger::Calls(1), &lines, Some(1));
        check(Trigger::Calls(2), &lines, Some(3));
        check(Trigger::Text("half".into()), &lines, Some(4));
        check(Trigger::Tool("Write".into()), &lines, None);
    }
}
