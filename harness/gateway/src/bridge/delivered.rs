//! The end of a run's delivery, for which the channels of the next run wait ([Q8](crate::rules::Q8)).

use tokio::sync::watch;

/// The delivery of a run: those that wait for it go on when all its channels have the final message.
#[derive(Debug, Clone)]
pub(crate) struct Delivered(watch::Receiver<bool>);

impl Delivered {
    /// Makes the two ends. The first one says `true` when everything is delivered; dropped, it has
    /// nothing more to deliver either.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Waits until everything is delivered.
    pub(crate) async fn wait(mut self) {
        // A sender that is gone delivers nothing more.
        drop(self.0.wait_for(|delivered| *delivered).await);
    }
}
