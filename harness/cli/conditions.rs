//! The options for the conditions under which a gateway is tested, and for the faults of a chat server.

use anyhow::bail;
use clitape_judge::observation::{FurtherAct, InterludeKind, RestartMoment};
use clitape_rig::chat_server::{Faults, ListedFault};
use clitape_rig::stand_in::CliFault;
use clitape_rig::subject::{Conditions, Front, NamedGateway, Printing};

/// What is said of these options where clitape's own bridge runs.
pub(crate) const FOR_GATEWAYS: &str = "--pace, --lives-on, --agent-faults, --c-locale and the faults of the chat are for a gateway; name it with --subject";

/// The conditions of a run that differ from those of the recording
#[derive(clap::Args)]
pub(crate) struct ConditionArgs {
    /// Let claude print a line each so many milliseconds, instead of as it was recorded
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(Conditions::PACE_MS))]
    pace: Option<u64>,
    /// Let claude print each line in as many pieces as it was recorded, instead of two with a pause between them
    #[arg(long)]
    whole_lines: bool,
    /// Let a claude of one message live on so many seconds after its result
    #[arg(long, value_name = "SECONDS", default_value_t = 0, hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(Conditions::LIVES_ON_S))]
    lives_on: u64,
    /// Let what claude prints have these faults: crlf, log-line, unknown-kind, long-line, cut, double
    #[arg(long, value_name = "FAULTS", value_delimiter = ',')]
    agent_faults: Vec<CliFault>,
    /// Start the gateway with LC_ALL=C, and Python with PYTHONIOENCODING=ascii
    #[arg(long)]
    c_locale: bool,
    /// Kill the gateway at this moment of a recording and start it again, and let the person go on. `clitape test` without
    /// scenarios plays one recording so
    #[arg(long, value_name = "MOMENT", requires = "subject", conflicts_with = "seed")]
    restart: Option<RestartMoment>,
    /// Let the person do this besides what the recorded one did, and then go on. `clitape test` without scenarios plays one
    /// recording so
    #[arg(long, value_name = "ACT", requires = "subject", conflicts_with_all = ["seed", "restart"])]
    person: Option<FurtherAct>,
    #[command(flatten)]
    chat: ChatFaultArgs,
}

/// The calls that go wrong, for the commands with a chat server
#[derive(clap::Args)]
pub(crate) struct ChatFaultArgs {
    /// Calls of each chat that go wrong, such as 2:rate-limit:30s,sendMessage:2:lost-reply,6:reset
    #[arg(long, value_name = "FAULTS", value_delimiter = ',', conflicts_with = "chat_seed")]
    chat_faults: Vec<ListedFault>,
    /// Let calls of each chat go wrong at random, by this seed
    #[arg(long, value_name = "N")]
    chat_seed: Option<u64>,
    /// With --chat-seed: how many calls of a hundred go wrong
    #[arg(long, value_name = "PERCENT", default_value_t = Conditions::USUAL_CHAT_RATE, requires = "chat_seed",
        value_parser = clap::value_parser!(u8).range(i64::from(*Conditions::CHAT_RATE.start())..=i64::from(*Conditions::CHAT_RATE.end())))]
    chat_rate: u8,
}

impl ChatFaultArgs {
    /// Returns the faults that the options ask for.
    pub(crate) fn faults(&self) -> Faults {
        match self.chat_seed {
            Some(seed) => Faults::Seeded { seed, percent: self.chat_rate },
            None if self.chat_faults.is_empty() => Faults::None,
            None => Faults::Listed(self.chat_faults.clone()),
        }
    }

    /// Adds the names that the options of `clitape chat-server` had first.
    pub(crate) fn with_old_names(chat_server: clap::Command) -> clap::Command {
        let names = [("chat_faults", "faults"), ("chat_seed", "seed"), ("chat_rate", "rate")];
        names.into_iter().fold(chat_server, |command, (option, old)| {
            command.mut_arg(option, |option| option.alias(old))
        })
    }
}

impl ConditionArgs {
    /// Returns the conditions that the options ask for; `seed` is that of `claude`'s output.
    pub(crate) fn conditions(&self, seed: Option<u64>) -> Conditions {
        let restart = self.restart.map(InterludeKind::Restart);
        let person = self.person.map(InterludeKind::Person);
        let paced = self.pace.map_or(Printing::Recorded, Printing::Paced);
        Conditions {
            printing: seed.map_or(paced, Printing::Seeded),
            whole_lines: self.whole_lines,
            faults: self.chat.faults(),
            lives_on_s: self.lives_on,
            agent_faults: self.agent_faults.clone(),
            c_locale: self.c_locale,
            interlude: restart.or(person),
        }
    }
}

/// Complains about conditions of a chat for a subject that has no chat.
pub(crate) fn check_chat(conditions: &Conditions, gateway: NamedGateway<'_>) -> anyhow::Result<()> {
    let has_faults = !matches!(conditions.faults, Faults::None);
    if has_faults && gateway.spec.front == Front::Editor {
        bail!("{} is an agent, so that it has no chat whose calls could go wrong", gateway.name);
    }
    if conditions.interlude.is_some() && gateway.spec.front == Front::Editor {
        bail!(
            "{} is an agent; `--restart` and `--person` are for a gateway in a chat",
            gateway.name
        );
    }
    Ok(())
}

/// Says which calls fail, if any do.
pub(crate) fn faults_line(conditions: &Conditions) -> Option<String> {
    match &conditions.faults {
        Faults::None => None,
        faults => Some(format!("calls of each chat that fail: {faults}")),
    }
}
