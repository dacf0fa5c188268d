//! The questions that are open, for a host that answers them ([Q4](crate::rules::Q4),
//! [Q5](crate::rules::Q5)).

use std::collections::VecDeque;

use clitape_stream::Event;
use tokio::time::Instant;

use super::answer::{Answer, AnswerError, AskedInput, HostLine};
use super::model::{Closing, QuestionTimes};
use super::press::Press;

/// Closed questions that are remembered, to recognise late answers.
const REMEMBERED: usize = 1_024;

/// A table of the questions that wait for an answer; it takes one answer for each.
///
/// It is fed with the parser's events. A [`Conversation`](crate::Conversation) has one of its own.
#[derive(Debug)]
pub struct OpenQuestions {
    times: QuestionTimes,
    open: Vec<AskedQuestion>,
    closed: VecDeque<(String, Closed)>,
}

#[derive(Debug)]
struct AskedQuestion {
    id: String,
    call: Option<String>,
    is_of_subagent: bool,
    asked: AskedInput,
    at: Instant,
    reminded: bool,
}

/// The reason for which a question was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    Answered,
    Withdrawn,
    Expired,
    Settled,
    Over,
}

impl Closed {
    /// Why an answer is refused now.
    fn refuses(self, id: &str) -> AnswerError {
        let id = id.to_owned();
        let why = match self {
            Self::Answered => return AnswerError::Twice { id },
            Self::Withdrawn => "the agent took it back",
            Self::Expired => "it had waited too long and was denied",
            Self::Settled => "the call has its result",
            Self::Over => "the turn is over",
        };
        AnswerError::Late { id, why }
    }
}

/// The next step for a question that has waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// The person is reminded of it.
    Remind(String),
    /// It is denied.
    Deny(String),
}

impl OpenQuestions {
    /// Makes an empty table.
    pub fn new(times: QuestionTimes) -> Self {
        Self { times, open: Vec::new(), closed: VecDeque::new() }
    }

    /// Takes the parser's next event.
    pub fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Question { id, name, call, input, suggestions, parent, .. }
                if self.ids().all(|open| open != &**id) =>
            {
                self.open.push(AskedQuestion {
                    id: id.to_string(),
                    call: call.as_deref().map(str::to_owned),
                    is_of_subagent: parent.is_some(),
                    asked: AskedInput::new(name, input.value(), &suggestions.value()),
                    at: Instant::now(),
                    reminded: false,
                });
            }
            Event::QuestionWithdrawn { id } => {
                self.close(Closed::Withdrawn, |open| open.id == **id);
            }
            Event::Answered { id, .. } => {
                self.close(Closed::Answered, |open| open.id == **id);
            }
            Event::ToolResult { id, .. } => {
                self.close(Closed::Settled, |open| open.call.as_deref() == Some(id));
            }
            // A subagent may run on, and wait for its answer, until the process ends.
            Event::Outcome(outcome) => {
                let is_over = outcome.status == clitape_stream::RunStatus::Incomplete;
                self.close(Closed::Over, |open| is_over || !open.is_of_subagent);
            }
            _ => {}
        }
    }

    /// Ids of the questions that are open, in the order in which they were asked.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(|open| open.id.as_str())
    }

    /// The id of the open question whose button was pressed.
    pub fn pressed(&self, press: &Press) -> Option<&str> {
        self.ids().find(|id| press.is_for(id))
    }

    /// Answers the question `id`: the line for the CLI's stdin.
    ///
    /// # Errors
    ///
    /// [`AnswerError`] when the question has an answer, is closed or was never asked, or when the answer
    /// does not fit it. The last leaves the question open.
    pub fn answer(&mut self, id: &str, answer: &Answer) -> Result<HostLine, AnswerError> {
        self.take(id, answer).map(|(line, _)| line)
    }

    /// Answers the question `id`, and says what becomes of it.
    pub(crate) fn take(
        &mut self,
        id: &str,
        answer: &Answer,
    ) -> Result<(HostLine, Closing), AnswerError> {
        let Some(open) = self.open.iter().find(|open| open.id == id) else {
            let closed = self.closed.iter().rev().find(|(closed, _)| closed == id);
            let unknown = || AnswerError::Unknown { id: id.to_owned() };
            return Err(closed.map_or_else(unknown, |(_, how)| how.refuses(id)));
        };
        let taken = open.asked.answer(id, answer)?;
        self.close(Closed::Answered, |open| open.id == id);
        Ok(taken)
    }

    /// When the next question has waited long enough for something to be done about it.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.open.iter().map(|open| open.due(self.times)).min()
    }

    /// The first question that has waited long enough; it is reminded of once.
    pub(crate) fn overdue(&mut self) -> Option<Overdue> {
        let (now, times) = (Instant::now(), self.times);
        let open = self.open.iter_mut().find(|open| open.due(times) <= now)?;
        let id = open.id.clone();
        if open.at + times.deny <= now {
            return Some(Overdue::Deny(id));
        }
        open.reminded = true;
        Some(Overdue::Remind(id))
    }

    /// Denies the question `id`, which is still without an answer.
    pub(crate) fn expire(&mut self, id: &str) -> Option<HostLine> {
        let message = format!(
            "Nobody answered within {} s, so it was denied. Go on without it, or ask later.",
            self.times.deny.as_secs_f64()
        );
        let (line, _) = self.take(id, &Answer::deny(message)).ok()?;
        if let Some((_, how)) = self.closed.back_mut() {
            *how = Closed::Expired;
        }
        Some(line)
    }

    /// The times after which something is done.
    pub(crate) fn times(&self) -> QuestionTimes {
        self.times
    }

    /// Takes the questions from the table that `is_it` names.
    fn close(&mut self, how: Closed, is_it: impl Fn(&AskedQuestion) -> bool) {
        for open in self.open.extract_if(.., |open| is_it(open)) {
            self.closed.push_back((open.id, how));
        }
        let surplus = self.closed.len().saturating_sub(REMEMBERED);
        self.closed.drain(..surplus);
    }
}

impl AskedQuestion {
    /// When something is to be done about it next.
    fn due(&self, times: QuestionTimes) -> Instant {
        if self.reminded || times.remind >= times.deny {
            self.at + times.deny
        } else {
            self.at + times.remind
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
