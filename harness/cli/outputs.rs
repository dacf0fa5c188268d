//! The places of a report beside the terminal: files, annotations and the job summary of GitHub Actions.

use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clitape_recording::files::{self, NewFile};
use clitape_recording::scenario::Workspace;
use clitape_runner::report::proof::TestedSubject;
use clitape_runner::report::{
    Cause, Detail, Format, Pages, Report, ReportFiles, Tally, github, html, markdown,
};

use crate::exit::ExitStatus;
use crate::input::is_standard;
use crate::terminal::{self, Terminal};
use crate::tested::tested;

/// The variable by which GitHub Actions names the file of the job summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The options that write a report to further places
#[derive(clap::Args, Default)]
pub(crate) struct Outputs {
    /// Write the report as JUnit XML; - is standard output, in all reports
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the report as TAP 14
    #[arg(long, value_name = "FILE")]
    tap: Option<PathBuf>,
    /// Write the report as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the report as a page, DIR/index.html
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    /// Print annotations for GitHub Actions, and add to the job summary
    #[arg(long)]
    github: bool,
    /// Show every lane that differs with its diff, not only the chat where it first differs
    #[arg(long)]
    lanes: bool,
}

/// The places of a report, opened before anything runs, so that a path that can't be written fails early.
pub(crate) struct OpenOutput {
    files: ReportFiles,
    html: Option<PathBuf>,
    detail: Detail,
    summary: Option<(PathBuf, File)>,
    /// The token that makes GitHub Actions obey commands again, after `begin` has stopped that.
    token: Option<String>,
    /// The workspace's path from the repository's root.
    place: PathBuf,
    /// The format of the report on standard output, if it goes there.
    printed: Option<Format>,
    /// What was tested, for the page; `None` of reports that are joined.
    tested: Option<TestedSubject>,
}

impl Outputs {
    /// Returns the options of a command whose only further place is a JUnit file.
    pub(crate) fn of_junit(junit: Option<PathBuf>) -> Self {
        Self { junit, ..Self::default() }
    }

    /// Returns whether a page is wanted.
    pub(crate) fn has_html(&self) -> bool {
        self.html.is_some()
    }

    /// Opens all places, that of `json` too, for a report of the workspace in this folder.
    pub(crate) fn open(&self, workspace: &Path, json: Option<&Path>) -> anyhow::Result<OpenOutput> {
        let detail = if self.lanes { Detail::Lanes } else { Detail::Chat };
        let wanted = [
            (Format::Junit, self.junit.as_deref()),
            (Format::Tap, self.tap.as_deref()),
            (Format::Json, json),
            (Format::Markdown(detail), self.markdown.as_deref()),
        ];
        let mut wanted: Vec<_> =
            wanted.into_iter().filter_map(|(format, path)| Some((format, path?))).collect();
        let printed: Vec<Format> = wanted
            .extract_if(.., |(_, path)| is_standard(path))
            .map(|(format, _)| format)
            .collect();
        if !printed.is_empty() {
            check_printed(printed.len() + usize::from(self.github))?;
        }
        let path = std::env::var_os(SUMMARY).filter(|path| self.github && !path.is_empty());
        let summary = path.map(PathBuf::from).map(|path| {
            let file = files::append(&path)
                .with_context(|| format!("can't write the job summary; unset {SUMMARY}"))?;
            anyhow::Ok((path, file))
        });
        let token = self.github.then(|| format!("{:016x}", RandomState::new().hash_one(SUMMARY)));
        let files = ReportFiles::open(&wanted)?;
        if let Some(dir) = &self.html {
            make_folder(dir)?;
        }
        // A folder outside of any repository is fine; the report has any other problem with it.
        let repository = files::repository(workspace).ok().flatten();
        let place = repository.map(|(_, place)| place).unwrap_or_default();
        Ok(OpenOutput {
            files,
            html: self.html.clone(),
            detail,
            summary: summary.transpose()?,
            token,
            place,
            printed: printed.first().copied(),
            tested: None,
        })
    }
}

impl OpenOutput {
    /// Begins the output for people, in which GitHub Actions obeys no command.
    pub(crate) fn begin(&self, out: &mut Terminal) -> std::io::Result<()> {
        self.token.iter().try_for_each(|token| out.workflow(&format!("::stop-commands::{token}")))
    }

    /// Returns how much is shown of findings that have the same cause.
    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// Returns the stream for people: stderr if a report goes to stdout.
    pub(crate) fn people(&self) -> Terminal {
        if self.printed.is_some() { terminal::stderr() } else { terminal::stdout() }
    }

    /// Returns the folder of the page, if one is wanted.
    pub(crate) fn html(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    /// Says on the page what was tested, if a page is wanted.
    pub(crate) fn of(
        self,
        subject: String,
        version: Option<&str>,
        workspace: &Workspace,
    ) -> anyhow::Result<Self> {
        let say = || tested(subject, version, workspace.root());
        Ok(Self { tested: self.html.is_some().then(say).transpose()?, ..self })
    }

    /// Ends the output for people, and writes the report to all its places; its page links to `pages`.
    pub(crate) fn finish(
        self,
        report: &Report,
        pages: &Pages,
        out: &mut Terminal,
    ) -> anyhow::Result<()> {
        if let Some(token) = self.token {
            let mut commands = Vec::new();
            github(report, &self.place, &mut commands)?;
            out.workflow(&format!("::{token}::\n{}", String::from_utf8_lossy(&commands)))?;
        }
        if let Some((path, mut file)) = self.summary {
            let mut text = Vec::new();
            markdown(report, self.detail, &mut text)?;
            file.write_all(&text).with_context(|| format!("can't write {}", path.display()))?;
        }
        if let Some(dir) = self.html {
            let path = dir.join("index.html");
            let mut page = Vec::new();
            html(report, self.tested.as_ref(), pages, &mut page)?;
            write_file(&path, page)?;
        }
        if let Some(format) = self.printed {
            let mut out = terminal::stdout();
            format.write(report, out.styled())?;
            out.flush()?;
        }
        Ok(self.files.write(report)?)
    }
}

/// Makes the folder that an option names for the output of a command.
pub(crate) fn make_folder(dir: &Path) -> anyhow::Result<()> {
    files::make_folder(dir)
        .with_context(|| format!("can't make the folder {}; choose another", dir.display()))
}

/// Writes files whole, and puts them in their places once all of them are written; after an error, the old ones stay.
pub(crate) fn write_files<B: AsRef<[u8]>>(
    files: impl IntoIterator<Item = (PathBuf, B)>,
) -> anyhow::Result<()> {
    let mut open = Vec::new();
    for (path, bytes) in files {
        let mut file = NewFile::open(&path)?;
        let written = file.write_all(bytes.as_ref());
        written.with_context(|| format!("can't write {}", path.display()))?;
        open.push(file);
    }
    Ok(open.into_iter().try_for_each(NewFile::put)?)
}

/// Writes a file whole; after an error, the old one stays.
pub(crate) fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    Ok(files::replace(path, bytes)?)
}

/// Prints on stderr why checks could not be run.
pub(crate) fn complain(report: &Report) {
    for trouble in report.troubles() {
        terminal::error(&trouble.sentence);
    }
}

/// Fails if several reports are to go to standard output.
pub(crate) fn check_printed(reports: usize) -> anyhow::Result<()> {
    if reports > 1 {
        bail!("standard output can have one report only; write the others into files");
    }
    Ok(())
}

/// Returns the exit code of a command whose result is this report.
pub(crate) fn exit(report: &Report) -> ExitStatus {
    if let Some(trouble) = report.troubles().first() {
        return match trouble.cause {
            Cause::Damaged => ExitStatus::Damaged,
            Cause::Unreadable | Cause::Subject => ExitStatus::Usage,
        };
    }
    if report.has_unusable_scenario() {
        return ExitStatus::Usage;
    }
    match report.totals {
        Tally { findings: 1.., .. } => ExitStatus::Findings,
        Tally { cassettes: 0, .. } => ExitStatus::Nothing,
        _ => ExitStatus::Ok,
    }
}
