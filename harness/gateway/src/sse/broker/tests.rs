//! The events that readers of a stream get, wherever they begin and however late they are.

use super::super::wire::tests::on_the_wire;
use super::*;

fn text(delta: &str) -> BusData {
    BusData::Assistant { message_id: "m".into(), delta: delta.into(), length: 1, parent: None }
}

fn end() -> BusData {
    BusData::Lifecycle(Phase::End { text: String::new() })
}

fn broker(events: usize) -> Broker {
    Broker::new(BrokerLimits { events, bytes: 4_096, readers: 2, ended: 1 })
}

/// The frames that can be read now: an id or a name for each.
async fn drain(reader: &mut StreamReader) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        tokio::select! {
            biased;
            frame = reader.next() => {
                let Some(frame) = frame else {
                    seen.push("over".to_owned());
                    return seen;
                };
                let frame = on_the_wire(frame).await;
                let line = frame.lines().next().unwrap();
                let word = line.trim_start_matches("id: ").trim_start_matches("event: ");
                seen.push(word.to_owned());
            }
            () = std::future::ready(()) => return seen,
        }
    }
}

/// A stream of this many events, in a backlog of four, read after `read`.
async fn check(count: usize, life: StreamLifetime, read: Option<u64>, expect: &[&str]) {
    let (broker, bus) = (broker(4), Bus::new("r1"));
    let mut feed = broker.open("r1", life).unwrap();
    feed.follow(&bus);
    for _ in 1..count {
        bus.publish(text("x"));
    }
    bus.publish(end());
    let mut reader = match broker.read("r1", read) {
        Ok(reader) => reader,
        Err(refusal) => return assert_eq!([format!("{refusal:?}")], *expect),
    };
    assert_eq!(drain(&mut reader).await, expect);
}

#[tokio::test]
pub(crate) async fn s1_a_late_reader_gets_the_backlog_and_then_the_end() {
    use StreamLifetime::{Conversation, OneRun};
    check(3, OneRun, None, &["1", "2", "3", "over"]).await;
    check(3, Conversation, None, &["1", "2", "3"]).await;
    check(3, OneRun, Some(0), &["1", "2", "3", "over"]).await;
    check(3, OneRun, Some(2), &["3", "over"]).await;
    check(3, OneRun, Some(3), &["Over"]).await;
    check(3, Conversation, Some(3), &[]).await;
    check(3, OneRun, Some(4), &["Ahead"]).await;
    check(6, OneRun, None, &["gap", "3", "4", "5", "6", "over"]).await;
    check(6, OneRun, Some(1), &["gap", "3", "4", "5", "6", "over"]).await;
    check(6, OneRun, Some(2), &["3", "4", "5", "6", "over"]).await;
}

#[tokio::test]
pub(crate) async fn s1_every_reader_gets_every_event_once_and_a_slow_reader_is_dropped() {
    let (broker, bus) = (broker(4), Bus::new("r1"));
    let mut feed = broker.open("r1", StreamLifetime::OneRun).unwrap();
    feed.follow(&bus);
    let (mut quick, mut slow) =
        (broker.read("r1", None).unwrap(), broker.read("r1", None).unwrap());
    assert!(matches!(broker.read("r1", None), Err(ReadRefusal::Busy)));
    bus.publish(text("a"));
    assert_eq!(drain(&mut quick).await, ["1"]);
    assert_eq!(drain(&mut slow).await, ["1"]);
    for id in 2..=6 {
        bus.publish(text("b"));
        assert_eq!(drain(&mut quick).await, [id.to_string()]);
    }
    assert_eq!(drain(&mut slow).await, ["dropped", "over"]);
    drop(slow);
    // It connects again, with the last id it has.
    assert_eq!(drain(&mut broker.read("r1", Some(1)).unwrap()).await, ["gap", "3", "4", "5", "6"]);
    drop(feed);
    assert_eq!(drain(&mut quick).await, ["over"]);
    assert_eq!(bus.listeners(), 0);
}

#[tokio::test]
async fn s1_memory_is_bounded_in_bytes_too() {
    let (broker, bus) = (broker(1_000), Bus::new("r1"));
    let mut feed = broker.open("r1", StreamLifetime::Conversation).unwrap();
    feed.follow(&bus);
    for _ in 0..100 {
        bus.publish(text(&"x".repeat(1_000)));
    }
    let seen = drain(&mut broker.read("r1", None).unwrap()).await;
    assert_eq!(seen, ["gap", "98", "99", "100"]);
    bus.publish(text(&"x".repeat(10_000)));
    assert_eq!(drain(&mut broker.read("r1", None).unwrap()).await, ["gap", "101"]);
}

#[tokio::test]
async fn s1_ids_go_on_over_the_runs_of_a_conversation() {
    let broker = broker(100);
    let mut feed = broker.open("c", StreamLifetime::Conversation).unwrap();
    for run in ["r1", "r2"] {
        let bus = Bus::new(run);
        feed.follow(&bus);
        bus.publish(text("x"));
        bus.publish(end());
    }
    assert_eq!(drain(&mut broker.read("c", Some(1)).unwrap()).await, ["2", "3", "4"]);
}

#[test]
fn s1_ended_streams_are_forgotten_oldest_first() {
    let broker = broker(4);
    let refusal = |id| broker.read(id, None).err();
    let open = broker.open("open", StreamLifetime::OneRun).unwrap();
    for id in ["a", "b", "c"] {
        drop(broker.open(id, StreamLifetime::OneRun).unwrap());
    }
    let again = broker.open("c", StreamLifetime::OneRun).unwrap();
    assert_eq!(
        broker.open("c", StreamLifetime::OneRun).err(),
        Some(BrokerError::AlreadyOpen("c".into()))
    );
    assert_eq!(refusal("a"), Some(ReadRefusal::Unknown));
    assert_eq!([refusal("b"), refusal("c"), refusal("open")], [None, None, None]);
    drop((open, again));
}
