//! Timelines whose bytes were replaced: each read has the size of its replaced bytes.

use super::canon::Canonical;
use super::format::{Tick, TickKind};

/// A timeline out of `events`, each with its milliseconds since the start and with sizes before
/// replacements; `out` and `err` map the offsets of stdout and stderr to those after them.
///
/// A read without remaining bytes is removed, and its time becomes a part of the next interval.
pub fn timeline(
    events: impl IntoIterator<Item = (u64, TickKind)>,
    out: impl Fn(u64) -> u64,
    err: impl Fn(u64) -> u64,
) -> Vec<Tick> {
    let (mut at, mut out_at, mut err_at) = (0, 0, 0);
    let size = |from: &mut u64, n: u64, map: &dyn Fn(u64) -> u64| {
        let start = map(*from);
        *from = from.saturating_add(n);
        map(*from) - start
    };
    let mut ticks = Vec::new();
    for (when, kind) in events {
        let kind = match kind {
            TickKind::Out(n) => TickKind::Out(size(&mut out_at, n, &out)),
            TickKind::Err(n) => TickKind::Err(size(&mut err_at, n, &err)),
            TickKind::In { line, offset } => TickKind::In { line, offset: offset.map(&out) },
            other => other,
        };
        if !matches!(kind, TickKind::Out(0) | TickKind::Err(0)) {
            let after_ms = when.saturating_sub(at);
            at = when;
            ticks.push(Tick { after_ms, kind });
        }
    }
    ticks
}

/// The timeline of a recording after replacements in its `out` and `err`.
pub fn moved(ticks: &[Tick], out: &Canonical, err: &Canonical) -> Vec<Tick> {
    let events = ticks.iter().scan(0_u64, |at, tick| {
        *at = at.saturating_add(tick.after_ms);
        Some((*at, tick.kind.clone()))
    });
    timeline(events, |raw| out.map_offset(raw), |raw| err.map_offset(raw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cassette::Exit;
    use crate::cassette::canon::splice::{ByteEdit, splice};

    fn check(ticks: Vec<Tick>, expect: &[(u64, TickKind)]) {
        let found: Vec<_> = ticks.into_iter().map(|tick| (tick.after_ms, tick.kind)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn sizes_are_canonical_and_intervals_add_up() {
        let events = [
            (5, TickKind::Out(10)),
            (7, TickKind::Out(4)),
            (7, TickKind::Err(3)),
            (9, TickKind::In { line: 1, offset: Some(8) }),
            (9, TickKind::In { line: 2, offset: Some(16) }),
            (9, TickKind::In { line: 3, offset: None }),
            (12, TickKind::Out(6)),
            (15, TickKind::Exit(Exit::Code(0))),
        ];
        // Bytes 8 to 16 of stdout became one byte.
        let out = |raw: u64| if raw <= 8 { raw } else { 9 + raw.saturating_sub(16) };
        check(
            timeline(events, out, |raw| raw),
            &[
                (5, TickKind::Out(9)),
                (2, TickKind::Err(3)),
                (2, TickKind::In { line: 1, offset: Some(8) }),
                (0, TickKind::In { line: 2, offset: Some(9) }),
                (0, TickKind::In { line: 3, offset: None }),
                (3, TickKind::Out(4)),
                (3, TickKind::Exit(Exit::Code(0))),
            ],
        );
    }

    #[test]
    fn a_timeline_moves_with_its_bytes() {
        let edit = ByteEdit { span: 2..8, with: b"x".to_vec(), rule: None };
        let (out, err) = (splice(b"0123456789", vec![edit]), splice(b"abc", Vec::new()));
        let ticks = [(1, 3), (2, 4), (4, 3)].map(|(ms, n)| (ms, TickKind::Out(n)));
        let more = [(8, TickKind::Err(3)), (16, TickKind::Exit(Exit::Code(0)))];
        let ticks: Vec<Tick> =
            ticks.into_iter().chain(more).map(|(after_ms, kind)| Tick { after_ms, kind }).collect();
        check(
            moved(&ticks, &out, &err),
            &[
                (1, TickKind::Out(3)),
                (6, TickKind::Out(2)),
                (8, TickKind::Err(3)),
                (16, TickKind::Exit(Exit::Code(0))),
            ],
        );
    }
}
