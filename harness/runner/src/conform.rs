//! Checks any stream-json against the schema of the recorded records.
//!
//! [`conform()`] sorts what it finds by what it means to a reader. Something *breaks readers* if a parser would lose or
//! misread it: a value of a type that was never seen at its place, a record or a block without its `type`, and what
//! clitape's own parser can't use. A field is *absent* if the recordings of the version that printed the file always
//! have it, and it is missing, or null where it never was. A kind, a field or a line that was never seen is *new*: a reader
//! has to pass over it.
//!
//! The schema says in which versions of the CLI a field was always there, so that an old file is not held to fields that
//! came later. A version that was not recorded is held to what the recorded versions before and after it both have.

use std::collections::BTreeMap;
use std::fmt;

use clitape_gateway::session::transcript;
use clitape_recording::cassette::RecordPart;
use clitape_recording::facts::{read_record, records};
use clitape_recording::names::CliVersion;
use clitape_stream::{DiagnosticCode, Event, Parser};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::observed::{JsonType, LONGEST, Tag, beginning};

/// The sentence about an object without a type, at a place where every object has one.
const NO_TYPE: &str = "has no `type` that is a text";
/// The sentence about a line that is not a JSON object, or not one of the CLI.
const NO_RECORD: &str = "is no record";
/// The sentence about a line that begins as a record does.
const BROKEN: &str =
    "begins as a record and is none: it is cut, broken by another line, or has two records";
/// The sentence about a line of a log.
const LOGGED: &str =
    "has a record after something else, as in a log; `clitape import --from-log` takes it out";
/// A field of messages on stdout that no transcript has.
const OF_STDOUT: &str = "parent_tool_use_id";
/// Fields that depend on the settings of the CLI and not on its version, with the record that has them: all recordings are
/// made with the same settings. 2.1.225 prints no `memory_paths` where it stores no memories.
const OF_SETTINGS: [(&str, &str); 1] = [("system/init", "memory_paths")];
/// A field of messages that the API answered, with the record that has it.
const OF_REQUESTS: (&str, &str) = ("assistant", "request_id");
/// The model of a message that the CLI wrote itself, such as the output of a command or the sentence about an error.
const OF_THE_CLI: &str = "<synthetic>";
/// The number of records of a kind in the recordings that says since when it is printed. Of a rare one the scenario may
/// be new, and not the kind.
const OFTEN: u64 = 10;
/// The sign for the number of an array's item, where all items count as one place.
const ANY_ITEM: &str = "*";

/// The problems of clitape's own parser that lose a record or a part of it.
const LOSSES: [DiagnosticCode; 6] = [
    DiagnosticCode::CutLine,
    DiagnosticCode::InvalidUtf8,
    DiagnosticCode::ControlCharacter,
    DiagnosticCode::BadRecord,
    DiagnosticCode::BadToolId,
    DiagnosticCode::LineTooLong,
];

/// The format of a file that is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckedFormat {
    /// The stdout of a CLI with `--output-format stream-json`.
    #[default]
    StreamJson,
    /// The file in which the CLI keeps a session; only its messages are checked.
    Transcript,
    /// It has records, and none of a kind that the CLI prints.
    Foreign,
}

/// A place that differs from the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaDifference {
    /// The first line with it, from 1.
    pub line: usize,
    /// The place in the record, as a JSON Pointer (RFC 6901); empty for the whole record.
    pub pointer: String,
    /// The kind of the record, such as `result/success`.
    pub record: String,
    /// The difference, in a sentence without the place.
    pub sentence: String,
    /// The number of times that it was seen.
    pub count: usize,
}

impl fmt::Display for SchemaDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [&self.record, &self.pointer, &self.sentence].map(String::as_str);
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        write!(f, "{}: {}", self.line, words.join(" "))?;
        if self.count > 1 { write!(f, " ({} times)", self.count) } else { Ok(()) }
    }
}

/// The differences of a file from the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// The format of the file.
    pub format: CheckedFormat,
    /// The versions that the file itself names, the oldest first.
    pub printed_by: Vec<CliVersion>,
    /// The version to which lines without a version are held: the one that a caller names, or the recorded one from
    /// which the file differs least. `None` if each line is held to the version that the file names before it.
    pub held_to: Option<CliVersion>,
    /// The recorded versions, and those that the file names, that lack no field of theirs in the file. Empty if something
    /// breaks readers.
    pub conforms_to: Vec<CliVersion>,
    /// The number of records.
    pub records: usize,
    /// The places that a parser would lose or misread, in the order of the lines.
    pub breaks: Vec<SchemaDifference>,
    /// The fields that were always there in the version to which their line is held.
    pub absent: Vec<SchemaDifference>,
    /// The kinds, fields and lines that were never seen.
    pub new: Vec<SchemaDifference>,
}

/// Checks the lines of `bytes` against the schema that [`observe`](crate::observed::observe) makes. `version` is the
/// version to which all lines are held, whatever the file says.
pub fn conform(schema: &Value, bytes: &[u8], version: Option<&CliVersion>) -> Conformance {
    let mut reader = Reader {
        schema,
        recorded: versions(&schema["x-versions"]),
        printed_by: None,
        line: 0,
        record: String::new(),
        known: 0,
        since: None,
        found: Conformance::default(),
        missing: Vec::new(),
        seen: BTreeMap::new(),
    };
    let is_transcript = is_transcript(bytes);
    if is_transcript {
        reader.found.format = CheckedFormat::Transcript;
    }
    let losses = if is_transcript { Vec::new() } else { losses(bytes) };
    let mut losses = losses.into_iter().peekable();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        reader.line = number;
        reader.record.clear();
        let before = reader.found.breaks.len();
        if !line.trim_ascii().is_empty() {
            reader.read(line, losses.peek().is_some_and(|loss| loss.line == number));
        }
        while let Some(loss) = losses.next_if(|loss| loss.line <= number) {
            // One sentence a place: a value of another type is the reason why the parser can't use the record.
            if reader.found.breaks.len() == before {
                reader.breaks("", loss.sentence);
            }
        }
    }
    reader.finish(version)
}

/// Returns whether `bytes` are the transcript of a session, as the CLI keeps it: its records name their session as
/// transcripts do, and none has a field that only records on stdout have.
pub fn is_transcript(bytes: &[u8]) -> bool {
    transcript::read(bytes).is_ok_and(|read| read.is_recognised())
        && records(bytes).all(|record| record.get(OF_STDOUT).is_none())
}

/// A line of which clitape's own parser loses something.
struct Loss {
    line: usize,
    sentence: String,
}

/// Returns the lines of which clitape's own parser loses something, in their order.
fn losses(bytes: &[u8]) -> Vec<Loss> {
    let mut losses = Vec::new();
    let mut parser = Parser::new();
    let mut sink = |event: Event<'_>| {
        if let Event::Diagnostic { code, message, line } = event
            && LOSSES.contains(&code)
        {
            let what = message.split(':').next().unwrap_or_default();
            let sentence = format!("can't be used whole ({}): {what}", code.as_str());
            losses.push(Loss { line: usize::try_from(line).unwrap_or(usize::MAX), sentence });
        }
    };
    parser.feed_with(bytes, &mut sink);
    parser.finish_with(&mut sink);
    losses
}

/// Reads a list of versions of the schema, which is sorted.
fn versions(list: &Value) -> Vec<CliVersion> {
    let list = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    list.filter_map(|version| version.parse().ok()).collect()
}

/// A field or a value that a line lacks.
struct Missing {
    line: usize,
    pointer: String,
    record: String,
    sentence: String,
    /// The versions in which the object around it was seen, the oldest first.
    seen: Vec<CliVersion>,
    /// The one of these from which on it was always there.
    since: CliVersion,
    /// The version that the file names at this line.
    printed_by: Option<CliVersion>,
}

impl Missing {
    /// Returns whether `version` always has the field: the version itself if it was recorded, otherwise the recorded
    /// ones before and after it.
    fn is_due_in(&self, version: &CliVersion) -> bool {
        let is_due = |recorded: &CliVersion| self.since.by_number(recorded).is_le();
        let before = self.seen.iter().rfind(|recorded| recorded.by_number(version).is_le());
        before.is_some_and(is_due)
    }
}

struct Reader<'a> {
    schema: &'a Value,
    /// The versions in the schema, the oldest first.
    recorded: Vec<CliVersion>,
    /// The version that the file named last.
    printed_by: Option<CliVersion>,
    line: usize,
    record: String,
    /// The number of records of a known kind.
    known: usize,
    /// The newest of the versions since which the kinds of the records are printed.
    since: Option<CliVersion>,
    found: Conformance,
    missing: Vec<Missing>,
    /// The index of each new thing in the list, by its record, its place and its description.
    seen: BTreeMap<(String, String, String), usize>,
}

impl<'a> Reader<'a> {
    /// Reads a line that is not blank. A line `with_loss` is reported by the caller if it is not a record.
    fn read(&mut self, line: &[u8], with_loss: bool) {
        let Some(Value::Object(record)) = read_record(line) else {
            match RecordPart::of(line) {
                _ if with_loss => {}
                Some(RecordPart::Begun) => self.breaks("", BROKEN.to_owned()),
                Some(RecordPart::Logged) => self.add_new("", LOGGED.to_owned()),
                None => self.add_new("", NO_RECORD.to_owned()),
            }
            return;
        };
        self.found.records += 1;
        let tag = Tag::of(&record);
        self.record = tag.name();
        let is_transcript = self.found.format == CheckedFormat::Transcript;
        let key = if is_transcript { "version" } else { "claude_code_version" };
        if let Some(version) = record.get(key).and_then(|value| value.as_str()?.parse().ok()) {
            if !self.found.printed_by.contains(&version) {
                self.found.printed_by.push(version.clone());
            }
            self.printed_by = Some(version);
        }
        if is_transcript {
            self.transcript_line(&record);
            return;
        }
        if !tag.has_type() {
            match self.lost_type(&record) {
                true => self.breaks("", NO_TYPE.to_owned()),
                false => self.add_new("", format!("{NO_RECORD}: it has no `type`")),
            }
            return;
        }
        let mut cases = kind_cases(self.schema, &record).peekable();
        match cases.peek() {
            Some(_) => self.known += 1,
            None => self.add_new("", "is a kind of record that was never seen".to_owned()),
        }
        for case in cases {
            let kind = self.definition(case);
            let kinds_since = [self.since.take(), first_version(kind)].into_iter().flatten();
            self.since = kinds_since.max_by(CliVersion::by_number);
            self.object(kind, &record, "", &self.schema["x-versions"]);
        }
    }

    /// Checks the message of a transcript's line, which has the shape of a message on stdout.
    fn transcript_line(&mut self, record: &Map<String, Value>) {
        let kind = record.get("type").and_then(Value::as_str).unwrap_or_default();
        let message = &self.schema["$defs"][kind]["properties"]["message"];
        if let (true, Some(value)) = (message.is_object(), record.get("message")) {
            self.known += 1;
            self.value(message, value, "/message", &self.schema["x-versions"]);
        }
    }

    /// Returns whether a record without a `type` has all other fields that some kind always has.
    fn lost_type(&self, record: &Map<String, Value>) -> bool {
        let kinds = self.schema["$defs"].as_object().into_iter().flatten();
        kinds.map(|(_, kind)| &kind["required"]).any(|required| {
            let required = required.as_array().into_iter().flatten().filter_map(Value::as_str);
            let mut others = required.filter(|name| *name != "type").peekable();
            others.peek().is_some() && others.all(|name| record.contains_key(name))
        })
    }

    /// Returns the schema that a `$ref` names, or the schema itself.
    fn definition(&self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| &self.schema["$defs"][name])
    }

    /// Checks a value in an object that was seen in the versions `around`.
    fn value(&mut self, schema: &'a Value, value: &Value, pointer: &str, around: &'a Value) {
        let word = JsonType::of(value).word();
        let (fits, expected) = match &schema["type"] {
            Value::String(one) => (one == word, one.clone()),
            Value::Array(several) => {
                let words: Vec<_> = several.iter().filter_map(Value::as_str).collect();
                (words.contains(&word), words.join(" or "))
            }
            _ => (true, String::new()),
        };
        if !fits {
            let sentence =
                format!("is {}, where only {expected} was seen", beginning(value, LONGEST));
            match value {
                // A reader takes null for a field that is missing.
                Value::Null => self.lacks(pointer, sentence, around, &around[0]),
                _ => self.breaks(pointer, sentence),
            }
            return;
        }
        match value {
            Value::Array(items) if schema["items"].is_object() => {
                for (at, item) in items.iter().enumerate() {
                    self.value(&schema["items"], item, &format!("{pointer}/{at}"), around);
                }
            }
            Value::Object(object) if schema["additionalProperties"].is_object() => {
                for (key, value) in object {
                    let pointer = format!("{pointer}/{}", escaped(key));
                    self.value(&schema["additionalProperties"], value, &pointer, around);
                }
            }
            Value::Object(object) if schema["allOf"].is_array() => {
                if !Tag::of(object).has_type() && schema["required"].is_array() {
                    // Where only one kind was seen, a reader needs no `type` to know it.
                    match schema["allOf"].as_array().map(Vec::as_slice) {
                        Some([only]) => self.object(&only["then"], object, pointer, around),
                        _ => self.breaks(pointer, NO_TYPE.to_owned()),
                    }
                    return;
                }
                let mut cases = kind_cases(schema, object).peekable();
                let tag = Tag::of(object);
                if cases.peek().is_none() && tag.is_some() {
                    self.add_new(
                        pointer,
                        format!("is a `{}`, which was never seen there", tag.name()),
                    );
                }
                for case in cases {
                    self.object(case, object, pointer, around);
                }
            }
            Value::Object(object) if schema["properties"].is_object() => {
                self.object(schema, object, pointer, around);
            }
            _ => {}
        }
    }

    fn object(
        &mut self,
        schema: &'a Value,
        object: &Map<String, Value>,
        pointer: &str,
        around: &'a Value,
    ) {
        let absent = |field: &str| format!("has no `{field}`");
        let seen = if schema["x-versions"].is_array() { &schema["x-versions"] } else { around };
        let is_absent = |record: &str, field: &str| {
            let is_of_settings = pointer.is_empty() && OF_SETTINGS.contains(&(record, field));
            let is_of_requests = pointer.is_empty() && OF_REQUESTS == (record, field);
            let is_free = is_of_settings || is_of_requests && is_of_the_cli(object);
            !is_free && !object.contains_key(field)
        };
        let required =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for field in required {
            if is_absent(&self.record, field) {
                self.lacks(pointer, absent(field), seen, &seen[0]);
            }
        }
        for (field, described) in schema["properties"].as_object().into_iter().flatten() {
            if described["x-always-since"].is_string() && is_absent(&self.record, field) {
                self.lacks(pointer, absent(field), seen, &described["x-always-since"]);
            }
        }
        for (key, value) in object {
            let pointer = format!("{pointer}/{}", escaped(key));
            match schema["properties"].get(key) {
                Some(field) => self.value(field, value, &pointer, seen),
                None => self.add_new(
                    &pointer,
                    format!("is a field that was never seen: {}", beginning(value, LONGEST)),
                ),
            }
        }
    }

    /// Adds a field that is missing, or null. A transcript keeps only a part of what a message has.
    fn lacks(&mut self, pointer: &str, sentence: String, seen: &Value, since: &Value) {
        let since = since.as_str().and_then(|version| version.parse().ok());
        if let Some(since) = since.filter(|_| self.found.format == CheckedFormat::StreamJson) {
            self.missing.push(Missing {
                line: self.line,
                pointer: pointer.to_owned(),
                record: self.record.clone(),
                sentence,
                seen: versions(seen),
                since,
                printed_by: self.printed_by.clone(),
            });
        }
    }

    fn breaks(&mut self, pointer: &str, sentence: String) {
        let (line, record, pointer) = (self.line, self.record.clone(), pointer.to_owned());
        self.found.breaks.push(SchemaDifference { line, pointer, record, sentence, count: 1 });
    }

    /// Adds a new thing; if it is known at the same place of the same kind of record, counts it.
    fn add_new(&mut self, pointer: &str, sentence: String) {
        let (line, record, pointer) = (self.line, self.record.clone(), pointer.to_owned());
        let new = SchemaDifference { line, pointer, record, sentence, count: 1 };
        add(&mut self.found.new, &mut self.seen, new);
    }

    /// Decides to which versions the file conforms, and which of the missing fields are absent.
    fn finish(self, version: Option<&CliVersion>) -> Conformance {
        let Self { mut found, missing, recorded, since, .. } = self;
        // The lines before the first one that names a version are of that version.
        let opening = found.printed_by.first().cloned();
        found.printed_by.sort_by(CliVersion::by_number);
        if found.format == CheckedFormat::StreamJson && found.records > 0 && self.known == 0 {
            found.format = match found.breaks[..] {
                [] => CheckedFormat::Foreign,
                _ => CheckedFormat::StreamJson,
            };
        }
        if found.format != CheckedFormat::StreamJson {
            return found;
        }
        let mut candidates = recorded.clone();
        candidates.extend(found.printed_by.iter().chain(version).cloned());
        candidates.sort_by(CliVersion::by_number);
        candidates.dedup();
        let lacks =
            |version: &CliVersion| missing.iter().filter(|it| it.is_due_in(version)).count();
        if found.breaks.is_empty() && found.records > 0 {
            let fits = candidates.into_iter().filter(|version| lacks(version) == 0);
            found.conforms_to = fits.collect();
        }
        found.held_to = match version {
            Some(version) => Some(version.clone()),
            None if found.printed_by.is_empty() => {
                let prints_all = |version: &CliVersion| {
                    since.as_ref().is_none_or(|since| since.by_number(version).is_le())
                };
                let candidates = recorded.into_iter().rev().filter(prints_all);
                candidates.min_by_key(|version| lacks(version))
            }
            None => None,
        };
        let mut seen = BTreeMap::new();
        for it in missing {
            let held_to = found.held_to.as_ref().or(it.printed_by.as_ref()).or(opening.as_ref());
            if held_to.is_some_and(|version| it.is_due_in(version)) {
                let Missing { line, pointer, record, sentence, since, .. } = it;
                let sentence = match sentence.starts_with("is ") {
                    true => sentence,
                    false => format!("{sentence}, which every recording since {since} has"),
                };
                let absent = SchemaDifference { line, pointer, record, sentence, count: 1 };
                add(&mut found.absent, &mut seen, absent);
            }
        }
        found
    }
}

/// Adds a difference to a list; if it is there at the same place of the same kind of record, counts it.
fn add(
    list: &mut Vec<SchemaDifference>,
    seen: &mut BTreeMap<(String, String, String), usize>,
    new: SchemaDifference,
) {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let place: Vec<&str> =
        new.pointer.split('/').map(|part| if is_number(part) { ANY_ITEM } else { part }).collect();
    let what = new.sentence.split(':').next().unwrap_or_default().to_owned();
    let key = (new.record.clone(), place.join("/"), what);
    match seen.get(&key) {
        Some(at) => list[*at].count += 1,
        None => {
            seen.insert(key, list.len());
            list.push(new);
        }
    }
}

/// Returns the first version that prints a kind of record; `None` if it was seen too seldom to tell.
fn first_version(kind: &Value) -> Option<CliVersion> {
    let recorded = versions(&kind["x-versions"]);
    let is_often = kind["x-seen"][0].as_u64().is_some_and(|seen| seen >= OFTEN);
    recorded.first().filter(|_| is_often && recorded.len() > 1).cloned()
}

/// Returns whether the CLI wrote a message itself, so that no request to the API belongs to it.
fn is_of_the_cli(record: &Map<String, Value>) -> bool {
    record.get("message").is_some_and(|message| message["model"] == OF_THE_CLI)
}

/// Returns the schemas of the kinds that an object has.
fn kind_cases<'a>(
    schema: &'a Value,
    object: &Map<String, Value>,
) -> impl Iterator<Item = &'a Value> {
    let cases = schema["allOf"].as_array().into_iter().flatten();
    cases.filter(|case| applies(&case["if"], object)).map(|case| &case["then"])
}

/// Returns whether an object meets a condition.
fn applies(condition: &Value, object: &Map<String, Value>) -> bool {
    let constants = condition["properties"].as_object().into_iter().flatten();
    let absent = condition["not"]["required"].as_array().into_iter().flatten();
    constants.into_iter().all(|(key, value)| object.get(key) == Some(&value["const"]))
        && !absent.filter_map(Value::as_str).any(|key| object.contains_key(key))
}

/// Escapes a key for a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
