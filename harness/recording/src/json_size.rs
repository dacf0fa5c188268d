//! How much memory JSON takes: `[0,0]` takes up to a hundred times its length once it is parsed.

use serde_json::{Map, Value};

/// Returns the bytes of memory that a JSON value takes.
pub fn json_bytes(value: &Value) -> usize {
    size_of::<Value>() + heap(value)
}

/// Returns the bytes of memory that the members of a JSON object take.
pub fn map_bytes(map: &Map<String, Value>) -> usize {
    // The table of an object has a power of two of slots and is seven eighths full at most.
    let slots = match map.len() {
        0 => return 0,
        1..=3 => 4,
        len => (len * 8 / 7 + 1).next_power_of_two(),
    };
    let members = map.len().max(slots * 7 / 8) * (MEMBER + size_of::<Value>());
    slots * SLOT
        + members
        + map.iter().map(|(key, value)| key.capacity() + heap(value)).sum::<usize>()
}

/// The bytes of an object's table, its slots aside.
const TABLE: usize = 16;
/// The bytes of a slot of an object's table.
const SLOT: usize = 9;
/// The bytes of a member of an object, its value aside.
const MEMBER: usize = 32;

/// The bytes that a value has beside its own place.
fn heap(value: &Value) -> usize {
    match value {
        Value::String(text) => text.capacity(),
        Value::Array(values) => {
            let empty = values.capacity().saturating_sub(values.len()) * size_of::<Value>();
            empty + values.iter().map(json_bytes).sum::<usize>()
        }
        Value::Object(map) => map_bytes(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns the most bytes of memory that a JSON text takes once it is parsed.
pub fn parsed_bytes(text: &[u8]) -> usize {
    // Lists and objects of one member have room for four; longer ones may be half empty.
    let member = SLOT + MEMBER + size_of::<Value>();
    let [list, object] = [4 * size_of::<Value>(), TABLE + 4 * member];
    let of = |byte: &u8| match byte {
        b'[' => list,
        b'{' => object,
        b',' => 2 * member,
        _ => 1,
    };
    size_of::<Value>() + text.iter().map(of).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compares the estimate of a text with the value that it is parsed to; both are at least `least`.
    fn check(text: &str, least: usize) {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let (parsed, real) = (parsed_bytes(text.as_bytes()), json_bytes(&value));
        let text = &text[..text.len().min(40)];
        assert!(least <= real && real <= parsed, "{text}: {least} {real} {parsed}");
        assert!(parsed <= real * 8, "{text}: {real} {parsed}");
    }

    #[test]
    fn a_json_text_takes_no_more_memory_than_is_said() {
        let many = |part: &str| format!("[{}0]", part.repeat(10_000));
        for (part, least) in [
            ("0,", 720_000),
            ("[],", 720_000),
            ("[0],", 3_600_000),
            ("{\"a\":0},", 3_800_000),
            ("\"word\",", 760_000),
            ("{\"a\":0,\"b\":0,\"c\":0,\"d\":0},", 8_000_000),
            ("[[[[[[[[]]]]]]]],", 20_000_000),
        ] {
            check(&many(part), least);
        }
        let members: Vec<String> = (0..10_000).map(|number| format!("\"{number}\":0")).collect();
        check(&format!("{{{}}}", members.join(",")), 1_100_000);
        check(&json!("x".repeat(1_000)).to_string(), 1_000);
    }
}
