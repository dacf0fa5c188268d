//! All of what is asked, where the message with the buttons can't hold it: pages or a file that go ahead of it
//! ([Q2](crate::rules::Q2)).

use super::super::markup::{Style, StyledText, bold, escaped, italic, piece, plain};
use super::super::page::{fits, pages_within};
use crate::profile::{Profile, length};

/// The pages that go ahead of a message; what needs more of them is a file, because nobody reads on so far in a chat.
const PAGES: usize = 4;
/// Characters of the beginning and of the end of a file that its message shows.
const EXCERPT: usize = 400;

/// What goes ahead of a message with buttons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Ahead {
    /// The message itself holds all of it.
    #[default]
    Nothing,
    /// It is on these pages.
    Pages(Vec<String>),
    /// It is in a file with this text.
    File(String),
}

impl Ahead {
    /// Decides where `subject` is shown: in its message, if that has room for it and for the rest of `message`. `source`
    /// is the text of its file.
    pub(super) fn of(
        message: &[StyledText],
        subject: &[StyledText],
        source: impl FnOnce() -> String,
        profile: &Profile,
    ) -> Self {
        if fits(message, profile) {
            return Self::Nothing;
        }
        let widest = written(&heading(PAGES, PAGES), profile);
        let room = profile.limit.saturating_sub(length(&widest) + 1);
        let characters: usize = subject.iter().map(|piece| piece.text.chars().count()).sum();
        let pages = match characters > PAGES * room {
            true => Vec::new(),
            false => pages_within(subject, profile, room),
        };
        if !(1..=PAGES).contains(&pages.len()) {
            return Self::File(source());
        }
        let all = pages.len();
        let page = |(page, number): (String, usize)| {
            format!("{}\n{page}", written(&heading(number, all), profile))
        };
        Self::Pages(pages.into_iter().zip(1..).map(page).collect())
    }

    /// The number of messages that go ahead.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Pages(pages) => pages.len(),
            Self::File(_) => 1,
        }
    }

    /// The text of the message with this number, from 0, and its file.
    pub(super) fn message(
        &self,
        number: usize,
        profile: &Profile,
    ) -> Option<(String, Option<String>)> {
        match self {
            Self::Nothing => None,
            Self::Pages(pages) => Some((pages.get(number)?.clone(), None)),
            Self::File(text) if number == 0 => {
                Some((written(&heading(1, 1), profile), Some(text.clone())))
            }
            Self::File(_) => None,
        }
    }

    /// What the message with the buttons says of it.
    pub(super) fn note(&self, profile: &Profile) -> Vec<StyledText> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Pages(pages) => {
                let place = match pages.len() {
                    1 => "message above".to_owned(),
                    many => format!("{many} messages above"),
                };
                vec![plain("\n"), italic(format!("⬆️ All of it is in the {place}."))]
            }
            Self::File(text) => {
                let count = text.chars().count();
                let [begins, ends] = ends(text, profile).map(|end| piece(Style::block(""), end));
                vec![
                    plain("\n"),
                    italic(format!(
                        "⬆️ All of it is in the file above: {count} characters. It begins:"
                    )),
                    plain("\n"),
                    begins,
                    plain("\n"),
                    italic("and ends:"),
                    plain("\n"),
                    ends,
                ]
            }
        }
    }
}

/// The line above a page of what is asked. It stays true once the question is answered.
fn heading(number: usize, all: usize) -> Vec<StyledText> {
    let part = if all == 1 { String::new() } else { format!(", part {number} of {all}") };
    vec![bold(format!("📄 What is asked below{part}"))]
}

/// A few words as they are written.
fn written(pieces: &[StyledText], profile: &Profile) -> String {
    pages_within(pieces, profile, usize::MAX).concat()
}

/// The beginning and the end of a text, each as long as an excerpt may be where it is written as code.
fn ends<'t>(text: &'t str, profile: &Profile) -> [&'t str; 2] {
    let escapes = Style::block("").escapes(profile);
    let cost = |c: char| match c {
        '`' => length("`") + length(profile.fence_break),
        _ => length(&escaped(escapes, c)),
    };
    let end = |letters: &mut dyn Iterator<Item = char>| {
        let mut left = EXCERPT;
        let mut fitting = letters.map_while(|c| {
            left = left.checked_sub(cost(c))?;
            Some(c.len_utf8())
        });
        fitting.by_ref().sum::<usize>()
    };
    let head = end(&mut text.chars());
    let tail = text.len() - end(&mut text.chars().rev());
    [&text[..head], &text[tail..]]
}
