//! The part of an answer that a person reads.
//!
//! A model also writes for the program around it: a word that says that there is nothing to report, directives of the
//! gateway for which it was told to write, and, by mistake, the protocol of a tool call as text. None of that is an
//! answer. What is in a block or a span of code stays, because the answer is about it.
//!
//! | in the answer | what a person reads |
//! |---|---|
//! | `NO_REPLY` or `HEARTBEAT_OK`, alone or as the last line | nothing of it; if it is all, no message |
//! | `[[reply_to_current]]`, `[[reply_to:ID]]`, `[[audio_as_voice]]`, `<final>` and `</final>` | the text around them |
//! | `MEDIA:` and a file on a line of its own | the other lines |
//! | `<invoke name="…">` on a line of its own, with `<parameter name="…">` or its end behind it | the text around it, and [`WRITTEN_CALL`] |
//!
//! The text is read once, however it is cut into deltas: only its end is held back while it may still become one of
//! these.

/// The answers of an agent that has no message for the person ([G3](crate::rules::G3)).
pub const SILENT_WORDS: [&str; 2] = ["NO_REPLY", "HEARTBEAT_OK"];

/// Returns whether the last line of a text is a word for silence, so that a person should not read it.
pub fn ends_silent(text: &str) -> bool {
    text.trim().lines().last().is_some_and(|line| SILENT_WORDS.contains(&line.trim()))
}

/// The notice below an answer in which a tool call was written as text.
pub(crate) const WRITTEN_CALL: &str =
    "⚠️ The agent wrote a tool call as text, so that the tool did not run. Send the message again.";

/// The tags around an answer.
const TAGS: [&str; 2] = ["<final>", "</final>"];
/// The directives in double brackets.
const DIRECTIVES: [&str; 2] = ["reply_to_current", "audio_as_voice"];
/// The beginning of a directive in double brackets that names a message.
const REPLY_TO: &str = "reply_to:";
/// The beginning of a line that names a file to send.
const FILE: &str = "MEDIA:";
/// The words that models write on the line above a tool call that became text.
const ABOVE_CALL: [&str; 3] = ["call", "count", "court"];
/// The tags around the calls of a message.
const CALLS: [&str; 2] = ["<function_calls>", "<antml:function_calls>"];
const CALLS_END: [&str; 2] = ["</function_calls>", "</antml:function_calls>"];
/// The tags of a call and of its parameters.
const CALL: [&str; 2] = ["<invoke name=\"", "<antml:invoke name=\""];
const CALL_END: [&str; 2] = ["</invoke>", "</antml:invoke>"];
const PARAMETER: [&str; 2] = ["<parameter name=\"", "<antml:parameter name=\""];
/// The most bytes that are held back of a text; what is longer is none of the above.
const HELD_LIMIT: usize = 1_024;

/// An answer without the words for the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonAnswer {
    /// The text for the person.
    pub(crate) text: String,
    /// True if the text is empty because the agent said that it has nothing to say.
    pub(crate) is_silent: bool,
    /// True if a tool call was written as text.
    pub(crate) has_written_call: bool,
}

impl PersonAnswer {
    /// Reads a whole answer.
    pub(crate) fn of(text: &str) -> Self {
        let mut answer = GrowingAnswer::default();
        answer.push(text);
        answer.end()
    }
}

/// An answer while it grows.
#[derive(Debug, Default)]
pub(crate) struct GrowingAnswer {
    /// The text for the person so far.
    shown: String,
    /// The end of the text that may still become words for the host.
    held: String,
    line: LineSoFar,
    /// The marks of the block of code that is open.
    fence: Option<(char, usize)>,
    /// The tool call that is written as text and open, from its first parameter on.
    call: Option<String>,
    has_silent_word: bool,
    has_written_call: bool,
    /// True if some words were left out.
    is_shortened: bool,
}

/// The line so far.
#[derive(Debug, Default)]
struct LineSoFar {
    has_words: bool,
    /// The mark with which it begins, and how often.
    marks: Option<(char, usize)>,
    /// True if something else than blanks follows the marks.
    has_more: bool,
    ticks: usize,
}

/// Words for the host, with the number of their bytes.
enum HostWords {
    Silent(usize),
    Directive(usize),
    /// The beginning of a call, up to its first parameter or its end.
    Call(usize),
}

/// The comparison of the beginning of a text with something.
enum Match<T> {
    Yes(T),
    /// The text is too short to say.
    Open,
    No,
}

impl GrowingAnswer {
    /// Takes more of the answer.
    pub(crate) fn push(&mut self, delta: &str) {
        self.held.push_str(delta);
        self.settle(false);
    }

    /// Returns the text for the person so far.
    pub(crate) fn growing(&self) -> &str {
        &self.shown
    }

    /// Ends the answer.
    pub(crate) fn end(mut self) -> PersonAnswer {
        self.settle(true);
        while let Some(call) = self.call.take() {
            // A call without an end is over with its paragraph, so that no answer behind it is lost.
            self.held = call.split_once("\n\n").map_or("", |(_, after)| after).to_owned();
            self.settle(true);
        }
        let text = self.shown.trim().to_owned();
        PersonAnswer {
            is_silent: self.has_silent_word && text.is_empty() && !self.has_written_call,
            has_written_call: self.has_written_call,
            text,
        }
    }

    /// Shows what can be shown of the text that is held back; at the end that is all but the words for the host.
    fn settle(&mut self, is_end: bool) {
        let text = std::mem::take(&mut self.held);
        let mut rest = text.as_str();
        while !rest.is_empty() {
            if let Some(call) = &mut self.call {
                rest = follow_call(call, rest);
                if !rest.is_empty() || CALL_END.iter().any(|tag| call.ends_with(tag)) {
                    self.call = None;
                    self.line = LineSoFar::default();
                }
                continue;
            }
            match self.host_words(rest, is_end) {
                Match::Yes(HostWords::Silent(length)) => {
                    self.has_silent_word = true;
                    rest = self.leave_out(rest, length);
                }
                Match::Yes(HostWords::Directive(length)) => rest = self.leave_out(rest, length),
                Match::Yes(HostWords::Call(length)) => {
                    self.has_written_call = true;
                    self.call = Some(String::new());
                    rest = self.leave_out(rest, length);
                }
                Match::Open if !is_end && rest.len() < HELD_LIMIT => break,
                Match::Open | Match::No => {
                    let (stretch, after) = rest.split_at(stretch(rest));
                    self.show(stretch);
                    rest = after;
                }
            }
        }
        rest.clone_into(&mut self.held);
    }

    fn leave_out<'t>(&mut self, text: &'t str, length: usize) -> &'t str {
        self.is_shortened = true;
        &text[length..]
    }

    /// Compares the beginning of `text` with the words for the host.
    fn host_words(&self, text: &str, is_end: bool) -> Match<HostWords> {
        if self.fence.is_some() {
            return Match::No;
        }
        if !self.line.has_words && !text.starts_with(char::is_whitespace) {
            let at_line = [silent(text, is_end), file(text, is_end), call(text)];
            if let Some(found) = at_line.into_iter().find(|found| !matches!(found, Match::No)) {
                return found;
            }
        }
        let is_code = self.line.ticks % 2 == 1;
        if is_code { Match::No } else { directive(text, self.has_written_call) }
    }

    /// Shows `text`, which is within a line, its line feed included.
    fn show(&mut self, text: &str) {
        let hides_blanks = self.is_shortened && self.shown.is_empty();
        self.shown.push_str(if hides_blanks { text.trim_start() } else { text });
        for c in text.chars() {
            if c == '\n' {
                self.end_line();
            } else {
                self.line.follow(c);
            }
        }
    }

    fn end_line(&mut self) {
        let LineSoFar { marks, has_more, ticks, .. } = std::mem::take(&mut self.line);
        let Some((mark, count)) = marks else { return };
        self.fence = match self.fence {
            // Marks within the rest of the line make a span of code.
            None if count >= 3 && (mark == '~' || ticks == count) => Some((mark, count)),
            Some((open, least)) if open == mark && count >= least && !has_more => None,
            fence => fence,
        };
    }
}

impl LineSoFar {
    fn follow(&mut self, c: char) {
        self.ticks += usize::from(c == '`');
        match &mut self.marks {
            _ if c.is_whitespace() => {}
            None if !self.has_words && matches!(c, '`' | '~') => self.marks = Some((c, 1)),
            Some((mark, count)) if *mark == c && !self.has_more => *count += 1,
            _ => self.has_more = true,
        }
        self.has_words |= !c.is_whitespace();
    }
}

/// Adds to `call` what belongs to it of `text`, and returns the rest.
fn follow_call<'t>(call: &mut String, text: &'t str) -> &'t str {
    // The end of what is there may be the beginning of the tag.
    let longest = CALL_END.iter().map(|tag| tag.len()).max().unwrap_or_default();
    let from = call.ceil_char_boundary(call.len().saturating_sub(longest));
    call.push_str(text);
    let ends = CALL_END.iter().filter_map(|tag| Some(from + call[from..].find(tag)? + tag.len()));
    let end = ends.min().unwrap_or(call.len());
    let rest = &text[text.len() - (call.len() - end)..];
    call.truncate(end);
    rest
}

/// Returns the bytes up to the next place where words for the host may begin: behind blanks or a line, or at a bracket.
fn stretch(text: &str) -> usize {
    let words = text.len() - text.trim_start().len();
    if words > 0 {
        return text.find('\n').map_or(words, |feed| words.min(feed + 1));
    }
    let mut marks = text.char_indices().skip(1);
    let end = marks.find(|(_, c)| matches!(c, '[' | '<' | '\n'));
    end.map_or(text.len(), |(at, c)| at + usize::from(c == '\n'))
}

/// Compares the beginning of `text` with `options`; the length of the one that is there.
fn begins(text: &str, options: &[&str]) -> Match<usize> {
    if let Some(option) = options.iter().find(|option| text.starts_with(**option)) {
        return Match::Yes(option.len());
    }
    match options.iter().any(|option| option.starts_with(text)) {
        true => Match::Open,
        false => Match::No,
    }
}

/// Words for silence, up to the end of the text, each on a line of its own.
fn silent(text: &str, is_end: bool) -> Match<HostWords> {
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let (line, is_last) = (line.trim(), lines.peek().is_none());
        let may_become =
            is_last && !is_end && SILENT_WORDS.iter().any(|word| word.starts_with(line));
        if !(line.is_empty() || SILENT_WORDS.contains(&line) || may_become) {
            return Match::No;
        }
    }
    if is_end { Match::Yes(HostWords::Silent(text.len())) } else { Match::Open }
}

/// A line that names a file to send.
fn file(text: &str, is_end: bool) -> Match<HostWords> {
    let length = match begins(text, &[FILE]) {
        Match::Yes(length) => length,
        Match::Open => return Match::Open,
        Match::No => return Match::No,
    };
    let (name, end) = match text.find('\n') {
        Some(feed) => (&text[length..feed], feed + 1),
        None => (&text[length..], text.len()),
    };
    let name = name.trim();
    if name.contains(char::is_whitespace) {
        return Match::No;
    }
    match end < text.len() || is_end || text.ends_with('\n') {
        true if name.contains(['/', '.']) && end <= HELD_LIMIT => {
            Match::Yes(HostWords::Directive(end))
        }
        true => Match::No,
        false => Match::Open,
    }
}

/// The beginning of a tool call on a line of its own.
fn call(text: &str) -> Match<HostWords> {
    match call_head(text) {
        Some(Ok(length)) => Match::Yes(HostWords::Call(length)),
        Some(Err(())) => Match::No,
        None => Match::Open,
    }
}

/// Returns the bytes of a call up to its first parameter; an error if `text` is no call, and `None` if it is too short
/// to say.
fn call_head(text: &str) -> Option<Result<usize, ()>> {
    let step = |rest: &str, options: &[&str]| match begins(rest, options) {
        Match::Yes(length) => Some(Ok(length)),
        Match::No => Some(Err(())),
        Match::Open => None,
    };
    let mut rest = text;
    if let Ok(length) = step(rest, &ABOVE_CALL)? {
        let blanks = rest[length..].trim_start_matches([' ', '\t', '\r']);
        if !blanks.is_empty() && !blanks.starts_with('\n') {
            return Some(Err(()));
        }
        rest = blanks.trim_start();
    }
    if let Ok(length) = step(rest, &CALLS)? {
        rest = rest[length..].trim_start();
    }
    let Ok(length) = step(rest, &CALL)? else { return Some(Err(())) };
    rest = &rest[length..];
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    let after = rest.trim_start_matches(is_of_name);
    if after.len() == rest.len() && !rest.is_empty() {
        return Some(Err(()));
    }
    let Ok(length) = step(after, &["\">"])? else { return Some(Err(())) };
    rest = after[length..].trim_start();
    let inside = [PARAMETER, CALL_END].concat();
    let head = text.len() - rest.len();
    Some(
        step(rest, &inside)?
            .and_then(|tag| if head + tag <= HELD_LIMIT { Ok(head) } else { Err(()) }),
    )
}

/// A directive, or a tag around an answer or, if one `has_call`, around calls.
fn directive(text: &str, has_call: bool) -> Match<HostWords> {
    let ends: &[&str] = if has_call { &CALLS_END } else { &[] };
    let Some(inner) = text.strip_prefix("[[") else {
        let tags = [&TAGS, ends, &["[["]].concat();
        return match begins(text, &tags) {
            Match::Yes(length) => Match::Yes(HostWords::Directive(length)),
            Match::Open => Match::Open,
            Match::No => Match::No,
        };
    };
    let (words, is_closed) = match inner.split_once("]]") {
        Some((words, _)) => (words, true),
        None => (inner, false),
    };
    let name = words.trim_start();
    let is_directive = DIRECTIVES.contains(&name.trim_end()) || name.starts_with(REPLY_TO);
    // A directive that is not closed yet may have a bracket of its end.
    let so_far = name.trim_end_matches(']').trim_end();
    let may_become = name.starts_with(REPLY_TO)
        || [DIRECTIVES.as_slice(), &[REPLY_TO]].concat().iter().any(|it| it.starts_with(so_far));
    match is_closed {
        _ if words.contains('\n') => Match::No,
        true if is_directive && words.len() + 4 <= HELD_LIMIT => {
            Match::Yes(HostWords::Directive(words.len() + "[[]]".len()))
        }
        false if may_become => Match::Open,
        _ => Match::No,
    }
}

#[cfg(test)]
pub(crate) mod tests;
