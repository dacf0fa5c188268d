//! Fills in a form of an agent with the choices of a person.

use serde_json::{Map, Value, json};

/// Returns the result of `elicitation/create`: each field gets those of its choices that have one of the labels. A form
/// without any such choice is declined.
pub(super) fn filled(params: &Value, labels: &[String]) -> Value {
    let fields = params["requestedSchema"]["properties"].as_object();
    let mut content = Map::new();
    for (name, field) in fields.into_iter().flatten() {
        let is_list = field["type"] == "array";
        let choices = match is_list {
            true => choices(&field["items"]),
            false => choices(field),
        };
        let is_chosen = |(label, value): &(&str, &Value)| {
            labels.iter().any(|wanted| wanted == label || *value == wanted.as_str())
        };
        let mut chosen = choices.into_iter().filter(is_chosen).map(|(_, value)| value.clone());
        if is_list {
            let chosen: Vec<Value> = chosen.collect();
            if !chosen.is_empty() {
                content.insert(name.clone(), chosen.into());
            }
        } else if let Some(value) = chosen.next() {
            content.insert(name.clone(), value);
        }
    }
    match content.is_empty() {
        true => json!({ "action": "decline" }),
        false => json!({ "action": "accept", "content": content }),
    }
}

/// Returns the choices of a field, each as its label and its value.
fn choices(field: &Value) -> Vec<(&str, &Value)> {
    let named = ["oneOf", "anyOf"].into_iter().filter_map(|key| field[key].as_array()).flatten();
    let named =
        named.map(|choice| (choice["title"].as_str().unwrap_or_default(), &choice["const"]));
    let plain = field["enum"].as_array().into_iter().flatten();
    let plain = plain.map(|value| (value.as_str().unwrap_or_default(), value));
    named.chain(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_get_the_choices_with_the_labels() {
        let params = json!({ "requestedSchema": { "type": "object", "properties": {
            "a": { "type": "string", "oneOf": [{ "const": "b", "title": "Blue" }, { "const": "g", "title": "Green" }] },
            "l": { "type": "array", "items": { "anyOf": [{ "const": "x", "title": "x" }, { "const": "y", "title": "y" }] } },
            "e": { "type": "string", "enum": ["x"] },
            "n": { "type": "string" },
        } } });
        let check = |labels: &[&str], expect: Value| {
            let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
            assert_eq!(filled(&params, &labels), expect, "{labels:?}");
        };
        check(&["Green"], json!({ "action": "accept", "content": { "a": "g" } }));
        check(&["x", "y"], json!({ "action": "accept", "content": { "l": ["x", "y"], "e": "x" } }));
        check(&["red"], json!({ "action": "decline" }));
    }
}
