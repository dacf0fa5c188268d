//! Reads a `result` record: its text, its reasons, and the error that it names.

use std::borrow::Cow;

use serde_json::Value;

use crate::head::RecordHead;
use crate::json::{self, JsonField};
use crate::outcome::Usage;
use crate::snapshot::{API_ERROR, NO_CONTENT};
use crate::think_tags;
use crate::value;

/// Maximum number of nested results to unwrap: the text of a result may itself be a printed result.
const NESTED: usize = 8;

/// The origins of messages that wait for an answer: of a person, a chat, or another session.
const ANSWERED: [&str; 3] = ["human", "channel", "peer"];

/// Returns the kind of an `origin` whose turn answers nobody.
pub(crate) fn origin(field: JsonField<'_>) -> Option<String> {
    let [kind] = json::inner(field, &["kind"]);
    json::trimmed(kind).filter(|kind| !ANSWERED.contains(&&**kind)).map(Cow::into_owned)
}

/// A `result` record after reading.
#[derive(Debug)]
pub(crate) struct ResultRecord {
    pub(crate) failed: bool,
    pub(crate) usage: Option<Usage>,
    pub(crate) text: String,
    pub(crate) subtype: String,
    /// `terminal_reason`.
    pub(crate) reason: String,
    pub(crate) stop_reason: String,
    /// `api_error_status`, or the number in the error text.
    pub(crate) api_status: Option<u64>,
    /// The first error named in the record that is not an internal note of the CLI. It is only set
    /// if the result failed or has no text.
    pub(crate) named: Option<String>,
    /// `origin.kind`, unless the turn answers a person.
    pub(crate) origin: Option<String>,
    /// `begun_message_ids`: the messages of the model that began in the turn (2.1.330).
    pub(crate) begun: Vec<String>,
    /// `user_message_uuids`: the messages of the host that the turn answers.
    pub(crate) answers: Vec<String>,
}

impl ResultRecord {
    pub(crate) fn read(head: &RecordHead<'_>) -> Self {
        let word = |field| json::trimmed(field).unwrap_or_default().into_owned();
        let subtype = word(head.subtype);
        let failed = json::is_true(head.is_error)
            || subtype.starts_with("error_")
            || json::string(head.status).is_some_and(|status| status == "error");
        let text = unwrap(&json::string(head.result).unwrap_or_default());
        let text = if text == NO_CONTENT { String::new() } else { text };
        // A text without an error flag is an answer, whatever other fields name.
        let named = if failed || text.is_empty() { named(head, &text) } else { None };
        let [from, begun, answers] =
            json::pick(head.raw.get(), &["origin", "begun_message_ids", "user_message_uuids"]);
        Self {
            origin: origin(from),
            begun: json::strings(begun),
            answers: json::strings(answers),
            failed,
            usage: head.usage.as_ref().map(|counts| counts.usage(Usage::default())),
            subtype,
            reason: word(head.reason),
            stop_reason: word(head.stop_reason),
            api_status: head
                .api_status
                .map(|raw| json::count(Some(raw)))
                .or_else(|| named_status(&text)),
            named,
            text,
        }
    }
}

/// Returns the first error that a result names and that is not an internal note of the CLI, or else
/// its text.
fn named(head: &RecordHead<'_>, text: &str) -> Option<String> {
    let [nested] = json::inner(head.error, &["message"]);
    let errors = head.errors.and_then(|raw| json::elements(raw.get())).unwrap_or_default();
    errors
        .into_iter()
        .filter_map(|raw| json::trimmed(Some(raw)))
        .find(|text| !text.starts_with("[ede_diagnostic]"))
        .or_else(|| Some(Cow::Borrowed(text)).filter(|text| !text.is_empty()))
        .or_else(|| {
            let message = head.message.as_ref().map(|message| message.raw);
            [message, head.content, head.error, nested].into_iter().find_map(json::trimmed)
        })
        .map(|text| plain(&text))
}

/// Returns the status at the beginning of an API error's text.
fn named_status(text: &str) -> Option<u64> {
    let number = text.strip_prefix(API_ERROR)?.trim_start_matches([':', ' ']);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the text of a result. If that text is itself a result record, returns the inner text, up
/// to [`NESTED`] levels deep.
fn unwrap(text: &str) -> String {
    let mut text = think_tags::visible(text.trim()).trim().to_owned();
    for _ in 0..NESTED {
        let nested =
            if text.starts_with('{') { json::pick(&text, &["type", "result"]) } else { [None; 2] };
        let is_result = json::string(nested[0]).is_some_and(|kind| kind == "result");
        match json::string(nested[1]).filter(|_| is_result) {
            Some(inner) => text = inner.trim().to_owned(),
            None => break,
        }
    }
    text
}

/// Replaces JSON in an error text by the message inside the JSON.
pub(crate) fn plain(text: &str) -> String {
    let json = text.find('{').map(|at| text.split_at(at));
    let Some((before, Ok(value))) = json.map(|(a, b)| (a, value::lenient_value(b))) else {
        return text.to_owned();
    };
    let message = ["/error/message", "/message", "/error"]
        .iter()
        .find_map(|path| value.pointer(path).and_then(Value::as_str));
    message.map_or_else(|| text.to_owned(), |message| format!("{before}{message}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::head::tests::head_of;

    #[test]
    pub(crate) fn results_that_look_like_errors_are_none() {
        for record in [
            r#"{"is_error":"true","result":"x"}"#,
            r#"{"subtype":"success","result":"API Error: 500"}"#,
        ] {
            assert!(!ResultRecord::read(&head_of(record).unwrap()).failed, "{record}");
        }
    }

    #[test]
    pub(crate) fn a_result_in_a_result_is_unwrapped_eight_times() {
        let wrap = |times: usize| {
            (0..times).fold("deep".to_owned(), |text, _| {
                serde_json::json!({"type": "result", "result": text}).to_string()
            })
        };
        assert_eq!(unwrap(&wrap(8)), "deep");
        assert_eq!(unwrap(&wrap(10)), wrap(2));
    }
}
