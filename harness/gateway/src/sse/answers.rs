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

use axum::body::{Body, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::limits::{POSTED_ANSWER, POSTED_ANSWER_TIME};
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
struct AnswerBody {
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

/// Hands the answer in `body` to the host, and says what became of it.
pub(super) async fn take(answers: &mpsc::Sender<PostedAnswer>, run: &str, body: Body) -> Response {
    let limit = usize::try_from(POSTED_ANSWER.get()).unwrap_or(usize::MAX);
    let body = match timeout(POSTED_ANSWER_TIME, to_bytes(body, limit)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let words =
                format!("the answer broke off or is longer than {POSTED_ANSWER}; shorten it");
            return (StatusCode::PAYLOAD_TOO_LARGE, words).into_response();
        }
        Err(_) => {
            let words = "the answer did not arrive in time; post it again";
            return (StatusCode::REQUEST_TIMEOUT, words).into_response();
        }
    };
    let (posted, replied) = match read(run, &body) {
        Ok(read) => read,
        Err(words) => return (StatusCode::BAD_REQUEST, words).into_response(),
    };
    if answers.try_send(posted).is_err() {
        return nobody_took_it();
    }
    match timeout(POSTED_ANSWER_TIME, replied).await {
        Ok(Ok(Ok(()))) => StatusCode::NO_CONTENT.into_response(),
        Ok(Ok(Err(error))) => (status(&error), error.to_string()).into_response(),
        Ok(Err(_)) | Err(_) => nobody_took_it(),
    }
}

fn nobody_took_it() -> Response {
    let words = "the gateway did not take the answer; look at the stream before you post it again";
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], words).into_response()
}

/// Reads the body of a request: what is posted, and where its reply comes.
///
/// # Errors
///
/// The words for the reader that say why the body can't be read.
fn read(
    run: &str,
    body: &[u8],
) -> Result<(PostedAnswer, oneshot::Receiver<Result<(), AnswerError>>), String> {
    let AnswerBody { question, behavior, suggestions, answers, message, by } =
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
fn status(error: &AnswerError) -> StatusCode {
    match error {
        AnswerError::Unknown { .. } => StatusCode::NOT_FOUND,
        AnswerError::Twice { .. } | AnswerError::Late { .. } => StatusCode::CONFLICT,
        AnswerError::NoSuggestion { .. }
        | AnswerError::NotAChoice
        | AnswerError::NeedsChoice { .. }
        | AnswerError::WrongOption { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
