//! `clitape replay SCENARIO/VERSION`: takes the settings of the scenario where the command line has none.

use clitape_recording::scenario::{ChannelSpec, RunSpec, Scenario};
use clitape_runner::replay::ReplayRequest;

/// Returns the request with the scenario's run, chat, client and faults, except for options that `is_given` finds on
/// the command line. The times stay those of the request.
pub(super) fn of_scenario(
    request: &ReplayRequest,
    scenario: &Scenario,
    is_given: impl Fn(&str) -> bool,
) -> ReplayRequest {
    fn pick<T>(is_given: bool, given: T, scenario: T) -> T {
        if is_given { given } else { scenario }
    }
    let mut asked = request.clone();
    let (given, own) = (request.run, scenario.run);
    asked.run = RunSpec {
        silent: pick(is_given("silent"), given.silent, own.silent),
        delivery: pick(is_given("delivery"), given.delivery, own.delivery),
        limit_s: pick(is_given("limit_s"), given.limit_s, own.limit_s),
        resume: pick(is_given("resume"), given.resume, own.resume),
        stuck_callback: pick(is_given("stuck_callback"), given.stuck_callback, own.stuck_callback),
        stream_break: pick(is_given("stream_break"), given.stream_break, own.stream_break),
        pace_ms: own.pace_ms,
    };
    let chat = scenario.first_chat();
    asked.chat.mode = pick(is_given("mode"), asked.chat.mode, chat.mode);
    asked.chat.reasoning = pick(is_given("reasoning"), asked.chat.reasoning, chat.reasoning);
    asked.chat.profile = pick(is_given("profile"), asked.chat.profile, chat.profile);
    let shows_terminal =
        |channel: &ChannelSpec| matches!(channel, ChannelSpec::Acp { terminal: true });
    let terminal = scenario.channels.iter().any(shows_terminal);
    asked.acp.terminal = pick(is_given("terminal"), asked.acp.terminal, terminal);
    // A plan has its own faults.
    if !is_given("faults") && request.plan.is_none() {
        asked.faults.clone_from(&scenario.chat.faults);
    }
    asked
}
