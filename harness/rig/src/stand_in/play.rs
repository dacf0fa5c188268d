//! The player of cassettes on the pipes of the process.
//!
//! It writes each piece when it is due. Meanwhile it listens for lines of the host, signals and the end of stdin, and
//! hands the lines to the lockstep.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use clitape_judge::observation::WAITED_IN_VAIN;
use clitape_recording::cassette::{Cassette, Exit};
use clitape_recording::wire::{RequestKind, UserMessage};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::adapt::{HostFacts, fresh_uuid, unfit};
use super::agent_faults::KILLED;
use super::answers;
use super::arguments::{Arguments, Asks, Form, OutputFormat};
use super::choose::{self, from_run, from_turn};
use super::dialogue::{Dialogue, HostAct, Role};
use super::lockstep::{LineFit, Next};
use super::log::Log;
use super::mcp::{Ask, PermissionTool};
use super::process::{
    EventQueue, ProcessEnding, ProcessEvent, StandInError, USAGE, WRONG_LINE, exit_code, too_much,
};
use super::refusal::{NO_INPUT, REFUSED, Refusal};
use super::running::PlayedCassette;
use super::settings::{OtherEnd, Settings};
use super::transcript::KeptTranscript;
use crate::limits::{Held, KeptBytes, parsed_bytes};

/// The milliseconds without output after which a recording closed stdin. They are subtracted from the time that the CLI
/// took to end.
const QUIET_MS: u64 = 1_000;

/// The time that a process waits in all for a host to read the first halves of its lines, because a host may read no
/// more.
const HALVES_WAIT: Duration = Duration::from_secs(5);
/// The time between two looks at what the host has read.
const HALVES_LOOK: Duration = Duration::from_millis(2);

/// The note about a prompt that names no recording.
pub(crate) const OWN_PROMPT: &str = "a prompt of the host's own plays no cassette";

/// Plays cassettes to one host.
#[derive(Debug)]
pub(super) struct Player<'a> {
    pub(super) settings: &'a Settings,
    pub(super) arguments: &'a Arguments,
    pub(super) log: &'a mut Log,
    pub(super) queue: EventQueue,
    host: HostFacts,
    running: Option<PlayedCassette>,
    /// The account of memory of the host's lines.
    pub(super) kept: Arc<KeptBytes>,
    /// Messages that wait for the end of the present turn.
    waiting: VecDeque<(UserMessage, Held)>,
    /// Lines that are not in the recording, to be written at the next end of a line.
    replies: Vec<u8>,
    replies_held: Held,
    is_closed: bool,
    was_heard: bool,
    /// The line for which the process waits, and until when; `None` while it prints.
    pub(super) wait: Option<(String, Option<Instant>)>,
    /// The time at which the last piece was due, or at which the line came for which it waited.
    clock: Instant,
    /// The due time and the end of the next piece.
    pub(super) piece: Option<(Instant, usize)>,
    /// The rest of [`HALVES_WAIT`].
    halves_wait: Duration,
    /// The bytes of the present cassette that an earlier process has printed.
    left_out: u64,
    /// The number of turns in the process, and of those in the present cassette, that are logged.
    pub(super) turns: (u64, u64),
    is_turn_open: bool,
    cassettes: u64,
    transcript: KeptTranscript,
    /// The tool that is asked for permissions; started at the first question.
    permission_tool: Option<PermissionTool>,
    /// The exit of the last cassette, and the milliseconds that it took.
    ending: (Option<Exit>, u64),
    /// The end that differs from the recorded one, and the bytes of cassettes that are printed.
    other_end: (OtherEnd, usize),
}

impl<'a> Player<'a> {
    pub(super) fn new(settings: &'a Settings, arguments: &'a Arguments, log: &'a mut Log) -> Self {
        let resumed = arguments.resume.clone().filter(|_| !arguments.forks);
        let session_id = arguments.session_id.clone().or(resumed).unwrap_or_else(fresh_uuid);
        let has_none = arguments.has("--no-session-persistence");
        let config_dir = settings.config_dir.as_deref().filter(|_| !has_none);
        let transcript = KeptTranscript::of(config_dir, &session_id);
        let host = HostFacts {
            is_live: arguments.form == Form::Live,
            wants_replay: arguments.replays_messages,
            wants_pieces: arguments.wants_partials,
            asks: arguments.asks.clone(),
            session_id,
            folder: settings.has_live_folder.then(HostFacts::own_folder).flatten(),
            ..HostFacts::default()
        };
        let kept = Arc::new(KeptBytes::within(settings.max_kept));
        Self {
            settings,
            arguments,
            log,
            queue: EventQueue::new(),
            host,
            running: None,
            waiting: VecDeque::new(),
            replies: Vec::new(),
            replies_held: Held::of(&kept),
            kept,
            is_closed: false,
            was_heard: false,
            wait: None,
            clock: Instant::now(),
            piece: None,
            halves_wait: HALVES_WAIT,
            left_out: 0,
            turns: (0, 0),
            is_turn_open: false,
            cassettes: 0,
            transcript,
            permission_tool: None,
            ending: (None, 0),
            other_end: (OtherEnd::default(), 0),
        }
    }

    /// Plays until the process ends, and returns its exit code.
    pub(super) fn play(mut self) -> u8 {
        let ending = self.begin_process().and_then(|()| self.serve());
        let ending = match ending {
            Ok(never) => match never {},
            Err(ProcessEnding::Recorded(exit)) => {
                ProcessEnding::Recorded(self.other_end.0.instead_of(exit))
            }
            Err(ending) => ending,
        };
        if let Err(error) = self.other_end.0.hold_stdout() {
            self.log.note(&format!("stdout can't be held open: {error}"));
        }
        ending.tell(self.log)
    }

    /// Prepares the process up to the first line of the host.
    fn begin_process(&mut self) -> Result<(), ProcessEnding> {
        let end = OtherEnd::parse(self.settings.end.as_deref());
        self.other_end.0 = end?;
        if self.arguments.form == Form::OneShot {
            let prompt = self.prompt()?;
            return self.begin(UserMessage::prompt(&prompt), Held::of(&self.kept));
        }
        self.read_stdin()?;
        // A cassette that is chosen from the start answers the `initialize` itself.
        if self.settings.cassette.is_some() {
            let (cassette, dialogue) = self.choose("")?;
            if dialogue.is_live {
                self.start(cassette, dialogue, None)?;
            }
        }
        Ok(())
    }

    fn choose(&mut self, prompt: &str) -> Result<(Cassette, Dialogue), StandInError> {
        let session = self.arguments.resume.as_deref().filter(|_| self.cassettes == 0);
        // A session with nothing but prompts of the host's own has played no recording yet.
        let is_resumed = session.is_some_and(|session| !self.settings.has_own_prompts(session));
        let (cassette, turn) = choose::choose(self.settings, prompt, self.host.is_live, session)?;
        let (cassette, left_out) = match cassette.further.is_empty() {
            true => from_turn(cassette, turn.unwrap_or(1)),
            false => from_run(cassette, turn.unwrap_or(if is_resumed { 2 } else { 1 })),
        };
        self.left_out = left_out;
        let dialogue = Dialogue::cut(&cassette);
        let is_denied = dialogue.denied().next().is_some() && !dialogue.asks_person();
        let why = match self.arguments.bypasses_permissions() && is_denied {
            true => Some(
                "the recorded person says no, and this host starts `claude` in a mode in which it asks for no \
                 permission; leave the mode out, or play another recording"
                    .to_owned(),
            ),
            false => unfit(&dialogue, &self.host),
        };
        if let Some(why) = why {
            let name = format!("{}/{}", cassette.manifest.scenario, cassette.version());
            return Err(StandInError::Unfit { name, why });
        }
        Ok((cassette, dialogue))
    }

    /// Begins the cassette that a message asks for; `held` is the message's part of the account.
    pub(super) fn begin(&mut self, message: UserMessage, held: Held) -> Result<(), ProcessEnding> {
        let (cassette, dialogue) = match self.choose(&message.text()) {
            Err(StandInError::NoCassette(_)) if self.settings.answers_own_prompts => {
                return self.answer_own(&message);
            }
            chosen => chosen?,
        };
        if dialogue.is_live {
            self.start(cassette, dialogue, None)?;
            return self.hear(HostAct::Message(message), held);
        }
        self.start(cassette, dialogue, Some(message))?;
        self.keep(held);
        Ok(())
    }

    /// Answers a prompt that the host makes for itself, such as one for a title.
    fn answer_own(&mut self, message: &UserMessage) -> Result<(), ProcessEnding> {
        self.log.note(OWN_PROMPT);
        let (output, session) = (self.arguments.output, &self.host.session_id);
        let answer = answers::completion(output, session);
        let kept = self.transcript.keep_own(&answer, message, session);
        if let Err(error) = kept {
            self.log.note(&format!("the transcript can't be written: {error}"));
        }
        self.write_now(answer.as_bytes())?;
        if self.host.is_live { Ok(()) } else { Err(ProcessEnding::Code(0)) }
    }

    fn start(
        &mut self,
        cassette: Cassette,
        dialogue: Dialogue,
        message: Option<UserMessage>,
    ) -> Result<(), ProcessEnding> {
        self.cassettes += 1;
        self.host.asks = self.arguments.asks_in(dialogue.asks_person());
        // Ids that the session has seen are not used again.
        let round = self.transcript.lines_before + self.cassettes;
        let faults = self.settings.faults_of(&cassette)?;
        let (play, host) = (self.settings.play.as_deref(), &self.host);
        let running = PlayedCassette::new(cassette, dialogue, play, faults, round, host, message);
        let mut running = running?;
        if self.left_out > 0 {
            // The first line of this cassette is a message; its `initialize` is over.
            running.lockstep.fit(true, &self.host.hooks);
        }
        for hook in &self.host.hooks {
            let is_called =
                running.dialogue.lines.iter().any(
                    |line| matches!(&line.role, Role::Hook { event, .. } if *event == hook.event),
                );
            if !is_called {
                self.log.note(&format!("{} calls no hook {}", running.name(), hook.event));
            }
        }
        self.running = Some(running);
        (self.turns.1, self.piece) = (0, None);
        self.transcript.begin();
        self.clock = Instant::now();
        Ok(())
    }

    /// Prints, waits and listens until the process ends.
    fn serve(&mut self) -> Result<std::convert::Infallible, ProcessEnding> {
        loop {
            let Some(running) = &mut self.running else {
                self.idle()?;
                continue;
            };
            let next = running.lockstep.next();
            self.count_turns();
            if next != Next::Wait {
                self.wait = None;
            }
            match next {
                Next::Print(range) => self.print(range)?,
                Next::Stderr(range) => self.print_error(range),
                Next::Wait => {
                    self.flush()?;
                    let expected = self.running.as_ref().map(|running| running.lockstep.expected());
                    let expected = expected.unwrap_or_default();
                    // Waits without a limit between two turns, where a host may keep the process for hours, as in
                    // `idle`.
                    let is_between = self.running.as_ref().is_some_and(|running| {
                        running.lockstep.turns() > 0
                            && !running.lockstep.is_in_turn()
                            && running.lockstep.awaits_message()
                    });
                    self.listen(&expected, !is_between)?;
                    self.clock = Instant::now();
                }
                Next::Closed => {
                    self.flush()?;
                    self.log
                        .note("stdin is at its end where the recorded CLI waited: it ends with 0");
                    return Err(ProcessEnding::Code(0));
                }
                Next::End => self.finish()?,
            }
        }
    }

    /// Waits for a message between two cassettes.
    fn idle(&mut self) -> Result<(), ProcessEnding> {
        self.flush()?;
        if let Some((message, held)) = self.waiting.pop_front() {
            return self.begin(message, held);
        }
        if self.is_closed {
            let (exit, delay) = self.ending;
            self.pause(delay)?;
            return Err(ProcessEnding::Recorded(exit));
        }
        // Waits without a limit once the host has written, because it may keep an idle process for hours.
        self.listen("a user message", !self.was_heard)
    }

    /// Logs the turns that began since the last call.
    fn count_turns(&mut self) {
        let Some(running) = &self.running else { return };
        while self.turns.1 < running.lockstep.turns() {
            self.turns = (self.turns.0 + 1, self.turns.1 + 1);
            self.is_turn_open = true;
            let (turn, left_out) = (self.turns.0, self.left_out);
            self.log.turn(&running.name(), turn, &self.host, left_out);
        }
    }

    /// Waits until the next piece of a range is due, and prints it.
    fn print(&mut self, range: Range<usize>) -> Result<(), ProcessEnding> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let (due, end) = *self.piece.get_or_insert_with(|| {
            let (after_ms, end) = running.schedule.piece(range.start, range.end);
            (self.clock + Duration::from_millis(after_ms), end)
        });
        self.listen_until(due)?;
        self.wait_for_reader(range.start)?;
        self.flush_between(range.start)?;
        let Some(running) = &mut self.running else { return Ok(()) };
        let killed_at = running.cut_at.filter(|cut| *cut <= end);
        let end = killed_at.unwrap_or(end);
        let printed = running.print(range.start..end, &self.host);
        (self.clock, self.piece) = (due, None);
        self.count_turns();
        if printed.begins_result {
            self.keep_transcript(false);
        }
        self.write(&printed.bytes, range.start, end)?;
        if killed_at.is_some() {
            return Err(ProcessEnding::Recorded(Some(Exit::Signal(KILLED))));
        }
        for ask in printed.asks {
            self.ask(ask)?;
        }
        if printed.ends_result {
            self.end_turn();
        }
        Ok(())
    }

    /// Waits until the host has read the first half of a line, if lines come in halves and the next piece begins inside
    /// of one. On a loaded machine both halves would else lie in the pipe before the host's first read.
    fn wait_for_reader(&mut self, offset: usize) -> Result<(), ProcessEnding> {
        let is_inside = self.running.as_ref().is_some_and(|running| {
            let before = offset.checked_sub(1).and_then(|at| running.cassette.stdout.get(at));
            running.schedule.in_halves && before.is_some_and(|byte| *byte != b'\n')
        });
        while is_inside && !self.halves_wait.is_zero() && has_unread() {
            let begun = Instant::now();
            self.listen_until(begun + HALVES_LOOK)?;
            self.halves_wait = self.halves_wait.saturating_sub(begun.elapsed());
        }
        Ok(())
    }

    /// Puts a question to the tool of `--permission-prompt-tool`.
    fn ask(&mut self, ask: Ask) -> Result<(), ProcessEnding> {
        let Asks::Tool { server, tool } = &self.arguments.asks else { return Ok(()) };
        let about = Value::from(ask.question.tool_name.as_str());
        self.log.note(&format!("asks mcp__{server}__{tool} about {about}"));
        let asked = match self.permission_tool.take() {
            Some(asked) => asked,
            None => {
                let configs: Vec<String> =
                    self.arguments.values("--mcp-config").map(str::to_owned).collect();
                let answered = self.queue.answers(&self.kept);
                let started = PermissionTool::start(&configs, server, tool, answered);
                started.map_err(|why| ProcessEnding::Refused(USAGE, why))?
            }
        };
        asked.ask(ask);
        self.permission_tool = Some(asked);
        Ok(())
    }

    fn end_turn(&mut self) {
        if let (true, Some(running)) = (self.is_turn_open, &self.running) {
            self.is_turn_open = false;
            self.log.turn_end(&running.name(), self.turns.0);
        }
    }

    /// Writes bytes to stdout, unless it is a one-shot run whose format is not `stream-json`: that prints its answer at
    /// the end.
    fn write(&mut self, bytes: &[u8], offset: usize, to: usize) -> Result<(), ProcessEnding> {
        if self.arguments.output != OutputFormat::StreamJson && !self.host.is_live {
            return Ok(());
        }
        let (end, printed) = self.other_end;
        let cut = end.cut(printed, bytes);
        let bytes = &bytes[..cut.unwrap_or(bytes.len())];
        // A line that is left out for this host is logged as printed too.
        if !bytes.is_empty() {
            self.write_now(bytes)?;
        }
        self.log.print(bytes.len(), self.left_out + offset as u64, self.left_out + to as u64);
        self.other_end.1 += bytes.len();
        match cut {
            Some(_) => Err(ProcessEnding::Recorded(Some(end.early()))),
            None => Ok(()),
        }
    }

    fn write_now(&mut self, bytes: &[u8]) -> Result<(), ProcessEnding> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| {
            self.log.note(&format!("stdout: {error}"));
            ProcessEnding::Code(1)
        })
    }

    /// Writes the lines that are not in the recording.
    fn flush(&mut self) -> Result<(), ProcessEnding> {
        let replies = std::mem::take(&mut self.replies);
        self.replies_held = Held::of(&self.kept);
        match replies.is_empty() {
            true => Ok(()),
            false => self.write_now(&replies),
        }
    }

    /// Writes the lines that are not in the recording, unless a recorded line is half printed.
    fn flush_between(&mut self, offset: usize) -> Result<(), ProcessEnding> {
        let is_between = self.running.as_ref().is_none_or(|running| {
            offset == 0 || running.cassette.stdout.get(offset - 1) == Some(&b'\n')
        });
        if is_between { self.flush() } else { Ok(()) }
    }

    fn print_error(&mut self, range: Range<usize>) {
        let Some(running) = &mut self.running else { return };
        let stderr = running.cassette.stderr.get(range).unwrap_or_default();
        let text = running.ids.bind_text(stderr);
        running.lockstep.told();
        // A host that closed stderr does not get the text.
        let _ = io::stderr().write_all(&text);
    }

    /// Ends the cassette, and the process if the CLI ended there.
    fn finish(&mut self) -> Result<(), ProcessEnding> {
        self.keep_transcript(true);
        self.end_turn();
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let exit = running.cassette.manifest.exit;
        let delay = running.schedule.rest_ms() + running.schedule.exit_ms;
        let has_died = running.dialogue.results() == 0;
        if self.host.is_live && !running.dialogue.ends_itself && !has_died {
            let quiet = if running.dialogue.is_live { QUIET_MS } else { 0 };
            self.ending = (exit, delay.saturating_sub(quiet));
            return Ok(());
        }
        self.flush()?;
        if !self.host.is_live && self.arguments.output != OutputFormat::StreamJson {
            self.write_now(&answers::one_shot(&running, self.arguments.output))?;
        }
        let stay_ms = if has_died || self.host.is_live { 0 } else { self.other_end.0.stay_ms };
        self.pause(delay + stay_ms)?;
        Err(ProcessEnding::Recorded(exit))
    }

    /// Appends the lines of the turn to the session's transcript.
    fn keep_transcript(&mut self, is_end: bool) {
        let Some(running) = &self.running else { return };
        if let Err(error) = self.transcript.keep(running, &self.host.session_id, is_end) {
            self.log.note(&format!("the transcript can't be written: {error}"));
        }
    }
}

/// The most copies of a line that exist at a time: the line, its texts, the parsed act, and the turn that it begins.
const LINE_COPIES: usize = 6;

impl Player<'_> {
    /// Starts to read stdin.
    pub(super) fn read_stdin(&self) -> Result<(), ProcessEnding> {
        let started = self.queue.read_stdin(self.settings.max_line, &self.kept);
        started.map_err(|error| ProcessEnding::Refused(WRONG_LINE, error.to_string()))
    }

    /// Returns the prompt of a one-shot run, from the arguments or from stdin.
    pub(super) fn prompt(&mut self) -> Result<String, ProcessEnding> {
        if let Some(prompt) = self.arguments.prompt.as_ref().filter(|prompt| !prompt.is_empty()) {
            return Ok(prompt.clone());
        }
        self.read_stdin()?;
        let (mut prompt, mut lines) = (Vec::new(), Vec::new());
        let until = Instant::now() + self.settings.wait;
        self.log.wait("the prompt on stdin");
        loop {
            match self.queue.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(ProcessEvent::Line(line, mut held)) => {
                    self.log.stdin(&line);
                    let copied = held.try_keep(LINE_COPIES * line.len());
                    copied.map_err(|full| ProcessEnding::Refused(WRONG_LINE, too_much(full)))?;
                    prompt.extend_from_slice(&line);
                    lines.push(held);
                }
                Ok(ProcessEvent::TooMuch(what) | ProcessEvent::NoAnswer(what)) => {
                    return Err(ProcessEnding::Refused(WRONG_LINE, what));
                }
                Ok(ProcessEvent::Close) => break,
                Ok(ProcessEvent::Signal(signal)) => return Err(self.signalled(signal)),
                Err(_) => {
                    let seconds = self.settings.wait.as_secs_f64();
                    let what =
                        format!("expected the prompt on stdin, got no end of it in {seconds} s");
                    return Err(ProcessEnding::Refused(WRONG_LINE, what));
                }
            }
        }
        let prompt = String::from_utf8_lossy(&prompt).trim().to_owned();
        if prompt.is_empty() {
            Refusal::of(NO_INPUT).report(self.log);
            return Err(ProcessEnding::Code(i32::from(REFUSED)));
        }
        Ok(prompt)
    }

    /// Waits for one event and handles it; an error if it is limited and the host takes too long.
    fn listen(&mut self, expected: &str, is_limited: bool) -> Result<(), ProcessEnding> {
        let is_new = self
            .wait
            .as_ref()
            .is_none_or(|(before, until)| before != expected || until.is_some() != is_limited);
        if is_new {
            self.log.wait(expected);
            let until = is_limited.then(|| Instant::now() + self.settings.wait);
            self.wait = Some((expected.to_owned(), until));
        }
        let until = self.wait.as_ref().and_then(|(_, until)| *until);
        let event = match until {
            None => self.queue.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => {
                self.queue.events.recv_timeout(until.saturating_duration_since(Instant::now()))
            }
        };
        match event {
            Ok(event) => self.take(event),
            Err(_) => {
                let seconds = self.settings.wait.as_secs_f64();
                let [before, behind] = WAITED_IN_VAIN;
                let what = format!("{before}{expected}{behind}{seconds} s");
                Err(ProcessEnding::Refused(WRONG_LINE, what))
            }
        }
    }

    /// Handles the events until `due`.
    fn listen_until(&mut self, due: Instant) -> Result<(), ProcessEnding> {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            match self.queue.events.recv_timeout(left) {
                Ok(event) => self.take(event)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                // Can't happen: the queue keeps a sender itself.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn pause(&mut self, ms: u64) -> Result<(), ProcessEnding> {
        self.listen_until(Instant::now() + Duration::from_millis(ms))
    }

    fn signalled(&mut self, signal: Signal) -> ProcessEnding {
        self.log.signal(signal.as_str());
        ProcessEnding::Code(exit_code(signal))
    }

    fn take(&mut self, event: ProcessEvent) -> Result<(), ProcessEnding> {
        match event {
            ProcessEvent::Line(line, mut held) => {
                self.was_heard = true;
                self.log.stdin(&line);
                let parsed = held.try_keep(LINE_COPIES * parsed_bytes(&line));
                parsed.map_err(|full| ProcessEnding::Refused(WRONG_LINE, too_much(full)))?;
                let act = HostAct::read(&line);
                self.hear(act, held)
            }
            ProcessEvent::TooMuch(what) | ProcessEvent::NoAnswer(what) => {
                Err(ProcessEnding::Refused(WRONG_LINE, what))
            }
            ProcessEvent::Close => {
                self.log.stdin_closed();
                self.is_closed = true;
                if let Some(running) = &mut self.running {
                    running.lockstep.close();
                }
                Ok(())
            }
            ProcessEvent::Signal(signal) => {
                let heeds =
                    self.running.as_ref().is_some_and(|running| running.dialogue.heeds_interrupt);
                if signal == Signal::SIGINT && heeds {
                    self.log.signal(signal.as_str());
                    self.log.note("the cassette has what the CLI printed after an interrupt");
                    return Ok(());
                }
                Err(self.signalled(signal))
            }
        }
    }

    /// Hands a line of the host to the cassette; `held` is its part of the account.
    pub(super) fn hear(&mut self, act: HostAct, held: Held) -> Result<(), ProcessEnding> {
        if let HostAct::Message(message) = &act
            && self.leaves_cassette(message)
        {
            self.waiting.push_back((message.clone(), held));
            return Ok(());
        }
        let heard = match &mut self.running {
            Some(running) => running.hear(act.clone()),
            None => match &act {
                HostAct::Message(_) | HostAct::Request(_) => LineFit::Unrecorded,
                HostAct::Unusable => LineFit::Wrong(
                    "expected a user message, got a line that is not JSON".to_owned(),
                ),
                _ => LineFit::Ignored(
                    "the CLI ignores the line, because it works on no message".to_owned(),
                ),
            },
        };
        if let HostAct::Request(request) = &act
            && let RequestKind::Initialize(hooks) = &request.kind
        {
            self.host.is_initialized = true;
            self.host.hooks.clone_from(hooks);
            if let Some(running) = &mut self.running {
                running.lockstep.fit(true, &self.host.hooks);
            }
        }
        match (heard, act) {
            // A line that was waited for starts the next wait; one that the CLI ignores does not extend the time.
            (LineFit::Taken(_), _) => {
                self.wait = None;
                self.keep(held);
            }
            (LineFit::Unrecorded, HostAct::Message(message)) => {
                self.waiting.push_back((message, held));
            }
            (LineFit::Unrecorded, HostAct::Request(request)) => {
                self.log.note(&format!("the request `{}` gets a plain success", request.subtype()));
                let line = answers::plain_success(&request, self.settings);
                let kept = self.replies_held.try_keep(line.len());
                kept.map_err(|full| ProcessEnding::Refused(WRONG_LINE, too_much(full)))?;
                self.replies.extend_from_slice(line.as_bytes());
            }
            (LineFit::Unrecorded, _) => {}
            (LineFit::Ignored(what), _) => self.log.note(&what),
            (LineFit::Wrong(sentence), _) => {
                return Err(ProcessEnding::Refused(WRONG_LINE, sentence));
            }
        }
        Ok(())
    }

    /// Keeps a line's part of the account until the end of the cassette.
    pub(super) fn keep(&mut self, held: Held) {
        if let Some(running) = &mut self.running {
            running.held.push(held);
        }
    }

    /// Returns whether a message asks for another cassette than the present one. Between two turns, the present one
    /// ends at once.
    fn leaves_cassette(&mut self, message: &UserMessage) -> bool {
        let Some(running) = &self.running else { return false };
        let is_named = self.settings.cassette.is_some() || self.settings.queue.is_some();
        let other = choose::marker(&message.text())
            .is_some_and(|marker| !choose::names(marker, &running.cassette));
        if is_named || !other {
            return false;
        }
        if !running.lockstep.is_in_turn() && running.lockstep.awaits_message() {
            self.log
                .note(&format!("{} ends early, because a message names another", running.name()));
            self.running = None;
        }
        true
    }
}

/// Returns whether the host has not read all of stdout yet. Only a pipe says so to its writer; anything else, such as the
/// socket of Node, counts as read.
fn has_unread() -> bool {
    rustix::io::ioctl_fionread(io::stdout()).is_ok_and(|unread| unread > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::options::CliOptions;
    use super::*;

    const SESSION: &str = "6f2c1c9e-0a51-4b39-9d3c-000000000001";

    /// Returns the ids of the records and messages that a process prints of a recording, and keeps its transcript in `config`.
    fn ids(config: &Path) -> BTreeSet<String> {
        let variable = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| config.into());
        let settings = Settings::read(&variable);
        let args = ["-p", "Go on.", "--resume", SESSION].map(str::to_owned);
        let arguments = Arguments::parse(&args, &CliOptions::of(None), false);
        let mut log = Log::open(None);
        let mut player = Player::new(&settings, &arguments, &mut log);
        let recorded = "../../cassettes/three-tools/2.1.329";
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join(recorded);
        let cassette = Cassette::load(&recorded).unwrap();
        let dialogue = Dialogue::cut(&cassette);
        player.start(cassette, dialogue, None).unwrap();
        let running = player.running.as_ref().unwrap();
        player.transcript.keep(running, SESSION, true).unwrap();
        let printed = running.ids.bind_text(&running.cassette.stdout);
        let records = printed.split(|byte| *byte == b'\n');
        let records = records.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let ids = |record: Value| [&record["uuid"], &record["message"]["id"]].map(Value::to_string);
        let ids = records.flat_map(ids).filter(|id| id != "null");
        ids.collect()
    }

    #[test]
    fn a_resumed_session_has_no_id_twice() {
        let config = tempfile::tempdir().unwrap();
        let [first, second, third] = [(); 3].map(|()| ids(config.path()));
        assert!(first.len() > 9, "{first:?}");
        for (a, b) in [(&first, &second), (&first, &third), (&second, &third)] {
            assert_eq!((a.len(), a.intersection(b).next()), (b.len(), None));
        }
    }
}
