//! Compares the number and order of records, the dialogue of the CLI and its host, and the flags and commands in two
//! outputs of `claude --help`.

use std::collections::{BTreeMap, BTreeSet};

use clitape_recording::cassette::Cassette;
use clitape_recording::facts::{read_record, records};
use clitape_recording::names::ScenarioName;
use clitape_recording::text::{Keep, plural, truncate};
use clitape_recording::wire::is_control;
use serde_json::Value;

use super::model::{ChangeKind, DriftChange, Part};
use crate::replay::stdin_lines;

/// The kinds of one run's records, in order.
type Kinds = Vec<String>;

/// The changes: for each, the scenarios, and the example of the first one.
type GatheredChanges =
    BTreeMap<(Part, ChangeKind, String, String), (BTreeSet<ScenarioName>, String)>;

/// The changes of number and order over all scenarios.
#[derive(Default)]
pub(super) struct Sequences {
    changes: GatheredChanges,
    names: RecordNames,
}

/// What tells one record from another.
#[derive(Clone, Copy, Default)]
enum RecordNames {
    /// Its kind alone.
    #[default]
    Kind,
    /// Its kind, and the call that it is about.
    KindAndCall,
}

impl Sequences {
    /// Returns sequences in which the records of two calls differ, so that results in another order are found.
    pub(super) fn of_calls() -> Self {
        Self { names: RecordNames::KindAndCall, ..Self::default() }
    }

    /// Compares two recordings of a scenario.
    pub(super) fn add(&mut self, scenario: &ScenarioName, [from, to]: [&Cassette; 2]) {
        for (a, b) in from.outputs().zip(to.outputs()) {
            let [a, b] = [a, b].map(|output| kinds(output, self.names));
            self.compare(Part::Order, "records", scenario, a, b);
        }
        self.compare(Part::Dialogue, "dialogue", scenario, dialogue(from), dialogue(to));
        self.compare(
            Part::Behaviour,
            "transcript",
            scenario,
            kinds(&from.transcript, self.names),
            kinds(&to.transcript, self.names),
        );
        self.exits(scenario, [from, to]);
    }

    /// Compares the number of records of each kind, and then the order of the kinds whose numbers are equal.
    fn compare(
        &mut self,
        part: Part,
        among: &str,
        scenario: &ScenarioName,
        mut from: Kinds,
        mut to: Kinds,
    ) {
        let [a, b] = [counts(&from), counts(&to)];
        let all: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let of =
            |counts: &BTreeMap<String, usize>, kind: &str| counts.get(kind).copied().unwrap_or(0);
        let mut uneven = BTreeSet::new();
        for kind in all {
            let [old, new] = [of(&a, kind), of(&b, kind)];
            if old != new {
                uneven.insert(kind.clone());
                let what = match (old, new) {
                    (0, _) => "comes where none came",
                    (_, 0) => "no longer comes",
                    (old, new) if old < new => "comes more often",
                    _ => "comes less often",
                };
                let example = format!("{old} → {new} in {scenario}");
                let place = format!("{among}: {kind}");
                self.seen(part, ChangeKind::Count, place, what.to_owned(), scenario, example);
            }
        }
        from.retain(|kind| !uneven.contains(kind));
        to.retain(|kind| !uneven.contains(kind));
        let Some(at) = from.iter().zip(&to).position(|(a, b)| a != b) else { return };
        let what = format!("`{}` comes where `{}` came", to[at], from[at]);
        let before = at.checked_sub(1).map_or("the beginning", |at| &from[at]);
        let example = format!("{}, after {before}", plural(at, "record"));
        let place = format!("{among}: order");
        self.seen(part, ChangeKind::Order, place, what, scenario, format!("{scenario}: {example}"));
    }

    /// Compares the exits of the runs.
    fn exits(&mut self, scenario: &ScenarioName, [from, to]: [&Cassette; 2]) {
        let ends = |cassette: &Cassette| -> Vec<String> {
            let first = cassette.manifest.exit.map(|exit| exit.to_string());
            let further = cassette.further.iter().map(|run| Some(run.facts.exit.to_string()));
            let known = [first].into_iter().chain(further);
            known.map(|exit| exit.unwrap_or_else(|| "unknown".to_owned())).collect()
        };
        for (number, (a, b)) in (1..).zip(ends(from).into_iter().zip(ends(to))) {
            if a != b {
                let place = format!("exit of run {number}");
                let what = format!("is {b} where it was {a}");
                self.seen(Part::Behaviour, ChangeKind::Exit, place, what, scenario, String::new());
            }
        }
    }

    fn seen(
        &mut self,
        part: Part,
        kind: ChangeKind,
        place: String,
        what: String,
        scenario: &ScenarioName,
        example: String,
    ) {
        let (scenarios, _) = self
            .changes
            .entry((part, kind, place, what))
            .or_insert_with(|| (BTreeSet::new(), example));
        scenarios.insert(scenario.clone());
    }

    /// Returns the changes, by part.
    pub(super) fn into_changes(self) -> impl Iterator<Item = DriftChange> {
        self.changes.into_iter().map(|((part, kind, place, what), (scenarios, example))| {
            DriftChange {
                part,
                kind,
                place,
                what,
                scenarios: scenarios.into_iter().collect(),
                example: Some(example).filter(|example| !example.is_empty()),
            }
        })
    }
}

fn counts(kinds: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for kind in kinds {
        *counts.entry(kind.clone()).or_default() += 1;
    }
    counts
}

/// Returns the names of a run's records, without those of the dialogue.
fn kinds(stdout: &[u8], names: RecordNames) -> Kinds {
    let name = |record: Value| match (kind(&record), names) {
        (kind, RecordNames::Kind) => kind,
        (kind, RecordNames::KindAndCall) => kind + &call(&record),
    };
    records(stdout).map(name).filter(|name| !is_control(name)).collect()
}

/// Returns the call that a record is about, after a blank.
fn call(record: &Value) -> String {
    let places = ["/message/content/0/tool_use_id", "/message/content/0/id", "/tool_use_id"];
    let id = places.iter().find_map(|place| record.pointer(place)?.as_str());
    id.map(|id| format!(" {id}")).unwrap_or_default()
}

/// Returns the kind of a record, with the event of a part and the content of a message: `stream_event/message_start`,
/// `assistant/tool_use`, `system/init`.
fn kind(record: &Value) -> String {
    let word = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
    let inside = word("/event/type")
        .or_else(|| word("/message/content/0/type"))
        .or_else(|| word("/subtype"))
        .or_else(|| word("/request/subtype"))
        .or_else(|| word("/response/subtype"));
    let own = word("/type").unwrap_or("(no type)");
    inside.map_or_else(|| own.to_owned(), |inside| format!("{own}/{inside}"))
}

/// Returns the requests and answers of both sides, in the order in which they were written to stdout and stdin.
fn dialogue(cassette: &Cassette) -> Kinds {
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut end = 0;
    for line in cassette.stdout.split_inclusive(|byte| *byte == b'\n') {
        end += line.len() as u64;
        let control = read_record(line).map(|record| (kind(&record), tool(&record)));
        if let Some((kind, tool)) = control.filter(|(kind, _)| is_control(kind)) {
            lines.push((end, format!("CLI {kind}{tool}")));
        }
    }
    let host = stdin_lines(&cassette.stdin, &cassette.timeline);
    let host = host.iter().filter_map(|line| Some((line.offset, read_record(&line.line)?)));
    let said = host.map(|(offset, record)| (offset, format!("host {}", kind(&record))));
    lines.extend(said);
    // The host writes its lines after it has read up to their offset; the stable sort keeps that order.
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, kind)| kind).collect()
}

/// Returns the tool that a request is about.
fn tool(record: &Value) -> String {
    let name = record.pointer("/request/tool_name").and_then(Value::as_str);
    name.map(|name| format!(" {name}")).unwrap_or_default()
}

/// The most columns of a text that is shown as an example.
const LONGEST: usize = 160;

/// The flags and commands of a help text: for each name, its spelling and its description.
type HelpEntries = BTreeMap<String, (String, String)>;

/// Returns the flags and commands that are new, gone or described in other words.
pub(super) fn command_line(from: &str, to: &str) -> Vec<DriftChange> {
    let [from, to] = [entries(from), entries(to)];
    let change = |kind, place: &str, what: String, example: &str| DriftChange {
        part: Part::CommandLine,
        kind,
        place: place.to_owned(),
        what,
        scenarios: Vec::new(),
        example: Some(truncate(example, LONGEST, Keep::Start).into_owned()),
    };
    let new = to.iter().filter(|(name, _)| !from.contains_key(*name));
    let new =
        new.map(|(name, (_, text))| change(ChangeKind::FlagNew, name, "is new".to_owned(), text));
    let others = from.iter().filter_map(|(name, (written, text))| match to.get(name) {
        None => Some(change(ChangeKind::FlagGone, name, "is gone".to_owned(), text)),
        Some((now, _)) if now != written => {
            let what = format!("is written `{now}` where it was `{written}`");
            Some(change(ChangeKind::FlagChanged, name, what, text))
        }
        Some((_, now)) if now != text => {
            let what = "is described in other words".to_owned();
            Some(change(ChangeKind::FlagChanged, name, what, now))
        }
        Some(_) => None,
    });
    new.chain(others).collect()
}

/// Parses the flags (`--model`) and commands (`command mcp`) of a help text.
///
/// A section begins with a line such as `Options:`. An entry is indented by two columns. Its text follows after two
/// columns or more, and on lines that are indented further.
fn entries(help: &str) -> HelpEntries {
    let mut entries = HelpEntries::new();
    let mut section = "";
    let mut last: Option<String> = None;
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        let rest = line.trim();
        match indent {
            _ if rest.is_empty() => last = None,
            0 => {
                section = rest.trim_end_matches(':');
                last = None;
            }
            2 => {
                let (written, text) = rest.split_once("  ").unwrap_or((rest, ""));
                let name = name(section, written);
                entries.insert(name.clone(), (written.to_owned(), text.trim().to_owned()));
                last = Some(name);
            }
            _ => {
                if let Some((_, text)) = last.as_ref().and_then(|name| entries.get_mut(name)) {
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(rest);
                }
            }
        }
    }
    entries
}

/// Returns the name of an entry: the longest spelling of a flag, or the command.
fn name(section: &str, written: &str) -> String {
    let words = || written.split([' ', ',', '|']).filter(|word| !word.is_empty());
    let flag = words().filter(|word| word.starts_with("--")).max_by_key(|word| word.len());
    match (flag, words().next()) {
        (Some(flag), _) => flag.to_owned(),
        (None, Some(first)) if section == "Commands" => format!("command {first}"),
        (None, first) => first.unwrap_or(written).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Usage: claude [options]\n\nOptions:\n  -p, --print                 Print\n                              and exit\n  --allowedTools, --allowed-tools <tools...>\n      The tools to allow\n  --model <model>             The model\n\nCommands:\n  mcp                         Servers\n";

    #[track_caller]
    fn check(change: (&str, &str), expect: &[(ChangeKind, &str, &str)]) {
        let changed = HELP.replace(change.0, change.1);
        let found = command_line(HELP, &changed);
        let found: Vec<_> =
            found.iter().map(|one| (one.kind, one.place.as_str(), one.what.as_str())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn flags_and_commands_are_new_gone_and_changed() {
        check(("", ""), &[]);
        check(
            ("Commands:", "  --new <file>  A file\n\nCommands:"),
            &[(ChangeKind::FlagNew, "--new", "is new")],
        );
        check(
            ("  --model <model>             The model\n", ""),
            &[(ChangeKind::FlagGone, "--model", "is gone")],
        );
        check(
            ("<model>", "<name>"),
            &[(
                ChangeKind::FlagChanged,
                "--model",
                "is written `--model <name>` where it was `--model <model>`",
            )],
        );
        check(
            ("The tools to allow", "The tools that may run"),
            &[(ChangeKind::FlagChanged, "--allowed-tools", "is described in other words")],
        );
        check(
            ("  mcp  ", "  mcp2 "),
            &[
                (ChangeKind::FlagNew, "command mcp2", "is new"),
                (ChangeKind::FlagGone, "command mcp", "is gone"),
            ],
        );
    }

    #[test]
    fn a_text_that_is_only_broken_elsewhere_is_the_same() {
        check(("Print\n                              and exit", "Print and\n      exit"), &[]);
    }
}
