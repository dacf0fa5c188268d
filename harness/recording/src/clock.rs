//! Reads the clock of the machine, which may have any time: one without a battery begins in 1970, and a wrongly set one
//! may be before that, or after the year 9999.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The first second after the year 9999, which dates with four digits can't show.
const AFTER_9999: Duration = Duration::from_secs(253_402_300_800);

/// Returns the time since 1970; zero if the clock is before that.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns today's date (UTC), `YYYY-MM-DD`.
pub fn today() -> String {
    day(SystemTime::now())
}

/// Returns the day of a time (UTC), `YYYY-MM-DD`; the nearest possible date for a time out of range.
pub fn day(time: SystemTime) -> String {
    let nearest = if time < UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(nearest).strftime("%Y-%m-%d").to_string()
}

/// Checks that the time can be the date of an HTTP response, because `hyper` puts it into every response, and panics if
/// it can't.
///
/// # Errors
///
/// [`io::ErrorKind::Unsupported`] if the clock is before 1970 or after 9999.
pub fn check() -> io::Result<()> {
    check_time(SystemTime::now())
}

fn check_time(time: SystemTime) -> io::Result<()> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) if since < AFTER_9999 => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the clock of this machine is before 1970 or after 9999, and a server can't give that as the date of its \
             answers; set the clock, for example with `date --set`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_clocks_have_a_day_and_serve_no_http() {
        const DAY: i64 = 86_400;
        for (days, expect, may_serve) in [
            (-100_000_000_i64, "-9999-01-02", false),
            (-1, "1969-12-31", false),
            (0, "1970-01-01", true),
            (20_783, "2026-11-26", true),
            (2_932_896, "9999-12-30", true),
            (2_932_897, "9999-12-30", false),
            (100_000_000, "9999-12-30", false),
        ] {
            let offset = Duration::from_secs((days * DAY).unsigned_abs());
            let time = if days < 0 { UNIX_EPOCH - offset } else { UNIX_EPOCH + offset };
            assert_eq!(
                (day(time).as_str(), check_time(time).is_ok()),
                (expect, may_serve),
                "{days}"
            );
        }
        assert!(check_time(UNIX_EPOCH + AFTER_9999 - Duration::from_nanos(1)).is_ok());
    }
}
