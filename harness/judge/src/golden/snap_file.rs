//! Golden files as text: insta's file format, with a header above the text, and the pending files beside them.

use std::io;
use std::path::{Path, PathBuf};

use clitape_recording::files;
use clitape_recording::files::FileError;
use clitape_recording::scenario::Scenario;

/// Splits insta's header off a golden's text; `None` when there is no header.
pub fn body(file: &str) -> Option<&str> {
    let rest = file.strip_prefix("---\n")?;
    let end = rest.find("\n---\n")?;
    Some(&rest[end + "\n---\n".len()..])
}

/// The text of a golden without its header, and the number of lines in the header; `None` when there is no such file.
///
/// # Errors
///
/// When the file can't be read, or, of the kind `InvalidData`, is no golden.
pub(crate) fn read(path: &Path) -> io::Result<Option<(usize, String)>> {
    let file = match files::read_text(path) {
        Err(error) if error.is_not_found() => return Ok(None),
        file => file.map_err(|error| match error {
            FileError::Read { .. } => error.into(),
            // A link, a FIFO and the like: the golden can't be read, and that is a finding.
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

/// What is wrong with a golden's text that has no header.
fn complaint(file: &str) -> &'static str {
    if file.starts_with("---\r\n") {
        "lines that end with CR and LF; check it out as it was committed: put `*.snap text eol=lf` into \
         .gitattributes"
    } else {
        "no header between two lines of `---`"
    }
}

/// Where a golden is proposed.
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
        "---\nsource: scenarios/{}/scenario.toml\nexpression: {view}\n---\n",
        scenario.name
    );
    Ok(files::replace(&pending_path(golden), header + text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
