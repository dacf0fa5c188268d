//! The tool calls of a run: each starts once and ends once (U1, U3, U4, U5).

use std::collections::BTreeMap;

use crate::body::Part;
use crate::event::{DiagnosticCode, Event, Incomplete, ToolKind};
use crate::given::Given;
use crate::json;
use crate::payload::Json;
use crate::tell::Tell;

/// Who brings a result: the same assistant-side block comes twice, streamed and as a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// A `tool_result` block of a user record.
    User,
    /// A `…_tool_result` block of the assistant.
    Assistant,
}

/// What announces a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Stream,
    Snapshot,
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
    /// The arguments that were told, where only the stream had given them.
    streamed: Option<Given<'static>>,
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
    result: Json<'static>,
    raw: String,
}

/// All calls of a run.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    list: Vec<Call>,
    /// Index of the newest call of each id.
    latest: BTreeMap<String, usize>,
    held: Vec<Option<Held>>,
    held_by_id: BTreeMap<String, usize>,
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
        given: &Given<'_>,
        from: Origin,
        place: Place<'_>,
        tell: &mut Tell<'_>,
    ) {
        if let Some(at) = self.newest(id) {
            if self.list[at].is_repeated(place) {
                if from == Origin::Snapshot {
                    self.list[at].correct(given, tell);
                }
                return;
            }
            self.abandon(at, tell);
        }
        tell.event(Event::ToolStart {
            id: id.into(),
            name: name.into(),
            kind,
            args: given.args(),
            parent: place.parent.map(Into::into),
        });
        self.latest.insert(id.to_owned(), self.list.len());
        self.list.push(Call {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
            parent: place.parent.map(str::to_owned),
            message: place.message.to_owned(),
            streamed: (from == Origin::Stream).then(|| given.clone().into_owned()),
            ended: None,
        });
        let held = self.held_by_id.remove(id).and_then(|at| self.held[at].take());
        if let Some(held) = held {
            self.end(self.list.len() - 1, held.side, held.is_error, held.result, tell);
        }
    }

    /// The call of this id does not count any more: it ends without a result, if it is open.
    pub(crate) fn give_up(&mut self, id: &str, tell: &mut Tell<'_>) {
        if let Some(at) = self.newest(id) {
            self.abandon(at, tell);
        }
    }

    /// Whether a result for this id would have to be held.
    pub(crate) fn awaits_start(&self, id: &str) -> bool {
        self.newest(id).is_none_or(|at| self.list[at].ended.is_some())
    }

    /// Tells a result, holds it until its call starts, or says that it is one too many.
    pub(crate) fn result(&mut self, id: &str, block: &Part<'_>, side: Side, tell: &mut Tell<'_>) {
        let is_error =
            json::is_true(block.is_error) || side == Side::Assistant && names_error(block);
        let result = block.content.map_or(Json::NULL, Json::from);
        let earlier = match self.newest(id) {
            Some(at) => match self.list[at].ended {
                None => return self.end(at, side, is_error, result, tell),
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
                block.raw.get(),
            ),
            None => {
                self.held_by_id.insert(id.to_owned(), self.held.len());
                self.held.push(Some(Held {
                    side,
                    is_error,
                    result: result.into_owned(),
                    raw: block.raw.get().to_owned(),
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
            tell.event(call.result(false, Json::NULL, Some(incomplete)));
        }
    }

    fn end(
        &mut self,
        at: usize,
        side: Side,
        is_error: bool,
        result: Json<'_>,
        tell: &mut Tell<'_>,
    ) {
        let call = &mut self.list[at];
        (call.ended, call.streamed) = (Some(side), None);
        tell.event(call.result(is_error, result, None));
    }
}

/// Whether the content of a result says by its type that it is an error.
fn names_error(block: &Part<'_>) -> bool {
    let [kind] = json::inner(block.content, &["type"]);
    json::string(kind).is_some_and(|kind| kind.ends_with("_error"))
}

impl Call {
    fn result<'a>(
        &'a self,
        is_error: bool,
        result: Json<'a>,
        incomplete: Option<Incomplete>,
    ) -> Event<'a> {
        Event::ToolResult {
            id: self.id.as_str().into(),
            name: self.name.as_str().into(),
            is_error,
            result,
            incomplete,
            parent: self.parent.as_deref().map(Into::into),
        }
    }

    /// A snapshot says what the arguments are after the stream has: it counts (U1).
    fn correct(&mut self, given: &Given<'_>, tell: &mut Tell<'_>) {
        let streamed = self.streamed.take();
        let Some((new, what)) = streamed.and_then(|streamed| streamed.difference(given)) else {
            return;
        };
        tell.differs(&self.name, &what);
        if !new.is_empty() {
            tell.event(Event::ToolInput {
                id: self.id.as_str().into(),
                name: self.name.as_str().into(),
                args: new,
                parent: self.parent.as_deref().map(Into::into),
            });
        }
    }
}
