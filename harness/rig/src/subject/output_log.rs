//! The file of `--log`, with the whole output of a gateway from its first start to its last.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use clitape_recording::files::{self, FileError};

/// The most bytes of a line that are held back until its end arrives.
const LONGEST: usize = 64 * 1024;

/// A log file, with the first error of writing it.
#[derive(Debug)]
pub struct OutputLog {
    file: Arc<Mutex<LogFile>>,
}

#[derive(Debug)]
struct LogFile {
    file: File,
    failed: Option<io::Error>,
}

impl OutputLog {
    /// Creates the file, or empties an existing one.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it can't be created.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        files::replace(path, "")?;
        let file = files::append(path)?;
        Ok(Self { file: Arc::new(Mutex::new(LogFile { file, failed: None })) })
    }

    /// Returns the first error of writing the file, once.
    ///
    /// # Errors
    ///
    /// The error of the first write that failed.
    pub fn check(&self) -> io::Result<()> {
        lock(&self.file).failed.take().map_or(Ok(()), Err)
    }

    /// Returns a writer for the output of one program. `mask` is applied to each line, to remove the token.
    pub(crate) fn sink(
        &self,
        mask: impl Fn(&str) -> String + Send + 'static,
    ) -> impl FnMut(&[u8]) + Send + 'static {
        let mut lines = OutputLines { file: self.file.clone(), mask, rest: Vec::new() };
        move |bytes| lines.take(bytes)
    }
}

fn lock(file: &Mutex<LogFile>) -> std::sync::MutexGuard<'_, LogFile> {
    // A poisoned lock is safe: writing can't panic.
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lines of one program. Dropping it writes a last line that has no end.
struct OutputLines<M: Fn(&str) -> String> {
    file: Arc<Mutex<LogFile>>,
    mask: M,
    rest: Vec<u8>,
}

impl<M: Fn(&str) -> String> OutputLines<M> {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.rest.extend(part);
            if part.ends_with(b"\n") || self.rest.len() > LONGEST {
                self.write();
            }
        }
    }

    fn write(&mut self) {
        let line = (self.mask)(&String::from_utf8_lossy(&self.rest));
        self.rest.clear();
        let mut log = lock(&self.file);
        if let Err(error) = log.file.write_all(line.as_bytes()) {
            log.failed.get_or_insert(error);
        }
    }
}

impl<M: Fn(&str) -> String> Drop for OutputLines<M> {
    fn drop(&mut self) {
        self.write();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_printed_is_kept_line_by_line_without_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        for (parts, expect) in [
            (&[&b"a\nb"[..], b"c\n"][..], "a\nbc\n".to_owned()),
            (&[b"no end"], "no end".to_owned()),
            (&[b"the to", b"ken is TOKEN\nTOK", b"EN"], "the token is <token>\n<token>".to_owned()),
            (&[b"\xff\n"], "\u{fffd}\n".to_owned()),
            (&[&[b'x'; 100_000]], "x".repeat(100_000)),
            (&[], String::new()),
        ] {
            let log = OutputLog::create(&path).unwrap();
            let mut sink = log.sink(|line| line.replace("TOKEN", "<token>"));
            parts.iter().for_each(|part| sink(part));
            drop(sink);
            assert_eq!(fs_err::read_to_string(&path).unwrap(), expect, "{parts:?}");
            log.check().unwrap();
        }
        assert!(OutputLog::create(&dir.path().join("none/log")).is_err());
    }
}
