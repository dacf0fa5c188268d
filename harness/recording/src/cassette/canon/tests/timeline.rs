use crate::cassette::Exit;
use crate::cassette::canon::texts::{ByteEdit, splice};
use crate::cassette::canon::*;

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
