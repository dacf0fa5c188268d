//! Reads the table of secrets, `rules.toml`, `tokens.toml` and `places.toml`, once, and writes out the
//! parts in braces of its patterns.
//!
//! A growing text is cut where it ends by chance, so a rule's pattern, which needs the whole secret and
//! at times what follows it, has not matched yet. From each pattern another one is derived that matches
//! its *beginnings* at the end of a text: whatever some continuation could complete. Rules that are
//! `complete_only` have none, see `rules.toml`.

use std::collections::{BTreeMap, HashSet};
use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Capture, Hir, HirKind, Look, Repetition};
use serde::Deserialize;

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
enum TableError {
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
fn read([first, further @ ..]: [&str; 3]) -> Result<RuleTable, TableError> {
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
struct SecretNames {
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
fn parts(names: &SecretNames) -> Vec<(&'static str, String)> {
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
fn name_kinds(names: &SecretNames) -> [(Option<NameKind>, String); 6] {
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

fn either(ways: impl Iterator<Item = String>) -> String {
    ways.collect::<Vec<_>>().join("|")
}

fn write_out(pattern: &str, parts: &[(&str, String)]) -> String {
    parts.iter().fold(pattern.to_owned(), |text, (part, written)| text.replace(part, written))
}

/// Derives from `pattern` the pattern of its unfinished matches. It matches where a secret has begun
/// and, to the end of the text, may still go on; its group is that beginning of the secret.
///
/// With `prefix_first` a secret has begun when its fixed prefix is whole: prefixes such as `lsv2_` begin
/// like words do.
fn unfinished(pattern: &str, prefix_first: bool) -> Result<String, String> {
    let hir = parse_pattern(pattern)?;
    let hir = if has_secret(&hir) { hir } else { capture(hir) };
    let begun = if prefix_first { begun_after_prefix } else { begun };
    let open = open(&hir, begun).ok_or("a secret must not be empty, nor its group be repeated")?;
    Ok(Hir::concat(vec![open, Hir::look(Look::End)]).to_string())
}

/// The texts that the secrets of `pattern` begin with, where the pattern says so; a beginning shorter
/// than two bytes does not count.
fn beginnings(pattern: &str) -> Result<Vec<String>, String> {
    let hir = parse_pattern(pattern)?;
    let mut groups = Vec::new();
    collect_groups(&hir, &mut groups);
    let mut extractor = Extractor::new();
    extractor.limit_class(FEW);
    let mut all = Vec::new();
    for group in if groups.is_empty() { vec![&hir] } else { groups } {
        let literals = extractor.extract(group);
        let texts = literals.literals().into_iter().flatten();
        all.extend(texts.filter_map(|text| String::from_utf8(text.as_bytes().to_vec()).ok()));
    }
    all.retain(|text| text.len() > 1);
    Ok(all)
}

/// Reads a pattern; what is left of its groups are secrets.
fn parse_pattern(pattern: &str) -> Result<Hir, String> {
    Ok(without_name(regex_syntax::parse(pattern).map_err(|error| error.to_string())?))
}

/// `hir` without the group of the name.
fn without_name(hir: Hir) -> Hir {
    if !has_secret(&hir) {
        return hir;
    }
    match hir.into_kind() {
        HirKind::Capture(group) if group.name.as_deref() == Some(NAME) => *group.sub,
        HirKind::Capture(group) => {
            let sub = Box::new(without_name(*group.sub));
            Hir::capture(Capture { sub, ..group })
        }
        HirKind::Repetition(rep) => {
            let sub = Box::new(without_name(*rep.sub));
            Hir::repetition(Repetition { sub, ..rep })
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(without_name).collect()),
        HirKind::Alternation(ways) => {
            Hir::alternation(ways.into_iter().map(without_name).collect())
        }
        _ => Hir::fail(),
    }
}

/// Ways of one character that are written out, as in `[srp]k_`; a larger class is left as a class.
const FEW: usize = 6;

fn collect_groups<'h>(hir: &'h Hir, groups: &mut Vec<&'h Hir>) {
    match hir.kind() {
        HirKind::Capture(group) => groups.push(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|part| collect_groups(part, groups));
        }
        HirKind::Repetition(rep) => collect_groups(&rep.sub, groups),
        _ => {}
    }
}

/// `hir` up to somewhere in its secret, or up to anywhere behind it.
fn open(hir: &Hir, secret: fn(&Hir) -> Option<Hir>) -> Option<Hir> {
    match hir.kind() {
        HirKind::Capture(group) => secret(&group.sub).map(capture),
        HirKind::Alternation(ways) => {
            let open: Option<Vec<Hir>> =
                ways.iter().filter(|way| has_secret(way)).map(|way| open(way, secret)).collect();
            Some(Hir::alternation(open?))
        }
        HirKind::Concat(parts) => {
            let at = parts.iter().position(has_secret)?;
            let mut ways = Vec::new();
            if let Some(behind) = begun_parts(&parts[at + 1..]) {
                ways.push(Hir::concat(vec![parts[at].clone(), repeat(behind, Some(1))]));
            }
            ways.push(open(&parts[at], secret)?);
            let mut whole: Vec<Hir> = parts[..at].to_vec();
            whole.push(Hir::alternation(ways));
            Some(Hir::concat(whole))
        }
        _ => None,
    }
}

/// The beginnings of what `hir` matches that have its whole fixed prefix.
fn begun_after_prefix(hir: &Hir) -> Option<Hir> {
    match hir.kind() {
        _ if is_fixed(hir) => Some(hir.clone()),
        HirKind::Alternation(ways) => {
            let ways: Option<Vec<Hir>> = ways.iter().map(begun_after_prefix).collect();
            Some(Hir::alternation(ways?))
        }
        HirKind::Concat(parts) => {
            let (first, rest) = parts.split_first()?;
            if is_fixed(first) {
                let behind = begun_after_prefix(&Hir::concat(rest.to_vec()))?;
                return Some(Hir::concat(vec![first.clone(), behind]));
            }
            let begun = begun_after_prefix(first)?;
            let behind = begun_parts(rest).map(|more| Hir::concat(vec![first.clone(), more]));
            Some(Hir::alternation(behind.into_iter().chain([begun]).collect()))
        }
        _ => begun(hir),
    }
}

/// Returns whether `hir` is one of a few fixed texts.
fn is_fixed(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Look(_) | HirKind::Empty => true,
        HirKind::Class(_) => Extractor::new().limit_class(FEW).extract(hir).is_exact(),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_fixed),
        _ => false,
    }
}

/// All beginnings of what `hir` matches, the whole among them, save the empty one. What a look-around
/// at the end of the text will see is not known yet, so it counts as passed.
fn begun(hir: &Hir) -> Option<Hir> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            text.chars().rev().fold(None, |rest, c| {
                let mut bytes = [0; 4];
                let c = Hir::literal(c.encode_utf8(&mut bytes).as_bytes().to_vec());
                let rest = rest.map_or_else(Hir::empty, |rest| repeat(rest, Some(1)));
                Some(Hir::concat(vec![c, rest]))
            })
        }
        HirKind::Class(_) => Some(hir.clone()),
        HirKind::Repetition(rep) => {
            let more = repeat((*rep.sub).clone(), rep.max.map(|max| max.saturating_sub(1)));
            Some(Hir::concat(vec![more, begun(&rep.sub)?]))
        }
        HirKind::Capture(group) => begun(&group.sub),
        HirKind::Concat(parts) => begun_parts(parts),
        HirKind::Alternation(ways) => {
            let ways: Vec<Hir> = ways.iter().filter_map(begun).collect();
            (!ways.is_empty()).then(|| Hir::alternation(ways))
        }
    }
}

fn begun_parts(parts: &[Hir]) -> Option<Hir> {
    parts.iter().rev().fold(None, |rest, part| {
        let behind = rest.map(|rest| Hir::concat(vec![part.clone(), rest]));
        let ways: Vec<Hir> = behind.into_iter().chain(begun(part)).collect();
        (!ways.is_empty()).then(|| Hir::alternation(ways))
    })
}

fn repeat(sub: Hir, max: Option<u32>) -> Hir {
    Hir::repetition(Repetition { min: 0, max, greedy: true, sub: Box::new(sub) })
}

fn capture(sub: Hir) -> Hir {
    Hir::capture(Capture { index: 1, name: None, sub: Box::new(sub) })
}

fn has_secret(hir: &Hir) -> bool {
    hir.properties().explicit_captures_len() > 0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use regex::Regex;

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

    /// Where the beginning of a secret stands in `text`.
    fn check(pattern: &str, text: &str, expect: Option<&str>) {
        let open = Regex::new(&unfinished(pattern, false).unwrap()).unwrap();
        let found = open.captures(text);
        let begun = found.as_ref().and_then(|found| found.iter().skip(1).flatten().next());
        assert_eq!(begun.map(|begun| begun.as_str()), expect, "{pattern} on {text}");
    }

    #[test]
    fn a_pattern_says_what_its_secrets_begin_with() {
        let check = |pattern: &str, expect: &[&str]| {
            assert_eq!(beginnings(pattern).unwrap(), expect, "{pattern}");
        };
        check(r"\b([sr]k_live_[a-z]{7,}|a[0-9]{2})", &["rk_live_", "sk_live_"]);
        check("key=([a-z]+)", &[]);
        check("AKIA[A-Z0-9]{16}", &["AKIA"]);
    }

    #[test]
    fn b2_a_beginning_is_what_may_go_on() {
        check("sk-[a-z]{3,}", "a s", Some("s"));
        check("sk-[a-z]{3,}", "a sk-abcdef", Some("sk-abcdef"));
        check("sk-[a-z]{3,}", "a sk-abcdef.", None);
        check("sk-[a-z]{3}", "sk-abcd", None);
        // What comes before the secret is none.
        check("key=(a+)", "key=", None);
        check("key=(a+)", "key=aa", Some("aa"));
        // What comes behind it decides.
        check("://(a+)@b", "://aa", Some("aa"));
        check("://(a+)@b", "://aa@", Some("aa"));
        check("://(a+)@b", "://aac", None);
        check(r"x=(?:'([^']+)'|([a-z]+))", "x='a b", Some("a b"));
        check(r"(?:ab){2}é", "aba", Some("aba"));
        check(r"(A[0-9]{2}(?-u:\b)|A[0-9]\z)", "A12", Some("A12"));
    }
}
