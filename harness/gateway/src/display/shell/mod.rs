//! Says what a shell command does, in a few words: `list files in /tmp -> count lines`.
//!
//! [`scan`] reads the text, [`stage`] makes steps of it, and [`table`] has words for the programs
//! that people run, which [`call`] fills with their arguments. A command that does more than run
//! programs one after another, or of which no program is known, is shown as it stands.

mod call;
mod scan;
mod slot;
mod stage;
mod table;

use std::collections::HashMap;

use call::{ProgramCall, argument};
use slot::ArgumentSlot;
use stage::{PipelineStage, SimpleCommand, base, stages};
use table::{PROGRAMS, TABLE};

use super::template::Phrases;
use super::text::{clip, counted, one_line, redacted};
use crate::sanitise::redact_text;

/// Characters of the whole summary, and of a command that is shown unchanged.
const LIMIT: usize = 120;
/// Characters of an argument of a program that is not in the table.
const NAME_LIMIT: usize = 48;
/// Stages that are described.
const STAGE_LIMIT: usize = 6;
/// Stages such as `cd x` at the front that are taken off.
const PREAMBLE_LIMIT: usize = 4;

/// What `command` does, or the command itself on one line, without its secrets (V2, B2). Empty where
/// nothing is said.
pub(super) fn explain(command: &str) -> String {
    // Joined lines first: what a line break parts is a secret no rule finds.
    let command = command.trim().replace("\\\n", " ");
    let command = redacted(&command);
    match summary(&command) {
        // What was parted may be a secret when it is joined.
        Some(summary) => clip(&redact_text(&summary), LIMIT),
        None => one_line(&command, LIMIT),
    }
}

fn summary(command: &str) -> Option<String> {
    let mut stages = stages(command)?;
    let folder = take_preamble(&mut stages);
    if stages.iter().any(|stage| !is_quiet(stage)) {
        stages.retain(|stage| !is_quiet(stage));
    }
    let told: Vec<ParsedCommand> = stages.iter().take(STAGE_LIMIT).map(describe_stage).collect();
    if told.iter().all(|told| told.is_generic) {
        return None;
    }
    let mut words: Vec<String> = told.into_iter().map(|told| told.words).collect();
    if let Some(hidden) = stages.len().checked_sub(STAGE_LIMIT).filter(|hidden| *hidden > 0) {
        words.push(format!("(+{})", counted(hidden, "step")));
    }
    let place = folder.map_or_else(String::new, |folder| format!(" (in {})", argument(&folder)));
    Some(format!("{}{place}", words.join(" → ")))
}

/// Takes stages such as `cd x` from the front, unless nothing else is there, and says where they
/// lead.
fn take_preamble(stages: &mut Vec<PipelineStage>) -> Option<String> {
    let is_preamble =
        |stage: &&PipelineStage| program(stage).is_some_and(|p| TABLE.preamble.contains(p));
    let count = stages.iter().take(PREAMBLE_LIMIT).take_while(is_preamble).count();
    if count == stages.len() {
        return None;
    }
    let folder = |stage: &PipelineStage| {
        program(stage).filter(|program| *program == "cd")?;
        stage.pipe.first()?.words.iter().skip(1).find(|word| !word.starts_with('-')).cloned()
    };
    let taken: Vec<PipelineStage> = stages.drain(..count).collect();
    taken.iter().filter_map(folder).reduce(|from, to| match to.starts_with(['/', '~', '$']) {
        true => to,
        false => format!("{from}/{to}"),
    })
}

fn is_quiet(stage: &PipelineStage) -> bool {
    program(stage).is_some_and(|p| TABLE.quiet.contains(p))
}

/// The program of a stage that has only one.
fn program(stage: &PipelineStage) -> Option<&String> {
    match stage.pipe.as_slice() {
        [only] => only.words.first(),
        _ => None,
    }
}

/// What is said of a command, and whether it is only its name.
struct ParsedCommand {
    words: String,
    is_generic: bool,
}

fn describe_stage(stage: &PipelineStage) -> ParsedCommand {
    let ends = match stage.pipe.as_slice() {
        [first, .., last] => vec![describe(first), describe(last)],
        pipe => pipe.iter().map(describe).collect(),
    };
    let is_generic = ends.iter().all(|told| told.is_generic);
    let ends: Vec<String> = ends.into_iter().map(|told| told.words).collect();
    let mut words = ends.join(" -> ");
    if let Some(hidden) = stage.pipe.len().checked_sub(3) {
        words.push_str(&format!(" (+{})", counted(hidden + 1, "step")));
    }
    if let Some(file) = stage.pipe.last().and_then(|command| command.output.as_ref()) {
        words = format!("{words} to {}", argument(file));
    }
    ParsedCommand { words, is_generic }
}

fn describe(command: &SimpleCommand) -> ParsedCommand {
    match say(command) {
        Some(words) => ParsedCommand { words, is_generic: false },
        None => ParsedCommand { words: run(&command.words), is_generic: true },
    }
}

/// What is said of `command`; `None` where the table says nothing.
fn say(command: &SimpleCommand) -> Option<String> {
    let name = base(command.words.first()?);
    // `python3.11` is described as `python`.
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let program = PROGRAMS.get(name).or_else(|| PROGRAMS.get(family))?;
    let call = ProgramCall::new(name, command, &program.values, program.script);
    let verb = || say_verb(TABLE.verbs.get(program.verbs.as_ref()?)?, &call);
    verb().or_else(|| program.say.as_ref()?.say(|slot| call.fill(slot, 0)))
}

fn say_verb(
    verbs: &HashMap<String, Phrases<ArgumentSlot>>,
    call: &ProgramCall<'_>,
) -> Option<String> {
    // `cargo +nightly test` picks a toolchain.
    let start = usize::from(call.plain.first().is_some_and(|arg| arg.starts_with('+')));
    [2, 1].into_iter().find_map(|count| {
        let phrases = verbs.get(&call.plain.get(start..start + count)?.join(" "))?;
        phrases.say(|slot| call.fill(slot, start + count))
    })
}

/// `run x`, with its first argument where that is a name.
fn run(words: &[String]) -> String {
    let is_name = |arg: &&String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
        !arg.starts_with('-') && arg.chars().count() <= NAME_LIMIT && arg.chars().all(is_plain)
    };
    let program = words.first().map_or("", |word| base(word));
    match words.get(1).filter(is_name) {
        Some(arg) => format!("run {} {}", argument(program), argument(arg)),
        None => format!("run {}", argument(program)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
