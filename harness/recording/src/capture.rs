//! The two sides of a recorded process: the bytes that the CLI printed, and the lines that its host wrote to it.

use crate::cassette::{Tick, TickKind};
use crate::wire::{ControlResponse, WireLine};

/// The two sides of a recorded process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capture<'a> {
    /// The bytes of stdout.
    pub stdout: &'a [u8],
    /// The lines that the host wrote, in order; empty if there are none or they were not recorded.
    pub stdin: &'a [StdinLine],
}

impl<'a> From<&'a [u8]> for Capture<'a> {
    fn from(stdout: &'a [u8]) -> Self {
        Self { stdout, stdin: &[] }
    }
}

impl<'a> From<&'a Vec<u8>> for Capture<'a> {
    fn from(stdout: &'a Vec<u8>) -> Self {
        Self::from(stdout.as_slice())
    }
}

/// A line that the host wrote to the CLI's stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdinLine {
    /// The line, with its LF.
    pub line: Vec<u8>,
    /// The number of bytes of stdout that the host had read before it wrote the line: the end of the record that
    /// triggered it, and 0 for a line at the start.
    pub offset: u64,
    /// True if the line answers a question of the CLI, so that a person decided it.
    pub is_answer: bool,
}

/// Returns the lines of `stdin` with their places, which the timeline gives.
///
/// Lines that the timeline does not mention are left out, because they were never written.
pub fn stdin_lines(stdin: &[u8], timeline: &[Tick]) -> Vec<StdinLine> {
    let lines: Vec<&[u8]> = stdin.split_inclusive(|&byte| byte == b'\n').collect();
    let mut read = 0;
    let mut written = Vec::new();
    for tick in timeline {
        match tick.kind {
            TickKind::Out(n) => read += n,
            TickKind::In { line: number, offset } => {
                let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                let line = index.and_then(|index| lines.get(index));
                written.extend(line.map(|line| StdinLine::new(line, offset.unwrap_or(read))));
            }
            TickKind::Err(_) | TickKind::Marker(_) | TickKind::Exit(_) => {}
        }
    }
    written
}

/// The id in an answer to which a plan gives a wrong one.
const WRONG_ID: &str = "no-such-request";

impl StdinLine {
    /// Makes a line that was written after `offset` bytes of stdout had been read.
    pub fn new(line: &[u8], offset: u64) -> Self {
        let answer = response(line).and_then(|response| response.permission());
        Self { line: line.to_vec(), offset, is_answer: answer.is_some() }
    }

    /// Returns the answer with the id of a request that the CLI never made.
    pub fn with_wrong_id(&self) -> Vec<u8> {
        match response(&self.line) {
            Some(response) => format!("{}\n", response.to_request(WRONG_ID)).into_bytes(),
            None => self.line.clone(),
        }
    }
}

/// Returns the answer in a line of the host; `None` for another line.
fn response(line: &[u8]) -> Option<ControlResponse> {
    match WireLine::read(line)? {
        WireLine::Response(response) => Some(response),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::cassette::parse_timeline;

    use super::*;

    const ANSWER: &str = concat!(
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","#,
        r#""response":{"behavior":"allow","updatedInput":{}}}}"#,
        "\n"
    );

    #[test]
    fn the_lines_of_the_host_have_their_places() {
        let stdin = format!("{{\"type\":\"user\"}}\n{ANSWER}never\n");
        let timeline = "[0,\"i\",1]\n[1,\"o\",7]\n[1,\"o\",3]\n[9,\"i\",2]\n[9,\"o\",3]\n";
        let lines = stdin_lines(stdin.as_bytes(), &parse_timeline(timeline).unwrap());
        let places: Vec<_> = lines.iter().map(|line| (line.offset, line.is_answer)).collect();
        assert_eq!(places, [(0, false), (10, true)]);
    }

    #[test]
    fn a_wrong_id_changes_nothing_else() {
        let wrong = StdinLine::new(ANSWER.as_bytes(), 0).with_wrong_id();
        let expect = ANSWER.replace("\"q\"", "\"no-such-request\"");
        assert_eq!(String::from_utf8(wrong).unwrap(), expect);
    }
}
