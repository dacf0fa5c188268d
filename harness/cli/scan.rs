//! `clitape scan`: looks for secrets in files. `record` and `import` make the same check before they write a cassette.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::bail;
use clitape_recording::cassette::Take;
use clitape_recording::secrets::{
    Hit, Scanned, by_rule, redact, rule_ids, scan_named, scan_path, scan_take,
};
use clitape_recording::text::plural;

use crate::exit::ExitStatus;
use crate::input::{is_standard, named};
use crate::terminal;

/// Looks for secrets in files and folders
///
/// Links are not followed, and .git folders are left out. Each secret is printed masked, as
/// `file:line rule: first…last`. Secrets that a cassette.toml allows are counted and not printed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files and folders; - is standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Allow the secrets that this rule finds; may be given several times
    #[arg(long, value_name = "RULE")]
    allow_secrets: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The options of `record` and `import` for secrets.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Secrets {
    /// Keep the secrets that this rule finds and note that in cassette.toml; may be given several times
    #[arg(long, value_name = "RULE")]
    allow_secrets: Vec<String>,
    /// Replace secrets by harmless values of the same shape and note their number in cassette.toml
    #[arg(long)]
    redact: bool,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    check_rules(&args.allow_secrets)?;
    let mut scanned = Scanned::default();
    for path in &args.paths {
        match is_standard(path) {
            true => scan_named(named(path), &mut scanned)?,
            false => scan_path(path, &mut scanned)?,
        }
    }
    let is_allowed = |hit: &Hit| args.allow_secrets.iter().any(|rule| rule == hit.rule);
    let (allowed, hits): (Vec<Hit>, Vec<Hit>) = scanned.hits.drain(..).partition(is_allowed);
    scanned.hits = hits;
    scanned.allowed.extend(allowed);
    let mut out = terminal::stdout();
    if args.json {
        out.json(&json(&scanned).to_string())?;
    } else {
        for hit in &scanned.hits {
            out.line(hit)?;
        }
        for (path, why) in &scanned.skipped {
            out.line(format_args!("not read: {}: {why}", path.display()))?;
        }
        if !quiet || !scanned.hits.is_empty() {
            out.line(summary(&scanned))?;
        }
    }
    Ok(match (&scanned.hits[..], scanned.files) {
        ([], 0) => ExitStatus::Nothing,
        ([], _) => ExitStatus::Ok,
        _ => ExitStatus::Findings,
    })
}

fn summary(scanned: &Scanned) -> String {
    let mut text =
        format!("{} in {}", plural(scanned.hits.len(), "secret"), plural(scanned.files, "file"));
    if !scanned.hits.is_empty() {
        text += &format!(": {}", counts(&scanned.hits));
    }
    if !scanned.allowed.is_empty() {
        text += &format!("; allowed: {}", counts(&scanned.allowed));
    }
    if !scanned.skipped.is_empty() {
        text += &format!("; {} not read", plural(scanned.skipped.len(), "file"));
    }
    text
}

/// Counts secrets by rule, for people: `2 github, 1 sk`.
fn counts<'h>(hits: impl IntoIterator<Item = &'h Hit>) -> String {
    let counts = by_rule(hits).into_iter().map(|(rule, count)| format!("{count} {rule}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn json(scanned: &Scanned) -> serde_json::Value {
    let rows = |hits: &[Hit]| -> Vec<serde_json::Value> {
        let row = |hit: &Hit| {
            serde_json::json!({
                "file": hit.file, "line": hit.line, "rule": hit.rule, "excerpt": hit.excerpt,
            })
        };
        hits.iter().map(row).collect()
    };
    let skipped: Vec<serde_json::Value> = scanned
        .skipped
        .iter()
        .map(|(path, why)| serde_json::json!({"file": path.display().to_string(), "why": why}))
        .collect();
    serde_json::json!({
        "files": scanned.files,
        "secrets": rows(&scanned.hits),
        "by_rule": by_rule(&scanned.hits),
        "allowed": rows(&scanned.allowed),
        "not_read": skipped,
    })
}

fn check_rules(rules: &[String]) -> anyhow::Result<()> {
    let known = rule_ids();
    if let Some(unknown) = rules.iter().find(|rule| !known.contains(&rule.as_str())) {
        bail!("there is no rule `{}` for secrets; there are {}", unknown, known.join(", "));
    }
    Ok(())
}

/// The result of the check of a recording for secrets.
pub(crate) enum Guarded {
    /// The recording may be written. The text follows the line that names the cassette.
    Kept(String),
    /// The recording must not be written. The text says why, and what to do.
    Stopped(String),
}

impl Secrets {
    /// Fails if a rule that is to be allowed does not exist.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        check_rules(&self.allow_secrets)
    }

    /// Looks for secrets in a recording before it is written, and redacts them if the user asked for it.
    pub(crate) fn guard(&self, take: &mut Take) -> anyhow::Result<Guarded> {
        let mut said = String::new();
        if self.redact {
            redact(take)?;
            let redacted = &take.manifest.redacted;
            let counts: Vec<String> =
                redacted.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
            if !counts.is_empty() {
                said = format!(", secrets replaced: {}", counts.join(", "));
            }
            return Ok(Guarded::Kept(said));
        }
        let hits = scan_take(take);
        let is_allowed = |hit: &&Hit| self.allow_secrets.iter().any(|rule| rule == hit.rule);
        let (allowed, stopped): (Vec<&Hit>, Vec<&Hit>) = hits.iter().partition(is_allowed);
        if let Some(first) = stopped.first() {
            let rules: BTreeSet<&str> = stopped.iter().map(|hit| hit.rule).collect();
            let flags: Vec<String> =
                rules.iter().map(|rule| format!("--allow-secrets {rule}")).collect();
            return Ok(Guarded::Stopped(format!(
                "it holds secrets ({}; the first is {}); nothing was written; add --redact to \
                 replace them, or keep them with {}",
                counts(stopped.iter().copied()),
                first,
                flags.join(" ")
            )));
        }
        let rules: BTreeSet<&str> = allowed.iter().map(|hit| hit.rule).collect();
        take.manifest.allowed_secrets = rules.into_iter().map(str::to_owned).collect();
        if !allowed.is_empty() {
            said = format!(", secrets kept: {}", counts(allowed));
        }
        Ok(Guarded::Kept(said))
    }
}
