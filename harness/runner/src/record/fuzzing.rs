//! Computes the answers of a scripted model without a server (feature `fuzzing`), for the fuzz target
//! `scenario`.

use clitape_recording::scenario::{Model, ModelFailureKind};
use hyper::body::Bytes;

use super::answer::{Writer, overrun};
use super::script::{Attempts, ModelMessage, ModelRequest, RunStage, choose};
use super::workspace::Folders;

/// The number of times that each request is repeated, to reach the failures of a turn and the answer after them.
const ATTEMPTS: usize = 3;

/// Returns the bodies of all answers that the model has for a run: for each number of messages in each
/// conversation, as a stream and as one message, or as an error.
pub fn answers(model: &Model) -> impl Iterator<Item = Vec<u8>> {
    let is_served = overrun(model).is_none();
    requests(model)
        .filter(move |_| is_served)
        .flat_map(move |(asked, stage)| {
            let mut attempts = Attempts::new();
            (0..ATTEMPTS)
                .flat_map(|_| bodies(model, &asked, &stage, &mut attempts))
                .collect::<Vec<_>>()
        })
        .map(|body| body.concat())
}

/// Returns one request for each turn, and one more.
fn requests(model: &Model) -> impl Iterator<Item = (ModelRequest, RunStage)> {
    let markers = model.conversations.iter().map(|one| (one.marker.as_str(), 0, &one.turns));
    let steps = (1..).zip(&model.steps).map(|(before, step)| ("", before, &step.turns));
    let all = std::iter::once(("", 0, &model.turns)).chain(steps).chain(markers);
    all.flat_map(|(marker, before, turns)| {
        (0..=turns.len()).map(move |answered| {
            let message = ModelMessage { by_model: true, text: String::new() };
            let asked = ModelRequest {
                model: "claude-fuzzed".to_owned(),
                first_user: marker.to_owned(),
                messages: vec![message; answered],
                ..ModelRequest::default()
            };
            (asked, RunStage { before, prompt: String::new() })
        })
    })
}

/// Returns the bodies that answer a request.
fn bodies(
    model: &Model,
    asked: &ModelRequest,
    stage: &RunStage,
    attempts: &mut Attempts,
) -> Vec<Vec<Bytes>> {
    let folders = Folders::canonical();
    let Some(answer) = choose(model, asked, stage, attempts) else { return Vec::new() };
    let writer = Writer { script: model, folders: &folders, answer: &answer, model: &asked.model };
    if let Some(ModelFailureKind::Http { error, .. }) = answer.failure {
        return vec![vec![writer.error(error)]];
    }
    let stream = writer.stream().into_iter().filter_map(|step| step.bytes).collect();
    vec![stream, vec![writer.whole()]]
}
