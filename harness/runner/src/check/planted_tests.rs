//! Gateways that each lack one thing are convicted on recorded live sessions by the checks that `clitape test`
//! runs, with sentences that say what a person would see.

use std::path::Path;

use clitape_recording::scenario::Workspace;

use crate::check::{Check, ScenarioChecks};
use crate::replay::PlantedFault;

/// The findings of the chat's golden check of a scenario's newest version, each as its id and its sentence without
/// the time.
fn found(scenario: &str, fault: Option<PlantedFault>) -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let workspace = Workspace::at(Path::new(root));
    let scenario = workspace.load(scenario).unwrap();
    let newest = workspace.usual_version(&scenario).unwrap().unwrap();
    let checks = ScenarioChecks::new(&workspace, scenario).unwrap();
    if let Some(fault) = fault {
        checks.plant(fault).unwrap();
    }
    let is_chat = |check: &&Check| match check {
        Check::Golden { version, view } => {
            *version == newest && view.to_string() == "telegram-partial"
        }
        _ => false,
    };
    let check = checks.checks().iter().find(is_chat).unwrap();
    let finding = |one: clitape_judge::Finding| {
        let what = one.sentence.split_once(" ms: ").map_or(&*one.sentence, |(_, what)| what);
        format!("{}: {what}", one.id)
    };
    checks.judge(check, false).unwrap().findings.into_iter().map(finding).collect()
}

#[track_caller]
fn check<const N: usize>(fault: PlantedFault, scenario: &str, expect: [&str; N]) {
    assert_eq!(found(scenario, None), [""; 0], "{scenario} with the gateway as it is");
    assert_eq!(found(scenario, Some(fault)), expect, "{scenario} with {fault:?}");
}

#[test]
fn tn001_a_gateway_with_one_run_for_all_turns_is_convicted() {
    let broken = "TN001 ended-by-other: turn 1 ends with the text of another one";
    check(
        PlantedFault::OneRun,
        "live-multi-turn",
        [
            "SB014 text-glued: at 10.2 s the person reads “…iles here.Now…”: two messages of the model are joined without a space \
             or a line break",
            broken,
            r"GD001 golden-differs: expected edit #1 “I'll count the files.\n\nThere are two files here.”, got sendChatAction typing",
        ],
    );
    check(
        PlantedFault::OneRun,
        "live-interrupt-then-next",
        [
            "ST011 ending-misread: the bus ends turn 1 otherwise: on stdout it is a failure",
            broken,
            r"GD001 golden-differs: expected edit #1 “…cond step links\n\n⏹️ Stopped. Send a message to go on from here.”, got “…cond step linksTwo and two are four.”",
        ],
    );
}

#[test]
fn qu002_a_gateway_that_never_shows_a_question_is_convicted() {
    check(
        PlantedFault::NoQuestions,
        "permission-allow",
        [
            "QU002 question-left: the CLI asks about Bash and waits 3000 ms for the answer, but the chat never asks",
            r"GD001 golden-differs: expected a second message “<b>🔐 The agent asks for your permission</b>\n🛠️ …what to do instead.</i>”, got sendChatAction typing",
        ],
    );
    check(
        PlantedFault::NoQuestions,
        "ask-user",
        [
            "QU002 question-left: the CLI asks about AskUserQuestion and waits 3000 ms for the answer, but the chat never asks",
            r"GD001 golden-differs: expected a second message “<b>❓ The agent asks: Colour</b>\nWhich colour?\n•…answer of your own.</i>”, got sendChatAction typing",
        ],
    );
}

#[test]
fn qu002_a_gateway_whose_buttons_stay_is_convicted() {
    check(
        PlantedFault::ButtonsStay,
        "ask-user",
        [
            r#"QU002 question-left: the buttons of sendMessage #2 "<b>❓ The agent asks: Colour</b>\nWhich colour?\n•…answer of your own.</i>" [["Red"],["Blue"]] stay in the chat"#,
            "GD001 golden-differs: `message_id` of edit #1 should be 2, it is 1",
        ],
    );
}

#[test]
fn qu006_a_gateway_whose_buttons_are_swapped_is_convicted() {
    check(
        PlantedFault::ButtonsSwapped,
        "permission-allow",
        [
            r#"QU006 answer-misunderstood: question 00000000-0000-4000-8000-000000000001: the person answers {"behavior":"allow","updatedInput":{"command":"touch /clitape/project/made.txt && ls /clitape/project","description":"Make the file"}}, and the CLI reads {"behavior":"deny","message":"The person said no."}"#,
        ],
    );
}

#[test]
fn tn003_a_gateway_that_goes_on_in_the_message_of_the_turn_before_is_convicted() {
    check(
        PlantedFault::OneMessage,
        "live-interrupt-then-next",
        [
            r#"TN003 edit-after-turn: turn 1 is over, and editMessageText #1 final "Two and two are four." edits it"#,
            "GD001 golden-differs: expected a second message “Two and two are four.”, got edit #1 “Two and two are four.”",
        ],
    );
}

#[test]
fn gw003_a_gateway_that_edits_the_draft_of_an_interrupted_turn_is_convicted() {
    check(
        PlantedFault::LateEdit,
        "live-interrupt-then-next",
        [
            r#"GW003 edit-after-final: after the final text came editMessageText #1 "The build has three steps. The first step compil…. The second step links""#,
            r#"GW013 ended-early: the bus has said that turn 1 is over, and then came editMessageText #1 "The build has three steps. The first step compil…. The second step links""#,
            r"GD001 golden-differs: expected a second message “Two and two are four.”, got edit #1 “The build has three steps. The first step compil…. The second step links”",
        ],
    );
}

#[test]
fn gw011_a_listener_that_panics_is_convicted() {
    check(
        PlantedFault::ListenerPanics,
        "bash-count",
        [
            "GW011 listener-panicked: a listener of the bus of turn 1 panicked 5 times",
            "GW012 listener-left: the runs are over, and the bus still has 1 listener of the gateway",
        ],
    );
}

#[test]
fn gw013_a_bus_that_ends_before_the_final_message_is_convicted() {
    check(
        PlantedFault::EndsEarly,
        "bash-count",
        [
            r#"GW013 ended-early: the bus has said that turn 1 is over, and then came editMessageText #1 final "I'll count the files in this folder.\n\nThere are …e files in this folder.""#,
        ],
    );
}

#[test]
fn gw014_a_final_message_that_does_not_wait_for_an_edit_is_convicted() {
    assert_eq!(found("bash-count", None), [""; 0]);
    let what = r#"GW014 calls-overlap: editMessageText #1 final "I'll count the files in this folder.\n\nThere are …e files in this folder." was made while another call was under way"#;
    let found = found("bash-count", Some(PlantedFault::Overlap));
    // The edit comes too soon as well, and the golden differs.
    assert!(found.iter().any(|found| found == what), "{found:#?}");
}
