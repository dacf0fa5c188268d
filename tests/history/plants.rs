//! `plants.toml`: the bugs, and the code that has all of them, each behind a switch.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, ItemFn, ItemImpl, ItemMod, Type};

use super::copy::is_on;

/// The table, below the root of the workspace.
pub(crate) const TABLE: &str = "tests/history/plants.toml";
/// The condition in an edit's text that is true while the bug is on.
const PLANTED: &str = "planted";

/// A bug, where it is looked for, and how the code gets it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plant {
    pub(crate) name: String,
    /// The row of the history that it is known by.
    pub(crate) row: String,
    /// The bug in a sentence.
    pub(crate) about: String,
    /// The scenarios that convict it best.
    #[serde(default)]
    pub(crate) scenarios: Vec<String>,
    /// The tests of the crates that convict it; only where no scenario does.
    #[serde(default)]
    pub(crate) tests: Vec<CrateTest>,
    /// What a rule would have to find, or why no scenario convicts it; empty where a rule convicts it.
    #[serde(default)]
    pub(crate) why: String,
    /// True if the bug is off while the rules for gateways under test are applied, because they use the code that it is
    /// in.
    #[serde(default)]
    pub(crate) is_off_for_rules: bool,
    edit: Vec<Edit>,
}

impl Plant {
    /// Returns the folder of the crate that the bug is in.
    pub(crate) fn folder(&self) -> &str {
        let file = self.edit.first().map_or("", |edit| edit.file.as_str());
        file.split_once("/src/").map_or("", |(folder, _)| folder)
    }
}

/// A test of a crate: the program that has it, which cargo names, and its path in that program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct CrateTest {
    pub(crate) program: String,
    pub(crate) name: String,
}

impl TryFrom<String> for CrateTest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts =
            text.split_once(' ').map(|(program, name)| (program.to_owned(), name.to_owned()));
        let (program, name) = parts.ok_or_else(|| {
            format!("`{text}` is no test: write the program and the test, as `clitape_rig limits::tests::x`")
        })?;
        Ok(Self { program, name })
    }
}

/// A change of the code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: String,
    /// The function that is changed, a method with its type before it.
    function: String,
    from: String,
    to: String,
}

/// A change at its place in a file.
struct Change<'a> {
    bytes: Range<usize>,
    text: String,
    plant: &'a Plant,
}

#[derive(Deserialize)]
struct Table {
    plant: Vec<Plant>,
}

/// Reads the bugs of the table. The number of a bug is its place, from 1.
pub(crate) fn plants(root: &Path) -> Result<Vec<Plant>> {
    let table: Table = toml::from_str(&fs::read_to_string(root.join(TABLE))?).context(TABLE)?;
    for plant in &table.plant {
        let has_one = plant.scenarios.is_empty() || plant.tests.is_empty();
        ensure!(has_one, "{} of {TABLE} names tests although scenarios convict it", plant.name);
    }
    Ok(table.plant)
}

/// Returns each file that has bugs, with the code that has them behind their switches.
///
/// # Errors
///
/// An error that names the bug, the file and the function of an edit that does not fit the code.
pub(crate) fn planted(root: &Path, plants: &[Plant]) -> Result<BTreeMap<String, String>> {
    let mut files: BTreeMap<&str, Vec<(usize, &Plant, &Edit)>> = BTreeMap::new();
    for (number, plant) in (1..).zip(plants) {
        for edit in &plant.edit {
            files.entry(&edit.file).or_default().push((number, plant, edit));
        }
    }
    let write = |(file, edits): (&str, Vec<(usize, &Plant, &Edit)>)| {
        let source = fs::read_to_string(root.join(file))
            .with_context(|| format!("{} of {TABLE}: {file}", edits[0].1.name))?;
        let functions = functions(&source).with_context(|| file.to_owned())?;
        let mut changes = Vec::new();
        for (number, plant, edit) in edits {
            let bytes = place(&source, &functions, edit).with_context(|| {
                format!("{} of {TABLE} does not fit {file}: {}", plant.name, edit.function)
            })?;
            let condition = format!("{}({number} /* {} */)", is_on(file), plant.name);
            changes.push(Change { bytes, text: with_condition(&edit.to, &condition), plant });
        }
        Ok((file.to_owned(), changed(&source, changes).with_context(|| file.to_owned())?))
    };
    files.into_iter().map(write).collect()
}

/// Returns the source with the changes, none of which touches the bytes of another one.
fn changed(source: &str, mut changes: Vec<Change<'_>>) -> Result<String> {
    changes.sort_by_key(|change| change.bytes.start);
    let (mut text, mut from, mut before) = (String::new(), 0, "");
    for Change { bytes, text: new, plant } in changes {
        ensure!(bytes.start >= from, "{before} and {} of {TABLE} change the same code", plant.name);
        text.push_str(&source[from..bytes.start]);
        text.push_str(&new);
        (from, before) = (bytes.end, &plant.name);
    }
    text.push_str(&source[from..]);
    Ok(text)
}

/// Returns the bytes that an edit replaces.
fn place(source: &str, functions: &[(String, Range<usize>)], edit: &Edit) -> Result<Range<usize>> {
    ensure!(words(&edit.to).any(|(_, word)| word == PLANTED), "`to` does not ask for `{PLANTED}`");
    ensure!(!edit.from.trim().is_empty(), "`from` is empty");
    let mine: Vec<_> = functions.iter().filter(|(name, _)| *name == edit.function).collect();
    ensure!(!mine.is_empty(), "there is no such function");
    let found: Vec<_> = mine
        .into_iter()
        .flat_map(|(_, bytes)| {
            let places = places(&source[bytes.clone()], &edit.from);
            places.into_iter().map(|place| bytes.start + place.start..bytes.start + place.end)
        })
        .collect();
    let times = found.len();
    let mut found = found.into_iter();
    found.next().filter(|_| times == 1).with_context(|| {
        format!("the function has this {times} times instead of once:\n{}", edit.from.trim())
    })
}

/// Returns where `text` has `part`. White space does not count, so that a line may be broken anywhere.
fn places(text: &str, part: &str) -> Vec<Range<usize>> {
    let is_solid = |c: &char| !c.is_whitespace();
    let text: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| is_solid(c)).collect();
    let part: Vec<char> = part.chars().filter(is_solid).collect();
    let is_part = |some: &&[(usize, char)]| some.iter().map(|(_, c)| c).eq(&part);
    let bytes = |some: &[(usize, char)]| {
        let ((first, _), (last, c)) = (some.first()?, some.last()?);
        Some(*first..last + c.len_utf8())
    };
    text.windows(part.len()).filter(is_part).filter_map(bytes).collect()
}

/// Returns the text with the condition in the place of each [`PLANTED`].
fn with_condition(text: &str, condition: &str) -> String {
    let (mut all, mut from) = (String::new(), 0);
    for (at, _) in words(text).filter(|(_, word)| *word == PLANTED) {
        all.push_str(&text[from..at]);
        all.push_str(condition);
        from = at + PLANTED.len();
    }
    all + &text[from..]
}

/// Returns the words of a text, each with its place.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    text.split_inclusive(move |c| !is_of_word(c)).map(move |part| {
        let start = at;
        at += part.len();
        (start, part.trim_end_matches(move |c| !is_of_word(c)))
    })
}

/// Returns the functions of a file with their bytes; those of modules in it, such as its tests, are left out.
fn functions(source: &str) -> Result<Vec<(String, Range<usize>)>> {
    let mut functions = Functions::default();
    functions.visit_file(&syn::parse_file(source)?);
    Ok(functions.found)
}

/// Visits the functions of a file.
#[derive(Default)]
struct Functions {
    /// The type whose methods are visited.
    of: Option<String>,
    found: Vec<(String, Range<usize>)>,
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_impl(&mut self, node: &'ast ItemImpl) {
        self.of = match &*node.self_ty {
            Type::Path(of) => of.path.segments.last().map(|name| name.ident.to_string()),
            _ => None,
        };
        visit::visit_item_impl(self, node);
        self.of = None;
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        let name = match &self.of {
            Some(of) => format!("{of}::{}", node.sig.ident),
            None => node.sig.ident.to_string(),
        };
        self.found.push((name, node.span().byte_range()));
    }

    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        self.found.push((node.sig.ident.to_string(), node.span().byte_range()));
    }
}
