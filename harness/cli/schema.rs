//! `clitape schema` and `clitape conform`: prints the JSON Schema of the recorded records, and lists where stream-json
//! differs from it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_recording::{files, limits};
use clitape_runner::observed::{Conformance, conform, observe};
use serde_json::{Value, json};

use crate::exit::ExitStatus;
use crate::input::named;
use crate::terminal::{self, Terminal};

/// Prints a JSON Schema of every kind of record in the recordings
///
/// Each field has its types, how often it was there, an example, and the versions since and until which others of
/// its kind lack it. Recordings that were imported or edited by hand are left out.
#[derive(clap::Args)]
pub(crate) struct SchemaArgs {}

pub(crate) fn run_schema(workspace: &Workspace) -> anyhow::Result<ExitStatus> {
    let schema = observe(workspace)?;
    if schema["x-versions"].as_array().is_none_or(Vec::is_empty) {
        terminal::note("nothing is recorded here; run `clitape record` first");
        return Ok(ExitStatus::Nothing);
    }
    terminal::stdout().lines(serde_json::to_string_pretty(&schema)?)?;
    Ok(ExitStatus::Ok)
}

/// The schema of clitape's own recordings.
const COMMITTED: &str = include_str!("../../schemas/stream-json.json");

/// Says where stream-json leaves what the real CLI was seen to print
///
/// A value of another type, and a field that is missing where it always was, are findings. Kinds of records and fields that
/// nobody has seen are told, and so are lines that are no records: a reader has to pass over them.
#[derive(clap::Args)]
pub(crate) struct ConformArgs {
    /// Files with stream-json, as a CLI prints it; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Another schema than that of clitape's own recordings, as `clitape schema` prints it
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_conform(args: &ConformArgs, quiet: bool) -> anyhow::Result<ExitStatus> {
    let schema = schema_of(args.schema.as_deref())?;
    let mut out = terminal::stdout();
    let (mut all, mut records, mut wrong) = (Vec::new(), 0, 0);
    for file in &args.files {
        let found = conform(&schema, &read(file)?);
        records += found.records;
        wrong += found.wrong.len();
        if args.json {
            let mut value = serde_json::to_value(&found)?;
            value["file"] = json!(file.display().to_string());
            all.push(value);
        } else {
            print(&mut out, file, &found, quiet)?;
        }
    }
    if args.json {
        out.json(&Value::Array(all).to_string())?;
    }
    Ok(match (wrong, records) {
        (0, 0) => ExitStatus::Nothing,
        (0, _) => ExitStatus::Ok,
        _ => ExitStatus::Findings,
    })
}

fn print(out: &mut Terminal, file: &Path, found: &Conformance, quiet: bool) -> anyhow::Result<()> {
    let place = |line: usize, record: &str, pointer: &str| {
        let parts = [record, pointer]
            .map(|part| if part.is_empty() { String::new() } else { format!(" {part}") });
        format!("{}:{line}:{}", file.display(), parts.concat())
    };
    for one in &found.wrong {
        out.line(format_args!("{} {}", place(one.line, &one.record, &one.pointer), one.sentence))?;
    }
    if quiet {
        return Ok(());
    }
    for one in &found.new {
        let times = if one.count == 1 { String::new() } else { format!(" ({} times)", one.count) };
        let place = place(one.line, &one.record, &one.pointer);
        out.line(format_args!("new: {place} {}{times}", one.sentence))?;
    }
    let [records, wrong] = [(found.records, "record"), (found.wrong.len(), "finding")]
        .map(|(count, noun)| plural(count, noun));
    out.line(format_args!("{}: {records}, {wrong}, {} new", file.display(), found.new.len()))?;
    Ok(())
}

/// Reads the schema in `file`, or the one of clitape's own recordings.
fn schema_of(file: Option<&Path>) -> anyhow::Result<Value> {
    let Some(file) = file else {
        return serde_json::from_str(COMMITTED)
            .context("the schema of clitape's recordings is JSON");
    };
    let schema: Value =
        serde_json::from_str(&files::read_named_text(named(file))?).with_context(|| {
            format!("{} is no JSON; write it with `clitape schema`", file.display())
        })?;
    anyhow::ensure!(
        schema["x-versions"].is_array() && schema["$defs"].is_object(),
        "{} is no schema of `clitape schema`",
        file.display()
    );
    Ok(schema)
}

/// Reads a file or standard input, within the limits of a capture.
fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = files::read_named(named(file))?;
    limits::check_input(file, &bytes)?;
    Ok(bytes)
}
