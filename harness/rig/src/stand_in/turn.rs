//! Cuts a cassette at a later turn, for a host that ended the process and started another one for the same session.

use clitape_recording::cassette::{Cassette, Tick, TickKind};
use clitape_recording::wire::WireLine;

/// Returns the cassette from the host's message number `turn` on, counted from 1, and the bytes of stdout before it;
/// the whole cassette if it has no such message.
///
/// The transcript is empty, because the earlier process has written the lines before.
pub(super) fn from_turn(cassette: Cassette, turn: usize) -> (Cassette, u64) {
    let lines: Vec<&[u8]> = cassette.stdin.split_inclusive(|&byte| byte == b'\n').collect();
    let messages = (1_u64..).zip(&lines).filter(|(_, line)| is_message(line));
    let Some(first) = turn.checked_sub(2).and_then(|skipped| messages.skip(1).nth(skipped)) else {
        return (cassette, 0);
    };
    let Some((from, timeline)) = timeline_from(&cassette.timeline, first.0) else {
        return (cassette, 0);
    };
    let at = usize::try_from(from).unwrap_or(usize::MAX).min(cassette.stdout.len());
    let written = usize::try_from(first.0).unwrap_or(usize::MAX).saturating_sub(1);
    let cassette = Cassette {
        stdout: cassette.stdout[at..].to_vec(),
        stdin: lines[written..].concat(),
        timeline,
        stderr: Vec::new(),
        transcript: Vec::new(),
        ..cassette
    };
    (cassette, from)
}

/// Returns the number of messages in the lines of a host.
pub(super) fn messages(stdin: &[u8]) -> usize {
    stdin.split(|&byte| byte == b'\n').filter(is_message).count()
}

/// Returns whether a line of a host is a message.
fn is_message(line: &&[u8]) -> bool {
    matches!(WireLine::read(line), Some(WireLine::Message(_)))
}

/// Returns the bytes of stdout before a line of stdin, and the timeline from that line on.
fn timeline_from(timeline: &[Tick], first: u64) -> Option<(u64, Vec<Tick>)> {
    let mut read = 0;
    let mut from = None;
    let mut rest = Vec::new();
    for tick in timeline {
        let before = read;
        if let TickKind::Out(bytes) = tick.kind {
            read += bytes;
        }
        match (from, &tick.kind) {
            (None, TickKind::In { line, offset }) if *line == first => {
                let offset = offset.unwrap_or(before);
                from = Some(offset);
                rest.push(Tick { after_ms: 0, kind: TickKind::In { line: 1, offset: Some(0) } });
                if before > offset {
                    rest.push(Tick { after_ms: 0, kind: TickKind::Out(before - offset) });
                }
            }
            // The cassette has no earlier stderr any more.
            (None, _) | (Some(_), TickKind::Err(_)) => {}
            (Some(from), TickKind::In { line, offset }) => {
                let offset = offset.map(|offset| offset.saturating_sub(from));
                let kind = TickKind::In { line: line.saturating_sub(first) + 1, offset };
                rest.push(Tick { after_ms: tick.after_ms, kind });
            }
            (Some(_), _) => rest.push(tick.clone()),
        }
    }
    from.map(|from| (from, rest))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Cuts `live-multi-turn` at a turn, and compares the lines of the host and the results that are left; also checks
    /// that the timeline covers every byte.
    fn check(turn: usize, lines: usize, results: usize) {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let whole = Cassette::load(&root.join("cassettes/live-multi-turn/2.1.330")).unwrap();
        let bytes = whole.stdout.len() as u64;
        let (cassette, left_out) = from_turn(whole, turn);
        assert_eq!(left_out + cassette.stdout.len() as u64, bytes);
        let stdout = String::from_utf8(cassette.stdout).unwrap();
        let out = cassette.timeline.iter().filter_map(|tick| match tick.kind {
            TickKind::Out(bytes) => Some(bytes),
            _ => None,
        });
        assert_eq!(out.sum::<u64>(), stdout.len() as u64);
        let written = String::from_utf8(cassette.stdin).unwrap();
        let found = (written.lines().count(), stdout.matches(r#""type":"result""#).count());
        assert_eq!(found, (lines, results), "{written}");
    }

    #[test]
    fn a_cassette_is_cut_before_a_message() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let stdin = root.join("cassettes/live-multi-turn/2.1.330/stdin.jsonl");
        let all = fs_err::read_to_string(stdin).unwrap().lines().count();
        check(1, all, 2);
        check(2, 3, 1);
        check(3, all, 2);
    }
}
