//! Parses JSON text into values leniently: it keeps well-formed JSON that `serde_json` refuses.

use serde_json::{Map, Value};

use crate::json::{self, JsonCursor, JsonResult, Malformed};

/// Depth from which arrays and objects stay raw text, so that a value can be printed into a trace
/// entry and read back by readers that stop at 128 levels.
const MAX_DEPTH: usize = 100;

/// Parses JSON text into a value and accepts all well-formed JSON.
///
/// A lone surrogate becomes U+FFFD. A number that no `f64` can represent, and an array or object
/// more than 100 levels deep, become strings of their raw text.
///
/// # Errors
///
/// Returns [`Malformed`] if the text is not one JSON value.
pub fn lenient_value(raw: &str) -> Result<Value, Malformed> {
    let mut scan = JsonCursor::new(raw);
    let value = next(&mut scan, 0)?;
    scan.end()?;
    Ok(value)
}

/// Parses the fields of an object whose names `is_read` takes, as [`lenient_value`] does; the others are only checked.
/// Other values than objects have no fields.
///
/// # Errors
///
/// As [`lenient_value`].
pub(crate) fn lenient_fields(
    raw: &str,
    is_read: impl Fn(&str) -> bool,
) -> Result<Map<String, Value>, Malformed> {
    let mut scan = JsonCursor::new(raw);
    let mut fields = Map::new();
    scan.object(&mut |key, scan| match is_read(key.get()) {
        true => {
            fields.insert(key.get().to_owned(), next(scan, 1)?);
            Ok(())
        }
        false => scan.skip(),
    })?;
    scan.end()?;
    Ok(fields)
}

/// Reads the value at the cursor, which is nested in `depth` others.
fn next(scan: &mut JsonCursor<'_>, depth: usize) -> JsonResult<Value> {
    match scan.ahead() {
        b'{' if depth < MAX_DEPTH => {
            let mut map = Map::new();
            scan.object(&mut |key, scan| {
                map.insert(key.get().to_owned(), next(scan, depth + 1)?);
                Ok(())
            })?;
            Ok(Value::Object(map))
        }
        b'[' if depth < MAX_DEPTH => {
            let mut list = Vec::new();
            scan.array(&mut |scan| {
                list.push(next(scan, depth + 1)?);
                Ok(())
            })?;
            Ok(Value::Array(list))
        }
        b'{' | b'[' => Ok(Value::String(scan.value()?.get().to_owned())),
        b'"' => Ok(Value::String(json::unescape(json::quoted(scan.value()?.get())).into_owned())),
        _ => {
            let raw = scan.value()?.get();
            Ok(serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.to_owned())))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::json::Expected;

    fn check(raw: &str, expect: &str) {
        let printed = lenient_value(raw).map_or_else(|e| e.to_string(), |v| v.to_string());
        assert_eq!(printed, expect, "of {raw:?}");
    }

    #[test]
    fn the_other_fields_of_an_object_are_checked_and_not_read() {
        let read = |raw: &str| lenient_fields(raw, |name| name != "b").map(Value::Object);
        let check = |raw: &str, expect: &str| {
            let printed = read(raw).map_or_else(|e| e.to_string(), |v| v.to_string());
            assert_eq!(printed, expect, "of {raw:?}");
        };
        check(r#"{"a":1,"b":{"a":[2]},"c":{"b":"\u00e9"}}"#, r#"{"a":1,"c":{"b":"é"}}"#);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        for raw in ["{}", "[1]", "null", r#"{"b":1}"#] {
            check(raw, "{}");
        }
        for raw in [r#"{"b":tru}"#, r#"{"a":1}}"#, r#"{"b":[}"#] {
            assert!(read(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn values_that_serde_json_accepts_come_out_the_same() {
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
    pub(crate) fn json_that_serde_json_refuses_is_kept() {
        check(r#"{"a":"x\ud83dy"}"#, "{\"a\":\"x\u{fffd}y\"}");
        check(
            r#"["\udc00","\ud83d\ude00","\ud83d\ud83d"]"#,
            "[\"\u{fffd}\",\"😀\",\"\u{fffd}\u{fffd}\"]",
        );
        check(r#"{"\ud800":1}"#, "{\"\u{fffd}\":1}");
        check("[1e999]", r#"["1e999"]"#);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        for (raw, expect) in [(r#"{"a":1,}"#, Expected::Key), ("[1,]", Expected::Value)] {
            check(raw, &Malformed::at(raw.len() - 1, expect).to_string());
        }
        assert!(lenient_value("{\"a\":").is_err() && lenient_value("{} {}").is_err());
    }

    #[test]
    pub(crate) fn deep_nesting_stays_raw_text() {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let nest =
                |levels: usize| format!("{}\"]\"{}", open.repeat(levels), close.repeat(levels));
            let mut value = &lenient_value(&nest(5_000)).unwrap();
            let mut levels = 0;
            while let Some(inner) = value.get(0).or(value.get("a")) {
                (value, levels) = (inner, levels + 1);
            }
            let raw = Value::String(nest(5_000 - MAX_DEPTH));
            assert_eq!((levels, value), (MAX_DEPTH, &raw), "{open}");
        }
    }
}
