//! The wall clock, for what has to agree with the times of other processes.

pub(crate) use clitape_recording::clock::since_1970;

/// The milliseconds since 1970; zero on a machine whose clock is before that.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}
