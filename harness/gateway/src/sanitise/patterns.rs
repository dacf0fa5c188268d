//! Writes out the parts in braces of the patterns of the table.

use serde::Deserialize;

/// The name of the group that is the name of a secret and no secret.
pub(super) const NAME: &str = "name";

/// The kind of a name, or of another place for a secret, which says how a value there is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameKind {
    /// A person chooses the value, so that any text may be one: `password`.
    Chosen,
    /// A program makes the value, so that one short word is none: `token`.
    Made,
    /// There are other values as well: only one that looks like a secret is one.
    Weak,
    /// Several names with their values, such as cookies.
    Pairs,
}

/// The names of secrets, by the kinds of their values.
#[derive(Deserialize)]
pub(super) struct SecretNames {
    chosen: Vec<String>,
    chosen_words: Vec<String>,
    made: Vec<String>,
    made_words: Vec<String>,
    pairs: Vec<String>,
    weak: Vec<String>,
    weak_words: Vec<String>,
    variables: Vec<String>,
    plain: Vec<String>,
    parameters: Vec<String>,
    headers: Vec<String>,
}

/// The number, place or form that may follow a name: `TOKEN_2`, `API_KEY_PROD`, `SECRET_BASE64`.
const SUFFIX: &str = "(?:[_-]?[0-9]{1,2}|[_.-](?:[0-9]{1,2}|(?i-u:stage|dev(?:elopment)?|test|old|new|b64))|[_.-]?(?i-u:v[0-9]|prod(?:uction)?|staging|live|sandbox|base64))?";

/// The parts in braces and their patterns; later ones may use earlier ones.
pub(super) fn parts(names: &SecretNames) -> Vec<(&'static str, String)> {
    let endings =
        any(names.chosen.iter().chain(&names.made).chain(&names.pairs).chain(&names.weak));
    let words = any(names.chosen_words.iter().chain(&names.made_words).chain(&names.weak_words));
    let variables = names.variables.join("|");
    let name = format!(
        r"(?:[A-Za-z0-9_.-]*(?i-u:{endings})|(?-u:\b)(?i-u:{words})|(?-i:[A-Z0-9_]*(?:{variables}))){SUFFIX}"
    );
    let any_name = format!(r"(?:(?i-u:{endings}|{words})|(?-i:{variables})){SUFFIX}");
    let argument = r#"(?:\\*"([^"\\\n]+)|'([^'\n]+)|([^\s"'`\\;&|<$()-][^\s"'`\\;&|()]*))"#;
    vec![
        ("{argument}", argument.to_owned()),
        ("{b}", r"(?:(?-u:\b)|\\[nrt])".to_owned()),
        ("{n}", r"(?:\r?\n|\\r|\\n)".to_owned()),
        ("{w}", "A-Za-z0-9_".to_owned()),
        ("{bare}", r#"[^\s"'`;,(){}\[\]<>\\]"#.to_owned()),
        ("{letter}", r#"[^\s"'`;,(){}\[\]<>\\0-9]"#.to_owned()),
        ("{plain}", r"[!#$%&*+./0-9:=?@A-Z^_a-z~-]".to_owned()),
        ("{parameter}", any(&names.parameters)),
        ("{header}", format!("(?i-u:{})", any(&names.headers))),
        ("{name}", format!("(?<{NAME}>{name})")),
        ("{names}", name),
        ("{any_name}", any_name),
        // The blanks of Unicode would be a large part of every pattern; inside a class this is a
        // class, too.
        (r"\s", r"[ \t\r\n]".to_owned()),
    ]
}

/// Each kind of name, with the pattern of its names.
pub(super) fn name_kinds(names: &SecretNames) -> [(Option<NameKind>, String); 6] {
    let whole = |endings: &[String], words: &[String]| {
        let words =
            if words.is_empty() { String::new() } else { format!("|(?i-u:{})", any(words)) };
        format!(r"\A(?:(?s:.)*(?i-u:{}){words}){SUFFIX}\z", any(endings))
    };
    let variables = format!(r"\A[A-Z0-9_]*(?:{}){SUFFIX}\z", names.variables.join("|"));
    [
        (None, whole(&names.plain, &[])),
        (Some(NameKind::Chosen), whole(&names.chosen, &names.chosen_words)),
        (Some(NameKind::Made), whole(&names.made, &names.made_words)),
        (Some(NameKind::Pairs), whole(&names.pairs, &[])),
        (Some(NameKind::Weak), whole(&names.weak, &names.weak_words)),
        (Some(NameKind::Weak), variables),
    ]
}

/// Any of `words`; a blank in one matches one separator or none.
fn any<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    format!("(?:{})", either(words.into_iter().map(|word| word.replace(' ', "[ _.-]?"))))
}

pub(super) fn either(ways: impl Iterator<Item = String>) -> String {
    ways.collect::<Vec<_>>().join("|")
}

pub(super) fn write_out(pattern: &str, parts: &[(&str, String)]) -> String {
    parts.iter().fold(pattern.to_owned(), |text, (part, written)| text.replace(part, written))
}
