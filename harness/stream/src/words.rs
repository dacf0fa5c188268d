//! Enums whose variants each have one word, such as `api` for [`FailureKind::Api`].
//!
//! [`FailureKind::Api`]: crate::FailureKind::Api

use std::error::Error;
use std::fmt;

/// The text is none of the words of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownWord {
    /// The text.
    pub word: String,
    /// The words of the enum.
    pub expected: &'static [&'static str],
}

impl Error for UnknownWord {}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, expected } = self;
        write!(f, "`{word}` is unknown; use one of {}", expected.join(", "))
    }
}

/// Implements `as_str`, `Display` and `FromStr` for an enum from one list of its words.
macro_rules! words {
    ($type:ident { $($variant:ident => $word:literal,)* }) => {
        impl $type {
            /// All values, in the order of their definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word for this value, as the trace prints it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::words::UnknownWord {
                        word: word.to_owned(),
                        expected: &[$($word),*],
                    }),
                }
            }
        }
    };
}
pub(crate) use words;

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use serde_json::to_value;

    use crate::{DiagnosticCode, FailureKind, Incomplete, RunStatus, ToolKind};

    /// The enum prints `word`, reads it, and serialises to it.
    fn check<T>(value: &T, word: &str)
    where
        T: FromStr<Err: std::fmt::Debug>
            + ToString
            + PartialEq
            + std::fmt::Debug
            + serde::Serialize,
    {
        assert_eq!(value.to_string(), word);
        assert_eq!(to_value(value).unwrap(), word);
        assert_eq!(&word.parse::<T>().unwrap(), value);
    }

    #[test]
    fn a_value_prints_parses_and_serialises_as_its_word() {
        check(&ToolKind::McpToolUse, "mcp_tool_use");
        check(&Incomplete::Ambiguous, "ambiguous");
        check(&RunStatus::Incomplete, "incomplete");
        check(&FailureKind::MaxTurns, "max_turns");
        check(&DiagnosticCode::InvalidUtf8, "invalid-utf8");
        check(&DiagnosticCode::LineTooLong, "line-too-long");
    }

    #[test]
    fn an_unknown_word_is_refused_with_the_words_there_are() {
        let error = "done".parse::<RunStatus>().unwrap_err();
        assert_eq!(error.to_string(), "`done` is unknown; use one of ok, error, incomplete");
    }
}
