//! Events that outlive the parser.

use std::borrow::Cow;

use crate::event::Event;

/// An event that outlives the parser and contains no text so far.
///
/// A copy of the whole text with each delta would make the cost of a long answer quadratic. Join
/// the deltas instead, and cut the joined text to the length in [`Event::Retract`].
pub type OwnedEvent = Event<'static, OmittedText>;

/// Takes the place of a text so far in an [`OwnedEvent`], because only the parser has that text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OmittedText;

impl<'a, T> Event<'a, T> {
    /// Leaves the texts so far out, without a copy: it can be compared with an [`OwnedEvent`].
    pub fn without_texts(self) -> Event<'a, OmittedText> {
        use Event as E;
        let (text, other) = (OmittedText, OmittedText);
        match self {
            E::Session { session_id, model, cli_version } => {
                E::Session { session_id, model, cli_version }
            }
            E::Text { message_id, delta, length, parent, .. } => {
                E::Text { message_id, delta, length, text, message_text: other, parent }
            }
            E::Thinking { message_id, block, delta, length, parent, .. } => {
                E::Thinking { message_id, block, delta, length, text, block_text: other, parent }
            }
            E::Retract { message_id, length, thinking_length, calls, parent, .. } => {
                let thinking = other;
                E::Retract { message_id, length, thinking_length, calls, text, thinking, parent }
            }
            E::ToolInput { id, name, args, parent } => E::ToolInput { id, name, args, parent },
            E::ToolStart { id, name, kind, args, parent } => {
                E::ToolStart { id, name, kind, args, parent }
            }
            E::ToolResult { id, name, is_error, result, incomplete, parent } => {
                E::ToolResult { id, name, is_error, result, incomplete, parent }
            }
            E::Usage { usage, is_final } => E::Usage { usage, is_final },
            E::Notice { kind, subtype, detail } => E::Notice { kind, subtype, detail },
            E::Record { kind, subtype, raw } => E::Record { kind, subtype, raw },
            E::Unknown { kind, subtype, raw } => E::Unknown { kind, subtype, raw },
            E::Diagnostic { code, message, line } => E::Diagnostic { code, message, line },
            E::Question { id, name, call, input, suggestions, detail, parent } => {
                E::Question { id, name, call, input, suggestions, detail, parent }
            }
            E::QuestionWithdrawn { id } => E::QuestionWithdrawn { id },
            E::Answered { id, decision, message, input } => {
                E::Answered { id, decision, message, input }
            }
            E::Control { id, subtype, error, detail } => E::Control { id, subtype, error, detail },
            E::Request { id, subtype, detail } => E::Request { id, subtype, detail },
            E::HostMessage { id, kind, text } => E::HostMessage { id, kind, text },
            E::Heard { id, text, folded } => E::Heard { id, text, folded },
            E::Outcome(outcome) => E::Outcome(outcome),
        }
    }
}

impl<T> Event<'_, T> {
    /// Copies the event so that it outlives the parser, without the texts so far.
    pub fn into_owned(self) -> OwnedEvent {
        use Event as E;
        match self {
            E::Session { session_id, model, cli_version } => E::Session {
                session_id: own(session_id),
                model: model.map(own),
                cli_version: cli_version.map(own),
            },
            E::Text { message_id, delta, length, parent, .. } => E::Text {
                message_id: own(message_id),
                delta: own(delta),
                length,
                text: OmittedText,
                message_text: OmittedText,
                parent: parent.map(own),
            },
            E::Thinking { message_id, block, delta, length, parent, .. } => E::Thinking {
                message_id: own(message_id),
                block,
                delta: own(delta),
                length,
                text: OmittedText,
                block_text: OmittedText,
                parent: parent.map(own),
            },
            E::Retract { message_id, length, thinking_length, calls, parent, .. } => E::Retract {
                message_id: own(message_id),
                length,
                thinking_length,
                calls: own(calls),
                text: OmittedText,
                thinking: OmittedText,
                parent: parent.map(own),
            },
            E::ToolInput { id, name, args, parent } => E::ToolInput {
                id: own(id),
                name: own(name),
                args: args.into_owned(),
                parent: parent.map(own),
            },
            E::ToolStart { id, name, kind, args, parent } => E::ToolStart {
                id: own(id),
                name: own(name),
                kind,
                args: args.into_owned(),
                parent: parent.map(own),
            },
            E::ToolResult { id, name, is_error, result, incomplete, parent } => E::ToolResult {
                id: own(id),
                name: own(name),
                is_error,
                result: result.into_owned(),
                incomplete,
                parent: parent.map(own),
            },
            E::Usage { usage, is_final } => E::Usage { usage, is_final },
            E::Notice { kind, subtype, detail } => {
                E::Notice { kind: own(kind), subtype: subtype.map(own), detail: own(detail) }
            }
            E::Record { kind, subtype, raw } => {
                E::Record { kind: own(kind), subtype: subtype.map(own), raw: own(raw) }
            }
            E::Unknown { kind, subtype, raw } => {
                E::Unknown { kind: own(kind), subtype: subtype.map(own), raw: own(raw) }
            }
            E::Diagnostic { code, message, line } => {
                E::Diagnostic { code, message: own(message), line }
            }
            E::Question { id, name, call, input, suggestions, detail, parent } => E::Question {
                id: own(id),
                name: own(name),
                call: call.map(own),
                input: input.into_owned(),
                suggestions: suggestions.into_owned(),
                detail: own(detail),
                parent: parent.map(own),
            },
            E::QuestionWithdrawn { id } => E::QuestionWithdrawn { id: own(id) },
            E::Answered { id, decision, message, input } => E::Answered {
                id: own(id),
                decision,
                message: message.map(own),
                input: input.into_owned(),
            },
            E::Control { id, subtype, error, detail } => E::Control {
                id: own(id),
                subtype: subtype.map(own),
                error: error.map(own),
                detail: own(detail),
            },
            E::Request { id, subtype, detail } => {
                E::Request { id: own(id), subtype: own(subtype), detail: own(detail) }
            }
            E::HostMessage { id, kind, text } => {
                E::HostMessage { id: id.map(own), kind: own(kind), text: text.map(own) }
            }
            E::Heard { id, text, folded } => E::Heard { id: id.map(own), text: own(text), folded },
            E::Outcome(outcome) => E::Outcome(own(outcome)),
        }
    }
}

fn own<T: ToOwned + ?Sized + 'static>(value: Cow<'_, T>) -> Cow<'static, T> {
    Cow::Owned(value.into_owned())
}
