//! Tests of the pages: `docs/SUMMARY.md` has each of them once, and every link within the repository leads to a file that
//! is there, and to a heading that it has.

#![allow(clippy::expect_used, reason = "a page that can't be read fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::common::{files, has_program, root};

/// The pages outside of `docs/` that the site has, or that its pages link to.
const OTHERS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
/// The folders with pages.
const FOLDERS: [&str; 2] = ["docs", "reports"];
/// The page that lists the pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The links of a page, and the anchors of its headings.
struct MarkdownPage {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

/// Returns the anchor of a heading, as GitHub and mdBook make it.
pub(super) fn anchor(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn read_page(text: &str) -> MarkdownPage {
    let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                // A second heading with the same text gets a number.
                let numbered = (1..).map(|n| format!("{anchor}-{n}"));
                let free = std::iter::once(anchor.clone()).chain(numbered);
                anchors.extend(free.into_iter().find(|it| !anchors.contains(it)));
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            _ => {}
        }
    }
    MarkdownPage { links, anchors }
}

/// Returns a path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Returns all pages by their paths from the root of the repository.
fn pages() -> BTreeMap<PathBuf, MarkdownPage> {
    let below = FOLDERS.iter().flat_map(|folder| files(&root().join(folder), ".md"));
    let all = below.chain(OTHERS.map(|page| root().join(page)));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a page is text");
        (path.strip_prefix(root()).expect("below the root").to_owned(), read_page(&text))
    };
    all.map(read).collect()
}

#[test]
fn the_summary_has_every_page_once() {
    let pages = pages();
    let links = &pages[Path::new(SUMMARY)].links;
    let listed: Vec<PathBuf> =
        links.iter().map(|link| plain(&Path::new("docs").join(link))).collect();
    let set: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(set.len(), listed.len(), "{SUMMARY} has a page twice");
    let lacks: Vec<_> =
        pages.keys().filter(|page| **page != *SUMMARY && !set.contains(page)).collect();
    assert!(lacks.is_empty(), "{SUMMARY} lacks {lacks:?}");
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let pages = pages();
    let mut broken = Vec::new();
    let mut seen = 0;
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains("://")) {
            seen += 1;
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let folder = path.parent().expect("a page is in a folder");
            let to = if file.is_empty() { path.clone() } else { plain(&folder.join(file)) };
            let is_there = root().join(&to).exists();
            let has_anchor = fragment.is_empty()
                || pages.get(&to).is_some_and(|page| page.anchors.contains(fragment));
            if !is_there || !has_anchor {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(seen > 300, "only {seen} links were read");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn headings_get_the_anchors_that_links_name() {
    let page = read_page("# A `b` c\n\n## It's 2.1, now\n\n## A b c\n\n[x](y.md#z) and `[a](b)`\n");
    let anchors: Vec<&str> = page.anchors.iter().map(String::as_str).collect();
    assert_eq!(anchors, ["a-b-c", "a-b-c-1", "its-21-now"]);
    assert_eq!(page.links, ["y.md#z"]);
}

#[test]
fn the_book_has_every_page_and_no_link_that_leads_out_of_it() {
    if !has_program("node") {
        return;
    }
    let stage = tempfile::tempdir().expect("a folder");
    let proof = tempfile::tempdir().expect("a folder");
    for file in ["index.html", "proof.md"] {
        fs::write(proof.path().join(file), "<p>a proof</p>").expect("it can be written");
    }
    let mut command = Command::new("node");
    command.arg(root().join("packaging/site/stage.mjs")).arg(stage.path()).arg(proof.path());
    assert!(command.status().expect("node runs").success());

    let source = stage.path().join("src");
    let summary = fs::read_to_string(source.join("SUMMARY.md")).expect("it is laid out");
    let listed: Vec<String> = read_page(&summary).links;
    assert!(listed.iter().any(|page| page == "samples/index.md"), "{listed:?}");
    assert_eq!(
        listed.len(),
        read_page(&fs::read_to_string(root().join(SUMMARY)).expect("text")).links.len() + 1
    );
    let mut links = 0;
    for page in &listed {
        let text = fs::read_to_string(source.join(page)).expect("every page is laid out");
        let folder = Path::new(page).parent().expect("a page is in a folder");
        for link in read_page(&text).links {
            let file = link.split('#').next().unwrap_or_default();
            if !link.contains("://") && !file.is_empty() {
                links += 1;
                let to = plain(&folder.join(file));
                assert!(source.join(&to).is_file(), "{page}: {link} leads out of the book");
            }
        }
    }
    assert!(links > 200, "only {links} links were read");
    // What is no page of the book is text: a folder of programs, say.
    let readme = fs::read_to_string(source.join("index.md")).expect("it is the first page");
    assert!(readme.contains("\nsubjects/examples has gateways to begin with"), "{readme}");
    assert!(readme.contains("[Your own gateway under test](docs/subjects.md) has every setting"));
}

#[test]
fn a_broken_link_of_the_built_site_is_an_error() {
    if !has_program("node") {
        return;
    }
    let site = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(site.path().join(name), text).expect("written");
    let check = || {
        let mut command = Command::new("node");
        let output = command.arg(root().join("packaging/site/links.mjs")).arg(site.path()).output();
        let output = output.expect("node runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("it prints UTF-8"))
    };
    assert_eq!(check().0, Some(1), "an empty folder is no site");
    write("a.html", r##"<a href="b.html#x&amp;y">b</a> <a href="#t">t</a> <h1 id="t">T</h1>"##);
    write("b.html", r#"<p id="x&amp;y"><img src="p.png"><a href="https://example.org/">x</a>"#);
    write("p.png", "");
    assert_eq!(check(), (Some(0), "2 pages, 3 links, 0 broken\n".to_owned()));
    write("c.html", r##"<a href="d.html">d</a> <a href="b.html#z">z</a> <a href="#t">t</a>"##);
    let (code, text) = check();
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "c.html: d.html leads to no file",
        "c.html: b.html#z leads to no id",
        "c.html: #t leads to no id",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}
