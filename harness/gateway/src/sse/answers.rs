//! Answers that readers of a stream post: `POST /runs/{id}/answer` ([Q11](crate::rules::Q11)).
//!
//! | field | what it is |
//! |---|---|
//! | `question` | `questionId` of the `question` event |
//! | `behavior` | `allow`, `deny`, `stop` (deny, and end the turn) or `choose` |
//! | `suggestions` | of `allow`: which of the suggestions are taken, from 0 |
//! | `answers` | of `choose`, for each choice: a list of options, from 0, or a text |
//! | `message` | of `deny` and `stop`: why, for the model |
//! | `by` | who answers |

use axum::http::StatusCode;
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::question::{Answer, AnswerError, Chosen};

/// An answer that a reader posted, for the host of the run.
#[derive(Debug)]
#[non_exhaustive]
pub struct PostedAnswer {
    /// Id of the stream it was posted to.
    pub run: String,
    /// Id of the question.
    pub question: String,
    /// The answer, for [`Conversation::answer`](crate::Conversation::answer).
    pub answer: Answer,
    /// Who answered, as the reader says.
    pub by: Option<String>,
    /// Takes what became of it, which the reader reads; one that is dropped says that nobody took it.
    pub reply: oneshot::Sender<Result<(), AnswerError>>,
}

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    question: String,
    behavior: Behavior,
    #[serde(default)]
    suggestions: Vec<usize>,
    #[serde(default)]
    answers: Vec<ChosenOptions>,
    #[serde(default)]
    message: String,
    by: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Behavior {
    Allow,
    Deny,
    Stop,
    Choose,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ChosenOptions {
    Options(Vec<usize>),
    Text(String),
}

/// Reads the body of a request: what is posted, and where its reply comes.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn read(
    run: &str,
    body: &[u8],
) -> Result<(PostedAnswer, oneshot::Receiver<Result<(), AnswerError>>), String> {
    let Body { question, behavior, suggestions, answers, message, by } =
        serde_json::from_slice(body)
            .map_err(|error| format!("the answer can't be read: {error}"))?;
    let chosen = |chosen| match chosen {
        ChosenOptions::Options(options) => Chosen::Options(options),
        ChosenOptions::Text(text) => Chosen::Text(text),
    };
    let answer = match behavior {
        Behavior::Allow => Answer::Allow { input: None, suggestions },
        Behavior::Deny => Answer::Deny { message },
        Behavior::Stop => Answer::Stop { message },
        Behavior::Choose => Answer::Choose(answers.into_iter().map(chosen).collect()),
    };
    let (reply, replied) = oneshot::channel();
    Ok((PostedAnswer { run: run.to_owned(), question, answer, by, reply }, replied))
}

/// The status for what became of an answer.
pub(super) fn status(error: &AnswerError) -> StatusCode {
    match error {
        AnswerError::Unknown { .. } => StatusCode::NOT_FOUND,
        AnswerError::Twice { .. } | AnswerError::Late { .. } => StatusCode::CONFLICT,
        AnswerError::NoSuggestion { .. }
        | AnswerError::NotAChoice
        | AnswerError::NeedsChoice { .. }
        | AnswerError::WrongOption { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
