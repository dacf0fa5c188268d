//! The data of a button: which question it belongs to, and what it says.
//!
//! A chat service gives the data of a button back when a person presses it. Telegram takes at most
//! [`DATA_LIMIT`] bytes, so that an id that is too long has a short handle.

/// Bytes of a button's data, at most.
pub const DATA_LIMIT: usize = 64;
/// Bytes of an id that is its own handle.
const HANDLE_LIMIT: usize = 40;
/// The beginning of the data of all buttons of questions.
const PREFIX: &str = "q";

/// A button that a person pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// The handle of the question.
    handle: String,
    /// The pressed button.
    pub button: PressedButton,
}

/// The meaning of a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PressedButton {
    /// The call runs.
    Allow,
    /// The call does not run.
    Deny,
    /// The call runs, and the suggested change of this number, from 0, is made.
    Suggestion(usize),
    /// An option of a choice.
    Option {
        /// The number of the choice, from 0.
        choice: usize,
        /// The number of the option, from 0.
        option: usize,
    },
    /// The options of a choice are chosen.
    Done {
        /// The number of the choice, from 0.
        choice: usize,
    },
}

impl Press {
    /// Makes the button of the question `id` that says `button`.
    pub fn new(id: &str, button: PressedButton) -> Self {
        Self { handle: handle(id), button }
    }

    /// Reads the data of a button; `None` for that of any other button.
    pub fn parse(data: &str) -> Option<Self> {
        let mut parts = data.split(':');
        let (prefix, handle, button) = (parts.next()?, parts.next()?, parts.next()?);
        if prefix != PREFIX || handle.is_empty() || parts.next().is_some() {
            return None;
        }
        let (kind, numbers) = button.split_at_checked(1)?;
        let button = match (kind, numbers) {
            ("a", "") => PressedButton::Allow,
            ("d", "") => PressedButton::Deny,
            ("s", number) => PressedButton::Suggestion(number.parse().ok()?),
            ("k", number) => PressedButton::Done { choice: number.parse().ok()? },
            ("o", numbers) => {
                let (choice, option) = numbers.split_once('.')?;
                PressedButton::Option { choice: choice.parse().ok()?, option: option.parse().ok()? }
            }
            _ => return None,
        };
        Some(Self { handle: handle.to_owned(), button })
    }

    /// The data of the button, of at most [`DATA_LIMIT`] bytes.
    pub fn data(&self) -> String {
        let button = match self.button {
            PressedButton::Allow => "a".to_owned(),
            PressedButton::Deny => "d".to_owned(),
            PressedButton::Suggestion(number) => format!("s{number}"),
            PressedButton::Done { choice } => format!("k{choice}"),
            PressedButton::Option { choice, option } => format!("o{choice}.{option}"),
        };
        format!("{PREFIX}:{}:{button}", self.handle)
    }

    /// Returns whether the button belongs to the question `id`.
    pub fn is_for(&self, id: &str) -> bool {
        self.handle == handle(id)
    }
}

/// The handle of the question `id`: the id itself, or 16 digits made of it where it is too long.
fn handle(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !id.is_empty() && id.len() <= HANDLE_LIMIT && id.chars().all(is_plain) {
        return id.to_owned();
    }
    // FNV-1a: the same in every process, which a hasher with a seed is not.
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = id.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("~{hash:016x}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    pub(crate) fn q2_the_data_of_a_button_is_short_and_read_back() {
        let long = "x".repeat(200);
        for id in ["6aea6a9c-aaca-494a-a535-23e28a99ab67", "req:1", "ü", "", &long] {
            for button in [
                PressedButton::Allow,
                PressedButton::Deny,
                PressedButton::Suggestion(12),
                PressedButton::Done { choice: 3 },
                PressedButton::Option { choice: 3, option: 99 },
            ] {
                let press = Press::new(id, button);
                let data = press.data();
                assert!(data.len() <= DATA_LIMIT, "{data}");
                assert_eq!(Press::parse(&data), Some(press.clone()), "{data}");
                assert!(press.is_for(id) && !press.is_for("other"), "{id}");
            }
        }
        assert_eq!(Press::new(&long, PressedButton::Deny).data(), "q:~6ee14c8caecd5c45:d");
        for data in
            ["", "q", "q:a", "q::a", "q:i:z", "q:i:a1", "q:i:s", "q:i:o1", "q:i:a:b", "x:i:a"]
        {
            assert_eq!(Press::parse(data), None, "{data}");
        }
    }
}
