//! Finds the stream-json of a CLI in the log of a gateway.
//!
//! A line of a log may have a time, a level and escape sequences of a terminal before a record, several records, or a
//! record as a text in a text or in an object of JSON, or in one of Python. A record may also go on over several lines:
//! printed with line feeds, or cut by a logger into lines with the same beginning. Each record is taken as it is in the
//! log, without the blanks of such lines; everything else is passed over.

use std::borrow::Cow;
use std::cell::Cell;
use std::iter;
use std::ops::Range;

use clitape_stream::control::{Asker, control_kind};
use clitape_stream::{DiagnosticCode, Event, Parser};
use serde::de::IgnoredAny;

use super::import::CapturedWrite;
use super::line::{LineHead, is_beginning, trimmed};
use crate::wire::{WireLine, is_control};

/// The records in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedRecords {
    /// The records that the CLI printed, a line each.
    pub stdout: Vec<u8>,
    /// The records that the gateway wrote to the CLI's stdin.
    pub written: Vec<CapturedWrite>,
    /// The number of lines of the log that are not blank.
    pub lines: usize,
    /// The number of these with a record.
    pub used: usize,
    /// The line, from 1, of each beginning of a record that does not end there.
    pub cut: Vec<usize>,
}

/// The most texts within texts in which a record is looked for.
const DEEPEST: usize = 4;
/// The most braces of a line that nothing closes, after which the rest of the line is passed over.
const UNCLOSED: usize = 32;
/// The most objects within objects that go on over several lines.
const NESTED: usize = 32;
/// The word before a record that the gateway wrote.
const STDIN: &str = "stdin";
/// Other words before what a gateway writes, to the CLI or to somebody else.
const WRITES: [&str; 6] = ["send", "sending", "sent", "write", "writing", "wrote"];
/// The characters of an arrow beside its head.
const SHAFT: [char; 2] = ['-', '='];
/// The characters around such words.
const AROUND: [char; 7] = ['[', ']', '(', ')', ':', '|', ','];

/// Finds the records in the text of a log.
pub fn from_log(log: &[u8]) -> LoggedRecords {
    let lines: Vec<_> = log.split(|byte| *byte == b'\n').map(plain_line).collect();
    let filled = |lines: &[Cow<'_, str>]| lines.iter().filter(|it| !it.trim().is_empty()).count();
    let mut logged = LoggedRecords { lines: filled(&lines), ..LoggedRecords::default() };
    let mut found = Vec::new();
    let (mut at, mut from, mut used_to) = (0, 0, 0);
    while let Some(line) = lines.get(at) {
        let text = &line[from..];
        let mut scan = LineScan { stops_at_open: true, ..LineScan::default() };
        scan.text(text, 0);
        let long = scan.open.and_then(|open| LongObject::read(&lines[at..], from + open));
        let next = match (&long, scan.open) {
            (_, None) => (at + 1, 0),
            (Some(long), Some(open)) => {
                scan = LineScan::default();
                scan.text(&[&text[..open], &long.text].concat(), 0);
                (at + long.lines, long.end)
            }
            (None, Some(open)) => {
                scan = LineScan::default();
                scan.text(text, 0);
                let (prefix, first) = line.split_at(from + open);
                let second = lines.get(at + 1).filter(|_| first.trim_end() == "{");
                let second = second.map(|line| line[same_beginning(line, prefix)..].trim_start());
                let begun = second.map(|second| ["{", second].concat());
                scan.cut += usize::from(begun.is_some_and(|begun| is_beginning(&begun)));
                (at + 1, 0)
            }
        };
        logged.cut.extend(iter::repeat_n(at + 1, scan.cut));
        if !scan.found.is_empty() {
            let end = next.0 + usize::from(next.1 > 0);
            logged.used += filled(&lines[used_to.max(at)..end.max(used_to)]);
            used_to = end.max(used_to);
        }
        found.append(&mut scan.found);
        (at, from) = next;
    }
    let is_odd = |it: &LoggedRecord| {
        it.direction == Some(Direction::ToCli) && it.writer == RecordWriter::Cli
    };
    let trusts = !found.iter().any(is_odd);
    found.into_iter().for_each(|record| logged.add(record, trusts));
    logged
}

/// Finds the records in a capture that does not have a record a line: an array of records, as `--output-format json
/// --verbose` prints it, or records with line feeds in them. `None` for another capture.
pub fn from_folded(capture: &[u8]) -> Option<LoggedRecords> {
    let text = trimmed(capture);
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let is_folded = match (text.first()?, values.next()?) {
        (b'[', first) => {
            let is_array = first.map_or_else(|error| error.is_eof(), |_| true);
            is_array && text[1..].trim_ascii_start().starts_with(b"{")
        }
        (b'{', Ok(_)) => text[..values.byte_offset()].contains(&b'\n'),
        _ => false,
    };
    let logged = is_folded.then(|| from_log(capture))?;
    (logged.used > 0).then_some(logged)
}

impl LoggedRecords {
    /// Adds the record that comes next. `trusts` is true if the directions of the log fit its records.
    fn add(&mut self, record: LoggedRecord, trusts: bool) {
        if record.is_written(trusts) {
            let stdout_offset = self.stdout.len() as u64;
            self.written.push(CapturedWrite { stdout_offset, bytes: record.text + "\n" });
        } else {
            self.stdout.extend_from_slice(record.text.as_bytes());
            self.stdout.push(b'\n');
        }
    }
}

/// An object that goes on over several lines.
struct LongObject {
    /// The object, without the beginnings of the lines.
    text: String,
    /// The number of lines after the first.
    lines: usize,
    /// The end of the object in the last of these.
    end: usize,
}

impl LongObject {
    /// Reads the object that begins in the first line at `open`; `None` if there is none. Only lines that begin as
    /// the first one does go on with a text.
    fn read(lines: &[Cow<'_, str>], open: usize) -> Option<Self> {
        let (prefix, first) = lines.first()?.split_at(open);
        let (mut text, mut checked) = (first.to_owned(), first.len());
        let mut nesting = Nesting::default();
        nesting.end_in(first);
        for (number, line) in (1..).zip(&lines[1..]) {
            let from = same_beginning(line, prefix);
            match nesting.quoted {
                true if from == 0 => return None,
                true => {}
                false => text.push('\n'),
            }
            let end = nesting.end_in(&line[from..]).map(|end| from + end);
            text.push_str(&line[from..end.unwrap_or(line.len())]);
            if let Some(end) = end {
                let is_json = serde_json::from_str::<IgnoredAny>(&text).is_ok();
                return is_json.then_some(Self { text, lines: number, end });
            }
            // Each check reads it all again.
            if text.len() > 2 * checked {
                checked = text.len();
                if nesting.open > NESTED || !is_json_so_far(&text) {
                    return None;
                }
            }
        }
        None
    }
}

/// Returns the end of the beginning that a line shares with another one: the same characters but for its digits; 0 if
/// there is none. A container runtime marks the last part of a line with F, and those before it with P.
fn same_beginning(line: &str, prefix: &str) -> usize {
    let is_same = |(a, b): (u8, u8)| {
        a == b || a.is_ascii_digit() && b.is_ascii_digit() || [a, b] == [b'F', b'P']
    };
    let is_shared =
        line.is_char_boundary(prefix.len()) && line.bytes().zip(prefix.bytes()).all(is_same);
    if is_shared { prefix.len() } else { 0 }
}

/// Returns whether a text is JSON, or the beginning of it.
fn is_json_so_far(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).map_or_else(|error| error.is_eof(), |_| true)
}

/// A record in a line of a log.
struct LoggedRecord {
    text: String,
    writer: RecordWriter,
    /// The direction that the log names before it.
    direction: Option<Direction>,
}

impl LoggedRecord {
    /// Returns whether the gateway wrote it. `trusts` is true if the directions of the log fit its records.
    fn is_written(&self, trusts: bool) -> bool {
        match (self.direction.filter(|it| trusts || *it == Direction::Stdin), self.writer) {
            (Some(Direction::Stdin), _) | (Some(Direction::ToCli), RecordWriter::Either) => true,
            (Some(Direction::FromCli), _) => false,
            (_, writer) => writer == RecordWriter::Host,
        }
    }
}

/// The side that writes a record, as far as the record itself says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordWriter {
    Cli,
    Host,
    Either,
}

impl RecordWriter {
    fn of(record: &str, names_session: bool) -> Self {
        match WireLine::read(record.as_bytes()) {
            Some(WireLine::Message(message)) if message.is_of_cli => Self::Cli,
            // What a host writes often names no session.
            Some(WireLine::Message(_)) if !names_session => Self::Host,
            Some(WireLine::Request(request)) => match request.subtype() {
                subtype if control_kind(subtype, Asker::Cli).is_some() => Self::Cli,
                subtype if control_kind(subtype, Asker::Host).is_some() => Self::Host,
                _ => Self::Either,
            },
            // The CLI repeats messages and answers of its host.
            Some(WireLine::Message(_) | WireLine::Response(_) | WireLine::Cancel { .. }) => {
                Self::Either
            }
            _ => Self::Cli,
        }
    }
}

/// The direction that a log names before a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// It names stdin.
    Stdin,
    /// An arrow or a word for what the gateway writes, to the CLI or to somebody else.
    ToCli,
    /// An arrow the other way.
    FromCli,
}

impl Direction {
    /// Finds the direction in the text before a record.
    fn named_in(prefix: &str) -> Option<Self> {
        let prefix = prefix.to_ascii_lowercase();
        if prefix.contains(STDIN) {
            return Some(Self::Stdin);
        }
        let words = prefix.split_whitespace().map(|word| word.trim_matches(AROUND));
        let is_arrow = |word: &str, heads: [char; 3]| {
            !word.is_empty() && word.chars().all(|c| heads.contains(&c))
        };
        words.rev().find_map(|word| {
            let is_to = is_arrow(word.trim_start_matches(SHAFT), ['>', '→', '⇒']);
            if is_to || WRITES.contains(&word) {
                return Some(Self::ToCli);
            }
            is_arrow(word.trim_end_matches(SHAFT), ['<', '←', '⇐']).then_some(Self::FromCli)
        })
    }
}

/// Looks for the records in a line.
#[derive(Default)]
struct LineScan {
    found: Vec<LoggedRecord>,
    /// The number of beginnings of records that do not end.
    cut: usize,
    /// True if the scan ends at an object that may go on in the next line.
    stops_at_open: bool,
    /// The place of that object.
    open: Option<usize>,
}

impl LineScan {
    /// Adds the records in a text, with the direction that it names before them.
    fn text(&mut self, text: &str, depth: usize) {
        let (mut at, mut unclosed, mut after) = (0, 0, 0);
        while let Some(next) = text[at..].find(['{', '"', '\'']) {
            if unclosed > UNCLOSED {
                return;
            }
            at += next;
            let rest = &text[at..];
            let before = self.found.len();
            if rest.starts_with('\'') {
                let end = self.python(rest, text[..at].ends_with('b'), depth);
                after = self.direct(before, text, after..at);
                at += end.unwrap_or(1);
                continue;
            }
            let is_object = rest.starts_with('{');
            let end = if is_object { object_end(rest) } else { string_end(rest) };
            let Some(end) = end else {
                if is_object && depth == 0 && self.stops_at_open && is_json_so_far(rest) {
                    self.open = Some(at);
                    return;
                }
                self.cut += usize::from(is_beginning(rest));
                unclosed += 1;
                at += 1;
                continue;
            };
            let part = &rest[..end];
            let is_whole = if is_object {
                self.object(part, depth);
                serde_json::from_str::<IgnoredAny>(part).is_ok()
            } else {
                self.string(part, depth);
                !part.contains('{')
            };
            after = self.direct(before, text, after..at);
            // A brace or a quote in prose may open nothing; what seems to be in it is looked through again.
            let is_taken = depth > 0 || is_whole || self.found.len() > before;
            self.cut += usize::from(is_object && !is_whole && is_beginning(part));
            unclosed += usize::from(!is_taken);
            at += if is_taken { end } else { 1 };
        }
    }

    /// Adds an object if it is a record, and otherwise the records in it.
    fn object(&mut self, object: &str, depth: usize) {
        let head = serde_json::from_str::<LineHead>(object).ok();
        let head = head.filter(|head| head.kind().is_some());
        let is_known = head.as_ref().and_then(LineHead::kind).is_some_and(is_control)
            || head.is_some() && is_known(object);
        if !is_known && depth < DEEPEST {
            let before = self.found.len();
            self.text(&object[1..], depth + 1);
            if self.found.len() > before {
                return;
            }
        }
        let Some(head) = head.filter(|head| is_known || head.session().is_some()) else { return };
        let text = unfolded(object);
        let writer = RecordWriter::of(&text, head.session().is_some());
        self.found.push(LoggedRecord { text, writer, direction: None });
    }

    /// Gives the records from `first` on the direction that the text names at `before`, if none is named nearer to
    /// them; returns the end of that place, or its beginning if there is no record.
    fn direct(&mut self, first: usize, text: &str, before: Range<usize>) -> usize {
        if first == self.found.len() {
            return before.start;
        }
        let named = Direction::named_in(&text[before.clone()]);
        // Several records may follow one word.
        let named = named.or_else(|| {
            self.found[..first].last().and_then(|it| it.direction).filter(|_| before.start > 0)
        });
        for record in &mut self.found[first..] {
            record.direction = record.direction.or(named);
        }
        before.end
    }

    /// Adds the records in the text that a literal of Python has, as `%r` writes it; returns its end. `None` if it has
    /// none: a quote may also begin a text in which JSON is as it is.
    fn python(&mut self, text: &str, is_bytes: bool, depth: usize) -> Option<usize> {
        let is_object = text[1..].trim_start().starts_with('{');
        let (literal, end) =
            python_text(text, is_bytes).filter(|_| is_object && depth < DEEPEST)?;
        let (before, cut) = (self.found.len(), self.cut);
        self.text(&without_escapes(&literal), depth + 1);
        if self.found.len() == before {
            self.cut = cut;
            return None;
        }
        Some(end)
    }

    /// Adds the records in the text of a string of JSON.
    fn string(&mut self, literal: &str, depth: usize) {
        if depth < DEEPEST
            && literal.contains('{')
            && literal.contains('\\')
            && let Ok(text) = serde_json::from_str::<String>(literal)
        {
            self.text(&without_escapes(&text), depth + 1);
        }
    }
}

/// Returns whether the parser knows the kind of a record.
fn is_known(record: &str) -> bool {
    let is_known = Cell::new(true);
    let mut sink = |event: Event<'_>| {
        let is_lost = matches!(
            event,
            Event::Unknown { .. }
                | Event::Diagnostic { code: DiagnosticCode::NotJson | DiagnosticCode::CutLine, .. }
        );
        is_known.set(is_known.get() && !is_lost);
    };
    let mut parser = Parser::new();
    parser.feed_with(unfolded(record).as_bytes(), &mut sink);
    parser.finish_with(&mut sink);
    is_known.get()
}

/// Returns the end of the object with which a text begins; `None` if nothing closes it.
fn object_end(text: &str) -> Option<usize> {
    Nesting::default().end_in(text)
}

/// The state of an object at a place in it.
#[derive(Default)]
struct Nesting {
    open: usize,
    quoted: bool,
    escaped: bool,
}

impl Nesting {
    /// Returns the end of the object in the next part of its text; `None` if nothing closes it there.
    fn end_in(&mut self, text: &str) -> Option<usize> {
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                b'{' if !self.quoted => self.open += 1,
                b'}' if !self.quoted => {
                    self.open -= 1;
                    if self.open == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Returns an object on one line: without blanks between its tokens, if there are line feeds among them.
fn unfolded(object: &str) -> String {
    if !object.contains(['\n', '\r']) {
        return object.to_owned();
    }
    let (mut quoted, mut escaped) = (false, false);
    let is_kept = |c: &char| {
        let is_kept = quoted || !c.is_ascii_whitespace();
        quoted ^= *c == '"' && !escaped;
        escaped = quoted && *c == '\\' && !escaped;
        is_kept
    };
    object.chars().filter(is_kept).collect()
}

/// Returns the end of the string with which a text begins; `None` if nothing closes it.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Reads the literal of Python in single quotes with which a text begins, of a text or of bytes; returns its text, and its
/// end. `None` if it has an escape that Python does not write there.
fn python_text(text: &str, is_bytes: bool) -> Option<(String, usize)> {
    let mut bytes = Vec::new();
    let mut chars = text.char_indices().skip(1);
    let mut is_escaped = false;
    while let Some((at, c)) = chars.next() {
        let digits = match c {
            '\'' if !is_escaped => {
                return Some((String::from_utf8_lossy(&bytes).into_owned(), at + 1));
            }
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            _ if !is_escaped => 0,
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let code = match (is_escaped, digits) {
            (true, 0) => match c {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '\\' | '\'' => c,
                _ => return None,
            },
            (_, 0) => c,
            _ => {
                let code = text.get(at + 1..=at + digits)?;
                chars.nth(digits - 1)?;
                char::from_u32(u32::from_str_radix(code, 16).ok()?)?
            }
        };
        match u8::try_from(code) {
            Ok(byte) if is_bytes => bytes.push(byte),
            _ => bytes.extend_from_slice(code.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        is_escaped = false;
    }
    None
}

/// Returns the text of a line, without its CR and without the escape sequences of a terminal.
fn plain_line(line: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)) {
        Cow::Borrowed(text) => without_escapes(text),
        Cow::Owned(text) => Cow::Owned(without_escapes(&text).into_owned()),
    }
}

/// Removes the escape sequences of a terminal.
fn without_escapes(text: &str) -> Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split(ESCAPE);
    plain.extend(parts.next());
    for part in parts {
        let end = match part.bytes().next() {
            // CSI: parameters up to a final character.
            Some(b'[') => part.char_indices().skip(1).find(|(_, c)| ('@'..='~').contains(c)),
            // OSC: a text up to a bell; the other end, ESC \, begins the next part.
            Some(b']') => {
                part.char_indices().find(|(_, c)| *c == '\u{7}').or(part.char_indices().last())
            }
            _ => part.char_indices().next(),
        };
        plain.extend(end.map(|(at, c)| &part[at + c.len_utf8()..]));
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    const TEXT: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a \"{\" \u001b[1m"}]},"session_id":"s"}"#;
    const NEW: &str = r#"{"type":"of_tomorrow","session_id":"s"}"#;
    const PROMPT: &str = r#"{"type":"user","message":{"role":"user","content":"hi"}}"#;

    /// Checks the records that are found in a log, and the number of its lines that have one.
    #[track_caller]
    fn check(log: &str, stdout: &[&str], written: &[&str], used: usize) -> LoggedRecords {
        let logged = from_log(log.as_bytes());
        let lines: Vec<&str> = str::from_utf8(&logged.stdout).unwrap().lines().collect();
        assert_eq!(lines, stdout, "{log}");
        let lines: Vec<&str> = logged.written.iter().map(|write| write.bytes.trim_end()).collect();
        assert_eq!((lines, logged.used), (written.to_vec(), used), "{log}");
        logged
    }

    #[test]
    fn a_record_is_found_after_times_levels_and_escapes() {
        check(&format!("{INIT}\n{TEXT}\n"), &[INIT, TEXT], &[], 2);
        let log = format!(
            "2026-11-28T10:00:00Z DEBUG [cli {{7}}] {INIT}\nstarting \"the {{ CLI\"\n\n\u{1b}[32mDEBUG\u{1b}[0m stdout: {TEXT}\u{1b}[0m\r\n"
        );
        check(&log, &[INIT, TEXT], &[], 2);
        check(&format!("5\" pipe says \"{{\" and {INIT} then {TEXT}"), &[INIT, TEXT], &[], 1);
        check("a line\n{\"level\":\"info\",\"type\":\"http\"}\n{{{{ {\n", &[], &[], 0);
    }

    #[test]
    fn a_record_is_found_in_texts_and_objects_of_json() {
        let quoted = serde_json::to_string(&format!("{INIT}\n")).unwrap();
        let both = serde_json::to_string(&format!("{INIT}\n{TEXT}\n")).unwrap();
        let twice = serde_json::to_string(&format!("{{\"line\":{quoted}}}")).unwrap();
        check(&format!("{{\"log\":{quoted},\"stream\":\"stdout\"}}"), &[INIT], &[], 1);
        check(&format!("time=10:00 level=DEBUG msg=stdout line={both}"), &[INIT, TEXT], &[], 1);
        check(&format!("{{\"msg\":{twice}}}"), &[INIT], &[], 1);
        check(
            &format!("{{\"type\":\"event\",\"session_id\":\"x\",\"data\":{TEXT}}}"),
            &[TEXT],
            &[],
            1,
        );
        check(&format!("Event {{ line: {quoted} }}"), &[INIT], &[], 1);
    }

    #[test]
    fn an_arrow_or_a_word_says_which_side_wrote_a_record() {
        let result =
            r#"{"type":"user","message":{"content":[{"type":"tool_result"}]},"session_id":"s"}"#;
        let prompt = r#"{"type":"user","message":{"content":"hi"},"parent_tool_use_id":null,"session_id":"s"}"#;
        let answer = r#"{"type":"control_response","response":{"request_id":"r"}}"#;
        let host = r#"{"type":"control_request","request":{"subtype":"set_permission_mode"}}"#;
        let new = r#"{"type":"control_request","request":{"subtype":"of_tomorrow"}}"#;
        let question = r#"{"type":"control_request","request":{"subtype":"can_use_tool"}}"#;
        for (log, stdout, written) in [
            (format!(">>> {prompt}\n{INIT}\n{prompt}"), &[INIT, prompt][..], &[prompt][..]),
            (
                format!("10:00 [->] {answer} {new}\n10:01 [<-] {answer} {INIT}"),
                &[answer, INIT],
                &[answer, new],
            ),
            (format!("< {question}\n> {answer}\n< {PROMPT}"), &[question, PROMPT], &[answer]),
            (format!("sent {{\"line\":{answer}}}\ngot {INIT}"), &[INIT], &[answer]),
            (format!("{host}\n{answer}\n{new}"), &[answer, new], &[host]),
            // These say something else, because the CLI alone writes such records.
            (format!("> {prompt}\n> {INIT}"), &[prompt, INIT], &[]),
            (format!("sent {answer}\nsent {result}\nsent {PROMPT}"), &[answer, result], &[PROMPT]),
            (format!("a >= b: {prompt}\nclaude> {prompt}\n{INIT}"), &[prompt, prompt, INIT], &[]),
        ] {
            check(&log, stdout, written, log.lines().count());
        }
    }

    #[test]
    fn a_record_is_found_over_several_lines() {
        let pretty = |record: &str| {
            let value: serde_json::Value = serde_json::from_str(record).unwrap();
            serde_json::to_string_pretty(&value).unwrap()
        };
        let (init, text) = (pretty(INIT), pretty(TEXT));
        let lines = |text: &str| text.lines().count();
        let both = lines(&init) + lines(&text);
        check(&format!("{init}\n{text}\n"), &[INIT, TEXT], &[], both);
        check(&format!("{init}\r\n").replace('\n', "\r\n"), &[INIT], &[], lines(&init));
        check(&format!("[INFO] {init}\n[INFO] {TEXT}"), &[INIT, TEXT], &[], lines(&init) + 1);
        check(&format!("[\n{init},\n{text}\n]"), &[INIT, TEXT], &[], both);
        check(&format!("[{init}, {text}]"), &[INIT, TEXT], &[], both - 1);
        check(&format!("{{\n\"events\": [{init}]\n}}"), &[INIT], &[], lines(&init) + 2);
        let stamped = text.replace('\n', "\n10:00:01 ");
        check(&format!("10:00:00 {stamped}"), &[TEXT], &[], lines(&text));
        // A logger cuts lines into parts.
        let (begin, end) = TEXT.split_at(90);
        check(&format!("10:00:00 [a] {begin}\n10:00:01 [a] {end}"), &[TEXT], &[], 2);
        check(&format!("10:00 stdout P {begin}\n10:01 stdout F {end}"), &[TEXT], &[], 2);
        for other in [format!("{begin}\n{end}"), format!("a {begin}\nb {end}")] {
            assert_eq!(check(&other, &[], &[], 0).cut, [1]);
        }
        let cut = format!("fn a() {{\n{INIT}\n{}", &text[..60]);
        assert_eq!(check(&cut, &[INIT], &[], 1).cut, [3]);
    }

    #[test]
    fn a_capture_is_folded_if_it_has_no_record_a_line() {
        let folded = format!("[{INIT},{TEXT}]\n[{INIT}]\n");
        for (capture, expect) in [
            (folded.as_str(), Some(3)),
            (&folded[..folded.len() - 3], Some(2)),
            (&format!("\u{feff}[\n{INIT}\n]"), Some(1)),
            (&INIT.replace(',', ",\n"), Some(1)),
            (INIT, None),
            (&format!("{INIT}{TEXT}\n"), None),
            (&format!("{INIT}\n[{TEXT}]\n"), None),
            (&format!("[INFO] {INIT}\n"), None),
            (&format!("[1] {INIT}\n"), None),
            ("[{\"type\":\"http\"}]", None),
            ("", None),
        ] {
            let records = from_folded(capture.as_bytes())
                .map(|logged| logged.stdout.split(|byte| *byte == b'\n').count() - 1);
            assert_eq!(records, expect, "{capture}");
        }
    }

    #[test]
    fn a_record_is_found_in_a_text_of_python() {
        let said = |text: &str| TEXT.replace(r#"a \"{\""#, text);
        for (line, record) in [
            (format!("line: '{INIT}'"), INIT.to_owned()),
            (format!("line: '{INIT}\\n'"), INIT.to_owned()),
            (format!("line: '{}\\n'", said(r#"it\'s \\"a\\nb\\""#)), said(r#"it's \"a\nb\""#)),
            (format!("line: b'{}'", said(r"\xc3\xa9")), said("é")),
            (format!("line: '{}'", said(r"\xe9")), said("é")),
            // The JSON as it is, in quotes.
            (format!("line: '{}'", said(r#"a\n\"b\""#)), said(r#"a\n\"b\""#)),
            (format!("line: '{}'", said("it's")), said("it's")),
        ] {
            // The text ends with an escape of JSON that Python would write in another way.
            let plain = |text: &str| text.replace(r" \u001b[1m", "");
            let (line, record) = (plain(&line), plain(&record));
            check(&line, &[&record], &[], 1);
        }
    }

    #[test]
    fn a_new_kind_is_a_record_if_it_names_a_session() {
        check(NEW, &[NEW], &[], 1);
        check(r#"{"type":"of_tomorrow"}"#, &[], &[], 0);
    }

    #[test]
    fn what_the_gateway_wrote_goes_to_stdin_at_its_place() {
        let logged = check(
            &format!("{INIT}\nsent {PROMPT}\n{TEXT}\nto stdin: {INIT}"),
            &[INIT, TEXT],
            &[PROMPT, INIT],
            4,
        );
        let offsets: Vec<u64> = logged.written.iter().map(|write| write.stdout_offset).collect();
        assert_eq!(offsets, [INIT.len() as u64 + 1, (INIT.len() + TEXT.len()) as u64 + 2]);
    }

    #[test]
    fn each_record_that_does_not_end_in_its_line_is_reported() {
        let quoted = serde_json::to_string(&TEXT[..40]).unwrap();
        let spaced = TEXT.replace(':', ": ");
        for (line, stdout, cut) in [
            (INIT.to_owned(), &[INIT][..], 0),
            (format!("DEBUG {}", &TEXT[..40]), &[], 1),
            (format!("DEBUG {}", &TEXT[..14]), &[], 1),
            (format!("DEBUG {}", &spaced[..40]), &[], 1),
            (format!("{INIT} {}", &TEXT[..40]), &[INIT], 1),
            (r#"{"is_error":false,"subtype":"#.to_owned(), &[], 1),
            (format!("{}{INIT}", &TEXT[..94]), &[INIT], 1),
            (format!("{{\"log\":{quoted}}}"), &[], 1),
            (format!("{{\"log\":{}", &quoted[..quoted.len() - 1]), &[], 1),
            (TEXT[..92].to_owned() + " (cut)\"}]}}", &[], 1),
            (r#"{"update":{"content":{"type":"text","text":"a"}}}"#.to_owned(), &[], 0),
            (r#"{"type":"http","url":"#.to_owned(), &[], 0),
        ] {
            let logged = check(&line, stdout, &[], usize::from(!stdout.is_empty()));
            assert_eq!(logged.cut, vec![1; cut], "{line}");
        }
    }
}
