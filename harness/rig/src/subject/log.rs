//! The log of the stand-in: what each cassette's process printed and waits for.
//!
//! All processes of one start of a gateway append to one file. A process belongs to the cassette that its last
//! event `turn` names.

use std::collections::HashMap;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

use crate::observation::PlayedTurn;

/// The most bytes of the log that are read; a gateway that fills more floods.
const MOST: u64 = 256 * 1024 * 1024;

/// The reader of a log.
#[derive(Debug)]
pub(crate) struct StandInLog {
    path: PathBuf,
    read: u64,
    /// The start of a line that is not whole yet.
    rest: Vec<u8>,
    /// The cassette of each process, `NAME/VERSION`.
    cassettes: HashMap<u64, String>,
    seen: HashMap<String, Played>,
    /// The last sentence of a process without a cassette that refused.
    stray: Option<String>,
}

/// What the log says of one cassette.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Played {
    /// How often a process began to play it.
    pub(crate) starts: u64,
    /// The bytes of the cassette that the last process has printed.
    pub(crate) printed: u64,
    /// What it waits for; absent while it prints.
    pub(crate) waits_for: Option<String>,
    /// The sentence of a process that got a wrong line.
    pub(crate) refused: Option<String>,
    /// Whether its process has ended, or a turn of it.
    pub(crate) turn_ended: bool,
    /// Whether its process has ended.
    pub(crate) exited: bool,
    /// The turns, each with the times of its first and its last byte, in ms since 1970.
    pub(crate) turns: Vec<(u64, Option<u64>)>,
    /// What was printed: the time, and the number of bytes up to there. It never falls.
    pub(crate) prints: Vec<(u64, u64)>,
}

impl StandInLog {
    /// The log in the file at `path`, which may not be there yet.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self {
            path,
            read: 0,
            rest: Vec::new(),
            cassettes: HashMap::new(),
            seen: HashMap::new(),
            stray: None,
        }
    }

    /// Reads what was appended since the last call.
    pub(crate) fn update(&mut self) -> io::Result<()> {
        let mut file = match std::fs::File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(MOST.saturating_sub(self.read)).read_to_end(&mut bytes)?;
        self.read += bytes.len() as u64;
        self.rest.extend(bytes);
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            // Another program may write there too.
            if let Ok(event) = serde_json::from_slice::<Value>(&line) {
                self.take(&event);
            }
        }
        Ok(())
    }

    /// Whether no more of the log is read.
    pub(crate) fn is_full(&self) -> bool {
        self.read >= MOST
    }

    /// What is known of a cassette, `NAME/VERSION`; nothing if it was never played.
    pub(crate) fn played(&self, cassette: &str) -> Played {
        self.seen.get(cassette).cloned().unwrap_or_default()
    }

    /// Forgets a cassette, before it is played again.
    pub(crate) fn forget(&mut self, cassette: &str) {
        self.seen.remove(cassette);
        self.cassettes.retain(|_, other| other != cassette);
    }

    /// The last sentence of a process that refused before it had a cassette.
    pub(crate) fn stray(&self) -> Option<&str> {
        self.stray.as_deref()
    }

    fn take(&mut self, event: &Value) {
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        let number = |key: &str| event.get(key).and_then(Value::as_u64);
        let (Some(pid), Some(name)) = (number("pid"), text("event")) else { return };
        let at = number("at").unwrap_or(0);
        if name == "start" {
            // The system gives the number of an ended process again.
            self.cassettes.remove(&pid);
        }
        if let ("turn", Some(cassette)) = (name, text("cassette")) {
            let is_new =
                self.cassettes.insert(pid, cassette.to_owned()).as_deref() != Some(cassette);
            let played = self.seen.entry(cassette.to_owned()).or_default();
            let goes_on = number("left_out").is_some_and(|bytes| bytes > 0);
            if is_new {
                // Another process may go on where the one before ended.
                let kept = if goes_on { std::mem::take(played) } else { Played::default() };
                let starts = if goes_on { kept.starts } else { played.starts };
                *played = Played { starts: starts + 1, exited: false, ..kept };
            }
            played.turn_ended = false;
            played.waits_for = None;
            played.turns.push((at, None));
            return;
        }
        let sentence = || text("sentence").or(text("for")).unwrap_or(name).to_owned();
        let played = self.cassettes.get(&pid).and_then(|cassette| self.seen.get_mut(cassette));
        let Some(played) = played else {
            if name == "refused" {
                self.stray = Some(sentence());
            }
            return;
        };
        match name {
            "print" => {
                played.printed = number("offset").unwrap_or(0) + number("bytes").unwrap_or(0);
                played.waits_for = None;
                let before = played.prints.last().map_or(0, |(_, end)| *end);
                played.prints.push((at, played.printed.max(before)));
                if let Some((began, ended)) = played.turns.last_mut() {
                    *began = ended.map_or(at, |_| *began);
                    *ended = Some(at);
                }
            }
            "wait" => played.waits_for = Some(sentence()),
            "turn_end" => played.turn_ended = true,
            "refused" => played.refused = Some(sentence()),
            "exit" => {
                played.exited = true;
                played.turn_ended = true;
            }
            _ => {}
        }
    }
}

impl Played {
    /// The turns of the stand-in, and the times at which the lines of stdout were printed, as far as they were; in ms
    /// since `begin_ms`.
    pub(crate) fn since(&self, begin_ms: u64, stdout: &[u8]) -> (Vec<PlayedTurn>, Vec<u64>) {
        let since = |at: u64| at.saturating_sub(begin_ms);
        let turns = self.turns.iter().map(|(began, ended)| PlayedTurn {
            began_ms: since(*began),
            ended_ms: ended.map(since),
        });
        let mut end = 0;
        let lines = stdout.split_inclusive(|&byte| byte == b'\n');
        let reads = lines.map_while(|line| {
            end += line.len() as u64;
            let print = self.prints.partition_point(|(_, printed)| *printed < end);
            self.prints.get(print).map(|(at, _)| since(*at))
        });
        (turns.collect(), reads.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_events_of_a_process_belong_to_its_cassette() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = StandInLog::at(path.clone());
        log.update().unwrap();
        let mut file = std::fs::File::create(&path).unwrap();
        let mut events = |text: &str| {
            file.write_all(text.as_bytes()).unwrap();
            log.update().unwrap();
            log.played("a/1.0.0")
        };
        assert_eq!(events("{\"pid\":1,\"event\":\"start\"}\n"), Played::default());
        let turn = "{\"pid\":1,\"event\":\"turn\",\"cassette\":\"a/1.0.0\"}\nno json\n";
        assert_eq!(events(turn), Played { starts: 1, turns: vec![(0, None)], ..Played::default() });
        let print = "{\"pid\":2,\"event\":\"print\",\"bytes\":9,\"offset\":0}\n\
                     {\"pid\":1,\"event\":\"print\",\"at\":9,\"bytes\":5,\"offset\":7}\n{\"pid\":1,";
        let played = events(print);
        assert_eq!((played.printed, &played.turns[..]), (12, &[(9, Some(9))][..]));
        let rest = "\"event\":\"wait\",\"for\":\"a yes\"}\n";
        assert_eq!(events(rest).waits_for.as_deref(), Some("a yes"));
        assert!(events("{\"pid\":1,\"event\":\"turn_end\"}\n").turn_ended);
        let exit = events("{\"pid\":1,\"event\":\"exit\",\"code\":0}\n");
        assert!(exit.exited && exit.turn_ended);
        events("{\"pid\":7,\"event\":\"refused\",\"sentence\":\"no cassette\"}\n");
        assert_eq!(log.stray(), Some("no cassette"));
    }
}
