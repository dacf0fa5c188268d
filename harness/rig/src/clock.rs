//! The wall clock, for what has to agree with the times of other processes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970; zero on a machine whose clock is before that.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}
