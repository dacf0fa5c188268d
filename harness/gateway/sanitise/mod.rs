//! Keeps secrets and bulk off the bus (B2): one policy for arguments and results alike.
//!
//! Three layers, each a table or a walk of its own: which names are secret (`names`), which
//! texts are (`rules`), and what happens to a JSON value as a whole (here).

mod names;
mod rules;
mod text;

use serde_json::{Map, Value, json};

use names::{is_reference, is_secret};
pub use text::redact_text;
use text::{cut, mask};

/// Sanitises the arguments of a tool call (B2).
///
/// Values under secret-named keys are masked whole, secrets in strings are masked, text over 8,000
/// characters is cut with a mark, and the data of images and documents is replaced by its size.
pub fn sanitise_args(args: &Value) -> Value {
    clean(args, Place::Open)
}

/// Sanitises the result of a tool call, by the same policy as [`sanitise_args`] (B2).
pub fn sanitise_result(result: &Value) -> Value {
    clean(result, Place::Open)
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Under no secret-named key.
    Open,
    /// Somewhere under a secret-named key.
    Secret,
}

fn clean(value: &Value, place: Place) -> Value {
    match value {
        Value::String(text) if place == Place::Secret => Value::String(mask_field(text)),
        Value::String(text) => Value::String(cut(text)),
        Value::Number(_) if place == Place::Secret => Value::String(mask("")),
        Value::Array(items) => clean_array(items, place),
        Value::Object(object) => Value::Object(clean_object(object, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// In an array of a command's words the word after `--token` is a secret.
fn clean_array(items: &[Value], place: Place) -> Value {
    let mut next = place;
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        out.push(clean(item, next));
        let is_flag =
            (item.as_str()).and_then(|text| text.strip_prefix('-')).is_some_and(is_secret);
        next = if is_flag { Place::Secret } else { place };
    }
    Value::Array(out)
}

fn mask_field(text: &str) -> String {
    if text.is_empty() || is_reference(text) { text.to_owned() } else { mask(text) }
}

fn clean_object(object: &Map<String, Value>, place: Place) -> Map<String, Value> {
    let bulk = bulk_key(object);
    let mut out = Map::with_capacity(object.len());
    for (key, value) in object {
        match value {
            Value::String(data) if Some(key.as_str()) == bulk => {
                out.insert("bytes".to_owned(), json!(decoded_size(data)));
                out.insert("omitted".to_owned(), Value::Bool(true));
            }
            _ => {
                let inner = if is_secret(key) { Place::Secret } else { place };
                out.insert(redact_text(key).into_owned(), clean(value, inner));
            }
        }
    }
    out
}

/// The key under which `object` carries base64: the Messages API's `source` has `type: base64`,
/// an MCP block has a `mimeType`, a file has `base64`.
fn bulk_key(object: &Map<String, Value>) -> Option<&'static str> {
    const CARRIERS: [&str; 3] = ["data", "blob", "base64"];
    let says_base64 = object.get("type").and_then(Value::as_str) == Some("base64");
    let has_media =
        ["media_type", "mimeType", "mime_type"].iter().any(|key| object.contains_key(*key));
    CARRIERS.into_iter().find(|key| {
        let Some(data) = object.get(*key).and_then(Value::as_str) else {
            return false;
        };
        says_base64 || ((has_media || *key == "base64") && is_base64(data))
    })
}

fn is_base64(data: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&b);
    !data.is_empty() && data.bytes().all(is_plain)
}

/// Bytes that `base64` decodes to.
fn decoded_size(base64: &str) -> usize {
    let digits = base64.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=').count();
    digits * 3 / 4
}

#[cfg(test)]
mod tests;
