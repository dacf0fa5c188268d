//! The keys of each TOML file, read from the Rust types that serde reads the file into: their names, values and doc
//! comments. A key without a doc comment fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, ExprLit, Field, Fields, GenericArgument, Item, ItemEnum, ItemStruct, Lit,
    Meta, MetaNameValue, PathArguments, Token, Type, Variant,
};

use crate::common::{files, root};
use crate::site::anchor;

/// The crates whose types read the files.
const CRATES: [&str; 3] = ["harness/recording/src", "harness/rig/src", "harness/judge/src"];

/// Each page: its name, its title, the type of the whole file, and the text above the keys.
const FILES: [(&str, &str, &str, &str); 6] = [
    (
        "clitape-toml.md",
        "clitape.toml",
        "SubjectsFile",
        "The file of a workspace: the versions of the CLI, and the gateways, agents and parsers under test. [Your own gateway \
         under test](../subjects.md) explains them with examples.",
    ),
    (
        "scenario-toml.md",
        "scenario.toml",
        "ScenarioFile",
        "The file of a scenario, `scenarios/NAME/scenario.toml`. [Scenarios and recordings](../scenarios.md) explains it.",
    ),
    (
        "model-toml.md",
        "model.toml",
        "Model",
        "The answers of the scripted model, `scenarios/NAME/model.toml`. `{{project}}`, `{{home}}` and `{{tmp}}` in texts and \
         inputs become the folders of the run, and `{{lines:500}}` becomes 500 numbered lines.",
    ),
    (
        "cassette-toml.md",
        "cassette.toml",
        "Manifest",
        "What a cassette says of itself, `cassettes/NAME/VERSION/cassette.toml`. `clitape record` and `clitape import` write \
         it; a file that was edited by hand is damaged.",
    ),
    (
        "known-toml.md",
        "The list of known differences",
        "KnownList",
        "The file that `known` of a subject names ([the rules for a gateway](../subject-rules.md#known-differences)).",
    ),
    (
        "script-toml.md",
        "The script of a person",
        "PersonScript",
        "The file that `clitape chat-server --script` reads ([the chat server](../chat-server.md)).",
    ),
];

/// The types that are a text or a number of their own, in words.
const WORDS: [(&str, &str); 16] = [
    ("String", "text"),
    ("PathBuf", "path"),
    ("bool", "`true` or `false`"),
    ("u16", "number"),
    ("u32", "number"),
    ("u64", "number"),
    ("i32", "number"),
    ("i64", "number"),
    ("usize", "number"),
    ("NonZeroUsize", "number from 1"),
    ("Value", "any value"),
    ("ScenarioName", "name of a scenario"),
    ("SubjectName", "name of a subject"),
    ("CliVersion", "version of the CLI"),
    ("Issue", "issue, such as `openclaw#80046`"),
    ("CassetteFile", "name of a file"),
];

/// The keys that no file may have, because they have moved.
const MOVED: [&str; 1] = ["_moved"];

/// A type that serde reads.
enum Read {
    Struct(ItemStruct),
    Enum(ItemEnum),
}

impl Read {
    fn attrs(&self) -> &[Attribute] {
        match self {
            Self::Struct(item) => &item.attrs,
            Self::Enum(item) => &item.attrs,
        }
    }
}

/// The types by name.
struct Types(BTreeMap<String, Read>);

impl Types {
    fn load() -> Self {
        let mut types = BTreeMap::new();
        for path in CRATES.iter().flat_map(|src| files(&root().join(src), ".rs")) {
            if path.to_string_lossy().contains("tests") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source is text");
            let file = syn::parse_file(&text).expect("a source is Rust");
            for item in file.items {
                let (name, read) = match item {
                    Item::Struct(item) => (item.ident.to_string(), Read::Struct(item)),
                    Item::Enum(item) => (item.ident.to_string(), Read::Enum(item)),
                    _ => continue,
                };
                let is_read = derives(read.attrs());
                if is_read {
                    types.insert(name, read);
                }
            }
        }
        Self(types)
    }

    /// Returns the type that serde reads in the place of this one.
    fn source(&self, name: &str) -> Option<&Read> {
        let read = self.0.get(name)?;
        match serde(read.attrs(), "try_from") {
            Some(from) if from != "String" => self.source(&from).or(Some(read)),
            _ => Some(read),
        }
    }

    /// Returns the fields of a type that is a table: those of a struct, or of the one struct below an enum's variant.
    fn fields(&self, name: &str) -> Option<Fields> {
        match self.source(name)? {
            Read::Struct(item) if serde(&item.attrs, "try_from").is_none() => {
                Some(item.fields.clone())
            }
            _ => None,
        }
    }
}

/// Returns whether a type is read by serde.
fn derives(attrs: &[Attribute]) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident("derive")).any(|attr| {
        let names = attr.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated);
        let is =
            |path: &syn::Path| path.segments.last().is_some_and(|it| it.ident == "Deserialize");
        names.is_ok_and(|names| names.iter().any(is))
    })
}

/// Returns the value of a key of `#[serde(…)]`; empty for a key without a value.
fn serde(attrs: &[Attribute], key: &str) -> Option<String> {
    let of_serde = attrs.iter().filter(|attr| attr.path().is_ident("serde"));
    let parts = of_serde.flat_map(|attr| {
        attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .expect("serde's attributes are a list")
    });
    for part in parts {
        if part.path().is_ident(key) {
            return Some(match &part {
                Meta::NameValue(MetaNameValue { value, .. }) => text_of(value),
                _ => String::new(),
            });
        }
    }
    None
}

fn text_of(value: &Expr) -> String {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.value(),
        _ => String::new(),
    }
}

/// Returns the doc comment on one line, as Markdown without links into the code and without the numbers of rules.
fn doc(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter(|attr| attr.path().is_ident("doc"));
    let lines = lines.filter_map(|attr| match &attr.meta {
        Meta::NameValue(MetaNameValue { value, .. }) => Some(text_of(value)),
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = without_links(&text);
    let text = without_rules(&text);
    match text.ends_with(['.', ':']) || text.is_empty() {
        true => text,
        false => format!("{text}."),
    }
}

/// Replaces links into the code, such as ``[`always`](Self::always)``, by their names.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").expect("a link ends");
        let rest = match rest.strip_prefix('(') {
            Some(target) => target.split_once(')').expect("its target ends").1,
            None => rest,
        };
        write!(out, "`{name}`{rest}").expect("a string can be written");
    }
    out
}

/// Removes the numbers of rules, such as `(V4, V6)`.
fn without_rules(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" (") {
        let (inside, behind) = after.split_once(')').expect("a bracket is closed");
        let is_rule = |word: &str| {
            let mut chars = word.chars();
            chars.next().is_some_and(|c| c.is_ascii_uppercase())
                && word.len() > 1
                && chars.all(|c| c.is_ascii_digit())
        };
        out.push_str(before);
        if !inside.split(", ").all(is_rule) {
            write!(out, " ({inside})").expect("a string can be written");
        }
        rest = behind;
    }
    out + rest
}

/// Returns a text on one line in which only backquotes are markup.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.split('`').enumerate() {
        if number > 0 {
            out.push('`');
        }
        match number % 2 {
            0 => out.push_str(&part.replace('<', "&lt;").replace('*', "\\*").replace('|', "\\|")),
            _ => out.push_str(&part.replace('|', "\\|")),
        }
    }
    out
}

/// Returns the last name of a type, and the types in its angle brackets.
fn parts(of: &Type) -> (String, Vec<Type>) {
    let Type::Path(path) = of else { panic!("a key has a type without a name") };
    let last = path.path.segments.last().expect("a path has a name");
    let inner = match &last.arguments {
        PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .filter_map(|arg| match arg {
                GenericArgument::Type(of) => Some(of.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    (last.ident.to_string(), inner)
}

/// Changes a Rust name to the form that `rename_all` names.
fn renamed(name: &str, form: Option<&str>) -> String {
    let separator = match form {
        None => return name.to_owned(),
        Some("lowercase") => return name.to_lowercase(),
        Some("kebab-case") => '-',
        Some("snake_case") => '_',
        Some(other) => panic!("rename_all = {other} is new here"),
    };
    let mut out = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push(separator);
        }
        out.extend(c.to_lowercase());
    }
    out
}

fn variant_name(item: &ItemEnum, variant: &Variant) -> String {
    let form = serde(&item.attrs, "rename_all");
    // A word that is parsed from a text has the form of the other words in scenarios.
    let of_text = serde(&item.attrs, "try_from").map(|_| "kebab-case".to_owned());
    serde(&variant.attrs, "rename")
        .unwrap_or_else(|| renamed(&variant.ident.to_string(), form.or(of_text).as_deref()))
}

/// A page while it is written.
struct Page<'a> {
    types: &'a Types,
    text: String,
    /// The tables that have a section, each with its heading.
    sections: BTreeMap<String, String>,
    /// The sections that still have to be written: heading, path, and type.
    open: Vec<(String, String, String)>,
    missing: BTreeSet<String>,
}

impl Page<'_> {
    /// Writes the section of a table.
    fn section(&mut self, path: &str, name: &str) {
        if let Some(Read::Enum(item)) = self.types.source(name) {
            let item = item.clone();
            return self.choices(path, &item);
        }
        let fields = self.types.fields(name).unwrap_or_else(|| panic!("{name} is a table"));
        let read = self.types.source(name).expect("it is read");
        let all_optional = serde(read.attrs(), "default").is_some();
        self.keys(path, name, &fields, all_optional);
    }

    /// Writes a table of keys.
    fn keys(&mut self, path: &str, name: &str, fields: &Fields, all_optional: bool) {
        self.text.push_str("\n| key | value | meaning |\n|---|---|---|\n");
        for field in fields {
            let ident = field.ident.as_ref().expect("a key has a name").to_string();
            if MOVED.contains(&ident.as_str()) || serde(&field.attrs, "skip").is_some() {
                continue;
            }
            let key = serde(&field.attrs, "rename").unwrap_or(ident);
            let meaning = doc(&field.attrs);
            if meaning.is_empty() {
                self.missing.insert(format!("{name}.{key}"));
            }
            let value = self.value(&field.ty, &format!("{path}{key}"), false);
            let optional = all_optional || is_optional(field);
            let needed = if optional { "" } else { " **Required.**" };
            writeln!(self.text, "| `{key}` | {value} | {}{needed} |", escaped(&meaning))
                .expect("a string can be written");
        }
    }

    /// Writes the choices of an enum whose variants are tables: by a key that tags them, or by the one key they have.
    fn choices(&mut self, path: &str, item: &ItemEnum) {
        let tag = serde(&item.attrs, "tag");
        match &tag {
            Some(tag) => {
                writeln!(self.text, "\nThe key `{tag}` says which one it is.")
                    .expect("a string can be written");
            }
            None => self
                .text
                .push_str("\nOne of these keys.\n\n| key | value | meaning |\n|---|---|---|\n"),
        }
        for variant in &item.variants {
            let word = variant_name(item, variant);
            let meaning = doc(&variant.attrs);
            if meaning.is_empty() {
                self.missing.insert(format!("{}::{}", item.ident, variant.ident));
            }
            let Some(tag) = &tag else {
                let field = variant.fields.iter().next().expect("a value");
                let value = self.value(&field.ty, &format!("{path}{word}"), false);
                writeln!(self.text, "| `{word}` | {value} | {} |", escaped(&meaning))
                    .expect("a string can be written");
                continue;
            };
            write!(self.text, "\n`{tag} = \"{word}\"`: {}\n", escaped(&meaning))
                .expect("a string can be written");
            let name = format!("{}::{}", item.ident, variant.ident);
            match &variant.fields {
                Fields::Unnamed(fields) => {
                    let (inner, _) = parts(&fields.unnamed[0].ty);
                    let fields = self.types.fields(&inner).expect("a table");
                    self.keys(path, &inner, &fields, false);
                }
                fields if fields.is_empty() => {}
                fields => self.keys(path, &name, fields, false),
            }
        }
    }

    /// Returns the value of a key in words; a table gets a section of its own. `path` is that of the key.
    fn value(&mut self, of: &Type, path: &str, is_list: bool) -> String {
        let (name, inner) = parts(of);
        match name.as_str() {
            "Option" => return self.value(&inner[0], path, is_list),
            "Vec" => {
                let item = self.value(&inner[0], path, true);
                return match item.as_str() {
                    _ if item.starts_with('[') => item,
                    _ if item.contains(", or ") => format!("list: {item}"),
                    _ => format!("list of {}", plural(&item)),
                };
            }
            "BTreeMap" => {
                let key = self.value(&inner[0], path, false);
                let key = if key == "text" { "NAME".to_owned() } else { key };
                let value = self.value(&inner[1], &format!("{path}.NAME"), false);
                return format!("table: {key} = {value}");
            }
            "Map" => return "table".to_owned(),
            _ => {}
        }
        if let Some((_, word)) = WORDS.iter().find(|(known, _)| *known == name) {
            return (*word).to_owned();
        }
        let read = self.types.source(&name).unwrap_or_else(|| panic!("{name} is not read"));
        let is_text = serde(read.attrs(), "try_from").is_some_and(|from| from == "String");
        match read {
            Read::Enum(item) if item.variants.iter().all(|it| it.fields.is_empty()) => {
                let item = item.clone();
                self.words(&item)
            }
            _ if is_text => "text".to_owned(),
            Read::Enum(item) if serde(&item.attrs, "untagged").is_some() => {
                let kinds: Vec<Type> = item
                    .variants
                    .iter()
                    .filter_map(|variant| variant.fields.iter().next().map(|it| it.ty.clone()))
                    .collect();
                let kinds: Vec<String> =
                    kinds.iter().map(|of| self.value(of, path, false)).collect();
                kinds.join(", or ")
            }
            _ => self.table(&name, path, is_list),
        }
    }

    /// Returns the link to the section of a table, which is opened if it has none.
    fn table(&mut self, name: &str, path: &str, is_list: bool) -> String {
        if let Some(heading) = self.sections.get(name) {
            return format!("[`{heading}`](#{})", anchor(heading));
        }
        let heading = if is_list { format!("[[{path}]]") } else { format!("[{path}]") };
        self.sections.insert(name.to_owned(), heading.clone());
        self.open.push((heading.clone(), format!("{path}."), name.to_owned()));
        format!("[`{heading}`](#{})", anchor(&heading))
    }

    /// Returns the words of an enum, each with its meaning.
    fn words(&mut self, item: &ItemEnum) -> String {
        let words = item.variants.iter().map(|variant| {
            let word = variant_name(item, variant);
            let meaning = doc(&variant.attrs);
            let meaning = meaning.trim_end_matches('.');
            match meaning.is_empty() {
                true => format!("`\"{word}\"`"),
                false => format!("`\"{word}\"` ({})", escaped(meaning)),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

fn is_optional(field: &Field) -> bool {
    parts(&field.ty).0 == "Option" || serde(&field.attrs, "default").is_some()
}

/// Returns the plural of a kind of value.
fn plural(word: &str) -> String {
    match word {
        "text" | "path" | "number" => format!("{word}s"),
        "name of a scenario" => "names of scenarios".to_owned(),
        "version of the CLI" => "versions of the CLI".to_owned(),
        "any value" => "values".to_owned(),
        "table" => "tables".to_owned(),
        "issue, such as `openclaw#80046`" => "issues".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the pages with their names.
pub(super) fn pages() -> Vec<(String, String)> {
    let types = Types::load();
    let mut missing = BTreeSet::new();
    let pages = FILES.iter().map(|(file, title, name, about)| {
        let mut page = Page {
            types: &types,
            text: format!("# {title}\n\n{about}\n"),
            sections: BTreeMap::from([((*name).to_owned(), (*title).to_owned())]),
            open: Vec::new(),
            missing: BTreeSet::new(),
        };
        page.section("", name);
        while !page.open.is_empty() {
            let (heading, path, name) = page.open.remove(0);
            let about = doc(types.0[&name].attrs());
            if about.is_empty() {
                page.missing.insert(name.clone());
            }
            write!(page.text, "\n## `{heading}`\n\n{}\n", escaped(&about))
                .expect("a string can be written");
            page.section(&path, &name);
        }
        missing.append(&mut page.missing);
        ((*file).to_owned(), page.text)
    });
    let pages: Vec<_> = pages.collect();
    assert!(missing.is_empty(), "these keys have no doc comment: {missing:#?}");
    pages
}
