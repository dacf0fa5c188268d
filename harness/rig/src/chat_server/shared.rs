//! The state that the parts of a server share, and the signals that it has changed or that connections close.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::state::ServerState;
use crate::kept::{Held, KeptBytes};

/// The state of a server, and its signals.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<ServerState>,
    kept: Arc<KeptBytes>,
    /// The number of changes so far.
    changed: watch::Sender<u64>,
    /// The time until which the server accepts no connection; each change of it closes all connections.
    closed: watch::Sender<Instant>,
}

impl Shared {
    pub(super) fn new(state: ServerState) -> Self {
        Self {
            kept: state.kept.clone(),
            state: Mutex::new(state),
            changed: watch::Sender::new(1),
            closed: watch::Sender::new(Instant::now()),
        }
    }

    /// Reads the state.
    pub(super) fn read<T>(&self, read: impl FnOnce(&ServerState) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state and wakes the tasks that wait for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut ServerState) -> T) -> T {
        let changed = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_modify(|revision| *revision += 1);
        changed
    }

    /// Returns an empty part of the account of memory.
    pub(super) fn held(&self) -> Held {
        Held::of(&self.kept)
    }

    /// Returns a receiver of the number of changes.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns a receiver of the time until which the server accepts no connection.
    pub(super) fn closings(&self) -> watch::Receiver<Instant> {
        self.closed.subscribe()
    }

    /// Closes all connections and accepts none for a time. Messages and updates are kept.
    pub(super) fn restart(&self, time: Duration) {
        self.change(|state| {
            state.note(&format!("the server restarts for {} ms", time.as_millis()));
        });
        self.closed.send_replace(Instant::now() + time);
    }
}
