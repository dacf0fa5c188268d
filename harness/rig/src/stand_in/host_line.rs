//! Reads a line of the host, and classes it by its effect on the CLI.

use clitape_recording::wire::{ControlRequest, ControlResponse, UserMessage, WireLine};

/// The meaning of a line of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostAct {
    /// A message of a person.
    Message(UserMessage),
    /// The answer to a request of the CLI.
    Answer {
        /// The response.
        answer: ControlResponse,
        /// The line itself, without its LF.
        line: Vec<u8>,
    },
    /// A request of the host.
    Request(ControlRequest),
    /// A record that the CLI ignores, such as `keep_alive`; its type.
    Other(String),
    /// A line that is not a JSON object.
    Unusable,
    /// A line of white space.
    Blank,
}

impl HostAct {
    /// Reads a line, with its LF or without.
    pub(super) fn read(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        match WireLine::read(line) {
            Some(WireLine::Message(message)) => Self::Message(message),
            Some(WireLine::Response(answer)) => Self::Answer { answer, line: line.to_vec() },
            Some(WireLine::Request(request)) => Self::Request(request),
            Some(other) => Self::Other(match other.kind() {
                "" => "a record without a type".to_owned(),
                kind => kind.to_owned(),
            }),
            None if line.is_empty() => Self::Blank,
            None => Self::Unusable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_reaction_have_their_type() {
        for (line, expect) in [
            (r#"{"type":"keep_alive"}"#, HostAct::Other("keep_alive".to_owned())),
            ("{}", HostAct::Other("a record without a type".to_owned())),
            ("[1]", HostAct::Unusable),
            ("hello", HostAct::Unusable),
            (" \n", HostAct::Blank),
        ] {
            assert_eq!(HostAct::read(line.as_bytes()), expect, "{line}");
        }
    }
}
