//! The table of all commands of the program, each with the places that it may write.

use std::fs;

use crate::common;
use crate::place::{GOLDENS, PLAIN, Place, change_golden, propose_golden, write_program};
use crate::row::{QUIET, Row};

/// The folder of the user's list of scenarios that `record` does not ask about. It is the one place outside the
/// workspace and the named output that commands write; those that make a scenario do.
const STATE: &str = "home/.local";

/// A command that starts a gateway, which does not answer, in new namespaces.
const WITH_SUBJECT: Row = Row {
    prepare: |place| {
        let subject = "[subject.mine]\nkind = 'gateway'\nwithin_s = 1\n\
                       ready = { output = 'up' }\ncommand = ['sh', '-c', 'echo up; sleep 60']\n";
        let config = place.work.join("clitape.toml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(config, text + "\n" + subject).unwrap();
    },
    writes: &["out", "home/.cache"],
    starts: &["/sh", "/sleep", "/exe", "/claude"],
    loopback: true,
    code: 3,
    ..QUIET
};

/// Every command, with the places that it may write.
pub(crate) const COMMANDS: &[Row] = &[
    Row { name: "help", args: &["--help"], says: "Usage", ..QUIET },
    Row { name: "help_page", args: &["help", "subjects"], says: "[subject.mine]", ..QUIET },
    Row { name: "completions", args: &["completions", "bash"], says: "clitape", ..QUIET },
    Row { name: "man", args: &["man"], says: "clitape", ..QUIET },
    Row { name: "man_out", args: &["man", "--out", "{out}"], writes: &["out"], ..QUIET },
    Row {
        name: "new",
        args: &["new", "first-try"],
        writes: &["work/scenarios/first-try", STATE],
        says: "first-try",
        ..QUIET
    },
    Row {
        name: "init",
        args: &["--root", "{out}", "init"],
        writes: &["out", STATE],
        says: "first-scenario",
        ..QUIET
    },
    Row {
        name: "corpus",
        args: &["corpus", "--out", "{out}/corpus"],
        writes: &["out"],
        says: "wrote ",
        ..QUIET
    },
    Row { name: "cache", args: &["cache"], says: "is empty", ..QUIET },
    Row {
        name: "import",
        prepare: |place| {
            fs::copy(place.work.join(PLAIN).join("stdout.jsonl"), place.out.join("c.jsonl"))
                .unwrap();
        },
        args: &["import", "{out}/c.jsonl", "--scenario", "imported"],
        writes: &["work/scenarios/imported", "work/cassettes/imported", STATE],
        says: "imported",
        ..QUIET
    },
    Row {
        name: "rename",
        args: &["rename", "plain-text", "plainer"],
        writes: &["work/scenarios", "work/cassettes", "work/clitape.toml"],
        says: "scenarios/plain-text → scenarios/plainer",
        ..QUIET
    },
    Row { name: "list", args: &["list"], says: "plain-text", ..QUIET },
    Row { name: "list_json", args: &["list", "--json"], says: "recordings", ..QUIET },
    Row { name: "show", args: &["show", "plain-text"], says: "clitape record", ..QUIET },
    Row { name: "replay", args: &["replay", PLAIN], ..QUIET },
    Row { name: "replay_json", args: &["replay", PLAIN, "--json", "--cut", "byte"], ..QUIET },
    Row { name: "replay_seed", args: &["replay", PLAIN, "--seed", "7", "--print-plan"], ..QUIET },
    Row {
        name: "replay_faults",
        args: &["replay", PLAIN, "--mode", "block", "--fault", "1:rate-limit:3s", "--pace", "50"],
        ..QUIET
    },
    Row {
        name: "replay_speed",
        args: &["replay", PLAIN, "--speed", "1000", "--channel", "acp"],
        ..QUIET
    },
    Row {
        name: "replay_file",
        args: &["replay", "cassettes/plain-text/2.1.329/stdout.jsonl", "--lane", "sse,acp"],
        ..QUIET
    },
    Row {
        name: "replay_telegram_api",
        args: &["replay", PLAIN, "--pace", "5", "--telegram-api", "{url}", "--chat", "5"],
        loopback: true,
        says: "heard as often",
        ..QUIET
    },
    Row { name: "test", args: &["test"], says: "all held", ..QUIET },
    Row {
        name: "test_update",
        prepare: change_golden,
        args: &["test", "--update"],
        writes: GOLDENS,
        code: 3,
        says: "GD001",
        ..QUIET
    },
    Row {
        name: "test_reports",
        args: &[
            "test",
            "--json",
            "{out}/r.json",
            "--junit",
            "{out}/r.xml",
            "--tap",
            "{out}/r.tap",
            "--markdown",
            "{out}/r.md",
            "--html",
            "{out}/html",
            "--github",
        ],
        writes: &["out"],
        ..QUIET
    },
    Row {
        name: "report_merge",
        prepare: |place| {
            place.run(&["test", "--json", "{out}/a.json"]);
        },
        args: &[
            "report",
            "merge",
            "{out}/a.json",
            "--out",
            "{out}/b.json",
            "--junit",
            "{out}/b.xml",
            "--tap",
            "{out}/b.tap",
            "--markdown",
            "{out}/b.md",
            "--html",
            "{out}/html",
        ],
        writes: &["out"],
        ..QUIET
    },
    Row { name: "review_list", args: &["review", "--list"], ..QUIET },
    Row {
        name: "review_accept",
        prepare: propose_golden,
        args: &["review", "--accept", "--reason", "it is better"],
        writes: GOLDENS,
        ..QUIET
    },
    Row {
        name: "review_reject",
        prepare: propose_golden,
        args: &["review", "--reject"],
        writes: GOLDENS,
        ..QUIET
    },
    Row {
        name: "review_html",
        prepare: propose_golden,
        args: &["review", "--html", "{out}/review.html"],
        writes: &["out"],
        ..QUIET
    },
    Row {
        name: "proof",
        args: &["proof", "plain-text", "--no-png", "--out", "{out}/proof"],
        writes: &["out"],
        ..QUIET
    },
    Row {
        name: "proof_check",
        prepare: |place| {
            place.run(&["proof", "plain-text", "--no-png", "--out", "{out}"]);
        },
        args: &["proof", "--check", "{out}/proof.md"],
        ..QUIET
    },
    Row {
        name: "shrink",
        prepare: |place| {
            let size = fs::metadata(place.work.join(PLAIN).join("stdout.jsonl")).unwrap().len();
            let faults: Vec<_> = (1..=6).map(|call| format!("\"{call}:server-error\"")).collect();
            let faults = faults.join(",");
            let plan = format!(r#"{{"format":1,"steps":[[0,{size}]],"faults":[{faults}]}}"#);
            fs::write(place.out.join("plan.json"), plan).unwrap();
        },
        args: &["shrink", "plain-text/2.1.329", "small", "--plan", "{out}/plan.json"],
        writes: &["work/scenarios/small", "work/cassettes/small", STATE],
        says: "GW004",
        ..QUIET
    },
    Row {
        name: "sweep",
        args: &["sweep", "plain-text/2.1.329", "--seeds", "1..2", "--json", "{out}/sweep.json"],
        writes: &["out", "work/.clitape"],
        says: "all held",
        ..QUIET
    },
    Row {
        name: "drift",
        prepare: |place| add_help(place),
        args: &[
            "drift",
            "plain-text",
            "--from",
            "2.1.148",
            "--to",
            "2.1.329",
            "--markdown",
            "{out}/drift.md",
            "--json",
            "{out}/drift.json",
            "--html",
            "{out}/drift",
        ],
        writes: &["out"],
        code: 3,
        ..QUIET
    },
    Row {
        name: "drift_accept",
        prepare: |place| {
            add_help(place);
            place.edit("clitape.toml", "\"2.1.148\", ", "");
        },
        args: &["drift", "--from", "2.1.329", "--to", "2.1.148", "--accept"],
        writes: &["work/clitape.toml"],
        says: "accepted claude 2.1.148",
        ..QUIET
    },
    Row {
        name: "versions_drop",
        prepare: |place| add_help(place),
        args: &["versions", "--drop", "2.1.148"],
        writes: &[
            "work/clitape.toml",
            "work/cassettes/plain-text",
            "work/scenarios/plain-text/golden",
            "work/versions/2.1.148",
        ],
        says: "removed claude 2.1.148",
        ..QUIET
    },
    Row {
        name: "rig",
        args: &[
            "rig",
            "--yes",
            "mine",
            "plain-text",
            "--html",
            "{out}/rig",
            "--log",
            "{out}/rig.log",
        ],
        says: "SB026",
        ..WITH_SUBJECT
    },
    Row {
        name: "test_subject",
        args: &["test", "--yes", "--subject", "mine", "plain-text", "--log", "{out}/test.log"],
        says: "SB026",
        ..WITH_SUBJECT
    },
    Row {
        name: "subject_check",
        args: &["subject", "check", "--yes", "mine", "--log", "{out}/check.log"],
        says: "`claude` was not started",
        ..WITH_SUBJECT
    },
    // Nothing is started before the first request.
    Row {
        name: "serve",
        args: &["serve", "--json", "--yes", "mine", "--log", "{out}/serve.log"],
        says: "\"protocol\":1",
        starts: &[],
        writes: &["out"],
        loopback: false,
        code: 0,
        ..WITH_SUBJECT
    },
    Row {
        name: "serve_client",
        args: &["serve", "--print-client", "go"],
        says: "package clitape",
        ..QUIET
    },
    Row {
        name: "stand_in_install",
        args: &["stand-in", "--install", "{out}/bin"],
        writes: &["out"],
        says: "bin/claude",
        ..QUIET
    },
    Row { name: "explain", args: &["explain", "GW003"], says: "cure", ..QUIET },
    Row { name: "schema", args: &["schema"], says: "json-schema.org", ..QUIET },
    Row {
        name: "conform",
        args: &["conform", "cassettes/plain-text/2.1.329/stdout.jsonl"],
        says: "0 that break readers",
        ..QUIET
    },
    Row { name: "scan", args: &["scan", "cassettes", "scenarios"], says: "0 secrets", ..QUIET },
    Row {
        name: "scan_json",
        prepare: |place| {
            // A text with the shape of a key, which was made up.
            fs::write(place.out.join("key.txt"), format!("ghp_{}\n", "a1B2".repeat(9))).unwrap();
        },
        args: &["scan", "{out}", "--json"],
        code: 3,
        says: "key.txt",
        ..QUIET
    },
    Row {
        name: "import_secret",
        prepare: |place| {
            let text = format!("ghp_{}", "a1B2".repeat(9));
            let record = format!("{{\"type\":\"result\",\"result\":\"{text}\"}}\n");
            fs::write(place.out.join("c.jsonl"), record).unwrap();
        },
        args: &["import", "{out}/c.jsonl", "--scenario", "leaky", "--cli-version", "2.1.0"],
        code: 3,
        says: "nothing was written",
        ..QUIET
    },
    Row {
        name: "session",
        args: &["session", "cassettes/plain-text/2.1.329/transcript.jsonl"],
        says: "resumable",
        ..QUIET
    },
    Row {
        name: "compare_versions",
        args: &[
            "compare",
            "2.1.148",
            "2.1.329",
            "plain-text",
            "--out",
            "{out}/c",
            "--junit",
            "{out}/c.xml",
        ],
        writes: &["out"],
        ..QUIET
    },
    Row {
        name: "compare_program",
        prepare: |place| {
            let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_clitape"));
            write_program(&place.work.join("subject"), &script);
        },
        args: &["compare", "this", "./subject", "plain-text", "--out", "{out}/c"],
        writes: &["out"],
        // The command itself, which ends the leftovers of the program, and the program.
        starts: &["/exe", "/subject", "/clitape"],
        says: "nothing differs",
        ..QUIET
    },
    Row {
        name: "collect",
        args: &["collect", "{url}/events"],
        loopback: true,
        says: "collected words",
        ..QUIET
    },
];

/// Adds the help of each version of `claude`, so that `drift` need not ask the CLI.
fn add_help(place: &Place) {
    common::copy(&common::root().join("versions"), &place.work.join("versions"));
}
