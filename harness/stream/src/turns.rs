//! The turns that have ended, as far as a later result depends on them: their number, the messages
//! that began in them, and text whose result has not come yet (T2).

use std::collections::{HashSet, VecDeque};

use crate::result_record::ResultRecord;
use crate::transcript::RunTranscript;

/// Number of messages of ended turns that are remembered.
const REMEMBERED_MESSAGES: usize = 1024;

/// The facts of ended turns that later results depend on.
#[derive(Debug, Default)]
pub(crate) struct EndedTurns {
    count: u64,
    /// Ids of the messages of these turns, and whether each came as stream events.
    messages: VecDeque<(String, bool)>,
    /// Transcripts with text that no result has used yet, because the CLI holds results back until
    /// several turns are over.
    held_back: VecDeque<RunTranscript>,
    /// The last record, if it was a result.
    last_result: Option<String>,
}

impl EndedTurns {
    /// Number of turns that have ended.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Records that a record other than a result has come.
    pub(crate) fn other_record(&mut self) {
        if self.last_result.is_some() {
            self.last_result = None;
        }
    }

    /// Returns whether this result repeats the record before it byte for byte.
    pub(crate) fn is_repeated(&mut self, record: &str) -> bool {
        let is_repeated = self.last_result.as_deref() == Some(record);
        if !is_repeated {
            self.last_result = Some(record.to_owned());
        }
        is_repeated
    }

    /// Returns whether a result names messages, and all of them are of turns that have ended.
    pub(crate) fn is_late(&self, record: &ResultRecord) -> bool {
        let ended = |id: &String| self.messages.iter().any(|(known, _)| known == id);
        !record.begun.is_empty() && record.begun.iter().all(ended)
    }

    /// Returns whether the message with this id came as stream events of a turn that has ended.
    pub(crate) fn has_streamed(&self, id: &str) -> bool {
        self.messages.iter().any(|(known, streamed)| *streamed && known == id)
    }

    /// Ends a turn, and returns its number. `messages` are the ids of its messages, and whether each
    /// was streamed; another result may come for those that this one does not name.
    pub(crate) fn end<'m>(
        &mut self,
        record: &ResultRecord,
        messages: impl DoubleEndedIterator<Item = (&'m str, bool)>,
    ) -> u64 {
        let named: HashSet<&str> = record.begun.iter().map(String::as_str).collect();
        let is_named = |id: &str| named.is_empty() || named.contains(id);
        let ended = messages.filter(|(id, _)| !id.is_empty() && is_named(id));
        let newest: Vec<_> = ended.rev().take(REMEMBERED_MESSAGES).collect();
        self.messages
            .extend(newest.into_iter().rev().map(|(id, streamed)| (id.to_owned(), streamed)));
        self.messages.drain(..self.messages.len().saturating_sub(REMEMBERED_MESSAGES));
        self.count += 1;
        self.count
    }

    /// Returns the transcript that a result with this text belongs to: that of the turn that ends
    /// now, unless an earlier turn waits for its result.
    pub(crate) fn transcript_for(&mut self, result: &str, current: RunTranscript) -> RunTranscript {
        let fits = |transcript: &RunTranscript| match result {
            "" => !transcript.is_used_up(),
            text => transcript.repeats(text),
        };
        if fits(&current) {
            return current;
        }
        let Some(at) = self.held_back.iter().position(fits) else { return current };
        let found = self.held_back.drain(..=at).next_back();
        self.hold_back(current);
        found.unwrap_or_default()
    }

    /// Keeps a transcript until a result uses the rest of its text.
    pub(crate) fn hold_back(&mut self, transcript: RunTranscript) {
        if !transcript.is_used_up() {
            self.held_back.push_back(transcript);
        }
    }

    /// Gives up the text that no result has used.
    pub(crate) fn give_up_text(&mut self) {
        self.held_back.clear();
    }
}
