//! The conditions of a run that differ from the recorded ones: the times at which `claude` prints, and the faults of
//! the chat.

use crate::chat_server::Faults;

/// The times at which `claude` prints its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Printing {
    /// The recorded times.
    #[default]
    Recorded,
    /// One line in every so many milliseconds.
    Paced(u64),
    /// Pieces that a seed cuts and delays.
    Seeded(u64),
}

impl Printing {
    /// Returns the value of `CLITAPE_PLAY`; `None` for the default.
    pub(crate) fn play(self) -> Option<String> {
        match self {
            Self::Recorded => None,
            Self::Paced(ms) => Some(format!("pace:{ms}")),
            Self::Seeded(seed) => Some(format!("seed:{seed}")),
        }
    }

    /// Returns the option of `clitape rig`; `None` for the default.
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
    /// The times at which `claude` prints.
    pub printing: Printing,
    /// The calls of each chat that fail.
    pub faults: Faults,
}

impl Conditions {
    /// Returns whether the conditions are the recorded ones, so that the chat can be compared with accepted goldens.
    pub fn are_recorded(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the options of `clitape rig` that repeat the run, each after a space.
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
