//! The settings of the stand-in, from the environment: the cassette, the manner of playing, and the log.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_gateway::session::config_dir;

use super::sessions;
use super::transcript::place;
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
    /// `CLITAPE_PLAY`: the cuts and the delays of the bytes.
    pub(super) play: Option<String>,
    /// `CLITAPE_END`: the end of the process, if it is not the recorded one.
    pub(super) end: Option<String>,
    /// `CLITAPE_OWN_PROMPTS=answer`: a prompt that names no recording gets a short answer.
    pub(super) answers_own_prompts: bool,
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
            answers_own_prompts: text("CLITAPE_OWN_PROMPTS").is_some_and(|value| value == "answer"),
            log: get("CLITAPE_LOG").map(PathBuf::from),
            wait: wait.unwrap_or(HOST_WAIT),
            max_line: size("CLITAPE_MAX_LINE").unwrap_or(HOST_LINE),
            max_kept: size("CLITAPE_MAX_KEPT").unwrap_or(KEPT),
            config_dir: config.filter(|_| !is_off),
        }
    }

    /// Returns whether a session has had only prompts of the host's own, which play no cassette.
    pub(super) fn has_own_prompts(&self, session_id: &str) -> bool {
        let log = self.log.as_ref().filter(|_| self.answers_own_prompts);
        log.is_some_and(|log| sessions::played(log, session_id).is_none())
    }

    /// Returns whether a session can be resumed in a folder: the CLI's transcript is there, or the run has played the
    /// session. Also true if neither is stored, and if a setting names the cassette for every session.
    pub(super) fn has_session(&self, folder: &Path, session_id: &str) -> bool {
        let Some(config) = &self.config_dir else { return true };
        let has_played = |log: &PathBuf| sessions::played(log, session_id).is_some();
        self.cassette.is_some()
            || self.queue.is_some()
            || place(config, folder, session_id).is_none_or(|transcript| transcript.exists())
            || self.log.as_ref().is_some_and(has_played)
    }
}
