//! The slots in the phrases of `shell.toml`: `{2..:quoted}`.

use std::str::FromStr;

use crate::display::template::PhraseError;

/// A place in a phrase that a call fills.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) what: What,
    pub(super) form: Form,
}

/// `shell.toml` tells what each is.
#[derive(Debug)]
pub(super) enum What {
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
pub(super) enum Form {
    Plain,
    Quoted,
    Number,
    Lines,
    Range,
}

impl FromStr for Slot {
    type Err = PhraseError;

    fn from_str(slot: &str) -> Result<Self, PhraseError> {
        let bad = || PhraseError::Slot(slot.to_owned());
        let (what, form) = slot.split_once(':').unwrap_or((slot, ""));
        let form = match form {
            "" => Form::Plain,
            "quoted" => Form::Quoted,
            "number" => Form::Number,
            "lines" => Form::Lines,
            "range" => Form::Range,
            _ => return Err(bad()),
        };
        let index = |text: &str| match text.parse() {
            Ok(0) | Err(_) => Err(bad()),
            Ok(number) => Ok(number),
        };
        let what = match what {
            "last" => What::Last,
            "..last" => What::ButLast,
            "lead" => What::Lead,
            "bin" => What::Program,
            "address" => What::Address,
            "?<<" => What::HasDocument,
            "?>" => What::HasOutput,
            _ => match (what.strip_prefix('?'), what.strip_suffix("..")) {
                (Some(options), _) if options.starts_with('-') => {
                    What::Has(options.split(' ').map(str::to_owned).collect())
                }
                (None, Some(number)) => What::From(index(number)?),
                (None, None) if what.starts_with('-') => What::Value(what.to_owned()),
                (None, None) => What::At(index(what)?),
                _ => return Err(bad()),
            },
        };
        Ok(Self { what, form })
    }
}
