//! The slots in the phrases of `shell.toml`: `{2..:quoted}`.

use std::str::FromStr;

use crate::display::template::PhraseError;

/// A place in a phrase that a call fills.
#[derive(Debug)]
pub(super) struct ArgumentSlot {
    pub(super) what: SlotSource,
    pub(super) form: ArgumentForm,
}

/// What fills a slot; the top of `shell.toml` describes each.
#[derive(Debug)]
pub(super) enum SlotSource {
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
pub(super) enum ArgumentForm {
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
