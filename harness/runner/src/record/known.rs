//! The list of the scenarios that were recorded here before, by their digests. It is a file of the user,
//! which a rename replaces as a whole.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

/// The name of the file.
const NAME: &str = "known-scenarios.toml";

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFile {
    /// The name of each scenario by its digest.
    #[serde(default)]
    scenarios: BTreeMap<String, String>,
}

/// The list of known scenarios in a folder of the user.
#[derive(Debug)]
pub struct KnownScenarios {
    path: PathBuf,
    text: KnownFile,
}

impl KnownScenarios {
    /// Reads the list in `folder`; without a file it is empty.
    ///
    /// # Errors
    ///
    /// When the file can't be read or is not such a list.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|error| {
                let what = error.message();
                io::Error::other(format!("{}: {what}; remove the file", path.display()))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => KnownFile::default(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, text })
    }

    /// Returns whether a scenario with this digest is known.
    pub fn has(&self, digest: &str) -> bool {
        self.text.scenarios.contains_key(digest)
    }

    /// Adds a scenario to the list and writes the file.
    ///
    /// # Errors
    ///
    /// When the file can't be written; the old file then stays.
    pub fn add(&mut self, digest: &str, name: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Another clitape may have added scenarios in the meantime.
        self.text.scenarios.extend(Self::read(folder)?.text.scenarios);
        self.text.scenarios.insert(digest.to_owned(), name.to_owned());
        let text = toml::to_string(&self.text).map_err(io::Error::other)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_known_from_then_on() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/clitape");
        let mut first = KnownScenarios::read(&folder).unwrap();
        let mut second = KnownScenarios::read(&folder).unwrap();
        first.add("ab", "one").unwrap();
        second.add("cd", "two").unwrap();
        let known = KnownScenarios::read(&folder).unwrap();
        assert_eq!(["ab", "cd", "ef"].map(|digest| known.has(digest)), [true, true, false]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::write(folder.join(NAME), "scenario = 1").unwrap();
        let error = KnownScenarios::read(&folder).unwrap_err().to_string();
        assert!(error.contains(NAME) && error.ends_with("remove the file"), "{error}");
    }
}
