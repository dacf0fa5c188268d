//! JSON text to values, leniently: what `serde_json` refuses of well-formed JSON is kept.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json;

/// Arrays and objects nested deeper than this stay raw text, so that a value can be printed into
/// a trace entry and read back by readers that stop at 128 levels.
const MAX_DEPTH: usize = 100;

/// Reads JSON text into a value and never fails on JSON that is well-formed: a lone surrogate
/// becomes U+FFFD; a number no `f64` holds, and arrays or objects more than 100 levels deep, stay
/// as strings of their raw text.
///
/// # Errors
/// When the text is not one JSON value.
pub fn lenient_value(raw: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<&RawValue>(raw).map(value)
}

/// [`lenient_value`] of JSON that was validated when it was sliced.
pub(crate) fn value(raw: &RawValue) -> Value {
    Cursor(raw.get()).value(0)
}

/// Walks validated JSON.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn value(&mut self, depth: usize) -> Value {
        match self.peek() {
            Some(b'"') => Value::String(json::unescape(self.literal()).into_owned()),
            Some(b'{' | b'[') if depth == MAX_DEPTH => Value::String(self.container().to_owned()),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut map = Map::new();
        self.take(1);
        loop {
            match self.peek() {
                Some(b'"') => {
                    let key = json::unescape(self.literal()).into_owned();
                    self.peek();
                    self.take(1);
                    let value = self.value(depth);
                    map.insert(key, value);
                }
                Some(b',') => drop(self.take(1)),
                _ => break,
            }
        }
        self.take(1);
        Value::Object(map)
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut list = Vec::new();
        self.take(1);
        loop {
            match self.peek() {
                Some(b',') => drop(self.take(1)),
                Some(b']') | None => break,
                Some(_) => list.push(self.value(depth)),
            }
        }
        self.take(1);
        Value::Array(list)
    }

    fn scalar(&mut self) -> Value {
        let end = self.0.bytes().position(|b| b",]}: \t\r\n".contains(&b));
        let token = self.take(end.unwrap_or(self.0.len()).max(1));
        serde_json::from_str(token).unwrap_or_else(|_| Value::String(token.to_owned()))
    }

    /// The inside of the string literal ahead.
    fn literal(&mut self) -> &'a str {
        let mut end = 1;
        let bytes = self.0.as_bytes();
        while let Some(byte) = bytes.get(end).filter(|b| **b != b'"') {
            end += if *byte == b'\\' { 2 } else { 1 };
        }
        json::quoted(self.take(end + 1))
    }

    /// The raw text of the array or object ahead.
    fn container(&mut self) -> &'a str {
        let whole = self.0;
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => drop(self.literal()),
                Some(byte) => {
                    open += usize::from(matches!(byte, b'{' | b'['));
                    open -= usize::from(matches!(byte, b'}' | b']'));
                    self.take(1);
                }
                None => break,
            }
            if open == 0 {
                break;
            }
        }
        &whole[..whole.len() - self.0.len()]
    }

    fn peek(&mut self) -> Option<u8> {
        self.0 = self.0.trim_start_matches([' ', '\t', '\r', '\n']);
        self.0.bytes().next()
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (token, rest) = self.0.split_at_checked(bytes).unwrap_or((self.0, ""));
        self.0 = rest;
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, expect: &str) {
        let printed = lenient_value(raw).map_or_else(|e| e.to_string(), |v| v.to_string());
        assert_eq!(printed, expect, "of {raw:?}");
    }

    #[test]
    fn values_that_serde_json_takes_come_out_the_same() {
        for raw in [
            r#"{"b":1,"a":[true,null,-0.5,1e-7],"c":{"d":"x\n\"\u00e9😀"}}"#,
            "[]",
            "{}",
            r#""""#,
            "12345678901234567890",
            "1.0",
        ] {
            check(raw, &serde_json::from_str::<Value>(raw).unwrap().to_string());
        }
    }

    #[test]
    fn what_serde_json_refuses_is_kept() {
        check(r#"{"a":"x\ud83dy"}"#, "{\"a\":\"x\u{fffd}y\"}");
        check(
            r#"["\udc00","\ud83d\ude00","\ud83d\ud83d"]"#,
            "[\"\u{fffd}\",\"😀\",\"\u{fffd}\u{fffd}\"]",
        );
        check(r#"{"\ud800":1}"#, "{\"\u{fffd}\":1}");
        check("[1e999]", r#"["1e999"]"#);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        assert!(lenient_value("{\"a\":").is_err() && lenient_value("{} {}").is_err());
    }

    #[test]
    fn deep_nesting_stays_raw_text() {
        let deep = format!("{}\"]\"{}", "[".repeat(5_000), "]".repeat(5_000));
        let mut value = &lenient_value(&deep).unwrap();
        let mut levels = 0;
        while let Value::Array(list) = value {
            (value, levels) = (&list[0], levels + 1);
        }
        let rest = 5_000 - MAX_DEPTH;
        let raw = format!("{}\"]\"{}", "[".repeat(rest), "]".repeat(rest));
        assert_eq!((levels, value), (MAX_DEPTH, &Value::String(raw)));
    }
}
