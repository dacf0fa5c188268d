//! Texts and what the policy says of them, from the cases of `openclaw`'s own checks.

use super::*;

/// A text with every field; `change` makes a case of it.
fn text(change: &[(&str, &str)]) -> String {
    let mut text = "# PR\n\n## Real behavior proof\n\n\
        - Behavior or issue addressed: x\n\
        - Real environment tested: macOS 15, OpenClaw 2026.5.7 + this patch\n\
        - Exact steps or command run after this patch: `openclaw gateway run`, then a message\n\
        - Evidence after fix: ```\n[demo] BUS evt stream=tool\n```\n\
        - Observed result after fix: preview shows 📖 Read\n\
        - What was not tested: none\n\n## Other\ntext\n"
        .to_owned();
    for (from, to) in change {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

const EVIDENCE: &str = "```\n[demo] BUS evt stream=tool\n```";
const STEPS: &str = "`openclaw gateway run`, then a message";

/// The verdict, and which of the newest policy's sections are missing.
fn check(text: &str, proof: Status, context: &[&str]) {
    let checked = super::check(text);
    assert_eq!((checked.proof, checked.context_missing.as_slice()), (proof, context), "{text}");
}

#[test]
fn a_text_with_every_field_passes() {
    check(&text(&[]), Status::Passed, &[]);
    check(&text(&[("\n", "\r\n")]), Status::Passed, &[]);
    check(&text(&[("- Evidence after fix:", "**Evidence after fix**:")]), Status::Passed, &[]);
    check(
        &text(&[("## Real behavior proof", "### Real behavior proof (required)")]),
        Status::Passed,
        &[],
    );
    check(&text(&[("macOS 15, OpenClaw 2026.5.7 + this patch", "none")]), Status::Passed, &[]);
    check(&text(&[("after fix:", "after fix (redacted):")]), Status::Passed, &[]);
}

#[test]
fn what_is_missing_is_named() {
    let both = &["What Problem This Solves", "Evidence"];
    check(&text(&[("## Real behavior proof", "# Real behavior proof")]), Status::NoSection, both);
    check(&text(&[("## Real behavior proof", "## Proof")]), Status::NoSection, both);
    check(
        &text(&[("macOS 15, OpenClaw 2026.5.7 + this patch", "n/a")]),
        Status::Missing(vec![Field::Environment]),
        &[],
    );
    check(
        &text(&[(EVIDENCE, "[paste here]")]),
        Status::Missing(vec![Field::Evidence]),
        &["Evidence"],
    );
    // A fence that opens on the line of the field hides no heading.
    check(
        &text(&[("[demo]", "# not a heading")]),
        Status::Missing(vec![Field::Evidence, Field::ObservedResult, Field::NotTested]),
        &["Evidence"],
    );
    // One that opens on a line of its own does.
    let own = format!("\n{EVIDENCE}");
    check(&text(&[(EVIDENCE, &own), ("[demo]", "# no heading")]), Status::Passed, &[]);
    let told = super::check(&text(&[(EVIDENCE, "tbd.")])).to_string();
    assert!(told.contains("\n  Evidence after fix\n"), "{told}");
}

#[test]
fn tests_are_no_evidence() {
    let mock = text(&[(EVIDENCE, "pnpm test passes, 34 unit tests"), (STEPS, "pnpm test")]);
    check(&mock, Status::MockOnly, &[]);
    let live = "pnpm test passes; openclaw agent printed it";
    check(&text(&[(EVIDENCE, live), (STEPS, "pnpm test")]), Status::Passed, &[]);
    let fence = "```\ncargo test: 3 unit tests passed\n```";
    check(&text(&[(EVIDENCE, fence)]), Status::MockOnly, &[]);
    let imported = format!("{} imported\n{EVIDENCE}", crate::report::proof::evidence::NOT_REAL);
    check(&text(&[(EVIDENCE, &imported)]), Status::MockOnly, &[]);
}

#[test]
fn prose_and_disclaimers_are_no_evidence() {
    let prose = text(&[(EVIDENCE, "It works now"), (STEPS, "clicked around")]);
    check(&prose, Status::Insufficient, &[]);
    check(&text(&[("stream=tool\n```", "x\n```\nnot tested")]), Status::NotTested, &[]);
}

#[test]
fn the_newest_policy_asks_for_two_sections() {
    let both = &["What Problem This Solves", "Evidence"];
    let new = "## What Problem This Solves\nfoo\n\n## Evidence\npnpm test output: 5 passed\n";
    check(new, Status::NoSection, &[]);
    let empty = "## What Problem This Solves\n<!-- fill -->\n\n## Evidence\n- n/a\n";
    check(empty, Status::NoSection, both);
}
