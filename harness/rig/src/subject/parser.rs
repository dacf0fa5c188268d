//! A parser as a subject: it reads the bytes of stdout on its stdin and prints lifecycle entries as JSON lines,
//! which are compared with those of clitape's own parser, kind by kind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_runner::cassette::Cassette;
use clitape_runner::check::{Finding, FindingKind, Times, TraceDiff};
use clitape_runner::limits::OutputLimits;
use clitape_runner::names::SubjectName;
use clitape_runner::record::{Program, ProgramStart, Scratch};
use clitape_runner::replay::{Capture, Cut, Entry, Lane, Plan, Setup, replay, stdin_lines};
use clitape_runner::scenario::RunSpec;
use clitape_runner::suite::{CheckRun, ScenarioRun};
use clitape_runner::text::{Keep, truncate};
use serde_json::{Map, Value};

use super::boot::{LAST_LINES, ended, environment};
use super::error::SubjectError;
use super::placeholders::Writing;
use super::prepare::{RigHost, prepare};
use super::spec::ParserSpec;

/// What a parser may print of one cassette.
const OUTPUT: OutputLimits =
    OutputLimits { bytes: ByteSize::mib(64), line: ByteSize::mib(16), lines: 500_000 };
/// The field whose texts of consecutive entries are one text: parsers cut it as they like.
const DELTA: &str = "delta";

/// A subject of kind parser, and how its name was written.
#[derive(Debug, Clone, Copy)]
pub struct NamedParser<'a> {
    /// Its name.
    pub name: &'a SubjectName,
    /// The version that the command line names.
    pub version: Option<&'a str>,
    /// Its settings.
    pub spec: &'a ParserSpec,
}

/// Gives a parser every cassette whose scenario's name contains `filter`, and compares the entries. `report` gets
/// each scenario as soon as it is judged.
///
/// # Errors
///
/// [`SubjectError`] when the parser can't be installed or started, or the caller stops it.
pub fn test_parser(
    parser: NamedParser<'_>,
    filter: &str,
    rig: RigHost<'_>,
    note: &mut dyn FnMut(&str),
    report: &mut dyn FnMut(&ScenarioRun),
) -> Result<Vec<ScenarioRun>, SubjectError> {
    let spec = parser.spec;
    let version = parser.version.or(spec.version.as_deref());
    let places = prepare(spec.install.as_ref(), version, rig, note)?.places(rig);
    let fill = |text: &String| OsString::from(places.fill(text, Writing::Plain));
    let command: Vec<OsString> = spec.command.iter().map(fill).collect();
    let mut environment = environment(rig, &spec.pass_env);
    environment.push(("PATH".into(), rig.host.path.clone()));
    environment.extend(spec.env.iter().map(|(name, value)| (name.into(), fill(value))));
    let mut scenarios = Vec::new();
    for name in rig.workspace.names()? {
        let is_chosen = spec.scenarios.is_empty() || spec.scenarios.contains(&name);
        if !name.contains(filter) || !is_chosen || spec.except.contains_key(&name) {
            continue;
        }
        let recorded = rig.workspace.recorded(&name)?;
        let scenario = rig.workspace.scenario_of(&name)?;
        let mut versions = scenario.record.versions.iter().chain(&recorded);
        let is_wanted = |version: &&_| {
            recorded.contains(version) && spec.cli.as_ref().is_none_or(|wanted| wanted == *version)
        };
        let Some(version) = versions.find(is_wanted) else { continue };
        if rig.stop.load(Ordering::Relaxed) {
            return Err(SubjectError::Stopped);
        }
        let cassette = Cassette::find(rig.workspace, &name, version)?;
        let place = format!("subject {}: {name}/{version}", parser.name);
        let reproduce =
            format!("{} test --subject {} {name}", rig.workspace.program(), parser.name);
        let found = match run(spec, &command, &environment, &cassette, rig)? {
            Ok(entries) => differences(spec, &own(&cassette), &entries),
            Err(sentence) => vec![(sentence, None)],
        };
        let finding = |(sentence, diff): Difference| {
            let finding =
                Finding::new(FindingKind::ParserDiffers, &place, sentence, reproduce.clone());
            match diff {
                Some((old, new)) => {
                    let diff = TraceDiff::new(&old, &new, Times::Ignored);
                    finding.with_difference(diff.change(), diff.lines())
                }
                None => finding,
            }
        };
        let findings = found.into_iter().map(finding).collect();
        let check = CheckRun::of(&format!("{version}::subject {}", parser.name), findings);
        let check = CheckRun { cassettes: 1, ..check };
        let run = ScenarioRun { name: name.to_string(), pending: 0, checks: vec![check] };
        report(&run);
        scenarios.push(run);
    }
    Ok(scenarios)
}

/// Runs a parser on the bytes of a cassette, piece by piece as they were read. The error is a sentence for a
/// finding.
fn run(
    spec: &ParserSpec,
    command: &[OsString],
    environment: &[(OsString, OsString)],
    cassette: &Cassette,
    rig: RigHost<'_>,
) -> Result<Result<Vec<Entry>, String>, SubjectError> {
    let scratch = Scratch::for_program(rig.host)?;
    let mut program = Program::start(ProgramStart {
        command,
        environment,
        folder: rig.workspace.root(),
        scratch: &scratch,
        with_stdin: true,
        keeps_stdout: true,
        output: OUTPUT,
    })?;
    let stdin = program.take_stdin();
    let bytes = cassette.stdout.clone();
    // A parser that prints before it has read all must not wait for this thread.
    let writing = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            // A parser that has ended does not read the rest.
            let _ = stdin.write_all(&bytes);
        }
    });
    let exit = program.wait(Duration::from_secs(spec.within_s))?;
    let said = || {
        let lines = program.last_lines(LAST_LINES);
        truncate(&lines.join(" / "), 200, Keep::End).into_owned()
    };
    let ending = match exit {
        None => Some(format!(
            "the parser had not ended after {} s; its last words: {}",
            spec.within_s,
            said()
        )),
        Some(clitape_runner::cassette::Exit::Code(0)) => None,
        Some(exit) => Some(format!("the parser {}; its last words: {}", ended(exit), said())),
    };
    let ending =
        ending.or_else(|| program.overflow().map(|what| format!("the parser printed {what}")));
    let stdout = program.stdout();
    drop(program);
    // The thread ends when the pipe is closed, and does not panic.
    let _ = writing.join();
    Ok(match ending {
        Some(sentence) => Err(sentence),
        None => read(&stdout),
    })
}

/// Reads the entries of the lifecycle lane that a parser printed.
fn read(stdout: &[u8]) -> Result<Vec<Entry>, String> {
    let text = String::from_utf8_lossy(stdout);
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let entry = |(number, line): (usize, &str)| {
        serde_json::from_str::<Entry>(line).map_err(|error| {
            let start = truncate(line, 80, Keep::Start);
            format!("line {number} of the parser is no entry of a trace: {error}: {start}")
        })
    };
    let mut entries = lines.map(entry).collect::<Result<Vec<_>, _>>()?;
    entries.retain(|entry| entry.lane == Lane::Lifecycle);
    match entries.is_empty() {
        true => Err("the parser printed no entry of the lane lifecycle".to_owned()),
        false => Ok(entries),
    }
}

/// The entries of clitape's own parser.
fn own(cassette: &Cassette) -> Vec<Entry> {
    let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
    let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
    let plan = Plan::cut(&cassette.stdout, &cassette.timeline, Cut::None, 1);
    let setup = Setup { run: RunSpec::default(), channel: None, acp: None };
    replay(capture, &plan, setup).lane(Lane::Lifecycle).cloned().collect()
}

/// A difference: the sentence, and the entries on both sides.
type Difference = (String, Option<(Vec<Entry>, Vec<Entry>)>);

/// The kinds whose entries differ.
fn differences(spec: &ParserSpec, own: &[Entry], printed: &[Entry]) -> Vec<Difference> {
    let (own, printed) = (by_kind(own), by_kind(printed));
    let is_named = |kind: &&String| spec.kinds.is_empty() || spec.kinds.contains(*kind);
    let kinds: Vec<&String> = match spec.kinds.is_empty() {
        // Without a list, a parser is held to the kinds that it prints.
        true => printed.keys().collect(),
        false => spec.kinds.iter().collect(),
    };
    let none = Vec::new();
    let difference = |kind: &String| {
        let (old, new) = (own.get(kind).unwrap_or(&none), printed.get(kind).unwrap_or(&none));
        let old = &with_fields_of(old, new);
        if bare(old) == bare(new) {
            return None;
        }
        let diff = TraceDiff::new(old, new, Times::Ignored);
        let first = diff.first()?.sentence;
        let sentence = format!(
            "of the kind `{kind}` clitape reads {} and the parser {}: {first}",
            old.len(),
            new.len()
        );
        Some((sentence, Some((old.clone(), new.clone()))))
    };
    kinds.into_iter().filter(is_named).filter_map(difference).collect()
}

/// The entries with those fields only that an entry of the parser has: one that prints fewer is not wrong.
fn with_fields_of(own: &[Entry], printed: &[Entry]) -> Vec<Entry> {
    let is_printed = |key: &str| printed.iter().any(|entry| entry.data.contains_key(key));
    let mut own = own.to_vec();
    if !printed.is_empty() {
        own.iter_mut().for_each(|entry| entry.data.retain(|key, _| is_printed(key)));
    }
    own
}

/// The data of entries without the blanks of joined texts: parsers separate messages as they like.
fn bare(entries: &[Entry]) -> Vec<Map<String, Value>> {
    let without = |entry: &Entry| {
        let mut data = entry.data.clone();
        if let Some(Value::String(text)) = data.get_mut(DELTA) {
            text.retain(|c| !c.is_whitespace());
        }
        data
    };
    entries.iter().map(without).collect()
}

/// The entries by kind, times aside; consecutive texts of a kind are joined.
fn by_kind(entries: &[Entry]) -> BTreeMap<String, Vec<Entry>> {
    let mut kinds: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let list = kinds.entry(entry.kind.to_string()).or_default();
        let delta = entry.data.get(DELTA).and_then(Value::as_str);
        let before = list.last_mut().and_then(|last| last.data.get_mut(DELTA));
        match (delta, before) {
            (Some(delta), Some(Value::String(before))) => before.push_str(delta),
            _ => list.push(Entry { at: 0, ..entry.clone() }),
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(lines: &[&str]) -> Vec<Entry> {
        let line = |text: &&str| {
            let (kind, data) = text.split_once(' ').unwrap();
            let line = format!(r#"{{"at":1,"lane":"lifecycle","kind":"{kind}","data":{data}}}"#);
            serde_json::from_str(&line).unwrap()
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn kinds_are_compared_and_texts_are_joined() {
        let own = entries(&[
            r#"text {"delta":"ab"}"#,
            r#"tool_start {"id":"1"}"#,
            r#"text {"delta":"c"}"#,
        ]);
        let spec = |kinds: &[&str]| ParserSpec {
            command: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            within_s: 1,
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            scenarios: Vec::new(),
            except: BTreeMap::new(),
            install: None,
            version: None,
            cli: None,
        };
        let own = &own;
        let same = entries(&[r#"text {"delta":"a"}"#, r#"text {"delta":" bc"}"#]);
        assert_eq!(differences(&spec(&[]), own, &same).len(), 0);
        let found = differences(&spec(&["text", "tool_start"]), own, &same);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].0.starts_with("of the kind `tool_start` clitape reads 1 and the parser 0")
        );
        let other = entries(&[r#"text {"delta":"abd"}"#]);
        assert_eq!(differences(&spec(&[]), own, &other).len(), 1);
        assert!(
            read(b"\n").is_err() && read(b"x\n").unwrap_err().starts_with("line 1 of the parser")
        );
    }
}
