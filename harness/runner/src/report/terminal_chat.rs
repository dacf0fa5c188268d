//! Draws a chat in a terminal, as a person sees it: each change is drawn over the chat before it.

use std::io::{self, Write};

use clitape_recording::chat::ChatChange;
use clitape_recording::scenario::ChatProfile;
use clitape_recording::text::markup::BUTTON;
use clitape_recording::trace::Entry;

use super::page::chat::{StyledRun, columns, wrap};
use super::style::{BOLD, DIM};
use super::two_sided::TwoSidedChat;

/// The width of a message in columns.
const WIDTH: usize = 64;

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
    pub fn draw(&mut self, out: &mut dyn Write, at: u64) -> io::Result<()> {
        if self.drawn > 0 {
            write!(out, "\u{1b}[{}A\u{1b}[J", self.drawn)?;
        }
        let mut lines = vec![format!("{DIM}{:>5}.{:03} s{DIM:#}", at / 1000, at % 1000)];
        let border = "─".repeat(WIDTH + 1);
        for message in self.chat.messages() {
            let text = wrap(&message.spans(ChatProfile::Telegram), WIDTH);
            let text = text.iter().map(|line| (line.iter().map(run).collect(), columns(line)));
            let text: Vec<(String, usize)> = text.collect();
            if message.is_own() {
                lines.push(format!("{DIM}{:─>1$}╮{DIM:#}", " You ─", WIDTH + 2));
                for (line, columns) in text {
                    let before = " ".repeat((WIDTH + 1).saturating_sub(columns));
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
fn run((marks, text): &StyledRun) -> String {
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

    #[test]
    fn html_is_shown_as_a_person_sees_it() {
        for (html, expect) in [
            ("a &lt;b&gt; &amp;amp; <a href=\"x\">link</a>", "a <b> &amp; link".to_owned()),
            ("<b>x</b>", format!("{BOLD}x{BOLD:#}")),
            ("<i>a b</i> \u{1b}[2J<script>", format!("{DIM}a b{DIM:#} ␛[2J<script>")),
        ] {
            let [line] = &wrap(&spans(html), WIDTH)[..] else { panic!("one line") };
            assert_eq!(line.iter().map(run).collect::<String>(), expect);
        }
    }

    #[test]
    fn the_person_writes_sees_the_buttons_and_then_what_was_decided() {
        let cassettes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cassettes");
        let cassette = Path::new(cassettes).join("permission-allow/2.1.330");
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
                terminal.draw(&mut out, entry.at).unwrap();
                shown.push(strip(&out));
                chat = terminal.chat;
            }
        }
        let prompt = "Make a file that is called made.txt. │\n";
        let buttons = "│ [ ✅ Allow ] [ ⛔ Deny ]\n";
        let decided = "│ ✅ Allowed at once\n";
        let seen = shown
            .iter()
            .map(|drawn| [prompt, buttons, decided].map(|text| u8::from(drawn.contains(text))));
        let mut seen: Vec<[u8; 3]> = seen.collect();
        seen.dedup();
        assert_eq!(seen, [[1, 0, 0], [1, 1, 0], [1, 0, 1]], "{}", shown.join("\n"));
    }
}
