//! Tests the rules of an event bus.

use super::*;

/// Makes the events of a bus with the calls of `three-tools`, without the last `missing` of them.
fn bus_of_three_tools(missing: usize) -> Vec<SubjectEvent> {
    let cassette = Cassette::load(&root().join("cassettes/three-tools/2.1.329")).unwrap();
    let text =
        SubjectEvent { kind: "text".to_owned(), phase: None, id: None, name: None, args: None };
    let mut bus = vec![text];
    for tool in &Facts::of(&cassette).turn_facts()[0].tools {
        for phase in ["start", "result"] {
            bus.push(SubjectEvent {
                kind: "tool".to_owned(),
                phase: Some(phase.to_owned()),
                id: Some(tool.id.clone()),
                name: Some(tool.name.clone()),
                args: (phase == "start").then(|| serde_json::json!({ "file_path": "server.conf" })),
            });
        }
    }
    assert_eq!(bus.len(), 7);
    bus.truncate(bus.len() - missing);
    bus
}

#[test]
fn sb032_the_bus_has_every_call() {
    let lines = good();
    let check_bus = |bus: Vec<SubjectEvent>, expect: &[K]| {
        check_seen(
            Seen { lines: &lines, bus: Some(bus), turns: played(9_000), ..Seen::default() },
            expect,
        )
    };
    check_bus(bus_of_three_tools(0), &[]);
    let found = check_bus(bus_of_three_tools(6), &[K::BusUntold]);
    let words = "claude called 3 tools and got 3 results; the bus has 1 events of this chat, the starts of 0 calls";
    assert!(found[0].sentence.contains(words), "{found:?}");
    let found = check_bus(bus_of_three_tools(1), &[K::BusUntold]);
    assert!(found[0].sentence.contains("the first result that is missing is of Bash"), "{found:?}");
    // On a bus without ids, calls are found by the names of their tools.
    let nameless = |event: SubjectEvent| SubjectEvent { id: None, ..event };
    check_bus(bus_of_three_tools(0).into_iter().map(nameless).collect(), &[]);
    // A process that resumes the session has other ids.
    let cassette = Cassette::load(&root().join("cassettes/three-tools/2.1.329")).unwrap();
    let tools = Facts::of(&cassette).turn_facts().remove(0).tools;
    let other = |event: SubjectEvent| {
        let call = tools.iter().find(|tool| Some(&tool.id) == event.id.as_ref());
        let args = call.map(|tool| serde_json::json!({ "on": tool.main_argument }));
        let id = event.id.map(|id| format!("{id}-again"));
        SubjectEvent { id, args: event.args.and(args), ..event }
    };
    check_bus(bus_of_three_tools(0).into_iter().map(other).collect(), &[]);
    let found = check_bus(bus_of_three_tools(1).into_iter().map(other).collect(), &[K::BusUntold]);
    assert!(found[0].sentence.contains("the first result that is missing"), "{found:?}");
    let empty = |event: SubjectEvent| SubjectEvent {
        args: event.args.map(|_| serde_json::json!({})),
        ..event
    };
    let found = check_bus(bus_of_three_tools(0).into_iter().map(empty).collect(), &[K::BusUntold]);
    assert!(found[0].sentence.contains("without its arguments"), "{found:?}");
}

#[test]
fn sb032_a_turn_that_the_person_interrupts_may_end_early() {
    for name in [
        "live-interrupt-tool",
        "live-interrupt-while-asking",
        "permission-late",
        "permission-unanswered",
    ] {
        let cassette = &format!("{name}/2.1.332");
        let lines = [send(1_000, 2, "⚙️ Agent was aborted.")];
        let bus = Some(bus_of_three_tools(6));
        let seen = Seen { cassette, lines: &lines, bus, turns: played(2_000), ..Seen::default() };
        check_seen(seen, &[]);
    }
}

#[test]
fn sb033_a_bus_that_is_connected_says_something() {
    let lines = good();
    let seen = |turns| Seen { lines: &lines, bus: Some(Vec::new()), turns, ..Seen::default() };
    check_seen(seen(played(9_000)), &[K::BusSilent]);
    check_seen(seen(Vec::new()), &[]);
}
