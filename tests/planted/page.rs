//! Makes `docs/secrets.md`, the kinds of secrets, from the table of the sanitiser.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/secrets.md");
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/harness/gateway/src/sanitise");

const HEAD: &str = "\
# Kinds of secrets

The sanitiser masks these in the input and the results of tools, and `clitape scan`, `record`, `import`, `test` and
`proof` look for them. A rule's name is what a report says and what `--allow-secrets` takes. The patterns are data:
[rules.toml](../harness/gateway/src/sanitise/rules.toml) has the names of secrets and the rules for keys, headers and
URLs, [tokens.toml](../harness/gateway/src/sanitise/tokens.toml) the tokens that have a form of their own, and
[places.toml](../harness/gateway/src/sanitise/places.toml) commands, settings and code. Each rule has a text that it must
find and two that it must not.

A value under a secret name, such as `password`, `apiKey` or, in capitals, `STRIPE_KEY`, is found by `secret-name` in
JSON and by a rule of the table in other text. What only stands for a secret is none: a placeholder (`<token>`, `YOUR_KEY`,
`xxxx`, `changeme`), a reference (`$TOKEN`, `${{ secrets.TOKEN }}`, `process.env.TOKEN`), a type (`string`), a label
(`Password`, in several languages), a path, a version, a color. Not found is a password that is such a word or that is words of
a language with letters of its own and has no digit, nor a column of a table or of CSV, whose name stands in another line.

Made from the table by `UPDATE_SECRETS=1 cargo test --test secrets page`.

The rules with a † know a secret only by what follows it, so that it shows while text that grows has not come that far.

| Rule | Finds |
|---|---|
";

#[derive(Deserialize)]
struct Part {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    id: String,
    about: String,
    #[serde(default)]
    complete_only: bool,
    #[serde(default)]
    prefixes: BTreeMap<String, String>,
    #[serde(default)]
    forms: BTreeMap<String, String>,
}

impl Rule {
    /// Returns the programs and vendors that a rule lists and does not name in its own words.
    fn listed(&self) -> String {
        let names = self.prefixes.keys().chain(self.forms.keys()).map(String::as_str);
        let is_new = |name: &&str| !self.about.contains(name) && !name.starts_with('-');
        let mut names: Vec<&str> = names.filter(is_new).collect();
        names.sort_unstable_by_key(|name| name.to_lowercase());
        names.dedup();
        names.join(", ")
    }

    fn row(&self) -> String {
        let (of, mark) = (self.listed(), if self.complete_only { " †" } else { "" });
        let about = self.about.trim_end_matches('.');
        let about = if of.is_empty() { about.to_owned() } else { format!("{about}: {of}") };
        format!("| `{}`{mark} | {about} |\n", self.id)
    }
}

/// Makes the page again, and compares it with the committed one.
pub(crate) fn check() {
    let rules = ["rules", "tokens", "places"].into_iter().flat_map(|part| {
        let text = fs::read_to_string(format!("{TABLE}/{part}.toml")).unwrap();
        toml::from_str::<Part>(&text).unwrap().rule
    });
    let page: String = [HEAD.to_owned()].into_iter().chain(rules.map(|rule| rule.row())).collect();
    if std::env::var_os("UPDATE_SECRETS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let is_same = fs::read_to_string(PAGE).unwrap_or_default() == page;
    assert!(is_same, "{PAGE} is old; run `UPDATE_SECRETS=1 cargo test --test secrets page`");
}
