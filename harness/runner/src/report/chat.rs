//! The chat as a person sees it, with both sides, and drawn in a terminal.
//!
//! The messages of the person are between those of the agent, in the order in which they came. The agent's side is the
//! [`ChatView`], and its questions have their buttons while they are open. The person's side is known if a replay has
//! the host's lines; if the prompt is on the command line, it is the person's one message. In a terminal, each change
//! is drawn over the chat before it.

use std::io::{self, Write};

use clitape_recording::chat::{ChatChange, ChatView, SeenMessage, WRITES};
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::{BUTTON, Span, button, literal};
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use super::lines::{StyledRun, columns, wrap};
use super::screen::Screen;
use super::text::{BOLD, DIM};

/// The mark on text and buttons of the person.
const OWN: &str = "own";

/// A chat with the messages of both sides.
#[derive(Debug, Default)]
pub(super) struct TwoSidedChat {
    view: ChatView,
    written: Vec<WrittenMessage>,
}

/// The words on the button with which the person interrupts the agent.
pub(super) const STOP: &str = "⏹ Stop";

/// The act of the person in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PersonAct<'a> {
    /// The person writes a message.
    Writes(&'a str),
    /// The person interrupts the agent.
    Interrupts,
}

/// A message that the person wrote, or the button that the person pressed.
#[derive(Debug)]
pub(super) struct WrittenMessage {
    span: Span,
    /// The number of messages of the agent above it.
    above: usize,
    /// The index of the entry that it comes from.
    entry: usize,
}

/// A message of either side.
#[derive(Debug, Clone, Copy)]
pub(super) enum TwoSidedMessage<'a> {
    /// The person wrote it, or pressed it.
    Written(&'a WrittenMessage),
    /// The agent shows it.
    Seen(&'a SeenMessage),
}

impl TwoSidedChat {
    /// Applies the entry with the index `number`.
    pub(super) fn apply(&mut self, number: usize, entry: &Entry) -> ChatChange {
        let span = match act(entry) {
            None => return self.view.apply(number, entry),
            Some(PersonAct::Writes(text)) => asked(text),
            Some(PersonAct::Interrupts) => literal(&button(STOP), &format!("{OWN} {BUTTON}")),
        };
        // The deletion of a message above must not move this one above an earlier message of the person.
        let above = self.written.last().map_or(0, |before| before.above);
        let above = above.max(self.view.messages().len());
        self.written.push(WrittenMessage { span, above, entry: number });
        ChatChange::Text
    }

    /// Returns all messages in the order in which they came.
    pub(super) fn messages(&self) -> Vec<TwoSidedMessage<'_>> {
        self.latest(usize::MAX)
    }

    /// Returns the last `most` messages in the order in which they came; a draft is below all of them.
    pub(super) fn latest(&self, most: usize) -> Vec<TwoSidedMessage<'_>> {
        let mut written = self.written.iter().rev().peekable();
        let drafts = self.view.drafts().map(|(_, draft)| TwoSidedMessage::Seen(&draft.text));
        let mut messages: Vec<_> = drafts.collect();
        messages.reverse();
        for (place, seen) in self.view.messages().enumerate().rev() {
            while let Some(message) = written.next_if(|message| message.above > place) {
                messages.push(TwoSidedMessage::Written(message));
            }
            messages.push(TwoSidedMessage::Seen(seen));
            if messages.len() >= most {
                break;
            }
        }
        messages.extend(written.map(TwoSidedMessage::Written));
        messages.truncate(most);
        messages.reverse();
        messages
    }

    /// Returns the number of messages of both sides, drafts included, and of those of the person.
    pub(super) fn count(&self) -> (usize, usize) {
        let seen = self.view.messages().len() + self.view.drafts().count();
        (seen + self.written.len(), self.written.len())
    }
}

impl TwoSidedMessage<'_> {
    /// Returns whether it is a message of the person.
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::Written(_))
    }

    /// Returns the index of the entry with its text.
    pub(super) fn entry(self) -> usize {
        match self {
            Self::Written(message) => message.entry,
            Self::Seen(message) => message.entry,
        }
    }

    /// Returns the text as runs with marks; below it, the buttons, a line for each row.
    pub(super) fn spans(self, profile: ChatProfile) -> Vec<Span> {
        match self {
            Self::Written(message) => vec![message.span.clone()],
            Self::Seen(message) => message.spans(profile),
        }
    }
}

/// Marks a text as one of the person.
pub(super) fn asked(text: &str) -> Span {
    literal(text, OWN)
}

/// The start of the mark by which a run at a subject finds its recording; the person did not write it.
const MARKER: &str = " [[clitape:";

/// Returns the act of the person in an entry, if there is one.
pub(super) fn act(entry: &Entry) -> Option<PersonAct<'_>> {
    if entry.lane == Lane::Telegram && entry.kind == WRITES {
        let text = entry.field("text").and_then(Value::as_str)?;
        let own = text.rsplit_once(MARKER).map_or(text, |(own, _)| own);
        return Some(PersonAct::Writes(own));
    }
    if entry.lane != Lane::Lifecycle || entry.kind != "host_message" {
        return None;
    }
    let word = |key: &str| entry.field(key).and_then(Value::as_str);
    match word("type")? {
        "user" => word("text").filter(|text| !text.is_empty()).map(PersonAct::Writes),
        "interrupt" => Some(PersonAct::Interrupts),
        _ => None,
    }
}

/// The most columns of a message, and those around it.
const WIDTH: usize = 64;
const AROUND: usize = 3;

/// The most lines of a message in a text; of a longer one, the middle is left out.
const MOST_LINES: usize = 16;

/// Draws the chat after each of these entries as lines of text, without colours; long messages lose their middle.
/// `prompt` is that of the command line, which is the person's first message.
#[allow(clippy::expect_used, reason = "memory takes every write")]
pub(super) fn drawn(prompt: Option<&str>, entries: &[Entry], after: &[usize]) -> String {
    let mut chat = TwoSidedChat::default();
    let asked = |text| WrittenMessage { span: asked(text), above: 0, entry: 0 };
    chat.written.extend(prompt.map(asked));
    let mut chat = TerminalChat { chat, ..TerminalChat::default() };
    let mut text = String::new();
    for (number, entry) in entries.iter().enumerate() {
        chat.apply(entry);
        if after.contains(&number) {
            let mut out = Vec::new();
            chat.drawn = 0;
            chat.draw(&mut Screen::new(&mut out, None), entry.at)
                .expect("memory takes every write");
            text += &anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string();
        }
    }
    without_middles(&text)
}

/// Leaves out the middle of each message of many lines.
fn without_middles(drawn: &str) -> String {
    let lines: Vec<&str> = drawn.lines().collect();
    let messages = lines.chunk_by(|a, b| a.starts_with('│') && b.starts_with('│'));
    let kept = messages.map(|message| match message.len().checked_sub(MOST_LINES) {
        None | Some(0) => message.join("\n"),
        Some(more) => {
            let (first, rest) = message.split_at(MOST_LINES / 2);
            let more_lines = plural(more, "more line");
            format!("{}\n│ … {more_lines} …\n{}", first.join("\n"), rest[more..].join("\n"))
        }
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// A chat that is drawn in a terminal, with the number of lines that it takes there.
///
/// Messages of the agent are on the left, with the buttons of a question below its text; those of the person are on the
/// right.
#[derive(Debug, Default)]
pub struct TerminalChat {
    chat: TwoSidedChat,
    drawn: usize,
}

impl TerminalChat {
    /// Applies one entry; returns `true` if the chat looks different then.
    pub fn apply(&mut self, entry: &Entry) -> bool {
        self.chat.apply(0, entry) == ChatChange::Text
    }

    /// Draws the chat over its last drawing.
    ///
    /// # Errors
    ///
    /// When `out` can't be written to.
    pub fn draw(&mut self, out: &mut Screen<'_>, at: u64) -> io::Result<()> {
        let most = out.columns().map_or(WIDTH, |columns| WIDTH.min(columns - AROUND));
        if self.drawn > 0 {
            write!(out, "\u{1b}[{}A\u{1b}[J", self.drawn)?;
        }
        let mut lines = vec![format!("{DIM}{:>5}.{:03} s{DIM:#}", at / 1000, at % 1000)];
        let border = "─".repeat(most + 1);
        for message in self.chat.messages() {
            let text = wrap(&message.spans(ChatProfile::Telegram), most);
            let text =
                text.iter().map(|line| (line.iter().map(terminal_run).collect(), columns(line)));
            let text: Vec<(String, usize)> = text.collect();
            if message.is_own() {
                lines.push(format!("{DIM}{:─>1$}╮{DIM:#}", " You ─", most + 2));
                for (line, columns) in text {
                    let before = " ".repeat((most + 1).saturating_sub(columns));
                    lines.push(format!("{before}{} {DIM}│{DIM:#}", line.trim_end()));
                }
                lines.push(format!("{DIM}─{border}╯{DIM:#}"));
            } else {
                lines.push(format!("{DIM}╭{border}{DIM:#}"));
                lines.extend(text.iter().map(|(line, _)| format!("{DIM}│{DIM:#} {line}")));
                lines.push(format!("{DIM}╰{border}{DIM:#}"));
            }
        }
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        self.drawn = lines.len();
        out.flush()
    }
}

/// Returns a run of text as a terminal shows it: bold, code and buttons are bold, italics dim.
fn terminal_run((marks, text): &StyledRun) -> String {
    let has = |known: &[&str]| marks.split(' ').any(|mark| known.contains(&mark));
    match (has(&["b", "pre", "code", BUTTON]), has(&["i"])) {
        (true, _) => format!("{BOLD}{text}{BOLD:#}"),
        (false, true) => format!("{DIM}{text}{DIM:#}"),
        (false, false) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_recording::cassette::Cassette;
    use clitape_recording::scenario::{Chat, ChatMode, RunSpec, Setup};
    use clitape_recording::text::markup::spans;

    use super::*;
    use crate::replay::{Capture, Cut, Plan, replay, stdin_lines};
    use crate::report::tests::strip;

    /// Applies entries such as `write a`, `interrupt`, `send 1 b`, `ask 2 c`, `edit 2 d`; checks the messages, those of
    /// the person with a `>` before them.
    fn check(entries: &[&str], expect: &[&str]) {
        let mut chat = TwoSidedChat::default();
        for (number, entry) in entries.iter().enumerate() {
            let words: Vec<&str> = entry.split(' ').collect();
            let (lane, kind, data) = match words[..] {
                ["write", text] => {
                    ("lifecycle", "host_message", format!(r#""type":"user","text":"{text}""#))
                }
                [kind] => ("lifecycle", "host_message", format!(r#""type":"{kind}""#)),
                ["says", text] => {
                    ("telegram", "(user)", format!(r#""text":"{text} [[clitape:a/1.0.0]]""#))
                }
                ["ask", id, text] => {
                    let buttons = r#""question":"q","buttons":[["Yes","No"],["Always\u001b"]]"#;
                    let data = format!(r#""message_id":{id},"text":"{text}",{buttons}"#);
                    ("telegram", "sendMessage", data)
                }
                ["draft", id, text] => {
                    let data = format!(r#""draft_id":{id},"text":"{text}""#);
                    ("telegram", "sendMessageDraft", data)
                }
                [kind, id, text] => {
                    let kind = if kind == "send" { "sendMessage" } else { "editMessageText" };
                    ("telegram", kind, format!(r#""message_id":{id},"text":"{text}""#))
                }
                _ => panic!("{entry}"),
            };
            let line = format!(r#"{{"at":1,"lane":"{lane}","kind":"{kind}","data":{{{data}}}}}"#);
            chat.apply(number, &serde_json::from_str(&line).unwrap());
        }
        let shown = chat.messages().into_iter().map(|message| {
            let spans = message.spans(ChatProfile::Telegram);
            let text: String = spans.into_iter().map(|span| span.text).collect();
            format!("{}{text}", if message.is_own() { ">" } else { "" })
        });
        assert_eq!(shown.collect::<Vec<_>>(), expect, "{entries:?}");
    }

    #[test]
    fn messages_of_both_sides_are_in_the_order_in_which_they_came() {
        check(&["initialize", "write a", "send 1 b"], &[">a", "b"]);
        check(&["write a", "send 1 b", "write c", "edit 1 d"], &[">a", "d", ">c"]);
        check(&["says a", "send 1 b"], &[">a", "b"]);
        check(&["write a", "write b", "send 1 c", "send 2 d"], &[">a", ">b", "c", "d"]);
        check(&["send 1 a", "set_model", "write <b>", "send 2 c"], &["a", "><b>", "c"]);
    }

    #[test]
    fn a_draft_is_below_all_messages_until_one_comes() {
        check(&["send 1 a", "draft 7 b", "write c"], &["a", ">c", "b\n✎ draft"]);
        check(&["draft 7 b", "draft 7 bc"], &["bc\n✎ draft"]);
        check(&["draft 7 b", "send 1 bc"], &["bc"]);
    }

    #[test]
    fn an_interrupt_is_a_button_that_the_person_presses() {
        check(&["send 1 a", "interrupt", "send 2 b"], &["a", ">[ ⏹ Stop ]", "b"]);
        check(&["interrupt", "send 1 a", "edit 1 b"], &[">[ ⏹ Stop ]", "b"]);
    }

    #[test]
    fn a_question_has_its_buttons_until_it_is_answered() {
        check(&["ask 1 a&amp;b"], &["a&b\n[ Yes ] [ No ]\n[ Always␛ ]"]);
        check(&["ask 1 a", "edit 1 allowed"], &["allowed"]);
    }

    #[test]
    fn lines_break_at_words_and_keep_their_marks() {
        let accents = format!("a{}", "\u{301}".repeat(20));
        for (html, expect) in [
            (
                "one <b>two th</b>ree\nabcdefghijk",
                &[":one |b:two |", "b:th|:ree|", ":abcdefgh|", ":ijk|"][..],
            ),
            ("a\n\n<i>b\n</i>", &[":a|", "", "i:b|", ""]),
            ("a\tb", &[":a    b|"]),
            ("12345678 9", &[":12345678 |", ":9|"]),
            ("字字 字字字 xy", &[":字字 |", ":字字字 |", ":xy|"]),
            ("x字字字字字", &[":x字字字|", ":字字|"]),
            ("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", &[":👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧|", ":👩‍👩‍👧|"]),
            (&format!("{accents}bc"), &[&format!(":{accents}|"), ":bc|"]),
        ] {
            let lines: Vec<String> = wrap(&spans(html), 8)
                .iter()
                .map(|line| line.iter().map(|(marks, text)| format!("{marks}:{text}|")).collect())
                .collect();
            assert_eq!(lines, expect, "{html}");
        }
    }

    #[test]
    fn html_is_shown_as_a_person_sees_it() {
        for (html, expect) in [
            ("a &lt;b&gt; &amp;amp; <a href=\"x\">link</a>", "a <b> &amp; link".to_owned()),
            ("<b>x</b>", format!("{BOLD}x{BOLD:#}")),
            ("<i>a b</i> \u{1b}[2J<script>", format!("{DIM}a b{DIM:#} ␛[2J<script>")),
        ] {
            let [line] = &wrap(&spans(html), WIDTH)[..] else { panic!("one line") };
            assert_eq!(line.iter().map(terminal_run).collect::<String>(), expect);
        }
    }

    #[test]
    fn the_person_writes_sees_the_buttons_and_then_what_was_decided() {
        let cassettes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cassettes");
        let cassette = Path::new(cassettes).join("permission-allow/2.1.332");
        let Cassette { stdout, stdin, timeline, .. } = Cassette::load(&cassette).unwrap();
        let lines = stdin_lines(&stdin, &timeline);
        let capture = Capture { stdout: &stdout, stdin: &lines };
        let channel = Some(Chat::of(ChatMode::Partial));
        let setup = Setup { run: RunSpec::default(), channel, acp: None };
        let plan = Plan::cut(capture, &timeline, Cut::None, 1);
        let mut chat = TwoSidedChat::default();
        let mut shown = Vec::new();
        for entry in &replay(capture, &plan, setup).entries {
            if chat.apply(0, entry) == ChatChange::Text {
                let mut terminal = TerminalChat { chat, drawn: 0 };
                let mut out = Vec::new();
                terminal.draw(&mut Screen::new(&mut out, None), entry.at).unwrap();
                shown.push(strip(&out));
                chat = terminal.chat;
            }
        }
        let prompt = "Make a file that is called made.txt. │\n";
        let buttons = "│ [ ✅ Allow ] [ ⛔ Deny ]\n";
        let decided = "│ ✅ Allowed ";
        let seen = shown
            .iter()
            .map(|drawn| [prompt, buttons, decided].map(|text| u8::from(drawn.contains(text))));
        let mut seen: Vec<[u8; 3]> = seen.collect();
        seen.dedup();
        assert_eq!(seen, [[1, 0, 0], [1, 1, 0], [1, 0, 1]], "{}", shown.join("\n"));
    }
}
