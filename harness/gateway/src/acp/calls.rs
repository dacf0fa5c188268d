//! One tool call as the client knows it: its id, its arguments so far, and what was reported of it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use clitape_stream::IdSet;
use serde_json::{Map, Value};

use super::files::{FileTable, str_of};
use super::tools::{
    CallView, content, exit_code, fenced, is_command, look, plain, raw_output, title,
};
use super::update::{
    CallContent, CallStatus, ClaudeCode, Meta, TerminalExit, TerminalInfo, TerminalOutput,
    ToolCallUpdate, Update,
};

/// The number of fields up to which each new one is reported while the arguments come. An update has all of them, so that
/// calls with more are reported when they have half as many again.
const FIELDS: usize = 32;

/// The fields of arguments that are no object.
static NO_FIELDS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// The settings and the files against which a call is shown.
#[derive(Clone, Copy)]
pub(super) struct CallContext<'a> {
    /// The working directory.
    pub(super) cwd: Option<&'a str>,
    /// Set if the client shows terminals.
    pub(super) terminal: bool,
    /// The known files.
    pub(super) files: &'a FileTable,
}

/// The ids that calls of a session had. On the wire they are unique: one that comes again has the number of its call.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    all: IdSet,
    /// The number of calls for each id that several calls share.
    uses: HashMap<String, u32>,
}

impl CallIds {
    /// Adds the id of a call.
    pub(super) fn add(&mut self, id: &str) {
        if !self.all.insert(id) {
            *self.uses.entry(id.to_owned()).or_insert(1) += 1;
        }
    }

    /// The id on the wire of the last call that had this one.
    pub(super) fn on_wire(&self, id: &str) -> String {
        match self.uses.get(id) {
            Some(count) => format!("{id}#{count}"),
            None => id.to_owned(),
        }
    }
}

/// A call that is open.
#[derive(Debug)]
pub(super) struct AcpCall {
    /// Its id on the wire.
    id: String,
    name: String,
    /// Id of the parent on the wire.
    parent: Option<String>,
    /// Its number in the order of announcements.
    pub(super) order: u64,
    /// The arguments so far: a field that came stays (A1). Those of an odd call are no object.
    input: Arc<Value>,
    /// The raw arguments where they never became valid JSON (U1).
    truncated: Option<String>,
    /// Set once all of its arguments are here.
    is_whole: bool,
    /// The view of the call that was reported last; `None` before the announcement.
    reported: Option<CallView>,
    /// Set if the arguments have changed since the last report.
    is_input_new: bool,
    /// The number of fields at the last report.
    fields_reported: usize,
}

impl AcpCall {
    pub(super) fn new(id: String, name: &str, parent: Option<String>, order: u64) -> Self {
        Self {
            id,
            name: name.to_owned(),
            parent,
            order,
            input: Arc::new(Value::Object(Map::new())),
            truncated: None,
            is_whole: false,
            reported: None,
            is_input_new: false,
            fields_reported: 0,
        }
    }

    /// The fields of the arguments so far.
    fn fields(&self) -> &Map<String, Value> {
        self.input.as_object().unwrap_or(&NO_FIELDS)
    }

    /// Takes fields of the arguments.
    pub(super) fn take(&mut self, fields: &Map<String, Value>) {
        for (key, value) in fields {
            if self.fields().get(key) != Some(value) {
                let (key, value) = (key.clone(), value.clone());
                match Arc::make_mut(&mut self.input) {
                    Value::Object(input) => drop(input.insert(key, value)),
                    odd => *odd = Value::Object(Map::from_iter([(key, value)])),
                }
                self.is_input_new = true;
            }
        }
    }

    /// Takes all of the arguments.
    pub(super) fn start(&mut self, args: &Arc<Value>, truncated: Option<&str>) {
        self.is_whole = true;
        let known = self.fields().len();
        let before = (known == 0).then(|| self.raw_input());
        self.truncated = truncated.map(str::to_owned);
        match &**args {
            // They are shared where what came of them is their beginning.
            Value::Object(all) if self.fields().iter().eq(all.iter().take(known)) => {
                self.is_input_new |= all.len() > known;
                self.input = args.clone();
            }
            Value::Object(fields) => self.take(fields),
            Value::Null => {}
            _ if known > 0 => {}
            _ => self.input = args.clone(),
        }
        // Without a field, something else may be reported as the arguments all the same.
        let is_empty = self.fields().is_empty();
        self.is_input_new |= is_empty && before != Some(self.raw_input());
    }

    /// The announcement, or the changes since it; `None` without a change.
    pub(super) fn report(&mut self, view: CallContext<'_>) -> Option<Update> {
        let fields = self.fields().len();
        if !self.is_whole && fields > FIELDS && fields * 2 < self.fields_reported * 3 {
            return None;
        }
        self.fields_reported = fields;
        let is_input_new = std::mem::take(&mut self.is_input_new);
        let now = self.look(view);
        let mut call = self.blank();
        let update = match self.reported.take() {
            None => {
                self.write_whole(&now, &mut call);
                call.status = Some(CallStatus::Pending);
                call.meta.terminal_info =
                    self.terminal(view).map(|terminal_id| TerminalInfo { terminal_id });
                Some(Update::ToolCall(call))
            }
            Some(before) if before == now && !is_input_new => None,
            Some(before) => {
                // The kind hangs on the tool's name alone.
                call.title = changed(&before.title, &now.title);
                call.content = changed(&before.content, &now.content);
                call.locations = changed(&before.locations, &now.locations);
                call.raw_input = if is_input_new { self.raw_input() } else { None };
                Some(Update::ToolCallUpdate(call))
            }
        };
        self.reported = Some(now);
        update
    }

    /// The call with the `input` that a person is asked about, all of it: what is told of a call may be cut, and a hook may
    /// have changed it.
    pub(super) fn asked(&self, input: Option<&Value>, view: CallContext<'_>) -> ToolCallUpdate {
        let is_any = |input: &&Value| input.as_object().is_none_or(|fields| !fields.is_empty());
        let Some(input) = input.filter(is_any).filter(|input| **input != *self.input) else {
            return self.whole(view);
        };
        let mut asked = Self::new(self.id.clone(), &self.name, self.parent.clone(), self.order);
        asked.start(&Arc::new(input.clone()), None);
        asked.whole(view)
    }

    /// The call as a whole.
    fn whole(&self, view: CallContext<'_>) -> ToolCallUpdate {
        let mut call = self.blank();
        self.write_whole(&self.look(view), &mut call);
        call.status = Some(CallStatus::Pending);
        call
    }

    /// Writes into `call` everything of this one, which looks like `look`.
    fn write_whole(&self, look: &CallView, call: &mut ToolCallUpdate) {
        call.title = Some(look.title.clone());
        call.kind = Some(look.kind);
        call.content = Some(look.content.clone()).filter(|content| !content.is_empty());
        call.locations = Some(look.locations.clone()).filter(|places| !places.is_empty());
        call.raw_input = self.raw_input();
    }

    /// The update that gives a call without a result of its own this status.
    pub(super) fn becomes(&self, status: CallStatus) -> Update {
        Update::ToolCallUpdate(ToolCallUpdate { status: Some(status), ..self.blank() })
    }

    /// The call ends with a result.
    pub(super) fn result(
        &mut self,
        is_error: bool,
        result: &Value,
        view: CallContext<'_>,
    ) -> Vec<Update> {
        // A diff is reported again if the file has changed since the call began.
        let mut call = match self.report(view) {
            Some(Update::ToolCallUpdate(call)) if !is_error => call,
            _ => self.blank(),
        };
        call.status = Some(if is_error { CallStatus::Failed } else { CallStatus::Completed });
        call.raw_output = Some(raw_output(is_error, result));
        if !is_error && let Some(title) = title(&self.name) {
            call.title = Some(title.to_owned());
        }
        let mut updates = Vec::new();
        match self.terminal(view) {
            None => {
                let shown = content(&self.name, self.fields(), is_error, result);
                call.content = shown.or(call.content);
            }
            Some(terminal_id) => {
                let data = plain(result);
                call.meta.terminal_exit = Some(TerminalExit {
                    terminal_id: terminal_id.clone(),
                    exit_code: Some(exit_code(is_error, &data)),
                    signal: None,
                });
                if !data.is_empty() {
                    let mut output = self.blank();
                    output.meta.terminal_output = Some(TerminalOutput { terminal_id, data });
                    updates.push(Update::ToolCallUpdate(output));
                }
            }
        }
        updates.push(Update::ToolCallUpdate(call));
        updates
    }

    /// Ends the call without a result, so that the client does not show it as running for ever (U3).
    pub(super) fn give_up(&self, view: CallContext<'_>) -> Update {
        let mut call = self.blank();
        call.status = Some(CallStatus::Failed);
        call.meta.terminal_exit = (self.terminal(view)).map(|terminal_id| TerminalExit {
            terminal_id,
            exit_code: None,
            signal: None,
        });
        Update::ToolCallUpdate(call)
    }

    /// Records in `files` the contents that the call, which went well, reports.
    pub(super) fn update_files(&self, result: &Value, files: &mut FileTable) {
        files.record(&self.name, self.fields(), &plain(result));
    }

    /// Makes an update that only names its call.
    fn blank(&self) -> ToolCallUpdate {
        let command = str_of(self.fields(), "command").filter(|_| is_command(&self.name));
        ToolCallUpdate {
            tool_call_id: self.id.clone(),
            title: None,
            kind: None,
            status: None,
            content: None,
            locations: None,
            raw_input: None,
            raw_output: None,
            meta: Meta::from(ClaudeCode {
                tool_name: self.name.clone(),
                parent_tool_call_id: self.parent.clone(),
                bash_command: command.map(str::to_owned),
            }),
        }
    }

    fn look(&self, view: CallContext<'_>) -> CallView {
        let terminal = self.terminal(view);
        let mut look = look(&self.name, self.fields(), view.cwd, terminal.as_deref(), view.files);
        if let (true, Some(raw)) = (look.content.is_empty(), &self.truncated) {
            look.content.push(CallContent::text(fenced("", raw)));
        }
        look
    }

    /// Returns the id of the terminal that shows the call, if one does.
    fn terminal(&self, view: CallContext<'_>) -> Option<String> {
        (view.terminal && is_command(&self.name)).then(|| self.id.clone())
    }

    /// The arguments so far; none where they never became valid.
    fn raw_input(&self) -> Option<Arc<Value>> {
        match &*self.input {
            Value::Object(fields) if fields.is_empty() && self.truncated.is_some() => None,
            _ => Some(self.input.clone()),
        }
    }
}

fn changed<T: PartialEq + Clone>(before: &T, now: &T) -> Option<T> {
    (before != now).then(|| now.clone())
}
