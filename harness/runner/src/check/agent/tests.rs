use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use clitape_recording::cassette::Cassette;
use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Seeds, Setup, Workspace};

use super::*;
use crate::check::recording::{Recording, setups};
use crate::check::sweep::PlanSweep;
use crate::replay::{AGENT_FAULTS, Capture, Plan, PlanStep, replay, stdin_lines};

fn workspace() -> Workspace {
    Workspace::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
}

/// The rows of a table of docs/faults.md whose head begins so, without their bars.
fn rows_of_page(head: &str) -> Vec<Vec<String>> {
    let page = workspace().root().join("docs/faults.md");
    let page = fs_err::read_to_string(page).unwrap();
    let lines = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    let cells =
        |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

#[test]
fn the_page_says_what_a_person_must_see() {
    let faults: Vec<Vec<String>> = AGENT_FAULTS
        .iter()
        .map(|row| {
            let byte = if row.has_byte { ":BYTE" } else { "" };
            let kinds: Vec<String> =
                exempt(row.kind).iter().map(|kind| format!("`{kind}`")).collect();
            let reason = EXEMPT.iter().find(|(kind, ..)| *kind == row.kind);
            let exempt = match reason {
                None => "none".to_owned(),
                Some((.., why)) => format!("{}: {why}", kinds.join(", ")),
            };
            let seen = row.seen.name().to_owned();
            vec![format!("`LINE:{}{byte}`", row.word), row.change.to_owned(), seen, exempt]
        })
        .collect();
    assert_eq!(rows_of_page("| fault |"), faults, "{}", table(&faults));
    let seen: Vec<Vec<String>> = MustSee::ALL
        .iter()
        .map(|seen| vec![seen.name().to_owned(), seen.words().to_owned()])
        .collect();
    assert_eq!(rows_of_page("| a person must see |"), seen, "{}", table(&seen));
}

/// The rows as the page has them.
fn table(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect()
}

#[test]
fn every_kind_is_drawn_for_some_cassette() {
    let workspace = workspace();
    let mut drawn: BTreeMap<AgentFaultKind, u64> = BTreeMap::new();
    for name in workspace.names().unwrap() {
        let scenario = workspace.load(&name).unwrap();
        // Without a cassette, `clitape test` has a finding.
        if let Some(version) = workspace.recorded(&name).unwrap().pop() {
            let cassette = Cassette::find(&workspace, &name, &version).unwrap();
            let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
            let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
            for seed in 1..=scenario.sweep.plans.div_ceil(16) {
                let plan = Plan::seeded_agent_fault(capture, seed, 200);
                plan.check_agent(capture.stdout).unwrap();
                plan.agent.iter().for_each(|fault| *drawn.entry(fault.kind).or_default() += 1);
            }
        }
    }
    for row in &AGENT_FAULTS {
        let times = drawn.get(&row.kind).copied().unwrap_or(0);
        assert!(times > 1, "`{}` is drawn {times} times: {drawn:?}", row.word);
    }
}

/// Replays a recording with each of these faults in a separate plan, and expects no findings.
#[track_caller]
fn check(scenario: &str, faults: &[&str]) {
    let workspace = workspace();
    let scenario = Arc::new(workspace.load(scenario).unwrap());
    let version = workspace.usual_version(&scenario).unwrap().unwrap();
    let recording = Recording::load(&workspace, &scenario, &version).unwrap();
    let capture = recording.capture();
    let bases = setups(&scenario).iter().map(|setup| recording.fault_free(*setup)).collect();
    let sweep = PlanSweep {
        capture,
        pace_ms: scenario.run.pace_ms,
        bases,
        seeds: Seeds { first: 1, count: 1 },
        pinned: &[],
        faults: &[],
        drawn: &[],
        place: "x".into(),
        reproduce: &|plan, _, _| plan.to_line(),
        replayed: &|_, _, _| (),
    };
    let found: Vec<String> = faults
        .iter()
        .filter_map(|fault| {
            let agent = vec![fault.parse().unwrap()];
            let plan = Plan { agent, ..Plan::canonical(capture, scenario.run.pace_ms) };
            sweep
                .finding_of("", &plan)
                .map(|(_, finding)| format!("{}: {}", finding.id, finding.sentence))
        })
        .collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_person_sees_what_came_before_a_fault() {
    let every = |fault: &str| (1..40).map(|line| format!("{line}:{fault}")).collect::<Vec<_>>();
    let faults: Vec<String> =
        ["cut:0", "cut:40", "log-inside:30", "bad-utf8:30", "log-line", "bom"].map(every).concat();
    let faults: Vec<&str> = faults.iter().map(String::as_str).collect();
    check("three-tools", &faults);
    check("live-multi-turn", &["12:cut:9", "20:log-inside:3", "1:crlf", "3:long-line"]);
    check("stuck-callback", &["1:crlf"]);
}

const ANSWER: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"One word and more."}]},"session_id":"s"}"#,
    "\n",
    r#"{"type":"result","subtype":"success","is_error":false,"result":"One word and more.","session_id":"s"}"#,
    "\n",
);

/// Replays [`ANSWER`] with a fault, lets `change` edit the trace, and expects the sentence `expect`; none if it is
/// empty.
#[track_caller]
fn convict(fault: &str, change: impl Fn(&mut Vec<Entry>), expect: &str) {
    let chat = Some(Chat::of(ChatMode::Partial));
    let acp = Some(clitape_recording::scenario::AcpClient { terminal: false });
    let setup = Setup { run: RunSpec::default(), channel: chat, acp };
    let stdout = ANSWER.as_bytes();
    let base = replay(stdout, &Plan::canonical(stdout, 200), setup);
    let steps = vec![PlanStep { after_ms: 0, bytes: stdout.len() as u64 }];
    let fault: AgentFault = fault.parse().unwrap();
    let plan = Plan { steps, agent: vec![fault], ..Plan::at_once(0) };
    let played = plan.played(Capture::from(stdout));
    let mut faulty = replay(stdout, &plan, setup);
    change(&mut faulty.entries);
    let run =
        FaultyRun { fault, recorded: stdout, came: &played.stdout, base: &base, faulty: &faulty };
    let said = match run.unseen() {
        None => String::new(),
        Some(Unseen::Lane(lane, divergence, _)) => format!("{lane}: {}", divergence.sentence),
        Some(Unseen::FinalText(sentence, _)) => sentence,
        Some(Unseen::Missing(lane, what)) => format!("{lane}: {what}"),
    };
    assert!(said.contains(expect) && said.is_empty() == expect.is_empty(), "{said}");
}

/// Changes the text of the last message of the chat.
fn say(entries: &mut [Entry], from: &str, to: &str) {
    for entry in entries.iter_mut().filter(|entry| entry.lane == Lane::Telegram) {
        if let Some(Value::String(text)) = entry.data_mut().get_mut("text") {
            *text = text.replace(from, to);
        }
    }
}

#[test]
fn a_person_who_does_not_see_it_is_a_finding() {
    let drop_lane = |lane: Lane, kind: &'static str| {
        move |entries: &mut Vec<Entry>| entries.retain(|it| it.lane != lane || it.kind != kind)
    };
    let nothing = |_: &mut Vec<Entry>| ();
    convict("3:cut:20", nothing, "");
    convict("3:cut:20", drop_lane(Lane::Lifecycle, "text"), "lifecycle: ");
    convict("3:cut:20", drop_lane(Lane::Sse, "error"), "sse: turn 1 has no result");
    convict("3:cut:20", drop_lane(Lane::Bus, "lifecycle"), "bus: turn 1 has no result");
    let word = |entries: &mut Vec<Entry>| say(entries, "word", "");
    convict("3:cut:20", word, "telegram: turn 1 was cut off, and its word “word” is lost");
    let silent = |entries: &mut Vec<Entry>| say(entries, "incomplete", "whole");
    convict("3:cut:20", silent, "");
    let silent = |entries: &mut Vec<Entry>| say(entries, "cut off", "");
    convict("3:cut:20", silent, "telegram: turn 1 was cut off, and the chat does not say so");
    let well = |entries: &mut Vec<Entry>| {
        for entry in entries.iter_mut().filter(|entry| entry.kind == "response") {
            entry.data = Default::default();
            entry.data_mut().insert("stopReason".into(), "end_turn".into());
        }
    };
    convict("3:cut:20", well, "acp: turn 1 has no result, and the editor reads that it has ended");
    // The last line feed alone is missing: the result is whole.
    let size = ANSWER.lines().last().unwrap().len();
    convict(&format!("3:cut:{size}"), nothing, "");
    convict("2:bad-utf8:3", nothing, "");
    convict("2:bad-utf8:3", word, "nobody reads its word “word”");
    convict("2:log-line", nothing, "");
    convict("2:log-line", drop_lane(Lane::Acp, "agent_message_chunk"), "acp: ");
    convict("2:log-line", word, "in the end a person reads something else");
    convict("3:twice", nothing, "");
    convict("2:twice", drop_lane(Lane::Lifecycle, "text"), "lifecycle: ");
}
