//! The list of the scenarios and subjects that a person has agreed to run here, by their digests. It is one file of the
//! user, and each change replaces it as a whole.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

/// The name of the file.
const NAME: &str = "agreed.toml";

/// The reason why the list can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AgreedError {
    /// The file system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has other content than such a list.
    #[error("{path}: {}; remove the file", error.message())]
    NotList {
        /// The file.
        path: PathBuf,
        /// The error of the TOML parser.
        error: Box<toml::de::Error>,
    },
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgreedFile {
    /// The name of each scenario and subject by its digest.
    #[serde(default)]
    agreed: BTreeMap<String, String>,
}

/// The list of the scenarios and subjects that a person has agreed to run, in a folder of the user.
#[derive(Debug)]
pub struct Agreed {
    path: PathBuf,
    text: AgreedFile,
}

impl Agreed {
    /// Reads the list in `folder`; without a file it is empty.
    ///
    /// # Errors
    ///
    /// [`AgreedError`] when the file can't be read or is not such a list.
    pub fn read(folder: &Path) -> Result<Self, AgreedError> {
        let path = folder.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => match toml::from_str(&text) {
                Ok(text) => text,
                Err(error) => return Err(AgreedError::NotList { path, error: Box::new(error) }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => AgreedFile::default(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path, text })
    }

    /// Returns whether the list has this digest.
    pub fn has(&self, digest: &str) -> bool {
        self.text.agreed.contains_key(digest)
    }

    /// Adds a digest to the list and writes the file.
    ///
    /// # Errors
    ///
    /// [`AgreedError`] when the file can't be written; the old file then stays.
    pub fn add(&mut self, digest: &str, name: &str) -> Result<(), AgreedError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Another clitape may have added to the file in the meantime.
        self.text.agreed.extend(Self::read(folder)?.text.agreed);
        self.text.agreed.insert(digest.to_owned(), name.to_owned());
        let text = toml::to_string(&self.text).map_err(io::Error::other)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_agreed_to_from_then_on() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/clitape");
        let mut first = Agreed::read(&folder).unwrap();
        let mut second = Agreed::read(&folder).unwrap();
        first.add("ab", "one").unwrap();
        second.add("cd", "two").unwrap();
        let known = Agreed::read(&folder).unwrap();
        assert_eq!(["ab", "cd", "ef"].map(|digest| known.has(digest)), [true, true, false]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::write(folder.join(NAME), "scenario = 1").unwrap();
        let error = Agreed::read(&folder).unwrap_err().to_string();
        assert!(error.contains(NAME) && error.ends_with("remove the file"), "{error}");
    }
}
