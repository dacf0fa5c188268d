//! The pipe to the CLI's stdin. A thread of its own writes the lines, because a full pipe blocks the writer.

use std::io::Write;
use std::sync::mpsc::{Sender, channel};

/// The open stdin of a CLI.
pub(crate) struct StdinPipe {
    writer: Option<Sender<String>>,
}

impl StdinPipe {
    /// A pipe that is written by a thread; without one, lines go nowhere.
    pub(crate) fn new(pipe: Option<Box<dyn Write + Send>>) -> Self {
        let writer = pipe.map(|mut pipe| {
            let (writer, lines) = channel::<String>();
            std::thread::spawn(move || {
                for line in lines {
                    // An error means that the program no longer reads; its output shows the consequence.
                    let _ = writeln!(pipe, "{line}");
                }
            });
            writer
        });
        Self { writer }
    }

    /// Writes a line and its LF.
    pub(crate) fn write(&self, line: &str) {
        if let Some(writer) = &self.writer {
            // The thread ends only after this sender is dropped, so there is no error.
            let _ = writer.send(line.to_owned());
        }
    }

    /// Closes stdin once every line is written.
    pub(crate) fn close(&mut self) {
        self.writer = None;
    }
}
