//! The provenance of a case: who printed its bytes, when, with which command, and what was replaced in them.

use clitape_recording::cassette::{Confinement, Manifest, Origin};
use clitape_recording::names::{CassetteFile, CassettePart};
use clitape_recording::text::plural;
use maud::{Markup, html};

use crate::suite::{CaseRun, ProofCase};

/// Returns the provenance of the case, then that of each of its runs.
pub(super) fn provenance(case: &ProofCase) -> Markup {
    html! {
        h3 { "Provenance" } "\n"
        (list(&of_case(case)))
        @for run in &case.runs {
            @if case.runs.len() > 1 { h4 { "Run " (run.number) } "\n" }
            (list(&of_run(case, run)))
        }
    }
}

fn list(rows: &[(String, String)]) -> Markup {
    html! {
        dl.provenance {
            @for (name, value) in rows {
                div {
                    dt { (name) }
                    dd { @if value.is_empty() { "not known" } @else { (value) } }
                }
                "\n"
            }
        }
    }
}

fn of_case(case: &ProofCase) -> Vec<(String, String)> {
    let manifest = &case.manifest;
    let cli = &manifest.cli;
    let replaced: Vec<String> =
        manifest.canonical.iter().map(|(rule, count)| format!("{rule} ×{count}")).collect();
    let replaced = if replaced.is_empty() { "nothing".to_owned() } else { replaced.join(", ") };
    vec![
        ("Origin".into(), origin(manifest.origin).to_owned()),
        ("CLI".into(), format!("claude {}", cli.version)),
        ("SHA-256 of the CLI".into(), cli.sha256.clone().unwrap_or_default()),
        ("Platform".into(), cli.platform.clone()),
        ("Date".into(), cli.date.clone()),
        ("Confined".into(), confinement(manifest).unwrap_or_default().to_owned()),
        ("Replaced, by rule".into(), replaced),
    ]
}

fn of_run(case: &ProofCase, run: &CaseRun) -> Vec<(String, String)> {
    let hash = |file: &CassetteFile| case.manifest.sha256.get(file).cloned().unwrap_or_default();
    let kept = CassetteFile::new(CassettePart::Stdout, run.number);
    let counts = run.counts;
    let mut rows = vec![
        ("Command line".into(), run.argv.join(" ")),
        ("Exit".into(), run.exit.map(|exit| exit.to_string()).unwrap_or_default()),
        (
            "Size".into(),
            [(counts.bytes, "byte"), (counts.lines, "line"), (counts.reads, "read")]
                .map(|(n, noun)| plural(n, noun))
                .join(", "),
        ),
        (
            "SHA-256 of raw stdout".into(),
            hash(&CassetteFile::new(CassettePart::RawStdout, run.number)),
        ),
        (format!("SHA-256 of {kept}"), hash(&kept)),
        ("Shown here".into(), format!("whole lines, as goldens are made: {}", run.command())),
    ];
    if !run.stderr.is_empty() {
        rows.push(("Printed on stderr".into(), run.stderr.clone()));
    }
    rows
}

/// Describes for people how the CLI was confined while it was recorded; `None` if that is unknown.
pub(crate) fn confinement(manifest: &Manifest) -> Option<&'static str> {
    match (manifest.origin, manifest.cli.confined) {
        (_, Some(Confinement::Landlock)) => Some("confined by Landlock to its temporary folder"),
        (_, Some(Confinement::Bubblewrap)) => {
            Some("confined by bubblewrap to its temporary folder")
        }
        (Origin::Recorded, None) => Some("not confined"),
        (Origin::Imported | Origin::Composed | Origin::Edited, None) => None,
    }
}

/// Describes for people where the bytes come from.
pub(crate) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Recorded => "recorded from the real CLI",
        Origin::Imported => "imported from a capture made elsewhere",
        Origin::Composed => "composed from parts of recordings",
        Origin::Edited => "recorded, then edited by hand",
    }
}
