//! Keeps secrets and bulk off the bus ([B2](crate::rules::B2)): one policy for arguments and
//! results alike.
//!
//! The definition of a secret is data, `rules.toml`, `tokens.toml` and `places.toml`. `table.rs` reads
//! them, and derives what must be held back of a text that still grows. `text.rs` finds and masks the
//! secrets of a text, `value.rs` separates secrets from mere placeholders and says which members of
//! an object are secret. This file treats a JSON value as a whole.
//!
//! Masked are the arguments and the results of tools, tool lines, notices and errors. The model's own
//! answer and its thoughts are *not* masked, on no channel: the person who asked is the one who reads
//! them, a mask in prose would change what the model said, and a secret that the model repeats has left
//! the machine already: it is in the model's context and in the session's transcript. Files are kept
//! clean of such secrets in another way: the same rules, by [`find`], say where a recording holds one
//! before it is written.

pub(crate) mod table;
mod text;
pub(crate) mod value;

use serde_json::{Map, Value, json};

pub use table::NameKind;
pub use text::{
    Masked, SecretMatch, find, is_secret_value, mask, prefix_length, redact, redact_open,
    redact_text, rule_ids,
};
use text::{NOTHING, decoded_size};
pub use value::{ObjectSays, secret_name};

/// Characters of a text that stay.
const TEXT_LIMIT: usize = 8_000;
/// Characters of a text that are looked at: more than stay, so that a secret at the cut is seen
/// whole, and few enough that a huge result costs little.
const SCAN_LIMIT: usize = 8 * TEXT_LIMIT;
/// The mark at the end of a text that was cut.
const MARK: &str = "\n…(truncated)…";

/// The id under which [`Masked`] counts values under a secret name, which no rule of the table finds.
pub const SECRET_NAME: &str = "secret-name";
/// The ids under which [`Masked`] counts what is cut or left out.
const MEDIA: &str = "media";
const LONG_TEXT: &str = "long-text";

/// Sanitises the arguments of a tool call ([B2](crate::rules::B2)), see [`sanitise`].
#[must_use]
pub fn sanitise_args(args: &Value) -> Value {
    sanitise(args, &mut Masked::default())
}

/// Sanitises the result of a tool call ([B2](crate::rules::B2)), see [`sanitise`].
#[must_use]
pub fn sanitise_result(result: &Value) -> Value {
    sanitise(result, &mut Masked::default())
}

/// Sanitises arguments or a result and counts in `masked` what was masked ([B2](crate::rules::B2)).
///
/// Values under secret-named keys are masked whole, secrets in strings are masked, text over 8,000
/// characters is cut with a mark, and the data of images and documents is replaced by its size.
/// A value that was sanitised stays as it is.
#[must_use]
pub fn sanitise(value: &Value, masked: &mut Masked) -> Value {
    ValueSanitiser { masked, is_cut: true }.value(value, ValueContext::default())
}

/// Sanitises what a person decides about ([Q2](crate::rules::Q2)): as [`sanitise`] does, but long text stays whole,
/// because what is cut away would be allowed unseen.
#[must_use]
pub fn sanitise_whole(value: &Value, masked: &mut Masked) -> Value {
    ValueSanitiser { masked, is_cut: false }.value(value, ValueContext::default())
}

/// Sanitises the input of a tool call while it streams ([B2](crate::rules::B2),
/// [U2](crate::rules::U2)): the `fields` so far, of which the one called `open` still grows.
///
/// A growing text is shown as [`redact_open`] does; in a list or an object that is its last part. A growing value
/// under a secret name shows as `***`: the ends of its beginnings, one after another, would spell it.
#[must_use]
pub fn sanitise_open_args(fields: &Map<String, Value>, open: Option<&str>) -> Map<String, Value> {
    let mut masked = Masked::default();
    let mut sanitiser = ValueSanitiser { masked: &mut masked, is_cut: true };
    sanitiser.object(fields, ValueContext::default(), open)
}

/// The context of a value that is sanitised.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ValueContext {
    /// The kind of the secret that the value is, by its name or by one above it.
    secret: Option<NameKind>,
    /// At the end of what has come so far.
    is_open: bool,
}

struct ValueSanitiser<'m> {
    masked: &'m mut Masked,
    /// Set if long text is cut.
    is_cut: bool,
}

impl ValueSanitiser<'_> {
    fn value(&mut self, value: &Value, place: ValueContext) -> Value {
        match (value, place.secret) {
            (Value::String(text), Some(kind)) => Value::String(self.secret(text, kind, place)),
            (Value::String(text), None) => Value::String(self.text(text, place)),
            (Value::Number(number), Some(kind))
                if place.is_open || is_secret_value(&number.to_string(), kind) =>
            {
                self.masked.add(SECRET_NAME);
                Value::String(NOTHING.to_owned())
            }
            (Value::Array(items), _) => Value::Array(self.array(items, place)),
            (Value::Object(object), _) => {
                let last = object.keys().next_back().filter(|_| place.is_open);
                let inner = ValueContext { is_open: false, ..place };
                Value::Object(self.object(object, inner, last.map(String::as_str)))
            }
            _ => value.clone(),
        }
    }

    /// In an array of a command's words the word after `--token` is a secret, and of the word after
    /// curl's `-u` what follows the colon.
    fn array(&mut self, items: &[Value], place: ValueContext) -> Vec<Value> {
        let mut out = Vec::with_capacity(items.len());
        let mut is_curl = false;
        let mut before = "";
        for (index, item) in items.iter().enumerate() {
            let is_open = place.is_open && index + 1 == items.len();
            let secret = place.secret.or_else(|| flag_kind(before));
            let place = ValueContext { secret, is_open };
            let word = item.as_str().unwrap_or_default();
            let login =
                word.split_once(':').filter(|_| is_curl && ["-u", "--user"].contains(&before));
            out.push(match login {
                Some((user, password)) if secret.is_none() => {
                    let password = self.secret(password, NameKind::Chosen, place);
                    Value::String(format!("{user}:{password}"))
                }
                _ => self.value(item, place),
            });
            is_curl |= word.ends_with("curl");
            before = word;
        }
        out
    }

    fn object(
        &mut self,
        object: &Map<String, Value>,
        place: ValueContext,
        open: Option<&str>,
    ) -> Map<String, Value> {
        let bulk = bulk_key(object);
        let says = ObjectSays::of(object.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let mut out = Map::with_capacity(object.len());
        for (key, value) in object {
            match value {
                Value::String(data) if Some(key.as_str()) == bulk => {
                    self.masked.add(MEDIA);
                    out.insert("bytes".to_owned(), json!(decoded_size(data)));
                    out.insert("omitted".to_owned(), Value::Bool(true));
                }
                _ => {
                    let place = ValueContext {
                        secret: says.kind(key, place.secret),
                        is_open: open == Some(key.as_str()),
                    };
                    let value = self.value(value, place);
                    let mut name = redact(key, self.masked).into_owned();
                    while out.contains_key(&name) {
                        name.push('\'');
                    }
                    out.insert(name, value);
                }
            }
        }
        out
    }

    /// A text under a secret name. Even if the name does not make it secret, it may contain a secret.
    fn secret(&mut self, text: &str, kind: NameKind, place: ValueContext) -> String {
        let mask = match text {
            "" => return String::new(),
            _ if place.is_open => NOTHING.to_owned(),
            _ if !is_secret_value(text, kind) => return self.text(text, place),
            _ => mask(text),
        };
        if mask != text {
            self.masked.add(SECRET_NAME);
        }
        mask
    }

    /// A text redacted and cut to the limit with a mark. What the cut leaves may read otherwise than
    /// the whole did, so it is looked at again.
    fn text(&mut self, text: &str, place: ValueContext) -> String {
        if !self.is_cut {
            return redact(text, self.masked).into_owned();
        }
        if place.is_open {
            return self.cut(text, true);
        }
        let mut out = self.cut(text, false);
        while out.ends_with(MARK) {
            let again = self.cut(&out, false);
            if again == out {
                break;
            }
            out = again;
        }
        out
    }

    fn cut(&mut self, text: &str, is_open: bool) -> String {
        let body = text.strip_suffix(MARK).unwrap_or(text);
        let scanned = &body[..end_of(body, SCAN_LIMIT)];
        let is_whole = scanned.len() == body.len();
        let redacted = if is_whole && !is_open {
            redact(scanned, self.masked)
        } else {
            text::open(scanned, self.masked)
        };
        let kept = &redacted[..end_of(&redacted, TEXT_LIMIT)];
        let is_cut = !is_whole || kept.len() < redacted.len();
        if is_cut {
            self.masked.add(LONG_TEXT);
        }
        let mark = if is_cut || body.len() < text.len() { MARK } else { "" };
        [kept, mark].concat()
    }
}

/// Where the first `limit` characters of `text` end, in bytes.
fn end_of(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    text.char_indices().nth(limit).map_or(text.len(), |(end, _)| end)
}

/// The kind of the value behind the word `flag` of a command line, such as `--token`.
#[must_use]
pub fn flag_kind(flag: &str) -> Option<NameKind> {
    flag.strip_prefix('-').and_then(secret_name)
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

#[cfg(test)]
mod cases;
#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
pub(crate) mod tests;
