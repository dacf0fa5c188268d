//! The phrases of the two tables, such as `to {path}[ ({content:chars})]`.
//!
//! Text in braces is a slot, which the module that owns the table fills. Text in brackets is left
//! out if one of its slots is empty; all other slots must be filled, or the phrase is left out as a
//! whole. Of several phrases, the first that is complete counts.

use std::str::FromStr;

use serde::Deserialize;

/// An error in a phrase of a table.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum PhraseError {
    /// A bracket or a brace is not in order.
    #[error("close each bracket and brace of `{0}` before the next one opens")]
    Unbalanced(String),
    /// The text in the braces is not a slot.
    #[error("`{{{0}}}` is no slot; take one that is told at the top of the table")]
    Slot(String),
}

/// One phrase; `S` is what its slots may be.
#[derive(Debug)]
struct Phrase<S> {
    parts: Vec<PhrasePart<S>>,
}

#[derive(Debug)]
struct PhrasePart<S> {
    is_optional: bool,
    pieces: Vec<PhrasePiece<S>>,
}

#[derive(Debug)]
enum PhrasePiece<S> {
    Text(String),
    Slot(S),
}

/// The phrases for one tool, program or verb, best first.
#[derive(Debug, Deserialize)]
#[serde(try_from = "PhraseSource", bound = "S: FromStr<Err = PhraseError>")]
pub(super) struct Phrases<S>(Vec<Phrase<S>>);

/// A table writes one phrase as a string, several as a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum PhraseSource {
    One(String),
    Many(Vec<String>),
}

impl<S: FromStr<Err = PhraseError>> TryFrom<PhraseSource> for Phrases<S> {
    type Error = PhraseError;

    fn try_from(lines: PhraseSource) -> Result<Self, PhraseError> {
        let lines = match lines {
            PhraseSource::One(line) => vec![line],
            PhraseSource::Many(lines) => lines,
        };
        lines.iter().map(|line| line.parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl<S> Phrases<S> {
    /// Returns the first phrase that is complete, its slots filled by `fill`.
    pub(super) fn say(&self, fill: impl Fn(&S) -> Option<String>) -> Option<String> {
        self.0.iter().find_map(|phrase| phrase.say(&fill))
    }
}

impl<S> Phrase<S> {
    fn say(&self, fill: &impl Fn(&S) -> Option<String>) -> Option<String> {
        let mut said = String::new();
        for part in &self.parts {
            let words = part.pieces.iter().map(|piece| match piece {
                PhrasePiece::Text(text) => Some(text.clone()),
                PhrasePiece::Slot(slot) => fill(slot),
            });
            match words.collect::<Option<String>>() {
                Some(words) => said.push_str(&words),
                None if part.is_optional => {}
                None => return None,
            }
        }
        let said = said.trim();
        (!said.is_empty()).then(|| said.to_owned())
    }
}

impl<S: FromStr<Err = PhraseError>> FromStr for Phrase<S> {
    type Err = PhraseError;

    fn from_str(line: &str) -> Result<Self, PhraseError> {
        let unbalanced = || PhraseError::Unbalanced(line.to_owned());
        let mut parts = vec![PhrasePart { is_optional: false, pieces: Vec::new() }];
        let mut rest = line;
        while !rest.is_empty() {
            let (text, sign);
            (text, sign, rest) = match rest.find(['[', ']', '{', '}']) {
                Some(at) => (&rest[..at], rest.as_bytes()[at], &rest[at + 1..]),
                None => (rest, b' ', ""),
            };
            let part = parts.last_mut().ok_or_else(unbalanced)?;
            if !text.is_empty() {
                part.pieces.push(PhrasePiece::Text(text.to_owned()));
            }
            match sign {
                b'{' => {
                    let (slot, after) = rest.split_once('}').ok_or_else(unbalanced)?;
                    part.pieces.push(PhrasePiece::Slot(slot.parse()?));
                    rest = after;
                }
                b'[' | b']' if part.is_optional == (sign == b'[') => return Err(unbalanced()),
                b'[' | b']' => {
                    parts.push(PhrasePart { is_optional: sign == b'[', pieces: Vec::new() });
                }
                b'}' => return Err(unbalanced()),
                _ => {}
            }
        }
        match parts.last() {
            Some(PhrasePart { is_optional: false, .. }) => Ok(Self { parts }),
            _ => Err(unbalanced()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct TestSlot(String);

    impl FromStr for TestSlot {
        type Err = PhraseError;

        fn from_str(name: &str) -> Result<Self, PhraseError> {
            match name {
                "" => Err(PhraseError::Slot(name.to_owned())),
                _ => Ok(Self(name.to_owned())),
            }
        }
    }

    fn check(lines: &[&str], there: &[&str], expect: Option<&str>) {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let phrases = Phrases::<TestSlot>::try_from(PhraseSource::Many(lines)).unwrap();
        let fill =
            |name: &TestSlot| there.contains(&name.0.as_str()).then(|| name.0.to_uppercase());
        assert_eq!(phrases.say(fill).as_deref(), expect);
    }

    #[test]
    fn v2_a_phrase_is_said_as_far_as_it_can_be() {
        check(&["to {a}[ ({b} chars)]"], &["a", "b"], Some("to A (B chars)"));
        check(&["to {a}[ ({b} chars)]"], &["a"], Some("to A"));
        check(&["to {a}[ ({b} chars)]"], &["b"], None);
        check(&["[{a}][ in {b}]"], &["b"], Some("in B"));
        check(&["[{a}][ in {b}]"], &[], None);
        check(&["{a}", "{b}", "nothing"], &["b"], Some("B"));
        check(&["{a}", "{b}", "nothing"], &[], Some("nothing"));
    }

    #[test]
    fn v2_an_invalid_phrase_is_refused() {
        for line in ["{a", "a}", "[a", "a]", "[[a]]", "[a]]"] {
            let error = line.parse::<Phrase<TestSlot>>().unwrap_err();
            assert_eq!(error, PhraseError::Unbalanced(line.to_owned()), "{line}");
        }
        let error = "{}".parse::<Phrase<TestSlot>>().unwrap_err();
        assert_eq!(error, PhraseError::Slot(String::new()));
    }
}
