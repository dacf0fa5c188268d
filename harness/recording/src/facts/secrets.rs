//! The secrets that stdout states only in what tools have seen.

use std::collections::BTreeSet;

use clitape_gateway::sanitise;
use serde_json::Value;

use super::model::{Stated, StatedBlock};

/// A secret with fewer characters may be in a text by chance.
const SHORT: usize = 8;

/// The secrets in inputs and results of calls that the model itself does not say.
pub(super) fn secrets(stated: &Stated) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut find = |text: &str| {
        let line = format!("{text}\n");
        let secrets =
            sanitise::find(&line).into_iter().map(|found| line[found.bytes].trim().to_owned());
        found.extend(secrets.filter(|secret| secret.chars().count() >= SHORT));
    };
    for call in &stated.calls {
        let result = call.result.as_ref().map(|(result, _)| result);
        call.whole.iter().chain(result).flat_map(texts_in).for_each(&mut find);
        call.whole.iter().for_each(|input| find(&input.to_string()));
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

/// The texts in a value, its keys left out.
pub fn texts_in(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts_in).collect(),
        Value::Object(map) => map.values().flat_map(texts_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
