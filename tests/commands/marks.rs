//! Tests of `clitape test --marks`, which lists the rules that were at stake and those that never were.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use crate::common::{check, workspace};

#[test]
fn what_was_never_at_stake_fails_a_run_of_all_scenarios() {
    let workspace = workspace(&["plain-text", "tool-error"]);
    let dir = workspace.path();
    let never =
        ["never at stake: ", "\n  QU001 tool-before-yes\n", "or a plan of a scenario as [[plan]]"];
    let out = check(dir, &["test", "--marks"], 3, &never, &[]);
    let line = |id: &str| out.lines().find(|line| line.contains(id)).unwrap().to_owned();
    assert!(line("ST001 line-lost").ends_with("plain-text 2.1.332 lifecycle"), "{out}");
    assert!(line("ST003 call-not-stated").ends_with("tool-error 2.1.332 lifecycle"), "{out}");
    assert!(line("diagnostic not-json").contains(" seed "), "{out}");
    assert!(line("diagnostic too-many-bytes").contains("unit tests of the parser"), "{out}");
    assert!(!out.contains("SB001"), "that is of gateways of others: {out}");
    // A part of the scenarios or of the plans need not put every rule at stake.
    for part in [&["plain-text"][..], &["--plans", "2"]] {
        check(dir, &[&["test", "--marks"], part].concat(), 0, &never[..1], &[]);
    }
    check(dir, &["test", "--marks", "--shard", "1/2"], 2, &[], &["'--marks' cannot be used with"]);
}
