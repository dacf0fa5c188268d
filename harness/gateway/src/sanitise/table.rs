//! Reads the table of secrets, `rules.toml`, once.

use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::open::{beginnings, unfinished};

/// The text of the table.
const SOURCE: &str = include_str!("rules.toml");

/// The built-in table.
#[allow(clippy::expect_used, reason = "a test reads the table")]
pub(super) static TABLE: LazyLock<RuleTable> =
    LazyLock::new(|| read(SOURCE).expect("the built-in table is valid; a test reads it"));

/// What counts as a secret.
pub(super) struct RuleTable {
    pub(super) rules: Vec<SecretRule>,
    /// The patterns of all rules, in their order: one pass says which rules have work to do.
    pub(super) set: RegexSet,
    /// The patterns of matches that may still go on where the text ends, without those of rules that are
    /// `complete_only`; the group of each is what has come of the secret.
    pub(super) open: Vec<RulePattern>,
    /// The same patterns in the same order, for one pass.
    pub(super) open_set: RegexSet,
    /// The texts that a secret of a known kind begins with, such as `ghp_`, longest first.
    pub(super) prefixes: Vec<String>,
    /// Matches the names of fields that contain a secret, as a whole.
    pub(super) name: Regex,
}

/// One kind of text that contains a secret.
pub(super) struct SecretRule {
    /// Stable id, for reports.
    pub(super) id: String,
    pub(super) how: MaskMethod,
    /// A match; its group is the secret.
    pub(super) closed: RulePattern,
}

/// The pattern of one rule. It is compiled when a text first matches the rule: most runs have none of most secrets.
pub(super) struct RulePattern {
    pattern: String,
    compiled: OnceLock<Regex>,
}

impl RulePattern {
    fn new(pattern: String) -> Self {
        Self { pattern, compiled: OnceLock::new() }
    }

    /// The pattern, ready to search with.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn regex(&self) -> &Regex {
        let compile = || Regex::new(&self.pattern);
        self.compiled.get_or_init(|| compile().expect("the set of all patterns has compiled it"))
    }
}

/// What a secret is replaced by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MaskMethod {
    /// `***`, or the ends of a long one.
    #[default]
    Ends,
    /// `…redacted…` between the first and the last line.
    Pem,
    /// How many bytes it is.
    Size,
}

/// Why a table can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error("the table of secrets is no valid TOML; mend what follows: {0}")]
    Toml(#[from] Box<toml::de::Error>),
    #[error("the pattern of rule `{id}` can't be read; mend it: {message}")]
    Pattern { id: String, message: String },
}

#[derive(Deserialize)]
struct RulesFile {
    names: Names,
    rule: Vec<RuleEntry>,
}

#[derive(Deserialize)]
struct Names {
    endings: Vec<String>,
    words: Vec<String>,
    variables: Vec<String>,
    parameters: Vec<String>,
    headers: Vec<String>,
}

#[derive(Deserialize)]
struct RuleEntry {
    id: String,
    #[serde(default)]
    how: MaskMethod,
    #[serde(default)]
    prefix_first: bool,
    #[serde(default)]
    complete_only: bool,
    pattern: String,
}

/// Reads the table from `source`.
pub(super) fn read(source: &str) -> Result<RuleTable, TableError> {
    let file: RulesFile = toml::from_str(source).map_err(Box::new)?;
    let parts = parts(&file.names);
    let written_out: Vec<String> =
        file.rule.iter().map(|entry| write_out(&entry.pattern, &parts)).collect();
    let (mut open, mut open_patterns, mut prefixes) = (Vec::new(), Vec::new(), Vec::new());
    let rules = file.rule.iter().zip(&written_out).map(|(entry, pattern)| {
        let failed = |message: String| TableError::Pattern { id: entry.id.clone(), message };
        let unfinished = unfinished(pattern, entry.prefix_first).map_err(failed)?;
        if !entry.complete_only {
            open.push(RulePattern::new(unfinished.clone()));
            open_patterns.push(unfinished);
        }
        prefixes.extend(beginnings(pattern).map_err(failed)?);
        let closed = RulePattern::new(pattern.clone());
        Ok(SecretRule { id: entry.id.clone(), how: entry.how, closed })
    });
    let whole = |id: &str| {
        let id = id.to_owned();
        move |error: regex::Error| TableError::Pattern { id, message: error.to_string() }
    };
    let rules = rules.collect::<Result<_, TableError>>()?;
    prefixes.sort_by_key(|prefix: &String| std::cmp::Reverse(prefix.len()));
    prefixes.dedup();
    Ok(RuleTable {
        rules,
        open,
        set: set(&written_out).map_err(whole("all"))?,
        open_set: set(&open_patterns).map_err(whole("all, unfinished"))?,
        prefixes,
        name: Regex::new(&whole_name(&file.names)).map_err(whole("names"))?,
    })
}

/// Bytes that the search for all patterns at once may keep of its own states. With less it forgets
/// and works them out again on text that comes near many rules.
const STATES: usize = 1 << 24;

fn set(patterns: &[String]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns).size_limit(STATES).dfa_size_limit(STATES).build()
}

/// A number may follow a name: `TOKEN_2`.
const NUMBER: &str = "(?:[_-]?[0-9]{1,2})?";

/// The parts in braces and their patterns; later ones may use earlier ones.
fn parts(names: &Names) -> Vec<(&'static str, String)> {
    let endings = any(&names.endings);
    let words = any(&names.words);
    let name =
        format!(r"(?:[A-Za-z0-9_.-]*(?i-u:{endings}){NUMBER}|(?-u:\b)(?i-u:{words}){NUMBER})");
    let variables = names.variables.join("|");
    vec![
        ("{b}", r"(?:(?-u:\b)|\\[nrt])".to_owned()),
        ("{w}", "A-Za-z0-9_".to_owned()),
        ("{bare}", r#"[^\s"'`;,(){}\[\]<>\\]"#.to_owned()),
        ("{letter}", r#"[^\s"'`;,(){}\[\]<>\\0-9]"#.to_owned()),
        ("{variable}", format!("(?:{name}|(?-i:[A-Z0-9_]*(?:{variables})){NUMBER})")),
        ("{parameter}", format!("(?:{name}|(?i-u:{}))", any(&names.parameters))),
        ("{header}", format!("(?i-u:{})", any(&names.headers))),
        ("{name}", name),
    ]
}

fn whole_name(names: &Names) -> String {
    let (endings, words) = (any(&names.endings), any(&names.words));
    format!(r"\A(?:(?s:.)*(?i-u:{endings})|(?i-u:{words})){NUMBER}\z")
}

/// Any of `words`; a blank in one matches one separator or none.
fn any(words: &[String]) -> String {
    format!("(?:{})", words.join("|").replace(' ', "[ _.-]?"))
}

fn write_out(pattern: &str, parts: &[(&str, String)]) -> String {
    parts.iter().fold(pattern.to_owned(), |text, (part, written)| text.replace(part, written))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn b2_the_table_is_sound() {
        let table = read(SOURCE).unwrap_or_else(|error| panic!("{error}"));
        let ids: BTreeSet<&str> = table.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids.len(), table.rules.len(), "an id stands twice");
    }

    #[test]
    fn b2_a_broken_table_says_where() {
        let names = "[names]\nendings=['token']\nwords=['auth']\nvariables=['KEY']\n\
                     parameters=['sig']\nheaders=['x-token']\n";
        let check = |rule: &str, expect: &str| {
            let message = match read(&format!("{names}{rule}")) {
                Ok(_) => String::new(),
                Err(error) => error.to_string(),
            };
            assert!(message.starts_with(expect), "{rule}: {message}");
        };
        check("[[rule]]\nid = 'a'\npattern = '{name}=([a-z]+)'", "");
        check("[[rule]]\nid = 'a'\npattern = '('", "the pattern of rule `a` can't be read");
        check("[[rule]]\nid = 'a'\npattern = '(?:(a)b)+'", "the pattern of rule `a` can't be read");
        check("[[rule]]\nid = 'a'\nhow = 'x'\npattern = 'a'", "the table of secrets is no valid");
    }

    /// Text that matches a rule compiles its pattern, which must not fail then.
    #[test]
    fn b2_each_pattern_compiles() {
        for RulePattern { pattern, .. } in
            TABLE.rules.iter().map(|rule| &rule.closed).chain(&TABLE.open)
        {
            let compiled = Regex::new(pattern);
            assert!(compiled.is_ok(), "{pattern}: {compiled:?}");
        }
    }

    #[test]
    pub(crate) fn b2_secret_names() {
        let table = read(SOURCE).unwrap();
        let secret = [
            "token",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "client-secret",
            "DB_PASSWORD",
            "auth",
            "credentials",
            "Set-Cookie",
            "dbPwd",
            "aws_secret_access_key",
            "refreshToken",
            "my api key",
            "TOKEN_2",
            "password1",
            "passwörter.token",
        ];
        let plain = [
            "max_tokens",
            "key",
            "file_path",
            "author",
            "tokens",
            "keyboard",
            "pwd",
            "monkey",
            "PWD",
            "token_count",
        ];
        for name in secret {
            assert!(table.name.is_match(name), "{name} is one");
        }
        for name in plain {
            assert!(!table.name.is_match(name), "{name} is none");
        }
    }
}
