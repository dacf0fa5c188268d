//! `clitape help TOPIC`: prints a page of `docs/`, for whoever has the program alone.

use crate::terminal;

/// The pages, by the topic that names each. The name of a command is that of its own help.
const PAGES: &[(&str, &str)] = &[
    ("commands", include_str!("../../docs/commands.md")),
    ("manual", include_str!("../../docs/manual.md")),
    ("scenarios", include_str!("../../docs/scenarios.md")),
    ("subjects", include_str!("../../docs/subjects.md")),
    ("subject-rules", include_str!("../../docs/subject-rules.md")),
    ("what-goes-wrong", include_str!("../../docs/recipes/what-goes-wrong.md")),
    ("libraries", include_str!("../../docs/recipes/libraries.md")),
    ("invariants", include_str!("../../docs/invariants.md")),
    ("faults", include_str!("../../docs/faults.md")),
    ("stand-in-page", include_str!("../../docs/stand-in.md")),
    ("chat-server-page", include_str!("../../docs/chat-server.md")),
    ("captures", include_str!("../../docs/captures.md")),
    ("proof-page", include_str!("../../docs/proof.md")),
    ("ci", include_str!("../../docs/ci.md")),
    ("test-runners", include_str!("../../docs/test-runners.md")),
    ("machines", include_str!("../../docs/machines.md")),
    ("corpus-page", include_str!("../../docs/corpus.md")),
    ("promises", include_str!("../../docs/promises.md")),
    ("glossary", include_str!("../../docs/glossary.md")),
];

/// Prints the page that the arguments `help TOPIC` ask for; `false` if they ask for none.
///
/// # Errors
///
/// When stdout can't be written to.
pub(crate) fn print_page(arguments: &[String]) -> anyhow::Result<bool> {
    let topic = match arguments {
        [help, topic] if help == "help" => topic,
        _ => return Ok(false),
    };
    let Some((_, text)) = PAGES.iter().find(|(name, _)| name == topic) else { return Ok(false) };
    terminal::stdout().lines(text.trim_end())?;
    Ok(true)
}

/// Returns the topics, for the help text.
pub(crate) fn topics() -> String {
    let names: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
    format!("clitape help TOPIC prints a page: {}", names.join(", "))
}
