//! A whole process of the agent: a run for each of its turns, one after another.
//!
//! A turn has its own bus and its own channels, so that it stays apart from the next one
//! ([Q7](crate::rules::Q7)). A run ends with the `Outcome` of its turn. Its channels may still be
//! delivering then, and the next run begins all the same: its bus has every event at once, and its
//! channels wait until those before have delivered the final message ([Q8](crate::rules::Q8)).

use std::collections::VecDeque;
use std::fmt;

use clitape_stream::{Event, Outcome, RunStatus};
use tokio::task::JoinError;
use tokio::time::sleep_until;

use crate::bridge::{Delivered, Task};
use crate::bus::Bus;
use crate::channel::{Channel, ChannelReport, Delivery};
use crate::ending::FinalMessage;
use crate::notice::Notice;
use crate::question::answer::Overdue;
use crate::question::{Answer, AnswerError, Closing, HostLine, OpenQuestions};
use crate::run::{Run, RunReport, RunSettings};
use crate::sanitise::Masked;

/// The bus and the channels for the run of a turn.
pub struct Turn {
    /// Its bus.
    pub bus: Bus,
    /// Its channels.
    pub channels: Vec<Box<dyn Channel>>,
    /// Called once, when every channel has delivered and the bus has published the end.
    pub delivered: OnDelivered,
}

/// Takes the report of a run that is over.
pub type OnDelivered = Box<dyn FnOnce(&RunReport) + Send>;

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bus, channels, delivered: _ } = self;
        let channels = channels.len();
        f.debug_struct("Turn")
            .field("bus", bus)
            .field("channels", &channels)
            .finish_non_exhaustive()
    }
}

/// Makes the bus and the channels for the run of a turn; turns count from 1.
type OpenTurn = Box<dyn FnMut(u64) -> Turn + Send>;

/// The turns of one process. Dropping it stops whatever is still to be delivered.
pub struct Conversation {
    settings: RunSettings,
    open: OpenTurn,
    /// The run at work; `None` between two turns.
    current: Option<Current>,
    /// True if the run at work has had an event of the main thread.
    is_answering: bool,
    /// The questions that wait for an answer.
    questions: OpenQuestions,
    /// Runs that were started.
    runs: u64,
    /// The runs that have ended, in order; they may still be delivering.
    ended: VecDeque<Task<RunReport>>,
    /// The delivery of the last of them.
    delivered: Option<Delivered>,
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("settings", &self.settings)
            .field("current", &self.current.as_ref().map(|current| &current.run))
            .field("questions", &self.questions)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}

/// The action of a host that has waited too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// A question has waited for [`QuestionTimes::deny`](crate::question::QuestionTimes::deny):
    /// write this line, which denies it, to the CLI's stdin.
    Denied(HostLine),
    /// The agent has been silent for too long: stop it.
    Stalled,
}

/// A run at work, and who takes its report.
struct Current {
    run: Run,
    delivered: OnDelivered,
}

/// The place to which an event belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventPlace {
    /// To the turn that is under way, or to one that it begins: the message of a person.
    Message,
    /// To the main thread of a turn.
    MainThread,
    /// To a turn that may be over, but it is not part of an answer: a subagent that runs on in the
    /// background, the API that is asked again.
    Beside,
    /// To the process: between two turns it begins none.
    Process,
}

impl EventPlace {
    fn of(event: &Event<'_>) -> Self {
        match event {
            Event::HostMessage { kind, .. } if kind == "user" => Self::Message,
            Event::Text { parent, .. }
            | Event::Thinking { parent, .. }
            | Event::Retract { parent, .. }
            | Event::ToolInput { parent, .. }
            | Event::ToolStart { parent, .. }
            | Event::ToolResult { parent, .. }
            | Event::Question { parent, .. } => match parent {
                None => Self::MainThread,
                Some(_) => Self::Beside,
            },
            Event::Usage { .. } | Event::Heard { .. } | Event::Outcome(_) => Self::MainThread,
            Event::Notice { kind, subtype, detail } => {
                // A person who waits reads of it, so that it is part of a turn.
                let line = Notice::new(kind, subtype.as_deref(), detail).line();
                if line.is_some() { Self::Beside } else { Self::Process }
            }
            _ => Self::Process,
        }
    }
}

impl Conversation {
    /// Starts the run of the first turn. `open` makes what each turn is bridged to, by the number of
    /// its run, from 1.
    ///
    /// Works on the current tokio runtime, within which it must be called, as must its methods.
    pub fn new(settings: RunSettings, open: impl FnMut(u64) -> Turn + Send + 'static) -> Self {
        let mut conversation = Self {
            questions: OpenQuestions::new(settings.question),
            settings,
            open: Box::new(open),
            current: None,
            is_answering: true,
            runs: 0,
            ended: VecDeque::new(),
            delivered: None,
        };
        conversation.run(true);
        conversation
    }

    /// Takes the parser's next event. A message of the host or the first event of a turn starts its
    /// run, and the `Outcome` ends it; an event between two turns that belongs to none is passed over.
    pub fn on_event(&mut self, event: &Event<'_>) {
        let place = EventPlace::of(event);
        self.questions.on_event(event);
        if self.current.is_none() && place == EventPlace::Process {
            return;
        }
        let run = self.run(place == EventPlace::Message);
        run.on_event(event);
        self.is_answering |= matches!(place, EventPlace::Message | EventPlace::MainThread);
        if let Event::Outcome(outcome) = event
            && let Some(mut current) = self.current.take_if(|current| current.run.has_outcome())
        {
            // A process that was cut off can't be answered any more.
            let is_over = outcome.status == RunStatus::Incomplete;
            let moved = if is_over { Vec::new() } else { current.run.move_on() };
            self.end(current, FinalMessage::of);
            for question in moved {
                self.run(false).ask_again(question);
            }
        }
    }

    /// The questions that wait for an answer.
    pub fn questions(&self) -> &OpenQuestions {
        &self.questions
    }

    /// Answers the question `id` in the name of `by`: the line for the CLI's stdin. Every channel
    /// learns of it at once ([Q4](crate::rules::Q4)).
    ///
    /// # Errors
    ///
    /// [`AnswerError`] when the question has an answer, is closed or was never asked, or when the answer
    /// does not fit it.
    pub fn answer(
        &mut self,
        id: &str,
        answer: &Answer,
        by: Option<&str>,
    ) -> Result<HostLine, AnswerError> {
        let (line, closing) = self.questions.take(id, answer)?;
        if let Some(Current { run, .. }) = &mut self.current {
            run.close_question(id, closing, by);
        }
        Ok(line)
    }

    /// Settles when the host has waited too long for a person, with the line that denies the question, or for
    /// the agent ([`stalled`](Self::stalled)). Before it denies a question it reminds the person of it once
    /// ([Q5](crate::rules::Q5)).
    ///
    /// Await it beside the read: no question expires without that. It may be dropped before it
    /// settles and awaited again.
    pub async fn waited(&mut self) -> Waited {
        loop {
            let due = self.questions.next_due();
            let due = async move {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = due => {}
                () = self.stalled() => return Waited::Stalled,
            }
            match self.questions.overdue() {
                Some(Overdue::Remind(id)) => {
                    let times = self.questions.times();
                    if let Some(Current { run, .. }) = &mut self.current {
                        run.remind(&id, times.deny.saturating_sub(times.remind));
                    }
                }
                Some(Overdue::Deny(id)) => {
                    let Some(line) = self.questions.expire(&id) else { continue };
                    if let Some(Current { run, .. }) = &mut self.current {
                        run.close_question(&id, Closing::Expired, None);
                    }
                    return Waited::Denied(line);
                }
                None => {}
            }
        }
    }

    /// The agent printed something; see [`Run::on_bytes`].
    pub fn on_bytes(&mut self) {
        if let Some(current) = &mut self.current {
            current.run.on_bytes();
        }
    }

    /// Settles when the agent has been silent for too long while a turn was under way; see
    /// [`Run::stalled`]. Between two turns an agent may be silent for ever.
    pub async fn stalled(&mut self) {
        match &mut self.current {
            Some(current) => current.run.stalled().await,
            None => std::future::pending().await,
        }
    }

    /// Ends the run at work and waits until every turn is delivered. Returns the reports that were
    /// not taken, turn by turn. A turn without an outcome ends as stopped. A run that only shows
    /// the work of a subagent after the last turn ends without a final message, because it answers
    /// no message.
    pub async fn finish(mut self) -> Vec<RunReport> {
        if let Some(current) = self.current.take() {
            let answers = self.is_answering || current.run.is_given_up();
            self.end(current, if answers { FinalMessage::of } else { FinalMessage::none });
        }
        let mut reports = Vec::with_capacity(self.ended.len());
        for run in std::mem::take(&mut self.ended) {
            reports.push(run.join().await.unwrap_or_else(|error| broken(&error)));
        }
        reports
    }

    /// Returns the reports of the turns that are delivered, turn by turn, up to one that is not.
    /// [`finish`](Self::finish) does not have them again: a host that keeps a process for long
    /// takes them on the way, so that they take no memory.
    pub fn take_delivered(&mut self) -> Vec<RunReport> {
        let mut reports = Vec::new();
        while let Some(outcome) = self.ended.front_mut().and_then(Task::outcome) {
            reports.push(outcome.unwrap_or_else(|error| broken(&error)));
            self.ended.pop_front();
        }
        reports
    }

    /// The run at work. If there is none, it starts, at the message of a person if it `is_asked`.
    fn run(&mut self, is_asked: bool) -> &mut Run {
        let current = self.current.get_or_insert_with(|| {
            self.runs += 1;
            self.is_answering = self.runs == 1;
            let Turn { bus, channels, delivered } = (self.open)(self.runs);
            let before = self.delivered.as_ref();
            let run = Run::start_after(bus, self.settings.clone(), channels, before, is_asked);
            Current { run, delivered }
        });
        &mut current.run
    }

    /// Closes the run at once; a task delivers the rest.
    fn end(&mut self, current: Current, last: fn(&Outcome) -> FinalMessage) {
        let Current { run, delivered: on_delivered } = current;
        let (said, delivered) = Delivered::new();
        let rest = run.close(last);
        self.delivered = Some(delivered);
        self.ended.push_back(Task::spawn(async move {
            let report = rest.await;
            on_delivered(&report);
            said.send_replace(true);
            report
        }));
    }
}

/// The report of a run whose task broke.
fn broken(why: &JoinError) -> RunReport {
    let mut report = ChannelReport::new();
    let reason = format!("the run broke: {why}; start the agent again");
    report.failed(reason.clone());
    report.final_delivered = Delivery::Failed { reason };
    RunReport { channels: vec![report], listener_panics: 0, masked: Masked::default() }
}

#[cfg(test)]
pub(crate) mod tests;
