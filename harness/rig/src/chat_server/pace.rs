//! The limits on how often a bot may write to a chat, as Telegram has them.

use std::collections::VecDeque;

/// The limits on how often a bot may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum PaceLimits {
    /// One message a second in a chat, with short bursts, and 20 a minute in a group. Edits count.
    #[default]
    Telegram,
    /// The same without bursts.
    Strict,
    /// No limits; only faults ask for waits.
    None,
}

/// The milliseconds after which a chat may get one more message.
const WINDOW_MS: u64 = 1_000;
/// The messages that a chat may get at once after a silence.
const BURST: u64 = 5;
/// The messages that a group may get in [`GROUP_WINDOW_MS`].
const GROUP_MESSAGES: usize = 20;
/// The window of the limit of groups.
const GROUP_WINDOW_MS: u64 = 60_000;

/// The messages of a bot to one chat, over time. Times are milliseconds of the server's clock.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    /// The time up to which the messages so far have used up the windows, one each.
    paid_until: u64,
    /// The times of the messages of the last minute.
    recent: VecDeque<u64>,
    /// The end of the wait that a fault asked for.
    wait_until: u64,
}

impl Pace {
    /// Begins a wait of `seconds`, which a fault asks for.
    pub(super) fn ask_wait(&mut self, now: u64, seconds: u64) {
        self.wait_until = self.wait_until.max(now + seconds * 1_000);
    }

    /// Returns the seconds that are left of such a wait, if one is going on.
    pub(super) fn asked_wait(&self, now: u64) -> Option<u64> {
        (self.wait_until > now).then(|| (self.wait_until - now).div_ceil(1_000))
    }

    /// Returns the seconds to wait before a further message; `None` if it may come now.
    pub(super) fn wait(&mut self, now: u64, is_group: bool, limits: PaceLimits) -> Option<u64> {
        let burst = match limits {
            PaceLimits::None => return None,
            PaceLimits::Telegram => BURST,
            PaceLimits::Strict => 1,
        };
        self.recent.retain(|at| at + GROUP_WINDOW_MS > now);
        let room = (self.paid_until + WINDOW_MS).saturating_sub(burst * WINDOW_MS);
        let wait = room.saturating_sub(now);
        let oldest = self.recent.front().copied();
        let group = oldest.filter(|_| is_group && self.recent.len() >= GROUP_MESSAGES);
        let group = group.map_or(0, |at| (at + GROUP_WINDOW_MS).saturating_sub(now));
        let wait = wait.max(group);
        (wait > 0).then(|| wait.div_ceil(1_000))
    }

    /// Counts a message that was sent.
    pub(super) fn count(&mut self, now: u64) {
        self.paid_until = self.paid_until.max(now) + WINDOW_MS;
        self.recent.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends messages at these times and returns the wait that each was answered with, 0 for none.
    fn waits(limits: PaceLimits, is_group: bool, at: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut pace = Pace::default();
        at.into_iter()
            .map(|now| match pace.wait(now, is_group, limits) {
                Some(wait) => wait,
                None => {
                    pace.count(now);
                    0
                }
            })
            .collect()
    }

    #[test]
    fn a_chat_gets_one_message_a_second_after_a_burst() {
        let at = [0, 0, 0, 0, 0, 10, 1_000, 1_001, 9_000, 9_001];
        assert_eq!(waits(PaceLimits::Telegram, false, at), [0, 0, 0, 0, 0, 1, 0, 1, 0, 0]);
        assert_eq!(waits(PaceLimits::Strict, false, [0, 999, 1_000]), [0, 1, 0]);
        assert_eq!(waits(PaceLimits::None, true, [0; 50]), [0; 50]);
    }

    #[test]
    fn a_group_gets_20_messages_a_minute() {
        let at = (0..21).map(|number| number * 1_000).chain([60_000]);
        let expect: Vec<u64> = [0; 20].into_iter().chain([40, 0]).collect();
        assert_eq!(waits(PaceLimits::Telegram, true, at), expect);
    }

    #[test]
    fn a_wait_that_was_asked_for_ends() {
        let mut pace = Pace::default();
        pace.ask_wait(500, 3);
        assert_eq!([600, 3_400, 3_500].map(|now| pace.asked_wait(now)), [Some(3), Some(1), None]);
    }
}
