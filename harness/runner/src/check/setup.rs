//! How a scenario is replayed to be judged, and the command that does the same.

use super::golden::View;
use crate::cassette::FurtherRun;
use crate::names::{CassetteFile, CassettePart};
use crate::replay::{AcpClient, Plan, Replay, Setup, replay};
use crate::scenario::{ChannelSpec, Chat, Fault, RunSpec, Scenario};
use crate::text::shell_quote;

/// The replay that goldens are made of, with `faults` of the chat's server.
pub(crate) fn canonical_replay(
    scenario: &Scenario,
    stdout: &[u8],
    setup: Setup,
    faults: &[Fault],
) -> Replay {
    let plan = Plan::paced(stdout, scenario.run.pace_ms);
    replay(stdout, &plan.with_faults(faults.iter().copied()), setup)
}

/// The same of a further run of a cassette, in `setup`, and the command that does it.
pub(crate) fn canonical_replay_of_further_run(
    scenario: &Scenario,
    version: &str,
    (number, run): (usize, &FurtherRun),
    setup: Setup,
) -> (Replay, String) {
    let setup = Setup { run: RunSpec { resume: true, ..setup.run }, ..setup };
    let file = CassetteFile::new(CassettePart::Stdout, number);
    let file = format!("cassettes/{}/{version}/{file}", scenario.name);
    let command = command_of(&file, scenario, setup);
    (canonical_replay(scenario, &run.stdout, setup, &scenario.chat.faults), command)
}

/// How a view is replayed.
pub(super) fn setup(scenario: &Scenario, view: View) -> Setup {
    let (channel, acp) = match view {
        View::Telegram(chat) => (Some(chat), None),
        View::Acp(client) => (None, Some(client)),
        View::Lifecycle | View::Bus | View::Sse | View::Session => (None, None),
    };
    Setup { run: scenario.run, channel, acp }
}

/// As many setups as it takes until each channel was there. An ACP client hears what the bus says
/// and nothing of a chat, so that both are replayed at once; the event stream is always there.
pub(crate) fn setups(scenario: &Scenario) -> Vec<Setup> {
    let (mut chats, mut clients) = (Vec::new(), Vec::new());
    for channel in &scenario.channels {
        match *channel {
            ChannelSpec::Telegram(chat) => chats.push(chat),
            ChannelSpec::Acp { terminal } => clients.push(AcpClient { terminal }),
            ChannelSpec::Sse {} => {}
        }
    }
    let run = scenario.run;
    (0..chats.len().max(clients.len()).max(1))
        .map(|at| Setup { run, channel: chats.get(at).copied(), acp: clients.get(at).copied() })
        .collect()
}

/// The command that replays a cassette with a setup.
pub(crate) fn command(scenario: &Scenario, version: &str, setup: Setup) -> String {
    command_of(&format!("cassettes/{}/{version}", scenario.name), scenario, setup)
}

/// The command that replays a cassette with a setup under a plan, which has its faults in it.
pub(super) fn command_under(
    plan: &Plan,
    scenario: &Scenario,
    version: &str,
    setup: Setup,
) -> String {
    let what = format!("cassettes/{}/{version}", scenario.name);
    format!("{} --plan {}", fault_free_command(&what, setup), shell_quote(&plan.to_line()))
}

/// [`command`], of a file of the cassette.
fn command_of(what: &str, scenario: &Scenario, setup: Setup) -> String {
    let faults = setup.channel.map(|_| fault_flags(&scenario.chat.faults)).unwrap_or_default();
    fault_free_command(what, setup) + &faults
}

/// The command that replays with a setup, without faults.
fn fault_free_command(what: &str, setup: Setup) -> String {
    let mode = setup.channel.map(Chat::flags).unwrap_or_default();
    let terminal = if setup.acp.is_some_and(|client| client.terminal) { " --terminal" } else { "" };
    format!("clitape replay {}{mode}{terminal}{}", shell_quote(what), flags(setup.run))
}

/// What `clitape replay` needs for the same faults of the chat's server.
fn fault_flags(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!(" --fault {fault}")).collect()
}

/// What `clitape replay` needs to run it in the same way.
fn flags(run: RunSpec) -> String {
    let usual = RunSpec::default();
    let mut flags = String::new();
    if run.silent {
        flags += " --silent";
    }
    if run.delivery != usual.delivery {
        flags += &format!(" --delivery {}", run.delivery.as_str());
    }
    if run.limit_s != usual.limit_s {
        flags += &format!(" --limit {}", run.limit_s);
    }
    if run.resume {
        flags += " --resume";
    }
    if let Some(number) = run.stuck_callback {
        flags += &format!(" --stuck-callback {number}");
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::DeliverySpec;

    #[test]
    fn a_replay_is_told_how_the_run_is_run() {
        assert_eq!(flags(RunSpec::default()), "");
        let delivery = DeliverySpec::MessageToolOnly;
        let stuck_callback = Some(3);
        let run = RunSpec {
            silent: true,
            delivery,
            limit_s: 60,
            resume: true,
            stuck_callback,
            ..RunSpec::default()
        };
        assert_eq!(
            flags(run),
            " --silent --delivery message_tool_only --limit 60 --resume --stuck-callback 3"
        );
    }
}
