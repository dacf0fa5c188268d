//! `clitape explain`: prints the usual cause of a finding, and the cure.

use anyhow::Context as _;
use clitape_judge::{Explanation, FindingKind, RULES};
use clitape_recording::text::{did_you_mean, near};

use crate::exit::ExitStatus;
use crate::terminal::{self, Terminal};

/// The width of the headings, in columns.
const HEADING: usize = 11;

/// Explains a finding: what it says, its usual cause, and the cure; without one, lists all of them
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The id or the name of a finding, such as GW003 or edit-after-final
    #[arg(value_name = "FINDING")]
    id: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut out = terminal::stdout();
    match &args.id {
        Some(id) => explain(find(id)?, &mut out)?,
        None => {
            let width = FindingKind::ALL.iter().map(|kind| kind.to_string().len()).max();
            let width = width.unwrap_or_default();
            for kind in FindingKind::ALL {
                // Padding looks at the whole text, which a `Display` of several parts does not.
                let id = kind.to_string();
                out.line(format_args!("{id:<width$}  {}", kind.title()))?;
            }
        }
    }
    Ok(ExitStatus::Ok)
}

/// Returns the kind with this id or name, or an error with those that may be meant.
fn find(asked: &str) -> anyhow::Result<FindingKind> {
    FindingKind::find(asked).with_context(|| {
        let words: Vec<String> = FindingKind::ALL.iter().map(ToString::to_string).collect();
        let words = words.iter().filter_map(|words| words.split_once(' '));
        let is_id = asked.chars().any(|c| c.is_ascii_digit());
        let known = words.map(|(id, name)| if is_id { id } else { name });
        let asked_as = if is_id { asked.to_ascii_uppercase() } else { asked.to_lowercase() };
        let near = near(&asked_as, known);
        let hint = match near.is_empty() {
            true => "; `clitape explain` lists them".to_owned(),
            false => did_you_mean(&near),
        };
        format!("there is no finding `{asked}`{hint}")
    })
}

fn explain(kind: FindingKind, out: &mut Terminal) -> anyhow::Result<()> {
    let Explanation { cause, cure } = kind.explanation();
    out.line(kind)?;
    out.line(kind.title())?;
    out.line("")?;
    let mut part = |heading: &str, text: &str| out.line(format_args!("{heading:<HEADING$}{text}"));
    part("cause", cause)?;
    part("cure", cure)?;
    let demands = RULES.iter().filter(|rule| rule.is_about(kind));
    for rule in demands {
        part("rule", rule.demand)?;
    }
    if let Some(key) = kind.design() {
        part("by design", &format!("`{key}` in clitape.toml, if the gateway is meant to do so"))?;
    }
    Ok(())
}
