//! `CLITAPE_END`: an end that differs from the recorded one. The CLI can end early, with another code, or while a
//! command that it left in the background holds its stdout open.

use std::process::{Command, Stdio};
use std::time::Duration;

use clitape_recording::cassette::Exit;

use super::error::StandInError;

/// The argument that makes a process only hold the stdout that it inherited.
pub(super) const HOLD: &str = "--hold-stdout-ms";

/// The end of the process where it differs from the recorded one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OtherEnd {
    /// `at:BYTES`: the number of printed bytes after which the process ends.
    at: Option<usize>,
    /// `code:N` or `signal:N`: the exit.
    exit: Option<Exit>,
    /// `eof:MS`: the time for which another process holds stdout open after the exit.
    eof_ms: u64,
}

impl OtherEnd {
    /// Reads `CLITAPE_END`: words, separated by commas.
    pub(super) fn parse(text: Option<&str>) -> Result<Self, StandInError> {
        let mut end = Self::default();
        for word in text.into_iter().flat_map(|text| text.split(',')) {
            let wrong = || StandInError::End(word.to_owned());
            let (key, value) = word.trim().split_once(':').ok_or_else(wrong)?;
            let number: u32 = value.parse().map_err(|_| wrong())?;
            match (key, i32::try_from(number)) {
                ("at", _) => end.at = usize::try_from(number).ok(),
                ("code", Ok(code @ 0..=255)) => end.exit = Some(Exit::Code(code)),
                ("signal", Ok(signal @ 1..=64)) => end.exit = Some(Exit::Signal(signal)),
                ("eof", _) => end.eof_ms = number.into(),
                _ => return Err(wrong()),
            }
        }
        Ok(end)
    }

    /// Returns how many of `bytes` are printed before the process ends, or `None` if it does not end within them.
    /// `printed` is the number of bytes before them.
    pub(super) fn cut(self, printed: usize, bytes: &[u8]) -> Option<usize> {
        let left = self.at?.saturating_sub(printed);
        (left <= bytes.len()).then_some(left)
    }

    /// Returns the exit of a process that ends early: 0 by default, because the CLI's output can be cut short with exit
    /// code 0.
    pub(super) fn early(self) -> Exit {
        self.exit.unwrap_or(Exit::Code(0))
    }

    /// Returns the exit of a process that has reached its recorded end.
    pub(super) fn instead_of(self, recorded: Option<Exit>) -> Option<Exit> {
        self.exit.or(recorded)
    }

    /// Starts another process that holds stdout open for `eof_ms`.
    ///
    /// # Errors
    ///
    /// The system's error if the process can't be started.
    pub(super) fn hold_stdout(self) -> std::io::Result<()> {
        if self.eof_ms == 0 {
            return Ok(());
        }
        let mut holder = Command::new(std::env::current_exe()?);
        holder.args(["stand-in", HOLD, &self.eof_ms.to_string()]);
        // The process is not waited for, which is the situation that the host has to handle.
        holder.stdin(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
    }
}

/// Holds stdout open if the arguments say so, for the time that they name; returns whether they do.
pub(super) fn hold(args: &[String]) -> bool {
    let [name, ms] = args else { return false };
    let ms = ms.parse().ok().filter(|_| name == HOLD);
    ms.map(|ms| std::thread::sleep(Duration::from_millis(ms))).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_read_from_words() {
        let end = |text| OtherEnd::parse(Some(text)).map_err(|error| error.to_string());
        let all = end("at:5,signal:9, eof:30").unwrap();
        assert_eq!((all.cut(0, b"1234"), all.cut(2, b"1234")), (None, Some(3)));
        assert_eq!((all.early(), all.eof_ms), (Exit::Signal(9), 30));
        assert_eq!(OtherEnd::parse(None).unwrap().cut(0, b"1"), None);
        assert_eq!(end("at:1").unwrap().early(), Exit::Code(0));
        assert_eq!(end("code:3").unwrap().instead_of(Some(Exit::Code(0))), Some(Exit::Code(3)));
        for wrong in ["", "at", "at:x", "code:256", "signal:0", "late:3"] {
            let told = end(wrong).unwrap_err();
            assert!(told.contains("write at:BYTES, code:N, signal:N, eof:MS"), "{wrong}: {told}");
        }
    }
}
