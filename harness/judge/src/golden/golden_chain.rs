//! The golden files of one view, from version to version: `bus.snap` serves the oldest version, `bus.2.1.329.snap` the
//! versions from 2.1.329 on, until a file names a later one.
//!
//! A version without a file thus has the golden of the newest version before it. A proposal for one version must not
//! change the golden of a later one, so a later version that shared the text gets a file with that text.
//!
//! The files have insta's format, with a header above the text; pending ones lie beside them.

use std::io;
use std::path::{Path, PathBuf};

use clitape_recording::files::{self, FileError};
use clitape_recording::names::CliVersion;
use clitape_recording::scenario::{Scenario, fact_of};
use fs_err as fs;

/// The key of insta's header under which a person gives the reason for a golden.
pub const DESCRIPTION: &str = "description: ";

/// The golden files of a view.
#[derive(Debug)]
pub(crate) struct GoldenChain {
    /// The path `<folder>/<view>`, with which each golden's path begins.
    stem: PathBuf,
    /// The versions that have a file, in any order.
    versions: Vec<CliVersion>,
    /// The versions for which a file is proposed, in any order.
    proposed: Vec<CliVersion>,
}

impl GoldenChain {
    /// Finds the files of a view in the folder of a scenario's goldens.
    ///
    /// # Errors
    ///
    /// When the folder can't be read.
    pub(crate) fn find(dir: &Path, view: &str) -> io::Result<Self> {
        let (mut versions, mut proposed) = (Vec::new(), Vec::new());
        let prefix = format!("{view}.");
        for entry in dir.is_dir().then(|| fs::read_dir(dir)).transpose()?.into_iter().flatten() {
            let name = entry?.file_name();
            let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) else {
                continue;
            };
            let of = |ending| rest.strip_suffix(ending).and_then(|version| version.parse().ok());
            versions.extend(of(".snap"));
            proposed.extend(of(".snap.new"));
        }
        Ok(Self { stem: dir.join(view), versions, proposed })
    }

    /// Returns the path of a version's file; `None` is the oldest version.
    fn path(&self, version: Option<&CliVersion>) -> PathBuf {
        let mut path = self.stem.clone().into_os_string();
        if let Some(version) = version {
            path.push(format!(".{version}"));
        }
        path.push(".snap");
        path.into()
    }

    /// Returns the version in the name of the file that serves `version`; `None` for the file of the oldest version.
    fn holder(&self, version: &CliVersion) -> Option<&CliVersion> {
        fact_of(self.versions.iter().map(|of| (of, of)), version)
    }

    /// Returns the file that serves a version, which may be missing.
    pub(crate) fn file_of(&self, version: &CliVersion) -> PathBuf {
        self.path(self.holder(version))
    }

    /// Returns the file that serves the newest version, which may be missing.
    pub(crate) fn file_of_newest(&self) -> PathBuf {
        self.path(self.versions.iter().max_by(|a, b| a.by_number(b)))
    }

    /// Finds the files whose text repeats the file before them; returns each with that file.
    ///
    /// # Errors
    ///
    /// An error if a file can't be read; a file that is not a golden counts as different.
    pub(crate) fn repeated(&self) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut versions: Vec<&CliVersion> = self.versions.iter().collect();
        versions.sort_by(|a, b| a.by_number(b));
        let files = std::iter::once(None).chain(versions.into_iter().map(Some));
        let files: Vec<PathBuf> = files.map(|version| self.path(version)).collect();
        let mut repeated = Vec::new();
        for pair in files.windows(2) {
            let before = text_of(&pair[0])?;
            if before.is_some() && before == text_of(&pair[1])? {
                repeated.push((pair[1].clone(), pair[0].clone()));
            }
        }
        Ok(repeated)
    }

    /// Proposes `text` for `version`, so that each of the `recorded` versions has its own text once all proposals are
    /// accepted. A proposal that no longer changes a text is removed. `write` writes the pending file of a golden.
    ///
    /// # Errors
    ///
    /// When a file can't be read, written or removed.
    pub(crate) fn propose(
        mut self,
        version: &CliVersion,
        recorded: &[CliVersion],
        text: &str,
        write: impl Fn(&Path, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        let holder = self.holder(version);
        let shares = |other: &CliVersion| self.holder(other) == holder;
        // The file that serves it is its own if no recorded version before it shares the file.
        let is_oldest =
            !recorded.iter().any(|other| other.by_number(version).is_lt() && shares(other));
        let later = recorded.iter().filter(|other| other.by_number(version).is_gt());
        let next = later.min_by(|a, b| a.by_number(b)).filter(|next| shares(next)).cloned();
        let target = if is_oldest { holder } else { Some(version) }.cloned();
        let path = self.path(target.as_ref());
        let is_right = match (files::is_there(&path), &target) {
            (true, _) => text_of(&path)?.as_deref() == Some(text),
            (false, Some(of)) => self.outcome(version, Some(of))?.as_deref() == Some(text),
            // The file stays, because the oldest version would have no golden without it.
            (false, None) => false,
        };
        if is_right {
            self.withdraw(target.as_ref())?;
        } else {
            let outcome = |chain: &Self| match &next {
                Some(next) if !chain.proposed.contains(next) => chain.outcome(next, None),
                _ => Ok(None),
            };
            let before = outcome(&self)?;
            write(&path, text)?;
            self.proposed.extend(target.filter(|of| !self.proposed.contains(of)));
            let is_same = outcome(&self)? == before;
            // The next version keeps its text, whether from the golden or from an earlier proposal.
            if let (Some(next), Some(before)) = (next, before.filter(|_| !is_same)) {
                write(&self.path(Some(&next)), &before)?;
                self.proposed.push(next);
            }
        }
        for of in self.proposed.clone() {
            let own = text_of(&pending_path(&self.path(Some(&of))))?;
            let is_new = !self.versions.contains(&of) && own.is_some();
            if is_new && own == self.outcome(&of, Some(&of))? {
                self.withdraw(Some(&of))?;
            }
        }
        Ok(())
    }

    /// Returns the file with this version in its name, if there is one.
    pub(crate) fn own(&self, version: &CliVersion) -> Option<PathBuf> {
        self.versions.contains(version).then(|| self.path(Some(version)))
    }

    /// Removes the file that served only the version `gone`; each of the `kept` versions keeps its text. A file that
    /// names `gone` and serves others is renamed after the first of them. Returns the number of removed files.
    ///
    /// # Errors
    ///
    /// When a file can't be removed or renamed.
    pub(crate) fn forget(&self, gone: &CliVersion, kept: &[CliVersion]) -> io::Result<usize> {
        let path = self.file_of(gone);
        if !files::is_there(&path) {
            return Ok(0);
        }
        let holder = self.holder(gone);
        let first = |kept: &mut dyn Iterator<Item = &CliVersion>| -> Option<CliVersion> {
            kept.min_by(|a, b| a.by_number(b)).cloned()
        };
        match (first(&mut kept.iter().filter(|of| self.holder(of) == holder)), holder) {
            (Some(next), Some(_)) if holder == Some(gone) => {
                files::rename(&path, &self.path(Some(&next)))?;
                Ok(0)
            }
            (Some(_), _) => Ok(0),
            (None, holder) => {
                let next = first(&mut kept.iter()).filter(|_| holder.is_none());
                match next.map(|of| self.file_of(&of)).filter(|it| files::is_there(it)) {
                    // The next file takes the place of the removed one.
                    Some(next) => files::rename(&next, &path)?,
                    None => files::remove(&path)?,
                }
                Ok(1)
            }
        }
    }

    /// Returns the text that serves `version` once all proposals are accepted, with the file of `without` left out.
    fn outcome(
        &self,
        version: &CliVersion,
        without: Option<&CliVersion>,
    ) -> io::Result<Option<String>> {
        let versions = self.versions.iter().chain(&self.proposed);
        let versions = versions.filter(|of| Some(*of) != without);
        let path = self.path(fact_of(versions.map(|of| (of, of)), version));
        match text_of(&pending_path(&path))? {
            Some(text) => Ok(Some(text)),
            None => text_of(&path),
        }
    }

    /// Removes a proposal, if there is one.
    fn withdraw(&mut self, of: Option<&CliVersion>) -> io::Result<()> {
        let pending = pending_path(&self.path(of));
        if files::is_there(&pending) {
            files::remove(&pending)?;
        }
        self.proposed.retain(|version| Some(version) != of);
        Ok(())
    }
}

/// Reads the text of a golden file; `None` if the file is missing, or not a golden.
fn text_of(path: &Path) -> io::Result<Option<String>> {
    match read(path) {
        Ok(read) => Ok(read.map(|(_, text)| text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(error),
    }
}

/// Splits insta's header off a golden's text; `None` if the header is missing.
pub fn body(file: &str) -> Option<&str> {
    let rest = file.strip_prefix("---\n")?;
    let end = rest.find("\n---\n")?;
    Some(&rest[end + "\n---\n".len()..])
}

/// Reads a golden: the number of header lines, and the text below them; `None` if the file is missing.
///
/// # Errors
///
/// An error if the file can't be read; its kind is `InvalidData` if the file is not a golden.
pub(crate) fn read(path: &Path) -> io::Result<Option<(usize, String)>> {
    let file = match files::read_text(path) {
        Err(error) if error.is_not_found() => return Ok(None),
        file => file.map_err(|error| match error {
            FileError::Read { .. } => error.into(),
            // A link, a FIFO and the like make the golden unreadable, which is a finding.
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        })?,
    };
    match body(&file) {
        Some(text) => {
            let header = file[..file.len() - text.len()].lines().count();
            Ok(Some((header, text.to_owned())))
        }
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} has {}", path.display(), complaint(&file)),
        )),
    }
}

/// Describes the mistake in a golden's text that has no header.
fn complaint(file: &str) -> &'static str {
    if file.starts_with("---\r\n") {
        "lines that end with CR and LF; check it out as it was committed: put `*.snap text eol=lf` into \
         .gitattributes"
    } else {
        "no header between two lines of `---`"
    }
}

/// Returns the path of a golden's pending file.
pub(crate) fn pending_path(golden: &Path) -> PathBuf {
    let mut path = golden.to_owned().into_os_string();
    path.push(".new");
    path.into()
}

/// Writes a pending golden of a view, with its header.
///
/// # Errors
///
/// When the file can't be written.
pub(crate) fn write_pending(
    scenario: &Scenario,
    golden: &Path,
    view: &str,
    text: &str,
) -> io::Result<()> {
    files::make_folder(golden.parent().unwrap_or(&scenario.dir))?;
    let header = format!(
        "---\n{}source: scenarios/{}/scenario.toml\nexpression: {view}\n---\n",
        description(golden)?,
        scenario.name
    );
    Ok(files::replace(&pending_path(golden), header + text)?)
}

/// Returns the line of a golden's header with the reason that a person gave for it; empty if there is none.
fn description(golden: &Path) -> io::Result<String> {
    let file = match files::read_text(golden) {
        Ok(file) => file,
        Err(FileError::Read { error, .. }) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error);
        }
        // Of a file that is no golden, nothing is kept.
        Err(_) => return Ok(String::new()),
    };
    let header = body(&file).map_or("", |text| &file[..file.len() - text.len()]);
    let mut lines = header.split_inclusive('\n');
    Ok(lines.find(|line| line.starts_with(DESCRIPTION)).unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: [&str; 4] = ["1.0.128", "2.1.148", "2.1.329", "2.1.332"];

    fn version(text: &str) -> CliVersion {
        text.parse().unwrap()
    }

    fn put(path: &Path, text: &str) -> io::Result<()> {
        Ok(files::replace(path, format!("---\nsource: s\n---\n{text}"))?)
    }

    /// Makes a folder with these goldens of the view `bus`.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            put(&dir.path().join(name), text).unwrap();
        }
        dir
    }

    #[test]
    fn a_golden_holds_from_its_version_until_the_next_one() {
        let dir = folder(&[
            ("bus.snap", "a"),
            ("bus.2.1.329.snap", "c"),
            ("bus.2.1.99.snap", "b"),
            ("bus-terminal.2.1.148.snap", "of another view"),
            ("bus.sent-whole.snap", "of a variant"),
            ("bus.2.1.200.snap.new", "proposed"),
        ]);
        let chain = GoldenChain::find(dir.path(), "bus").unwrap();
        for (of, expect) in [
            ("1.0.128", "bus.snap"),
            ("2.1.98", "bus.snap"),
            ("2.1.99", "bus.2.1.99.snap"),
            ("2.1.328", "bus.2.1.99.snap"),
            ("2.1.329", "bus.2.1.329.snap"),
            ("3.0.0", "bus.2.1.329.snap"),
        ] {
            assert_eq!(chain.file_of(&version(of)), dir.path().join(expect), "{of}");
        }
        let none = GoldenChain::find(&dir.path().join("none"), "bus").unwrap();
        assert_eq!(none.file_of(&version("1.0.0")), dir.path().join("none/bus.snap"));
    }

    #[test]
    fn a_golden_that_says_what_the_one_before_it_says_is_repeated() {
        let dir = folder(&[
            ("bus.snap", "a"),
            ("bus.2.1.99.snap", "b"),
            ("bus.2.1.148.snap", "b"),
            ("bus.2.1.329.snap", "a"),
        ]);
        let repeated = GoldenChain::find(dir.path(), "bus").unwrap().repeated().unwrap();
        let path = |name: &str| dir.path().join(name);
        assert_eq!(repeated, [(path("bus.2.1.148.snap"), path("bus.2.1.99.snap"))]);
    }

    /// Proposes the texts of some versions in this order, beside these goldens, and expects these pending files.
    #[track_caller]
    fn check(goldens: &[(&str, &str)], proposals: &[(&str, &str)], expect: &[(&str, &str)]) {
        let mut orders = vec![proposals.to_vec()];
        orders.push(proposals.iter().rev().copied().collect());
        // Proposing the same again, as another process or run does, has no effect.
        let once = orders.clone();
        for first in &once {
            orders.extend(once.iter().map(|again| [&first[..], again].concat()));
        }
        for order in orders {
            let dir = folder(goldens);
            for (of, text) in &order {
                let chain = GoldenChain::find(dir.path(), "bus").unwrap();
                let write = |path: &Path, text: &str| put(&pending_path(path), text);
                chain.propose(&version(of), &RECORDED.map(version), text, write).unwrap();
            }
            let mut pending: Vec<(String, String)> = Vec::new();
            for entry in fs::read_dir(dir.path()).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                if let Some(golden) = name.strip_suffix(".new") {
                    pending.push((golden.to_owned(), text_of(&path).unwrap().unwrap()));
                }
            }
            pending.sort();
            let pending: Vec<(&str, &str)> =
                pending.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            assert_eq!(pending, expect, "{order:?}");
        }
    }

    #[test]
    fn a_first_golden_is_that_of_the_oldest_version() {
        let same = RECORDED.map(|of| (of, "a"));
        check(&[], &same, &[("bus.snap", "a")]);
        let last = [("1.0.128", "a"), ("2.1.148", "a"), ("2.1.329", "b"), ("2.1.332", "b")];
        check(&[], &last, &[("bus.2.1.329.snap", "b"), ("bus.snap", "a")]);
    }

    #[test]
    fn a_version_that_differs_gets_a_golden_and_later_ones_keep_theirs() {
        let all = ("bus.snap", "a");
        // Only the newest one differs.
        check(&[all], &[("2.1.332", "b")], &[("bus.2.1.332.snap", "b")]);
        // One in the middle differs, and the next one shared the text.
        let middle = [("bus.2.1.148.snap", "b"), ("bus.2.1.329.snap", "a")];
        check(&[all], &[("2.1.148", "b")], &middle);
        let judged = [("1.0.128", "a"), ("2.1.148", "b"), ("2.1.329", "a"), ("2.1.332", "a")];
        check(&[all], &judged, &middle);
        // The oldest one differs, and the others keep the text.
        check(&[all], &[("1.0.128", "b")], &[("bus.2.1.148.snap", "a"), ("bus.snap", "b")]);
        // All of them differ, with the same text.
        check(&[all], &RECORDED.map(|of| (of, "b")), &[("bus.snap", "b")]);
        // A later version has its own golden.
        let two = [all, ("bus.2.1.148.snap", "b")];
        check(&two, &[("1.0.128", "c")], &[("bus.snap", "c")]);
        let newer = [("2.1.148", "c"), ("2.1.329", "c"), ("2.1.332", "b")];
        check(&two, &newer, &[("bus.2.1.148.snap", "c"), ("bus.2.1.332.snap", "b")]);
    }

    #[test]
    fn a_proposal_that_changes_nothing_any_more_is_removed() {
        let stale = [("bus.snap", "a"), ("bus.snap.new", "b"), ("bus.2.1.148.snap.new", "a")];
        check(&stale, &RECORDED.map(|of| (of, "a")), &[]);
    }

    /// Removes a version from these goldens, and expects the remaining ones.
    #[track_caller]
    fn check_forget(goldens: &[(&str, &str)], gone: &str, removed: usize, expect: &[(&str, &str)]) {
        let dir = folder(goldens);
        let kept: Vec<CliVersion> =
            RECORDED.iter().filter(|of| **of != gone).map(|of| version(of)).collect();
        let chain = GoldenChain::find(dir.path(), "bus").unwrap();
        assert_eq!(chain.forget(&version(gone), &kept).unwrap(), removed);
        let mut left = files::below(dir.path()).unwrap();
        left.sort();
        let text = |path: &PathBuf| text_of(path).unwrap().unwrap();
        let left: Vec<(String, String)> = left
            .iter()
            .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), text(path)))
            .collect();
        let left: Vec<(&str, &str)> = left.iter().map(|(name, text)| (&**name, &**text)).collect();
        assert_eq!(left, expect);
    }

    #[test]
    fn a_version_that_leaves_takes_only_its_own_golden() {
        let (old, new) = (("bus.snap", "a"), ("bus.2.1.332.snap", "c"));
        let middle = ("bus.2.1.148.snap", "b");
        // The removed version shares its golden.
        check_forget(&[old], "1.0.128", 0, &[old]);
        check_forget(&[middle, old], "2.1.329", 0, &[middle, old]);
        // The golden has its name, and serves the next version too.
        check_forget(&[middle, old], "2.1.148", 0, &[("bus.2.1.329.snap", "b"), old]);
        // The golden serves this version only.
        check_forget(&[new, old], "2.1.332", 1, &[old]);
        check_forget(&[middle, old], "1.0.128", 1, &[("bus.snap", "b")]);
        check_forget(&[old, ("bus.snap.new", "b")], "1.0.128", 0, &[old, ("bus.snap.new", "b")]);
        check_forget(&[], "1.0.128", 0, &[]);
    }

    #[test]
    fn a_golden_that_cannot_be_read_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("bus.snap"), "no header").unwrap();
        let chain = GoldenChain::find(dir.path(), "bus").unwrap();
        let write = |path: &Path, text: &str| put(&pending_path(path), text);
        chain.propose(&version("1.0.128"), &RECORDED.map(version), "a", write).unwrap();
        let pending = dir.path().join("bus.snap.new");
        assert_eq!(text_of(&pending).unwrap().as_deref(), Some("a"));
    }

    #[test]
    fn the_reason_for_a_golden_stays_in_its_header() {
        let reason = "description: \"the word was wrong\"\n";
        for (golden, expect) in [
            (format!("---\n{reason}source: a\n---\nb\n"), reason),
            (format!("---\nsource: a\n{reason}expression: b\n---\nb\n"), reason),
            (format!("---\nsource: a\n---\n{reason}"), ""),
            ("no header".to_owned(), ""),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("bus.snap");
            fs::write(&path, &golden).unwrap();
            assert_eq!(description(&path).unwrap(), expect, "{golden:?}");
        }
        assert_eq!(description(Path::new("missing.snap")).unwrap(), "");
    }

    #[test]
    fn the_header_is_not_part_of_the_text() {
        for (file, text) in [
            ("---\nsource: a\nexpression: b\n---\none\n---\ntwo\n", Some("one\n---\ntwo\n")),
            ("---\nsource: a\n---\n", Some("")),
            ("one\n", None),
            ("---\nsource: a\n", None),
        ] {
            assert_eq!(body(file), text, "{file:?}");
        }
    }
}
