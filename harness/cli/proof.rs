//! `clitape proof`: the page a reviewer reads, and the texts and pictures beside it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_deck::report::page;
use clitape_deck::report::proof::{Case, cast, check, picture, text};
use clitape_deck::scenario::House;

use crate::exit::Exit;

/// Writes a proof of what scenarios show, or says whether a proof is complete
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Scenarios, each with its first CLI version, or SCENARIO/VERSION
    #[arg(required_unless_present = "check", conflicts_with = "check")]
    scenario: Vec<String>,
    /// Folder for index.html, proof.md, preview.cast and preview.svg
    #[arg(long, value_name = "DIR", required_unless_present = "check", conflicts_with = "check")]
    out: Option<PathBuf>,
    /// Say whether the pull request text in this file proves what it says, and what is missing
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

pub(crate) fn run(
    house: impl FnOnce() -> anyhow::Result<House>,
    args: &Args,
) -> anyhow::Result<Exit> {
    match (&args.check, &args.out) {
        (Some(file), _) => check_file(file),
        (None, Some(out)) => write(&house()?, &args.scenario, out),
        (None, None) => bail!("say where to write it, with --out DIR"),
    }
}

fn write(house: &House, names: &[String], dir: &Path) -> anyhow::Result<Exit> {
    let mut cases = Vec::new();
    for name in names {
        let (name, version) = match name.split_once('/') {
            Some((name, version)) => (name, Some(version.to_owned())),
            None => (name.as_str(), None),
        };
        let scenario = house.load(name)?;
        let recorded = house.recorded(name)?;
        let version = version.or_else(|| scenario.record.versions.first().cloned());
        let Some(version) = version.filter(|version| recorded.contains(version)) else {
            bail!(
                "there is no such recording of {name}; recorded are {}; add one with \
                 `clitape record {name}`",
                recorded.join(", ")
            );
        };
        cases.push(Case::gather(house, &scenario, &version)?);
    }
    std::fs::create_dir_all(dir).with_context(|| format!("can't make {}", dir.display()))?;
    let mut out = anstream::stdout().lock();
    for (file, text) in [
        ("index.html", page(&cases)),
        ("proof.md", text(&cases)),
        ("preview.cast", cast(&cases)),
        ("preview.svg", picture(&cases)),
    ] {
        let path = dir.join(file);
        std::fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
        writeln!(out, "wrote {}", path.display())?;
    }
    let findings: usize = cases.iter().map(|case| case.findings.len()).sum();
    for finding in cases.iter().flat_map(|case| &case.findings) {
        clitape_deck::report::write_finding(&mut out, &finding.into())?;
    }
    Ok(if findings == 0 { Exit::Ok } else { Exit::Findings })
}

fn check_file(file: &Path) -> anyhow::Result<Exit> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("can't read the text {}", file.display()))?;
    let checked = check(&text);
    let mut out = anstream::stdout().lock();
    writeln!(out, "{checked}")?;
    Ok(if checked.passed() { Exit::Ok } else { Exit::Findings })
}
