//! Finds the cassette that began a session, because a gateway that continues a session may pass a message without a
//! marker.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use clitape_recording::files;
use serde::Deserialize;

/// The part of a session that is played so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlayedSession {
    /// The cassette that was played last, `NAME/VERSION`.
    pub(super) cassette: String,
    /// The number of its turns that have begun.
    pub(super) turns: usize,
}

/// A line of the log about a turn.
#[derive(Deserialize)]
struct TurnLine {
    event: String,
    cassette: String,
    session_id: String,
}

/// Looks a session up in the log, into which all processes of a run write; `None` if the log does not have it.
pub(super) fn played(log: &Path, session_id: &str) -> Option<PlayedSession> {
    let mut lines = BufReader::new(files::open(log).ok()?);
    let (mut found, mut line): (Option<PlayedSession>, _) = (None, Vec::new());
    while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        let turn = serde_json::from_slice::<TurnLine>(&line).ok();
        line.clear();
        let Some(turn) = turn.filter(|turn| turn.event == "turn" && turn.session_id == session_id)
        else {
            continue;
        };
        match &mut found {
            Some(played) if played.cassette == turn.cassette => played.turns += 1,
            _ => found = Some(PlayedSession { cassette: turn.cassette, turns: 1 }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cassette_of_a_session_is_found_among_others() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let turn = |session: &str, cassette: &str| {
            format!(
                "{{\"event\":\"turn\",\"cassette\":\"{cassette}\",\"session_id\":\"{session}\"}}\n"
            )
        };
        let text = [
            "{\"event\":\"start\"}\nno json\n".to_owned(),
            turn("s", "a/1.0.0"),
            turn("other", "b/1.0.0"),
            turn("s", "a/1.0.0"),
            turn("next", "a/1.0.0"),
            turn("next", "c/1.0.0"),
        ];
        std::fs::write(&log, text.concat()).unwrap();
        for (session, expect) in
            [("s", Some(("a/1.0.0", 2))), ("next", Some(("c/1.0.0", 1))), ("none", None)]
        {
            let found = played(&log, session);
            let found = found.as_ref().map(|played| (played.cassette.as_str(), played.turns));
            assert_eq!(found, expect, "{session}");
        }
        assert_eq!(played(&folder.path().join("missing"), "s"), None);
    }
}
