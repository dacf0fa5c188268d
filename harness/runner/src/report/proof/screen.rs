//! The chat of all runs, one after another, as wrapped lines: what both pictures draw.

use crate::replay::Entry;
use crate::report::page::chat::{ChatFrame, StyledRun, frames, wrap};
use crate::suite::Case;

/// One moment of a picture.
pub(super) struct PictureMoment {
    /// Since the beginning, in ms.
    pub(super) at: u64,
    /// The messages, each a list of lines.
    pub(super) messages: Vec<Vec<Vec<StyledRun>>>,
}

/// Time between two runs of a picture, in ms.
const PAUSE: u64 = 2_000;

/// The moments of all cases one after another, and when the last one has been seen.
pub(super) fn moments(cases: &[Case], columns: usize) -> (Vec<PictureMoment>, u64) {
    let mut moments = Vec::new();
    let mut began = 0;
    for case in cases {
        // What a run left in the chat stays there in the next one.
        let mut before = Vec::new();
        for run in &case.runs {
            let end = run.entries.iter().map(|entry: &Entry| entry.at).max().unwrap_or(0);
            moments.push(PictureMoment { at: began, messages: before.clone() });
            let mut now = before.clone();
            for ChatFrame { at, messages, .. } in frames(&run.entries, case.chat.profile) {
                now.truncate(before.len());
                now.extend(messages.iter().map(|message| wrap(&message.spans, columns)));
                moments.push(PictureMoment { at: began + at, messages: now.clone() });
            }
            before = now;
            began += end + PAUSE;
        }
    }
    (moments, began)
}
