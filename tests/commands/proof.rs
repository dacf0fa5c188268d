//! Tests of `clitape proof`: the page, the text and the pictures, and the check of a text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::Path;

use crate::common::{clitape, root, run, workspace};
use clitape_judge::{RULES, RuleScope};
use tempfile::TempDir;

/// The files that `clitape proof` writes.
const FILES: [&str; 5] = ["index.html", "proof.md", "preview.cast", "preview.svg", "proof.json"];

/// Makes a proof of these scenarios of the checkout.
fn proof(scenarios: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = write(root(), scenarios, dir.path());
    assert_eq!(code, 0, "{out}{err}");
    dir
}

fn write(workspace: &Path, scenarios: &[&str], dir: &Path) -> (i32, String, String) {
    let out = dir.to_str().unwrap();
    run(workspace, &[&["proof", "--no-png"], scenarios, &["--out", out]].concat())
}

fn read(dir: &Path, file: &str) -> String {
    fs::read_to_string(dir.join(file)).unwrap()
}

#[test]
fn a_proof_draws_each_chat_and_passes_the_check() {
    let dir = proof(&["three-tools/2.1.329", "bash-count/1.0.128", "resume-fork/2.1.329"]);
    let text = read(dir.path(), "proof.md");
    let chats: Vec<&str> = text.split("\n### ").skip(1).collect();
    assert_eq!(chats.len(), 4, "one for each run");
    for chat in &chats {
        let (heading, _) = chat.split_once('\n').unwrap();
        assert!(heading.ends_with("): all held") && chat.contains(" You ─╮\n"), "{chat}");
        let (_, command) = chat.split_once("`clitape ").unwrap();
        let args: Vec<&str> = command.split('`').next().unwrap().split(' ').collect();
        assert_eq!(run(root(), &args).0, 0, "{command}");
    }
    // The chat where its last tool shows, and at the end.
    let [working, end] = ["🛠️ Bash: search \"port\" in", "│ They do not agree: the server"];
    assert!(
        chats[0].find(working) < chats[0].rfind(end) && chats[0].contains(working),
        "{}",
        chats[0]
    );
    let (_, counted) = text.split_once("; 64 plans, 64 equal; ").unwrap();
    let (count, _) = counted.split_once(" rules at stake").unwrap();
    let all = RULES.iter().filter(|rule| rule.needs.scope != RuleScope::Others).count();
    assert!((10..all).contains(&count.parse().unwrap()), "{count} of {all}");
    assert!(counted.starts_with(&format!("{count} rules at stake, {count} held")), "{counted}");
    for told in [
        "- Subject: clitape\u{2019}s own bridge\n- Revision: clitape ",
        "- Run: `clitape test three-tools`, ",
        "the `claude` command 2.1.329 (sha256 `30e2724e2aecb1bf5dc9f3130901afb71c5fa229051c190a6d7ad9aff6378d6d`) \
         on linux-x86_64, recorded from the real CLI",
        "the `claude` command 1.0.128 (sha256 `c31ab34b",
        "Run 2 goes on with a copy of the session, under a new id: `Which word was it?`",
        "in run 2 the person ends up reading",
        "64 plans, 64 equal",
        "the model was scripted",
    ] {
        assert!(text.contains(told), "{told}\n{text}");
    }
    let path = dir.path().join("proof.md");
    let (code, out, _) = run(root(), &["proof", "--check", path.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("passed: "), "{out}");
}

#[test]
fn the_page_shows_what_timing_may_give() {
    let dir = proof(&["sse-error-mid-text"]);
    let page = read(dir.path(), "index.html");
    for variant in ["sent-whole", "shown-whole", "caught-up"] {
        let file = format!("scenarios/sse-error-mid-text/golden/telegram-partial.{variant}.snap");
        assert!(page.contains(&format!("telegram-partial.{variant} <small>{file}")), "{page}");
    }
}

#[test]
fn the_page_names_what_was_recorded_and_what_held() {
    let dir = proof(&["three-tools/2.1.329"]);
    let page = read(dir.path(), "index.html");
    let manifest =
        fs::read_to_string(root().join("cassettes/three-tools/2.1.329/cassette.toml")).unwrap();
    let raw = manifest.lines().find_map(|line| line.strip_prefix("raw-stdout = ")).unwrap();
    for told in [
        raw.trim_matches('"'),
        "30e2724e2aecb1bf5dc9f3130901afb71c5fa229051c190a6d7ad9aff6378d6d",
        "recorded from the real CLI",
        "--include-partial-messages",
        "linux-x86_64",
        "session ×92",
        "7 goldens compared, 7 held",
        "64 plans, 64 equal",
        "GW003 edit-after-final",
        "preview calls",
        "<td>tool_start Read toolu_clitape_main_1_2 ",
        "Read: from /clitape/project/server.conf",
        "default-src &#39;none&#39;",
    ] {
        let told = told.replace("&#39;", "'");
        assert!(page.contains(&told), "{told}");
    }
    for outside in [" src=", "http://", "https://", "@import", "url(", " style=", " onclick="] {
        let own = page.split("<script type=\"application/json\"").next().unwrap();
        assert!(!own.contains(outside), "{outside}");
    }
}

#[test]
fn pictures_show_the_chat_without_a_script() {
    let dir = proof(&["three-tools/2.1.329"]);
    let svg = read(dir.path(), "preview.svg");
    assert!(svg.contains("<animate ") && svg.contains("port 8080"), "{svg}");
    assert!(!svg.contains("<script") && !svg.contains("href"), "{svg}");
    let sample = read(&root().join("reports/samples"), "preview.svg");
    assert_eq!(svg, sample, "write reports/samples/ again");
    let cast = read(dir.path(), "preview.cast");
    let mut lines =
        cast.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(lines.next().unwrap()["version"], 3);
    let events: Vec<_> = lines.collect();
    assert!(events.iter().any(|event| event[2].as_str().unwrap().contains("port 8080")));
    assert_eq!(events.last().unwrap()[1], "x");
    let length: f64 = events.iter().map(|event| event[0].as_f64().unwrap()).sum();
    assert!((length - 18.08).abs() < 0.001, "{length}");
}

#[test]
fn the_page_shows_every_run_with_what_it_was_made_of() {
    let dir = proof(&["resume-unknown-id/1.0.128", "resume-fork/2.1.329"]);
    let page = read(dir.path(), "index.html");
    assert_eq!(page.matches("<section class=\"run\"").count(), 4);
    let manifest =
        fs::read_to_string(root().join("cassettes/resume-fork/2.1.329/cassette.toml")).unwrap();
    let hashes = manifest.lines().filter_map(|line| line.split_once("stdout"));
    let hashes: Vec<&str> = hashes.filter_map(|(_, rest)| rest.split('"').rev().nth(1)).collect();
    assert_eq!(hashes.len(), 4, "raw and kept, of each run: {manifest}");
    for told in hashes.into_iter().chain([
        "asks for a session that never was",
        "No conversation found with session ID",
        "code 1",
        "--fork-session",
        "<h4>Run 2</h4>",
        "stdout.2.jsonl --mode partial --resume",
    ]) {
        assert!(page.contains(told), "{told}");
    }
    let picture = read(dir.path(), "preview.svg");
    let (_, last) = picture.rsplit_once("<g ").unwrap();
    for said in ["Noted: maple.", "It was maple."] {
        assert!(last.contains(said), "the chat goes on: {last}");
    }
}

#[test]
fn a_proof_of_a_dialogue_shows_both_sides() {
    let dir = proof(&["permission-allow/2.1.332"]);
    let prompt = "Make a file that is called made.txt.";
    let own = format!(r#""spans":[{{"text":"{prompt}","marks":"own"}}]"#);
    let asked = format!("<b>Message</b> <q>{prompt}</q> <small>0.200 s</small>");
    let written = format!("{prompt} │\n");
    let [button, decided] = ["[ ✅ Allow ]", "✅ Allowed after 3 s"];
    for (file, expect) in [
        ("index.html", &[&own, &asked, r#"{"text":"[ ✅ Allow ]","marks":"button"}"#, decided][..]),
        ("preview.svg", &["<rect class=\"bubble own\"", prompt, button, decided]),
        ("preview.cast", &[" You ─╮", prompt, button, decided]),
        ("proof.md", &[&written, decided]),
    ] {
        let text = read(dir.path(), file);
        for expect in expect {
            assert!(text.contains(*expect), "{file} has no {expect}");
        }
    }
    let page = read(dir.path(), "index.html");
    assert!(page.contains(".bubble.own {"), "no style for the person's messages");
    let last = page.rsplit_once("\"frames\":").unwrap().1.rsplit_once("{\"at\":").unwrap().1;
    assert!(!last.contains("\"button\""), "a button stays: {last}");
    let page = read(proof(&["three-tools/2.1.329"]).path(), "index.html");
    let prompt = r#""is_own":true,"spans":[{"text":"Do the ports in server.conf and client.conf agree?","marks":"own"}]"#;
    assert!(page.contains(prompt), "a prompt of the command line is a message of the person");
}

#[test]
fn a_proof_of_an_interrupt_shows_who_stopped_the_agent() {
    let dir = proof(&["live-interrupt-text/2.1.332"]);
    let button = "[ ⏹ Stop ]";
    let pressed = format!(r#""spans":[{{"text":"{button}","marks":"own button"}}]"#);
    for (file, expect) in [
        ("index.html", &[&pressed, "<b>Interrupt</b> ⏹ Stop <small>2.800 s</small>"][..]),
        ("preview.svg", &["<rect class=\"bubble own\"", button]),
        ("preview.cast", &[" You ─╮", button]),
        ("proof.md", &["[ ⏹ Stop ] │\n"]),
    ] {
        let text = read(dir.path(), file);
        for expect in expect {
            assert!(text.contains(*expect), "{file} has no {expect}");
        }
    }
}

#[test]
fn without_chromium_all_but_the_picture_is_there() {
    let dir = tempfile::tempdir().unwrap();
    for (name, value, why) in [
        ("PATH", "/nowhere", "there is no Chromium on PATH"),
        ("CLITAPE_CHROMIUM", "/nowhere/chromium", "Chromium ended before it was done"),
        ("CLITAPE_CHROMIUM", "/bin/false", "Chromium ended before it was done"),
    ] {
        fs::write(dir.path().join("page.png"), "of another page").unwrap();
        let mut proof = clitape();
        proof.current_dir(root()).env_remove("CLITAPE_CHROMIUM").env(name, value);
        let out = proof.args(["proof", "plain-text", "--out"]).arg(dir.path()).output().unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success() && said.contains(&format!("no page.png: {why}")), "{said}");
        let mut there: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        there.sort();
        let mut expect = FILES;
        expect.sort_unstable();
        assert_eq!(there, expect, "{name}={value}");
    }
}

#[test]
fn v8_hostile_output_is_text_in_files_and_in_the_terminal() {
    let dir = proof(&["hostile-output"]);
    let (code, out, _) = run(root(), &["replay", "hostile-output/2.1.329"]);
    assert_eq!(code, 0);
    let mut texts: Vec<(&str, String)> = vec![("terminal", out)];
    for args in [
        &["replay", "hostile-output/2.1.329", "--speed", "1000"][..],
        &["replay", "hostile-output/2.1.329", "--speed", "1000", "--channel", "sse"],
    ] {
        texts.push(("played", without_redraws(&run(root(), args).1)));
    }
    for file in FILES {
        texts.push((file, read(dir.path(), file)));
    }
    for (place, text) in &texts {
        let odd = text.chars().find(|c| c.is_control() && !"\n\t".contains(*c));
        assert_eq!(odd, None, "{place} has a control character");
        assert!(!text.contains('\u{202e}') || *place == "terminal", "{place} turns text around");
    }
    for file in ["index.html", "preview.svg"] {
        let text = read(dir.path(), file);
        for markup in ["<img", "<script>alert", "<script>document", "javascript:alert(3)\""] {
            assert!(!text.contains(markup), "{file} has {markup}");
        }
    }
    let page = read(dir.path(), "index.html");
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
    assert!(
        read(dir.path(), "proof.md").contains("\n````"),
        "no fence is longer than those inside"
    );
}

/// Returns the played text without the sequences that redraw earlier lines.
fn without_redraws(text: &str) -> String {
    text.split('\u{1b}')
        .map(|part| match part.split_once("A") {
            Some((count, rest)) if count.starts_with('[') && count[1..].parse::<u32>().is_ok() => {
                rest
            }
            _ => part.strip_prefix("[J").unwrap_or(part),
        })
        .collect()
}

#[test]
fn what_does_not_hold_is_told_with_its_diff() {
    let workspace = workspace(&["bash-count"]);
    let golden = workspace.path().join("scenarios/bash-count/golden/telegram-partial.2.1.148.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replace("three files", "four files")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = write(workspace.path(), &["bash-count"], dir.path());
    assert_eq!(code, 3, "{out}{err}");
    assert!(out.contains("GD001 golden-differs"), "{out}");
    let page = read(dir.path(), "index.html");
    assert!(page.contains("1 finding") && page.contains("<del>- "), "no diff");
    assert!(read(dir.path(), "proof.md").contains("4 goldens compared, 3 held"));
}

#[test]
fn an_import_is_no_evidence_and_says_so() {
    let workspace = workspace(&[]);
    let capture = root().join("cassettes/bash-count/2.1.329/stdout.jsonl");
    let import = ["import", capture.to_str().unwrap(), "--scenario", "elsewhere"];
    let (code, out, err) = run(workspace.path(), &import);
    assert_eq!(code, 0, "{out}{err}");
    let dir = tempfile::tempdir().unwrap();
    write(workspace.path(), &["elsewhere"], dir.path());
    let text = read(dir.path(), "proof.md");
    let mark = "Not real behaviour: the cassette of elsewhere was imported";
    assert!(text.contains(mark), "{text}");
    assert!(read(dir.path(), "index.html").contains("not recorded by clitape"));
    let path = dir.path().join("proof.md");
    let (code, out, _) = run(root(), &["proof", "--check", path.to_str().unwrap()]);
    assert_eq!(code, 3, "{out}");
    assert!(out.starts_with("mock only: "), "{out}");
}

#[test]
fn what_can_t_be_proved_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("body.md");
    fs::write(&file, "## Real behavior proof\n\n- Evidence: tbd\n- Revision: unknown\n").unwrap();
    let file = file.to_str().unwrap();
    for (args, expect, told) in [
        (&["proof", "--check", file][..], 3, "  Evidence after fix"),
        (&["proof", "--check", file], 3, "\n  Subject\n  Revision\n  Run\n"),
        (&["proof", "x", "--out", "x", "--chat-seed", "1"], 2, "name it with --subject"),
        (&["proof", "x", "--out", "x", "--pace", "1"], 2, "--subject"),
        (&["proof", "--check", "none.md"], 2, "can't read none.md"),
        (
            &["proof", "three-tools/9.9.9", "--out", "x"],
            2,
            "there are 1.0.128, 2.1.148, 2.1.329, 2.1.332",
        ),
        (&["proof", "nothing", "--out", "x"], 2, "no scenario `nothing`"),
        (&["proof"], 2, "required"),
    ] {
        let (code, out, err) = run(root(), args);
        assert_eq!(code, expect, "{args:?}\n{out}{err}");
        assert!(format!("{out}{err}").contains(told), "{args:?}\n{out}{err}");
    }
}

#[test]
fn the_picture_of_the_readme_is_of_today() {
    let committed = root().join("reports/samples/preview.svg");
    let picture = read(proof(&["three-tools"]).path(), "preview.svg");
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        fs::write(&committed, &picture).unwrap();
    }
    let hint = "run `UPDATE_PICTURES=1 cargo test --test commands proof`";
    assert!(
        fs::read_to_string(&committed).unwrap() == picture,
        "{} is old; {hint}",
        committed.display()
    );
    assert!(
        fs::read_to_string(root().join("README.md"))
            .unwrap()
            .contains("(reports/samples/preview.svg)")
    );
}
