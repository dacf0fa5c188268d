//! Tests of secrets in recordings: they are found before a file is written, redacted on request, and found again by
//! `test` and `proof`. An independent scanner, `detect-secrets` of PyPI, confirms that they are gone.
//!
//! Without detect-secrets its test is reported as ignored; it fails instead if `CLITAPE_REQUIRE` names
//! `detect-secrets`.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod common;
mod detect_secrets;
mod planted;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clitape_recording::cassette::{Cassette, Take, import};
use clitape_recording::scenario::{Workspace, template};
use clitape_recording::secrets::{Scanned, redact, scan, scan_path, scan_take};
use common::{check, clitape, edit_manifest, files, put_program, run};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use planted::{Draws, Planted, capture, places, plant, planted as plant_all, shown};

/// A token that was made up.
const TOKEN: &str = "ghp_Qe7uZb2mXk9RtY4wVc6Na1sLd8Hf3Gj5Pq0O";

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trials: [(&str, fn()); 8] = [
        ("an_import_stops_at_a_secret", an_import_stops_at_a_secret),
        ("a_recording_stops_at_a_secret", a_recording_stops_at_a_secret),
        ("a_kept_secret_is_allowed_or_a_finding", a_kept_secret_is_allowed_or_a_finding),
        ("a_scan_says_where_and_never_what", a_scan_says_where_and_never_what),
        (
            "planted_secrets_are_found_and_gone_after_redaction",
            planted_secrets_are_found_and_gone_after_redaction,
        ),
        ("the_page_of_kinds_is_made_from_the_table", planted::page::check),
        ("a_scan_finds_settings_under_capital_names", a_scan_finds_settings_under_capital_names),
        (
            "a_scan_tells_a_secret_from_what_stands_for_one",
            a_scan_tells_a_secret_from_what_stands_for_one,
        ),
    ];
    let plain = trials.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    let scanner =
        Trial::ignorable_test("another_scanner_finds_none_after_redaction", another_scanner);
    libtest_mimic::run(&args, plain.into_iter().chain([scanner]).collect()).exit_code()
}

fn write_capture(dir: &Path, text: &str) {
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s","claude_code_version":"2.1.0"}"#
            .to_owned(),
        format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        ),
        format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}"}}"#),
    ];
    fs::write(dir.join("run.jsonl"), lines.join("\n") + "\n").unwrap();
}

fn an_import_stops_at_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    write_capture(dir.path(), &format!("the key {TOKEN} works"));
    let import = ["import", "run.jsonl", "--scenario", "mine"];
    let says =
        ["2 github", "stdout.jsonl:2 github: ghp_Qe…Pq0O", "--redact", "--allow-secrets github"];
    let out = check(dir.path(), &import, 3, &says, &[]);
    assert!(!out.contains(TOKEN) && !dir.path().join("cassettes").exists());
    assert!(!dir.path().join("scenarios").exists());
    let unknown = [&import[..], &["--allow-secrets", "gitgub"]].concat();
    check(dir.path(), &unknown, 2, &[], &["there is no rule `gitgub`"]);

    check(dir.path(), &[&import[..], &["--redact"]].concat(), 0, &["2 github"], &[]);
    let cassette = dir.path().join("cassettes/mine/2.1.0");
    let read = |file: &str| fs::read_to_string(cassette.join(file)).unwrap();
    assert!(
        read("stdout.jsonl").contains("the key ghp_redacted0001redacted0001redacted0001 works")
    );
    assert!(
        read("cassette.toml").contains("[redacted]\ngithub = 2\n"),
        "{}",
        read("cassette.toml")
    );
    check(dir.path(), &["scan", "cassettes"], 0, &["0 secrets in"], &[]);
}

fn a_recording_stops_at_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("scenarios/leaky");
    fs::create_dir_all(&scenario).unwrap();
    let toml = "title = 't'\nabout = 'a'\n[record]\nprompt = 'Go.'\n";
    fs::write(scenario.join("scenario.toml"), toml).unwrap();
    let model = "[[turn]]\n[[turn.block]]\ntext = 'Hi.'\n";
    fs::write(scenario.join("model.toml"), model).unwrap();
    let record =
        format!(r#"{{"type":"result","session_id":"5-a","result":"the key {TOKEN} works"}}"#);
    let cli = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 9.9.9; else echo '{record}'; echo {TOKEN} >&2; fi\n"
    );
    put_program(&dir.path().join("claude"), &cli);
    let state = dir.path().join("state");
    let record = |more: &[&str], code: i32, says: &[&str]| {
        let args = ["record", "leaky", "--claude", "./claude", "--yes"];
        let mut command = clitape();
        command.args(args).args(more).current_dir(dir.path()).env("XDG_STATE_HOME", &state);
        let output = command.output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(says.iter().all(|part| said.contains(part)) && !said.contains(TOKEN), "{said}");
    };
    record(&[], 3, &["2 github", "stdout.jsonl:1 github: ghp_Qe…Pq0O", "nothing was written"]);
    assert!(!dir.path().join("cassettes").exists());
    record(&["--redact"], 0, &["secrets replaced: 2 github"]);
    check(dir.path(), &["scan", "cassettes"], 0, &["0 secrets in"], &[]);
    record(&["--allow-secrets", "github", "--force"], 0, &["secrets kept: 2 github"]);
    let toml = dir.path().join("cassettes/leaky/9.9.9/cassette.toml");
    assert!(fs::read_to_string(toml).unwrap().contains("allowed_secrets = [\"github\"]"));
}

fn a_kept_secret_is_allowed_or_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    write_capture(dir.path(), &format!("the key {TOKEN} works"));
    let import = ["import", "run.jsonl", "--scenario", "mine", "--allow-secrets", "github"];
    check(dir.path(), &import, 0, &["secrets kept: 2 github"], &[]);
    let toml = dir.path().join("cassettes/mine/2.1.0/cassette.toml");
    let text = fs::read_to_string(&toml).unwrap();
    assert!(text.contains("allowed_secrets = [\"github\"]\n"), "{text}");
    run(dir.path(), &["test", "--update"]);
    run(dir.path(), &["review", "--accept"]);
    check(dir.path(), &["test"], 0, &[], &[]);
    check(dir.path(), &["scan", "."], 3, &["run.jsonl:2 github: ghp_Qe…Pq0O"], &[]);
    check(dir.path(), &["scan", "cassettes", "scenarios"], 0, &["allowed: "], &[]);
    check(dir.path(), &["proof", "mine", "--out", "proof", "--no-png"], 0, &[], &[]);
    let proof = fs::read_to_string(dir.path().join("proof/proof.md")).unwrap();
    assert!(!proof.contains("secrets redacted"), "{proof}");

    edit_manifest(&toml, |text| text.replace("allowed_secrets = [\"github\"]\n", ""));
    let says =
        ["SC001 secret-kept", "cassettes/mine/2.1.0/stdout.jsonl:2", "rule `github`", "golden/"];
    let out = check(dir.path(), &["test"], 3, &says, &[]);
    assert!(!out.contains(TOKEN), "{out}");
    let proof = ["proof", "mine", "--out", "again", "--no-png"];
    check(dir.path(), &proof, 2, &[], &["would be published", "nothing was written"]);
    assert!(!dir.path().join("again").exists());
}

fn a_scan_says_where_and_never_what() {
    let dir = tempfile::tempdir().unwrap();
    let nested =
        serde_json::json!({"a": serde_json::json!({"b": format!("x {TOKEN}")}).to_string()});
    fs::write(dir.path().join("a.jsonl"), format!("{{}}\n{nested}\n")).unwrap();
    fs::write(dir.path().join("b.txt"), "nothing here\n").unwrap();
    std::os::unix::fs::symlink("a.jsonl", dir.path().join("c.jsonl")).unwrap();
    let says =
        ["a.jsonl:2 github: ghp_Qe…Pq0O", "1 secret in 2 files: 1 github", "c.jsonl: it is a link"];
    let out = check(dir.path(), &["scan", "."], 3, &says, &[]);
    assert!(!out.contains(TOKEN));
    let json = check(dir.path(), &["scan", ".", "--json"], 3, &[], &[]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["secrets"][0]["line"], 2);
    assert_eq!(json["by_rule"]["github"], 1);
    check(dir.path(), &["scan", ".", "--allow-secrets", "github"], 0, &["allowed: 1 github"], &[]);
}

fn a_scan_finds_settings_under_capital_names() {
    let dir = tempfile::tempdir().unwrap();
    let secret = Draws::of(7).word();
    let env =
        serde_json::json!({"STRIPE_KEY": secret, "CACHE_KEY": "v1:users", "LOG_LEVEL": "debug"});
    let settings = serde_json::json!({"mcpServers": {"pay": {"command": "npx", "env": env}}});
    let is_found = |text: Vec<u8>, rule: &str| {
        fs::write(dir.path().join(".mcp.json"), text).unwrap();
        let out = check(dir.path(), &["scan", ".mcp.json"], 3, &["1 secret in 1 file", rule], &[]);
        assert!(!out.contains(&secret), "{out}");
    };
    is_found(serde_json::to_vec(&settings).unwrap(), "secret-name");
    is_found(serde_json::to_vec_pretty(&settings).unwrap(), "json");
}

fn a_scan_tells_a_secret_from_what_stands_for_one() {
    let mut draws = Draws::of(11);
    for place in places() {
        for ordinary in &place.ordinary {
            assert_eq!(found(&place.text(ordinary)), [""; 0], "{}: {ordinary}", place.about);
        }
        let secret = draws.word();
        let found = found(&place.text_with(&secret));
        let is_it = matches!(&*found, [one] if one.ends_with(&secret[secret.len() - 4..]));
        assert!(is_it, "{}: {secret}: {found:?}", place.about);
    }
}

/// Returns the excerpts that `scan` shows of the secrets in a text, after checking that the text as a JSON string gives
/// the same.
fn found(text: &str) -> Vec<String> {
    let hits = |text: &str| -> Vec<String> {
        scan("file", text.as_bytes()).into_iter().map(|hit| hit.excerpt).collect()
    };
    let all = hits(text);
    let line = serde_json::json!({"output": text}).to_string() + "\n";
    assert_eq!(hits(&line), all, "as JSON: {text}");
    all
}

fn told(planted: &[&Planted]) -> String {
    let lines = planted.iter().map(|p| format!("{} in place {}: {}", p.kind, p.place, p.text));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the recording of [`capture`] and [`plant`].
fn recording(draws: &mut Draws, all: &[Planted]) -> Take {
    let stdout = capture(draws, all);
    let mut take = import(&"planted".parse().unwrap(), &stdout, &[], None).unwrap();
    plant(&mut take, all);
    take
}

/// Writes a recording into `dir` with everything that is made from it: a scenario, goldens, a proof.
fn fill(dir: &Path, take: &Take) {
    let workspace = Workspace::at(dir);
    let name = "planted".parse().unwrap();
    let scenario = template::skeleton(&workspace, &name, &take.manifest.cli.version).unwrap();
    let toml = scenario.place().join("scenario.toml");
    let cassette = take.write_with(&workspace, scenario).unwrap();
    // The timeline must fit the other files.
    Cassette::load(&cassette).unwrap();
    let text = fs::read_to_string(&toml).unwrap() + "\n[sweep]\nplans = 1\n";
    fs::write(&toml, text).unwrap();
    run(dir, &["test", "--update"]);
    run(dir, &["review", "--accept"]);
    let (_, _, said) = run(dir, &["proof", "planted", "--out", "proof", "--no-png"]);
    for file in ["index.html", "proof.md", "preview.cast", "preview.svg"] {
        assert!(dir.join("proof").join(file).exists(), "{file}: {said}");
    }
}

fn planted_secrets_are_found_and_gone_after_redaction() {
    let mut draws = Draws::of(13);
    let all = plant_all(&mut draws);
    assert!(all.len() >= 300, "{}", all.len());
    let mut take = recording(&mut draws, &all);
    assert!(scan_take(&take).len() >= all.len(), "{} found", scan_take(&take).len());
    let mut again = take.clone();
    let lines = take.stdout.iter().filter(|byte| **byte == b'\n').count();
    redact(&mut take).unwrap();
    redact(&mut again).unwrap();
    assert_eq!(take, again, "the same secrets have the same fakes");
    assert_eq!(take.stdout.iter().filter(|byte| **byte == b'\n').count(), lines);

    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), &take);
    if let Some(kept) = std::env::var_os("CLITAPE_KEEP_PLANTED") {
        for path in files(dir.path(), "") {
            let to = Path::new(&kept).join(path.strip_prefix(dir.path()).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, to).unwrap();
        }
    }
    let mut scanned = Scanned::default();
    scan_path(dir.path(), &mut scanned).unwrap();
    let hits: Vec<String> = scanned.hits.iter().map(ToString::to_string).collect();
    assert!(hits.is_empty(), "{}", hits.join("\n"));
    let mut seen = 0;
    for path in files(dir.path(), "") {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let left = shown(&all, &text);
        assert!(left.is_empty(), "{}:\n{}", path.display(), told(&left));
        seen += 1;
    }
    assert!(seen >= 10, "{seen} files");
}

/// The least planted secrets that detect-secrets 1.5.0 must find before redaction (it finds 49), so that finding none
/// afterwards is meaningful.
const FOUND_BEFORE: usize = 40;

/// Checks that detect-secrets finds planted secrets in a recording, and none in a redacted one, its goldens and its
/// proof.
fn another_scanner() -> Result<Completion, Failed> {
    if !detect_secrets::is_there() {
        let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
        if required.split([',', ' ']).any(|tool| tool == "detect-secrets") {
            return Err("detect-secrets is not installed, and CLITAPE_REQUIRE names it".into());
        }
        return Ok(Completion::ignored_with("detect-secrets is not installed"));
    }
    let mut draws = Draws::of(13);
    let all = plant_all(&mut draws);
    let mut take = recording(&mut draws, &all);
    let hashes = detect_secrets::hashes(&all);
    let reported = |dir: &Path| -> Result<Vec<&Planted>, Failed> {
        let reported = detect_secrets::scan(dir)?;
        Ok(all
            .iter()
            .zip(&hashes)
            .filter(|(_, of)| !of.is_disjoint(&reported))
            .map(|(p, _)| p)
            .collect())
    };
    let before = tempfile::tempdir()?;
    take.write(&Workspace::at(before.path()))?;
    let found = reported(before.path())?;
    assert!(found.len() >= FOUND_BEFORE, "{} found:\n{}", found.len(), told(&found));

    redact(&mut take)?;
    let after = tempfile::tempdir()?;
    fill(after.path(), &take);
    let left = reported(after.path())?;
    assert!(left.is_empty(), "{}", told(&left));
    Ok(Completion::Completed)
}
