//! The questions of the CLI to a person before a tool runs, and the ways in which they are closed
//! ([Q1](crate::rules::Q1)).
//!
//! A [`Question`] on the bus is sanitised as the arguments of a tool are
//! ([B2](crate::rules::B2)); the CLI's own words, which an answer needs, never leave the host.

pub(crate) mod answer;
mod model;

pub use answer::{
    Answer, AnswerError, Chosen, DATA_LIMIT, HostLine, OpenQuestions, Press, PressedButton,
};
pub(crate) use model::closing;
pub use model::{
    Choice, ChoiceOption, Closing, Question, QuestionClosed, QuestionKind, QuestionTimes,
    QuestionWaits,
};
