//! The table of hostile scenarios, cassettes, captures and arguments, with the message of the command about each.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::place::{GOLDENS, PLAIN, change_golden, propose_golden, write_program};
use crate::row::{QUIET, Row};

/// Hostile scenarios, cassettes, captures and arguments. The command must not do what they ask for, and must name the
/// problem.
pub(crate) const HOSTILE: &[Row] = &[
    Row {
        name: "import_of_a_capture_with_a_folder_for_a_version",
        prepare: |place| {
            let version = place.outside.to_str().unwrap();
            place.capture(version);
        },
        args: &["import", "{out}/c.jsonl", "--scenario", "harmless"],
        code: 2,
        says: "version",
        ..QUIET
    },
    Row {
        name: "import_of_a_capture_with_a_relative_version",
        prepare: |place| place.capture("../../../outside"),
        args: &["import", "{out}/c.jsonl", "--scenario", "harmless"],
        code: 2,
        says: "version",
        ..QUIET
    },
    Row {
        name: "import_with_a_relative_version",
        prepare: |place| place.capture("2.0.70"),
        args: &[
            "import",
            "{out}/c.jsonl",
            "--scenario",
            "harmless",
            "--cli-version",
            "../../../outside",
        ],
        code: 2,
        says: "version",
        ..QUIET
    },
    Row {
        name: "import_into_the_folder_above",
        prepare: |place| place.capture("2.0.70"),
        args: &["import", "{out}/c.jsonl", "--scenario", ".."],
        code: 2,
        says: "..",
        ..QUIET
    },
    Row {
        name: "import_into_another_folder",
        prepare: |place| place.capture("2.0.70"),
        args: &["import", "{out}/c.jsonl", "--scenario", "../../outside"],
        code: 2,
        says: "outside",
        ..QUIET
    },
    Row {
        name: "import_into_an_absolute_folder",
        prepare: |place| place.capture("2.0.70"),
        args: &["import", "{out}/c.jsonl", "--scenario", "{outside}"],
        code: 2,
        says: "outside",
        ..QUIET
    },
    Row {
        name: "record_with_a_folder_for_a_version",
        prepare: |place| {
            let bin = place.outside.join("node_modules/.bin");
            fs::create_dir_all(&bin).unwrap();
            write_program(&bin.join("claude"), "#!/bin/sh\necho owned > ../owned\n");
            let outside = place.outside.to_str().unwrap();
            place.edit("clitape.toml", "2.1.332", outside);
        },
        args: &["record", "plain-text"],
        code: 2,
        says: "version",
        ..QUIET
    },
    Row {
        name: "a_cassette_that_names_a_file_of_the_system",
        prepare: |place| place.add_hash("/etc/passwd"),
        args: &["replay", PLAIN],
        code: 5,
        says: "/etc/passwd",
        ..QUIET
    },
    Row {
        name: "a_cassette_that_names_a_device",
        prepare: |place| place.add_hash("/dev/zero"),
        args: &["replay", PLAIN],
        code: 5,
        says: "/dev/zero",
        ..QUIET
    },
    Row {
        name: "a_cassette_with_a_link_to_a_device",
        prepare: |place| place.link("/dev/zero", "cassettes/plain-text/2.1.329/stdout.jsonl"),
        args: &["replay", PLAIN],
        code: 5,
        says: "stdout.jsonl",
        ..QUIET
    },
    Row {
        name: "a_golden_that_is_a_pipe",
        prepare: |place| {
            let golden = place.work.join("scenarios/plain-text/golden/bus.snap");
            fs::remove_file(&golden).unwrap();
            assert!(Command::new("mkfifo").arg(&golden).status().unwrap().success());
        },
        args: &["test"],
        code: 3,
        says: "bus.snap is no regular file",
        ..QUIET
    },
    Row {
        name: "an_update_through_a_link",
        prepare: |place| {
            change_golden(place);
            let precious = place.outside.join("precious");
            let precious = precious.to_str().unwrap();
            place.link(precious, "scenarios/plain-text/golden/telegram-partial.snap.new");
        },
        args: &["test", "--update"],
        writes: GOLDENS,
        code: 3,
        says: "telegram-partial",
        ..QUIET
    },
    Row {
        name: "an_update_into_a_linked_folder",
        prepare: |place| {
            let golden = place.work.join("scenarios/plain-text/golden");
            fs::remove_dir_all(&golden).unwrap();
            symlink(&place.outside, golden).unwrap();
        },
        args: &["test", "--update"],
        code: 2,
        says: "golden is no folder of its own",
        ..QUIET
    },
    Row {
        name: "an_accepted_golden_that_is_a_link",
        prepare: |place| {
            propose_golden(place);
            let golden = "scenarios/plain-text/golden/telegram-partial.snap";
            place.link(place.outside.join("precious").to_str().unwrap(), golden);
        },
        args: &["review", "--accept", "--reason", "it is better"],
        writes: GOLDENS,
        code: 0,
        says: "1 accepted",
        ..QUIET
    },
];
