//! Groups findings with the same cause, for the reports that people read: the lanes and versions of a scenario that
//! differ together, and scenarios that differ in the same words. Reports for programs list every finding.

use std::collections::{BTreeSet, HashMap};

use clitape_judge::{DiffSide, Finding, FindingCommand, FindingId, FindingKind, RULES};
use clitape_recording::names::ScenarioName;
use clitape_recording::text::plural;

use super::model::Report;

/// The lanes, the one nearest to the person's view first.
const LANES: [&str; 6] = ["telegram", "acp", "sse", "session", "bus", "lifecycle"];
/// The most scenarios that are named; the others are counted.
const SCENARIOS: usize = 8;

/// The part of a group of findings that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The chat from the first difference with the golden on, and the names of the other lanes and versions.
    #[default]
    Chat,
    /// Every lane with its diff as well.
    Lanes,
}

/// A finding, with the scenario, version and lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupMember<'r> {
    scenario: &'r str,
    /// The version, or an empty text.
    version: &'r str,
    /// The lane, or the name of the check.
    lane: &'r str,
    finding: &'r Finding,
    /// The number of findings before it with the same words in the same check. They are about other things, so that
    /// they belong to other groups.
    place: usize,
}

/// The findings with one cause.
#[derive(Debug)]
pub(super) struct FindingGroup<'r> {
    /// The findings; the first one represents all.
    members: Vec<GroupMember<'r>>,
}

/// A lane of a scenario that differs in the same way in several versions.
#[derive(Debug)]
pub(super) struct LaneOfGroup<'r> {
    /// The scenario, the lane and the versions.
    pub(super) name: String,
    pub(super) finding: &'r Finding,
}

/// Returns the groups of a report, in the order of their first findings.
pub(super) fn groups(report: &Report) -> Vec<FindingGroup<'_>> {
    let mut bundles: KeyedGroups<'_> = KeyedGroups::default();
    for (scenario, check) in report.checks() {
        let (version, lane) = check.name.split_once("::").unwrap_or(("", &check.name));
        for (number, finding) in check.findings.iter().enumerate() {
            let is_same = |other: &&Finding| other.sentence == finding.sentence;
            let place = check.findings[..number].iter().filter(is_same).count();
            let member = GroupMember { scenario, version, lane, finding, place };
            bundles.add(member.bundle(), [member]);
        }
    }
    let mut groups = KeyedGroups::default();
    for mut bundle in bundles.groups {
        // The finding with the smallest rank represents the others.
        let rank = |at: &usize| rank(bundle.members[*at].lane, bundle.members[*at].finding);
        let first = (0..bundle.members.len()).min_by_key(rank);
        bundle.members[..=first.unwrap_or_default()].rotate_right(1);
        groups.add(bundle.members[0].cause(), bundle.members);
    }
    groups.groups
}

/// Groups in the order of their first members, each with a key.
#[derive(Debug, Default)]
struct KeyedGroups<'r> {
    groups: Vec<FindingGroup<'r>>,
    places: HashMap<String, usize>,
}

impl<'r> KeyedGroups<'r> {
    fn add(&mut self, key: String, members: impl IntoIterator<Item = GroupMember<'r>>) {
        let place = *self.places.entry(key).or_insert_with(|| {
            self.groups.push(FindingGroup { members: Vec::new() });
            self.groups.len() - 1
        });
        self.groups[place].members.extend(members);
    }
}

impl GroupMember<'_> {
    /// Returns the key of findings that are found together: the goldens of a version that differ, those of a scenario
    /// that are missing, and others with the same words in several versions.
    fn bundle(&self) -> String {
        let Self { scenario, version, lane, finding, place } = self;
        match &finding.id {
            FindingId::Known(FindingKind::GoldenDiffers) => format!("{scenario} {version}"),
            FindingId::Known(FindingKind::GoldenMissing) => format!("{scenario} missing"),
            id => {
                let sentence = without_moment(&finding.sentence);
                format!("{scenario} {lane} {place} {id} {sentence}")
            }
        }
    }

    /// Returns the key of a cause. Golden differences have the same cause if the same parts differ, at any time and any
    /// number of times; violations, if they break the same rule in the same way.
    fn cause(&self) -> String {
        match &self.finding.id {
            FindingId::Known(FindingKind::GoldenDiffers) => {
                format!("{} {}", family(self.lane), what_differs(self.finding))
            }
            FindingId::Known(kind) if is_of_rule(*kind) => {
                let words = match kind.design() {
                    Some(_) => String::new(),
                    None => without_details(&self.finding.sentence),
                };
                format!("{} {} {kind} {words}", self.lane, self.place)
            }
            _ => self.bundle(),
        }
    }
}

/// Returns whether a finding is that a run breaks a rule.
fn is_of_rule(kind: FindingKind) -> bool {
    RULES.iter().any(|rule| rule.is_about(kind))
}

/// Returns a sentence without what it quotes and without numbers, in which two recordings of one fault differ.
fn without_details(sentence: &str) -> String {
    let mut is_quoted = false;
    let own = sentence.chars().filter(|c| {
        is_quoted = *c == '“' || is_quoted && *c != '”';
        !is_quoted && !c.is_numeric()
    });
    own.collect()
}

/// Returns a lane without the options of its channel.
fn family(lane: &str) -> &str {
    lane.split('-').next().unwrap_or_default()
}

/// Returns the rank of a finding among those of its group: those with a chat are first, ordered by how near the lane is
/// to the person's view.
fn rank(lane: &str, finding: &Finding) -> (bool, usize) {
    let family = family(lane);
    let place = LANES.iter().position(|lane| *lane == family);
    (finding.chat.is_none(), place.unwrap_or(LANES.len()))
}

/// Returns a sentence without the time at its beginning, which may differ from version to version.
fn without_moment(sentence: &str) -> &str {
    match sentence.split_once(" ms: ") {
        Some((moment, rest)) if moment.starts_with("turn ") => rest,
        _ => sentence,
    }
}

/// Returns the parts of a finding's diff that differ, each once; of a line that one side lacks, all but its time.
fn what_differs(finding: &Finding) -> String {
    let mut parts = BTreeSet::new();
    for line in &finding.diff {
        if matches!(line.side, DiffSide::Both | DiffSide::Gap) {
            continue;
        }
        let changed = line.parts.iter().filter(|(changed, _)| *changed);
        let mut texts: Vec<&str> = changed.map(|(_, text)| text.as_str()).collect();
        let whole: String = line.parts.iter().map(|(_, text)| text.as_str()).collect();
        if texts.is_empty() {
            texts.push(whole.split_once("\"lane\":").map_or(whole.as_str(), |(_, rest)| rest));
        }
        parts.extend(texts.into_iter().map(|text| format!("{} {text}", line.side.mark())));
    }
    match parts.is_empty() {
        true => without_moment(&finding.sentence).to_owned(),
        false => parts.into_iter().collect::<Vec<_>>().join("\n"),
    }
}

impl<'r> FindingGroup<'r> {
    /// Returns the finding that represents the group.
    pub(super) fn head(&self) -> &'r Finding {
        self.members[0].finding
    }

    /// Returns the scenario of the first finding.
    pub(super) fn scenario(&self) -> &'r str {
        self.members[0].scenario
    }

    /// Returns the version of the first finding, or an empty text.
    pub(super) fn version(&self) -> &'r str {
        self.members[0].version
    }

    /// Returns the number of findings beside the first.
    pub(super) fn others(&self) -> usize {
        self.members.len() - 1
    }

    /// Returns the lanes, versions and scenarios beside those of the first finding; `None` when there are none.
    pub(super) fn also_in(&self) -> Option<String> {
        let mut lanes = self.other_names(|one| one.lane);
        let versions = self.other_names(|one| one.version);
        let scenarios = self.other_names(|one| one.scenario);
        lanes.sort_by_key(|lane| LANES.iter().position(|known| lane.starts_with(known)));
        let mut also = vec![lanes.join(", "), versions.join(", ")];
        if !scenarios.is_empty() {
            let named = scenarios[..scenarios.len().min(SCENARIOS)].join(", ");
            let noun = if scenarios.len() == 1 { "scenario" } else { "scenarios" };
            also.push(match scenarios.len().saturating_sub(SCENARIOS) {
                0 => format!("{noun} {named}"),
                more => format!("{noun} {named} and {more} more"),
            });
        }
        also.retain(|names| !names.is_empty());
        (!also.is_empty()).then(|| also.join("; "))
    }

    /// Returns the names of the other findings that differ from the name of the first, each once.
    fn other_names(&self, name: fn(&GroupMember<'r>) -> &'r str) -> Vec<&'r str> {
        let mut names: Vec<&str> = Vec::new();
        for other in self.members.iter().map(name) {
            if other != name(&self.members[0]) && !names.contains(&other) {
                names.push(other);
            }
        }
        names
    }

    /// Returns the command that fixes or accepts the whole group, if there is one.
    pub(super) fn fix(&self) -> Option<FindingCommand> {
        let fix = self.head().fix.as_ref()?;
        let mut names = vec![self.scenario()];
        names.extend(self.other_names(|one| one.scenario));
        // A report from a file may have any text in place of a scenario's name.
        if !fix.is_own() || names.iter().any(|name| name.parse::<ScenarioName>().is_err()) {
            return Some(fix.clone());
        }
        let one = format!(" test {} --update", self.scenario());
        let all = format!(" test {} --update", names.join(" "));
        Some(FindingCommand::made(fix.as_str().replacen(&one, &all, 1)))
    }

    /// Returns the command that shows every lane, if a golden differs.
    pub(super) fn lanes_command(&self) -> Option<String> {
        let fix = self.head().fix.as_ref().filter(|fix| fix.is_own())?;
        let (test, _) = fix.as_str().split_once(" --update && ")?;
        Some(format!("{test} --lanes"))
    }

    /// Returns each lane with its difference; versions that differ in the same way are one item.
    pub(super) fn lanes(&self) -> Vec<LaneOfGroup<'r>> {
        let mut lanes: Vec<(&GroupMember<'r>, Vec<&str>)> = Vec::new();
        for member in &self.members {
            let is_same = |(known, _): &&mut (&GroupMember<'r>, Vec<&str>)| {
                (known.scenario, known.lane) == (member.scenario, member.lane)
                    && known.finding.sentence == member.finding.sentence
                    && known.finding.diff == member.finding.diff
            };
            match lanes.iter_mut().find(is_same) {
                Some((_, versions)) => versions.push(member.version),
                None => lanes.push((member, vec![member.version])),
            }
        }
        let lane = |(member, versions): (&GroupMember<'r>, Vec<&str>)| {
            let name = format!("{} {} {}", member.scenario, member.lane, versions.join(", "));
            LaneOfGroup { name: name.trim_end().to_owned(), finding: member.finding }
        };
        lanes.into_iter().map(lane).collect()
    }
}

/// Returns the finding of one recording with the lowest [`rank`]; each comes with its lane.
pub(super) fn nearest<'f>(
    found: impl Iterator<Item = (&'f str, &'f Finding)>,
) -> Option<&'f Finding> {
    found.min_by_key(|(lane, finding)| rank(lane, finding)).map(|(_, finding)| finding)
}

/// Counts the findings, and their causes if these are fewer.
pub(super) fn counted(report: &Report) -> String {
    let findings = report.totals.findings;
    match groups(report).len() as u64 {
        causes if causes < findings => {
            format!("{} of {}", plural(findings, "finding"), plural(causes, "cause"))
        }
        _ => plural(findings, "finding"),
    }
}

#[cfg(test)]
mod tests;
