//! Tests of proposed goldens: the chat before and after, keys on a terminal, several at a time, and the page.

#![allow(clippy::unwrap_used, reason = "a workspace that can't be read fails the test")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{check, clitape, files, run, workspace};
use tempfile::TempDir;

/// Makes a workspace with proposals for every golden that had this word in another form.
fn proposing(came: &str, expected: &str) -> TempDir {
    let workspace = workspace(&["three-tools"]);
    for golden in files(workspace.path(), ".snap") {
        let text = fs::read_to_string(&golden).unwrap();
        fs::write(&golden, text.replace(came, expected)).unwrap();
    }
    check(workspace.path(), &["test", "--update"], 3, &[], &[]);
    workspace
}

/// Runs the command several times at once, and expects the same result of all.
#[track_caller]
fn check_at_once(dir: &Path, args: &[&str], code: i32) {
    let all: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..8).map(|_| scope.spawn(|| run(dir, args))).collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for (own, out, err) in &all {
        assert_eq!(*own, code, "{out}{err}");
        assert_eq!(*out, all[0].1, "each prints the same\n{err}");
    }
}

#[test]
fn several_updates_at_once_propose_and_withdraw_the_same() {
    let workspace = workspace(&["plain-text", "empty-answer"]);
    let dir = workspace.path();
    let goldens = files(dir, ".snap");
    let right: Vec<String> =
        goldens.iter().map(|golden| fs::read_to_string(golden).unwrap()).collect();
    let write = |change: &dyn Fn(&str) -> String| {
        goldens.iter().zip(&right).for_each(|(golden, text)| {
            fs::write(golden, change(text)).unwrap();
        });
    };
    let proposed = || -> Vec<(PathBuf, String)> {
        let text = |path: PathBuf| (path.clone(), fs::read_to_string(path).unwrap());
        files(dir, ".snap.new").into_iter().map(text).collect()
    };
    write(&|text| text.replacen("\"at\":0", "\"at\":7", 1));
    check(dir, &["test", "--update"], 3, &[], &[]);
    let alone = proposed();
    assert!(alone.len() > 10, "{alone:?}");
    for _ in 0..2 {
        check_at_once(dir, &["test", "--update"], 3);
        assert!(proposed() == alone, "{:?}", files(dir, ".snap.new"));
        // All of them withdraw the proposals.
        write(&str::to_owned);
        check_at_once(dir, &["test", "--update"], 0);
        assert_eq!(pending(dir), 0);
        write(&|text| text.replacen("\"at\":0", "\"at\":7", 1));
    }
}

fn pending(dir: &Path) -> usize {
    files(dir, ".snap.new").len()
}

/// Runs `clitape review` with these keys and `q` typed on a terminal, and returns the output.
fn typed(dir: &Path, args: &[&str], keys: &str) -> String {
    let pty = nix::pty::openpty(None, None).unwrap();
    File::from(pty.master.try_clone().unwrap()).write_all(format!("{keys}q").as_bytes()).unwrap();
    let mut command = clitape();
    command.current_dir(dir).arg("review").args(args).stdin(Stdio::from(pty.slave));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_proposal_is_drawn_as_the_chat_before_and_after() {
    let workspace = proposing("Now the other one", "Now an other one");
    let dir = workspace.path();
    let out = typed(dir, &["telegram-partial.snap"], "dq");
    for part in [
        "1 of 1: scenarios/three-tools/golden/telegram-partial.snap\n",
        "  where they first differ\n  - old  ",
        "   + new  ",
        "- Now an other one.  ",
        "   + Now the other one.\n",
        "  in the end\n",
        "\"kind\":\"editMessageText\"",
        "0 accepted, 0 rejected, 1 skipped\n",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let first = out.split("[d]iff? ").next().unwrap();
    assert!(!first.contains("\"kind\""), "the entries are shown on demand: {out}");
}

#[test]
fn one_key_settles_a_golden_on_a_terminal() {
    let workspace = proposing("Now the other one", "Now an other one");
    let dir = workspace.path();
    let all = pending(dir);
    assert!(all > 4, "{all}");
    // An arrow key is not taken for a letter, and `?` explains the keys.
    let out = typed(dir, &[], "\u{1b}[Aq");
    assert!(out.ends_with(&format!("0 accepted, 0 rejected, {all} skipped\n")), "{out}");
    // What has the same change may be accepted with it; here it waits.
    let out = typed(dir, &[], "?xanrsq");
    assert!(out.contains("A  accept it and all that follow\n"), "{out}");
    let skipped = all - 2;
    assert!(out.ends_with(&format!("1 accepted, 1 rejected, {skipped} skipped\n")), "{out}");
    assert_eq!(pending(dir), skipped);
    let out = typed(dir, &["--reason", "the word was wrong"], "sA");
    assert!(out.ends_with(&format!("{} accepted, 0 rejected, 1 skipped\n", skipped - 1)), "{out}");
    let explained = files(dir, ".snap").into_iter().filter(|golden| {
        fs::read_to_string(golden).unwrap().contains("description: \"the word was wrong\"")
    });
    assert_eq!(explained.count(), skipped - 1, "one reason for all");
}

#[test]
fn the_chat_comes_first_and_the_same_change_is_accepted_with_it() {
    let workspace = proposing("Now the other one", "Now an other one");
    let dir = workspace.path();
    let all = pending(dir);
    let out = typed(dir, &[], "ay");
    assert!(out.contains(&format!("1 of {all}: scenarios/three-tools/golden/telegram-")), "{out}");
    assert!(out.contains("the same change is in "), "{out}");
    // A further chat has no other change; a lane may have the word in other pieces, and is asked for.
    let chats = |id: &&PathBuf| id.display().to_string().contains("telegram-");
    let left = files(dir, ".snap.new");
    assert!(left.len() < all - 1, "{out}");
    assert_eq!(left.iter().filter(chats).count(), 0, "{out}");
    // Another change is no part of it.
    let golden = dir.join("scenarios/three-tools/golden/bus.snap");
    let text = fs::read_to_string(&golden).unwrap();
    fs::write(&golden, text.replacen("\"at\":0", "\"at\":7", 1)).unwrap();
    check(dir, &["test", "--update"], 3, &[], &[]);
    let out = typed(dir, &["three-tools/bus"], "q");
    assert!(!out.contains("the same change"), "{out}");
}

#[test]
fn the_ids_of_the_list_choose_goldens() {
    let workspace = proposing("Now the other one", "Now an other one");
    let dir = workspace.path();
    let all = pending(dir);
    let out = check(dir, &["review", "--list"], 3, &[" changed three-tools/bus: "], &[]);
    let ids = ["three-tools/bus", "three-tools/sse"];
    assert!(ids.iter().all(|id| out.contains(&format!("{id}: "))), "{out}");
    let nowhere = ["review", "three-tools/bos", "--accept"];
    check(dir, &nowhere, 2, &[], &["no golden `three-tools/bos` waits for a review; there are "]);
    let part = ["review", "--accept", "three-tools"];
    check(dir, &part, 2, &[], &["only a part of ids", "`clitape review three-tools --accept`"]);
    let args = ["review", ids[0], ids[1], "--accept", "--reason", "the word was wrong"];
    // An id selects that golden only, without those of further versions.
    check(dir, &args, 0, &["2 accepted, 0 rejected, 0 skipped"], &[]);
    assert_eq!(pending(dir), all - 2);
    for view in ["bus", "sse"] {
        let golden = dir.join(format!("scenarios/three-tools/golden/{view}.snap"));
        let text = fs::read_to_string(golden).unwrap();
        assert!(text.contains("description: \"the word was wrong\""), "{text}");
    }
    // The reason stays when the golden changes again, until another one is given.
    let golden = dir.join("scenarios/three-tools/golden/bus.snap");
    let accepted = fs::read_to_string(&golden).unwrap();
    for (more, reason) in [(&[][..], "the word was wrong"), (&["--reason", "again"], "again")] {
        fs::write(&golden, accepted.replace("Now the other one", "Now an other one")).unwrap();
        check(dir, &["test", "--update"], 3, &[], &[]);
        check(dir, &[&["review", ids[0], "--accept"], more].concat(), 0, &["1 accepted"], &[]);
        let text = fs::read_to_string(&golden).unwrap();
        assert_eq!(text, accepted.replace("the word was wrong", reason));
    }
    let out = check(dir, &["review", "telegram-", "--reject"], 0, &[" rejected, 0 skipped"], &[]);
    assert!(!out.contains("lifecycle") && pending(dir) < all - 2, "{out}");
}

#[test]
fn a_new_golden_of_a_version_is_compared_with_the_one_that_held() {
    let workspace = workspace(&["three-tools"]);
    let dir = workspace.path();
    let golden = dir.join("scenarios/three-tools/golden/telegram-progress.2.1.148.snap");
    fs::remove_file(&golden).unwrap();
    check(dir, &["test", "--update"], 3, &[], &[]);
    let told = "     new three-tools/telegram-progress.2.1.148: a new golden of ";
    let out = check(dir, &["review", "--list"], 3, &[told], &[]);
    assert!(out.contains("; compared with telegram-progress.snap: "), "{out}");
}

#[test]
fn a_new_golden_of_a_variant_is_compared_with_the_usual_one() {
    let name = "sse-error-mid-text";
    let workspace = workspace(&[name]);
    let dir = workspace.path();
    let goldens = files(&dir.join("scenarios").join(name), ".snap");
    let is_variant = |path: &&PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy();
        file.starts_with("telegram-partial.")
            && !file.contains(".2.")
            && file.matches('.').count() == 2
    };
    let variant = goldens.iter().find(is_variant).unwrap();
    fs::remove_file(variant).unwrap();
    check(dir, &["test", "--update"], 3, &[], &[]);
    let id = format!("{name}/{}", variant.file_stem().unwrap().to_string_lossy());
    let out = check(dir, &["review", "--list"], 3, &[&format!("new {id}: a new golden of ")], &[]);
    assert!(out.contains("; compared with telegram-partial."), "{out}");
}

#[test]
fn a_page_shows_what_is_proposed() {
    let workspace = proposing("Now the other one", "Now <b>an other one");
    let dir = workspace.path();
    let all = pending(dir);
    check(dir, &["review", "--html", "review.html"], 0, &["review.html"], &[]);
    assert_eq!(pending(dir), all, "nothing is settled");
    let page = fs::read_to_string(dir.join("review.html")).unwrap();
    for part in [
        &format!("{all} proposed goldens"),
        "<h2>three-tools/telegram-partial ",
        "<span class=\"tag\">old</span>",
        "<del>",
        "<ins>the</ins>",
        "where they first differ",
        "in the end",
    ] {
        assert!(page.contains(part), "no `{part}` in\n{page}");
    }
    assert!(!page.contains("<script") && !page.contains("<b>an other"), "{page}");
    check(dir, &["review", "--html", "x.html", "three-tools/bus"], 0, &[], &[]);
    let page = fs::read_to_string(dir.join("x.html")).unwrap();
    assert!(page.contains("1 proposed golden<") && !page.contains("three-tools/sse"), "{page}");
}
