use std::io::Write;
use std::path::Path;

use clitape_judge::{Change, ChatDiff, Class, ContextMoment, Finding, FindingKind, align_texts};
use clitape_recording::cassette::CassetteError;
use clitape_recording::text::width;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::*;
use crate::check::Check;

/// A text that tries to mislead a reader of the report or its terminal.
const HOSTILE: &str = concat!(
    "\u{1b}[31mred\u{1b}]0;title\u{7} <script>alert(1)</script> ]]> --> &amp; %0A 50% ```\n",
    "::error file=x::pwned\r\n##[error]pwned\n  ...\nok 1 # SKIP \"quoted\" 'one' \\ : , \u{202e}",
);

/// The words of every writer for the class of the difference.
const CHANGE: &str = "change of contract";

/// Returns text without its ANSI sequences.
pub(super) fn strip(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut escape = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => escape = true,
            'm' if escape => escape = false,
            c if !escape => plain.push(c),
            _ => {}
        }
    }
    plain
}

fn finding(kind: FindingKind) -> Finding {
    let text = |end: &str| format!("{HOSTILE}\n{end}\n");
    let sentence = format!("entry 1: {HOSTILE}");
    let command = format!("clitape replay {HOSTILE}");
    let change = Change { class: Class::Contract, consequences: Vec::new() };
    let moment = ContextMoment { at: 7, input: vec![HOSTILE.into()], output: vec![HOSTILE.into()] };
    Finding::new(kind, HOSTILE, sentence, command)
        .with_difference(Some(change), align_texts(&text("a"), &text("b")))
        .with_context(vec![moment])
}

fn check(name: &str, kinds: &[FindingKind]) -> CheckRun {
    let findings = kinds.iter().map(|kind| finding(*kind)).collect();
    CheckRun { cassettes: 1, plans: 64, replayed: 17, ..CheckRun::of(name, findings) }
}

fn run(name: &str, checks: Vec<CheckRun>) -> ScenarioRun {
    ScenarioRun { name: name.to_owned(), pending: 0, checks }
}

/// Returns a report with one scenario that passes, one with findings, and one whose cassette is damaged.
fn report() -> Report {
    let damaged = CassetteError::Damaged { path: "x".into(), what: HOSTILE.to_owned() };
    let scenarios = vec![
        run("good", vec![check("1.0::bus", &[])]),
        run("bad", vec![check("1.0::bus", &[FindingKind::GoldenDiffers, FindingKind::TooFast])]),
        run("torn", vec![CheckRun::new(&Check::Complete, Err(damaged))]),
    ];
    Report::new("0.1.0", scenarios, vec![CheckRun::of("none_orphaned", Vec::new())])
}

type Writer = fn(&Report, &mut dyn Write) -> std::io::Result<()>;

fn written(writer: Writer) -> String {
    written_of(&report(), writer)
}

fn written_of(report: &Report, writer: Writer) -> String {
    let mut out = Vec::new();
    writer(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn whole_terminal(report: &Report, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    terminal(report, Detail::Chat, &mut Screen::new(out, None))
}

fn whole_markdown(report: &Report, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    markdown(report, Detail::Chat, out)
}

/// Checks the id, place, sentence and reproduction of each finding that a reader of the format has found.
fn check_findings(found: &[[String; 4]]) {
    let expect: Vec<[String; 4]> = report()
        .findings()
        .cloned()
        .map(|told| [told.id.to_string(), told.place, told.sentence, told.reproduce.to_string()])
        .collect();
    assert_eq!(expect.len(), 2);
    assert_eq!(found, expect);
}

#[test]
fn the_terminal_obeys_nothing_that_was_recorded() {
    let text = written(whole_terminal);
    assert!(!text.contains("\u{1b}]0"), "{text}");
    let alone = text.lines().find(|line| strip(line.as_bytes()).trim_start().starts_with("::"));
    assert_eq!(alone, None, "a line that a CI service would obey");
}

/// The reports for people are compared with snapshots; `cargo insta review` shows and accepts a change.
#[test]
fn reports_for_people_are_snapshots() {
    let renderings: [(&str, Writer); 3] =
        [("terminal", whole_terminal), ("markdown", whole_markdown), ("tap", tap)];
    for (name, writer) in renderings {
        insta::assert_snapshot!(name, strip(written(writer).as_bytes()));
    }
}

#[test]
fn json_is_read_back_as_it_was() {
    assert_eq!(read("r.json", written(json).as_bytes()).unwrap(), report());
}

#[test]
fn junit_is_read_back_with_the_same_sentences() {
    let xml = quick_junit::Report::deserialize_from_str(&written(junit)).unwrap();
    let names: Vec<&str> = xml.test_suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(names, ["good", "bad", "torn", "cassettes"]);
    assert_eq!((xml.tests, xml.failures, xml.errors), (4, 1, 1));
    let quick_junit::TestCaseStatus::NonSuccess { message, description, ty, .. } =
        &xml.test_suites[1].test_cases[0].status
    else {
        panic!("a check with findings is a failure")
    };
    let described = description.as_ref().unwrap().as_str();
    let mut found = Vec::new();
    for told in described.split("\n\n") {
        let lines: Vec<&str> = told.lines().collect();
        let (id, place) = lines[0].split_at(lines[0].match_indices(' ').nth(1).unwrap().0);
        let reproduce = lines.last().unwrap().strip_prefix("reproduce: ").unwrap();
        assert_eq!(lines[2], CHANGE);
        assert!(lines.contains(&"- a") && lines.contains(&"+ b"), "{told}");
        found.push([id, &place[1..], lines[1], reproduce].map(str::to_owned));
    }
    check_findings(&found);
    assert_eq!(message.as_ref().unwrap().as_str(), found[0][2]);
    assert_eq!(ty.as_ref().unwrap().as_str(), found[0][0]);
}

#[test]
fn a_check_that_was_left_out_is_no_pass() {
    let left_out = CheckRun::left_out("1.0::acp", "there is no editor");
    let report = Report::new("0.1.0", vec![run("good", vec![left_out])], Vec::new());
    for (writer, expect) in [
        (junit as Writer, "<skipped message=\"there is no editor\"/>"),
        (tap, "ok 1 - good::1.0::acp # SKIP there is no editor"),
    ] {
        let text = written_of(&report, writer);
        assert!(text.contains(expect), "{text}");
    }
}

#[test]
fn github_reads_one_annotation_a_finding() {
    let text = written(|report, out| github(report, Path::new("chat"), out));
    let unescape = |text: &str| {
        text.replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
    };
    let mut found = Vec::new();
    for line in text.lines() {
        let (head, data) = line.strip_prefix("::error ").unwrap().split_once("::").unwrap();
        if head == "title=clitape" {
            continue;
        }
        let id = head.strip_prefix("file=chat/scenarios/bad/scenario.toml,title=").unwrap();
        let lines: Vec<String> = data.split("%0A").map(unescape).collect();
        let [place, sentence, change, reproduce] = lines.try_into().unwrap();
        assert_eq!(change, CHANGE);
        let reproduce = reproduce.strip_prefix("reproduce: ").unwrap().to_owned();
        found.push([unescape(id), place, sentence, reproduce]);
    }
    check_findings(&found);
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn markdown_keeps_what_was_recorded_in_code_blocks() {
    let text = written(whole_markdown);
    let (mut heading, mut blocks, mut title) = (false, Vec::new(), String::new());
    for event in Parser::new(&text) {
        match event {
            Event::Start(Tag::Heading { .. }) => (heading, title) = (true, String::new()),
            Event::End(TagEnd::Heading(_)) => heading = false,
            Event::Start(Tag::CodeBlock(_)) => blocks.push((title.clone(), String::new())),
            Event::Text(part) if heading => title.push_str(&part),
            Event::Text(part) => {
                if let Some((_, block)) = blocks.last_mut() {
                    block.push_str(&part);
                }
            }
            Event::Html(_) | Event::InlineHtml(_) => panic!("markup in {text}"),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for blocks in blocks[1..].chunks(4) {
        let [(id, told), _, _, (_, command)] = blocks else { panic!("{blocks:?}") };
        let [place, sentence, CHANGE] = told.lines().collect::<Vec<_>>()[..] else {
            panic!("{told}")
        };
        found.push([id.as_str(), place, sentence, command.trim_end()].map(str::to_owned));
    }
    check_findings(&found);
}

#[test]
fn a_page_tells_the_findings_and_has_no_markup_of_them() {
    let pages = Pages::from([("bad".into(), vec![("1.0".into(), "bad-1.0.html".into())])]);
    let mut out = Vec::new();
    html(&report(), None, &pages, &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    for told in report().findings() {
        let Finding { id, place, sentence, reproduce, .. } = told;
        let escaped = |text: &str| super::page::document(maud::html! { (text) });
        let (id, place, sentence) = (escaped(&id.to_string()), escaped(place), escaped(sentence));
        let head = format!("<p class=\"finding\"><b>{id}</b> {place}: {sentence}</p>");
        assert!(page.contains(&head), "{head} in\n{page}");
        assert!(page.contains(&format!("<pre>{}</pre>", escaped(reproduce.as_str()))), "{page}");
    }
    assert_eq!(page.matches("<tr><td>0.007</td>").count(), 2, "what came in beside what was seen");
    assert_eq!(page.matches("<a href=\"bad-1.0.html\">").count(), 3, "a link a finding, one a row");
    assert!(page.contains("2 findings, 1 error"), "{page}");
    for markup in ["<script", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(markup), "{page}");
    }
    assert_eq!(page.matches("<title>").count(), 1);
}

#[test]
fn a_merged_report_is_the_sum_and_owes_nothing_to_the_order() {
    let part =
        |name: &str| Report::new("0.1.0", vec![run(name, vec![check("1.0::bus", &[])])], vec![]);
    let parts = |names: [&str; 2]| names.map(|name| (format!("{name}.json"), part(name))).to_vec();
    let joined = merge(parts(["a", "b"])).unwrap();
    assert_eq!(joined.totals.scenarios, 2);
    assert_eq!(joined, merge(parts(["b", "a"])).unwrap());
}

#[test]
fn what_can_t_be_merged_is_told() {
    let part = |version: &str, name: &str| {
        Report::new(version, vec![run(name, vec![check("1.0::bus", &[])])], vec![])
    };
    let empty = Report::new("0.1.0", vec![], vec![]);
    for (other, sentence) in [
        (empty, "b.json is empty"),
        (part("0.1.0", "x"), "b.json has the check x::1.0::bus, as a.json has"),
        (part("0.2.0", "y"), "b.json was judged by clitape 0.2.0"),
    ] {
        let parts = vec![("a.json".to_owned(), part("0.1.0", "x")), ("b.json".to_owned(), other)];
        let error = merge(parts).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
}

#[test]
fn what_is_no_report_is_told() {
    let text = written(json);
    for (text, sentence) in [
        ("{}".to_owned(), "r.json is no report of a test run (missing field `format`"),
        (text.replacen("\"format\": 1", "\"format\": 2", 1), "r.json has format 2"),
        (
            text.replacen("\"findings\": 2", "\"findings\": 0", 1),
            "r.json is no report of a test run (its totals",
        ),
        (
            text.replacen("\"house\"", "\"hause\"", 1),
            "r.json is no report of a test run (unknown field",
        ),
    ] {
        let error = read("r.json", text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
}

/// A report fits each of these terminals, and in the narrow ones the two chats stand one above the other.
#[test]
fn findings_fit_the_terminal() {
    let message = |what: &str| {
        let text = format!(
            "The server listens on port {what}, the client asks for port 8081, and the log names neither of them."
        );
        vec![vec!["📖 Read: server.conf".to_owned(), String::new(), text]]
    };
    let chat =
        ChatDiff { at: Some(1_234), above: 2, expected: message("8080"), got: message("80") };
    let long = "a value that both sides have, ".repeat(8);
    let text = |what: &str| format!("{long}{what}{long}\n");
    let of_chat = Finding::new(
        FindingKind::GoldenDiffers,
        "ports 2.1.329 telegram-partial",
        "turn 1, +1,234 ms: expected the port 8080 in the answer, got the port 80, which nothing in the recording says"
            .into(),
        "clitape replay ports/2.1.329 --channel telegram --mode partial --pace 200 --json --plan '{\"format\": 1}'".into(),
    )
    .with_fix("clitape test ports --update && clitape review ports/telegram-partial".into())
    .with_chat(Some(chat));
    let moment = ContextMoment { at: 7_000, input: vec![long.clone()], output: vec![long.clone()] };
    let of_lane = Finding::new(
        FindingKind::GoldenDiffers,
        "ports 2.1.329 bus",
        "it differs".into(),
        "clitape".into(),
    )
    .with_difference(None, align_texts(&text("8080"), &text("80")))
    .with_context(vec![moment]);
    let runs = [("ports", of_chat), ("lanes", of_lane)]
        .map(|(name, found)| run(name, vec![CheckRun::of("1.0::bus", vec![found])]));
    let report = Report::new("0.1.0", runs.into(), Vec::new());
    for columns in [60, 80, 100, 160] {
        let mut out = Vec::new();
        findings(&report, Detail::Chat, &mut Screen::new(&mut out, Some(columns))).unwrap();
        let shown = strip(&out);
        for line in shown.lines() {
            assert!(width(line) <= columns, "{columns}: {line}");
        }
        insta::assert_snapshot!(format!("terminal_{columns}"), shown);
    }
}
