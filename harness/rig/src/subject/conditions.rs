//! What is not as it was recorded in a run: the times at which `claude` prints, and what goes wrong in the chat.

use crate::chat_server::Faults;

/// When `claude` prints its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Printing {
    /// As it was recorded.
    #[default]
    Recorded,
    /// A line each so many milliseconds.
    Paced(u64),
    /// Cut and delayed by a seed.
    Seeded(u64),
}

impl Printing {
    /// The value of `CLITAPE_PLAY`.
    pub(crate) fn play(self) -> Option<String> {
        match self {
            Self::Recorded => None,
            Self::Paced(ms) => Some(format!("pace:{ms}")),
            Self::Seeded(seed) => Some(format!("seed:{seed}")),
        }
    }

    /// The option of `clitape rig`.
    fn argument(self) -> Option<String> {
        match self {
            Self::Recorded => None,
            Self::Paced(ms) => Some(format!("--pace {ms}")),
            Self::Seeded(seed) => Some(format!("--seed {seed}")),
        }
    }
}

/// The conditions of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// When `claude` prints.
    pub printing: Printing,
    /// Which calls of each chat fail.
    pub faults: Faults,
}

impl Conditions {
    /// Whether all is as it was recorded, so that the chat can be compared with what was accepted.
    pub fn are_recorded(&self) -> bool {
        *self == Self::default()
    }

    /// The options of `clitape rig` that make the same run again, each after a space.
    pub(crate) fn arguments(&self) -> String {
        let faults = match &self.faults {
            Faults::None => None,
            Faults::Listed(_) => Some(format!("--chat-faults {}", self.faults)),
            Faults::Seeded { seed, percent } => {
                Some(format!("--chat-seed {seed} --chat-rate {percent}"))
            }
        };
        let arguments = self.printing.argument().into_iter().chain(faults);
        arguments.map(|argument| format!(" {argument}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use clitape_judge::FindingCommand;

    use super::*;

    #[test]
    fn the_conditions_of_a_run_are_options() {
        let check = |printing, faults, arguments: &str| {
            assert_eq!(Conditions { printing, faults }.arguments(), arguments);
            let line = format!("clitape rig mine@1.2 plain-text/2.1.329{arguments}");
            assert!(FindingCommand::read(line).is_own(), "a report shows it as a command");
        };
        check(Printing::Recorded, Faults::None, "");
        let faults = Faults::Listed(vec!["sendMessage:2:lost-reply".parse().unwrap()]);
        check(Printing::Paced(200), faults, " --pace 200 --chat-faults sendMessage:2:lost-reply");
        let faults = Faults::Seeded { seed: 7, percent: 20 };
        check(Printing::Seeded(3), faults, " --seed 3 --chat-seed 7 --chat-rate 20");
        assert_eq!(Printing::Paced(200).play().as_deref(), Some("pace:200"));
    }
}
