//! The wall clock, for times that other processes must be able to compare with their own.

pub(crate) use clitape_recording::clock::since_1970;

/// Returns the milliseconds since 1970; zero on a machine whose clock is set before that.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}
