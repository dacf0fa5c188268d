//! Another end than the recorded one: `CLITAPE_END`. The CLI can end too soon, with a code of its own, and while a
//! command that it left in the background holds its stdout open.

use std::process::{Command, Stdio};
use std::time::Duration;

use clitape_recording::cassette::Exit;

use super::error::StandInError;

/// The argument of a process that does nothing but hold the stdout that it got.
pub(super) const HOLD: &str = "--hold-stdout-ms";

/// How the process ends where it is not as recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OtherEnd {
    /// `at:BYTES`: it ends when it has printed so many bytes.
    at: Option<usize>,
    /// `code:N` or `signal:N`: how it ends.
    exit: Option<Exit>,
    /// `eof:MS`: how long another process holds stdout open then.
    eof_ms: u64,
}

impl OtherEnd {
    /// Reads `CLITAPE_END`: words with commas between them.
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

    /// How many of `bytes` are printed before the process ends, if it ends within them. `printed` came before.
    pub(super) fn cut(self, printed: usize, bytes: &[u8]) -> Option<usize> {
        let left = self.at?.saturating_sub(printed);
        (left <= bytes.len()).then_some(left)
    }

    /// How the process ends too soon: the CLI's output can be cut short with exit code 0.
    pub(super) fn early(self) -> Exit {
        self.exit.unwrap_or(Exit::Code(0))
    }

    /// How the process ends that came to its recorded end.
    pub(super) fn instead_of(self, recorded: Option<Exit>) -> Option<Exit> {
        self.exit.or(recorded)
    }

    /// Lets another process hold stdout open for the time that is wanted.
    ///
    /// # Errors
    ///
    /// The error of the system when the process can't be started.
    pub(super) fn hold_stdout(self) -> std::io::Result<()> {
        if self.eof_ms == 0 {
            return Ok(());
        }
        let mut holder = Command::new(std::env::current_exe()?);
        holder.args(["stand-in", HOLD, &self.eof_ms.to_string()]);
        // Nobody waits for it: that is what the host has to live with.
        holder.stdin(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
    }
}

/// Holds stdout open for as long as the arguments say, if they say so.
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
