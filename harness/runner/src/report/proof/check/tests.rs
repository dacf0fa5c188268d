//! Texts with the verdict of the policy, from the cases of `openclaw`'s own checks.

use super::*;

/// Returns a text with every field, after these replacements.
fn text(change: &[(&str, &str)]) -> String {
    let mut text = "# PR\n\n## Real behavior proof\n\n\
        - Subject: OpenClaw\n- Revision: 2026.5.7\n- Run: `clitape test --subject openclaw`\n\
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

/// Checks the verdict, and the missing sections of the newest policy.
fn check(text: &str, proof: ProofStatus, context: &[&str]) {
    let checked = super::check(text);
    assert_eq!((checked.proof, checked.context_missing.as_slice()), (proof, context), "{text}");
}

#[test]
fn a_text_with_every_field_passes() {
    check(&text(&[]), ProofStatus::Passed, &[]);
    check(&text(&[("\n", "\r\n")]), ProofStatus::Passed, &[]);
    check(&text(&[("- Evidence after fix:", "**Evidence after fix**:")]), ProofStatus::Passed, &[]);
    check(
        &text(&[("## Real behavior proof", "### Real behavior proof (required)")]),
        ProofStatus::Passed,
        &[],
    );
    check(&text(&[("macOS 15, OpenClaw 2026.5.7 + this patch", "none")]), ProofStatus::Passed, &[]);
    check(&text(&[("after fix:", "after fix (redacted):")]), ProofStatus::Passed, &[]);
}

#[test]
fn what_is_missing_is_named() {
    let both = &["What Problem This Solves", "Evidence"];
    check(
        &text(&[("## Real behavior proof", "# Real behavior proof")]),
        ProofStatus::NoSection,
        both,
    );
    check(&text(&[("## Real behavior proof", "## Proof")]), ProofStatus::NoSection, both);
    check(
        &text(&[("macOS 15, OpenClaw 2026.5.7 + this patch", "n/a")]),
        ProofStatus::Missing(vec![ProofField::Environment]),
        &[],
    );
    check(
        &text(&[(EVIDENCE, "[paste here]")]),
        ProofStatus::Missing(vec![ProofField::Evidence]),
        &["Evidence"],
    );
    // A fence that opens on the line of the field hides no heading.
    check(
        &text(&[("[demo]", "# not a heading")]),
        ProofStatus::Missing(vec![
            ProofField::Evidence,
            ProofField::ObservedResult,
            ProofField::NotTested,
        ]),
        &["Evidence"],
    );
    // A fence that opens on its own line hides headings.
    let own = format!("\n{EVIDENCE}");
    check(&text(&[(EVIDENCE, &own), ("[demo]", "# no heading")]), ProofStatus::Passed, &[]);
    let told = super::check(&text(&[(EVIDENCE, "tbd.")])).to_string();
    assert!(told.contains("\n  Evidence after fix\n"), "{told}");
}

#[test]
fn tests_are_no_evidence() {
    let mock = text(&[(EVIDENCE, "pnpm test passes, 34 unit tests"), (STEPS, "pnpm test")]);
    check(&mock, ProofStatus::MockOnly, &[]);
    let told = "pnpm test passes; openclaw agent printed it";
    check(&text(&[(EVIDENCE, told), (STEPS, "pnpm test")]), ProofStatus::MockOnly, &[]);
    let shown = "pnpm test passes\n\n![it](https://x/y.png)";
    check(&text(&[(EVIDENCE, shown), (STEPS, "pnpm test")]), ProofStatus::Passed, &[]);
    let fence = "```\ncargo test: 3 unit tests passed\n```";
    check(&text(&[(EVIDENCE, fence)]), ProofStatus::MockOnly, &[]);
    let imported = format!("{} imported\n{EVIDENCE}", crate::report::proof::text::NOT_REAL);
    check(&text(&[(EVIDENCE, &imported)]), ProofStatus::MockOnly, &[]);
}

#[test]
fn prose_and_disclaimers_are_no_evidence() {
    let prose = text(&[(EVIDENCE, "It works now"), (STEPS, "clicked around")]);
    check(&prose, ProofStatus::Insufficient, &[]);
    check(&text(&[("stream=tool\n```", "x\n```\nnot tested")]), ProofStatus::NotTested, &[]);
}

#[test]
fn evidence_that_nobody_sees_is_none() {
    for told in
        ["terminal output", "a screen recording of it", "see the log of `openclaw`", "stdout"]
    {
        check(&text(&[(EVIDENCE, told)]), ProofStatus::Insufficient, &[]);
    }
}

#[test]
fn a_text_that_says_that_something_failed_does_not_pass() {
    const OBSERVED: &str = "preview shows 📖 Read";
    for (observed, expect) in [
        ("7 goldens compared, 7 held; 64 plans, 64 equal; 11 invariants, 11 held", None),
        (
            "late-edit: the chat got x; 7 goldens compared, 6 held; 64 plans, 64 equal",
            Some("7 goldens compared, 6 held"),
        ),
        ("7 goldens compared, 7 held; 64 plans, not all equal", Some("64 plans, not all equal")),
        ("7 goldens compared, 7 held; 11 invariants, 0 held", Some("11 invariants, 0 held")),
        (
            "a: 1 golden compared, 1 held; b: 2 goldens compared, 1 held",
            Some("b: 2 goldens compared, 1 held"),
        ),
        ("the person reads `3, 2 held`", None),
    ] {
        let expect =
            expect.map_or(ProofStatus::Passed, |what| ProofStatus::Failed(what.to_owned()));
        check(&text(&[(OBSERVED, observed)]), expect, &[]);
    }
}

#[test]
fn the_newest_policy_asks_for_two_sections() {
    let both = &["What Problem This Solves", "Evidence"];
    let new = "## What Problem This Solves\nfoo\n\n## Evidence\npnpm test output: 5 passed\n";
    check(new, ProofStatus::NoSection, &[]);
    let empty = "## What Problem This Solves\n<!-- fill -->\n\n## Evidence\n- n/a\n";
    check(empty, ProofStatus::NoSection, both);
}
