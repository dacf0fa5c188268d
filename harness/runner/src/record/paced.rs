//! A response body that sends its pieces one by one, each after a delay, or breaks off.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::answer::ResponseStep;

/// A body of [`ResponseStep`]s. A single step without a delay is sent with its length.
pub(crate) struct Paced {
    steps: VecDeque<ResponseStep>,
    /// The timer for the next step.
    due: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(crate) fn new(steps: Vec<ResponseStep>) -> Self {
        Self { steps: steps.into(), due: None }
    }

    pub(crate) fn at_once(bytes: impl Into<Bytes>) -> Self {
        Self::new(vec![ResponseStep { delay: Duration::ZERO, bytes: Some(bytes.into()) }])
    }
}

impl Body for Paced {
    type Data = Bytes;
    /// Returns the error that makes the server close the connection inside the body.
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(step) = self.steps.front() else {
            return Poll::Ready(None);
        };
        let delay = step.delay;
        if !delay.is_zero() {
            let due = self.due.get_or_insert_with(|| Box::pin(sleep(delay)));
            ready!(due.as_mut().poll(context));
            self.due = None;
        }
        let step = self.steps.pop_front();
        Poll::Ready(step.map(|step| match step.bytes {
            Some(bytes) => Ok(Frame::data(bytes)),
            None => Err(io::ErrorKind::ConnectionAborted.into()),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.steps.front() {
            Some(ResponseStep { delay, bytes: Some(bytes) })
                if self.steps.len() == 1 && delay.is_zero() =>
            {
                SizeHint::with_exact(bytes.len() as u64)
            }
            _ => SizeHint::new(),
        }
    }
}
