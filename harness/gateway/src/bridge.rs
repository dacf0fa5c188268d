//! Hands the bus events of a run to a channel: one after another, in order, whatever a callback
//! does.

mod delivered;
mod worker;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use crate::bus::{Bus, Subscription};
use crate::channel::{Channel, ChannelReport, Delivery, RunPath};
use crate::ending::FinalMessage;
use crate::messaging::Gate;
pub(crate) use delivered::Delivered;
use worker::{Close, DRAIN_LIMIT, WorkerSetup, work};

/// A spawned task that is aborted when its handle is dropped.
#[derive(Debug)]
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    pub(crate) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    pub(crate) async fn join(mut self) -> Result<T, JoinError> {
        (&mut self.0).await
    }

    /// What came of it, if it is over. It is not to be asked again then.
    pub(crate) fn outcome(&mut self) -> Option<Result<T, JoinError>> {
        let mut nobody = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.0).poll(&mut nobody) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The way from the bus to one channel. Dropping it takes it off the bus and stops it.
#[derive(Debug)]
pub(crate) struct Bridge {
    // Dropped first: it owns the queue's sender, so that the worker sees the end.
    subscription: Option<Subscription>,
    close: watch::Sender<Option<Close>>,
    worker: Task<ChannelReport>,
}

impl Bridge {
    /// Puts `channel` on `bus`; its final message may take `final_message`. The events wait for the
    /// delivery `after`.
    pub(crate) fn new(
        bus: &Bus,
        channel: Box<dyn Channel>,
        path: RunPath,
        gate: Gate,
        final_message: Duration,
        after: Option<Delivered>,
    ) -> Self {
        let (queue, events) = mpsc::unbounded_channel();
        let (close, end) = watch::channel(None);
        let subscription = bus.subscribe(move |event| {
            // The worker ends only with the bridge, which is off the bus by then.
            let _ = queue.send(event.data.clone());
        });
        let setup = WorkerSetup { events, close: end, channel, path, gate, final_message, after };
        let worker = Task::spawn(work(setup));
        Self { subscription: Some(subscription), close, worker }
    }

    /// Takes the bridge off the bus, and lets the channel deliver its final message once the callbacks have
    /// settled. After [`DRAIN_LIMIT`] the one at work is given up, and of the later ones those that
    /// do not settle at once.
    pub(crate) fn close(&mut self, last: Arc<FinalMessage>) {
        self.subscription = None;
        self.close.send_replace(Some(Close { deadline: Instant::now() + DRAIN_LIMIT, last }));
    }

    /// Waits until a closed bridge has said everything.
    pub(crate) async fn join(self) -> ChannelReport {
        self.worker.join().await.unwrap_or_else(|error| {
            let mut report = ChannelReport::new();
            let reason = format!("the bridge broke: {error}; start the run again");
            report.failed(reason.clone());
            ChannelReport { final_delivered: Delivery::Failed { reason }, ..report }
        })
    }
}
