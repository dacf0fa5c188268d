//! `clitape corpus`: writes the recordings with their expected readings for programs that read stream-json.

use std::path::PathBuf;

use clitape_recording::scenario::Workspace;
use clitape_recording::text::{megabytes, plural};
use clitape_runner::corpus::{CorpusText, write};

use crate::exit::ExitStatus;
use crate::input::{Names, SelectionArgs};
use crate::terminal;

/// Writes the recordings as a corpus for parsers: the bytes, the expected reading of each, and damaged bytes
///
/// For each scenario and version DIR has stdout, stdin, the events, and reading.json with the final text, the tokens and the
/// session; then bytes with one damage each and what must still hold of them. README.md in it explains the rest. The same
/// recordings give the same files. LICENSE is CC0 1.0: replace it if you pass on recordings of your own on other terms.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// The folder to write, which must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// The README, in which the loops are still missing.
const README: &str = include_str!("../../packaging/corpus/README.md");
/// The loops that read a file of the corpus.
const LOOPS: [CorpusText<'_>; 4] = [
    CorpusText { path: "read/read.py", text: include_str!("../../packaging/corpus/read.py") },
    CorpusText { path: "read/read.ts", text: include_str!("../../packaging/corpus/read.ts") },
    CorpusText { path: "read/read.go", text: include_str!("../../packaging/corpus/read.go") },
    CorpusText { path: "read/read.rs", text: include_str!("../../packaging/corpus/read.rs") },
];
/// The licence and the schemas.
const OTHERS: [CorpusText<'_>; 3] = [
    CorpusText { path: "LICENSE", text: include_str!("../../packaging/corpus/LICENSE") },
    CorpusText { path: "schema/corpus.json", text: include_str!("../../schemas/corpus.json") },
    CorpusText { path: "schema/trace.json", text: include_str!("../../schemas/trace.json") },
];

pub(crate) fn run(workspace: &Workspace, args: &Args, quiet: bool) -> anyhow::Result<ExitStatus> {
    let selection = args.selection.select(workspace, Names::default())?;
    let readme = LOOPS.iter().fold(README.to_owned(), |readme, text| {
        let name = text.path.trim_start_matches("read/");
        readme.replace(&format!("{{{name}}}"), text.text)
    });
    let readme = CorpusText { path: "README.md", text: &readme };
    let texts = [&[readme][..], &LOOPS, &OTHERS].concat();
    let written = write(workspace, &selection, &texts, &args.out)?.counts;
    if written.recordings == 0 {
        let why = selection.nothing.as_deref().unwrap_or("no selected scenario has a recording");
        terminal::note(format_args!("no corpus is written: {why}"));
        return Ok(ExitStatus::Nothing);
    }
    if !quiet {
        terminal::stdout().line(format_args!(
            "wrote {}: {} of {}, {}, {}",
            args.out.display(),
            plural(written.recordings, "recording"),
            plural(written.scenarios, "scenario"),
            plural(written.mutated, "damaged output"),
            megabytes(written.bytes)
        ))?;
    }
    Ok(ExitStatus::Ok)
}
