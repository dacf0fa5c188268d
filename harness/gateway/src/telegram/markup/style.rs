//! Pieces of text and how they look.

use std::sync::Arc;

use crate::profile::{Escapes, Profile};

/// What kind of letters a piece has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::telegram) enum Face {
    /// Words.
    #[default]
    Text,
    /// The address of a website.
    Address,
    /// Code within a line.
    Code,
    /// A block of code; the language may be empty.
    Block(String),
}

/// How a piece looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::telegram) struct Style {
    pub(in crate::telegram) quote: bool,
    pub(in crate::telegram) link: Option<Arc<str>>,
    pub(in crate::telegram) bold: bool,
    pub(in crate::telegram) italic: bool,
    pub(in crate::telegram) strike: bool,
    pub(in crate::telegram) face: Face,
}

impl Style {
    pub(in crate::telegram) const PLAIN: Self = Self {
        quote: false,
        link: None,
        bold: false,
        italic: false,
        strike: false,
        face: Face::Text,
    };
    pub(in crate::telegram) const ITALIC: Self = Self { italic: true, ..Self::PLAIN };

    /// A block of code.
    pub(in crate::telegram) fn block(language: &str) -> Self {
        Self { face: Face::Block(language.to_owned()), ..Self::PLAIN }
    }

    pub(in crate::telegram) fn is_block(&self) -> bool {
        matches!(self.face, Face::Block(_))
    }

    /// The marks around a piece, the outermost first.
    pub(in crate::telegram) fn marks(&self, profile: &Profile) -> Vec<(String, String)> {
        let mut marks = Vec::new();
        let mut add = |(open, close): (&str, &str), name: &str, value: &str| {
            marks.push((open.replace(name, value), close.replace(name, value)));
        };
        if self.quote {
            add(profile.quote, "", "");
        }
        if let Some(url) = &self.link {
            let url: String = url.chars().map(|c| escaped(profile.url_escapes, c)).collect();
            add(profile.link, "{url}", &url);
        }
        let flags = [
            (self.bold, profile.bold),
            (self.italic, profile.italic),
            (self.strike, profile.strike),
        ];
        for (_, around) in flags.into_iter().filter(|(is_set, _)| *is_set) {
            add(around, "{}", "");
        }
        match &self.face {
            Face::Text | Face::Address => {}
            Face::Code => add(profile.code, "{}", ""),
            Face::Block(language) if language.is_empty() => add(profile.block, "{}", ""),
            Face::Block(language) => add(profile.block_in, "{language}", language),
        }
        marks
    }

    /// What is escaped in a piece.
    pub(in crate::telegram) fn escapes(&self, profile: &Profile) -> Escapes {
        match self.face {
            Face::Text => profile.escapes,
            Face::Address => profile.address_escapes,
            Face::Code => profile.code_escapes,
            Face::Block(_) => profile.block_escapes,
        }
    }
}

/// `c` as it is written where `escapes` count.
pub(in crate::telegram) fn escaped(escapes: Escapes, c: char) -> String {
    let found = escapes.iter().find(|(special, _)| *special == c);
    found.map_or_else(|| c.to_string(), |(_, written)| (*written).to_owned())
}

/// A stretch of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::telegram) struct StyledText {
    pub(in crate::telegram) style: Style,
    pub(in crate::telegram) text: String,
}

/// A piece of `text`.
pub(in crate::telegram) fn piece(style: Style, text: impl Into<String>) -> StyledText {
    StyledText { style, text: text.into() }
}

/// A piece of text without a mark.
pub(in crate::telegram) fn plain(text: impl Into<String>) -> StyledText {
    piece(Style::PLAIN, text)
}

/// A piece of bold text.
pub(in crate::telegram) fn bold(text: impl Into<String>) -> StyledText {
    piece(Style { bold: true, ..Style::PLAIN }, text)
}

/// A piece of text in italics.
pub(in crate::telegram) fn italic(text: impl Into<String>) -> StyledText {
    piece(Style::ITALIC, text)
}
