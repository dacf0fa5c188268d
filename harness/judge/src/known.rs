//! The known differences of a subject: a list with reasons and dates.
//!
//! The list is a TOML file:
//!
//! ```toml
//! [[known]]
//! rule = "SB012"                    # or the name, `blank-screen`
//! scenario = "tools-*"              # a name; `*` stands for any characters
//! reason = "openclaw#141959: the draft is deleted before the final message"
//! expires = "2027-01-31"            # from the next day on the difference is reported again
//! ```
//!
//! A row whose date is over, or that matched no violation, is a finding itself, so that the list always shows the
//! present state.

use crate::FindingKind;
use clitape_recording::toml_text::{TomlMistake, parse_toml};
use serde::Deserialize;

use crate::rules::{RULES, RuleScope, Violation};

/// The known differences of a subject.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownList {
    /// The rows.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// A known difference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The id or the name of the rule.
    pub rule: String,
    /// A name of scenarios; `*` stands for any characters.
    pub scenario: String,
    /// The reason, such as an issue of the subject.
    pub reason: String,
    /// The last day on which the row applies, as `2027-01-31`.
    pub expires: String,
}

/// The errors of a list that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// The text is not TOML of this form.
    #[error(transparent)]
    Toml(#[from] TomlMistake),
    /// The rule of a row does not exist.
    #[error(
        "known difference {row}: there is no rule `{rule}`; write an id or a name of \
         the list of `clitape help subject-rules`, such as SB012 or blank-screen"
    )]
    Rule {
        /// The number of the row, from 1.
        row: usize,
        /// The text of the row.
        rule: String,
    },
    /// A field is empty, or the date is invalid.
    #[error("known difference {row}: {what}")]
    Field {
        /// The number of the row, from 1.
        row: usize,
        /// The mistake in words.
        what: &'static str,
    },
}

/// The known differences of a subject during a run, with a note of each use.
#[derive(Debug, Default)]
pub struct KnownDifferences {
    rows: Vec<(Known, FindingKind)>,
    /// Two flags for each row: a scenario that it names was judged, and a violation matched it.
    judged: Vec<(bool, bool)>,
}

/// A violation, and the reason if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedViolation {
    /// The violation.
    pub violation: Violation,
    /// The reason; `None` if the violation is not known today.
    pub known: Option<String>,
}

impl KnownDifferences {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// [`KnownError`] if a row names an unknown rule, has no reason, or has an invalid date.
    pub fn parse(toml: &str) -> Result<Self, KnownError> {
        let list: KnownList = parse_toml(toml)?;
        let mut rows = Vec::new();
        for (row, known) in (1..).zip(list.known) {
            let kind = kind(&known.rule)
                .ok_or_else(|| KnownError::Rule { row, rule: known.rule.clone() })?;
            if known.reason.trim().is_empty() || known.scenario.is_empty() {
                return Err(KnownError::Field { row, what: "give a scenario and a reason" });
            }
            if !is_date(&known.expires) {
                let what = "`expires` is no date such as 2027-01-31";
                return Err(KnownError::Field { row, what });
            }
            rows.push((known, kind));
        }
        let judged = vec![(false, false); rows.len()];
        Ok(Self { rows, judged })
    }

    /// Adds the reasons to those violations of a scenario that are known on the day `today`, written as `2026-11-22`.
    pub fn mark(
        &mut self,
        scenario: &str,
        today: &str,
        violations: Vec<Violation>,
    ) -> Vec<JudgedViolation> {
        for ((known, _), (is_judged, _)) in self.rows.iter().zip(&mut self.judged) {
            *is_judged |= matches(&known.scenario, scenario);
        }
        let mut mark = |violation: Violation| {
            let mut reason = None;
            for ((known, kind), (_, is_used)) in self.rows.iter().zip(&mut self.judged) {
                if *kind == violation.kind && matches(&known.scenario, scenario) {
                    *is_used = true;
                    if known.expires.as_str() >= today && reason.is_none() {
                        reason = Some(known.reason.clone());
                    }
                }
            }
            JudgedViolation { violation, known: reason }
        };
        violations.into_iter().map(&mut mark).collect()
    }

    /// Returns the mistakes in the list after all scenarios of a run: rows whose date is over, and rows whose scenarios
    /// were judged without a matching violation.
    pub fn findings(&self, today: &str) -> Vec<Violation> {
        let rows = self.rows.iter().zip(&self.judged);
        rows.filter_map(|((known, kind), (is_judged, is_used))| {
            let Known { scenario, reason, expires, .. } = known;
            let (kind, sentence) = if expires.as_str() < today {
                let sentence = format!(
                    "the known difference {kind} of {scenario} ({reason}) is over since {expires}; look at it \
                     again, then remove the row or give it a new date"
                );
                (FindingKind::KnownExpired, sentence)
            } else if *is_judged && !is_used {
                let sentence = format!(
                    "the known difference {kind} of {scenario} ({reason}) was not seen; if it is mended, remove \
                     the row"
                );
                (FindingKind::KnownUnused, sentence)
            } else {
                return None;
            };
            Some(Violation { kind, sentence, entry: None, beside: None })
        })
        .collect()
    }
}

/// Returns the kind with this id or name; `None` for a rule of clitape's own gateway only.
fn kind(rule: &str) -> Option<FindingKind> {
    RULES
        .iter()
        .filter(|rule| rule.needs.scope != RuleScope::Own)
        .map(|rule| rule.kind_of(false))
        .find(|kind| kind.to_string().split(' ').any(|word| word == rule))
}

/// Returns whether the text is a date such as 2027-01-31.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |text: &str, length: usize| {
        let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok())?
    };
    number(year, 4).is_some()
        && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

/// Returns whether the name fits the pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(kind: FindingKind) -> Violation {
        Violation { kind, sentence: "s".to_owned(), entry: None, beside: None }
    }

    #[test]
    fn a_known_violation_has_its_reason_until_its_date() {
        let row = "[[known]]\nrule = 'SB012'\nscenario = 'tools-*'\nreason = 'why'\nexpires = '2026-12-31'\n";
        let check = |scenario: &str, today: &str, known: Option<&str>, findings: &[FindingKind]| {
            let mut list = KnownDifferences::parse(row).unwrap();
            let judged = list.mark(scenario, today, vec![violation(FindingKind::BlankScreen)]);
            assert_eq!(judged[0].known.as_deref(), known, "{scenario} {today}");
            let found: Vec<_> = list.findings(today).into_iter().map(|found| found.kind).collect();
            assert_eq!(found, findings, "{scenario} {today}");
        };
        check("tools-after-text", "2026-12-31", Some("why"), &[]);
        check("tools-after-text", "2027-01-01", None, &[FindingKind::KnownExpired]);
        check("three-tools", "2026-12-31", None, &[]);
    }

    #[test]
    fn a_row_that_nothing_needed_is_reported() {
        let row = "[[known]]\nrule = 'blank-screen'\nscenario = '*'\nreason = 'why'\nexpires = '2026-12-31'\n";
        let mut list = KnownDifferences::parse(row).unwrap();
        let judged = list.mark("a", "2026-11-22", vec![violation(FindingKind::AnswerTwice)]);
        assert_eq!(judged[0].known, None);
        let found = list.findings("2026-11-22");
        assert_eq!(found[0].kind, FindingKind::KnownUnused);
        assert!(found[0].sentence.contains("SB012 blank-screen of *"), "{}", found[0].sentence);
    }

    #[test]
    fn a_list_that_can_not_be_used_says_why() {
        let check = |rule: &str, reason: &str, expires: &str, expect: &str| {
            let row = format!(
                "[[known]]\nrule = '{rule}'\nscenario = 'a'\nreason = '{reason}'\nexpires = '{expires}'\n"
            );
            let error = KnownDifferences::parse(&row).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check("SB999", "r", "2026-12-31", "there is no rule `SB999`");
        check("SB012", " ", "2026-12-31", "give a scenario and a reason");
        check("SB012", "r", "soon", "`expires` is no date");
        assert!(KnownDifferences::parse("known = 1").is_err());
    }
}
