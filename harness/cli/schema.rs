//! `clitape schema` and `clitape conform`: prints the JSON Schema of the recorded records, and lists where stream-json
//! differs from it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clitape_recording::cassette::from_log;
use clitape_recording::files;
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::Workspace;
use clitape_recording::text::plural;
use clitape_runner::conform::{CheckedFormat, Conformance, conform};
use clitape_runner::observed::observe;
use serde_json::{Value, json};

use crate::exit::ExitStatus;
use crate::input::{named, read_records};
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

/// Says for which versions of the CLI stream-json is conform, and where it leaves what the real CLI was seen to print
///
/// The first line names the versions that lack none of their fields in the file. `breaks` is a value or a line that a
/// parser would lose or misread, `absent` a field that the recordings of the version always have, `new` a kind, a field
/// or a line that was never seen: a reader has to pass over it. A file is held to the version that it names, and
/// otherwise to the recorded one that fits best; a version that was not recorded has the fields that those before and
/// after it have. Of a transcript (~/.claude/projects/*/*.jsonl) the messages are checked.
///
/// Exit codes: 0 if nothing breaks readers; 3 if something does, or, with --cli-version, if a field is absent; 4 if no
/// record is of a kind that the CLI prints; 2 if a file can't be read.
#[derive(clap::Args)]
pub(crate) struct ConformArgs {
    /// Files with stream-json, as a CLI prints it; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Hold the files to this version of the CLI, whatever they say; then an absent field is a finding
    #[arg(long, value_name = "VERSION")]
    cli_version: Option<CliVersion>,
    /// Another schema than that of clitape's own recordings, as `clitape schema` prints it
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Print the result as JSON: for each file `format`, `printed_by`, `held_to`, `conforms_to`, `records`, and the lists
    /// `breaks`, `absent` and `new`, each with `line`, `pointer`, `record`, `sentence` and `count`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_conform(args: &ConformArgs, quiet: bool) -> anyhow::Result<ExitStatus> {
    let schema = schema_of(args.schema.as_deref())?;
    let mut out = terminal::stdout();
    let (mut all, mut records, mut findings) = (Vec::new(), 0, 0);
    for file in &args.files {
        let stdout = read_records(file)?.stdout;
        let found = conform(&schema, &stdout, args.cli_version.as_ref());
        if found.format != CheckedFormat::Foreign {
            records += found.records;
        }
        findings += found.breaks.len();
        if args.cli_version.is_some() {
            findings += found.absent.len();
        }
        if args.json {
            let mut value = serde_json::to_value(&found)?;
            value["file"] = json!(file.display().to_string());
            all.push(value);
        } else {
            if found.records == 0 && from_log(&stdout).used > 0 {
                terminal::note(format_args!("note: {}: {IS_LOG}", file.display()));
            }
            print(&mut out, file, &found, quiet, args.cli_version.is_some())?;
        }
    }
    if args.json {
        out.json(&Value::Array(all).to_string())?;
    }
    Ok(match (findings, records) {
        (0, 0) => ExitStatus::Nothing,
        (0, _) => ExitStatus::Ok,
        _ => ExitStatus::Findings,
    })
}

/// The sentence about a file whose records are all in lines of a log.
pub(crate) const IS_LOG: &str =
    "it is a log with records; `clitape import --from-log FILE` takes them out of it";

/// Prints the result for a file. With `quiet`, only the findings: what breaks readers, and if `absent_counts`, what is
/// absent.
fn print(
    out: &mut Terminal,
    file: &Path,
    found: &Conformance,
    quiet: bool,
    absent_counts: bool,
) -> anyhow::Result<()> {
    let shown = file.display();
    if !quiet {
        out.line(format_args!("{shown}: {}", headline(found)))?;
    }
    for (word, list, is_finding) in [
        ("breaks", &found.breaks, true),
        ("absent", &found.absent, absent_counts),
        ("new", &found.new, false),
    ] {
        for one in list.iter().filter(|_| is_finding || !quiet) {
            out.line(format_args!("{word}: {shown}:{one}"))?;
        }
    }
    if !quiet {
        let [breaks, absent, new] = [&found.breaks, &found.absent, &found.new].map(Vec::len);
        let records = plural(found.records, "record");
        out.line(format_args!(
            "{shown}: {records}, {breaks} that break readers, {absent} absent, {new} new"
        ))?;
    }
    Ok(())
}

/// Says what a file is, and for which versions it is conform.
fn headline(found: &Conformance) -> String {
    let list = |versions: &[CliVersion]| {
        let words: Vec<&str> = versions.iter().map(|version| &**version).collect();
        match &words[..] {
            [] => "no version".to_owned(),
            [one] => (*one).to_owned(),
            [before @ .., last] => format!("{} and {last}", before.join(", ")),
        }
    };
    let by = match &found.printed_by[..] {
        [] => "a CLI that it does not name".to_owned(),
        named => format!("CLI {}", list(named)),
    };
    match found.format {
        _ if found.records == 0 => {
            "no record; make a capture with `claude -p … --output-format stream-json --verbose`"
                .to_owned()
        }
        CheckedFormat::Transcript => format!(
            "the transcript of a session, kept by {by}, and no stream-json; its messages are checked, and `clitape \
             session FILE` says whether it may be resumed"
        ),
        CheckedFormat::Foreign => {
            "no stream-json of claude: none of its records is of a kind that the CLI prints"
                .to_owned()
        }
        CheckedFormat::StreamJson => {
            let why = match (&found.conforms_to[..], &found.held_to) {
                ([_, ..], _) => String::new(),
                ([], _) if !found.breaks.is_empty() => ", because it breaks readers".to_owned(),
                ([], Some(version)) => format!("; {version} fits best"),
                ([], None) => format!(", because {} absent", plural(found.absent.len(), "field")),
            };
            format!("stream-json of {by}; conforms to {}{why}", list(&found.conforms_to))
        }
    }
}

/// Reads the schema in `file`, or the one of clitape's own recordings.
pub(crate) fn schema_of(file: Option<&Path>) -> anyhow::Result<Value> {
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
