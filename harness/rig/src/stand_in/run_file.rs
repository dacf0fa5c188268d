//! The file beside the program with the settings of a run, for gateways that start `claude` with an environment of
//! their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use clitape_recording::files;
use fs_err as fs;

/// The end of the file's name, behind the name of the program.
const SUFFIX: &str = ".run.json";
/// The beginning of the names of the settings.
const PREFIX: &str = "CLITAPE_";
/// A further variable that the stand-in reads: the folder of the transcripts is in it.
const HOME: &str = "HOME";

/// Returns the path of the file beside a program.
fn beside(program: &Path) -> PathBuf {
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push(SUFFIX);
    program.with_file_name(name)
}

/// Writes the settings among these variables into the file beside an installed stand-in, which reads from there every
/// setting that its environment does not have.
///
/// # Errors
///
/// The system's error if the file can't be written.
pub fn write_run_file<'a>(
    claude: &Path,
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> io::Result<()> {
    let text = |text: &OsStr| text.to_str().map(str::to_owned);
    let is_setting = |name: &String| name.starts_with(PREFIX) || name == HOME;
    let settings =
        variables.into_iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let settings: BTreeMap<String, String> =
        settings.filter(|(name, _)| is_setting(name)).collect();
    fs::write(beside(claude), serde_json::to_string_pretty(&settings)?)
}

/// Returns the settings in the file beside a program; none if it can't be read.
pub(super) fn read(program: Option<&Path>) -> BTreeMap<String, OsString> {
    let text = program.and_then(|program| files::read(&beside(program)).ok());
    let settings = text.and_then(|text| serde_json::from_slice(&text).ok());
    let settings: BTreeMap<String, String> = settings.unwrap_or_default();
    settings.into_iter().map(|(name, value)| (name, value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_beside_the_program_and_nothing_else_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let claude = folder.path().join("claude");
        let variables = [("CLITAPE_PLAY", "instant"), ("HOME", "/h"), ("TOKEN", "secret")];
        write_run_file(&claude, variables.map(|(a, b)| (OsStr::new(a), OsStr::new(b)))).unwrap();
        let read = read(Some(&claude));
        let expect = [("CLITAPE_PLAY", "instant"), ("HOME", "/h")];
        assert_eq!(read, expect.map(|(name, value)| (name.to_owned(), value.into())).into());
        assert!(super::read(Some(&folder.path().join("other"))).is_empty());
        assert!(super::read(None).is_empty());
    }
}
