//! Reads the log of the stand-in: the output and the waits of the processes of each cassette.
//!
//! All processes of one start of a gateway append to one file. A process belongs to the cassette of its last event
//! `turn`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use clitape_judge::observation::{ARGUMENTS_REFUSED, PlayedTurn, SessionOrigin, TurnSession};
use clitape_recording::cassette::Cassette;
use clitape_recording::files;
use clitape_recording::limits::OutputLimits;
use serde::Deserialize;

use crate::limits::{Full, Held, KeptBytes};
use crate::stand_in::{asks_nobody, has_earlier_messages, marked, origin, resumed};

/// The bytes that are read at a time.
const PART: usize = 256 * 1024;
/// The most characters that are kept of a sentence.
const SENTENCE: usize = 4_096;
/// The most characters that are kept of the id of a session.
const SESSION: usize = 64;
/// The bytes that the session of a turn counts for, beside the name of its cassette.
const TURN: usize = 3 * SESSION + size_of::<TurnSession>() + 2 * size_of::<String>();
/// The most bytes of the path of a folder.
const FOLDER: usize = 1_024;
/// The bytes that a process counts for, beside the name of its cassette.
const PROCESS: usize = 128;
/// The bytes that a cassette counts for, beside its name, its turns and its prints.
const CASSETTE: usize = 512 + 2 * SENTENCE + SESSION + FOLDER;

/// A reader of a log. Its memory counts in the account, because other programs can write to the log.
#[derive(Debug)]
pub(crate) struct StandInLog {
    path: PathBuf,
    limits: OutputLimits,
    read: u64,
    /// The beginning of a line that is not complete.
    rest: Vec<u8>,
    held: Held,
    /// The limit that is reached, in words.
    overflow: Option<String>,
    /// The processes so far, by their ids.
    processes: HashMap<u64, Process>,
    seen: HashMap<String, Played>,
    /// The last process that was started for a run, as opposed to a side call.
    last: Option<u64>,
    /// The time and the sentence of the last refusal by a process without a cassette.
    stray: Option<(u64, String)>,
    /// The cassette that began each session, by the session's id.
    owners: HashMap<String, String>,
}

/// A process in the log.
#[derive(Debug, Default)]
struct Process {
    /// The arguments of the process.
    arguments: Arc<[String]>,
    /// The cassette that it plays, `NAME/VERSION`.
    cassette: Option<String>,
    /// The cassette that a marker in its arguments or its stdin names.
    named: Option<String>,
    /// The time at which it was started.
    at: u64,
    /// True if it read a line from stdin.
    was_heard: bool,
    /// True if its last prompt has earlier messages of the person in it.
    has_earlier: bool,
    /// True if it refused.
    refused: bool,
}

/// The state of one cassette in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Played {
    /// The number of processes that began to play it.
    pub(crate) starts: u64,
    /// The arguments of the last process that began to play it, or that refused to.
    pub(crate) arguments: Arc<[String]>,
    /// The bytes of the cassette that are printed.
    pub(crate) printed: u64,
    /// The line for which it waits; `None` while it prints.
    pub(crate) waits_for: Option<String>,
    /// The sentence of a process that refused a line.
    pub(crate) refused: Option<String>,
    /// True once its process, or the turn in it, has ended.
    pub(crate) turn_ended: bool,
    /// True once its process has ended.
    pub(crate) exited: bool,
    /// The time at which it ended, in milliseconds since 1970.
    pub(crate) exited_at: Option<u64>,
    /// The turns, each with the times of its first and its last byte, in milliseconds since 1970.
    pub(crate) turns: Vec<(u64, Option<u64>)>,
    /// The prints: each time, with the number of bytes up to there, which never falls.
    pub(crate) prints: Arc<Vec<(u64, u64)>>,
    /// The sessions of its turns, in the same order.
    pub(crate) sessions: Vec<TurnSession>,
    /// The folder that took the place of the recorded one in its last turn; `None` if that stayed.
    pub(crate) folder: Option<Arc<str>>,
}

/// A line of the log, with the fields that are used.
#[derive(Deserialize)]
struct LogLine<'a> {
    pid: u64,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(default)]
    at: u64,
    argv: Option<Vec<String>>,
    form: Option<Cow<'a, str>>,
    /// A line that the process read from stdin.
    line: Option<Cow<'a, str>>,
    /// A note of the stand-in.
    what: Option<Cow<'a, str>>,
    cassette: Option<Cow<'a, str>>,
    session_id: Option<Cow<'a, str>>,
    folder: Option<Cow<'a, str>>,
    #[serde(default)]
    left_out: u64,
    sentence: Option<Cow<'a, str>>,
    #[serde(rename = "for")]
    waits_for: Option<Cow<'a, str>>,
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    bytes: u64,
    to: Option<u64>,
}

impl StandInLog {
    /// Creates the reader of the log at `path`, which may not exist yet.
    pub(crate) fn at(path: PathBuf, limits: OutputLimits, kept: &Arc<KeptBytes>) -> Self {
        Self {
            path,
            limits,
            read: 0,
            rest: Vec::new(),
            held: Held::of(kept),
            overflow: None,
            processes: HashMap::new(),
            seen: HashMap::new(),
            last: None,
            stray: None,
            owners: HashMap::new(),
        }
    }

    /// Reads the lines that were appended since the last call, until a limit is reached.
    pub(crate) fn update(&mut self) -> io::Result<()> {
        // Opened with care, because a gateway may put anything in its place, such as a pipe without a writer.
        let mut file = match files::open(&self.path) {
            Err(error) if error.is_not_found() => return Ok(()),
            file => file?,
        };
        file.seek(SeekFrom::Start(self.read))?;
        let mut part = vec![0; PART];
        while self.overflow.is_none() {
            let length = file.read(&mut part)?;
            if length == 0 {
                break;
            }
            self.read += length as u64;
            self.overflow = self.append(&part[..length]).err();
        }
        Ok(())
    }

    /// Takes a part of the log. The error is the limit that it reaches.
    fn append(&mut self, part: &[u8]) -> Result<(), String> {
        let OutputLimits { bytes, line: longest, .. } = self.limits;
        let too_much = |what: String, option: &str| {
            format!("{what} in the log of the stand-in; raise the limit with `{option}`")
        };
        for line in part.split_inclusive(|&byte| byte == b'\n') {
            self.rest.extend(line);
            if longest.is_below(self.rest.len()) {
                return Err(too_much(format!("a line of more than {longest}"), "--max-line"));
            }
            if line.ends_with(b"\n") {
                let whole = std::mem::take(&mut self.rest);
                // Another program may have written other lines.
                if let Ok(line) = serde_json::from_slice(&whole) {
                    self.take(&line).map_err(|full| full.to_string())?;
                }
            }
        }
        match self.read > bytes.get() {
            true => Err(too_much(format!("more than {bytes}"), "--max-output")),
            false => Ok(()),
        }
    }

    /// Counts, for each text, the processes whose arguments have it, and the lines of stdin and the notes that do.
    pub(crate) fn heard(&self, texts: &[String]) -> io::Result<Vec<usize>> {
        let mut counts = vec![0; texts.len()];
        let file = match files::open(&self.path) {
            Err(error) if error.is_not_found() => return Ok(counts),
            file => file?,
        };
        let mut lines = BufReader::new(file.take(self.read));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            if let Ok(LogLine { argv, line, what, .. }) = serde_json::from_slice(&line) {
                let arguments = argv.iter().flatten().map(String::as_str);
                let given: Vec<&str> =
                    arguments.chain(line.as_deref()).chain(what.as_deref()).collect();
                for (count, text) in counts.iter_mut().zip(texts) {
                    *count += usize::from(given.iter().any(|given| given.contains(text)));
                }
            }
            line.clear();
        }
        Ok(counts)
    }

    /// Returns the limit that is reached, in words; the log is not read any further then.
    pub(crate) fn overflow(&self) -> Option<&str> {
        self.overflow.as_deref()
    }

    /// Returns the state of a cassette, `NAME/VERSION`; the default if it was never played.
    pub(crate) fn played(&self, cassette: &str) -> Played {
        self.seen.get(cassette).cloned().unwrap_or_default()
    }

    /// Returns whether a cassette waits for its gateway: it was not started, or its process waits for a line.
    pub(crate) fn waits(&self, cassette: &str) -> bool {
        let waits = |played: &Played| played.waits_for.is_some() && !played.turn_ended;
        self.seen.get(cassette).is_none_or(|played| played.starts == 0 || waits(played))
    }

    /// Forgets a cassette, before it is played again.
    pub(crate) fn forget(&mut self, cassette: &str) {
        self.seen.remove(cassette);
        self.processes.retain(|_, process| process.cassette.as_deref() != Some(cassette));
    }

    /// Returns the arguments, without the name of the program, of the last process that began to play a cassette or
    /// refused to.
    pub(crate) fn arguments(&self, cassette: &str) -> Option<&[String]> {
        self.seen.get(cassette).map(|played| &*played.arguments)
    }

    /// Returns the arguments of the last process for a run, if it was started since `begin_ms` and got no message:
    /// neither a line on stdin nor a prompt in its arguments. A process that refused does not count.
    pub(crate) fn unheard(&self, begin_ms: u64) -> Option<&[String]> {
        let last = self.processes.get(&self.last?)?;
        let is_unheard =
            last.at >= begin_ms && !last.was_heard && !last.refused && last.cassette.is_none();
        is_unheard.then_some(&*last.arguments)
    }

    /// Returns the last sentence of a process that refused before it had a cassette.
    pub(crate) fn stray(&self) -> Option<&str> {
        self.stray.as_ref().map(|(_, sentence)| sentence.as_str())
    }

    /// Returns the time and the sentence of a refusal of arguments, if the last process for a run was started since
    /// `begin_ms` and refused its arguments.
    pub(crate) fn refused_start(&self, begin_ms: u64) -> Option<(u64, &str)> {
        let last = self.processes.get(&self.last?)?;
        let (at, sentence) = self.stray.as_ref()?;
        let is_it = last.refused && last.at >= begin_ms && sentence.starts_with(ARGUMENTS_REFUSED);
        is_it.then_some((*at, sentence.as_str()))
    }

    fn take(&mut self, line: &LogLine<'_>) -> Result<(), Full> {
        let LogLine { pid, at, .. } = *line;
        let name = &*line.event;
        if name == "start" {
            let arguments = line.argv.as_deref().unwrap_or_default();
            self.held.try_keep(PROCESS + arguments.iter().map(String::len).sum::<usize>())?;
            // A new entry, because the system may reuse the id of a process that has ended.
            let named = arguments.iter().rev().find_map(|argument| marked(argument));
            let process = Process {
                arguments: arguments.into(),
                named: named.map(str::to_owned),
                has_earlier: arguments.iter().any(|argument| has_earlier_messages(argument)),
                at,
                ..Process::default()
            };
            self.processes.insert(pid, process);
            if line.form.as_deref() != Some("side call") {
                self.last = Some(pid);
            }
        }
        if let ("stdin", Some(text), Some(process)) =
            (name, line.line.as_deref(), self.processes.get_mut(&pid))
        {
            process.was_heard = true;
            if let Some(named) = marked(text) {
                let named: String = named.chars().take(SENTENCE).collect();
                self.held.try_keep(named.len())?;
                process.named = Some(named);
                process.has_earlier = has_earlier_messages(text);
            }
        }
        if let ("turn", Some(cassette)) = (name, line.cassette.as_deref()) {
            let process = self.processes.entry(pid).or_default();
            let is_new = process.cassette.as_deref() != Some(cassette);
            let is_first = !self.seen.contains_key(cassette);
            let bytes = usize::from(is_new) * (PROCESS + cassette.len())
                + usize::from(is_first) * (CASSETTE + cassette.len());
            let times = 2 * size_of::<(u64, Option<u64>)>();
            self.held.try_keep(bytes + times + TURN + cassette.len())?;
            let played = self.seen.entry(cassette.to_owned()).or_default();
            if is_new {
                process.cassette = Some(cassette.to_owned());
                let arguments = process.arguments.clone();
                // Another process may continue where the one before ended.
                let goes_on = line.left_out > 0;
                let kept = if goes_on { std::mem::take(played) } else { Played::default() };
                let starts = if goes_on { kept.starts } else { played.starts };
                let (exited, exited_at) = (false, None);
                *played = Played { starts: starts + 1, arguments, exited, exited_at, ..kept };
            }
            played.turn_ended = false;
            played.waits_for = None;
            played.turns.push((at, None));
            let id = line.session_id.as_deref().unwrap_or_default();
            let id: String = id.chars().take(SESSION).collect();
            let from = match is_new {
                false => SessionOrigin::Process,
                true if process.has_earlier => SessionOrigin::Prompt,
                true => match origin(&process.arguments) {
                    SessionOrigin::Resumed { id, .. } => {
                        let owner = self.owners.get(&id).filter(|owner| **owner != cassette);
                        SessionOrigin::Resumed { of_other: owner.cloned(), id }
                    }
                    origin => origin,
                },
            };
            self.owners.entry(id.clone()).or_insert_with(|| cassette.to_owned());
            played.sessions.push(TurnSession { id, from });
            played.folder = line.folder.as_deref().filter(|it| it.len() <= FOLDER).map(Arc::from);
            return Ok(());
        }
        let sentence = || {
            let words = line.sentence.as_deref().or(line.waits_for.as_deref()).unwrap_or(name);
            words.chars().take(SENTENCE).collect()
        };
        // Another program may write about processes that were never started.
        let mut process = self.processes.get_mut(&pid);
        if let Some(process) = &mut process {
            process.refused |= name == "refused";
        }
        let cassette = process.as_ref().and_then(|process| process.cassette.as_ref());
        let Some(played) = cassette.and_then(|cassette| self.seen.get_mut(cassette)) else {
            if name == "refused" {
                self.stray = Some((at, sentence()));
                // The refusal belongs to the cassette that the process named, because several chats share the log.
                if let Some((named, process)) = process.and_then(|it| Some((it.named.clone()?, it)))
                {
                    self.held.try_keep(CASSETTE + named.len())?;
                    let played = self.seen.entry(named).or_default();
                    played.arguments = process.arguments.clone();
                    played.refused = Some(sentence());
                }
            }
            return Ok(());
        };
        match name {
            "print" => {
                self.held.try_keep(2 * size_of::<(u64, u64)>())?;
                played.printed = line.to.unwrap_or(line.offset.saturating_add(line.bytes));
                played.waits_for = None;
                let before = played.prints.last().map_or(0, |(_, end)| *end);
                Arc::make_mut(&mut played.prints).push((at, played.printed.max(before)));
                if let Some((began, ended)) = played.turns.last_mut() {
                    *began = ended.map_or(at, |_| *began);
                    *ended = Some(at);
                }
            }
            "wait" => played.waits_for = Some(sentence()),
            "turn_end" => played.turn_ended = true,
            "refused" => played.refused = Some(sentence()),
            "exit" => {
                (played.exited, played.exited_at) = (true, Some(at));
                played.turn_ended = true;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Played {
    /// Returns the session that the last process continued, if its arguments name one.
    pub(crate) fn resumed(&self) -> Option<String> {
        resumed(&self.arguments)
    }

    /// Returns whether the last process that began to play this cassette asks for no permissions in it.
    pub(crate) fn asks_nobody(&self, cassette: &Cassette) -> bool {
        self.starts > 0 && asks_nobody(&self.arguments, cassette)
    }

    /// Returns the turns of the stand-in, and the times at which lines of stdout were printed, as far as they were, in
    /// milliseconds since `begin_ms`.
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

    use clitape_gateway::ByteSize;

    use super::*;

    fn limits(bytes: u64, line: u64) -> OutputLimits {
        OutputLimits { bytes: ByteSize::bytes(bytes), line: ByteSize::bytes(line), lines: 9 }
    }

    #[test]
    fn the_events_of_a_process_belong_to_its_cassette() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = StandInLog::at(path.clone(), limits(9_999, 999), &Arc::default());
        log.update().unwrap();
        let mut file = std::fs::File::create(&path).unwrap();
        let mut events = |text: &str| {
            file.write_all(text.as_bytes()).unwrap();
            log.update().unwrap();
            log.played("a/1.0.0")
        };
        let start = "{\"pid\":1,\"event\":\"start\",\"argv\":[\"-p\"]}\n";
        assert_eq!(events(start), Played::default());
        let turn = "{\"pid\":1,\"event\":\"turn\",\"cassette\":\"a/1.0.0\",\"session_id\":\"s\"}\nno json\n";
        let arguments: Arc<[String]> = ["-p".to_owned()].into();
        let turns = vec![(0, None)];
        let sessions = vec![TurnSession { id: "s".to_owned(), from: SessionOrigin::New }];
        let played = Played { starts: 1, arguments, turns, sessions, ..Played::default() };
        assert_eq!(events(turn), played);
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
        assert_eq!((log.stray(), log.overflow()), (Some("no cassette"), None));
        assert_eq!(log.arguments("a/1.0.0"), Some(&["-p".to_owned()][..]));
        assert_eq!(log.arguments("b/1.0.0"), None);
        // Lines about processes that were never started take no memory.
        assert_eq!(log.processes.keys().copied().collect::<Vec<_>>(), [1]);
    }

    /// Reads a log of these lines, and compares the arguments known for a cassette, the refusal of the last start, and
    /// whether the last start got no message.
    #[track_caller]
    fn check_starts(
        lines: &[&str],
        refused: Option<&str>,
        refused_start: Option<&str>,
        is_unheard: bool,
    ) -> StandInLog {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let mut log = StandInLog::at(path, limits(9_999, 999), &Arc::default());
        log.update().unwrap();
        let played = log.played("a/1.0.0");
        assert_eq!(played.refused.as_deref(), refused, "{lines:?}");
        assert_eq!(log.refused_start(5).map(|(_, words)| words), refused_start, "{lines:?}");
        assert_eq!(log.unheard(5).is_some(), is_unheard, "{lines:?}");
        log
    }

    #[test]
    fn a_start_that_played_nothing_is_known() {
        let start = r#"{"pid":1,"at":7,"event":"start","argv":["-p"],"form":"live"}"#;
        let named = r#"{"pid":1,"at":7,"event":"start","argv":["-p","Hi [[clitape:a/1.0.0#2]]"],"form":"one-shot"}"#;
        let side = r#"{"pid":2,"at":8,"event":"start","argv":["--version"],"form":"side call"}"#;
        let sentence = "claude refuses its arguments: error: no";
        let refused = r#"{"pid":1,"at":9,"event":"refused","sentence":"claude refuses its arguments: error: no"}"#;
        let other = r#"{"pid":1,"at":9,"event":"refused","sentence":"expected a user message"}"#;
        let stdin =
            r#"{"pid":1,"at":9,"event":"stdin","line":"{\"text\":\"[[clitape:a/1.0.0]]\"}"}"#;
        let turn = r#"{"pid":1,"at":9,"event":"turn","cassette":"a/1.0.0"}"#;
        let early = start.replace("\"at\":7", "\"at\":4");
        check_starts(&[side], None, None, false);
        check_starts(&[start, side], None, None, true);
        check_starts(&[&early], None, None, false);
        check_starts(&[start, refused, side], None, Some(sentence), false);
        check_starts(&[&early, refused], None, None, false);
        check_starts(&[named, refused], Some(sentence), Some(sentence), false);
        check_starts(&[start, refused, start], None, None, true);
        check_starts(&[start, stdin, other], Some("expected a user message"), None, false);
        check_starts(&[named, turn], None, None, false);
        let refused = check_starts(&[named, refused], Some(sentence), Some(sentence), false);
        assert_eq!(refused.arguments("a/1.0.0").map(<[String]>::len), Some(2));
    }

    #[test]
    fn the_session_of_each_turn_is_known() {
        let process = |pid: u64, arguments: &str| {
            format!(r#"{{"pid":{pid},"event":"start","argv":["-p"{arguments}],"form":"live"}}"#)
        };
        let turn = |pid: u64, cassette: &str, session: &str, left_out: u64| {
            format!(
                r#"{{"pid":{pid},"event":"turn","cassette":"{cassette}","session_id":"{session}","left_out":{left_out}}}"#
            )
        };
        let check = |lines: &[String], expect: &[SessionOrigin]| {
            let before = [
                process(1, ""),
                turn(1, "b/1.0.0", "x", 0),
                process(2, ""),
                turn(2, "a/1.0.0", "s", 0),
            ];
            let text = [&before[..], lines].concat().join("\n") + "\n";
            let log = check_starts(&text.lines().collect::<Vec<_>>(), None, None, false);
            let sessions = log.played("a/1.0.0").sessions;
            let origins: Vec<_> =
                sessions.into_iter().skip(1).map(|session| session.from).collect();
            assert_eq!(origins, expect, "{lines:?}");
        };
        let resumed = |id: &str, of_other: Option<&str>| SessionOrigin::Resumed {
            id: id.to_owned(),
            of_other: of_other.map(str::to_owned),
        };
        check(&[turn(2, "a/1.0.0", "s", 9)], &[SessionOrigin::Process]);
        let next = |arguments: &str| [process(3, arguments), turn(3, "a/1.0.0", "t", 9)];
        check(&next(""), &[SessionOrigin::New]);
        check(&next(r#","--resume","s""#), &[resumed("s", None)]);
        check(&next(r#","--resume","x""#), &[resumed("x", Some("b/1.0.0"))]);
        check(&next(r#","-c""#), &[SessionOrigin::Folder]);
        check(&next(r#","A [[clitape:a#1]] B [[clitape:a#2]]""#), &[SessionOrigin::Prompt]);
    }

    #[test]
    fn a_log_has_limits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut pipe = StandInLog::at(path.clone(), limits(9, 9), &Arc::default());
        assert_eq!(pipe.update().unwrap_err().kind(), io::ErrorKind::InvalidInput);
        std::fs::remove_file(&path).unwrap();
        let turn = |number: usize| {
            format!("{{\"pid\":{number},\"event\":\"turn\",\"cassette\":\"a/{number}\"}}\n")
        };
        for (text, limits, kept, expect) in [
            ("x".repeat(99), limits(99, 99), ByteSize::mib(1), None),
            ("x\n".repeat(50), limits(99, 99), ByteSize::mib(1), Some("--max-output")),
            ("x".repeat(100), limits(999, 99), ByteSize::mib(1), Some("--max-line")),
            ((0..99).map(turn).collect(), limits(99_999, 99), ByteSize::mib(1), None),
            (
                (0..999).map(turn).collect(),
                limits(99_999, 99),
                ByteSize::mib(1),
                Some("--max-kept"),
            ),
        ] {
            std::fs::write(&path, &text).unwrap();
            let mut log = StandInLog::at(path.clone(), limits, &Arc::new(KeptBytes::within(kept)));
            log.update().unwrap();
            let reached = log.overflow().map(|words| words.rsplit('`').nth(1).unwrap_or_default());
            assert_eq!(reached, expect, "{} {:?}", text.len(), log.overflow());
        }
    }
}
