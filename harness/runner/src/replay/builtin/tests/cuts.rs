use crate::replay::builtin::*;
use crate::replay::plan::Plan;

const RUN: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Grüße"}]},"session_id":"s"}"#,
    "\n",
);

/// Holds the cuts of a seed, on `stdout`, against the whole lines of [`RUN`].
fn check(stdout: &str, expect: Option<&str>) {
    let whole = Plan::canonical(RUN.as_bytes(), 1);
    let report = ParserReport::of(&whole.played(RUN.as_bytes().into()));
    for seed in 0..8 {
        let plan = Plan::seeded(stdout.as_bytes(), seed);
        let difference = report.difference(&plan.played(stdout.as_bytes().into()));
        assert_eq!(difference.as_deref(), expect, "seed {seed}: {stdout}");
    }
}

#[test]
fn cuts_change_no_event() {
    check(RUN, None);
    let other = "event 3 is another one than with whole lines";
    check(&RUN.replace("Grüße", "Gruß!!"), Some(other));
    let (init, _) = RUN.split_once('\n').unwrap();
    check(&format!("{init}\n"), Some(other));
}

#[test]
fn an_event_comes_with_the_piece_that_ends_its_line() {
    let line = EventCause::Piece(10, 20);
    let is_ended_by = |from, to| EventCause::Piece(from, to).ends(line);
    assert!(is_ended_by(10, 20) && is_ended_by(19, 20) && is_ended_by(5, 30));
    assert!(!is_ended_by(10, 19) && !is_ended_by(20, 30));
    assert!(
        EventCause::HostLine(2).ends(EventCause::HostLine(2))
            && EventCause::End.ends(EventCause::End)
    );
    assert!(!EventCause::HostLine(1).ends(EventCause::HostLine(2)) && !EventCause::End.ends(line));
}
