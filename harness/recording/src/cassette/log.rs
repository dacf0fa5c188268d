//! Finds the stream-json of a CLI in the log of a gateway.
//!
//! A line of a log may have a time, a level and escape sequences of a terminal before a record, several records, or a
//! record as a text in a text or in an object of JSON. Each record is taken as it is in the line; everything else is
//! passed over.

use std::borrow::Cow;
use std::cell::Cell;
use std::iter;

use clitape_stream::{DiagnosticCode, Event, Parser};
use serde::de::IgnoredAny;

use super::import::{CapturedWrite, LineHead};

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
/// The kinds of records that are recognised by their beginning alone.
const KINDS: [&str; 8] = [
    "system",
    "assistant",
    "user",
    "stream_event",
    "result",
    "rate_limit_event",
    "control_request",
    "control_response",
];
/// The most bytes of a text in which a record begins, before the kind of the record ends.
const BEGINNING: usize = 64;
/// The word before a record that the gateway wrote.
const STDIN: &str = "stdin";

/// Finds the records in the text of a log.
pub fn from_log(log: &[u8]) -> LoggedRecords {
    let mut logged = LoggedRecords::default();
    for (number, line) in (1..).zip(log.split(|byte| *byte == b'\n')) {
        let line = String::from_utf8_lossy(line);
        if line.trim().is_empty() {
            continue;
        }
        logged.lines += 1;
        let mut scan = LineScan::default();
        scan.text(&without_escapes(&line), 0, false);
        logged.cut.extend(iter::repeat_n(number, scan.cut));
        logged.used += usize::from(!scan.found.is_empty());
        for LoggedRecord { text, is_written } in scan.found {
            match is_written {
                true => logged.written.push(CapturedWrite {
                    stdout_offset: logged.stdout.len() as u64,
                    bytes: text + "\n",
                }),
                false => {
                    logged.stdout.extend_from_slice(text.as_bytes());
                    logged.stdout.push(b'\n');
                }
            }
        }
    }
    logged
}

/// A record in a line of a log.
struct LoggedRecord {
    text: String,
    /// True if the gateway wrote it, false if the CLI printed it.
    is_written: bool,
}

/// Looks for the records in a line.
#[derive(Default)]
struct LineScan {
    found: Vec<LoggedRecord>,
    /// The number of beginnings of records that do not end.
    cut: usize,
}

impl LineScan {
    /// Adds the records in a text. `is_written` is true if the text around it names stdin before it.
    fn text(&mut self, text: &str, depth: usize, is_written: bool) {
        let (mut at, mut unclosed) = (0, 0);
        let prefix = text.split('{').next().unwrap_or_default();
        let is_written = is_written || prefix.to_ascii_lowercase().contains(STDIN);
        while let Some(next) = text[at..].find(['{', '"']) {
            if unclosed > UNCLOSED {
                return;
            }
            at += next;
            let rest = &text[at..];
            let is_object = rest.starts_with('{');
            let end = if is_object { object_end(rest) } else { string_end(rest) };
            let Some(end) = end else {
                self.cut += usize::from(is_beginning(rest));
                unclosed += 1;
                at += 1;
                continue;
            };
            let part = &rest[..end];
            let before = self.found.len();
            let is_whole = if is_object {
                self.object(part, depth, is_written);
                serde_json::from_str::<IgnoredAny>(part).is_ok()
            } else {
                self.string(part, depth, is_written);
                !part.contains('{')
            };
            // A brace or a quote in prose may open nothing; what seems to be in it is looked through again.
            let is_taken = depth > 0 || is_whole || self.found.len() > before;
            self.cut += usize::from(is_object && !is_whole && is_beginning(part));
            unclosed += usize::from(!is_taken);
            at += if is_taken { end } else { 1 };
        }
    }

    /// Adds an object if it is a record, and otherwise the records in it.
    fn object(&mut self, object: &str, depth: usize, is_written: bool) {
        let head = serde_json::from_str::<LineHead>(object).ok();
        let head = head.filter(|head| head.kind().is_some());
        let is_known = head.is_some() && is_known(object);
        if !is_known && depth < DEEPEST {
            let before = self.found.len();
            self.text(&object[1..], depth + 1, is_written);
            if self.found.len() > before {
                return;
            }
        }
        let Some(head) = head.filter(|head| is_known || head.session().is_some()) else { return };
        // What a host writes names no session.
        let is_written = is_written || (head.kind() == Some("user") && head.session().is_none());
        // Only blanks between tokens can be line feeds.
        self.found.push(LoggedRecord { text: object.replace(['\n', '\r'], " "), is_written });
    }

    /// Adds the records in the text of a string of JSON.
    fn string(&mut self, literal: &str, depth: usize, is_written: bool) {
        if depth < DEEPEST
            && literal.contains('{')
            && literal.contains('\\')
            && let Ok(text) = serde_json::from_str::<String>(literal)
        {
            self.text(&without_escapes(&text), depth + 1, is_written);
        }
    }
}

/// Returns whether a text begins as a record does, also with the escapes of a string of JSON, and if it ends in the kind.
fn is_beginning(text: &str) -> bool {
    let mut end = text.len().min(BEGINNING);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let plain = text[..end].replace('\\', "");
    let mut rest = Some(plain.as_str());
    for token in ["{", "\"type\"", ":", "\""] {
        rest = rest.and_then(|rest| rest.strip_prefix(token)).map(str::trim_start);
    }
    match rest.map(|rest| rest.split_once('"').ok_or(rest)) {
        Some(Ok((kind, _))) => KINDS.contains(&kind),
        Some(Err(cut)) => KINDS.iter().any(|kind| kind.starts_with(cut)),
        None => false,
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
    parser.feed_with(record.replace(['\n', '\r'], " ").as_bytes(), &mut sink);
    parser.finish_with(&mut sink);
    is_known.get()
}

/// Returns the end of the object with which a text begins; `None` if nothing closes it.
fn object_end(text: &str) -> Option<usize> {
    let (mut open, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => open += 1,
            b'}' if !quoted => {
                open -= 1;
                if open == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
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
