//! Shows the entries of a trace as lines, as JSON, or as the chat itself; at once or in real time.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use clitape_recording::trace::{Entry, Lane};
use clitape_runner::report::{TerminalChat, write_entry};

use crate::terminal::{self, Terminal};

/// The form in which an entry is shown.
pub(super) enum EntryForm {
    /// As a line of JSON.
    Json,
    /// As a line for people.
    Line,
    /// As the chat after this entry.
    Chat(Box<TerminalChat>),
}

/// Shows the entries of some lanes.
pub(super) struct EntryPrinter {
    pub(super) out: Terminal,
    form: EntryForm,
    lanes: Vec<Lane>,
    /// The speed relative to the recording; `None` shows all entries at once.
    speed: Option<f64>,
    /// The time of the previous entry in ms.
    now: u64,
}

impl EntryPrinter {
    pub(super) fn new(form: EntryForm, lanes: &[Lane], speed: Option<f64>) -> Self {
        Self { out: terminal::stdout(), form, lanes: lanes.to_vec(), speed, now: 0 }
    }

    /// Shows an entry, when its time has come. Breaks once the reader of stdout is gone.
    pub(super) fn show(&mut self, entry: &Entry) -> io::Result<ControlFlow<()>> {
        if terminal::reader_is_gone() {
            return Ok(ControlFlow::Break(()));
        }
        if !self.lanes.contains(&entry.lane) {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(speed) = self.speed {
            std::thread::sleep(Duration::from_millis(entry.at - self.now).div_f64(speed));
            self.now = entry.at;
        }
        let out = &mut self.out;
        match &mut self.form {
            EntryForm::Json => out.json(&entry.to_line())?,
            EntryForm::Line => write_entry(out.styled(), entry)?,
            EntryForm::Chat(chat) => {
                if chat.apply(entry) {
                    chat.draw(out.styled(), entry.at)?;
                }
            }
        }
        if self.speed.is_some() {
            out.flush()?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
