//! Writes cassettes: whole or not at all, one writer at a time.
//!
//! The files go to a folder beside the cassette, which then takes its place in one step ([`NewFolder`]), so that a
//! reader sees the old cassette or the new one, and so does whoever looks after a crash. A crash may
//! leave the folder beside it; [`abandoned`] finds those.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use super::format::RunFacts;
use super::format::render_timeline;
use super::hash::sha256;
use super::seal::sealed;
use super::store::{CassetteError, MANIFEST, counts};
use super::take::Take;
use crate::files::{self, NewFolder};
use crate::names::{CassetteFile, CassettePart};
use crate::scenario::Workspace;

/// The beginnings of the names of folders in which a cassette is written, in this version and before, or removed.
const UNFINISHED: [&str; 3] = [".writing-", ".taking-", ".replaced-"];

impl Take {
    /// Writes the take as the cassette of its scenario and CLI version, in place of an existing one
    /// there.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when a folder on the way is a link, a file can't be written, or another writer
    /// of the scenario does not end; what stood there stays.
    pub fn write(&self, workspace: &Workspace) -> Result<PathBuf, CassetteError> {
        let (name, version) = (&self.manifest.scenario, &self.manifest.cli.version);
        let place = workspace.new_cassette(name, version)?;
        let fresh = NewFolder::beside(&place, UNFINISHED[0])?;
        self.write_files(&fresh)?;
        Ok(fresh.put_over()?)
    }

    /// Writes the take as the only cassette of a scenario that is new too: both of them, or neither.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), and when the scenario can't be put in its place.
    pub fn write_with(
        &self,
        workspace: &Workspace,
        scenario: NewFolder,
    ) -> Result<PathBuf, CassetteError> {
        let place = self.write(workspace)?;
        // From here on a folder is moved and no byte is written: a full disk has been found by now.
        scenario.put().or_else(|error| remove(&place).and(Err(error)))?;
        Ok(place)
    }

    /// Writes all files of the cassette into its folder.
    fn write_files(&self, folder: &NewFolder) -> Result<(), CassetteError> {
        let mut manifest = self.manifest.clone();
        manifest.counts = counts(&self.stdout, &self.timeline);
        let further = self.further.iter();
        let further = further.map(|run| RunFacts {
            counts: counts(&run.stdout, &run.timeline),
            ..run.facts.clone()
        });
        manifest.runs = further.collect();
        let files = self.runs().flat_map(|run| {
            let timeline = CassetteFile::new(CassettePart::Timeline, run.number);
            let rendered = Cow::from(render_timeline(run.timeline).into_bytes());
            let files = run.files.into_iter().map(|(file, bytes)| (file, Cow::from(bytes)));
            std::iter::once((timeline, rendered)).chain(files)
        });
        for (file, bytes) in files {
            let is_always_there =
                matches!(file.part(), CassettePart::Stdout | CassettePart::Timeline);
            if let Some(path) = file.path(Path::new(""))
                && (is_always_there || !bytes.is_empty())
            {
                folder.write(path, &bytes)?;
                manifest.sha256.insert(file, sha256(&bytes));
            }
        }
        let text = toml::to_string(&manifest).map_err(io::Error::other)?;
        Ok(folder.write(MANIFEST, sealed(&text))?)
    }
}

/// Removes the cassette at `place` in one step, as far as a reader sees.
///
/// # Errors
///
/// [`FileError`](files::FileError) when it can't be removed.
pub fn remove(place: &Path) -> Result<(), files::FileError> {
    files::remove_folder(place, UNFINISHED[2])
}

/// Folders in `dir`, that of a scenario's cassettes, which a writer left when it was ended; none while
/// somebody writes there.
///
/// # Errors
///
/// When the folder can't be read.
pub fn abandoned(dir: &Path) -> io::Result<Vec<PathBuf>> {
    files::leftovers(dir, &UNFINISHED)
}
