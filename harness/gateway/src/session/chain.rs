//! The conversation that counts, of all that a transcript holds ([X2](crate::rules::X2)).
//!
//! Lines name the one they follow. A resume that goes round what the CLI could not use, a rewind or
//! an edited prompt leaves a branch behind. What counts is the chain that leads to the last line.
//! Parallel calls are siblings: each line of the message follows the one before, each result follows
//! its own call, and the next message follows the result that came last. So a message that the chain
//! leaves by a result counts whole, with all its results; one that it leaves by a prompt, up to there.

use std::collections::HashSet;

use super::line::{Author, LineContent};
use super::transcript::{Transcript, TranscriptNode};

impl Transcript {
    /// The lines of the conversation that counts, in the order they were written.
    pub(super) fn conversation(&self) -> Vec<&TranscriptNode> {
        let mut on = vec![false; self.nodes.len()];
        let mut messages = HashSet::new();
        let mut is_whole = true;
        let mut at = self.nodes.iter().rposition(|node| node.content.is_some());
        while let Some(index) = at {
            let node = &self.nodes[index];
            if let Some(said) = &node.content {
                on[index] = true;
                match (&said.by, message_id(node)) {
                    (Author::User(_), _) => is_whole = !said.answers.is_empty(),
                    (Author::Assistant(_), Some(id)) if is_whole => {
                        messages.insert(id);
                    }
                    (Author::Assistant(_), _) => {}
                }
            }
            at = node.parent;
        }
        let mut calls = HashSet::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(said) = &node.content else { continue };
            on[index] |= message_id(node).is_some_and(|id| messages.contains(&id));
            on[index] |= said.answers.iter().any(|answer| calls.contains(answer.call.as_str()));
            if let (true, Author::Assistant(message)) = (on[index], &said.by) {
                calls.extend(message.calls.iter().map(|call| call.id.as_str()));
            }
        }
        self.nodes.iter().zip(on).filter(|(_, on)| *on).map(|(node, _)| node).collect()
    }
}

/// The message a line is of, and its turn.
fn message_id(node: &TranscriptNode) -> Option<(u64, &str)> {
    match &node.content {
        Some(LineContent { by: Author::Assistant(message), .. }) => {
            Some((node.turn, message.id.as_deref()?))
        }
        _ => None,
    }
}
