//! Writes mutants into a source file, each behind a switch, so that one build has all of them.
//!
//! Every change is an insertion: `a < b` becomes `(if is_on(7) { (a) <= (b) } else { (a < b) })`, a function's body
//! starts with `if is_on(8) { return 0; }`, and an arm's pattern gets the condition `!is_on(9)`. An operand that stands in
//! such a branch is the one of the sound code, as one mutant is on at a time.

use std::ops::Range;

use anyhow::{Context as _, Result};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{
    Arm, BinOp, Expr, ExprBinary, ExprMatch, ExprUnary, ItemConst, ItemFn, ItemStatic, Pat,
    PatGuard,
};
use syn::{ImplItemConst, ImplItemFn, Signature, UnOp};

use super::listed::{Genre, Mutant};

/// A mutant with its number, and the bytes of the file that it replaces.
type Numbered<'a> = (usize, &'a Mutant, Range<usize>);

/// A file with switches.
#[derive(Debug)]
pub(crate) struct Switched {
    pub(crate) text: String,
    /// The bytes of `text` that belong to a mutant, and its number.
    inserted: Vec<(Range<usize>, usize)>,
    /// The numbers of those that no switch can turn on: those of a `const`, of a pattern's last arm, of a chain
    /// of `let`, and of a function that returns an `impl`.
    pub(crate) left_out: Vec<usize>,
}

impl Switched {
    /// The numbers of the mutants that a compiler's error at `bytes` is about: those whose own text it names, or
    /// else the innermost one around it.
    pub(crate) fn at(&self, bytes: &Range<usize>) -> Vec<usize> {
        let overlaps =
            |of: &&(Range<usize>, usize)| of.0.start < bytes.end && bytes.start < of.0.end;
        let mut found: Vec<_> = self.inserted.iter().filter(overlaps).collect();
        found.sort_by_key(|(of, _)| of.len());
        found.first().map(|(_, number)| *number).into_iter().collect()
    }
}

/// A text to insert. At one place what closes comes before what opens; of two that open, the outer one comes first.
#[derive(Debug)]
struct Insertion {
    at: usize,
    opens: bool,
    /// The length of what it encloses.
    around: usize,
    /// The parts, each with the number of the mutant whose text it is.
    parts: Vec<(String, Option<usize>)>,
}

/// Writes the mutants of one file into it. `on` is the path of the function that tells whether one is on.
pub(crate) fn switched(source: &str, mutants: &[(usize, &Mutant)], on: &str) -> Result<Switched> {
    let file = syn::parse_file(source)?;
    let numbered =
        mutants.iter().map(|(number, mutant)| Ok((*number, *mutant, mutant.bytes(source)?)));
    let numbered: Vec<Numbered<'_>> = numbered.collect::<Result<_>>()?;
    let mut writer = Writer {
        source,
        on,
        mutants: &numbered,
        constants: 0,
        insertions: Vec::new(),
        done: Vec::new(),
    };
    writer.visit_file(&file);
    let Writer { mut insertions, done, .. } = writer;
    let left_out =
        numbered.iter().map(|(number, ..)| *number).filter(|number| !done.contains(number));
    let left_out = left_out.collect();
    insertions.sort_by_key(|one| {
        let around = if one.opens { usize::MAX - one.around } else { one.around };
        (one.at, one.opens, around)
    });
    let (mut text, mut inserted, mut from) = (String::new(), Vec::new(), 0);
    for insertion in insertions {
        text.push_str(source.get(from..insertion.at).context("a place is between two characters")?);
        from = insertion.at;
        for (part, number) in insertion.parts {
            let start = text.len();
            text.push_str(&part);
            inserted.extend(number.map(|number| (start..text.len(), number)));
        }
    }
    text.push_str(&source[from..]);
    Ok(Switched { text, inserted, left_out })
}

/// Visits the code, and notes what to insert.
struct Writer<'a> {
    source: &'a str,
    on: &'a str,
    mutants: &'a [Numbered<'a>],
    /// How many constants the code is inside of, where no switch can be asked.
    constants: usize,
    insertions: Vec<Insertion>,
    /// The numbers of the mutants that have their switch.
    done: Vec<usize>,
}

impl<'a> Writer<'a> {
    /// The mutants of a genre that replace these bytes.
    fn of(&self, genre: Genre, bytes: &Range<usize>) -> Vec<(usize, &'a str)> {
        if self.constants > 0 {
            return Vec::new();
        }
        let mine = self.mutants.iter().filter(|(_, one, at)| one.genre == genre && at == bytes);
        mine.map(|(number, one, _)| (*number, one.replacement.as_str())).collect()
    }

    fn text(&self, node: &Expr) -> &'a str {
        &self.source[node.span().byte_range()]
    }

    /// Visits code that is inside of a constant, or not.
    fn within(&mut self, is_constant: bool, visit: impl FnOnce(&mut Self)) {
        self.constants += usize::from(is_constant);
        visit(self);
        self.constants -= usize::from(is_constant);
    }

    fn switch(&self, number: usize) -> String {
        format!("{}({number})", self.on)
    }

    /// Makes `bytes` a choice between what each mutant puts there and the sound code.
    fn choice(&mut self, bytes: &Range<usize>, choices: Vec<(usize, String)>) {
        if choices.is_empty() {
            return;
        }
        let mut parts = vec![("(".to_owned(), None)];
        for (number, code) in choices {
            let switch = self.switch(number);
            parts.push((format!("if {switch} {{ {code} }} else "), Some(number)));
            self.done.push(number);
        }
        parts.push(("{ (".to_owned(), None));
        let around = bytes.len();
        self.insertions.push(Insertion { at: bytes.start, opens: true, around, parts });
        let parts = vec![(") })".to_owned(), None)];
        self.insertions.push(Insertion { at: bytes.end, opens: false, around, parts });
    }

    fn function(&mut self, signature: &Signature, block: &syn::Block) {
        // Of an opaque type, the first `return` decides, so that the sound one would not fit.
        let returned = &self.source[signature.output.span().byte_range()];
        if signature.constness.is_some() || returned.contains("impl ") {
            return;
        }
        let [Some(first), Some(last)] = [block.stmts.first(), block.stmts.last()] else { return };
        let bytes = first.span().byte_range().start..last.span().byte_range().end;
        let code = |(number, value): (usize, &str)| {
            let switch = self.switch(number);
            (number, format!("if {switch} {{ return {value}; }} "))
        };
        for (number, code) in
            self.of(Genre::FnValue, &bytes).into_iter().map(code).collect::<Vec<_>>()
        {
            let parts = vec![(code, Some(number))];
            self.insertions.push(Insertion {
                at: bytes.start,
                opens: true,
                around: usize::MAX,
                parts,
            });
            self.done.push(number);
        }
    }

    fn binary(&mut self, node: &ExprBinary) {
        if has_let(&node.left) || has_let(&node.right) {
            return;
        }
        let [left, right] = [self.text(&node.left), self.text(&node.right)];
        let is_assignment = is_assignment(&node.op);
        let code = |(number, operator): (usize, &str)| {
            // What is assigned to stays a place.
            let left = if is_assignment { left.to_owned() } else { format!("({left})") };
            (number, format!("{left} {operator} ({right})"))
        };
        let choices = self.of(Genre::BinaryOperator, &node.op.span().byte_range());
        self.choice(&node.span().byte_range(), choices.into_iter().map(code).collect());
    }

    fn arm(&mut self, arm: &Arm, is_last: bool) {
        let gone = self.of(Genre::MatchArm, &arm.span().byte_range());
        let gone = gone.first().filter(|_| !is_last).map(|(number, _)| *number);
        self.done.extend(gone);
        let is_there = gone.map(|number| (format!("!{}", self.switch(number)), number));
        let Pat::Guard(PatGuard { guard, .. }) = &arm.pat else {
            if let Some((is_there, number)) = is_there {
                let at = arm.pat.span().byte_range().end;
                let parts = vec![(format!(" if {is_there}"), Some(number))];
                self.insertions.push(Insertion { at, opens: true, around: 0, parts });
            }
            return;
        };
        if has_let(guard) {
            self.done.retain(|number| Some(*number) != gone);
            return;
        }
        let bytes = guard.span().byte_range();
        let mut parts = Vec::new();
        if let Some((is_there, number)) = is_there {
            parts.push((format!("{is_there} && "), Some(number)));
        }
        for (number, value) in self.of(Genre::MatchArmGuard, &bytes) {
            let switch = self.switch(number);
            let part =
                if value == "true" { format!("({switch}) || ") } else { format!("!{switch} && ") };
            parts.push((part, Some(number)));
            self.done.push(number);
        }
        if parts.is_empty() {
            return;
        }
        // `true` binds loosest, and comes first.
        parts.sort_by_key(|(part, _)| !part.ends_with("|| "));
        parts.insert(0, ("(".to_owned(), None));
        parts.push(("(".to_owned(), None));
        let around = bytes.len() + 1;
        self.insertions.push(Insertion { at: bytes.start, opens: true, around, parts });
        let parts = vec![("))".to_owned(), None)];
        self.insertions.push(Insertion { at: bytes.end, opens: false, around, parts });
    }
}

impl<'ast> Visit<'ast> for Writer<'_> {
    fn visit_item_const(&mut self, node: &'ast ItemConst) {
        self.within(true, |writer| visit::visit_item_const(writer, node));
    }

    fn visit_impl_item_const(&mut self, node: &'ast ImplItemConst) {
        self.within(true, |writer| visit::visit_impl_item_const(writer, node));
    }

    fn visit_item_static(&mut self, node: &'ast ItemStatic) {
        self.within(true, |writer| visit::visit_item_static(writer, node));
    }

    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        self.function(&node.sig, &node.block);
        let is_constant = node.sig.constness.is_some();
        self.within(is_constant, |writer| visit::visit_item_fn(writer, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        self.function(&node.sig, &node.block);
        let is_constant = node.sig.constness.is_some();
        self.within(is_constant, |writer| visit::visit_impl_item_fn(writer, node));
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.function(&node.sig, block);
        }
        visit::visit_trait_item_fn(self, node);
    }

    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        self.binary(node);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast ExprUnary) {
        if matches!(node.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let operand = self.text(&node.expr);
            let code = |(number, _)| (number, format!("({operand})"));
            let choices = self.of(Genre::UnaryOperator, &node.op.span().byte_range());
            self.choice(&node.span().byte_range(), choices.into_iter().map(code).collect());
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        // Without an arm that takes everything else, the code without one of its arms does not compile.
        let rest = node.arms.iter().rposition(|arm| takes_all(&arm.pat));
        for (at, arm) in node.arms.iter().enumerate() {
            self.arm(arm, rest.is_none_or(|rest| at >= rest));
        }
        visit::visit_expr_match(self, node);
    }
}

fn is_assignment(operator: &BinOp) -> bool {
    use BinOp::{AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign};
    use BinOp::{RemAssign, ShlAssign, ShrAssign, SubAssign};
    matches!(
        operator,
        AddAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
            | DivAssign(_)
            | MulAssign(_)
            | RemAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
            | SubAssign(_)
    )
}

/// Whether the expression is part of a chain of `let`, which parentheses would break.
fn has_let(node: &Expr) -> bool {
    match node {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary { op: BinOp::And(_), left, right, .. }) => {
            has_let(left) || has_let(right)
        }
        _ => false,
    }
}

/// Whether the pattern takes every value.
fn takes_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(one) => {
            let name = one.ident.to_string();
            one.subpat.is_none() && name.starts_with(|first: char| first.is_lowercase())
        }
        Pat::Tuple(of) => of.elems.iter().all(takes_all),
        Pat::Reference(of) => takes_all(&of.pat),
        _ => false,
    }
}
