//! Whatever order lanes and calls come in, a client can follow.

use std::collections::HashMap;
use std::sync::Arc;

use clitape_stream::Incomplete;
use proptest::prelude::*;

use super::*;

const IDS: [&str; 3] = ["t1", "t2", "t3"];
const TOOLS: [&str; 5] = ["Bash", "Read", "Edit", "TodoWrite", "mcp__a__b"];
const LANES: [Option<&str>; 3] = [None, Some("t1"), Some("p")];
const KEYS: [&str; 5] = ["command", "file_path", "old_string", "new_string", "todos"];

/// A call keeps its tool and its lane.
fn place(id: usize, tool: usize) -> (String, String, Option<String>) {
    (IDS[id].into(), TOOLS[tool].into(), LANES[id].map(Into::into))
}

fn args() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        "[a-c]{0,3}".prop_map(Value::from),
        Just(json!([{"content": "a", "status": "completed"}])),
        (0..9_u64).prop_map(Value::from),
    ];
    proptest::collection::vec((proptest::sample::select(&KEYS[..]), value), 0..4)
        .prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}

fn data() -> impl Strategy<Value = BusData> {
    let call = || (0..IDS.len(), 0..TOOLS.len()).prop_map(|(id, tool)| place(id, tool));
    let lane = || proptest::sample::select(&LANES[..]).prop_map(|lane| lane.map(str::to_owned));
    prop_oneof![
        (lane(), "[ab]{0,3}", 0..40_u64).prop_map(|(parent, delta, length)| BusData::Assistant {
            message_id: "m".into(),
            delta,
            length,
            parent,
        }),
        (lane(), "[ab]{0,3}").prop_map(|(parent, delta)| BusData::Thinking {
            message_id: String::new(),
            delta,
            length: 1,
            parent,
        }),
        (lane(), 0..40_u64, 0..IDS.len()).prop_map(|(parent, length, id)| BusData::Retract {
            text: String::new(),
            length,
            thinking: String::new(),
            thinking_length: 0,
            calls: vec![IDS[id].into()],
            parent,
        }),
        (call(), args()).prop_map(|((id, name, parent), args)| {
            BusData::Tool(Tool::Update { id, name, title: String::new(), args, parent })
        }),
        (call(), args(), any::<bool>()).prop_map(|((id, name, parent), args, whole)| {
            BusData::Tool(Tool::Start {
                id,
                name,
                title: String::new(),
                args: if whole { Value::Object(args) } else { Value::Null }.into(),
                truncated: (!whole).then(|| "{".to_owned()),
                parent,
            })
        }),
        (call(), any::<bool>(), 0..3_u8).prop_map(|((id, name, parent), is_error, kind)| {
            BusData::Tool(Tool::Result {
                id,
                name,
                is_error,
                result: if kind == 0 { Value::Null } else { json!("1\ta") },
                incomplete: (kind == 0).then_some(Incomplete::Incomplete),
                parent,
            })
        }),
    ]
}

/// The state of a call that a client knows.
#[derive(Default)]
struct KnownCall {
    raw_input: Option<Arc<Value>>,
    parent: Option<String>,
    ended: bool,
}

/// A client that checks each update against the protocol.
#[derive(Default)]
pub(super) struct IndependentClient {
    calls: HashMap<String, KnownCall>,
    last: Option<Update>,
}

impl IndependentClient {
    pub(super) fn take(&mut self, update: &Update) {
        match update {
            Update::AgentMessageChunk(chunk) | Update::AgentThoughtChunk(chunk) => {
                assert_ne!(chunk.content, ContentBlock::Text { text: String::new() });
            }
            Update::Plan(_) => assert_ne!(self.last.as_ref(), Some(update), "told twice"),
            Update::ToolCall(call) => {
                let known = KnownCall { parent: parent(call), ..KnownCall::default() };
                let before = self.calls.insert(call.tool_call_id.clone(), known);
                assert!(before.is_none(), "announced twice: {call:?}");
                assert!(call.title.is_some() && call.kind.is_some());
                self.refine(call);
            }
            Update::ToolCallUpdate(call) => {
                assert_ne!(self.last.as_ref(), Some(update), "told twice");
                self.refine(call);
            }
        }
        self.last = Some(update.clone());
    }

    pub(super) fn all_ended(&self) -> bool {
        self.calls.values().all(|call| call.ended)
    }

    fn refine(&mut self, call: &ToolCallUpdate) {
        let known = self.calls.get_mut(&call.tool_call_id);
        let known = known.unwrap_or_else(|| panic!("never announced: {call:?}"));
        assert!(!known.ended, "told after its end: {call:?}");
        assert_eq!(known.parent, parent(call), "{call:?}");
        if let Some(now) = &call.raw_input {
            let before = known.raw_input.as_ref().and_then(|input| input.as_object());
            for key in before.into_iter().flat_map(Map::keys) {
                assert!(now.get(key).is_some(), "`{key}` is gone: {call:?}");
            }
            known.raw_input = Some(now.clone());
        }
        known.ended = matches!(call.status, Some(CallStatus::Completed | CallStatus::Failed));
    }
}

fn parent(call: &ToolCallUpdate) -> Option<String> {
    call.meta.claude_code.parent_tool_call_id.clone()
}

#[test]
pub(crate) fn a1_a_client_can_follow_whatever_comes() {
    proptest!(|(
        turns in proptest::collection::vec(proptest::collection::vec(data(), 0..30), 1..3),
        terminal in any::<bool>(),
    )| {
        let mut converter = AcpConverter::new(settings(terminal));
        let mut client = IndependentClient::default();
        for turn in turns {
            let start = [BusData::Lifecycle(Phase::Start)];
            let end = [BusData::Lifecycle(Phase::End { text: "x".into() })];
            for data in start.into_iter().chain(turn).chain(end) {
                for update in convert(&mut converter, [data]) {
                    client.take(&update);
                }
            }
            prop_assert!(client.all_ended());
        }
    });
}
