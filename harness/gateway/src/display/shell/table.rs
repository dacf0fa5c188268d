//! The table of programs, `shell.toml`: what is said of each.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::slot::ArgumentSlot;
use crate::display::template::Phrases;

/// The built-in table.
#[allow(clippy::expect_used, reason = "a test reads the table")]
pub(super) static TABLE: LazyLock<ProgramTable> =
    LazyLock::new(|| read().expect("the built-in table is valid; a test reads it"));

/// All of `shell.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramTable {
    /// Programs that are taken off the front of a command.
    pub(super) preamble: Vec<String>,
    /// Programs that are not worth a word beside others.
    pub(super) quiet: Vec<String>,
    /// Programs that run the text after `-c`.
    pub(super) shells: Vec<String>,
    /// Programs that run another one.
    pub(super) wrappers: HashMap<String, Wrapper>,
    programs: HashMap<String, ProgramWords>,
    /// What is said of the verbs of programs.
    pub(super) verbs: HashMap<String, HashMap<String, Phrases<ArgumentSlot>>>,
}

/// A program that runs another one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Wrapper {
    /// Its options that take a value.
    pub(super) values: Vec<String>,
    /// How many plain arguments are its own.
    pub(super) own: usize,
}

/// What is said of one program, or of several that are described alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramWords {
    /// Its options that take a value, each with its other names.
    #[serde(default)]
    pub(super) values: Vec<String>,
    #[serde(default)]
    /// What follows its first plain argument belongs to another program.
    pub(super) script: bool,
    /// The list of what its verbs say.
    pub(super) verbs: Option<String>,
    pub(super) say: Option<Phrases<ArgumentSlot>>,
}

/// The programs, each under its name.
pub(super) static PROGRAMS: LazyLock<HashMap<&str, &ProgramWords>> = LazyLock::new(|| {
    let names = |(names, program): (&'static String, &'static ProgramWords)| {
        names.split(' ').map(move |name| (name, program))
    };
    TABLE.programs.iter().flat_map(names).collect()
});

fn read() -> Result<ProgramTable, toml::de::Error> {
    toml::from_str(include_str!("shell.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v2_the_table_of_programs_can_be_read() {
        let table = read().unwrap();
        assert!(PROGRAMS.len() > 150, "{}", PROGRAMS.len());
        let used: Vec<&String> = table.programs.values().filter_map(|p| p.verbs.as_ref()).collect();
        for (names, program) in &table.programs {
            assert!(program.say.is_some() || program.verbs.is_some(), "{names} says nothing");
        }
        assert!(used.iter().all(|name| table.verbs.contains_key(*name)), "verbs are missing");
        assert!(table.verbs.keys().all(|name| used.contains(&name)), "verbs are not used");
        assert!(table.verbs["git"].len() >= 17);
        let names = table.programs.keys().flat_map(|names| names.split(' '));
        assert_eq!(names.count(), PROGRAMS.len(), "a program has two entries");
    }
}
