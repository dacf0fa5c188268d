//! A parser that is started once and reads one recording after the other: clitape writes a line of its own after
//! each, which the parser answers with an empty line.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use clitape_runner::record::{Overflow, Program, Scratch, StdinPipe, StdoutUse};
use clitape_runner::threads::start;

use super::boot::LOOK;
use super::call::{Caller, died, last_words};
use super::error::SubjectError;
use crate::observation::RunEnding;

/// The line after a recording.
const END: &[u8] = b"{\"type\":\"clitape_end\"}\n";
/// The pieces of the output that wait to be read; a parser that prints more waits.
const PIECES: usize = 64;

/// A parser that runs, and that has answered the end of each recording so far. Dropping this ends it.
pub(super) struct Lasting {
    program: Program,
    stdin: StdinPipe,
    stdout: Receiver<Vec<u8>>,
    /// What it printed after its last answer.
    unread: Vec<u8>,
    /// The folder, which is removed after the parser has ended.
    scratch: Scratch,
}

impl Lasting {
    /// Starts a parser.
    pub(super) fn start(caller: &Caller<'_>) -> Result<Self, SubjectError> {
        let scratch = caller.scratch()?;
        let mut program = caller.start(Vec::new(), true, StdoutUse::Taken, &scratch)?;
        let pipes = program.take_stdin().zip(program.take_stdout());
        let no_pipes = || io::Error::other("the parser's stdin and stdout can't be taken");
        let (stdin, mut pipe) = pipes.ok_or_else(no_pipes)?;
        let (sender, stdout) = sync_channel(PIECES);
        let read = move || {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match pipe.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(n) if sender.send(buffer[..n].to_vec()).is_err() => break,
                    Ok(_) => {}
                }
            }
        };
        start("stdout", read).map_err(io::Error::from)?;
        Ok(Self { program, stdin, stdout, unread: Vec::new(), scratch })
    }

    /// Gives the parser a recording that ends with a LF, piece by piece. Returns how that ended, what the parser
    /// printed of it, and the parser if it can go on.
    pub(super) fn call(
        self,
        caller: &Caller<'_>,
        pieces: Vec<Vec<u8>>,
        within: Duration,
    ) -> Result<(RunEnding, Vec<u8>, Option<Self>), SubjectError> {
        // The last one is dropped first: the program ends before its folder is removed.
        let Self { scratch, stdout, unread: mut printed, stdin, mut program } = self;
        let begin = Instant::now();
        let mut pieces = pieces.into_iter().chain([END.to_vec()]);
        // A parser that has ended does not read the rest.
        let _ = pieces.try_for_each(|piece| stdin.write(piece));
        let most = caller.output().bytes;
        let (mut looked, mut exit) = (Looked::default(), None);
        loop {
            caller.go_on()?;
            // What it prints before it has read all can't be its answer.
            let answer =
                if stdin.unread().is_none() { blank_line(&printed, &mut looked) } else { None };
            if let Some((end, after)) = answer {
                let unread = printed.split_off(after);
                printed.truncate(end);
                let parser = Self { program, stdin, stdout, unread, scratch };
                return Ok((RunEnding::Over, printed, Some(parser)));
            }
            let overflow = program.overflow();
            let too_long = || {
                let words = Overflow::Bytes(most).with_option();
                most.is_below(printed.len()).then_some(words)
            };
            if let Some(what) = overflow.or_else(too_long) {
                return Ok((RunEnding::Flooded(what), printed, None));
            }
            match stdout.recv_timeout(LOOK) {
                Ok(piece) => printed.extend(piece),
                // All that it printed was read.
                Err(RecvTimeoutError::Disconnected) if exit.is_some() => break,
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
                Err(RecvTimeoutError::Timeout) => {}
            }
            exit = program.poll()?;
            if begin.elapsed() > within {
                break;
            }
        }
        let last_words = last_words(&program);
        let ending = match exit {
            Some(exit) => died(exit, last_words),
            None => RunEnding::Hung {
                waited_s: within.as_secs(),
                waited_for: "it had not answered the line `clitape_end` with an empty line".into(),
                last_words,
            },
        };
        Ok((ending, printed, None))
    }
}

/// How far an output was searched.
#[derive(Default)]
struct Looked {
    /// Where the line begins that is not complete.
    line: usize,
    /// Where the search goes on.
    next: usize,
}

/// Where the first empty line of a growing text begins, and where the text goes on after it.
fn blank_line(text: &[u8], looked: &mut Looked) -> Option<(usize, usize)> {
    while let Some(length) = text[looked.next..].iter().position(|byte| *byte == b'\n') {
        let (begin, after) = (looked.line, looked.next + length + 1);
        if text[begin..after].trim_ascii().is_empty() {
            return Some((begin, after));
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
            assert_eq!(in_pieces, found, "{text:?}");
            assert_eq!(blank_line(text.as_bytes(), &mut Looked::default()), found, "{text:?}");
        }
    }
}
