//! Asks what to do with a golden: one key on a terminal, a line elsewhere.

use std::io::{self, BufRead as _, IsTerminal as _};

use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

use crate::terminal::Terminal;

/// The lines that `?` shows.
const HELP: [&str; 8] = [
    "a  accept it",
    "r  reject it",
    "s  skip it: it waits for the next review",
    "A  accept it and all that follow",
    "q  quit: the rest waits for the next review",
    "o  show the old golden",
    "n  show the new golden",
    "d  show the diff of their entries",
];
/// The first byte of the sequence that a key without a character sends.
const ESCAPE: u8 = 0x1b;
/// Ctrl-C and Ctrl-D.
const ENDS: [u8; 2] = [3, 4];

/// The answer of a person about a golden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewAnswer {
    Accept,
    Reject,
    Skip,
    AcceptAll,
    Quit,
    Old,
    New,
    Diff,
}

impl ReviewAnswer {
    /// Returns the answer that a key or a word means.
    fn read(word: &str) -> Option<Self> {
        Some(match word {
            "a" | "accept" => Self::Accept,
            "r" | "reject" => Self::Reject,
            "s" | "skip" => Self::Skip,
            "A" => Self::AcceptAll,
            "q" | "quit" => Self::Quit,
            "o" | "old" => Self::Old,
            "n" | "new" => Self::New,
            "d" | "diff" => Self::Diff,
            _ => return None,
        })
    }
}

/// Asks until there is an answer. An empty line skips the golden, as does the end of the input.
pub(super) fn ask(out: &mut Terminal) -> anyhow::Result<ReviewAnswer> {
    loop {
        out.ask(
            "  [a]ccept, [r]eject, [s]kip, [A]ccept all, [q]uit, ? for help, or show [o]ld, [n]ew, [d]iff? ",
        )?;
        let (word, empty) = match io::stdin().is_terminal() {
            true => {
                let word = key()?;
                out.line(word.as_deref().unwrap_or_default())?;
                (word, None)
            }
            false => {
                let mut line = String::new();
                let ended = io::stdin().lock().read_line(&mut line)? == 0;
                if ended {
                    out.line("")?;
                }
                ((!ended).then(|| line.trim().to_owned()), Some(ReviewAnswer::Skip))
            }
        };
        // A closed terminal ends the review; a list of answers that is too short skips the rest.
        let Some(word) = word else { return Ok(empty.unwrap_or(ReviewAnswer::Quit)) };
        if let Some(answer) = ReviewAnswer::read(&word).or(empty.filter(|_| word.is_empty())) {
            return Ok(answer);
        }
        if word == "?" {
            for line in HELP {
                out.line(format_args!("    {line}"))?;
            }
        }
    }
}

/// Waits for one key on the terminal of stdin; `None` for Ctrl-C, Ctrl-D, and the end of the terminal. The settings of
/// the terminal are restored on return.
fn key() -> anyhow::Result<Option<String>> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut single = before.clone();
    single.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
    tcsetattr(&stdin, SetArg::TCSADRAIN, &single)?;
    let key = pressed(&mut stdin.lock());
    tcsetattr(&stdin, SetArg::TCSADRAIN, &before)?;
    Ok(key?)
}

/// Takes one key from the typed bytes. The sequence of an arrow or a function key is taken whole, because its letters
/// would count as answers.
fn pressed(typed: &mut impl io::BufRead) -> io::Result<Option<String>> {
    let bytes = typed.fill_buf()?;
    let (used, key) = match bytes.first().copied() {
        None => (0, None),
        Some(ESCAPE) => (sequence(bytes), Some(String::new())),
        Some(byte) if ENDS.contains(&byte) => (1, None),
        Some(byte) if byte.is_ascii_graphic() => (1, Some(char::from(byte).to_string())),
        Some(_) => (1, Some(String::new())),
    };
    typed.consume(used);
    Ok(key)
}

/// Returns the length of the sequence at the start: `ESC [ … letter`, `ESC O letter`, or the escape key alone.
fn sequence(bytes: &[u8]) -> usize {
    let end = match bytes.get(1) {
        Some(b'[') => bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)),
        Some(b'O') => Some(0),
        _ => return 1,
    };
    end.map_or(bytes.len(), |end| (3 + end).min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &[u8], expect: &[Option<&str>]) {
        let mut rest = typed;
        for key in expect {
            assert_eq!(pressed(&mut rest).unwrap().as_deref(), *key, "{typed:?}");
        }
        assert!(rest.is_empty(), "{rest:?} is left");
    }

    #[test]
    fn a_key_is_one_answer_and_an_arrow_is_none() {
        check(b"aA?", &[Some("a"), Some("A"), Some("?"), None]);
        check(b"\x1b[Aq", &[Some(""), Some("q"), None]);
        check(b"r\x1bOA\x1b[1;5A", &[Some("r"), Some(""), Some(""), None]);
        check(b"\x1ba\x1b[", &[Some(""), Some("a"), Some(""), None]);
        check(b"s\x03", &[Some("s"), None]);
        check(b"\n\xc3", &[Some(""), Some(""), None]);
    }
}
