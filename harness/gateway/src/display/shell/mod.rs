//! Describes a shell command in a few words: `list files in /tmp -> count lines`.
//!
//! [`scan()`] reads the text, [`stages`] makes steps of it, without the programs that only wrap them,
//! and the table `shell.toml` has phrases for the programs that people run. A [`ProgramCall`] sorts
//! the arguments of one call for the slots of the phrases. A command that does more than run
//! programs one after another, or without a known program, is shown as it is.

mod scan;

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use super::template::{PhraseError, Phrases};
use crate::excerpt::{clip, counted, one_line, redacted};
use crate::sanitise::redact_text;
use scan::{ShellToken, scan};

/// Characters of the whole summary, and of a command that is shown unchanged.
const LIMIT: usize = 120;
/// Characters of an argument of a program that is not in the table.
const NAME_LIMIT: usize = 48;
/// Stages that are described.
const STAGE_LIMIT: usize = 6;
/// Stages such as `cd x` at the front that are taken off.
const PREAMBLE_LIMIT: usize = 4;

/// Describes `command`, or returns it on one line, without its secrets (V2, B2). Empty for an empty
/// command.
pub(super) fn explain(command: &str) -> String {
    // Joined lines first: a secret that a line break parts is found by no rule.
    let command = command.trim().replace("\\\n", " ");
    let command = redacted(&command);
    match summary(&command) {
        // Parts that are joined may be a secret.
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

/// Takes stages such as `cd x` from the front, unless they are all there is, and returns the folder
/// to which they lead.
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

/// The description of a command.
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

/// Describes `command` as the table says; `None` if the table has no phrase for it.
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

/// The built-in table.
#[allow(clippy::expect_used, reason = "a test reads the table")]
static TABLE: LazyLock<ProgramTable> =
    LazyLock::new(|| read_table().expect("the built-in table is valid; a test reads it"));

/// All of `shell.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramTable {
    /// Programs that are taken off the front of a command.
    preamble: Vec<String>,
    /// Programs that are not worth a word beside others.
    quiet: Vec<String>,
    /// Programs that run the text after `-c`.
    shells: Vec<String>,
    /// Programs that run another one.
    wrappers: HashMap<String, Wrapper>,
    programs: HashMap<String, ProgramWords>,
    /// The phrases for the verbs of programs.
    verbs: HashMap<String, HashMap<String, Phrases<ArgumentSlot>>>,
}

/// A program that runs another one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wrapper {
    /// Its options that take a value.
    values: Vec<String>,
    /// The number of plain arguments of its own.
    own: usize,
}

/// The phrases for one program, or for several that are described alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramWords {
    /// Its options that take a value, each with its other names.
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    /// True if the words behind its first plain argument belong to another program.
    script: bool,
    /// The list of what its verbs say.
    verbs: Option<String>,
    say: Option<Phrases<ArgumentSlot>>,
}

/// The programs, each under its name.
static PROGRAMS: LazyLock<HashMap<&str, &ProgramWords>> = LazyLock::new(|| {
    let names = |(names, program): (&'static String, &'static ProgramWords)| {
        names.split(' ').map(move |name| (name, program))
    };
    TABLE.programs.iter().flat_map(names).collect()
});

fn read_table() -> Result<ProgramTable, toml::de::Error> {
    toml::from_str(include_str!("shell.toml"))
}

/// A place in a phrase that a call fills.
#[derive(Debug)]
struct ArgumentSlot {
    what: SlotSource,
    form: ArgumentForm,
}

/// The argument that fills a slot; the top of `shell.toml` describes each.
#[derive(Debug)]
enum SlotSource {
    At(usize),
    From(usize),
    Last,
    ButLast,
    Lead,
    Program,
    Address,
    Value(String),
    Has(Vec<String>),
    HasDocument,
    HasOutput,
}

#[derive(Debug)]
enum ArgumentForm {
    Plain,
    Quoted,
    Number,
    Lines,
    Range,
}

impl FromStr for ArgumentSlot {
    type Err = PhraseError;

    fn from_str(slot: &str) -> Result<Self, PhraseError> {
        let bad = || PhraseError::Slot(slot.to_owned());
        let (what, form) = slot.split_once(':').unwrap_or((slot, ""));
        let form = match form {
            "" => ArgumentForm::Plain,
            "quoted" => ArgumentForm::Quoted,
            "number" => ArgumentForm::Number,
            "lines" => ArgumentForm::Lines,
            "range" => ArgumentForm::Range,
            _ => return Err(bad()),
        };
        let index = |text: &str| match text.parse() {
            Ok(0) | Err(_) => Err(bad()),
            Ok(number) => Ok(number),
        };
        let what = match what {
            "last" => SlotSource::Last,
            "..last" => SlotSource::ButLast,
            "lead" => SlotSource::Lead,
            "bin" => SlotSource::Program,
            "address" => SlotSource::Address,
            "?<<" => SlotSource::HasDocument,
            "?>" => SlotSource::HasOutput,
            _ => match (what.strip_prefix('?'), what.strip_suffix("..")) {
                (Some(options), _) if options.starts_with('-') => {
                    SlotSource::Has(options.split(' ').map(str::to_owned).collect())
                }
                (None, Some(number)) => SlotSource::From(index(number)?),
                (None, None) if what.starts_with('-') => SlotSource::Value(what.to_owned()),
                (None, None) => SlotSource::At(index(what)?),
                _ => return Err(bad()),
            },
        };
        Ok(Self { what, form })
    }
}

/// Shells within shells that are looked into.
const DEPTH_LIMIT: usize = 4;

/// Words at the start of a stage that make it more than a simple command.
const KEYWORDS: [&str; 17] = [
    "for", "while", "until", "if", "case", "select", "function", "do", "done", "then", "else",
    "elif", "fi", "esac", "coproc", "[[", "eval",
];
/// Words at the start of a stage that leave its meaning as it is.
const BRACKETS: [&str; 3] = ["{", "}", "!"];

/// A stage of a command: the commands between `;`, `&&`, `||`, `&` and newlines.
#[derive(Debug, Default)]
struct PipelineStage {
    /// The commands of its pipe, none of them without words.
    pipe: Vec<SimpleCommand>,
}

/// A program, its arguments, and where its input and output are.
#[derive(Debug, Default)]
struct SimpleCommand {
    /// The program's name, and its arguments.
    words: Vec<String>,
    input: Option<String>,
    output: Option<String>,
    /// The input is part of the command itself, as a here-document.
    has_document: bool,
}

/// The stages of `command`, what `bash -c` runs among them as if it stood there. `None` when it is
/// more than simple commands, and cannot be described as steps.
fn stages(command: &str) -> Option<Vec<PipelineStage>> {
    let mut stages = Vec::new();
    read_stages(command, DEPTH_LIMIT, &mut stages)?;
    Some(stages)
}

fn read_stages(command: &str, depth: usize, stages: &mut Vec<PipelineStage>) -> Option<()> {
    let mut stage = PipelineStage::default();
    let mut current = SimpleCommand::default();
    for token in scan(command)?.into_iter().chain([ShellToken::End]) {
        match token {
            ShellToken::Word(word) if current.words.is_empty() => match word.as_str() {
                bracket if BRACKETS.contains(&bracket) => {}
                keyword if KEYWORDS.contains(&keyword) => return None,
                _ => current.words.push(word),
            },
            ShellToken::Word(word) => current.words.push(word),
            ShellToken::Output(file) if file.starts_with("/dev/") => {}
            ShellToken::Output(file) => current.output = Some(file),
            ShellToken::Input(file) => {
                current.input = Some(file).filter(|f| !f.starts_with("/dev/"));
            }
            ShellToken::HereDocument => current.has_document = true,
            ShellToken::Pipe => stage.add(std::mem::take(&mut current)),
            ShellToken::End => {
                stage.add(std::mem::take(&mut current));
                add(std::mem::take(&mut stage), depth, stages)?;
            }
        }
    }
    Some(())
}

impl PipelineStage {
    fn add(&mut self, mut command: SimpleCommand) {
        unwrap(&mut command.words);
        if !command.words.is_empty() {
            self.pipe.push(command);
        }
    }
}

fn add(mut stage: PipelineStage, depth: usize, stages: &mut Vec<PipelineStage>) -> Option<()> {
    if let [only] = stage.pipe.as_mut_slice()
        && let Some(script) = script(&only.words)
        && let Some(depth) = depth.checked_sub(1)
    {
        read_stages(script, depth, stages)?;
        if let Some(last) = stages.last_mut().and_then(|stage| stage.pipe.last_mut()) {
            last.output = last.output.take().or(only.output.take());
        }
    } else if !stage.pipe.is_empty() {
        stages.push(stage);
    }
    Some(())
}

/// The script in `bash -lc '…'`.
fn script(words: &[String]) -> Option<&str> {
    let (shell, mut args) = words.split_first()?;
    TABLE.shells.iter().any(|name| name == base(shell)).then_some(())?;
    loop {
        let (option, rest) = args.split_first()?;
        let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        // `-o` takes a value.
        let skip = usize::from(letters.ends_with('o'));
        if letters.contains('c') {
            return rest.get(skip).map(String::as_str);
        }
        args = rest.get(skip..)?;
    }
}

/// Takes `A=1` and programs such as `sudo` from the front of a command, as long as a word is left
/// of it.
fn unwrap(words: &mut Vec<String>) {
    let mut start = 0;
    while let Some(word) = words.get(start) {
        let next = match TABLE.wrappers.get(base(word)) {
            _ if is_assignment(word) => start + 1,
            Some(wrapper) => {
                let mut next = start + 1;
                let is_own = |w: &&String| w.starts_with('-') || is_assignment(w);
                while let Some(option) = words.get(next).filter(is_own) {
                    next += if wrapper.values.contains(option) { 2 } else { 1 };
                }
                next += wrapper.own;
                if next >= words.len() {
                    break;
                }
                next
            }
            None => break,
        };
        start = next;
    }
    words.drain(..start);
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.trim_end_matches('+').chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// The program's name without its folder.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Characters of one argument.
const ARGUMENT_LIMIT: usize = 60;
/// Arguments of a list.
const LIST_LIMIT: usize = 3;

/// A program and its arguments.
struct ProgramCall<'a> {
    program: &'a str,
    /// The arguments other than options and their values.
    plain: Vec<&'a str>,
    /// The number of plain arguments before any option.
    lead: usize,
    options: Vec<&'a str>,
    /// Options with their values, each under the first of its names.
    values: Vec<(&'a str, &'a str)>,
    has_document: bool,
    has_output: bool,
}

impl<'a> ProgramCall<'a> {
    /// Sorts the arguments of `command`, a call of `program`, of whose options these take a value;
    /// if it `is_script`, all that follows the first plain argument is plain.
    fn new(
        program: &'a str,
        command: &'a SimpleCommand,
        with_value: &'a [String],
        is_script: bool,
    ) -> Self {
        let mut call = Self {
            program,
            plain: Vec::new(),
            lead: 0,
            options: Vec::new(),
            values: Vec::new(),
            has_document: command.has_document,
            has_output: command.output.is_some(),
        };
        let mut args = command.words.iter().skip(1).map(String::as_str);
        while let Some(arg) = args.next() {
            let is_plain = arg.len() < 2 || !arg.starts_with('-');
            if is_plain || (is_script && !call.plain.is_empty()) {
                call.plain.push(arg);
                call.lead += usize::from(call.options.is_empty() && call.values.is_empty());
            } else if arg == "--" {
                call.plain.extend(args.by_ref());
            } else {
                call.option(arg, with_value, &mut args);
            }
        }
        call.plain.extend(command.input.as_deref());
        call
    }

    fn option(
        &mut self,
        arg: &'a str,
        with_value: &'a [String],
        args: &mut impl Iterator<Item = &'a str>,
    ) {
        let group = |name: &str| {
            let names = with_value.iter().find(|names| names.split(' ').any(|n| n == name))?;
            names.split(' ').next()
        };
        let cluster = letters(arg);
        let short =
            |at: usize| cluster.get(at..=at).and_then(|letter| group(&format!("-{letter}")));
        if let Some(name) = group(arg) {
            // The last word of a command may be an option without its value.
            self.values.push((name, args.next().unwrap_or_default()));
        } else if let Some((name, value)) = arg.split_once('=')
            && let Some(name) = group(name)
        {
            self.values.push((name, value));
        } else if let Some(number) = arg.strip_prefix('-')
            && number.chars().all(|c| c.is_ascii_digit())
            && let Some(name) = group("-#")
        {
            self.values.push((name, number));
        } else if cluster.len() + 1 == arg.len()
            && let Some(name) = cluster.len().checked_sub(1).and_then(short)
        {
            self.options.push(arg);
            self.values.push((name, args.next().unwrap_or_default()));
        } else if let Some(name) = short(0) {
            self.values.push((name, &arg[2..]));
        } else {
            self.options.push(arg);
        }
    }

    /// Returns the words that fill `slot`, if the first `skip` plain arguments are the verb.
    fn fill(&self, slot: &ArgumentSlot, skip: usize) -> Option<String> {
        let plain = self.plain.get(skip..).unwrap_or_default();
        let said = match &slot.what {
            SlotSource::At(number) => argument(plain.get(number - 1)?),
            SlotSource::From(number) => list(plain.get(number - 1..)?)?,
            SlotSource::Last => argument(plain.last().filter(|_| plain.len() > 1)?),
            SlotSource::ButLast => list(plain.split_last()?.1)?,
            SlotSource::Lead => list(plain.get(..self.lead.checked_sub(skip)?)?)?,
            SlotSource::Program => self.program.to_owned(),
            SlotSource::Address => {
                let is_address = |arg: &&&str| arg.contains("://") || arg.starts_with("localhost");
                argument(plain.iter().find(is_address)?)
            }
            SlotSource::Value(name) => {
                argument(self.values.iter().find(|(option, _)| option == name)?.1)
            }
            SlotSource::Has(options) => {
                options.iter().any(|option| self.has(option)).then(String::new)?
            }
            SlotSource::HasDocument => self.has_document.then(String::new)?,
            SlotSource::HasOutput => self.has_output.then(String::new)?,
        };
        let is_all = |more: &str| said.chars().all(|c| c.is_ascii_digit() || more.contains(c));
        match slot.form {
            ArgumentForm::Plain => Some(said),
            ArgumentForm::Quoted => Some(format!("\"{said}\"")),
            ArgumentForm::Number => (is_all(".") && !said.is_empty()).then_some(said),
            ArgumentForm::Lines if said == "1" => Some("line".to_owned()),
            ArgumentForm::Lines => {
                (is_all("") && !said.is_empty()).then(|| format!("{said} lines"))
            }
            ArgumentForm::Range => {
                let range = said.strip_suffix('p').filter(|range| !range.is_empty())?;
                let is_range = range.chars().all(|c| c.is_ascii_digit() || ",$".contains(c));
                is_range.then(|| range.replace(',', "-").replace('$', "end"))
            }
        }
    }

    fn has(&self, option: &str) -> bool {
        let is_long = option.starts_with("--") || option.len() > 2;
        self.values.iter().any(|(name, _)| *name == option)
            || self.options.iter().any(|given| {
                *given == option || (!is_long && letters(given).contains(&option[1..]))
            })
    }
}

/// The letters of `-xzf`; none of a long option.
fn letters(option: &str) -> &str {
    let letters = option.strip_prefix('-').unwrap_or_default();
    let end = letters.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(letters.len());
    &letters[..end]
}

/// `argument` on one line, and short. Without its quotes it may be a secret that it was not with
/// them.
fn argument(argument: &str) -> String {
    one_line(&redact_text(argument), ARGUMENT_LIMIT)
}

fn list(args: &[&str]) -> Option<String> {
    let mut told: Vec<String> = args.iter().take(LIST_LIMIT).map(|a| argument(a)).collect();
    if let Some(more) = args.len().checked_sub(LIST_LIMIT).filter(|more| *more > 0) {
        told.push(format!("(+{more} more)"));
    }
    (!told.is_empty()).then(|| told.join(" "))
}

#[cfg(test)]
mod tests;
