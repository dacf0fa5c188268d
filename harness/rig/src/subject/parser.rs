//! Tests a parser as a subject: it reads the bytes of stdout on its stdin and prints lifecycle entries as JSON lines,
//! which are compared with those of clitape's own parser, kind by kind.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clitape_judge::observation::ObservedEnding;
use clitape_judge::{Finding, FindingKind, Times, TraceDiff};
use clitape_recording::cassette::Cassette;
use clitape_recording::names::SubjectName;
use clitape_recording::scenario::{RunSpec, Scenario, Setup};
use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use clitape_runner::replay::{Capture, Cut, Plan, replay, stdin_lines};
use clitape_runner::suite::{
    CheckRun, Observing, RunEnd, ScenarioRun, Subject, SuiteOptions, Trials,
};
use serde_json::{Map, Value};

use super::call::{
    CalledCassette, CountedEntries, ProgramCaller, cassettes, judge_cassettes, read,
};
use super::error::SubjectError;
use super::golden::with_difference;
use super::lasting::Lasting;
use super::prepare::RigHost;
use super::spec::{ParserSpec, Started};
use super::suite::within;

/// The field whose texts are joined over consecutive entries, because parsers may cut a text anywhere.
const DELTA: &str = "delta";
/// The most kinds whose differences are shown, because a parser can print entries of very many kinds.
const SHOWN: usize = 20;

/// A subject of kind parser.
#[derive(Debug)]
pub struct ParserSubject<'a> {
    /// The name of the subject.
    pub name: &'a SubjectName,
    /// The version that the command line names.
    pub version: Option<&'a str>,
    /// The settings of the subject.
    pub spec: &'a ParserSpec,
    /// The machine.
    pub rig: RigHost<'a>,
}

/// Gives the parser a cassette of every selected scenario, and compares the entries.
impl Subject for ParserSubject<'_> {
    type Trial = CalledCassette;
    type Error = SubjectError;

    fn fits(&mut self, options: SuiteOptions<'_>) -> Result<Trials<CalledCassette>, SubjectError> {
        cassettes(&self.spec.call, self.rig.workspace, options.selection)
    }

    fn observe(
        &mut self,
        trials: &[CalledCassette],
        options: SuiteOptions<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<RunEnd, SubjectError> {
        let mut spec = self.spec.clone();
        spec.call.within_s = within(spec.call.within_s, options.scenario_time);
        let caller = ProgramCaller::new(&spec.call, self.version, self.rig, tell)?;
        // The parsers that wait for their next cassette.
        let waiting = Mutex::new(Vec::new());
        let subject = &*self;
        judge_cassettes(trials, options, tell, |Scenario { name, .. }, version| {
            caller.go_on()?;
            let begun = Instant::now();
            let cassette = Cassette::find(subject.rig.workspace, name, version)?;
            let mut lasting = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let findings = subject.findings(&caller, &mut lasting, &spec, &cassette)?;
            waiting.lock().unwrap_or_else(PoisonError::into_inner).extend(lasting);
            let check = CheckRun::of(&format!("{version}::subject {}", subject.name), findings);
            let check = CheckRun { cassettes: 1, took: Some(begun.elapsed()), ..check };
            Ok(ScenarioRun { name: name.to_string(), pending: 0, checks: vec![check] })
        })
    }
}

impl ParserSubject<'_> {
    /// Gives the parser a cassette, and returns a finding for each difference from clitape's own.
    fn findings(
        &self,
        caller: &ProgramCaller<'_>,
        lasting: &mut Option<Lasting>,
        spec: &ParserSpec,
        cassette: &Cassette,
    ) -> Result<Vec<Finding>, SubjectError> {
        let (name, version) = (&cassette.manifest.scenario, cassette.version());
        let place = format!("subject {}: {name}/{version}", self.name);
        let program = self.rig.workspace.program();
        let reproduce = format!("{program} test --subject {} {name}", self.name);
        let found = match run(caller, lasting, spec, cassette)? {
            Ok(CountedEntries { entries, .. }) if entries.is_empty() && spec.kinds.is_empty() => {
                let sentence = "the parser printed no entry of the lane lifecycle, and no `kinds` say which it should";
                vec![(sentence.to_owned(), None)]
            }
            Ok(read) => differences(spec, &own(cassette), &read.entries),
            Err(sentence) => vec![(sentence, None)],
        };
        let finding = |(sentence, diff): ParserDifference| {
            let finding =
                Finding::new(FindingKind::ParserDiffers, &place, sentence, reproduce.clone());
            match diff {
                Some((old, new)) => {
                    let diff = TraceDiff::new(&old, &new, Times::Ignored);
                    with_difference(finding, &diff, [&old, &new], &caller.kept)
                }
                None => finding,
            }
        };
        Ok(found.into_iter().map(finding).collect())
    }
}

/// Gives a parser the bytes of a cassette, piece by piece as they were read. The inner error is a sentence for a
/// finding.
fn run(
    caller: &ProgramCaller<'_>,
    lasting: &mut Option<Lasting>,
    spec: &ParserSpec,
    cassette: &Cassette,
) -> Result<Result<CountedEntries, String>, SubjectError> {
    let plan = Plan::recorded(&cassette.timeline);
    let pieces = plan.pieces(&cassette.stdout).map(|(_, piece)| piece.to_vec()).collect();
    // A last line without an end needs a separate start: the line that clitape adds would complete it.
    let (ending, stdout) = match spec.started {
        Started::Once if cassette.stdout.ends_with(b"\n") => {
            let parser = match lasting.take() {
                Some(parser) => parser,
                None => Lasting::start(caller)?,
            };
            let within = Duration::from_secs(spec.call.within_s);
            let (ending, stdout, parser) = parser.call(caller, pieces, within)?;
            *lasting = parser;
            (ending, stdout)
        }
        _ => caller.call(Vec::new(), Some(pieces), &caller.scratch()?)?,
    };
    Ok(match ending {
        ObservedEnding::Over => {
            read(&stdout, Lane::Lifecycle, &caller.kept).map_err(|error| error.to_string())
        }
        ObservedEnding::Died { how, last_words } => {
            Err(format!("the parser {how}; its last words: {last_words}"))
        }
        ObservedEnding::Hung { waited_s, waited_for, last_words } => Err(format!(
            "the parser was given {waited_s} s: {waited_for}; its last words: {last_words}"
        )),
        ObservedEnding::Flooded(what)
        | ObservedEnding::Refused(what)
        | ObservedEnding::NotServed(what) => Err(format!("the parser: {what}")),
    })
}

/// Returns the entries of clitape's own parser.
fn own(cassette: &Cassette) -> Vec<Entry> {
    let stdin = stdin_lines(&cassette.stdin, &cassette.timeline);
    let capture = Capture { stdout: &cassette.stdout, stdin: &stdin };
    let plan = Plan::cut(&cassette.stdout, &cassette.timeline, Cut::None, 1);
    let setup = Setup { run: RunSpec::default(), channel: None, acp: None };
    replay(capture, &plan, setup).lane(Lane::Lifecycle).cloned().collect()
}

/// A difference: its sentence, and the entries on both sides.
type ParserDifference = (String, Option<(Vec<Entry>, Vec<Entry>)>);

/// Returns the kinds whose entries differ; those beyond the first few are counted in one sentence.
fn differences(spec: &ParserSpec, own: &[Entry], printed: &[Entry]) -> Vec<ParserDifference> {
    let (own, printed) = (by_kind(own), by_kind(printed));
    let kinds: Vec<&String> = match spec.kinds.is_empty() {
        // Without a list, the kinds that a parser prints are compared.
        true => printed.keys().collect(),
        false => spec.kinds.iter().collect(),
    };
    let none = Vec::new();
    let entries = |kind: &String| {
        let (old, new) = (own.get(kind).unwrap_or(&none), printed.get(kind).unwrap_or(&none));
        (with_fields_of(old, new), new)
    };
    let differs = |kind: &&String| {
        let (old, new) = entries(kind);
        bare(&old) != bare(new)
    };
    let difference = |kind: &String| {
        let (old, new) = entries(kind);
        let diff = TraceDiff::new(&old, new, Times::Ignored);
        let first = diff.first()?.sentence;
        let sentence = format!(
            "of the kind `{kind}` clitape reads {} and the parser {}: {first}",
            old.len(),
            new.len()
        );
        Some((sentence, Some((old, new.clone()))))
    };
    let differing: Vec<&String> = kinds.into_iter().filter(differs).collect();
    let (first, more) = differing.split_at(differing.len().min(SHOWN));
    let mut differences: Vec<ParserDifference> =
        first.iter().filter_map(|kind| difference(kind)).collect();
    if !more.is_empty() {
        let more = plural(more.len(), "more kind");
        differences.push((format!("and {more} of entries that differ"), None));
    }
    differences
}

/// Returns the entries with only those fields that some entry of the parser has, because a parser may print fewer.
fn with_fields_of(own: &[Entry], printed: &[Entry]) -> Vec<Entry> {
    let keys: HashSet<&String> = printed.iter().flat_map(|entry| entry.data.keys()).collect();
    let mut own = own.to_vec();
    if !printed.is_empty() {
        own.iter_mut().for_each(|entry| entry.data_mut().retain(|key, _| keys.contains(key)));
    }
    own
}

/// Returns the data of entries without the blanks in joined texts, because parsers separate messages differently.
fn bare(entries: &[Entry]) -> Vec<Map<String, Value>> {
    let without = |entry: &Entry| {
        let mut data = Map::clone(&entry.data);
        if let Some(Value::String(text)) = data.get_mut(DELTA) {
            text.retain(|c| !c.is_whitespace());
        }
        data
    };
    entries.iter().map(without).collect()
}

/// Returns the entries by kind, without times and with the consecutive texts of a kind joined.
fn by_kind(entries: &[Entry]) -> BTreeMap<String, Vec<Entry>> {
    let mut kinds: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let list = kinds.entry(entry.kind.to_string()).or_default();
        let delta = entry.data.get(DELTA).and_then(Value::as_str);
        let before = list.last_mut().and_then(|last| last.data_mut().get_mut(DELTA));
        match (delta, before) {
            (Some(delta), Some(Value::String(before))) => before.push_str(delta),
            _ => list.push(entry.at_time(0)),
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::subject::persons::tests::entries_of;
    use crate::subject::spec::CallSpec;

    fn entries(lines: &[&str]) -> Vec<Entry> {
        entries_of(Lane::Lifecycle, lines)
    }

    #[test]
    fn kinds_are_compared_and_texts_are_joined() {
        let own = entries(&[
            r#"text {"delta":"ab"}"#,
            r#"tool_start {"id":"1"}"#,
            r#"text {"delta":"c"}"#,
        ]);
        let call = CallSpec {
            command: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            within_s: 1,
            scenarios: Vec::new(),
            except: BTreeMap::new(),
            install: None,
            version: None,
            cli: None,
        };
        let spec = |kinds: &[&str]| ParserSpec {
            call: call.clone(),
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            started: Started::Each,
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
        let many: Vec<String> = (0..50_000).map(|kind| format!("k{kind} {{}}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let found = differences(&spec(&[]), own, &entries(&many));
        assert_eq!(found.len(), SHOWN + 1);
        assert_eq!(found[SHOWN].0, "and 49980 more kinds of entries that differ");
        let error = read(b"x\n", Lane::Lifecycle, &Arc::default()).unwrap_err().to_string();
        assert!(error.starts_with("line 1 that it printed is no entry"), "{error}");
    }
}
