//! Reads the table of secrets, `rules.toml`, `tokens.toml` and `places.toml`, once.

use std::collections::{BTreeMap, HashSet};
use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde::Deserialize;

use super::open::{beginnings, unfinished};
use super::patterns::{NameKind, SecretNames, either, name_kinds, parts, write_out};

/// The parts of the table, the first of which has its names and words.
pub(super) const SOURCES: [&str; 3] =
    [include_str!("rules.toml"), include_str!("tokens.toml"), include_str!("places.toml")];

/// The built-in table.
#[allow(clippy::expect_used, reason = "a test reads the table")]
pub(super) static TABLE: LazyLock<RuleTable> =
    LazyLock::new(|| read(SOURCES).expect("the built-in table is valid; a test reads it"));

/// The rules for secrets.
pub(super) struct RuleTable {
    pub(super) rules: Vec<SecretRule>,
    /// Words of values that only stand for a secret.
    pub(super) words: Words,
    /// Matches a name of a secret in a text, for a search for all rules with one.
    pub(super) name: String,
    /// Matches what every name of a secret ends with: most names of members don't.
    ending: Regex,
    /// The kinds of names in the order in which they are looked for, each with the names it matches
    /// as a whole; names that are none come first.
    kinds: Vec<(Option<NameKind>, Regex)>,
    prefixes: OnceLock<Vec<String>>,
}

/// One kind of text that contains a secret.
pub(super) struct SecretRule {
    /// Its place in the table.
    pub(super) at: usize,
    /// Stable id, for reports.
    pub(super) id: String,
    pub(super) how: MaskMethod,
    /// The kind by which the secret is judged where there is no name, or where the rule is stricter than the name.
    pub(super) judge: Option<NameKind>,
    /// Matches what every text with such a secret has before the secret, where the pattern would
    /// take long.
    pub(super) mark: Option<String>,
    /// Set if the pattern has a name of a secret in it.
    pub(super) is_named: bool,
    /// A match; its group is the secret.
    pub(super) closed: RulePattern,
    /// A match that may still go on where the text ends; its group is what has come of the secret.
    /// A rule that is `complete_only` has none.
    unfinished: OnceLock<Option<RulePattern>>,
    /// Set if a secret is found only as a whole.
    pub(super) late: bool,
    /// Bytes that a secret has at least.
    pub(super) least: usize,
    prefix_first: bool,
    complete_only: bool,
}

impl SecretRule {
    /// The pattern of matches that may still go on where the text ends. It is made when a text that
    /// grows is first looked at.
    #[allow(clippy::expect_used, reason = "a test makes them all")]
    pub(super) fn unfinished(&self) -> Option<&RulePattern> {
        let make =
            || self.make_unfinished().expect("the built-in table is valid; a test makes these");
        self.unfinished.get_or_init(make).as_ref()
    }

    fn make_unfinished(&self) -> Result<Option<RulePattern>, TableError> {
        if self.complete_only {
            return Ok(None);
        }
        let pattern = unfinished(&self.closed.text, self.prefix_first);
        let pattern =
            pattern.map_err(|message| TableError::Pattern { id: self.id.clone(), message })?;
        Ok(Some(RulePattern::new(pattern)))
    }
}

/// The pattern of one rule. It is compiled when a text first matches the rule: most runs have none of most secrets.
pub(super) struct RulePattern {
    pub(super) text: String,
    compiled: OnceLock<Regex>,
}

impl RulePattern {
    fn new(text: String) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// The pattern, ready to search with.
    #[allow(clippy::expect_used, reason = "the state is impossible")]
    pub(super) fn regex(&self) -> &Regex {
        let compile = || Regex::new(&self.text);
        self.compiled.get_or_init(|| compile().expect("a test compiles every pattern"))
    }
}

/// The replacement of a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MaskMethod {
    /// `***`, or the ends of a long one.
    #[default]
    Ends,
    /// `…redacted…` between the first and the last line.
    Pem,
    /// The number of its bytes.
    Size,
}

/// Words that separate secrets from other values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// Words of names, pages and placeholders.
    pub(super) labels: HashSet<String>,
    /// The same in scripts without blanks between words.
    pub(super) scripts: Vec<String>,
    /// Types, keywords and names of programs, which are a value by themselves.
    pub(super) code: HashSet<String>,
    /// Members of an object under a secret name that describe the secret.
    attributes: HashSet<String>,
}

impl Words {
    /// Returns whether a member called `name` of an object under a secret name describes the secret: `type`,
    /// `minLength`.
    pub(super) fn is_attribute(&self, name: &str) -> bool {
        self.attributes.contains(&name.to_ascii_lowercase())
    }
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
struct FirstPart {
    names: SecretNames,
    words: Words,
    rule: Vec<RuleEntry>,
}

#[derive(Deserialize)]
struct FurtherPart {
    rule: Vec<RuleEntry>,
}

#[derive(Deserialize)]
struct RuleEntry {
    id: String,
    #[serde(default)]
    how: MaskMethod,
    judge: Option<NameKind>,
    #[serde(default)]
    late: bool,
    #[serde(default)]
    least: usize,
    #[serde(default)]
    prefix_first: bool,
    #[serde(default)]
    complete_only: bool,
    mark: Option<String>,
    pattern: String,
    #[serde(default)]
    prefixes: BTreeMap<String, String>,
    #[serde(default)]
    forms: BTreeMap<String, String>,
}

/// Reads the table from its parts.
pub(super) fn read([first, further @ ..]: [&str; 3]) -> Result<RuleTable, TableError> {
    let FirstPart { names, words, rule: mut entries } = toml::from_str(first).map_err(Box::new)?;
    for part in further {
        let part: FurtherPart = toml::from_str(part).map_err(Box::new)?;
        entries.extend(part.rule);
    }
    let parts = parts(&names);
    let rules = entries.into_iter().enumerate().map(|(at, entry)| {
        let is_named = entry.pattern.contains("{name}");
        let pattern = write_out(&entry.pattern, &entry.listed());
        SecretRule {
            at,
            id: entry.id,
            how: entry.how,
            judge: entry.judge,
            mark: entry.mark.map(|mark| write_out(&mark, &parts)),
            is_named,
            closed: RulePattern::new(write_out(&pattern, &parts)),
            unfinished: OnceLock::new(),
            late: entry.late,
            least: entry.least,
            prefix_first: entry.prefix_first,
            complete_only: entry.complete_only,
        }
    });
    let compile = |pattern: &str| {
        let message = |error: regex::Error| error.to_string();
        let id = || "names".to_owned();
        Regex::new(pattern)
            .map_err(|error| TableError::Pattern { id: id(), message: message(error) })
    };
    let kinds =
        name_kinds(&names).into_iter().map(|(kind, pattern)| Ok((kind, compile(&pattern)?)));
    Ok(RuleTable {
        rules: rules.collect(),
        words,
        name: write_out(r"{any_name}(?:(?-u:\b)|_)", &parts),
        ending: compile(&write_out(r"{any_name}\z", &parts))?,
        kinds: kinds.collect::<Result<_, TableError>>()?,
        prefixes: OnceLock::new(),
    })
}

impl RuleEntry {
    /// Returns the patterns that replace `{prefixes}` and `{forms}`.
    fn listed(&self) -> [(&'static str, String); 2] {
        let prefixes = self.prefixes.values().flat_map(|of| of.split(' ')).map(regex::escape);
        [("{prefixes}", either(prefixes)), ("{forms}", either(self.forms.values().cloned()))]
    }
}

impl RuleTable {
    /// The kind of the name, where it is one of a secret.
    pub(super) fn kind(&self, name: &str) -> Option<NameKind> {
        if !self.ending.is_match(name) {
            return None;
        }
        self.kinds.iter().find(|(_, pattern)| pattern.is_match(name)).and_then(|(kind, _)| *kind)
    }

    /// The texts that a secret of a known kind begins with, such as `ghp_`, longest first.
    #[allow(clippy::expect_used, reason = "a test makes them")]
    pub(super) fn prefixes(&self) -> &[String] {
        self.prefixes.get_or_init(|| {
            let all = self.rules.iter().map(|rule| beginnings(&rule.closed.text));
            let all = all.collect::<Result<Vec<_>, _>>();
            let mut all = all.expect("the built-in table is valid; a test makes these").concat();
            all.sort_by_key(|prefix: &String| std::cmp::Reverse(prefix.len()));
            all.dedup();
            all
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn b2_the_table_is_sound() {
        let table = read(SOURCES).unwrap_or_else(|error| panic!("{error}"));
        let ids: BTreeSet<&str> = table.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids.len(), table.rules.len(), "an id stands twice");
        assert!(table.prefixes().contains(&"ghp_".to_owned()));
    }

    #[test]
    fn b2_a_broken_table_says_where() {
        let head = "[names]\nchosen=['password']\nchosen_words=['pin']\nmade=['token']\nmade_words=['auth']\npairs=['cookie']\nweak=['pass']\n\
                    weak_words=['pw']\nvariables=['KEY']\nplain=['bypass']\nparameters=['sig']\nheaders=['x-token']\n\
                    [words]\nlabels=[]\nscripts=[]\ncode=[]\nattributes=[]\n";
        let rest = "[[rule]]\nid = 'z'\npattern = 'z'";
        let check = |rule: &str, expect: &str| {
            let table = read([&format!("{head}{rule}"), rest, rest]);
            let made = table.and_then(|table| table.rules[0].make_unfinished().map(|_| ()));
            let message = made.err().map(|error| error.to_string()).unwrap_or_default();
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
        for rule in &TABLE.rules {
            let unfinished = rule.unfinished().map(|pattern| &pattern.text);
            for pattern in
                [Some(&rule.closed.text), rule.mark.as_ref(), unfinished].into_iter().flatten()
            {
                let compiled = Regex::new(pattern);
                assert!(compiled.is_ok(), "{}: {pattern}: {compiled:?}", rule.id);
            }
        }
    }

    #[test]
    pub(crate) fn b2_secret_names() {
        let check = |kind: Option<NameKind>, names: &[&str]| {
            for name in names {
                assert_eq!(TABLE.kind(name), kind, "{name}");
            }
        };
        let chosen = [
            "client-secret",
            "DB_PASSWORD",
            "credentials",
            "dbPwd",
            "password1",
            "secret_key_base",
            "admin_pw",
            "DB_PASSWORD_STAGING",
            "dbPasswordProd",
        ];
        check(Some(NameKind::Chosen), &chosen);
        let made = [
            "token",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "auth",
            "aws_secret_access_key",
            "refreshToken",
            "my api key",
            "TOKEN_2",
            "API_KEY_PROD",
            "webhook.secret.token.v2",
            "masterKeyBase64",
            "passwörter.token",
        ];
        check(Some(NameKind::Made), &made);
        check(Some(NameKind::Pairs), &["Set-Cookie", "cookie"]);
        check(
            Some(NameKind::Weak),
            &[
                "STRIPE_KEY",
                "KEY",
                "GH_PAT",
                "DB_PASS",
                "smtpPass",
                "pass",
                "AUTH_SALT",
                "KEY_2",
                "STRIPE_KEY_LIVE",
                "stripe-key",
                "algoliaAdminKey",
                "app.key",
                "storageKey",
                "ghPat",
            ],
        );
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
            "MONKEY",
            "PUBLIC_KEY",
            "PRIMARY_KEY",
            "bypass",
            "compass",
            "nextPageToken",
            "passage",
            "STRIPE_KEY_ID",
            "mapKey",
            "TOKEN_LIVENESS",
            "PASSWORD_MIN_LENGTH",
        ];
        check(None, &plain);
    }
}
