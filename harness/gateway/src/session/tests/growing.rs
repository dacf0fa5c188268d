//! X1: a transcript that grows while it is read.

use std::fs::File;
use std::io::{BufReader, Read, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::*;

/// Reads a file a few bytes at a time; before each read, the writer adds a piece to it.
struct Grows {
    file: File,
    ask: Sender<()>,
    written: Receiver<()>,
}

impl Read for Grows {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        // The writer is gone once it has added all.
        if self.ask.send(()).is_ok() {
            let _ = self.written.recv();
        }
        let end = buffer.len().min(7);
        self.file.read(&mut buffer[..end])
    }
}

#[test]
pub(crate) fn x1_a_transcript_that_grows_while_it_is_read() {
    let lines = [
        (prompt("u", "", "hi"), "no-assistant"),
        (said("1", "u", "m", Some("tool_use"), call("a")), "orphaned-tool-use"),
        (result("2", "1", "a"), "cut-mid-text"),
        (said("3", "2", "n", Some("end_turn"), text("done")), "complete"),
    ];
    let bytes: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    let dir = tempfile::tempdir().unwrap();
    // The writer stops after so many pieces of eleven bytes.
    for stop in 0..=bytes.len().div_ceil(11) {
        let path = dir.path().join(format!("{stop}.jsonl"));
        let mut out = File::create(&path).unwrap();
        let ((ask, asked), (wrote, written)) = (channel(), channel());
        let pieces: Vec<Vec<u8>> =
            bytes.as_bytes().chunks(11).take(stop).map(<[u8]>::to_vec).collect();
        let writer = thread::spawn(move || {
            for piece in pieces {
                if asked.recv().is_err() {
                    return;
                }
                out.write_all(&piece).unwrap();
                let _ = wrote.send(());
            }
        });
        let file = File::open(&path).unwrap();
        let reader = BufReader::with_capacity(16, Grows { file, ask, written });
        let told = resumability(&transcript::read(reader).unwrap());
        writer.join().unwrap();
        let end = bytes.len().min(stop * 11);
        let mut whole = 0;
        let mut expect = "empty";
        for (line, reason) in &lines {
            whole += line.to_string().len();
            if whole <= end {
                expect = reason;
            }
            whole += 1;
        }
        assert_eq!(told.reason.as_str(), expect, "after {end} bytes");
    }
}
