//! Reads the imports of a crate from its syntax: the modules that each module uses, and the paths of the standard
//! library and the macros that it names. Tests within a file are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{
    Attribute, FnArg, Item, ItemMod, ItemUse, Macro, Pat, Signature, Type, UseTree, VisRestricted,
};

use super::common::files;

/// The names that a file uses and defines.
#[derive(Debug, Default)]
pub(crate) struct FileImports {
    /// The path of the file, relative to the crate's folder.
    pub(crate) place: PathBuf,
    /// The path of its module in the crate: `["check", "judge"]`.
    pub(crate) module: Vec<String>,
    /// Every path that begins with `crate`, `self` or `super`, or that a `use` imports, made absolute, such as `["std",
    /// "env", "var"]`.
    pub(crate) paths: BTreeSet<Vec<String>>,
    /// The macros that it calls.
    pub(crate) macros: BTreeSet<String>,
    /// The functions with a parameter that is a tuple and has no name.
    pub(crate) tuple_parameters: BTreeSet<String>,
    /// The types and traits that it defines.
    pub(crate) types: BTreeSet<String>,
    /// The imports of its `use` items: the absolute path by the name.
    names: BTreeMap<String, Vec<String>>,
    /// The modules that it declares.
    modules: BTreeSet<String>,
}

/// Reads the imports of each file in `src`, the root of a crate's modules, without tests.
pub(crate) fn imports(src: &Path) -> Vec<FileImports> {
    let is_test = |path: &Path| {
        path.components().any(|part| part.as_os_str() == "tests")
            || path.file_stem().is_some_and(|stem| {
                let stem = stem.to_string_lossy();
                stem == "tests" || stem.ends_with("_tests") || stem == "properties"
            })
    };
    let mut all = Vec::new();
    for path in files(src, ".rs") {
        let place = path.strip_prefix(src).expect("it is in the folder").to_owned();
        if is_test(&place) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file is text");
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{place:?}: {error}"));
        let mut imports = FileImports { module: module(&place), place, ..FileImports::default() };
        // Visited twice, because an import may come after its use.
        for _ in 0..2 {
            imports.visit_file(&file);
        }
        all.push(imports);
    }
    all
}

/// Returns the index in `all` of the file that defines the target of `path`. A module that only re-exports a name leads
/// on to the name's origin.
pub(crate) fn definer(all: &[FileImports], path: &[String]) -> Option<usize> {
    let mut path = path.to_vec();
    // A bound that is larger than any chain of re-exports.
    for _ in 0..8 {
        let (file, rest) = (1..=path.len()).rev().find_map(|end| {
            let file = all.iter().position(|file| file.module == path[1..end])?;
            Some((file, path[end..].to_vec()))
        })?;
        match rest.first().and_then(|name| all[file].names.get(name)) {
            Some(from) if from[..1] == ["crate"] => path = [from, &rest[1..]].concat(),
            _ => return Some(file),
        }
    }
    None
}

/// Returns the module of a file: `check/judge.rs` and `check/judge/mod.rs` are `check::judge`.
fn module(place: &Path) -> Vec<String> {
    let parts = place.with_extension("");
    let mut parts: Vec<String> =
        parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

impl FileImports {
    /// Adds a path as it is written.
    fn add(&mut self, written: &[String]) {
        let path = self.absolute(written);
        self.paths.insert(path);
    }

    /// Makes a written path absolute.
    fn absolute(&self, written: &[String]) -> Vec<String> {
        let Some(first) = written.first() else { return Vec::new() };
        let mut base = self.module.clone();
        let (mut path, rest): (Vec<String>, &[String]) = match first.as_str() {
            "crate" => (vec!["crate".into()], &written[1..]),
            "self" | "super" => {
                let supers = written.iter().take_while(|part| *part == "super").count();
                base.truncate(base.len().saturating_sub(supers));
                let skip = supers.max(1);
                ([vec!["crate".into()], base].concat(), &written[skip..])
            }
            // An imported name means its whole path.
            name => match self.names.get(name) {
                Some(path) => (path.clone(), &written[1..]),
                None if self.modules.contains(name) => {
                    ([vec!["crate".into()], base].concat(), written)
                }
                None => (Vec::new(), written),
            },
        };
        path.extend(rest.iter().cloned());
        path
    }

    /// Adds an imported name with its path.
    fn bring_in(&mut self, name: String, written: &[String]) {
        // Removed first, because `use json::json` would otherwise resolve to itself.
        self.names.remove(&name);
        let path = self.absolute(written);
        self.names.insert(name, path.clone());
        self.paths.insert(path);
    }

    /// Adds the imports in a tree of a `use`.
    fn tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &dyn std::fmt::Display| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
            UseTree::Glob(_) => self.add(before),
            UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().expect("`self` comes after a path");
                self.bring_in(last, before);
            }
            UseTree::Name(name) => {
                self.bring_in(name.ident.to_string(), &with(&name.ident));
            }
            UseTree::Rename(rename) => {
                self.bring_in(rename.rename.to_string(), &with(&rename.ident));
            }
        }
    }
}

/// Returns whether an item exists in tests only.
fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().ok().map(|list| list.tokens.to_string());
        attribute.path().is_ident("cfg")
            && condition.is_some_and(|it| it == "test" || it.starts_with("all (test ,"))
    })
}

impl<'ast> Visit<'ast> for FileImports {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        let is_tuple = |argument: &FnArg| match argument {
            FnArg::Typed(typed) => {
                let ty = match &*typed.ty {
                    Type::Reference(reference) => &*reference.elem,
                    ty => ty,
                };
                matches!(*typed.pat, Pat::Tuple(_)) && matches!(ty, Type::Tuple(_))
            }
            FnArg::Receiver(_) => false,
        };
        if signature.inputs.iter().any(is_tuple) {
            self.tuple_parameters.insert(signature.ident.to_string());
        }
        visit::visit_signature(self, signature);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_of_tests(attributes) {
            let defined = match item {
                Item::Struct(item) => Some(&item.ident),
                Item::Enum(item) => Some(&item.ident),
                Item::Type(item) => Some(&item.ident),
                Item::Trait(item) => Some(&item.ident),
                _ => None,
            };
            self.types.extend(defined.map(ToString::to_string));
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_none() {
            self.modules.insert(item.ident.to_string());
            return;
        }
        // A module within the file has a separate set of names.
        let names = self.names.clone();
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
        self.names = names;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(&item.tree, &[]);
    }

    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {
        // `pub(super)` is not a use.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let written: Vec<String> =
            path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.add(&written);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(name) = call.path.segments.last() {
            self.macros.insert(name.ident.to_string());
        }
        visit::visit_macro(self, call);
    }
}
