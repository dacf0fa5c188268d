//! The placeholders of a subject's settings: `{bot_api}` and the like.

/// The names of all placeholders.
pub(crate) const PLACES: [&str; 24] = [
    "claude",
    "bin",
    "bot_api",
    "token",
    "workspace",
    "home",
    "temp",
    "port",
    "prompt",
    "version",
    "checkout",
    "root",
    "node",
    "node_folder",
    "install",
    "log",
    "bus",
    "person",
    "persons",
    "username",
    "usernames",
    "chat",
    "chats",
    "bot",
];

/// The values of the placeholders of one start of a subject.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    values: Vec<(String, String)>,
}

/// The syntax in which a value is written into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// The value as it is.
    Plain,
    /// The value escaped for a JSON string.
    Json,
}

impl Places {
    /// Sets the value of a placeholder.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.values.push((name.to_owned(), value.into()));
    }

    /// Adds the values of other placeholders. A name that is set already keeps its value.
    pub(crate) fn add(&mut self, others: &Self) {
        self.values.extend(others.values.iter().cloned());
    }

    /// Returns a text with every placeholder that has a value filled. Other braces stay as they are.
    pub(crate) fn fill(&self, text: &str, writing: Writing) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = next_place(rest) {
            filled.push_str(before);
            match self.values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) if writing == Writing::Json => {
                    let quoted = serde_json::Value::from(value.as_str()).to_string();
                    filled.push_str(&quoted[1..quoted.len() - 1]);
                }
                Some((_, value)) => filled.push_str(value),
                None => {
                    filled.push('{');
                    filled.push_str(name);
                    filled.push('}');
                }
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

/// Returns the first placeholder in a text that neither exists nor is one of `own`. A placeholder is a name of small
/// letters and `_` between braces.
pub(crate) fn unknown_place<'a>(text: &'a str, own: &[&str]) -> Option<&'a str> {
    let mut rest = text;
    while let Some((_, name, after)) = next_place(rest) {
        if !PLACES.contains(&name) && !own.contains(&name) {
            return Some(name);
        }
        rest = after;
    }
    None
}

/// Returns the text before the next placeholder, its name, and the text after it.
fn next_place(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        let name = &text[open + 1..];
        let end = name.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap_or(name.len());
        if end > 0 && name[end..].starts_with('}') {
            return Some((&text[..open], &name[..end], &name[end + 1..]));
        }
        from = open + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_places_are_filled_and_other_braces_stay() {
        let mut places = Places::default();
        places.set("token", "1:a\"b");
        places.set("port", "80");
        let text = r#"{"a":{"t":"{token}"},"p":{port},"x":"{unset}"} {{port}"#;
        assert_eq!(
            places.fill(text, Writing::Plain),
            r#"{"a":{"t":"1:a"b"},"p":80,"x":"{unset}"} {80"#
        );
        assert!(places.fill(text, Writing::Json).contains(r#""1:a\"b""#));
    }

    #[test]
    fn a_place_that_does_not_exist_is_found() {
        assert_eq!(unknown_place("--port={port} {bot_url}", &[]), Some("bot_url"));
        assert_eq!(unknown_place("{mode} {modes}", &["mode"]), Some("modes"));
        for text in ["{token}", "{ }", "{A}", "{}", "{", "{a-b}", r#"{"a":1}"#] {
            assert_eq!(unknown_place(text, &[]), None, "{text}");
        }
    }
}
