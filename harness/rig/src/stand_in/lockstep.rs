//! The state machine of a cassette that is played to a live host. It decides which bytes may be printed now, and
//! whether a line of the host is one that the recorded CLI got. It does no IO and reads no clock.

use std::ops::Range;
use std::rc::Rc;

use clitape_judge::observation::INTERRUPT;
use clitape_recording::wire::{
    AnswerDecision, ControlRequest, ControlResponse, RegisteredHook, RequestKind,
};

use super::dialogue::{CliQuestion, Dialogue, ExpectedKind, HostAct, Role, Step};

/// The next action of the CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Print these bytes of stdout.
    Print(Range<usize>),
    /// Print these bytes of stderr.
    Stderr(Range<usize>),
    /// Wait for a line of the host.
    Wait,
    /// End, because stdin ended where the CLI waits for a line.
    Closed,
    /// End, because everything is printed.
    End,
}

/// The place of a live host's line in the cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineFit {
    /// The CLI waits for it now or later; with its index in [`Dialogue::awaits`].
    Taken(usize),
    /// The cassette does not have it, but the CLI accepts it at any time.
    Unrecorded,
    /// The CLI ignores it, for this reason.
    Ignored(String),
    /// The recorded CLI did not get it; with a sentence for the host.
    Wrong(String),
}

/// The state of a cassette that is being played.
#[derive(Debug)]
pub(super) struct Lockstep {
    dialogue: Rc<Dialogue>,
    /// The number of steps that are over.
    step: usize,
    /// The bytes of stdout that are printed.
    printed: usize,
    /// The lines of the live host, by index in [`Dialogue::awaits`].
    heard: Vec<Option<HostAct>>,
    /// True, by the same index, for a line that this host does not write.
    skipped: Vec<bool>,
    is_closed: bool,
    /// True if a tool is asked for permissions: then the end of stdin does not end a question.
    asks_elsewhere: bool,
    /// True while the CLI works on a message.
    is_in_turn: bool,
    /// The number of turns that began.
    turns: u64,
    /// The index of the last message that the CLI has read.
    message: Option<usize>,
}

impl Lockstep {
    pub(super) fn new(dialogue: Rc<Dialogue>) -> Self {
        let count = dialogue.awaits.len();
        let mut lockstep = Self {
            dialogue,
            step: 0,
            printed: 0,
            heard: vec![None; count],
            skipped: vec![false; count],
            is_closed: false,
            asks_elsewhere: false,
            is_in_turn: false,
            turns: 0,
            message: None,
        };
        // A one-shot run begins with its prompt.
        if !lockstep.dialogue.is_live {
            lockstep.begin_turn();
        }
        lockstep
    }

    /// Skips the lines that this host does not write: an `initialize` if `is_initialized`, and answers to hooks that it
    /// did not register.
    pub(super) fn fit(&mut self, is_initialized: bool, hooks: &[RegisteredHook]) {
        for (expected, skipped) in self.dialogue.awaits.iter().zip(&mut self.skipped) {
            *skipped |= match &expected.kind {
                ExpectedKind::Initialize { .. } => is_initialized,
                ExpectedKind::HookAnswer { event, tool, .. } => {
                    !hooks.iter().any(|hook| hook.is_for(event, tool.as_deref()))
                }
                _ => false,
            };
        }
    }

    /// Makes the end of stdin keep permission questions open, because a tool answers them in place of the host.
    pub(super) fn ask_elsewhere(&mut self) {
        self.asks_elsewhere = true;
    }

    /// Skips the answers to permission questions, for a host that is not asked for permissions.
    pub(super) fn ask_nobody(&mut self) {
        let dialogue = Rc::clone(&self.dialogue);
        let is_asked = dialogue.lines.iter().any(
            |line| matches!(&line.role, Role::Question(question) if !question.asks_permission),
        );
        for (expected, skipped) in dialogue.awaits.iter().zip(&mut self.skipped) {
            *skipped |= match &expected.kind {
                ExpectedKind::Answer { question, .. } => question.asks_permission,
                // The end of stdin belonged to a question without an answer.
                ExpectedKind::Close => !is_asked,
                _ => false,
            };
        }
    }

    /// Advances past the finished steps and returns the next action.
    pub(super) fn next(&mut self) -> Next {
        let dialogue = Rc::clone(&self.dialogue);
        while let Some(step) = dialogue.steps.get(self.step) {
            match step {
                Step::Print(range) if self.printed < range.end => {
                    return Next::Print(self.printed.max(range.start)..range.end);
                }
                Step::Print(_) => {}
                Step::Stderr(range) => return Next::Stderr(range.clone()),
                Step::Await(index) => {
                    let kind = &dialogue.awaits[*index].kind;
                    let is_close = *kind == ExpectedKind::Close;
                    let is_there = self.heard[*index].is_some() || is_close && self.is_closed;
                    if !self.skipped[*index] && !is_there {
                        let is_elsewhere = self.asks_elsewhere
                            && matches!(kind, ExpectedKind::Answer { question, .. } if question.asks_permission);
                        let is_over = self.is_closed && !is_elsewhere;
                        return if is_over { Next::Closed } else { Next::Wait };
                    }
                    if matches!(kind, ExpectedKind::Message { .. }) {
                        self.message = Some(*index);
                        self.begin_turn();
                    }
                }
            }
            self.step += 1;
        }
        Next::End
    }

    /// Records that stdout is printed up to this byte.
    pub(super) fn printed(&mut self, to: usize) {
        let dialogue = Rc::clone(&self.dialogue);
        for line in &dialogue.lines {
            if self.printed < line.range.end && line.range.end <= to {
                match line.role {
                    Role::Result => self.is_in_turn = false,
                    Role::Init => self.begin_turn(),
                    _ => {}
                }
            }
        }
        self.printed = to;
    }

    fn begin_turn(&mut self) {
        self.turns += u64::from(!self.is_in_turn);
        self.is_in_turn = true;
    }

    /// Returns the number of turns that began.
    pub(super) fn turns(&self) -> u64 {
        self.turns
    }

    /// Returns the index of the last message that the CLI has read.
    pub(super) fn message(&self) -> Option<usize> {
        self.message
    }

    /// Records that the stderr of the present step is printed.
    pub(super) fn told(&mut self) {
        self.step += 1;
    }

    /// Records that stdin has ended.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns whether the CLI works on a message, so that a further one waits.
    pub(super) fn is_in_turn(&self) -> bool {
        self.is_in_turn
    }

    /// Returns whether the next line for which the CLI waits is a message.
    pub(super) fn awaits_message(&self) -> bool {
        self.due().is_some_and(|index| {
            matches!(self.dialogue.awaits[index].kind, ExpectedKind::Message { .. })
        })
    }

    /// Returns a description of the line for which the CLI waits, now or next.
    pub(super) fn expected(&self) -> String {
        match self.due() {
            Some(index) => self.dialogue.awaits[index].kind.words(),
            None => "nothing more".to_owned(),
        }
    }

    /// Returns the live host's line for this index of [`Dialogue::awaits`].
    pub(super) fn heard(&self, index: usize) -> Option<&HostAct> {
        self.heard.get(index)?.as_ref()
    }

    /// Returns the index of the next line that is still to come.
    fn due(&self) -> Option<usize> {
        self.dialogue.steps[self.step..].iter().find_map(|step| match step {
            Step::Await(index) if self.is_open(*index) => Some(*index),
            _ => None,
        })
    }

    fn is_open(&self, index: usize) -> bool {
        self.heard[index].is_none() && !self.skipped[index]
    }

    /// Returns the index of the first line still to come whose kind matches.
    fn find(&self, is_it: impl Fn(&ExpectedKind) -> bool) -> Option<usize> {
        let steps = self.dialogue.steps[self.step..].iter();
        let mut indexes = steps.filter_map(|step| match step {
            Step::Await(index) => Some(*index),
            _ => None,
        });
        indexes.find(|&index| self.is_open(index) && is_it(&self.dialogue.awaits[index].kind))
    }

    /// Matches a line of the host with the cassette, and records it if it fits.
    pub(super) fn hear(&mut self, act: &HostAct) -> LineFit {
        if self.dialogue.is_deaf {
            return LineFit::Ignored("the CLI ended before it read a line".to_owned());
        }
        let found = match act {
            HostAct::Message(_) => self.hear_message(),
            HostAct::Answer { answer, .. } => self.hear_answer(answer),
            HostAct::Request(request) => self.hear_request(request),
            HostAct::Unusable => match self.find(|kind| *kind == ExpectedKind::Unusable) {
                Some(index) => Ok(index),
                None => Err(self.wrong("a line that is not JSON")),
            },
            HostAct::Other(kind) => {
                Err(LineFit::Ignored(format!("the CLI ignores a line of type `{kind}`")))
            }
            HostAct::Blank => Err(LineFit::Ignored("the CLI ignores a blank line".to_owned())),
        };
        match found {
            Ok(index) => {
                self.heard[index] = Some(act.clone());
                LineFit::Taken(index)
            }
            Err(heard) => heard,
        }
    }

    fn wrong(&self, got: &str) -> LineFit {
        LineFit::Wrong(format!("expected {}, got {got}", self.expected()))
    }

    fn hear_message(&mut self) -> Result<usize, LineFit> {
        let blocked = match self.dialogue.steps.get(self.step) {
            Some(Step::Await(index)) if self.is_open(*index) => Some(*index),
            _ => None,
        };
        if let Some(index) = blocked
            && matches!(self.dialogue.awaits[index].kind, ExpectedKind::Initialize { .. })
        {
            // This host sends no `initialize`, and so registers no hooks.
            self.skipped[index] = true;
            self.fit(true, &[]);
        }
        let message = self.find(|kind| matches!(kind, ExpectedKind::Message { .. }));
        let is_due = |index: usize| self.dialogue.awaits[index].opens <= self.printed;
        let is_blocked = self.is_asking()
            || blocked.is_some_and(|index| self.is_open(index) && Some(index) != message);
        match message {
            Some(index) if is_due(index) || !is_blocked => Ok(index),
            _ if is_blocked => Err(self.wrong("a user message")),
            _ => Err(LineFit::Unrecorded),
        }
    }

    /// Returns whether a question of the CLI is printed and not answered yet.
    fn is_asking(&self) -> bool {
        let open = self.find(|kind| matches!(kind, ExpectedKind::Answer { .. }));
        open.is_some_and(|index| self.dialogue.awaits[index].opens <= self.printed)
    }

    fn hear_answer(&self, answer: &ControlResponse) -> Result<usize, LineFit> {
        let id = &answer.request_id;
        let found = self.find(|kind| match kind {
            ExpectedKind::Answer { question, .. } => question.request_id == *id,
            ExpectedKind::HookAnswer { request_id, .. } => request_id == id,
            _ => false,
        });
        let asked = self.dialogue.lines.iter().take_while(|line| line.range.end <= self.printed);
        let asked = asked.filter_map(|line| match &line.role {
            Role::Question(question) if question.request_id == *id => Some(question.words()),
            Role::Hook { request_id, event, .. } if request_id == id => {
                Some(format!("the hook {event}"))
            }
            _ => None,
        });
        let Some(about) = asked.last() else {
            return Err(self.wrong(&format!("an answer to `{id}`, which the CLI has not asked")));
        };
        let Some(index) = found else {
            return match self.is_over(id) {
                true => Err(LineFit::Ignored(format!(
                    "the CLI ignores an answer to {about}, which is over"
                ))),
                false => Err(self.wrong(&format!("the answer to {about}"))),
            };
        };
        let (recorded, is_hook) = match &self.dialogue.awaits[index].kind {
            ExpectedKind::HookAnswer { decision, .. } => (*decision, true),
            ExpectedKind::Answer { decision, .. } => (*decision, false),
            _ => (AnswerDecision::Neutral, true),
        };
        let own = answer.decision();
        let is_denial = |decision| decision == AnswerDecision::Deny;
        let is_same = match is_hook {
            true => is_denial(recorded) == is_denial(own),
            false => recorded == own,
        };
        if is_same {
            return Ok(index);
        }
        let expected = self.dialogue.awaits[index].kind.words();
        Err(LineFit::Wrong(format!("expected `{recorded}` as {expected}, got `{own}`")))
    }

    /// Returns whether a message came whose turn begins next.
    fn is_message_due(&self) -> bool {
        self.dialogue.steps[self.step..].iter().any(|step| match step {
            Step::Await(index) => {
                let is_message =
                    matches!(self.dialogue.awaits[*index].kind, ExpectedKind::Message { .. });
                is_message && self.heard[*index].is_some()
            }
            _ => false,
        })
    }

    /// Returns whether a request of the CLI was answered or taken back.
    fn is_over(&self, id: &str) -> bool {
        let is_answered = self.dialogue.awaits.iter().zip(&self.heard).any(|(expected, heard)| {
            let own = match &expected.kind {
                ExpectedKind::Answer { question: CliQuestion { request_id, .. }, .. }
                | ExpectedKind::HookAnswer { request_id, .. } => request_id,
                _ => return false,
            };
            own == id && heard.is_some()
        });
        let printed = self.dialogue.lines.iter().take_while(|line| line.range.end <= self.printed);
        let mut printed = printed;
        is_answered
            || printed
                .any(|line| matches!(&line.role, Role::Cancel { request_id } if request_id == id))
    }

    fn hear_request(&self, request: &ControlRequest) -> Result<usize, LineFit> {
        let subtype = request.subtype();
        let is_interrupt = request.kind == RequestKind::Interrupt;
        let found = self.find(|kind| match kind {
            ExpectedKind::Initialize { .. } => matches!(request.kind, RequestKind::Initialize(_)),
            ExpectedKind::Request { subtype: recorded, .. } => recorded == subtype,
            _ => false,
        });
        match found {
            // The recorded request comes only after the answer to the open question, so this one replaces that answer.
            Some(index) if self.is_asking() && self.dialogue.awaits[index].opens > self.printed => {
                Err(self.wrong(&ExpectedKind::words(&self.dialogue.awaits[index].kind)))
            }
            Some(index) if !is_interrupt || self.is_in_turn || self.is_message_due() => Ok(index),
            _ if is_interrupt && self.is_in_turn => Err(self.wrong(INTERRUPT)),
            _ => Err(LineFit::Unrecorded),
        }
    }
}

#[cfg(test)]
mod tests;
