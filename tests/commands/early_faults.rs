//! A test of the faults of what `claude` prints, which a run without options plays first. Without python3 it passes without
//! a check.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::time::{Duration, Instant};

use crate::common::{check, has_program, root};
use crate::subjects::{example, with_subjects};

#[test]
fn a_reader_of_short_lines_is_convicted_before_all_else() {
    if !has_program("python3") {
        return;
    }
    let dir = with_subjects("");
    let path = dir.path();
    let program = root().join("subjects/examples/telegram.py");
    let source = fs::read_to_string(&program).unwrap();
    let line = "    for line in process.stdout:\n";
    let strict =
        format!("{line}        if len(line) > 65536: raise ValueError('the line is too long')\n");
    assert!(source.contains(line));
    fs::write(path.join("strict.py"), source.replace(line, &strict)).unwrap();
    let strict = path.join("strict.py").display().to_string();
    let toml = example("", "").replace(&program.display().to_string(), &strict);
    fs::write(path.join("clitape.toml"), toml).unwrap();
    let says = ["SB011 typing-left", "--agent-faults crlf,log-line", "0 scenarios"];
    let early = ["found with faults of what claude prints: SB011 typing-left"];
    let begin = Instant::now();
    check(path, &["test", "--yes", "--subject", "mine", "--fail-fast"], 3, &says, &early);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}
