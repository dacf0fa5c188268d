//! Secrets of tools: one that only the input or the result of a call has is on no bus and in no channel, not even its
//! beginning while the input streams.

use clitape_gateway::sanitise;
use clitape_recording::facts::texts_in;
use clitape_recording::trace::Lane;

use super::violation::{Broken, by, by_index};
use crate::case::Case;
use crate::words::seconds;

/// The characters of a secret with which a mask may begin.
const MASK_START: usize = 6;

/// B2: no secret of a call is on the bus or in a channel.
pub(crate) fn secret_told(case: Case<'_>) -> Option<Broken<'_>> {
    let secrets = case.facts.secrets();
    let mut told =
        case.entries.iter().filter(|entry| is_told(entry.lane)).filter(|_| !secrets.is_empty());
    told.find_map(|entry| {
        let texts: Vec<&str> = entry.data.values().flat_map(texts_in).collect();
        let is_open = entry.text("phase") == "update";
        let is_in = |secret: &&String| {
            texts
                .iter()
                .any(|text| text.contains(secret.as_str()) || is_open && begins(text, secret))
        };
        let excerpt = sanitise::mask(secrets.iter().find(is_in)?);
        by(entry, format!("a secret that only a tool has seen is here: {excerpt}"))
    })
}

/// No secret of a call is ever shown in the chat.
pub(crate) fn secret_shown(case: Case<'_>) -> Option<Broken<'_>> {
    case.facts.secrets().iter().find_map(|secret| {
        let mut versions = case.chat().versions();
        let version = versions.find(|version| version.plain_text().contains(secret))?;
        let kept: String = secret.chars().take(4).collect();
        let (at, length) = (seconds(version.at), secret.chars().count());
        let what = format!("the secret {kept}… ({length} characters), which only a tool has seen");
        by_index(case, version.entry, format!("at {at} the person reads {what}"))
    })
}

/// Whether a text ends with more of the beginning of a secret than its mask shows.
fn begins(text: &str, secret: &str) -> bool {
    let ends = secret.char_indices().map(|(at, _)| at).skip(MASK_START + 1);
    ends.into_iter().any(|end| text.ends_with(&secret[..end]))
}

fn is_told(lane: Lane) -> bool {
    match lane {
        Lane::Bus | Lane::Telegram | Lane::Acp | Lane::Sse => true,
        Lane::Read | Lane::Lifecycle | Lane::Session => false,
    }
}
