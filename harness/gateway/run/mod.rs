//! One turn of an agent, from its first event to its last word.

use std::time::Duration;

use clitape_stream::{Event, Outcome};
use tokio::time::timeout;

use crate::bridge::{Bridge, Channel, Delivery, Drained, guarded};
use crate::bus::{Bus, Data, Phase};
use crate::ending::{ending, phase, stopped};
use crate::publish::Publisher;

/// How long a channel may take for the last word: long enough for a few waits that a chat server
/// asks for.
const FINISH_LIMIT: Duration = Duration::from_secs(300);

/// How a run is bridged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunSettings {
    /// Nobody is to see the run (a heartbeat): no callback of the channel is ever called (G3).
    pub silent: bool,
}

/// What a finished run tells of its bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// Callbacks that failed, panicked or were given up (G2).
    pub callback_failures: u64,
    /// Why the first of them did.
    pub first_failure: Option<String>,
    /// Whether a callback or the last word did not settle in time and was given up (G2).
    pub gave_up: bool,
    /// What became of the last word (V7).
    pub final_delivered: Delivery,
}

/// A run at work. Dropping it unfinished takes it off the bus and publishes that it was stopped.
pub struct Run {
    bus: Bus,
    publisher: Publisher,
    bridge: Option<Bridge>,
    streamed: String,
    outcome: Option<Outcome>,
}

impl Run {
    /// Bridges `bus` to `channel` and publishes that the run began (B3).
    ///
    /// Works on the current tokio runtime, within which it must be called.
    pub fn start(bus: Bus, settings: RunSettings, channel: Option<Box<dyn Channel>>) -> Self {
        let bridge = channel.filter(|_| !settings.silent).map(|channel| Bridge::new(&bus, channel));
        bus.publish(Data::Lifecycle(Phase::Start));
        Self {
            publisher: Publisher::new(bus.clone()),
            bus,
            bridge,
            streamed: String::new(),
            outcome: None,
        }
    }

    /// Takes the parser's next event. Nothing that comes after the outcome counts.
    pub fn on_event(&mut self, event: &Event<'_>) {
        match event {
            _ if self.outcome.is_some() => {}
            Event::Outcome(outcome) => self.outcome = Some(outcome.clone().into_owned()),
            _ => {
                match event {
                    Event::Text { delta, parent: None, .. } => self.streamed.push_str(delta),
                    Event::Retract { text, parent: None, .. } => {
                        (*text).clone_into(&mut self.streamed);
                    }
                    _ => {}
                }
                self.publisher.publish(event);
            }
        }
    }

    /// Ends the run: every event is delivered and settled, then the last word is, and only then
    /// the bus is told of the end, once (G7, B3). A run without an outcome ends as stopped.
    pub async fn finish(mut self) -> RunReport {
        let outcome =
            (self.outcome.take()).unwrap_or_else(|| stopped(std::mem::take(&mut self.streamed)));
        let report = match self.bridge.take() {
            None => report(0, Delivery::Nobody),
            Some(bridge) => match bridge.drain().await {
                Ok(drained) => deliver(drained, &outcome).await,
                Err(error) => report(
                    1,
                    Delivery::Failed {
                        reason: format!("the bridge broke: {error}; start the run again"),
                    },
                ),
            },
        };
        self.bus.publish(Data::Lifecycle(phase(&outcome)));
        report
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        drop(self.bridge.take());
        // The bus takes nothing after an end: a finished run says no more.
        self.bus.publish(Data::Lifecycle(phase(&stopped(String::new()))));
    }
}

fn report(callback_failures: u64, final_delivered: Delivery) -> RunReport {
    RunReport { callback_failures, first_failure: None, gave_up: false, final_delivered }
}

async fn deliver(drained: Drained, outcome: &Outcome) -> RunReport {
    let Drained { mut channel, failures, first_failure, gave_up } = drained;
    let ending = ending(outcome);
    let finished = timeout(FINISH_LIMIT, guarded(channel.finish(&ending))).await;
    let timed_out = finished.is_err();
    let failed = |reason: String| Delivery::Failed { reason };
    RunReport {
        callback_failures: failures,
        first_failure,
        gave_up: gave_up || timed_out,
        final_delivered: match finished {
            Ok(Ok(delivery)) => delivery,
            Ok(Err(words)) => failed(format!("the channel panicked: {words}; report it")),
            Err(_) => failed(format!(
                "the channel took more than {} s; see whether the chat's server answers",
                FINISH_LIMIT.as_secs()
            )),
        },
    }
}

#[cfg(test)]
mod tests;
