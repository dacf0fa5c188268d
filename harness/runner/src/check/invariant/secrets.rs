//! Secrets of tools: one that only the input or the result of a call has is on no bus and in no channel, not even its
//! beginning while the input streams.

use std::collections::BTreeSet;

use clitape_gateway::sanitise;
use serde_json::Value;

use super::violation::{Violation, by};
use crate::replay::{Lane, Replay, StatedBlock};

/// A secret with fewer characters may be in a text by chance.
const SHORT: usize = 8;
/// The characters of a secret with which a mask may begin.
const MASK_START: usize = 6;

/// B2: no secret of a call is on the bus or in a channel.
pub(super) fn secret_told(replay: &Replay) -> Option<Violation<'_>> {
    let secrets = secrets(replay);
    let mut told =
        replay.entries.iter().filter(|entry| is_told(entry.lane)).filter(|_| !secrets.is_empty());
    told.find_map(|entry| {
        let mut texts = Vec::new();
        entry.data.values().for_each(|value| strings(value, &mut texts));
        let is_open = entry.text("phase") == "update";
        let is_in = |secret: &&String| {
            texts
                .iter()
                .any(|text| text.contains(secret.as_str()) || is_open && begins(text, secret))
        };
        let secret = secrets.iter().find(is_in)?;
        let excerpt = sanitise::mask(secret);
        by(entry, format!("a secret that only a tool has seen is here: {excerpt}"))
    })
}

/// Whether a text ends with more of the beginning of a secret than its mask shows.
fn begins(text: &str, secret: &str) -> bool {
    let ends = secret.char_indices().map(|(at, _)| at).skip(MASK_START + 1);
    ends.into_iter().any(|end| text.ends_with(&secret[..end]))
}

/// The secrets in inputs and results of calls that the model itself does not say.
pub(super) fn secrets(replay: &Replay) -> BTreeSet<String> {
    let stated = &replay.stated;
    let mut texts = Vec::new();
    for call in &stated.calls {
        for value in [call.whole.as_ref(), call.result.as_ref().map(|(result, _)| result)] {
            value.into_iter().for_each(|value| strings(value, &mut texts));
        }
        texts.extend(call.whole.as_ref().map(Value::to_string));
    }
    let mut found = BTreeSet::new();
    for text in &texts {
        let line = format!("{text}\n");
        let secrets =
            sanitise::find(&line).into_iter().map(|found| line[found.bytes].trim().to_owned());
        found.extend(secrets.filter(|secret| secret.chars().count() >= SHORT));
    }
    let said: Vec<&str> = stated
        .messages
        .iter()
        .flat_map(|message| message.texts.iter().chain(&message.reasoning))
        .map(StatedBlock::text)
        .collect();
    found.retain(|secret| !said.iter().any(|text| text.contains(secret.as_str())));
    found
}

fn is_told(lane: Lane) -> bool {
    match lane {
        Lane::Bus | Lane::Telegram | Lane::Acp | Lane::Sse => true,
        Lane::Read | Lane::Lifecycle | Lane::Session => false,
    }
}

/// The texts in a value, its keys left out.
fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| strings(value, texts)),
        Value::Object(map) => map.values().for_each(|value| strings(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
