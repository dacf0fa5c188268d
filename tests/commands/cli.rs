//! Tests of the command from outside: exit codes, output, and written files.

use std::fs;

use clitape_judge::{FindingKind, Golden};
use clitape_recording::scenario::Workspace;
use clitape_recording::trace::Entry;
use clitape_runner::check::{Check, ScenarioChecks};

use crate::common::{self, files, root, run, workspace};
use crate::kept_plans::failing_plan;

const CASSETTE: &str = "cassettes/three-tools/2.1.329";
/// A cassette with a further run.
const RESUMED: &str = "resume-killed-mid-tool/2.1.329";

/// Runs the command in the checkout; checks the exit code and parts of stdout and stderr, and returns stdout.
#[track_caller]
fn check(args: &[&str], code: i32, out: &[&str], err: &[&str]) -> String {
    common::check(root(), args, code, out, err)
}

#[test]
fn all_held_is_0() {
    check(&["test", "three-tools"], 0, &["ok three-tools", "all held"], &[]);
}

#[test]
fn usage_is_2() {
    check(&["tset"], 2, &[], &["tset"]);
    check(&["replay", CASSETTE, "--cut", "0"], 2, &[], &["a number of bytes"]);
    check(
        &["replay", CASSETTE, "--lane", "telegramm"],
        2,
        &[],
        &["possible values: read, lifecycle, bus, telegram"],
    );
    check(&["replay", CASSETTE, "--cut", "line", "--seed", "1"], 2, &[], &["write `--cut random`"]);
    check(&["replay", "no-where.jsonl"], 2, &[], &["neither a cassette nor a file"]);
    check(&["replay", "no-where"], 2, &[], &["there is no scenario `no-where`", "three-tools"]);
    check(&["replay", "cassettes/three-tools"], 2, &[], &[CASSETTE]);
    check(&["record", "no-such-scenario"], 2, &[], &["clitape new no-such-scenario"]);
    check(&["collect", "http://192.0.2.1/e"], 2, &[], &["--allow-remote"]);
    check(&["collect", "https://127.0.0.1/e"], 2, &[], &["ssh -L"]);
    check(&["collect", "http://127.0.0.1/", "--agent", "a"], 2, &[], &["--send"]);
    check(&["collect", "http://127.0.0.1/", "--turns", "0"], 2, &[], &["--turns"]);
    let empty = tempfile::tempdir().unwrap();
    let (code, _, err) = run(empty.path(), &["test"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("start one with `clitape init`"), "{err}");
}

#[test]
fn findings_are_3_and_say_what_where_and_how_to_see_it_again() {
    let workspace = workspace(&["plain-text"]);
    let golden = workspace.path().join("scenarios/plain-text/golden/telegram-partial.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replacen("sendMessage", "sendMessagf", 1)).unwrap();
    let (code, out, _) = run(workspace.path(), &["test"]);
    assert_eq!(code, 3, "{out}");
    for part in [
        "FAILED plain-text",
        "GD001 golden-differs plain-text",
        "telegram-partial",
        "expected sendMessagf",
        "reproduce: clitape replay cassettes/plain-text/",
        "finding",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let line =
        out.lines().find_map(|line| line.trim().strip_prefix("reproduce: clitape ")).unwrap();
    let args: Vec<&str> = line.split(' ').collect();
    let (code, out, err) = run(workspace.path(), &args);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("sendMessage"), "{out}");
}

#[test]
fn the_printed_line_works_below_the_root_and_after_root() {
    let workspace = workspace(&["plain-text"]);
    let (root, elsewhere) = (workspace.path(), tempfile::tempdir().unwrap());
    let golden = root.join("scenarios/plain-text/golden/telegram-partial.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replacen("sendMessage", "sendMessagf", 1)).unwrap();
    let below = root.join("scenarios/plain-text/golden");
    let named = root.to_str().unwrap();
    for (args, dirs) in [
        (vec!["test"], vec![root, &below]),
        (vec!["--root", named, "test"], vec![root, &below, elsewhere.path()]),
    ] {
        let (code, out, err) = run(dirs[0], &args);
        assert_eq!(code, 3, "{out}{err}");
        let found = |line: &str| Some(line.trim().strip_prefix("reproduce: clitape ")?.to_owned());
        let line = out.lines().find_map(found).unwrap();
        for dir in dirs {
            let words: Vec<&str> = line.split(' ').collect();
            let (code, out, err) = run(dir, &words);
            assert_eq!(code, 0, "{line}\n{err}");
            assert!(out.contains("sendMessage"), "{line}\n{out}");
        }
    }
}

#[test]
fn nothing_ran_is_4() {
    check(&["test", "--exclude", "*"], 4, &["nothing ran: no scenario is left"], &[]);
}

#[test]
fn a_damaged_cassette_is_5() {
    let workspace = workspace(&["plain-text"]);
    let path = workspace.path().join("cassettes/plain-text/2.1.329/stdout.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (code, _, err) = run(workspace.path(), &["test"]);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("stdout.jsonl is damaged"), "{err}");
    assert!(err.contains("restore it from version control"), "{err}");
    let (code, ..) = run(workspace.path(), &["replay", "cassettes/plain-text/2.1.329"]);
    assert_eq!(code, 5);
}

#[test]
fn one_changed_character_in_any_golden_is_caught_and_explained() {
    let names = Workspace::at(root()).names().unwrap();
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let temporary = workspace(&names);
    let workspace = Workspace::at(temporary.path());
    let (mut broken, mut unreadable) = (0, 0);
    for name in names {
        let checks = ScenarioChecks::new(&workspace, workspace.load(name).unwrap()).unwrap();
        for check in checks.checks() {
            let Check::Golden { version, view } = check else { continue };
            let path = Golden::find(checks.scenario(), *view, version).unwrap().path;
            let text = fs::read_to_string(&path).unwrap();
            // The middle of the text below the header; for a silent run, which has no text, the end of the file.
            let body = clitape_judge::body(&text).unwrap();
            let half = body.char_indices().nth(body.chars().count() / 2).map_or(0, |(at, _)| at);
            let (head, middle) = text.split_at(text.len() - body.len() + half);
            let at = middle.find(char::is_alphanumeric).map_or(text.len(), |at| head.len() + at);
            let (before, rest) = text.split_at(at);
            let mut rest = rest.chars();
            let to = if rest.next() == Some('7') { '8' } else { '7' };
            let changed = format!("{before}{to}{}", rest.as_str());
            fs::write(&path, changed).unwrap();
            let findings = checks.judge(check, false).unwrap().findings;
            fs::write(&path, text).unwrap();
            let [finding] = findings.as_slice() else { panic!("{}: {findings:?}", path.display()) };
            if finding.id == FindingKind::GoldenUnreadable {
                // The changed character is within a key or a word of JSON, or it is the only one of a text without
                // lines.
                let file = path.file_name().unwrap().to_string_lossy();
                assert!(finding.sentence.contains(&format!("{file}:")), "{}", finding.sentence);
                assert!(finding.sentence.contains("is no trace entry"), "{}", finding.sentence);
                unreadable += 1;
                continue;
            }
            assert_eq!(finding.id, FindingKind::GoldenDiffers, "{}", path.display());
            assert!(!finding.sentence.is_empty() && !finding.diff.is_empty());
            broken += 1;
        }
    }
    assert!(broken >= 8 * 4, "only {broken} goldens were tried");
    assert!(unreadable < broken, "{unreadable} goldens could not be read, {broken} could");
}

#[test]
fn update_proposes_and_review_settles() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path().join("scenarios/plain-text/golden");
    let golden = dir.join("bus.snap");
    let before = fs::read_to_string(&golden).unwrap();
    let broken = before.replacen("\"phase\":\"start\"", "\"phase\":\"begin\"", 1);
    assert_ne!(before, broken);

    fs::write(&golden, &broken).unwrap();
    let (code, out, _) = run(workspace.path(), &["test", "--update"]);
    assert_eq!(code, 3);
    assert!(out.contains("clitape review"), "{out}");
    assert_eq!(fs::read_to_string(&golden).unwrap(), broken, "testing never writes a golden");
    assert!(dir.join("bus.snap.new").exists());

    let (_, out, _) = run(workspace.path(), &["review", "--reject"]);
    assert!(out.contains("rejected"), "{out}");
    assert!(files(&dir, ".new").is_empty());
    assert_eq!(fs::read_to_string(&golden).unwrap(), broken);

    run(workspace.path(), &["test", "--update"]);
    let (code, out, _) = run(workspace.path(), &["review", "--accept"]);
    assert_eq!(code, 0, "{out}");
    let (code, out, _) = run(workspace.path(), &["test"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(fs::read_to_string(&golden).unwrap(), before);
}

#[test]
fn a_missing_or_orphaned_golden_is_a_finding() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path().join("scenarios/plain-text/golden");
    fs::rename(dir.join("telegram-partial.snap"), dir.join("telegram-nobody.snap")).unwrap();
    let (code, out, _) = run(workspace.path(), &["test"]);
    assert_eq!(code, 3);
    assert!(out.contains("GD002 golden-missing"), "{out}");
    assert!(out.contains("GD003 golden-orphan"), "{out}");
    fs::remove_dir_all(workspace.path().join("cassettes")).unwrap();
    let (code, out, _) = run(workspace.path(), &["test"]);
    assert_eq!(code, 3);
    assert!(out.contains("TP001 not-recorded"), "{out}");
    assert!(out.contains("to fix: clitape record plain-text\n"), "{out}");
    assert!(out.contains("; 1 finding\n") && !out.contains("rm "), "{out}");
}

#[test]
fn json_is_one_trace_entry_a_line() {
    let lanes = "read,lifecycle,bus,telegram,acp,sse,session";
    let out = check(&["replay", RESUMED, "--json", "--lane", lanes], 0, &[], &[]);
    let entries: Vec<Entry> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(entries.windows(2).all(|pair| pair[0].at <= pair[1].at), "times go forward");
    for lane in clitape_recording::trace::Lane::ALL {
        assert!(entries.iter().any(|entry| entry.lane == lane), "nothing on {lane}");
    }
    let only = check(&["replay", RESUMED, "--json", "--lane", "telegram"], 0, &[], &[]);
    let lines: Vec<&str> =
        out.lines().filter(|line| line.contains(r#""lane":"telegram""#)).collect();
    assert_eq!(only.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_scenario_is_replayed_in_its_newest_version_and_watched_at_its_pace() {
    let versions = fs::read_dir("cassettes/three-tools").unwrap();
    let newest = versions.map(|one| one.unwrap().file_name().into_string().unwrap()).max().unwrap();
    let named = format!("three-tools/{newest}");
    let plain = check(&["replay", &named, "--json"], 0, &[], &[]);
    assert_eq!(check(&["replay", "three-tools", "--json"], 0, &[], &[]), plain);
    let paced = check(&["replay", &named, "--json", "--pace", "200"], 0, &[], &[]);
    assert_ne!(paced, plain);
    let watched = ["replay", "three-tools", "--json", "--speed", "1000"];
    assert_eq!(check(&watched, 0, &[], &[]), paced);
    let cut = [&watched[..], &["--cut", "none"]].concat();
    assert_eq!(check(&cut, 0, &[], &[]), plain, "what is asked for stays");
}

#[test]
fn v6_calls_of_the_chat_go_wrong_as_asked() {
    let replay = |args: &[&str], out: &[&str]| {
        check(&[&["replay", "tools-after-text/2.1.329"], args].concat(), 0, out, &[])
    };
    let paced = ["--pace", "200", "--lane", "telegram", "--json", "--fault"];
    for (fault, answer) in [
        ("2:rate-limit:3s", r#""answer":"rate-limit:3s","shown":false"#),
        ("2:slow:700ms", r#""answer":"slow:700ms""#),
        ("2:not-modified", r#""answer":"not-modified""#),
        ("2:server-error", r#""answer":"server-error","shown":false"#),
        ("2:hang", r#""answer":"hang""#),
        ("2:lost-reply", r#""answer":"lost-reply""#),
    ] {
        replay(&[&paced[..], &[fault]].concat(), &[answer, r#""delivery":"sent""#]);
    }
    let seeded = ["--seed", "7", "--seed-faults", "rate-limit,slow", "--print-plan"];
    replay(&seeded, &[r#""faults":["#]);
    let late = ["replay", CASSETTE, "--fault", "2:late"];
    check(&late, 2, &[], &["there is no fault `late`; write rate-limit"]);
    let stuck = ["--pace", "200", "--stuck-callback", "3"];
    replay(&stuck, &["a channel's callback did not settle in 15 s"]);
}

#[test]
fn x2_a_resumed_session_is_told_after_the_run() {
    let said = ["verdict", "orphaned-tool-use", "answered", "disagreement"];
    check(&["replay", RESUMED, "--lane", "session"], 0, &said, &[]);
}

#[test]
fn however_it_is_cut_the_lifecycle_is_the_same() {
    let timeless = |args: &[&str]| {
        let mut all = vec!["replay", CASSETTE, "--json", "--lane", "lifecycle,bus"];
        all.extend(args);
        let out = check(&all, 0, &[], &[]);
        let entries = out.lines().map(|line| serde_json::from_str::<Entry>(line).unwrap());
        entries.map(|entry| entry.at_time(0).to_line()).collect::<Vec<_>>()
    };
    let whole = timeless(&["--cut", "none"]);
    assert!(whole.len() > 20);
    for args in [
        &["--cut", "line"][..],
        &["--cut", "byte"],
        &["--cut", "7"],
        &["--cut", "random"],
        &["--seed", "5"],
        &["--pace", "3"],
    ] {
        assert_eq!(timeless(args), whole, "{args:?}");
    }
}

#[test]
fn a_printed_plan_replays_what_its_seed_did() {
    let dir = tempfile::tempdir().unwrap();
    let plan = check(&["replay", CASSETTE, "--seed", "9", "--print-plan"], 0, &["\"seed\":9"], &[]);
    let file = dir.path().join("plan.json");
    fs::write(&file, plan).unwrap();
    let by_seed = check(&["replay", CASSETTE, "--seed", "9", "--json"], 0, &[], &[]);
    let by_plan =
        check(&["replay", CASSETTE, "--plan", file.to_str().unwrap(), "--json"], 0, &[], &[]);
    assert_eq!(by_seed, by_plan);
    let plan = fs::read_to_string(&file).unwrap();
    assert_eq!(check(&["replay", CASSETTE, "--plan", &plan, "--json"], 0, &[], &[]), by_plan);
    check(&["replay", CASSETTE, "--plan", "{}"], 2, &[], &["format"]);
    let other = ["replay", "cassettes/plain-text/2.1.329", "--plan", file.to_str().unwrap()];
    check(&other, 2, &[], &["it was made for another cassette"]);
}

#[test]
fn the_timeline_accounts_for_every_line() {
    check(&["replay", CASSETTE], 0, &["tool_start Read", "0 unknown, 0 unusable, 0 blank"], &[]);
}

#[test]
fn the_timeline_lists_the_kinds_it_did_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let lines = b"{\"type\":\"holo\"}\n{\"type\":\"holo\"}\n{\"type\":\"system\",\"subtype\":\"new\"}\n{\"a\":\"\xff\"}\n";
    fs::write(dir.path().join("run.jsonl"), lines).unwrap();
    let (code, out, _) = run(dir.path(), &["replay", "run.jsonl"]);
    assert_eq!(code, 0, "{out}");
    for line in ["unknown: holo ×2", "unknown: system/new ×1", "bad UTF-8: 1"] {
        assert!(out.contains(line), "{line} in\n{out}");
    }
}

#[test]
fn real_time_draws_the_chat() {
    let out = check(
        &["replay", CASSETTE, "--speed", "1000"],
        0,
        &["╭", "📖 Read: from /clitape/project/"],
        &[],
    );
    assert!(!out.contains("tool_start"), "{out}");
    check(&["replay", CASSETTE, "--speed", "0"], 2, &[], &["write a number from 0.01"]);
}

#[test]
fn an_imported_capture_becomes_a_scenario() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        r#"{"type":"system","subtype":"init","cwd":"/home/ada/work","session_id":"0a1b2c3d-0000-4000-8000-123456789abc","claude_code_version":"2.1.0"}"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"In /home/ada/work."}],"stop_reason":null},"session_id":"0a1b2c3d-0000-4000-8000-123456789abc"}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"In /home/ada/work.","session_id":"0a1b2c3d-0000-4000-8000-123456789abc"}"#,
    ];
    let file = dir.path().join("run.jsonl");
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let (code, out, err) = run(dir.path(), &["import", "run.jsonl", "--scenario", "mine"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("cassettes/mine/2.1.0"), "{out}");
    let stdout = fs::read_to_string(dir.path().join("cassettes/mine/2.1.0/stdout.jsonl")).unwrap();
    assert!(!stdout.contains("ada") && !stdout.contains("0a1b2c3d"), "{stdout}");
    let manifest =
        fs::read_to_string(dir.path().join("cassettes/mine/2.1.0/cassette.toml")).unwrap();
    assert!(manifest.contains("origin = \"imported\""), "{manifest}");
    run(dir.path(), &["test", "--update"]);
    run(dir.path(), &["review", "--accept"]);
    let (code, out, _) = run(dir.path(), &["test"]);
    assert_eq!(code, 0, "{out}");

    let (code, _, err) = run(dir.path(), &["record", "mine", "--claude", "path"]);
    assert_eq!(code, 4, "{err}");

    fs::write(&file, "no json\n").unwrap();
    let (code, _, err) = run(dir.path(), &["import", "run.jsonl", "--scenario", "other"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--output-format stream-json"), "{err}");
    assert!(!dir.path().join("scenarios/other").exists());
}

#[test]
fn a_scenario_s_mistake_is_told_with_its_line() {
    let workspace = workspace(&["plain-text"]);
    let path = workspace.path().join("scenarios/plain-text/scenario.toml");
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().position(|line| line.starts_with("about")).unwrap() + 1;
    fs::write(&path, text.replacen("about", "abuot", 1)).unwrap();
    let (code, out, _) = run(workspace.path(), &["test"]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("WS001 scenario-unusable"), "{out}");
    assert!(out.contains(&format!("scenario.toml:{line}: unknown field `abuot`")), "{out}");
    let (code, _, err) = run(workspace.path(), &["record", "plain-text"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains(&format!("scenario.toml:{line}: unknown field `abuot`")), "{err}");
}

#[test]
fn b2_what_was_masked_is_told_by_rule() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.jsonl");
    let call = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls","token":"hunter2"}}]}}"#;
    fs::write(&file, format!("{call}\n")).unwrap();
    let lanes = ["--lane", "bus,telegram,acp,sse"];
    let args = [&["replay", file.to_str().unwrap()][..], &lanes].concat();
    let out = check(&args, 0, &["masked: secret-name ×1"], &[]);
    assert!(!out.contains("hunter2"), "{out}");
}

#[test]
fn what_fails_is_made_small_and_kept_as_a_scenario() {
    let workspace = workspace(&["plain-text"]);
    let dir = workspace.path();
    let plan = failing_plan(dir);
    let args = ["shrink", "plain-text/2.1.329", "small"];
    let nothing = "plain-text 2.1.329: no plan fails, so that there is nothing to shrink";
    common::check(dir, &args, 4, &[nothing], &[]);
    let args = [&args[..], &["--plan", &plan]].concat();
    let out = common::check(dir, &args, 0, &["wrote scenarios/small: 1 of ", "GW004"], &[]);
    assert!(out.contains("final-not-once"), "{out}");
    let out =
        common::check(dir, &["test", "small"], 3, &["GW004 final-not-once small 2.1.329"], &[]);
    assert!(out.contains("pinned plan 1: "), "{out}");
    common::check(dir, &args, 2, &[], &["scenarios/small is there already"]);
    // A plan that breaks no rule does not fail where timing may give only one outcome.
    let bytes = fs::metadata(dir.join("cassettes/plain-text/1.0.128/stdout.jsonl")).unwrap().len();
    let plan = format!(r#"{{"format":1,"seed":1,"steps":[[0,{bytes}]]}}"#);
    let args = ["shrink", "plain-text/1.0.128", "other", "--plan", &plan];
    common::check(dir, &args, 4, &["the plan does not fail"], &[]);
    // A plan of another recording is a finding.
    let scenario = dir.join("scenarios/small/scenario.toml");
    let text = fs::read_to_string(&scenario).unwrap().replace("\"steps\":[[0,", "\"steps\":[[0,9");
    fs::write(&scenario, text).unwrap();
    common::check(dir, &["test", "small"], 3, &["`[[plan]]` 1 can't be used"], &[]);
}

#[test]
fn an_outcome_without_a_name_is_made_small() {
    let workspace = workspace(&["sse-error-mid-text"]);
    let dir = workspace.path();
    let path = dir.join("scenarios/sse-error-mid-text/scenario.toml");
    let text = fs::read_to_string(&path).unwrap();
    let (before, variant) = text.split_once("[[variant]]\nname = \"sent-whole\"").unwrap();
    let (_, after) = variant.split_once("[[variant]]").unwrap();
    fs::write(&path, format!("{before}[[variant]]{after}")).unwrap();
    let shrink = ["shrink", "sse-error-mid-text/1.0.128"];
    let plan = r#"{"format":1,"seed":1,"steps":[[0,3391]]}"#;
    for (new, plan) in [("of-plan", &["--plan", plan][..]), ("of-seeds", &[])] {
        let args = [&shrink[..], &[new], plan].concat();
        common::check(dir, &args, 0, &["2 of 8 lines", "GD005 outcome-unnamed: the plan"], &[]);
        let expect = [&format!("GD005 outcome-unnamed {new}")[..], "for variant `other`"];
        common::check(dir, &["test", new], 3, &expect, &[]);
    }
}
