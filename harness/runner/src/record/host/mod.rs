//! The host of a CLI that reads stdin: a state machine that reads what the CLI printed and says which line
//! is due.
//!
//! `script` lists the steps, `printed` reads the records that they wait for, and `lines` makes the lines. It does no IO
//! and reads no clock.
//!
//! The steps fire in order: a step waits for its trigger and for the step before it. Requests that no step
//! answers (the calls of hooks, elicitations) are answered at once, in the order of their records, so that
//! the order of the lines does not depend on how stdout was cut into reads.

mod lines;
mod printed;
mod script;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use clitape_recording::scenario::{NamedTool, SayAction, SayTrigger};
use clitape_recording::wire::WireLine;

use crate::record::error::HostError;
use lines::LineMaker;
use printed::{PrintedRecords, RecordPlace};
use script::{HostAction, HostScriptStep};

pub(crate) use script::HostScript;

/// The time without output after the end of a turn until stdin is closed: a message that waits in the CLI's queue
/// begins the next turn within this time.
const QUIET: Duration = Duration::from_secs(1);

/// A line for stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueLine {
    /// The line, without its LF.
    pub(crate) text: String,
    /// The number of bytes of stdout up to the end of the record that fired it, or the line before it if that
    /// came later; 0 at the start.
    pub(crate) offset: u64,
}

/// The host of one run.
pub(crate) struct Host<'a> {
    script: &'a HostScript,
    printed: PrintedRecords<'a>,
    lines: LineMaker,
    /// The number of steps that have fired.
    fired: usize,
    /// The time when the last step fired, and the place of the record that fired it.
    last: RecordPlace,
    /// Lines that are due.
    due: VecDeque<DueLine>,
    /// The offset of the last line.
    offset: u64,
    /// True if a message was written after the last `result`.
    is_message_open: bool,
    /// True once a step has closed stdin.
    is_closed: bool,
    /// The time of the CLI's last output.
    heard: Instant,
}

impl<'a> Host<'a> {
    /// Returns a host at the start of a run.
    pub(crate) fn new(script: &'a HostScript, begin: Instant) -> Self {
        Self {
            script,
            printed: PrintedRecords::new(script),
            lines: LineMaker::new(script.profile),
            fired: 0,
            last: RecordPlace { at: begin, offset: 0 },
            due: VecDeque::new(),
            offset: 0,
            is_message_open: false,
            is_closed: false,
            heard: begin,
        }
    }

    /// Reads bytes of stdout that came at `at`.
    ///
    /// # Errors
    ///
    /// [`HostError`] when a step that fires now can't be written.
    pub(crate) fn feed(&mut self, at: Instant, bytes: &[u8]) -> Result<(), HostError> {
        self.heard = at;
        let mut rest = bytes;
        while let Some((after, place, call)) = self.printed.next_line(at, rest) {
            rest = after;
            if self.printed.results.last().is_some_and(|last| last.offset == place.offset) {
                self.is_message_open = false;
            }
            if let Some(call) = call {
                let text = self.lines.at_once(&call);
                self.push(text, place);
            }
            self.fire(at)?;
        }
        Ok(())
    }

    /// Returns the next line that is due.
    ///
    /// # Errors
    ///
    /// [`HostError`] when a step that fires now can't be written.
    pub(crate) fn next_due(&mut self, now: Instant) -> Result<Option<DueLine>, HostError> {
        self.fire(now)?;
        Ok(self.due.pop_front())
    }

    /// Returns whether stdin is to be closed: the scenario closes it, or every step was written and every request
    /// answered.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let Self { printed, .. } = self;
        let is_asking = printed.questions.iter().any(|question| !question.is_closed);
        self.is_closed && self.due.is_empty()
            || self.fired == self.script.steps.len()
                && self.due.is_empty()
                && !self.is_message_open
                && !printed.is_in_turn
                && !is_asking
                && printed.responses.len() as u64 >= self.lines.requests()
                && now.saturating_duration_since(self.heard) >= QUIET
    }

    /// Describes the first step that has not fired, and what it waits for.
    pub(crate) fn unfired(&self) -> Option<String> {
        let HostScriptStep { name, when, delay_ms, .. } = self.script.steps.get(self.fired)?;
        Some(match when {
            Some(when) if self.place_of(when).is_none() => {
                format!("{name} waits for `when = {when}`")
            }
            _ => format!("{name} waits for its delay of {delay_ms} ms"),
        })
    }

    /// Describes the first question that has no answer.
    pub(crate) fn unanswered(&self) -> Option<String> {
        let open = self.printed.questions.iter().find(|question| !question.is_closed)?;
        let question = &open.question;
        let call = question.tool_use_id.as_ref().map(|id| format!(" (call {id})"));
        Some(format!(
            "no step answers the question about `{}`{}: {}",
            question.tool_name,
            call.unwrap_or_default(),
            super::request::clip(question.input.as_str(), 200)
        ))
    }

    /// Fires the steps that are due.
    fn fire(&mut self, now: Instant) -> Result<(), HostError> {
        while let Some(step) = self.script.steps.get(self.fired) {
            let place = match &step.when {
                None => Some(self.last),
                Some(when) => self.place_of(when).map(|place| place.max(self.last)),
            };
            let delay = Duration::from_millis(step.delay_ms);
            // A read may have come before the previous step was written.
            let is_due = |place: &RecordPlace| delay.is_zero() || now >= place.at + delay;
            let Some(place) = place.filter(is_due) else { return Ok(()) };
            self.write(step, place)?;
            self.last = RecordPlace { at: now, offset: place.offset };
            self.fired += 1;
        }
        Ok(())
    }

    /// Returns the place at which the CLI printed the record of a trigger, if it has.
    fn place_of(&self, when: &SayTrigger) -> Option<RecordPlace> {
        let nth = |places: &[RecordPlace], n: u64| {
            let at = usize::try_from(n).ok()?.checked_sub(1)?;
            places.get(at).copied()
        };
        match when {
            SayTrigger::Result(n) => nth(&self.printed.results, *n),
            SayTrigger::Response(n) => nth(&self.printed.responses, *n),
            SayTrigger::Asked(named) => {
                self.question(named).map(|at| self.printed.questions[at].place)
            }
            SayTrigger::Tool(named) => self.call(named).map(|at| self.printed.calls[at].place),
            SayTrigger::Text(text) => self.printed.texts.iter().find(|(part, _)| part == text)?.1,
        }
    }

    fn question(&self, named: &NamedTool) -> Option<usize> {
        let questions = self.printed.questions.iter();
        pick(named, questions.map(|asked| (asked.question.tool_name.as_str(), asked.is_taken)))
    }

    fn call(&self, named: &NamedTool) -> Option<usize> {
        let calls = self.printed.calls.iter();
        pick(named, calls.map(|call| (call.tool.as_str(), call.is_taken)))
    }

    /// Adds the line of a step to those that are due.
    fn write(&mut self, step: &HostScriptStep, place: RecordPlace) -> Result<(), HostError> {
        let mut asked = None;
        match &step.when {
            Some(SayTrigger::Asked(named)) => {
                asked = self.question(named);
                if let Some(at) = asked {
                    self.printed.questions[at].is_taken = true;
                }
            }
            Some(SayTrigger::Tool(named)) => {
                if let Some(at) = self.call(named) {
                    self.printed.calls[at].is_taken = true;
                }
            }
            _ => {}
        }
        let question = asked.map(|at| &self.printed.questions[at]);
        let mut answered = None;
        let text = match (&step.action, question) {
            (HostAction::Begin(request), _) => self.lines.begin(request),
            (HostAction::Say(SayAction::Message { content, uuid }), _) => {
                self.is_message_open = true;
                self.lines.message(content, *uuid)
            }
            (HostAction::Say(SayAction::Interrupt), _) => self.lines.interrupt(),
            (HostAction::Say(SayAction::Initialize(initialize)), _) => {
                self.lines.initialize(initialize)
            }
            (HostAction::Say(SayAction::Raw(line)), _) => self.raw(line),
            (HostAction::Say(SayAction::Answer(answer)), Some(question)) => {
                answered = Some(question.request_id.clone());
                lines::answer(question, answer, &step.name)?
            }
            (HostAction::Say(SayAction::Choose(chosen)), Some(question)) => {
                answered = Some(question.request_id.clone());
                lines::choice(question, chosen.iter(), &step.name)?
            }
            (HostAction::Say(SayAction::Close), _) => {
                self.is_closed = true;
                return Ok(());
            }
            // A scenario with such a step and no question is refused when it is loaded.
            (HostAction::Say(SayAction::Answer(_) | SayAction::Choose(_)), None) => return Ok(()),
        };
        if let Some(id) = answered {
            self.printed.close(&id);
        }
        self.push(text, place);
        Ok(())
    }

    /// Adds a line to those that are due. A step with a delay may come after the answer to a later record; its
    /// offset does not fall behind.
    fn push(&mut self, text: String, place: RecordPlace) {
        self.offset = self.offset.max(place.offset);
        self.due.push_back(DueLine { text, offset: self.offset });
    }

    /// Counts a line that the scenario wrote itself by its kind.
    fn raw(&mut self, line: &str) -> String {
        // A line that is not JSON counts neither as a message nor as a request.
        match WireLine::read(line.as_bytes()) {
            Some(WireLine::Message(_)) => self.is_message_open = true,
            Some(WireLine::Request(_)) => self.lines.count_request(),
            _ => {}
        }
        line.to_owned()
    }
}

/// Returns the index of the question or call that a trigger means: the n-th of its tool, or the first that no step has
/// waited for.
fn pick<'t>(named: &NamedTool, mut all: impl Iterator<Item = (&'t str, bool)>) -> Option<usize> {
    match named.number {
        None => all.position(|(tool, is_taken)| tool == named.name && !is_taken),
        Some(number) => {
            let of_tool = all.enumerate().filter(|(_, (tool, _))| *tool == named.name);
            let skipped = usize::try_from(number).ok()?.checked_sub(1)?;
            of_tool.map(|(at, _)| at).nth(skipped)
        }
    }
}

#[cfg(test)]
mod tests;
