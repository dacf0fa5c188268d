//! One call of a program, its arguments sorted into what phrases name.

use super::slot::{ArgumentForm, ArgumentSlot, SlotSource};
use super::stage::SimpleCommand;
use crate::display::text::one_line;
use crate::sanitise::redact_text;

/// Characters of one argument.
const ARGUMENT_LIMIT: usize = 60;
/// Arguments of a list.
const LIST_LIMIT: usize = 3;

/// A program and its arguments.
pub(super) struct ProgramCall<'a> {
    program: &'a str,
    /// What is no option and no value of one.
    pub(super) plain: Vec<&'a str>,
    /// How many of the plain arguments come before any option.
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
    pub(super) fn new(
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

    /// What fills `slot`, when the first `skip` plain arguments are the verb.
    pub(super) fn fill(&self, slot: &ArgumentSlot, skip: usize) -> Option<String> {
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
pub(super) fn argument(argument: &str) -> String {
    one_line(&redact_text(argument), ARGUMENT_LIMIT)
}

fn list(args: &[&str]) -> Option<String> {
    let mut told: Vec<String> = args.iter().take(LIST_LIMIT).map(|a| argument(a)).collect();
    if let Some(more) = args.len().checked_sub(LIST_LIMIT).filter(|more| *more > 0) {
        told.push(format!("(+{more} more)"));
    }
    (!told.is_empty()).then(|| told.join(" "))
}
