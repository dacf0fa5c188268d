//! A call as HTTP carries it: its parameters, its answer, and the part of its texts that is noted.
//!
//! The parameters come from the query, and from a body that is JSON, a form or a multipart form. All four become one
//! map. A form has texts only, so that a number may be a text and an object may be JSON in a text; Telegram reads both.
//! The answer is a result, or an error with Telegram's code and words. Texts of other programs are cut before they are
//! stored as notes, so that a long text takes little memory.

use std::borrow::Cow;

use memchr::memmem;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::limits::{Full, Held, parsed_bytes};

/// The number of times that a call's parameters count in the account, because the stored message and the entry are
/// copies of them.
const PARAMETER_COPIES: usize = 3;
/// The most parameters and files of a call. The largest method of Telegram has about thirty.
const MAX_PARAMETERS: usize = 200;
/// The most characters of the boundary of a multipart form, as RFC 2046 has it.
const MAX_BOUNDARY: usize = 70;

/// A file in a multipart form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UploadedFile {
    /// The name of the form's field.
    field: String,
    /// The file's name.
    pub(super) name: String,
    /// The content of the file.
    pub(super) bytes: Vec<u8>,
}

/// The parameters of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Params {
    values: Map<String, Value>,
    files: Vec<UploadedFile>,
}

impl Params {
    /// Reads the parameters of a request. They and their copies count in `held`.
    pub(super) fn read(
        query: &str,
        content_type: &str,
        body: &[u8],
        held: &mut Held,
    ) -> Result<Self, ApiError> {
        let mut params = Self::default();
        params.add_pairs(query)?;
        params.count_texts(held)?;
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if body.is_empty() {
            return Ok(params);
        }
        if kind == "application/json" {
            // A list of numbers takes fifty times the memory of its text.
            held.try_keep(PARAMETER_COPIES * parsed_bytes(body))?;
            match serde_json::from_slice(body) {
                Ok(Value::Object(values)) => {
                    for (name, value) in values {
                        params.add(name, value)?;
                    }
                }
                _ => return Err(ApiError::bad("the body is not a JSON object")),
            }
            return Ok(params);
        }
        held.try_keep(PARAMETER_COPIES * body.len())?;
        match kind.as_str() {
            "multipart/form-data" => params.add_parts(content_type, body, held)?,
            _ => params.add_pairs(&text_of(body, held)?)?,
        }
        params.count_texts(held)?;
        Ok(params)
    }

    /// Counts the memory that texts take once they are parsed as JSON, because a form may contain a keyboard.
    fn count_texts(&self, held: &mut Held) -> Result<(), Full> {
        let texts = self.values.values().filter_map(Value::as_str);
        held.try_keep(
            PARAMETER_COPIES * texts.map(|text| parsed_bytes(text.as_bytes())).sum::<usize>(),
        )
    }

    /// Reads the parameters of a query, up to the most that a call may have.
    pub(super) fn of_query(query: &str) -> Self {
        let mut params = Self::default();
        // Ignores an excess: the person's pages need one or two parameters.
        let _ = params.add_pairs(query);
        params
    }

    /// Adds the pairs of a query or of a form.
    fn add_pairs(&mut self, pairs: &str) -> Result<(), ApiError> {
        let decoded = |text: &str| {
            let text = text.replace('+', " ");
            percent_decode_str(&text).decode_utf8_lossy().into_owned()
        };
        for pair in pairs.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.add(decoded(name), decoded(value).into())?;
        }
        Ok(())
    }

    /// Adds the parts of a multipart form.
    fn add_parts(
        &mut self,
        content_type: &str,
        body: &[u8],
        held: &mut Held,
    ) -> Result<(), ApiError> {
        let broken = || ApiError::bad("the multipart form can't be read");
        let boundary = option(content_type, "boundary").ok_or_else(broken)?;
        if boundary.len() > MAX_BOUNDARY {
            let words = format!("the boundary of the multipart form is longer than {MAX_BOUNDARY}");
            return Err(ApiError::bad(words));
        }
        let end = format!("\r\n--{boundary}");
        // The body may begin with its first boundary, without a line break.
        let first = &end.as_bytes()[2..];
        let mut rest = &body[memmem::find(body, first).ok_or_else(broken)? + first.len()..];
        let [ends, head_ends] = [end.as_bytes(), b"\r\n\r\n"].map(memmem::Finder::new);
        while !rest.starts_with(b"--") {
            let part = rest.strip_prefix(b"\r\n").ok_or_else(broken)?;
            let (part, next) = part.split_at(ends.find(part).ok_or_else(broken)?);
            rest = &next[end.len()..];
            let (head, content) = part.split_at(head_ends.find(part).ok_or_else(broken)?);
            let (head, content) = (text_of(head, held)?, &content[4..]);
            let is_disposition =
                |line: &&str| line.to_ascii_lowercase().starts_with("content-disposition");
            let line = head.lines().find(is_disposition).ok_or_else(broken)?;
            let field = option(line, "name").ok_or_else(broken)?;
            match option(line, "filename") {
                Some(name) => {
                    self.check_room()?;
                    self.files.push(UploadedFile { field, name, bytes: content.to_vec() });
                }
                None => self.add(field, text_of(content, held)?.into())?,
            }
        }
        Ok(())
    }

    /// Adds a parameter, or replaces the one with this name.
    fn add(&mut self, name: String, value: Value) -> Result<(), ApiError> {
        self.check_room()?;
        self.values.insert(name, value);
        Ok(())
    }

    /// Returns an error if the call has the most parameters already.
    fn check_room(&self) -> Result<(), ApiError> {
        match self.values.len() + self.files.len() < MAX_PARAMETERS {
            true => Ok(()),
            false => {
                Err(ApiError::bad(format!("the call has more than {MAX_PARAMETERS} parameters")))
            }
        }
    }

    /// Returns a parameter as it came; `None` for null.
    pub(super) fn raw(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// Returns a parameter as a text, if it is a text or a number.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.raw(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns a parameter as a whole number, if it is one or its text.
    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        integer(self.raw(name)?)
    }

    /// Returns whether a parameter is true, in any of the forms that Telegram accepts.
    pub(super) fn flag(&self, name: &str) -> bool {
        match self.raw(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => ["true", "True", "1"].contains(&text.as_str()),
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            _ => false,
        }
    }

    /// Returns a parameter that is an object or a list, or the JSON text of one.
    pub(super) fn json(&self, name: &str) -> Option<Value> {
        match self.raw(name)? {
            Value::String(text) => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        }
    }

    /// Returns the file of a field, or the one that its text `attach://NAME` names.
    pub(super) fn file(&self, name: &str) -> Option<&UploadedFile> {
        let text = self.text(name).unwrap_or_default();
        let field = text.strip_prefix("attach://").unwrap_or(name);
        self.files.iter().find(|file| file.field == field)
    }

    /// Returns the file that a text such as `attach://NAME` names.
    pub(super) fn attached(&self, text: &str) -> Option<&UploadedFile> {
        let field = text.strip_prefix("attach://")?;
        self.files.iter().find(|file| file.field == field)
    }
}

/// Returns a whole number, from a number or its text.
pub(super) fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns the value of `name=value` or `name="value"` in a header.
fn option(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        let is_named = key.trim().eq_ignore_ascii_case(name);
        is_named.then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Returns bytes as a text. Each invalid byte becomes three bytes, which count in `held`.
fn text_of<'b>(bytes: &'b [u8], held: &mut Held) -> Result<Cow<'b, str>, Full> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(text.into());
    }
    held.try_keep(PARAMETER_COPIES * 2 * bytes.len())?;
    Ok(String::from_utf8_lossy(bytes))
}

/// An error of the Bot API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    /// The HTTP status, which is also the answer's `error_code`.
    pub(super) code: u16,
    /// The `description` of the answer.
    pub(super) description: String,
    /// The seconds that a 429 asks the bot to wait.
    retry_after: Option<u64>,
}

impl ApiError {
    /// Creates an error with this code, whose description is `words`.
    pub(super) fn new(code: u16, words: impl AsRef<str>) -> Self {
        // Cut, because the words may quote text that the bot sent.
        Self { code, description: cut(words.as_ref(), LINE).to_owned(), retry_after: None }
    }

    /// Creates a 400; its description begins with `Bad Request: `.
    pub(super) fn bad(words: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", words.as_ref()))
    }

    /// Creates a 429 that asks the bot to wait.
    pub(super) fn too_many(seconds: u64) -> Self {
        let words = format!("Too Many Requests: retry after {seconds}");
        Self { retry_after: Some(seconds), ..Self::new(429, words) }
    }

    /// Creates the error for an edit that changes nothing.
    pub(super) fn not_modified() -> Self {
        Self::bad(
            "message is not modified: specified new message content and reply markup are exactly \
             the same as a current content and reply markup of the message",
        )
    }

    /// Creates the error for an answer to a press that is unknown, answered, or too long ago.
    pub(super) fn query_too_old() -> Self {
        Self::bad("query is too old and response timeout expired or query ID is invalid")
    }

    /// Returns whether this is the error for an edit that changes nothing.
    pub(super) fn is_not_modified(&self) -> bool {
        self.description.contains("message is not modified")
    }

    /// Returns the JSON body of the answer.
    fn body(&self) -> Value {
        let mut body =
            json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(seconds) = self.retry_after {
            body["parameters"] = json!({ "retry_after": seconds });
        }
        body
    }
}

/// The result of a call.
pub(super) type ApiResult = Result<Value, ApiError>;

/// Returns the HTTP status and the body of an answer.
pub(super) fn wire(result: &ApiResult) -> (u16, String) {
    match result {
        Ok(value) => (200, json!({ "ok": true, "result": value }).to_string()),
        Err(error) => (error.code, error.body().to_string()),
    }
}

/// The most bytes of a word, such as the name of a method or of a host.
pub(super) const WORD: usize = 64;
/// The most bytes of a line of the log, and of the words of an error.
pub(super) const LINE: usize = 1_000;
/// The most bytes of a parameter in the entry of a refused call.
const PARAMETER: usize = 4 << 10;
/// The most bytes of the text in the entry of a refused call. It is longer, because the judge looks for its words in
/// later messages.
const REFUSED_TEXT: usize = 64 << 10;

/// Returns the longest prefix of a text that has at most `most` bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Returns a parameter cut to [`PARAMETER`] bytes.
pub(super) fn noted(value: &Value) -> Value {
    noted_start(value, &mut { PARAMETER })
}

/// Cuts the data in the entry of a refused call.
pub(super) fn shorten(data: &mut Map<String, Value>) {
    for (name, value) in data {
        *value = noted_start(value, &mut if name == "text" { REFUSED_TEXT } else { PARAMETER });
    }
}

/// Returns a value of the same kind, cut to the texts, elements and members that fit into `room` bytes.
fn noted_start(value: &Value, room: &mut usize) -> Value {
    match value {
        Value::String(text) => {
            let text = cut(text, *room);
            *room -= text.len();
            text.into()
        }
        Value::Array(values) => {
            let fitting = values.iter().map_while(|value| {
                take_room(room, size_of::<Value>()).then(|| noted_start(value, room))
            });
            fitting.collect()
        }
        Value::Object(map) => {
            let fitting = map.iter().map_while(|(name, value)| {
                take_room(room, size_of::<Value>() + name.len())
                    .then(|| (name.clone(), noted_start(value, room)))
            });
            fitting.collect()
        }
        value => value.clone(),
    }
}

/// Subtracts bytes from the room that is left, and returns whether they fit.
fn take_room(room: &mut usize, bytes: usize) -> bool {
    let rest = room.checked_sub(bytes);
    *room = rest.unwrap_or(0);
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clitape_gateway::ByteSize;
    use serde_json::json;

    use super::*;
    use crate::limits::KeptBytes;

    #[test]
    fn one_map_comes_from_every_kind_of_request() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n\
                         --x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\na b\r\n--x--\r\n";
        for (query, kind, body) in [
            ("chat_id=7&text=a+b", "", ""),
            ("chat_id=7", "application/x-www-form-urlencoded", "text=a%20b"),
            ("", "application/json; charset=utf-8", r#"{"chat_id":7,"text":"a b"}"#),
            ("", "multipart/form-data; boundary=\"x\"", multipart),
        ] {
            let params = Params::read(query, kind, body.as_bytes(), &mut Held::default()).unwrap();
            assert_eq!(params.integer("chat_id"), Some(7), "{kind}");
            assert_eq!(params.text("text").as_deref(), Some("a b"), "{kind}");
        }
    }

    #[test]
    fn a_file_of_a_form_is_found_by_its_field() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"document\"\r\n\r\nattach://f0\r\n\
                    --x\r\nContent-Disposition: form-data; name=\"f0\"; filename=\"a.txt\"\r\n\
                    Content-Type: text/plain\r\n\r\nline\r\n\r\n--x--\r\n";
        let kind = "multipart/form-data; boundary=x";
        let params = Params::read("", kind, body.as_bytes(), &mut Held::default()).unwrap();
        let file = params.file("document").unwrap();
        assert_eq!((file.name.as_str(), file.bytes.as_slice()), ("a.txt", &b"line\r\n"[..]));
    }

    #[test]
    fn a_body_that_is_no_object_is_refused() {
        for (kind, body) in
            [("application/json", "[1]"), ("application/json", "{"), ("multipart/form-data", "x")]
        {
            let refused = Params::read("", kind, body.as_bytes(), &mut Held::default());
            assert_eq!(refused.unwrap_err().code, 400, "{body}");
        }
    }

    /// Makes the item of a form with this number.
    type MakeItem<'m> = &'m dyn Fn(usize) -> String;

    #[test]
    fn a_call_has_a_few_hundred_parameters_at_most() {
        let count = MAX_PARAMETERS + 1;
        let pair = |number: usize| format!("{number:x}");
        let part = |number: usize| {
            format!("--x\r\nContent-Disposition: form-data; name={number}\r\n\r\n\r\n")
        };
        let file = |number: usize| part(number).replace("name=", "filename=a; name=");
        let forms: [(&str, MakeItem<'_>, &str, &str, &str); 4] = [
            ("application/x-www-form-urlencoded", &pair, "", "&", ""),
            ("multipart/form-data; boundary=x", &part, "", "", "--x--"),
            ("multipart/form-data; boundary=x", &file, "", "", "--x--"),
            ("application/json", &|number| format!("\"{number}\":0"), "{", ",", "}"),
        ];
        for (kind, item, begin, between, end) in forms {
            for (count, expect) in [(count - 1, true), (count, false), (20 * count, false)] {
                let items: Vec<String> = (0..count).map(item).collect();
                let body = format!("{begin}{}{end}", items.join(between));
                let read = Params::read("", kind, body.as_bytes(), &mut Held::default());
                assert_eq!(read.is_ok(), expect, "{kind} {count}: {read:?}");
                if let Err(error) = read {
                    assert!(error.description.contains("more than 200 parameters"), "{error:?}");
                }
            }
        }
        let query: Vec<String> = (0..count).map(pair).collect();
        let read = Params::read(&query.join("&"), "", b"", &mut Held::default());
        assert!(read.is_err(), "{read:?}");
    }

    #[test]
    fn a_boundary_is_as_short_as_the_standard_has_it() {
        for (length, expect) in [(1, true), (MAX_BOUNDARY, true), (MAX_BOUNDARY + 1, false)] {
            let boundary = "-".repeat(length - 1) + "x";
            let kind = format!("multipart/form-data; boundary={boundary}");
            let body = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=a\r\n\r\n7\r\n--{boundary}--"
            );
            let read = Params::read("", &kind, body.as_bytes(), &mut Held::default());
            assert_eq!(read.as_ref().ok().and_then(|read| read.integer("a")), expect.then_some(7));
            if let Err(error) = read {
                assert!(error.description.contains("longer than 70"), "{error:?}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_counted_as_what_they_become() {
        let part = b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n".to_vec();
        let (binary, end) = (vec![0xff; 10_000], b"\r\n--x--".to_vec());
        for (kind, body) in [
            ("application/x-www-form-urlencoded", binary.clone()),
            ("multipart/form-data; boundary=x", [part, binary, end].concat()),
        ] {
            let account = Arc::new(KeptBytes::within(ByteSize::mib(1)));
            let mut held = Held::of(&account);
            Params::read("", kind, &body, &mut held).unwrap();
            assert!(account.bytes() > 90_000, "{kind}: {}", account.bytes());
        }
    }

    #[test]
    fn parameters_that_would_take_too_much_memory_are_refused_before_they_are_parsed() {
        let numbers = format!("[{}0]", "0,".repeat(500));
        let json = format!("{{\"reply_markup\":{numbers}}}");
        let text = format!("{{\"reply_markup\":\"{numbers}\"}}");
        let part = format!(
            "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{numbers}\r\n--x--\r\n"
        );
        let file = part.replace("name=\"a\"", "name=\"a\"; filename=\"b\"");
        for (kind, body, expect) in [
            ("application/json", &json, false),
            ("application/json", &text, false),
            ("application/x-www-form-urlencoded", &format!("a={numbers}"), false),
            ("multipart/form-data; boundary=x", &part, false),
            // A file is not parsed.
            ("multipart/form-data; boundary=x", &file, true),
        ] {
            let account = Arc::new(KeptBytes::within(ByteSize::bytes(20_000)));
            let mut held = Held::of(&account);
            let read = Params::read("", kind, body.as_bytes(), &mut held);
            assert_eq!(read.is_ok(), expect, "{kind} {body}");
            drop(held);
            assert_eq!(account.bytes(), 0);
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, most, expect) in
            [("abc", 2, "ab"), ("abc", 3, "abc"), ("aé", 2, "a"), ("é", 1, ""), ("", 5, "")]
        {
            assert_eq!(cut(text, most), expect, "{text} {most}");
        }
    }

    #[test]
    fn what_is_noted_of_a_refused_call_is_short() {
        let long = "x".repeat(100_000);
        let mut data = Map::new();
        for (name, value) in [
            ("text", json!(long)),
            ("action", json!(long)),
            ("reaction", json!([long, long])),
            ("message_id", json!(7)),
            ("parse_mode", json!("HTML")),
        ] {
            data.insert(name.to_owned(), value);
        }
        shorten(&mut data);
        let length = |name: &str| data[name].as_str().map(str::len);
        assert_eq!((length("text"), length("action")), (Some(REFUSED_TEXT), Some(PARAMETER)));
        assert!(data["reaction"].is_array() && data["reaction"].to_string().len() <= PARAMETER);
        assert_eq!((&data["message_id"], &data["parse_mode"]), (&json!(7), &json!("HTML")));
        let short = json!({ "a": [1, { "b": "c" }], "d": null });
        assert_eq!(noted(&short), short);
        for long in [
            json!([vec![0; 99], vec![0; 9_999]]),
            json!({ long: 1 }),
            json!(vec![json!({}); 9_999]),
        ] {
            assert!(noted(&long).to_string().len() <= PARAMETER);
        }
    }
}
