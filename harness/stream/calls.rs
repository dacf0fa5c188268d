//! The tool calls of a run: each starts once and ends once (U1, U3, U4, U5).

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::event::{Args, DiagnosticCode, Event, Incomplete, ToolKind};
use crate::json;
use crate::tell::Tell;
use crate::value;

/// Who brings a result: the same assistant-side block comes twice, streamed and as a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// A `tool_result` block of a user record.
    User,
    /// A `…_tool_result` block of the assistant.
    Assistant,
}

/// Where a call was announced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The subagent's tool call.
    pub(crate) parent: Option<&'a str>,
    /// Id of the message.
    pub(crate) message: &'a str,
    /// Whether the message came as stream events, so that a snapshot repeats it.
    pub(crate) streamed: bool,
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    kind: ToolKind,
    parent: Option<String>,
    message: String,
    ended: Option<Side>,
}

impl Call {
    /// Whether an announcement at `place` repeats this call rather than making a new one (U4).
    fn is_repeated(&self, place: Place<'_>) -> bool {
        let same_message =
            self.message == place.message || self.message.is_empty() || place.message.is_empty();
        self.parent.as_deref() == place.parent
            && same_message
            && (self.ended.is_none() || place.streamed)
    }
}

/// A result that came before its call.
#[derive(Debug)]
struct Held {
    side: Side,
    is_error: bool,
    result: Value,
    raw: String,
}

/// All calls of a run.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    list: Vec<Call>,
    /// Index of the newest call of each id.
    latest: HashMap<String, usize>,
    held: Vec<Option<Held>>,
    held_by_id: HashMap<String, usize>,
}

impl Calls {
    /// Whether the newest call of this id is the one at `place`.
    pub(crate) fn knows(&self, id: &str, place: Place<'_>) -> bool {
        self.newest(id).is_some_and(|at| self.list[at].is_repeated(place))
    }

    /// Tells the start of a call, unless it was told already, and its result, if that came first.
    pub(crate) fn start(
        &mut self,
        (id, name, kind): (&str, &str, ToolKind),
        args: Args<'_>,
        place: Place<'_>,
        tell: &mut Tell<'_>,
    ) {
        if let Some(at) = self.newest(id) {
            if self.list[at].is_repeated(place) {
                return;
            }
            self.abandon(at, tell);
        }
        tell.event(Event::ToolStart { id, name, kind, args, parent: place.parent });
        self.latest.insert(id.to_owned(), self.list.len());
        self.list.push(Call {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
            parent: place.parent.map(str::to_owned),
            message: place.message.to_owned(),
            ended: None,
        });
        let held = self.held_by_id.remove(id).and_then(|at| self.held[at].take());
        if let Some(held) = held {
            self.end(self.list.len() - 1, held.side, held.is_error, &held.result, tell);
        }
    }

    /// Whether a result for this id would have to be held.
    pub(crate) fn awaits_start(&self, id: &str) -> bool {
        self.newest(id).is_none_or(|at| self.list[at].ended.is_some())
    }

    /// Tells a result, holds it until its call starts, or says that it is one too many.
    pub(crate) fn result(&mut self, id: &str, block: &RawValue, side: Side, tell: &mut Tell<'_>) {
        let [content, error] = json::inner(Some(block), &["content", "is_error"]);
        let [content_kind] = json::inner(content, &["type"]);
        let is_error = json::is_true(error)
            || side == Side::Assistant
                && json::string(content_kind).is_some_and(|kind| kind.ends_with("_error"));
        let earlier = match self.newest(id) {
            Some(at) => match self.list[at].ended {
                None => {
                    let result = content.map_or(Value::Null, value::value);
                    return self.end(at, side, is_error, &result, tell);
                }
                Some(earlier) => Some(earlier),
            },
            None => {
                let at = self.held_by_id.get(id).copied();
                at.and_then(|at| self.held[at].as_ref()).map(|held| held.side)
            }
        };
        match earlier {
            Some(Side::Assistant) if side == Side::Assistant => {}
            Some(_) => tell.diagnostic(
                DiagnosticCode::DuplicateResult,
                "A tool call that has its result got another, which is left out",
                block.get(),
            ),
            None => {
                self.held_by_id.insert(id.to_owned(), self.held.len());
                self.held.push(Some(Held {
                    side,
                    is_error,
                    result: content.map_or(Value::Null, value::value),
                    raw: block.get().to_owned(),
                }));
            }
        }
    }

    /// The run is over: results without a call are shown as they came, open calls get one (U3).
    pub(crate) fn finish(&mut self, tell: &mut Tell<'_>) {
        for at in 0..self.list.len() {
            self.abandon(at, tell);
        }
        for held in self.held.drain(..).flatten() {
            let kind = match held.side {
                Side::User => "user/tool_result",
                Side::Assistant => "assistant/tool_result",
            };
            tell.unknown(kind, None, &held.raw);
        }
    }

    /// How many calls were started.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    fn newest(&self, id: &str) -> Option<usize> {
        self.latest.get(id).copied()
    }

    fn abandon(&mut self, at: usize, tell: &mut Tell<'_>) {
        let call = &mut self.list[at];
        if call.ended.is_none() {
            call.ended = Some(Side::User);
            let incomplete = match call.kind {
                ToolKind::ToolUse => Incomplete::Incomplete,
                ToolKind::ServerToolUse | ToolKind::McpToolUse => Incomplete::Ambiguous,
            };
            tell.event(call.result(false, &Value::Null, Some(incomplete)));
        }
    }

    fn end(&mut self, at: usize, side: Side, is_error: bool, result: &Value, tell: &mut Tell<'_>) {
        let call = &mut self.list[at];
        call.ended = Some(side);
        tell.event(call.result(is_error, result, None));
    }
}

impl Call {
    fn result<'a>(
        &'a self,
        is_error: bool,
        result: &'a Value,
        incomplete: Option<Incomplete>,
    ) -> Event<'a> {
        Event::ToolResult {
            id: &self.id,
            name: &self.name,
            is_error,
            result,
            incomplete,
            parent: self.parent.as_deref(),
        }
    }
}
