//! The questions of a run that wait for an answer, on its bus ([Q1](crate::rules::Q1)).

use std::time::Duration;

use tokio::time::Instant;

use crate::bus::{Bus, BusData};
use crate::question::{Closing, Question, QuestionClosed, QuestionWaits};

/// A question that nobody has answered yet.
#[derive(Debug)]
struct WaitingQuestion {
    question: Question,
    asked: Instant,
}

/// A question that goes on in the next run.
#[derive(Debug)]
pub(crate) struct MovedQuestion(WaitingQuestion);

/// The questions of a run that wait for an answer. Whatever asks or closes one publishes it.
#[derive(Debug)]
pub(crate) struct AskedQuestions {
    bus: Bus,
    /// The open questions, in the order in which they were asked.
    open: Vec<WaitingQuestion>,
}

impl AskedQuestions {
    pub(super) fn new(bus: Bus) -> Self {
        Self { bus, open: Vec::new() }
    }

    /// Publishes a question, unless it is open already (Q1).
    pub(super) fn ask(&mut self, question: Question) {
        if self.open.iter().all(|open| open.question.id != question.id) {
            self.ask_again(MovedQuestion(WaitingQuestion { question, asked: Instant::now() }));
        }
    }

    /// When the newest of the open questions has waited for `time`; `None` when none is open.
    pub(crate) fn asks_until(&self, time: Duration) -> Option<Instant> {
        self.open.last().map(|question| question.asked + time)
    }

    /// Publishes that the question `id` is closed, unless it is not open (Q1).
    pub(crate) fn close(&mut self, id: &str, closing: Closing, by: Option<&str>) {
        let Some(place) = self.open.iter().position(|open| open.question.id == id) else {
            return;
        };
        let WaitingQuestion { question, asked } = self.open.remove(place);
        let (id, by, after) = (question.id, by.map(str::to_owned), asked.elapsed());
        let closed = QuestionClosed { id, closing, by, after };
        self.bus.publish(BusData::QuestionClosed(closed));
    }

    /// Publishes that every open question of `call`, or every open question, is closed (Q1).
    pub(crate) fn close_all(&mut self, call: Option<&str>, closing: &Closing) {
        let is_meant =
            |open: &&WaitingQuestion| call.is_none() || open.question.call.as_deref() == call;
        let ids = self.open.iter().filter(is_meant).map(|open| open.question.id.clone());
        for id in ids.collect::<Vec<String>>() {
            self.close(&id, closing.clone(), None);
        }
    }

    /// Publishes that the open question `id` still waits and is denied after `denied_in` (Q5).
    pub(crate) fn remind(&mut self, id: &str, denied_in: Duration) {
        if let Some(open) = self.open.iter().find(|open| open.question.id == id) {
            let (id, after) = (id.to_owned(), open.asked.elapsed());
            self.bus.publish(BusData::QuestionWaits(QuestionWaits { id, after, denied_in }));
        }
    }

    /// Closes the questions of subagents, which run on when the turn is over, and returns them for the
    /// next run (Q1).
    pub(crate) fn move_on(&mut self) -> Vec<MovedQuestion> {
        let is_of_subagent = |open: &mut WaitingQuestion| open.question.parent.is_some();
        let moved: Vec<WaitingQuestion> = self.open.extract_if(.., is_of_subagent).collect();
        for WaitingQuestion { question, asked } in &moved {
            let (id, closing, after) = (question.id.clone(), Closing::Moved, asked.elapsed());
            self.bus.publish(BusData::QuestionClosed(QuestionClosed {
                id,
                closing,
                by: None,
                after,
            }));
        }
        moved.into_iter().map(MovedQuestion).collect()
    }

    /// Asks a question of the run before, which waits since then.
    pub(crate) fn ask_again(&mut self, MovedQuestion(open): MovedQuestion) {
        let question = open.question.clone();
        self.open.push(open);
        self.bus.publish(BusData::Question(question));
    }
}
