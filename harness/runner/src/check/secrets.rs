//! Secrets in the cassettes and goldens of a scenario.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use clitape_judge::{Finding, FindingKind};
use clitape_recording::scenario::Workspace;
use clitape_recording::secrets::{Hit, Scanned, allowed_in, scan_goldens, scan_path};
use clitape_recording::text::shell_quote;

use super::recording::Recordings;

/// A finding for each file of these recordings and of the scenario's goldens, and each rule that finds
/// secrets in it. Rules that a `cassette.toml` allows are left out; a golden is allowed what any of the
/// scenario's cassettes is.
///
/// # Errors
///
/// When a file or a folder can't be read.
pub(super) fn kept(recordings: &Recordings) -> io::Result<Vec<Finding>> {
    let Recordings { workspace, scenario, .. } = recordings;
    let (name, program) = (&scenario.name, workspace.program());
    let (mut findings, mut allowed) = (Vec::new(), Vec::new());
    let mut scanned = Scanned::default();
    for version in recordings.versions() {
        let dir = workspace.cassette(name, version);
        allowed.extend(allowed_in(&dir));
        scan_path(&dir, &mut scanned)?;
        let hits = std::mem::take(&mut scanned.hits);
        let again = format!("{program} record {name} --claude npm:{version} --redact --force");
        findings.extend(of(workspace, &format!("{name} {version}"), &hits, &again));
    }
    let goldens = scan_goldens(&scenario.dir, &allowed, &mut scanned)?;
    let again = recordings.proposal();
    findings.extend(of(workspace, &name.to_string(), &goldens, &again));
    Ok(findings)
}

fn of(workspace: &Workspace, place: &str, hits: &[Hit], again: &str) -> Vec<Finding> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Hit>> = BTreeMap::new();
    for hit in hits {
        groups.entry((&hit.file, hit.rule)).or_default().push(hit);
    }
    let finding = |((file, rule), hits): ((&str, &str), Vec<&Hit>)| {
        let first = hits.first()?;
        let file = workspace.shown(Path::new(file));
        let more = match hits.len() {
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        let sentence = format!(
            "{file}:{} holds a secret that rule `{rule}` finds ({}{more}); make it invalid where it \
             belongs to, then record or import again with `--redact`, or with `--allow-secrets {rule}`",
            first.line, first.excerpt
        );
        let scan = format!("{} scan {}", workspace.program(), shell_quote(&file));
        Some(
            Finding::new(FindingKind::SecretKept, place, sentence, scan).with_fix(again.to_owned()),
        )
    };
    groups.into_iter().filter_map(finding).collect()
}
