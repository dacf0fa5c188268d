//! The events that the bus hands out, and their listeners.

use super::*;

fn text(delta: &str) -> BusData {
    BusData::Assistant {
        message_id: "m".to_owned(),
        delta: delta.to_owned(),
        length: delta.len() as u64,
        parent: None,
    }
}

/// Publishes `data` and returns the events of a listener as `seq stream`.
fn check(data: Vec<BusData>, expect: &[&str]) {
    let bus = Bus::new("r1");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let subscription = bus.subscribe(move |e| lock(&log).push(format!("{} {}", e.seq, e.stream())));
    assert_eq!(bus.listeners(), 1);
    for item in data {
        bus.publish(item);
    }
    drop(subscription);
    assert_eq!(bus.listeners(), 0);
    bus.publish(text("unheard"));
    assert_eq!(*lock(&seen), expect);
}

#[test]
pub(crate) fn b1_seq_from_one_without_gaps() {
    check(
        vec![
            BusData::Lifecycle(Phase::Start),
            text("a"),
            BusData::Thinking {
                message_id: "m".into(),
                delta: "b".into(),
                length: 1,
                parent: None,
            },
        ],
        &["1 lifecycle", "2 assistant", "3 thinking"],
    );
}

#[test]
pub(crate) fn b3_nothing_after_the_end() {
    let end = || BusData::Lifecycle(Phase::End { text: "".into() });
    let error =
        BusData::Lifecycle(Phase::Error { kind: FailureKind::Other, message: "late".into() });
    check(
        vec![BusData::Lifecycle(Phase::Start), end(), end(), text("late"), error],
        &["1 lifecycle", "2 lifecycle"],
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn b1_at_is_tokio_time() {
    let bus = Bus::new("r1");
    let at = Arc::new(Mutex::new(0));
    let seen = at.clone();
    let _subscription = bus.subscribe(move |e| *lock(&seen) = e.at);
    tokio::time::advance(std::time::Duration::from_millis(1_234)).await;
    bus.publish(text("a"));
    assert_eq!(*lock(&at), 1_234);
}

#[test]
pub(crate) fn b3_one_start() {
    let start = || BusData::Lifecycle(Phase::Start);
    check(vec![start(), start(), text("a")], &["1 lifecycle", "2 assistant"]);
}

#[test]
pub(crate) fn b1_what_a_listener_publishes_comes_next_to_all_in_the_same_order() {
    let bus = Bus::new("r1");
    let seen = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
    let (log, answering) = (seen.clone(), bus.clone());
    let _first = bus.subscribe(move |event| {
        lock(&log)[0].push(event.seq);
        if event.seq == 1 {
            answering.publish(text("answer"));
        }
    });
    let log = seen.clone();
    let _second = bus.subscribe(move |event| lock(&log)[1].push(event.seq));
    bus.publish(text("a"));
    bus.publish(text("b"));
    assert_eq!(*lock(&seen), [[1, 2, 3], [1, 2, 3]]);
}

#[test]
pub(crate) fn g2_a_listener_that_panics_stops_no_other() {
    let bus = Bus::new("r1");
    let seen = Arc::new(Mutex::new(0));
    let log = seen.clone();
    let _broken = bus.subscribe(|_| panic!("oh"));
    let _well = bus.subscribe(move |_| *lock(&log) += 1);
    bus.publish(text("a"));
    bus.publish(text("b"));
    assert_eq!((*lock(&seen), bus.listener_panics()), (2, 2));
}
