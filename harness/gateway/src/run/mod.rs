//! One turn of an agent, from its first event to its final message.

use std::sync::Arc;
use std::time::Duration;

use clitape_stream::{Event, Outcome};
use tokio::time::sleep_until;

use crate::bridge::{Bridge, Delivered, ShownRun};
use crate::bus::{Bus, BusData, Phase};
use crate::channel::{Channel, ChannelReport, RunPath};
use crate::ending::{FinalMessage, phase, stopped};
use crate::limits::FINAL_MESSAGE;
use crate::messaging::{DeliveryMode, Gate, MessageTools};
use crate::notice::Notice;
use crate::publish::{MovedQuestion, Publisher};
use crate::question::{Closing, QuestionTimes};
use crate::sanitise::Masked;
use crate::watchdog::{SilenceWatch, Watchdog, given_up};

/// The settings of a run's bridges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// The run is not shown (a heartbeat, a turn that is expected to say `NO_REPLY`): no callback
    /// of a channel is ever called ([G3](crate::rules::G3)). The bus has its events as those of any
    /// other run.
    pub silent: bool,
    /// The path of the run to its channels.
    pub path: RunPath,
    /// The way of the agent's answer to the person ([G4](crate::rules::G4)).
    pub delivery: DeliveryMode,
    /// The tools that send messages ([G4](crate::rules::G4)).
    pub message_tools: MessageTools,
    /// The longest silence of the agent ([G8](crate::rules::G8)); `None` is for ever.
    pub watchdog: Option<Watchdog>,
    /// The longest time of a channel's final message ([G7](crate::rules::G7)); [`FINAL_MESSAGE`] by
    /// default.
    pub final_message: Duration,
    /// The times that a question waits for its answer ([Q5](crate::rules::Q5)).
    pub question: QuestionTimes,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            silent: false,
            path: RunPath::default(),
            delivery: DeliveryMode::default(),
            message_tools: MessageTools::default(),
            watchdog: None,
            final_message: FINAL_MESSAGE,
            question: QuestionTimes::default(),
        }
    }
}

/// The report of a finished run on its channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The reports of the channels, in their order; empty if the run was silent.
    pub channels: Vec<ChannelReport>,
    /// The number of times that a listener of the bus panicked ([G2](crate::rules::G2)).
    pub listener_panics: u64,
    /// The masks in arguments and results, by rule ([B2](crate::rules::B2)).
    pub masked: Masked,
}

/// A run at work. Dropping it unfinished takes it off the bus and publishes that it was stopped.
#[derive(Debug)]
pub struct Run {
    bus: Bus,
    publisher: Publisher,
    bridges: Vec<Bridge>,
    /// The last notice with a line for a person that came after all text.
    notice: Option<String>,
    outcome: Option<Outcome>,
    watch: Option<SilenceWatch>,
    /// True once the agent has said something of a turn that a message began, and in every other run.
    is_taken_up: bool,
    question: QuestionTimes,
    /// The silence of the agent when it was given up.
    stalled: Option<Duration>,
}

impl Run {
    /// Bridges `bus` to `channels` and publishes that the run began ([B3](crate::rules::B3)). The
    /// channels are independent of each other: a slow channel delays only itself
    /// ([G1](crate::rules::G1)).
    ///
    /// Works on the current tokio runtime, within which it must be called.
    pub fn start(
        bus: Bus,
        settings: RunSettings,
        channels: impl IntoIterator<Item = Box<dyn Channel>>,
    ) -> Self {
        Self::start_after(bus, settings, channels, None, true)
    }

    /// Starts a run whose channels wait for the delivery of the one before ([Q8](crate::rules::Q8)). If it
    /// `is_asked`, the agent is at work at once, because a person waits for its answer; otherwise the run may begin
    /// with a notice of something that is over ([G6](crate::rules::G6)).
    pub(crate) fn start_after(
        bus: Bus,
        settings: RunSettings,
        channels: impl IntoIterator<Item = Box<dyn Channel>>,
        before: Option<&Delivered>,
        is_asked: bool,
    ) -> Self {
        let RunSettings {
            silent,
            path,
            delivery,
            message_tools,
            watchdog,
            final_message,
            question,
        } = settings;
        let bridge = |channel| {
            let gate = Gate::new(delivery, message_tools.clone());
            let shown = ShownRun { path, final_message, is_asked };
            Bridge::new(&bus, channel, shown, gate, before.cloned())
        };
        let bridges = channels.into_iter().filter(|_| !silent).map(bridge).collect();
        bus.publish(BusData::Lifecycle(Phase::Start));
        Self {
            publisher: Publisher::new(bus.clone()),
            bus,
            bridges,
            notice: None,
            outcome: None,
            watch: watchdog.map(SilenceWatch::new),
            is_taken_up: before.is_none() || !is_asked,
            question,
            stalled: None,
        }
    }

    /// Takes the parser's next event. Events after the outcome do not count.
    pub fn on_event(&mut self, event: &Event<'_>) {
        if let Some(watch) = &mut self.watch {
            // Until the agent takes up the message, what the host writes is no sign of it.
            self.is_taken_up |= !matches!(event, Event::HostMessage { .. });
            if self.is_taken_up {
                watch.heard();
            }
            watch.follow(event);
        }
        match event {
            _ if self.outcome.is_some() => return,
            Event::Outcome(outcome) => self.outcome = Some(outcome.clone().into_owned()),
            Event::Text { parent: None, .. } => self.notice = None,
            Event::Notice { kind, subtype, detail } => {
                let line = Notice::new(kind, subtype.as_deref(), detail).line();
                self.notice = line.or(self.notice.take());
            }
            _ => {}
        }
        self.publisher.publish(event);
    }

    /// A question was answered, or was denied because its time is over (Q4, Q5).
    pub(crate) fn close_question(&mut self, id: &str, closing: Closing, by: Option<&str>) {
        self.publisher.questions.close(id, closing, by);
        // What follows is for the agent to do: its silence counts from now.
        self.on_bytes();
    }

    /// The person is reminded of the question `id`, which is denied after `denied_in` (Q5).
    pub(crate) fn remind(&mut self, id: &str, denied_in: Duration) {
        self.publisher.questions.remind(id, denied_in);
    }

    /// Takes the questions out of the run that go on in the next one (Q1).
    pub(crate) fn move_on(&mut self) -> Vec<MovedQuestion> {
        self.publisher.questions.move_on()
    }

    /// Asks a question of the run before again (Q1).
    pub(crate) fn ask_again(&mut self, question: MovedQuestion) {
        self.publisher.questions.ask_again(question);
    }

    /// Returns whether the outcome has come.
    pub(crate) fn has_outcome(&self) -> bool {
        self.outcome.is_some()
    }

    /// Returns whether the agent was given up because of its silence.
    pub(crate) fn is_given_up(&self) -> bool {
        self.stalled.is_some()
    }

    /// The agent printed something: call it for every read, for bytes that make no event show all
    /// the same that the agent is alive ([G8](crate::rules::G8)).
    pub fn on_bytes(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.heard();
        }
    }

    /// Settles when the agent has been silent for too long ([G8](crate::rules::G8)); never without
    /// a watchdog.
    ///
    /// The run has failed then: stop the agent, end the parser's input, and
    /// [`finish`](Self::finish), which says so in every channel. It may be dropped before it
    /// settles, so that it fits a `select!` beside the read.
    pub async fn stalled(&mut self) {
        let Some(watch) = &self.watch else {
            return std::future::pending().await;
        };
        sleep_until(watch.deadline(self.publisher.questions.asks_until(self.question.deny))).await;
        self.stalled = Some(watch.patience());
    }

    /// Ends the run: in every channel each event is delivered and settled, then the final message is,
    /// and only then the bus publishes the end, once ([G7](crate::rules::G7),
    /// [B3](crate::rules::B3)). A run without an outcome ends as stopped.
    pub async fn finish(self) -> RunReport {
        self.close(FinalMessage::of).await
    }

    /// Ends the run at once, with the final message that `last` makes of its outcome; the future
    /// delivers the rest.
    pub(crate) fn close(
        mut self,
        last: fn(&Outcome) -> FinalMessage,
    ) -> impl Future<Output = RunReport> + Send + 'static {
        let reported = self.outcome.take();
        let has_outcome = reported.is_some();
        let outcome = reported.unwrap_or_else(stopped);
        let outcome = match self.stalled {
            Some(silence) => given_up(outcome, silence),
            None => outcome,
        };
        self.publisher.questions.close_all(None, &Closing::Stopped);
        let last = last(&outcome).or_notice(self.notice.take());
        let last = Arc::new(if has_outcome { last } else { last.of_broken_off(&outcome) });
        for bridge in &mut self.bridges {
            bridge.close(last.clone());
        }
        async move {
            let mut channels = Vec::new();
            for bridge in self.bridges.drain(..) {
                channels.push(bridge.join().await);
            }
            self.bus.publish(BusData::Lifecycle(phase(&outcome)));
            RunReport {
                channels,
                listener_panics: self.bus.listener_panics(),
                masked: self.publisher.masked().clone(),
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.bridges.clear();
        // The bus refuses events after an end: of a finished run it publishes no second one.
        self.bus.publish(BusData::Lifecycle(phase(&stopped())));
    }
}

#[cfg(test)]
pub(crate) mod tests;
