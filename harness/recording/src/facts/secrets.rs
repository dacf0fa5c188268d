//! The secrets that stdout states only in what tools have seen.

use std::collections::BTreeSet;

use clitape_gateway::sanitise;

use super::json::texts_in;
use super::model::{Facts, RecordedBlock};

/// A secret with fewer characters may be in a text by chance.
const SHORT: usize = 8;

impl Facts {
    /// The secrets in inputs and results of calls that the model itself does not say.
    pub fn secrets(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut find = |text: &str| {
            let line = format!("{text}\n");
            let secrets =
                sanitise::find(&line).into_iter().map(|found| line[found.bytes].trim().to_owned());
            found.extend(secrets.filter(|secret| secret.chars().count() >= SHORT));
        };
        for call in &self.calls {
            let result = call.result.as_ref().map(|(result, _)| result);
            call.whole.iter().chain(result).flat_map(texts_in).for_each(&mut find);
            match &call.whole {
                Some(input) => find(&input.to_string()),
                None => find(&call.streamed),
            }
        }
        let said: Vec<&str> = self
            .messages
            .iter()
            .flat_map(|message| message.texts.iter().chain(&message.reasoning))
            .map(RecordedBlock::text)
            .collect();
        found.retain(|secret| !said.iter().any(|text| text.contains(secret.as_str())));
        found
    }
}
