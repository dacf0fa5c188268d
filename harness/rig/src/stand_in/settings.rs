//! The settings of the stand-in, from the environment: the cassette, the manner of playing, the end, and the log.
//!
//! Gateways may start `claude` with an environment of their own, so a file beside the program has the settings of a
//! run, too. `CLITAPE_END` sets an end that differs from the recorded one: the CLI can end early, late, with another code, or
//! while a command that it left in the background holds its stdout open.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_gateway::session::config_dir;
use clitape_recording::cassette::{Cassette, Exit};
use clitape_recording::files;
use fs_err as fs;

use super::agent_faults::{AgentFaults, CliFault};
use super::log;
use super::process::StandInError;
use super::transcript::transcript_path;
use crate::limits::{HOST_LINE, HOST_WAIT, KEPT};

/// The settings of the stand-in.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// `CLITAPE_ROOT`: the workspace.
    pub(super) root: Option<PathBuf>,
    /// `CLITAPE_CASSETTE`: a name, a name and a version, or a cassette's folder.
    pub(super) cassette: Option<String>,
    /// `CLITAPE_QUEUE`: a file with one name a line; each turn takes one.
    pub(super) queue: Option<PathBuf>,
    /// `CLITAPE_VERSION`: the version of the CLI.
    pub(super) version: Option<String>,
    /// `CLITAPE_PLAY`: the cuts and the delays of the bytes; with `,halves` at its end, each line in two pieces.
    pub(super) play: Option<String>,
    /// `CLITAPE_END`: the end of the process, if it is not the recorded one.
    pub(super) end: Option<String>,
    /// `CLITAPE_AGENT_FAULTS`: the faults of the output.
    pub(super) agent_faults: Option<String>,
    /// `CLITAPE_OWN_PROMPTS=answer`: a prompt that names no recording gets a short answer.
    pub(super) answers_own_prompts: bool,
    /// `CLITAPE_FOLDER=live`: the folder of the process takes the place of the recorded one.
    pub(super) has_live_folder: bool,
    /// `CLITAPE_SESSIONS=gone`: no session of an earlier process can be resumed.
    pub(super) has_lost_sessions: bool,
    /// `CLITAPE_LOG`: the log file.
    pub(super) log: Option<PathBuf>,
    /// `CLITAPE_WAIT_S`: the time that it waits for a line of the host.
    pub(super) wait: Duration,
    /// `CLITAPE_MAX_LINE`: the most bytes of a line of the host.
    pub(super) max_line: ByteSize,
    /// `CLITAPE_MAX_KEPT`: the most bytes of memory that the lines of the host may take.
    pub(super) max_kept: ByteSize,
    /// The folder of the transcripts; `None` with `CLITAPE_TRANSCRIPT=off`, and without a home folder.
    pub(super) config_dir: Option<PathBuf>,
}

impl Settings {
    /// Reads the environment; an empty variable counts as absent.
    pub(super) fn read(env: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let get = |name: &str| env(name).filter(|value| !value.is_empty());
        let text = |name: &str| get(name).map(|value| value.to_string_lossy().into_owned());
        let seconds = text("CLITAPE_WAIT_S").and_then(|value| value.parse::<f64>().ok());
        let wait = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let size = |name: &str| text(name).and_then(|value| value.parse().ok());
        let is_off = text("CLITAPE_TRANSCRIPT").is_some_and(|value| value == "off");
        let config = config_dir(get("CLAUDE_CONFIG_DIR").as_deref(), get("HOME").as_deref());
        Self {
            root: get("CLITAPE_ROOT").map(PathBuf::from),
            cassette: text("CLITAPE_CASSETTE"),
            queue: get("CLITAPE_QUEUE").map(PathBuf::from),
            version: text("CLITAPE_VERSION"),
            play: text("CLITAPE_PLAY"),
            end: text("CLITAPE_END"),
            agent_faults: text("CLITAPE_AGENT_FAULTS"),
            answers_own_prompts: text("CLITAPE_OWN_PROMPTS").is_some_and(|value| value == "answer"),
            has_live_folder: text("CLITAPE_FOLDER").is_some_and(|value| value == "live"),
            has_lost_sessions: text("CLITAPE_SESSIONS").is_some_and(|value| value == "gone"),
            log: get("CLITAPE_LOG").map(PathBuf::from),
            wait: wait.unwrap_or(HOST_WAIT),
            max_line: size("CLITAPE_MAX_LINE").unwrap_or(HOST_LINE),
            max_kept: size("CLITAPE_MAX_KEPT").unwrap_or(KEPT),
            config_dir: config.filter(|_| !is_off),
        }
    }

    /// Returns the faults of a cassette's output.
    ///
    /// # Errors
    ///
    /// [`StandInError::AgentFaults`] if the setting has a word that is no fault.
    pub(super) fn faults_of(&self, cassette: &Cassette) -> Result<Vec<CliFault>, StandInError> {
        let faults = self.agent_faults.as_deref().unwrap_or_default();
        let faults: AgentFaults = faults.parse().map_err(StandInError::AgentFaults)?;
        Ok(faults.of(&format!("{}/{}", cassette.manifest.scenario, cassette.version())))
    }

    /// Returns whether a session has had only prompts of the host's own, which play no cassette.
    pub(super) fn has_own_prompts(&self, session_id: &str) -> bool {
        let log = self.log.as_ref().filter(|_| self.answers_own_prompts);
        log.is_some_and(|log| log::played_session(log, session_id).is_none())
    }

    /// Returns whether a session can be resumed in a folder: the CLI's transcript is there, or the run has played the
    /// session. Also true if neither is stored, and if a setting names the cassette for every session.
    pub(super) fn has_session(&self, folder: &Path, session_id: &str) -> bool {
        if self.has_lost_sessions {
            return false;
        }
        let Some(config) = &self.config_dir else { return true };
        let has_played = |log: &PathBuf| log::played_session(log, session_id).is_some();
        self.cassette.is_some()
            || self.queue.is_some()
            || transcript_path(config, folder, session_id)
                .is_none_or(|transcript| transcript.exists())
            || self.log.as_ref().is_some_and(has_played)
    }
}

/// The end of the file's name, behind the name of the program.
const RUN_FILE_SUFFIX: &str = ".run.json";
/// The beginning of the names of the settings.
const SETTING_PREFIX: &str = "CLITAPE_";
/// A further variable that the stand-in reads: the folder of the transcripts is in it.
const HOME: &str = "HOME";

/// Returns the path of the file beside a program.
fn run_file_beside(program: &Path) -> PathBuf {
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push(RUN_FILE_SUFFIX);
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
    let is_setting = |name: &String| name.starts_with(SETTING_PREFIX) || name == HOME;
    let settings =
        variables.into_iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let settings: BTreeMap<String, String> =
        settings.filter(|(name, _)| is_setting(name)).collect();
    fs::write(run_file_beside(claude), serde_json::to_string_pretty(&settings)?)
}

/// Returns the settings in the file beside a program; none if it can't be read.
pub(super) fn read_run_file(program: Option<&Path>) -> BTreeMap<String, OsString> {
    let text = program.and_then(|program| files::read(&run_file_beside(program)).ok());
    let settings = text.and_then(|text| serde_json::from_slice(&text).ok());
    let settings: BTreeMap<String, String> = settings.unwrap_or_default();
    settings.into_iter().map(|(name, value)| (name, value.into())).collect()
}

/// The argument that makes a process only hold the stdout that it inherited.
const HOLD: &str = "--hold-stdout-ms";

/// The end of the process where it differs from the recorded one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OtherEnd {
    /// `at:BYTES`: the number of printed bytes after which the process ends.
    at: Option<usize>,
    /// `code:N` or `signal:N`: the exit.
    exit: Option<Exit>,
    /// `stay:MS`: the time for which the process lives on after its last byte, if it has printed a result.
    pub(super) stay_ms: u64,
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
                ("stay", _) => end.stay_ms = number.into(),
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
pub(super) fn hold_stdout(args: &[String]) -> bool {
    let [name, ms] = args else { return false };
    let ms = ms.parse().ok().filter(|_| name == HOLD);
    ms.map(|ms| std::thread::sleep(Duration::from_millis(ms))).is_some()
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
        let read = read_run_file(Some(&claude));
        let expect = [("CLITAPE_PLAY", "instant"), ("HOME", "/h")];
        assert_eq!(read, expect.map(|(name, value)| (name.to_owned(), value.into())).into());
        assert!(read_run_file(Some(&folder.path().join("other"))).is_empty());
        assert!(read_run_file(None).is_empty());
    }

    #[test]
    fn the_end_is_read_from_words() {
        let end = |text| OtherEnd::parse(Some(text)).map_err(|error| error.to_string());
        assert_eq!(end("stay:70").unwrap().stay_ms, 70);
        let all = end("at:5,signal:9, eof:30").unwrap();
        assert_eq!((all.cut(0, b"1234"), all.cut(2, b"1234")), (None, Some(3)));
        assert_eq!((all.early(), all.eof_ms), (Exit::Signal(9), 30));
        assert_eq!(OtherEnd::parse(None).unwrap().cut(0, b"1"), None);
        assert_eq!(end("at:1").unwrap().early(), Exit::Code(0));
        assert_eq!(end("code:3").unwrap().instead_of(Some(Exit::Code(0))), Some(Exit::Code(3)));
        for wrong in ["", "at", "at:x", "code:256", "signal:0", "late:3"] {
            let told = end(wrong).unwrap_err();
            assert!(
                told.contains("write at:BYTES, code:N, signal:N, stay:MS, eof:MS"),
                "{wrong}: {told}"
            );
        }
    }
}
