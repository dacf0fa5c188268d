//! The words and colours that several writers share: the counts and the verdict of a run; and of a finding its class,
//! the input beside the output, and its diff as plain lines.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use clitape_judge::{ContextMoment, DiffLine, Finding, FindingCommand, FindingId, FindingKind};
use clitape_recording::text::{Keep, pad, plural, truncate};

use super::model::Tally;

/// The most lines of a finding's diff that are shown: the first difference and some that follow. The JSON report has
/// them all.
pub(super) const DIFF_LINES: usize = 16;

/// The most consequences that are named; further ones are counted.
const CONSEQUENCES: usize = 4;

/// Counts the scenarios, cassettes, goldens and plans that were run.
pub(super) fn ran(totals: &Tally) -> String {
    let replayed = match totals.replayed == totals.plans {
        true => " replayed".to_owned(),
        // The lines of the others end at the times of one that was replayed.
        false => format!(" parsed and {} of them replayed", totals.replayed),
    };
    let plans = counts(totals, "seeded plan");
    let replayed = if totals.plans == 0 { "" } else { &replayed };
    format!("{}: {plans}{replayed}", plural(totals.scenarios, "scenario"))
}

/// Counts the cassettes, and the goldens and plans where there are some: a gateway of others has none as a rule.
pub(super) fn counts(tally: &Tally, plan: &str) -> String {
    let mut parts = vec![plural(tally.cassettes, "cassette")];
    let further = [(tally.goldens, "golden"), (tally.plans, plan)];
    parts.extend(further.iter().filter(|(n, _)| *n > 0).map(|(n, what)| plural(*n, what)));
    parts.join(", ")
}

/// Returns the verdict of a run.
pub(super) fn verdict(totals: &Tally) -> String {
    match *totals {
        Tally { errors: 0, findings: 0, known: 0, .. } => "all held".to_owned(),
        Tally { errors: 0, findings: 0, known, .. } => {
            format!("all held but {}", plural(known, "known difference"))
        }
        Tally { errors: 0, findings, .. } => plural(findings, "finding"),
        Tally { errors, findings, .. } => {
            format!("{}, {}", plural(findings, "finding"), plural(errors, "error"))
        }
    }
}

/// Returns the class of a difference, and its consequences.
pub(super) fn change_text(finding: &Finding) -> Option<String> {
    let class = finding.class?;
    let mut then = finding.consequences.iter().take(CONSEQUENCES).cloned().collect::<Vec<_>>();
    if let more @ 1.. = finding.consequences.len().saturating_sub(CONSEQUENCES) {
        then.push(plural(more, "more kind"));
    }
    Some(match then.as_slice() {
        [] => format!("change of {class}"),
        _ => format!("change of {class}; then {}", then.join(", ")),
    })
}

/// Returns the commands of a finding with their labels: the one that reproduces it, and the one that fixes it or
/// accepts the difference.
pub(super) fn commands(finding: &Finding) -> impl Iterator<Item = (Cow<'static, str>, &str)> {
    let fix = finding.fix.as_ref().map(|fix| (mends(finding), fix));
    let commands = std::iter::once(("reproduce", &finding.reproduce)).chain(fix);
    commands.map(|(label, command)| (labelled(label, command), command.as_str()))
}

/// Returns the label of a command. It warns about a line of a report that clitape would not write.
pub(super) fn labelled(does: &'static str, command: &FindingCommand) -> Cow<'static, str> {
    match command.is_own() {
        true => does.into(),
        false => format!("{does}, no command of clitape").into(),
    }
}

/// Returns the label of the command that settles a finding.
pub(super) fn mends(finding: &Finding) -> &'static str {
    match &finding.id {
        FindingId::Known(
            FindingKind::GoldenDiffers
            | FindingKind::GoldenMissing
            | FindingKind::GoldenUnreadable
            | FindingKind::OutcomeUnnamed,
        ) => "to accept",
        _ => "to fix",
    }
}

/// Returns the beginning of a finding's diff.
pub(super) fn diff_text(finding: &Finding) -> Vec<String> {
    let mut lines: Vec<String> = finding.diff.iter().take(DIFF_LINES).map(line).collect();
    if finding.diff.len() > DIFF_LINES {
        lines.push(format!("  … {}", plural(finding.diff.len() - DIFF_LINES, "more line")));
    }
    lines
}

fn line(line: &DiffLine) -> String {
    let text: String = line.parts.iter().map(|(_, text)| text.as_str()).collect();
    format!("{} {text}", line.side.mark())
}

/// One row of two lanes: the time where it changes, the input, and the output.
pub(super) struct ContextRow<'a> {
    pub(super) time: String,
    pub(super) input: &'a str,
    pub(super) output: &'a str,
}

/// Returns the rows of the input beside the output.
pub(super) fn rows(context: &[ContextMoment]) -> impl Iterator<Item = ContextRow<'_>> {
    context.iter().flat_map(|ContextMoment { at, input, output }| {
        (0..input.len().max(output.len())).map(move |row| ContextRow {
            time: if row == 0 { format!("{}.{:03}", at / 1000, at % 1000) } else { String::new() },
            input: input.get(row).map_or("", String::as_str),
            output: output.get(row).map_or("", String::as_str),
        })
    })
}

/// The columns of the input.
pub(super) const INPUT: usize = 44;
/// The columns of the output.
pub(super) const OUTPUT: usize = ContextMoment::COLUMNS;

/// Returns the two lanes of a finding as plain lines.
pub(super) fn lanes_text(finding: &Finding) -> Vec<String> {
    let line = |time: &str, input: &str, output: &str| {
        let line =
            format!("{time:>9}  {} │ {}", pad(&clip(input, INPUT), INPUT), clip(output, OUTPUT));
        line.trim_end().to_owned()
    };
    if finding.context.is_empty() {
        return Vec::new();
    }
    let head = line("", "what came in", "what was seen");
    let rows = rows(&finding.context).map(|row| line(&row.time, row.input, row.output));
    std::iter::once(head).chain(rows).collect()
}

/// Returns the start of the text, in at most `columns` columns.
pub(super) fn clip(text: &str, columns: usize) -> Cow<'_, str> {
    truncate(text, columns, Keep::Start)
}

pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const STRONG_COOL: Style = COOL.bold().underline();
pub(super) const STRONG_BAD: Style = BAD.bold().underline();
pub(super) const ODD: Style = AnsiColor::Yellow.on_default();
pub(super) const COOL: Style = AnsiColor::Cyan.on_default();
pub(super) const WARM: Style = AnsiColor::Magenta.on_default();
