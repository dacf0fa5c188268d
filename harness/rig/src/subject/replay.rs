//! Tests a program that is called like `clitape replay`: it reads a cassette's files and prints the entries of its
//! chat, on the clock of the plan. The rules for gateways judge the chat.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use clitape_judge::observation::{Observation, ObservedEnding, SubjectTraits};
use clitape_judge::{Finding, FindingKind, judge};
use clitape_recording::cassette::Cassette;
use clitape_recording::facts::LazyFacts;
use clitape_recording::names::SubjectName;
use clitape_recording::scenario::{ChannelSpec, Scenario, Seeds};
use clitape_recording::text::shell_quote;
use clitape_recording::trace::Lane;
use clitape_runner::replay::{Cut, Plan, PlanArg, ReplayRequest};
use clitape_runner::suite::{
    CheckRun, LeftOut, Observing, RunEnd, ScenarioRun, Subject, SuiteOptions, Trials,
};
use fs_err as fs;

use super::call::{
    CalledCassette, CountedEntries, ProgramCaller, ReadError, cassettes, judge_cassettes, read,
};
use super::dialogue::{Misfit, of_own_gateway};
use super::error::SubjectError;
use super::finding::{context, differs_under_plan};
use super::golden;
use super::prepare::RigHost;
use super::spec::{ReplaySpec, shown};
use super::suite::within;

/// A subject of kind replay.
#[derive(Debug)]
pub struct ReplaySubject<'a> {
    /// The name of the subject.
    pub name: &'a SubjectName,
    /// The version that the command line names.
    pub version: Option<&'a str>,
    /// The settings of the subject.
    pub spec: &'a ReplaySpec,
    /// The machine.
    pub rig: RigHost<'a>,
}

/// Lets the program replay every cassette that fits, and judges the chat that it prints.
impl Subject for ReplaySubject<'_> {
    type Trial = CalledCassette;
    type Error = SubjectError;

    fn promises(&self) -> SubjectTraits {
        self.spec.traits
    }

    fn fits(&mut self, options: SuiteOptions<'_>) -> Result<Trials<CalledCassette>, SubjectError> {
        let mut trials = cassettes(&self.spec.call, self.rig.workspace, options.selection)?;
        for one in std::mem::take(&mut trials.fit) {
            match of_own_gateway(&one.scenario) {
                Some(what) => trials.left_out.push(LeftOut {
                    name: format!("{}/{}", one.scenario.name, one.version),
                    why: Misfit::OwnGateway(what).to_string(),
                }),
                None => trials.fit.push(one),
            }
        }
        Ok(trials)
    }

    fn observe(
        &mut self,
        trials: &[CalledCassette],
        options: SuiteOptions<'_>,
        tell: &mut dyn FnMut(Observing<'_>) -> ControlFlow<()>,
    ) -> Result<RunEnd, SubjectError> {
        let mut call = self.spec.call.clone();
        call.within_s = within(call.within_s, options.scenario_time);
        let caller = ProgramCaller::new(&call, self.version, self.rig, tell)?;
        let shown = shown(self.name, self.version);
        let subject = &*self;
        judge_cassettes(trials, options, tell, |scenario, version| {
            caller.go_on()?;
            let name = format!("{}/{version}", scenario.name);
            let cassette = Cassette::find(subject.rig.workspace, &scenario.name, version)?;
            let case = ReplayCase { subject, shown: &shown, name: &name, scenario, cassette };
            let check = case.check(&caller, options)?;
            let pending = golden::pending(scenario)?;
            Ok(ScenarioRun { name: scenario.name.to_string(), pending, checks: vec![check] })
        })
    }
}

/// A cassette for a program, with all that its replay needs.
struct ReplayCase<'a> {
    subject: &'a ReplaySubject<'a>,
    shown: &'a str,
    name: &'a str,
    scenario: &'a Scenario,
    cassette: Cassette,
}

/// The entries of the chat that a program printed, and its ending.
struct ReplayedChat {
    read: CountedEntries,
    ending: ObservedEnding,
}

impl ReplayCase<'_> {
    fn check(
        &self,
        caller: &ProgramCaller<'_>,
        options: SuiteOptions<'_>,
    ) -> Result<CheckRun, SubjectError> {
        let begun = Instant::now();
        let request = self.request();
        let plain = self.call(caller, &request)?;
        let facts = Arc::new(LazyFacts::of(&self.cassette));
        let observation = Observation {
            ending: plain.ending.clone(),
            traits: self.subject.promises(),
            ..Observation::of_chat(facts, plain.read.entries.clone())
        };
        let mut findings: Vec<Finding> = judge(&observation)
            .into_iter()
            .map(|violation| {
                let shown = context(&plain.read.entries, violation.entry);
                self.finding(violation.kind, violation.sentence, &request).with_context(shown)
            })
            .collect();
        let chat = golden::GoldenChat {
            subject: self.subject.name,
            shown: self.shown,
            scenario: self.scenario,
            cassette: self.name,
            entries: &plain.read.entries,
            ending: &plain.ending,
        };
        let line = self.line(&request);
        let compared = golden::compare(chat, options.update, &line, &caller.kept)?;
        findings.extend(compared.finding);
        // Seeds are left out if the host wrote lines, because another time of an answer gives another chat.
        let seeds = options.seeds.filter(|_| self.cassette.stdin.is_empty()).unwrap_or(Seeds::NONE);
        for seed in seeds.each() {
            findings.extend(self.under_plan(caller, seed, &plain)?);
        }
        let check =
            CheckRun::of(&format!("{}::subject {}", self.cassette.version(), self.shown), findings);
        let took = Some(begun.elapsed());
        let (goldens, plans) = (compared.goldens, seeds.count);
        Ok(CheckRun { cassettes: 1, goldens, plans, replayed: plans, took, ..check })
    }

    /// Returns the request for the chat of the scenario, or for one in mode partial if it has none.
    fn request(&self) -> ReplayRequest {
        let (name, version) = (&self.scenario.name, self.cassette.version());
        let mut request = ReplayRequest::new(format!("cassettes/{name}/{version}"));
        let chat = self.scenario.channels.iter().find_map(|channel| match channel {
            ChannelSpec::Telegram(chat) => Some(*chat),
            _ => None,
        });
        request.chat = chat.unwrap_or(request.chat);
        request.pace = Some(self.scenario.run.pace_ms);
        request.lanes = vec![Lane::Telegram];
        request.json = true;
        request
    }

    fn call(
        &self,
        caller: &ProgramCaller<'_>,
        request: &ReplayRequest,
    ) -> Result<ReplayedChat, SubjectError> {
        let scratch = caller.scratch()?;
        let mut request = request.clone();
        if let Some(PlanArg::Json(plan)) = &request.plan {
            // A file, because a plan may be longer than an argument can be.
            let file = scratch.path().join("plan.json");
            fs::write(&file, plan)?;
            request.plan = Some(PlanArg::File(file));
        }
        let (ending, stdout) = caller.call(request.args(), None, &scratch)?;
        let (read, ending) = match (read(&stdout, Lane::Telegram, &caller.kept), ending) {
            (Ok(read), ending) => (read, ending),
            (Err(ReadError::Full(full)), _) => {
                (CountedEntries::default(), ObservedEnding::Flooded(full.to_string()))
            }
            (Err(error), ObservedEnding::Over) => {
                let how = error.to_string();
                let died = ObservedEnding::Died { how, last_words: String::new() };
                (CountedEntries::default(), died)
            }
            (Err(_), ending) => (CountedEntries::default(), ending),
        };
        Ok(ReplayedChat { read, ending })
    }

    /// Returns a finding if a person reads something else under a plan than without one.
    fn under_plan(
        &self,
        caller: &ProgramCaller<'_>,
        seed: u64,
        plain: &ReplayedChat,
    ) -> Result<Option<Finding>, SubjectError> {
        let plan = Plan::cut(&self.cassette.stdout, &self.cassette.timeline, Cut::Random, seed);
        let plan = Some(PlanArg::Json(plan.to_line()));
        let request = ReplayRequest { plan, pace: None, ..self.request() };
        let planned = self.call(caller, &request)?;
        let sentence = differs_under_plan(
            seed,
            (&plain.read.entries, &plain.ending),
            (&planned.read.entries, &planned.ending),
        );
        let finding = |sentence| self.finding(FindingKind::WrongFinalText, sentence, &request);
        Ok(sentence.map(finding))
    }

    fn finding(&self, kind: FindingKind, sentence: String, request: &ReplayRequest) -> Finding {
        let place = format!("subject {}: {}", self.shown, self.name);
        Finding::new(kind, &place, sentence, self.line(request))
    }

    /// Returns the command line that repeats the call.
    fn line(&self, request: &ReplayRequest) -> String {
        let command = self.subject.spec.call.command.iter();
        request.line(&command.map(|word| shell_quote(word)).collect::<Vec<_>>().join(" "))
    }
}
