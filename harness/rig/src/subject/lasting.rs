//! A parser that is started once and reads one recording after another. clitape writes a line after each recording,
//! which the parser answers with an empty line.

use std::time::Duration;

use clitape_judge::observation::ObservedEnding;
use clitape_process::{Attendant, Ending, OutputPiece, OutputReader, Program, Scratch, StdinPipe};

use super::call::{ProgramCaller, died, last_words};
use super::error::SubjectError;

/// The line that ends a recording.
const END: &[u8] = b"{\"type\":\"clitape_end\"}\n";

/// A running parser that has answered the end of each recording so far. Dropping it ends the parser.
pub(super) struct Lasting {
    program: Program,
    stdin: StdinPipe,
    /// Its output after the last answer.
    unread: Vec<u8>,
    /// The temporary folder, which is removed after the parser has ended.
    scratch: Scratch,
}

/// A reader of the output that stops at the empty line which answers a recording.
struct AnswerReader<'a> {
    stdin: &'a StdinPipe,
    printed: Vec<u8>,
    looked: Looked,
}

/// The place of an empty line in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EmptyLine {
    /// The offset at which it begins.
    begin: usize,
    /// The offset behind it.
    after: usize,
}

impl Attendant for AnswerReader<'_> {
    type Reason = EmptyLine;

    fn take(&mut self, piece: OutputPiece) -> Result<(), Ending<EmptyLine>> {
        if piece.is_stdout {
            self.printed.extend(piece.bytes);
        }
        Ok(())
    }

    fn act(&mut self, _program: &mut Program) -> Result<(), Ending<EmptyLine>> {
        // Output before it has read the whole recording can't be its answer.
        let is_answer = self.stdin.unread().is_none();
        let answer = is_answer.then(|| blank_line(&self.printed, &mut self.looked)).flatten();
        answer.map_or(Ok(()), |answer| Err(Ending::Reason(answer)))
    }
}

impl Lasting {
    /// Starts the parser.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn start(caller: &ProgramCaller<'_>) -> Result<Self, SubjectError> {
        let scratch = caller.scratch()?;
        let mut program = caller.start(Vec::new(), true, OutputReader::Attendant, &scratch)?;
        let stdin = program.take_stdin().expect("it is started with one");
        Ok(Self { program, stdin, unread: Vec::new(), scratch })
    }

    /// Gives the parser a recording that ends with a LF, piece by piece. Returns the ending, the output for this
    /// recording, and the parser if it can go on.
    pub(super) fn call(
        self,
        caller: &ProgramCaller<'_>,
        pieces: Vec<Vec<u8>>,
        within: Duration,
    ) -> Result<(ObservedEnding, Vec<u8>, Option<Self>), SubjectError> {
        // The last one of these is dropped first, so that the program ends before its folder is removed.
        let Self { scratch, unread: printed, stdin, mut program } = self;
        program.count_anew();
        let mut pieces = pieces.into_iter().chain([END.to_vec()]);
        // A parser that has ended does not read the rest.
        let _ = pieces.try_for_each(|piece| stdin.write(piece));
        let mut reader = AnswerReader { stdin: &stdin, printed, looked: Looked::default() };
        let ending = program.attend(&mut reader, within, caller.stop())?;
        let mut printed = reader.printed;
        caller.go_on()?;
        let ending = match (ending, program.poll()?) {
            (Ending::Reason(EmptyLine { begin, after }), _) => {
                let unread = printed.split_off(after);
                printed.truncate(begin);
                let parser = Self { program, stdin, unread, scratch };
                return Ok((ObservedEnding::Over, printed, Some(parser)));
            }
            (Ending::Overflow(what), _) => ObservedEnding::Flooded(what.with_option()),
            (_, Some(exit)) => died(exit, last_words(&program)),
            (_, None) => ObservedEnding::Hung {
                waited_s: within.as_secs(),
                waited_for: "it had not answered the line `clitape_end` with an empty line".into(),
                last_words: last_words(&program),
            },
        };
        Ok((ending, printed, None))
    }
}

/// The progress of a search in a growing output.
#[derive(Default)]
struct Looked {
    /// The start of the line that is not complete.
    line: usize,
    /// The place at which the search continues.
    next: usize,
}

/// Finds the first empty line of a growing text.
fn blank_line(text: &[u8], looked: &mut Looked) -> Option<EmptyLine> {
    while let Some(length) = text[looked.next..].iter().position(|byte| *byte == b'\n') {
        let (begin, after) = (looked.line, looked.next + length + 1);
        if text[begin..after].trim_ascii().is_empty() {
            return Some(EmptyLine { begin, after });
        }
        *looked = Looked { line: after, next: after };
    }
    looked.next = text.len();
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_is_found_where_it_ends() {
        for (text, found) in [
            ("", None),
            ("a", None),
            ("a\nb\n", None),
            ("\n", Some((0, 1))),
            ("a\n\nb", Some((2, 3))),
            ("a\r\n\r\nb", Some((3, 5))),
            (" a \n \nb\n\n", Some((4, 6))),
        ] {
            let mut looked = Looked::default();
            let pieces = (0..=text.len()).map(|end| &text.as_bytes()[..end]);
            let in_pieces = pieces.filter_map(|text| blank_line(text, &mut looked)).next();
            let found = found.map(|(begin, after)| EmptyLine { begin, after });
            assert_eq!(in_pieces, found, "{text:?}");
            assert_eq!(blank_line(text.as_bytes(), &mut Looked::default()), found, "{text:?}");
        }
    }
}
