//! The listening side of the player: it waits for lines of the host, signals and the end of stdin, and hands the lines
//! to the cassette.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use clitape_recording::wire::{RequestKind, UserMessage};
use nix::sys::signal::Signal;

use super::choose;
use super::ending::ProcessEnding;
use super::error::WRONG_LINE;
use super::host_line::HostAct;
use super::lockstep::LineFit;
use super::pipes::{ProcessEvent, exit_code, too_much};
use super::play::Player;
use super::refusal::{NO_INPUT, REFUSED, Refusal};
use super::replies;
use crate::kept::{Held, parsed_bytes};

/// The most copies of a line that exist at a time: the line, its texts, the parsed act, and the turn that it begins.
const COPIES: usize = 6;

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
                    let copied = held.try_keep(COPIES * line.len());
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
    pub(super) fn listen(&mut self, expected: &str, is_limited: bool) -> Result<(), ProcessEnding> {
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
                let what = format!("expected {expected}, got no line in {seconds} s");
                Err(ProcessEnding::Refused(WRONG_LINE, what))
            }
        }
    }

    /// Handles the events until `due`.
    pub(super) fn listen_until(&mut self, due: Instant) -> Result<(), ProcessEnding> {
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

    pub(super) fn pause(&mut self, ms: u64) -> Result<(), ProcessEnding> {
        self.listen_until(Instant::now() + Duration::from_millis(ms))
    }

    pub(super) fn signalled(&mut self, signal: Signal) -> ProcessEnding {
        self.log.signal(signal.as_str());
        ProcessEnding::Code(exit_code(signal))
    }

    pub(super) fn take(&mut self, event: ProcessEvent) -> Result<(), ProcessEnding> {
        match event {
            ProcessEvent::Line(line, mut held) => {
                self.was_heard = true;
                self.log.stdin(&line);
                let parsed = held.try_keep(COPIES * parsed_bytes(&line));
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
                let line = replies::plain_success(&request, self.settings);
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
    pub(super) fn leaves_cassette(&mut self, message: &UserMessage) -> bool {
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
