//! The page of a comparison: one file without network and without a script, in which anything
//! recorded is text.

use std::fmt::Write as _;

use super::{counted, failures, section};
use crate::compare::{About, Comparison};
use crate::report::page::escape::html;
use crate::report::page::{PageFrame, badge};
use crate::text::plural;

/// The proof page's style, and what is this page's own.
const STYLE: &str = concat!(include_str!("../page/page.css"), include_str!("compare.css"));

/// Bytes of sections from which on lanes are told in a sentence only.
const LIMIT: usize = 2_000_000;

/// Writes the page.
pub fn compare_page(comparison: &Comparison) -> String {
    let verdict = comparison.verdict();
    let mut out = format!(
        "<header><h1>Before and after {}</h1>\n\
         <p>Both sides got the same recordings. A is taken as what should be, B as what is; only what \
         differs is shown.</p>\n",
        badge(comparison.holds(), &verdict),
    );
    out.push_str("<div class=\"sides\">\n");
    about(&mut out, "A", &comparison.a);
    about(&mut out, "B", &comparison.b);
    out.push_str("</div>\n<ul class=\"counts\">\n");
    for (what, count) in counted(&comparison.counts()) {
        let class = what.strip_prefix("differ: ").unwrap_or_default();
        let _ = writeln!(out, "<li class=\"{class}\"><b>{count}</b> {what}</li>");
    }
    out.push_str("</ul></header>\n<main>\n");
    for (number, group) in comparison.scenarios().iter().enumerate() {
        let brief = out.len() > LIMIT;
        section::section(&mut out, number, group, brief);
    }
    equal(&mut out, comparison);
    failed(&mut out, comparison);
    out.push_str("<section class=\"uncovered\"><h2>Not covered</h2>\n<ul>\n");
    for sentence in &comparison.uncovered {
        let _ = writeln!(out, "<li>{}</li>", html(sentence));
    }
    out.push_str("</ul></section>\n</main>\n");
    let title = format!("Before and after: {verdict}");
    PageFrame { title: &title, style: STYLE, body: &out, script: None }.page()
}

fn about(out: &mut String, letter: &str, about: &About) {
    let class = letter.to_lowercase();
    let _ = write!(
        out,
        "<div class=\"about\"><h2><span class=\"tag {class}\">{letter}</span> {}</h2>\n<dl>",
        html(&about.name)
    );
    for (name, value) in &about.facts {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", html(name), html(value));
    }
    out.push_str("</dl></div>\n");
}

fn equal(out: &mut String, comparison: &Comparison) {
    let equal: Vec<String> = comparison
        .compared
        .iter()
        .filter(|one| one.lanes.is_empty())
        .map(|one| html(&format!("{} {}", one.scenario, one.version())))
        .collect();
    if !equal.is_empty() {
        let _ = writeln!(
            out,
            "<section><h2>Equal</h2>\n<details><summary>{}, in every lane that was \
             compared</summary>\n<p class=\"note\">{}</p></details></section>",
            plural(equal.len(), "cassette"),
            equal.join(", ")
        );
    }
}

fn failed(out: &mut String, comparison: &Comparison) {
    let failures = failures(comparison);
    if !failures.is_empty() {
        out.push_str("<section class=\"failed\"><h2>Could not be compared</h2>\n<ul>\n");
        for line in failures {
            let _ = writeln!(out, "<li>{}</li>", html(&line));
        }
        out.push_str("</ul></section>\n");
    }
}
