//! X2 on transcripts at random, cut at any byte: parallel calls, subagents, server tools, sessions
//! that were killed and gone on with.

use proptest::prelude::*;

use super::*;

/// The next step of a conversation of the tests.
#[derive(Debug, Clone)]
enum ScriptStep {
    /// A prompt, then messages that call tools, then an answer.
    Turn { calls: Vec<IssuedCalls>, answer: bool },
    /// A subagent at work: lines that do not count.
    Sidechain,
    /// A line of another type; as an attachment, others follow it.
    Other { linked: bool },
}

/// A message that calls tools.
#[derive(Debug, Clone)]
struct IssuedCalls {
    text: bool,
    /// For each call whether the API runs the tool.
    server: Vec<bool>,
    /// Moves the first result to this place: tools end in any order.
    first_at: usize,
    /// The CLI is killed here, before any result, and goes on from the last line before the calls.
    killed: bool,
}

/// A transcript being written, and what a reader must say after each of its lines.
#[derive(Default)]
struct TranscriptWriter {
    lines: Vec<(String, Expect)>,
    /// The uuid of the last line of the chain.
    tip: String,
    next: u32,
    has_prompt: bool,
    /// Messages so far: the calls of each that are open.
    messages: Vec<Vec<String>>,
    is_whole: bool,
}

/// The reason, and how many calls are open.
type Expect = (Reason, usize);

impl TranscriptWriter {
    fn expect(&self) -> Expect {
        let open = self.messages.last().map_or(0, Vec::len);
        let reason = match &self.messages[..] {
            [] if !self.has_prompt => Reason::Empty,
            [] => Reason::NoAssistant,
            _ if open > 0 => Reason::OrphanedToolUse,
            _ if self.is_whole => Reason::Complete,
            _ => Reason::CutMidText,
        };
        (reason, open)
    }

    fn id(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}{}", self.next)
    }

    fn push(&mut self, line: &Value) {
        self.lines.push((format!("{line}\n"), self.expect()));
    }

    /// Writes a line that follows `parent`; its uuid.
    fn after(&mut self, parent: &str, make: impl Fn(&str, &str) -> Value) -> String {
        let uuid = self.id("u");
        self.push(&make(&uuid, parent));
        self.tip.clone_from(&uuid);
        uuid
    }

    fn step(&mut self, step: &ScriptStep) {
        match step {
            ScriptStep::Sidechain => {
                let mut line = said("x", "y", "z", Some("tool_use"), call("s"));
                line["isSidechain"] = true.into();
                self.push(&line);
            }
            ScriptStep::Other { linked: false } => self.push(&json!({"type": "queue-operation"})),
            ScriptStep::Other { linked: true } => {
                let tip = self.tip.clone();
                self.after(&tip, |uuid, parent| {
                    json!({"type": "attachment", "uuid": uuid, "parentUuid": Some(parent).filter(|p| !p.is_empty())})
                });
            }
            ScriptStep::Turn { calls, answer } => {
                (self.has_prompt, self.is_whole) = (true, false);
                let tip = self.tip.clone();
                self.after(&tip, |uuid, parent| prompt(uuid, parent, "do"));
                for message in calls {
                    self.message(message);
                }
                if *answer {
                    self.messages.push(Vec::new());
                    self.is_whole = true;
                    let (tip, id) = (self.tip.clone(), self.id("m"));
                    self.after(&tip, |uuid, parent| {
                        said(uuid, parent, &id, Some("end_turn"), text("done \u{1f600} \"x\""))
                    });
                }
            }
        }
    }

    fn message(&mut self, message: &IssuedCalls) {
        let id = self.id("m");
        if message.text {
            self.messages.push(Vec::new());
            let tip = self.tip.clone();
            self.after(&tip, |uuid, parent| {
                said(uuid, parent, &id, Some("tool_use"), text("look"))
            });
        }
        let before = self.tip.clone();
        let mut open = Vec::new();
        for (n, is_server) in message.server.iter().enumerate() {
            if n == 0 && !message.text {
                self.messages.push(Vec::new());
            }
            let (tool, tip) = (self.id("t"), self.tip.clone());
            self.messages.last_mut().unwrap().push(tool.clone());
            if *is_server {
                let use_block =
                    json!({"type": "server_tool_use", "id": tool, "name": "web_search"});
                self.after(&tip, |uuid, parent| {
                    said(uuid, parent, &id, Some("tool_use"), use_block.clone())
                });
                if !message.killed {
                    self.messages.last_mut().unwrap().pop();
                    let found = json!({"type": "web_search_tool_result", "tool_use_id": tool});
                    let tip = self.tip.clone();
                    self.after(&tip, |uuid, parent| {
                        said(uuid, parent, &id, Some("tool_use"), found.clone())
                    });
                }
            } else {
                let uuid = self.after(&tip, |uuid, parent| {
                    said(uuid, parent, &id, Some("tool_use"), call(&tool))
                });
                open.push((tool, uuid));
            }
        }
        if message.killed && !message.server.is_empty() {
            self.messages.last_mut().unwrap().clear();
            if !message.text {
                self.messages.pop();
            }
            self.after(&before, |uuid, parent| prompt(uuid, parent, "go on"));
            return;
        }
        if !open.is_empty() {
            let first = open.remove(0);
            open.insert(message.first_at.min(open.len()), first);
        }
        for (tool, uuid) in open {
            self.messages.last_mut().unwrap().retain(|id| *id != tool);
            self.after(&uuid, |uuid, parent| result(uuid, parent, &tool));
        }
    }
}

fn calls() -> impl Strategy<Value = IssuedCalls> {
    let server = prop::collection::vec(prop::bool::weighted(0.2), 0..4);
    (any::<bool>(), server, 0..4_usize, prop::bool::weighted(0.15))
        .prop_map(|(text, server, first_at, killed)| IssuedCalls { text, server, first_at, killed })
}

fn steps() -> impl Strategy<Value = Vec<ScriptStep>> {
    let turn = (prop::collection::vec(calls(), 0..4), prop::bool::weighted(0.9))
        .prop_map(|(calls, answer)| ScriptStep::Turn { calls, answer });
    let other = any::<bool>().prop_map(|linked| ScriptStep::Other { linked });
    prop::collection::vec(
        prop_oneof![4 => turn, 1 => Just(ScriptStep::Sidechain), 1 => other],
        0..5,
    )
}

fn write(steps: &[ScriptStep]) -> Vec<(String, Expect)> {
    let mut writer = TranscriptWriter::default();
    steps.iter().for_each(|step| writer.step(step));
    writer.lines
}

/// The verdict that a reader of the first `cut` bytes must give, and the number of unfinished bytes
/// of a line.
fn expected(lines: &[(String, Expect)], cut: usize) -> (Expect, usize) {
    let mut expect = (Reason::Empty, 0);
    let mut start = 0;
    for (line, after) in lines {
        // The last byte is the line feed: without it the line is whole all the same.
        if start + line.len() - 1 > cut {
            return (expect, cut - start);
        }
        expect = *after;
        start = (start + line.len()).min(cut);
    }
    (expect, 0)
}

fn check(lines: &[(String, Expect)], bytes: &[u8]) -> Result<(), TestCaseError> {
    let verdict = resumability(&transcript::read(bytes).unwrap());
    let (expect, unfinished) = expected(lines, bytes.len());
    let got = (verdict.reason, verdict.orphans.len());
    prop_assert_eq!(got, expect, "of {}", String::from_utf8_lossy(bytes));
    prop_assert_eq!(verdict.lines.unfinished_bytes, unfinished as u64);
    prop_assert!(!verdict.resumable || verdict.orphans.is_empty());
    Ok(())
}

#[test]
pub(crate) fn x2_any_beginning_of_a_good_transcript_is_judged() {
    proptest!(ProptestConfig::with_cases(200), |(
        steps in steps(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 12),
    )| {
        let lines = write(&steps);
        let bytes: String = lines.iter().map(|(line, _)| line.as_str()).collect();
        let line_feeds = bytes.match_indices('\n').flat_map(|(at, _)| [at, at + 1]);
        let mut ends: Vec<usize> = line_feeds.collect();
        ends.extend(cuts.iter().map(|cut| cut.index(bytes.len() + 1)));
        for end in ends {
            check(&lines, &bytes.as_bytes()[..end])?;
        }
    });
}

#[test]
pub(crate) fn x1_no_bytes_make_the_reader_fail() {
    proptest!(ProptestConfig::with_cases(200), |(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\":,\\\n".to_vec())], 0..400),
    )| {
        let read = transcript::read(&bytes[..]).unwrap();
        let _ = resumability(&read);
    });
}
