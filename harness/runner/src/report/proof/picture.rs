//! Writes the chat as a picture: `preview.svg`, animated and without a script, which GitHub shows inline, and
//! `preview.cast`, an asciicast, version 3. Both draw the same moments of the chat as wrapped lines.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::rc::Rc;

use clitape_recording::secrets::scan;
use clitape_recording::text::markup::BUTTON;
use clitape_recording::text::{self, plain};
use maud::{Markup, html};
use serde_json::json;

use crate::report::lines::{StyledRun, columns, wrap};
use crate::report::page::document;
use crate::report::page::frames::{ChatFrames, ChatMessage, MESSAGES, key_frames};
use crate::report::page::waterfall::seconds;
use crate::suite::ProofCase;

/// The columns of a line, and the lines of a picture.
const COLUMNS: usize = 64;
const LINES: usize = 26;
/// The sizes of a line and of the picture in user units.
const LINE: usize = 18;
const WIDTH: usize = 560;

/// The style sheet of the picture and of the marks on a run of text.
const STYLE: &str = ".sky{fill:#cfe0c8}.bubble{fill:#fff}text{fill:#1d2329;font:13px system-ui,\
    -apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;white-space:pre}.b{font-weight:600}\
    .i{font-style:italic}.u{text-decoration:underline}.s{text-decoration:line-through}\
    .u.s{text-decoration:underline line-through}.link{fill:#2a7de1}\
    .code{font-family:ui-monospace,Menlo,Consolas,monospace}\
    .clock{fill:#5c6773;font-size:11px}.bubble.own{fill:#e1f5c8}.button{fill:#2a7de1;font-weight:600}\
    @media(prefers-color-scheme:dark){.sky{fill:#0e1621}.bubble{fill:#182533}text{fill:#e6eaee}\
    .clock{fill:#98a3ae}.bubble.own{fill:#2b5278}.button{fill:#62a8ff}}";

/// The time between two runs of a picture, in ms.
const PAUSE: u64 = 2_000;
/// The most moments of a run, beside its key frames and the last one.
const MOMENTS: usize = 300;

/// One moment of a picture.
struct PictureMoment {
    /// The time since the beginning, in ms.
    pub(super) at: u64,
    /// The last messages, the oldest first.
    pub(super) messages: Vec<Rc<WrappedMessage>>,
    /// True for a key frame with a message of the agent.
    is_key: bool,
}

/// A message as wrapped lines.
struct WrappedMessage {
    /// True if the person wrote it.
    pub(super) is_own: bool,
    /// Its lines.
    lines: Vec<Vec<StyledRun>>,
}

impl WrappedMessage {
    fn new(message: &ChatMessage, columns: usize) -> Self {
        Self { is_own: message.is_own, lines: wrap(&message.spans, columns) }
    }
}

/// Writes a picture with the prompts of the person. A picture breaks its lines, so that the search for secrets takes the
/// word after one such as `Bearer` at the end of a line for a secret; where it finds one, the prompts are left out.
fn with_prompts(write: impl Fn(bool) -> String) -> String {
    let picture = write(true);
    match scan("", picture.as_bytes()).is_empty() {
        true => picture,
        false => write(false),
    }
}

/// Returns the moments of all cases one after another, and the time at which the picture ends.
fn moments(cases: &[ProofCase], columns: usize, has_prompts: bool) -> (Vec<PictureMoment>, u64) {
    let mut moments = Vec::new();
    let mut began = 0;
    for case in cases {
        // The messages of a run stay in the chat of the next one.
        let mut before: Vec<Rc<WrappedMessage>> = Vec::new();
        for run in &case.runs {
            let end = run.entries.iter().map(|entry| entry.at).max().unwrap_or(0);
            let prompt = run.prompt().filter(|_| has_prompts);
            // With a prompt, its frame is the first moment.
            if prompt.is_none() {
                moments.push(PictureMoment { at: began, messages: before.clone(), is_key: false });
            }
            let mut now = before.clone();
            let chat = ChatFrames::of(&run.entries, case.chat.profile, prompt);
            let keys = key_frames(&run.entries, &chat);
            let keys: BTreeSet<_> = keys.iter().map(|key| key.frame).collect();
            let mut wrapped = HashMap::new();
            for number in drawn(chat.frames.len(), &keys) {
                let frame = &chat.frames[number];
                now = before.clone();
                now.extend(frame.messages.iter().map(|place| {
                    let new = || Rc::new(WrappedMessage::new(&chat.messages[*place], columns));
                    Rc::clone(wrapped.entry(*place).or_insert_with(new))
                }));
                now.drain(..now.len().saturating_sub(MESSAGES));
                let is_key = frame.is_answered() && keys.contains(&number);
                moments.push(PictureMoment { at: began + frame.at, messages: now.clone(), is_key });
            }
            before = now;
            began += end + PAUSE;
        }
    }
    (moments, began)
}

/// Returns the frames of a run that are drawn, out of `frames`: the key frames, the last one, and others at equal
/// distances.
fn drawn(frames: usize, keys: &BTreeSet<usize>) -> impl Iterator<Item = usize> {
    let step = frames.div_ceil(MOMENTS).max(1);
    (0..frames)
        .filter(move |frame| frame % step == 0 || frame + 1 == frames || keys.contains(frame))
}

/// Draws the picture: animated, and as four key frames for a viewer without animations.
pub fn picture(cases: &[ProofCase]) -> String {
    with_prompts(|has_prompts| drawing(cases, has_prompts))
}

fn drawing(cases: &[ProofCase], has_prompts: bool) -> String {
    let (moments, end) = moments(cases, COLUMNS, has_prompts);
    let tallest = moments.iter().map(|moment| taken(&moment.messages)).max().unwrap_or(0);
    let height = (tallest + 34).min(LINES * LINE + 60);
    let names: Vec<&str> = cases.iter().map(|case| case.title.as_str()).collect();
    let untils = moments.iter().skip(1).map(|next| next.at).chain([end]);
    document(html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) }
            width=(WIDTH) height=(height) role="img" {
            "\n"
            title { (names.join(", ")) } "\n"
            style { (STYLE) } "\n"
            rect.sky width=(WIDTH) height=(height) rx="10" {} "\n"
            g {
                set attributeName="display" to="none" {}
                @for (place, moment) in still(&moments).into_iter().enumerate() {
                    @let (x, y) = (place % 2 * WIDTH / 2, place / 2 * height / 2);
                    // Each key frame is its own picture, so that messages above its chat are hidden.
                    svg x=(x) y=(y) width=(WIDTH / 2) height=(height / 2)
                        viewBox={ "0 0 " (WIDTH) " " (height) } { (chat(moment, height)) }
                }
            }
            "\n"
            @for (moment, until) in moments.iter().zip(untils) {
                g display="none" { (animation(moment.at, until, end)) (chat(moment, height)) }
                "\n"
            }
        }
        "\n"
    })
}

/// Returns the four moments of a still picture: the first key frames, and the last moment.
fn still(moments: &[PictureMoment]) -> Vec<&PictureMoment> {
    let mut keys: Vec<_> = moments.iter().filter(|moment| moment.is_key).collect();
    if keys.last().is_none_or(|key| key.at < moments.last().map_or(0, |last| last.at)) {
        keys.extend(moments.last());
    }
    let last = keys.split_off(keys.len().saturating_sub(1));
    keys.into_iter().take(3).chain(last).collect()
}

/// Returns the height of a message.
fn tall(message: &WrappedMessage) -> usize {
    message.lines.len() * LINE + 18
}

fn taken(messages: &[Rc<WrappedMessage>]) -> usize {
    messages.iter().map(|message| tall(message) + 8).sum()
}

/// Draws the chat of a moment, with its time.
fn chat(moment: &PictureMoment, height: usize) -> Markup {
    // Older messages that do not fit are above the picture, as in a chat.
    let top = height as i64 - taken(&moment.messages) as i64 - 4;
    let tops = moment.messages.iter().scan(top.min(30), |top, message| {
        let this = *top;
        *top += tall(message) as i64 + 8;
        Some((this, message))
    });
    let seen = tops.filter(|(top, message)| top + tall(message) as i64 > 0);
    html! {
        text.clock x=(WIDTH - 14) y="20" text-anchor="end" { (seconds(moment.at)) }
        @for (top, message) in seen {
            @let own = message.is_own;
            @let (x, anchor) = if own { (WIDTH - 22, Some("end")) } else { (22, None) };
            rect.bubble.own[own] x="10" y=(top) width=(WIDTH - 20) height=(tall(message)) rx="10" {}
            @let lines = (1..).zip(&message.lines);
            @for (number, line) in lines.skip_while(|(number, _)| top + (number + 1) * LINE as i64 <= 0) {
                text x=(x) y=(top + number * LINE as i64 + 4) text-anchor=[anchor] {
                    @for styled in line { (run(styled)) }
                }
            }
        }
    }
}

/// Shows a group from one moment to another, in a loop.
fn animation(from: u64, to: u64, end: u64) -> Markup {
    let share = |at: u64| at as f64 / end.max(1) as f64;
    let (values, times) = match (from, to >= end) {
        (0, true) => ("inline;inline", "0;1".to_owned()),
        (0, false) => ("inline;none", format!("0;{:.5}", share(to))),
        (_, true) => ("none;inline", format!("0;{:.5}", share(from))),
        (_, false) => ("none;inline;none", format!("0;{:.5};{:.5}", share(from), share(to))),
    };
    html! {
        animate attributeName="display" values=(values) keyTimes=(times) calcMode="discrete"
            dur={ (end) "ms" } repeatCount="indefinite" {}
    }
}

fn run((marks, text): &StyledRun) -> Markup {
    html! { tspan class=[(!marks.is_empty()).then_some(marks)] { (text) } }
}

/// The columns and rows of the terminal.
const CAST_COLUMNS: usize = 72;
const CAST_ROWS: usize = 24;
/// The columns of a line of a message.
const CAST_WIDTH: usize = CAST_COLUMNS - 4;

/// The number of the terminal style for each mark.
const SGR: [(&str, u8); 7] =
    [("b", 1), ("i", 3), ("u", 4), ("link", 4), ("s", 9), ("code", 36), (BUTTON, 1)];

/// Writes the asciicast. Its only control characters are those of the format.
pub fn cast(cases: &[ProofCase]) -> String {
    with_prompts(|has_prompts| recording(cases, has_prompts))
}

fn recording(cases: &[ProofCase], has_prompts: bool) -> String {
    let names: Vec<String> = cases.iter().map(|case| plain(&case.title)).collect();
    let header = json!({
        "version": 3, "term": { "cols": CAST_COLUMNS, "rows": CAST_ROWS }, "title": names.join(", "),
    });
    let mut out = format!("{}\n", text::json(&header.to_string()));
    let (moments, end) = moments(cases, CAST_WIDTH, has_prompts);
    let mut before = 0;
    for moment in moments {
        let mut lines = Vec::new();
        for message in &moment.messages {
            let title = if message.is_own { " You ─" } else { "" };
            lines.push(format!("╭{title:─>0$}╮", CAST_WIDTH + 2));
            lines.extend(message.lines.iter().map(|line| {
                let text: String = line.iter().map(cast_run).collect();
                let before = " ".repeat(CAST_WIDTH.saturating_sub(columns(line)));
                if message.is_own {
                    format!("  {before}{} │", text.trim_end())
                } else {
                    format!("│ {text}")
                }
            }));
            lines.push(format!("╰{}╯", "─".repeat(CAST_WIDTH + 2)));
        }
        let from = lines.len().saturating_sub(CAST_ROWS - 1);
        let screen = format!("\u{1b}[H\u{1b}[2J{}\r\n", lines[from..].join("\r\n"));
        cast_event(&mut out, moment.at - before, "o", &screen);
        before = moment.at;
    }
    cast_event(&mut out, end - before, "x", "0");
    out
}

fn cast_event(out: &mut String, after_ms: u64, code: &str, data: &str) {
    let seconds = after_ms as f64 / 1000.0;
    let _ = writeln!(out, "{}", text::json(&json!([seconds, code, data]).to_string()));
}

fn cast_run((marks, text): &StyledRun) -> String {
    let codes: Vec<String> = SGR
        .iter()
        .filter(|(mark, _)| marks.split(' ').any(|of| of == *mark))
        .map(|(_, code)| code.to_string())
        .collect();
    if codes.is_empty() {
        return text.clone();
    }
    format!("\u{1b}[{}m{text}\u{1b}[0m", codes.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_shows_from_its_call_to_the_next() {
        assert!(animation(500, 1000, 2000).0.contains("keyTimes=\"0;0.25000;0.50000\""));
        assert!(animation(0, 1000, 2000).0.contains("values=\"inline;none\""));
        assert!(animation(1500, 2000, 2000).0.contains("values=\"none;inline\""));
    }

    #[test]
    fn of_a_long_run_some_moments_are_drawn() {
        let keys = BTreeSet::from([1, 7]);
        let drawn = |frames| drawn(frames, &keys).collect::<Vec<_>>();
        assert_eq!(drawn(MOMENTS), (0..MOMENTS).collect::<Vec<_>>());
        let long = drawn(MOMENTS * 100);
        assert_eq!(long[..5], [0, 1, 7, 100, 200]);
        assert_eq!((long.len(), long.last()), (MOMENTS + 3, Some(&(MOMENTS * 100 - 1))));
        assert!(drawn(0).is_empty());
    }

    #[test]
    fn what_is_above_the_picture_is_not_drawn() {
        let message = |name: &str, lines| {
            let line = vec![(String::new(), name.to_owned())];
            Rc::new(WrappedMessage { is_own: false, lines: vec![line; lines] })
        };
        let messages = vec![message("above", 2), message("cut", 40), message("below", 3)];
        let moment = PictureMoment { at: 0, messages, is_key: false };
        let drawn = chat(&moment, 400).into_string();
        let count = |name: &str| drawn.matches(&format!(">{name}<")).count();
        assert_eq!((count("above"), count("below")), (0, 3));
        assert!((10..40).contains(&count("cut")), "{drawn}");
    }

    #[test]
    fn recorded_text_is_text() {
        assert_eq!(
            run(&("b i".into(), "<script>".into())).0,
            "<tspan class=\"b i\">&lt;script&gt;</tspan>"
        );
    }

    #[test]
    fn marks_become_colours_and_nothing_recorded_does() {
        assert_eq!(cast_run(&("b code".into(), "x".into())), "\u{1b}[1;36mx\u{1b}[0m");
        assert_eq!(cast_run(&("quote".into(), "x".into())), "x");
        assert_eq!(cast_run(&("button".into(), "[ x ]".into())), "\u{1b}[1m[ x ]\u{1b}[0m");
    }
}
