//! Writes a test run to the terminal: a line for each scenario, then every finding, then the summary, and what was at
//! stake (`clitape test --marks`). A trace is a timeline: one line for each entry, with the time first.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::Style;
use clitape_judge::{ContextMoment, DiffLine, DiffSide, Finding, FindingCommand, GoldenLine};
use clitape_recording::text::{Keep, pad, plain, plural, truncate, width};
use clitape_recording::trace::{Entry, Lane};

use super::chat_diff::{ChatSides, write_chat};
use super::groups::{Detail, FindingGroup, counted, groups};
use super::model::{CheckRun, Report, ScenarioRun, Tally};
use super::screen::Screen;
use super::text::{
    self, BAD, BOLD, COOL, ContextRow, DIFF_LINES, DIM, GOOD, INPUT, ODD, OUTPUT, STRONG_BAD,
    STRONG_COOL, WARM, change_text, clip, commands, counts, mends, ran, rows, verdict,
};
use crate::check::{Mark, Marks};
use crate::replay::ReplaySummary;

/// The most lines of a diff that are shown for a review.
const REVIEW_LINES: usize = 40;

/// The most scenarios that [`timings`] names.
const SLOWEST: usize = 5;

/// Writes the line of one scenario.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn scenario_line(out: &mut dyn Write, run: &ScenarioRun) -> io::Result<()> {
    let tally = run.tally();
    let Tally { findings, errors, .. } = tally;
    let (style, word) = match (errors, findings) {
        (0, 0) => (GOOD, "ok"),
        (1.., _) => (BAD, "ERROR"),
        _ if run.checks.iter().any(CheckRun::is_of_unusable_scenario) => (BAD, "ERROR"),
        _ => (BAD, "FAILED"),
    };
    let name = plain(&run.name);
    write!(
        out,
        "{style}{word:>6}{style:#} {BOLD}{name:<20}{BOLD:#} {DIM}{}{}{DIM:#}",
        counts(&tally, "plan"),
        if lacks_chat(run) { ", no chat" } else { "" },
    )?;
    if findings > 0 {
        write!(out, "  {BAD}{}{BAD:#}", plural(findings, "finding"))?;
    }
    writeln!(out)?;
    for note in run.checks.iter().flat_map(|check| &check.notes) {
        writeln!(out, "       {DIM}{}{DIM:#}", plain(note))?;
    }
    Ok(())
}

/// Returns whether a scenario was replayed through clitape's own gateway without a chat, so that none is judged.
fn lacks_chat(run: &ScenarioRun) -> bool {
    let has = |part: &str| run.checks.iter().any(|check| check.name.contains(part));
    has("::lifecycle") && !has("::telegram-")
}

/// Writes one finding: the sentence, the diff, and the commands that reproduce and fix it.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_finding(out: &mut Screen<'_>, finding: &Finding) -> io::Result<()> {
    let Finding { id, place, context, diff, .. } = finding;
    writeln!(out, "\n{BAD}{id}{BAD:#} {BOLD}{place}{BOLD:#}")?;
    sentences(out, finding)?;
    lane(out, context, diff)?;
    for (label, command) in commands(finding) {
        out.command(&label, command)?;
    }
    Ok(())
}

/// Writes the sentence of a finding, and what kind of change it is.
fn sentences(out: &mut Screen<'_>, finding: &Finding) -> io::Result<()> {
    out.sentence(&finding.sentence)?;
    change_text(finding).map_or(Ok(()), |change| out.sentence(&change))
}

fn command(out: &mut Screen<'_>, does: &'static str, command: &FindingCommand) -> io::Result<()> {
    out.command(&text::labelled(does, command), command.as_str())
}

/// Writes the input beside the output, and the diff of the lane.
fn lane(out: &mut Screen<'_>, context: &[ContextMoment], diff: &[DiffLine]) -> io::Result<()> {
    lanes(out, context)?;
    if !diff.is_empty() {
        writeln!(out, "  {COOL}- expected{COOL:#}   {BAD}+ came{BAD:#}")?;
    }
    diff_lines(out, diff, DIFF_LINES)
}

/// Writes the findings of one cause: the chat if a golden of a chat differs, or else the lane; the other places; and
/// the commands.
fn write_group(out: &mut Screen<'_>, group: &FindingGroup<'_>, detail: Detail) -> io::Result<()> {
    let head = group.head();
    let Finding { id, place, context, chat, diff, .. } = head;
    write!(out, "\n{BAD}{id}{BAD:#} {BOLD}{place}{BOLD:#}")?;
    if let others @ 1.. = group.others() {
        let more = format!("and {}", plural(others, "more finding"));
        let used = width(&format!("{id} {place} {more}"));
        let gap = if out.columns().is_some_and(|most| used > most) { "\n    " } else { " " };
        write!(out, "{gap}{DIM}{more}{DIM:#}")?;
    }
    writeln!(out)?;
    sentences(out, head)?;
    match chat {
        Some(chat) => write_chat(out, chat, ChatSides::Finding)?,
        None if detail == Detail::Chat || group.others() == 0 => lane(out, context, diff)?,
        None => {}
    }
    if let Some(also) = group.also_in() {
        out.labelled("also in", &also)?;
    }
    if let Some(GoldenLine { file, line }) = &head.golden {
        out.labelled("golden", &format!("{file}:{line}"))?;
    }
    let has_more = group.others() > 0 || chat.is_some();
    if has_more && detail == Detail::Lanes {
        for part in group.lanes() {
            let Finding { reproduce, context, diff, .. } = part.finding;
            writeln!(out, "\n  {BOLD}{}{BOLD:#}", part.name)?;
            sentences(out, part.finding)?;
            lane(out, context, diff)?;
            command(out, "reproduce", reproduce)?;
        }
        writeln!(out)?;
    } else {
        if has_more && let Some(command) = group.lanes_command() {
            out.command("every lane", &command)?;
        }
        command(out, "reproduce", &head.reproduce)?;
    }
    match group.fix() {
        Some(fix) => command(out, mends(head), &fix),
        None => Ok(()),
    }
}

/// The columns of the time and of what stands between the lanes.
const BETWEEN: usize = 16;
/// The blanks before a line that belongs to the one above it.
const BELOW: &str = "  ";

/// Writes the input beside the output.
fn lanes(out: &mut Screen<'_>, context: &[ContextMoment]) -> io::Result<()> {
    let half = out.columns().map(|columns| (columns - BETWEEN) / 2);
    let [left, right] = [INPUT, OUTPUT].map(|most| half.map_or(most, |half| half.min(most)));
    if !context.is_empty() {
        writeln!(out, "  {DIM}{:>9}  {:<left$}   what was seen{DIM:#}", "", "what came in")?;
    }
    for ContextRow { time, input, output } in rows(context) {
        let (input, nothing) = (pad(&clip(input, left), left), " ".repeat(left));
        // What a server said of a refusal, in lines below the call, is never cut.
        let lines = match output.strip_prefix(BELOW) {
            Some(below) => out.split(below, right - BELOW.len()),
            None => vec![clip(output, right).into_owned()],
        };
        for (number, line) in lines.iter().enumerate() {
            let (time, input) = if number == 0 { (&*time, &*input) } else { ("", &*nothing) };
            write!(out, "  {DIM}{time:>9}{DIM:#}  {COOL}{input}{COOL:#} {DIM}│{DIM:#}")?;
            let before = if output.starts_with(BELOW) { BELOW } else { "" };
            match line.as_str() {
                "" => writeln!(out)?,
                line => writeln!(out, " {before}{GOOD}{line}{GOOD:#}")?,
            }
        }
    }
    Ok(())
}

/// Writes the beginning of an aligned diff.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_diff(out: &mut Screen<'_>, diff: &[DiffLine]) -> io::Result<()> {
    diff_lines(out, diff, REVIEW_LINES)
}

fn diff_lines(out: &mut Screen<'_>, diff: &[DiffLine], most: usize) -> io::Result<()> {
    for line in diff.iter().take(most) {
        diff_line(out, line)?;
    }
    if diff.len() > most {
        writeln!(out, "  {DIM}… {}{DIM:#}", plural(diff.len() - most, "more line"))?;
    }
    Ok(())
}

fn diff_line(out: &mut Screen<'_>, line: &DiffLine) -> io::Result<()> {
    let number = |n: Option<usize>| n.map(|n| n.to_string()).unwrap_or_default();
    let (old, new, mark) = (number(line.old), number(line.new), line.side.mark());
    // What was expected is neutral, and what came instead is wrong.
    let (style, strong) = match line.side {
        DiffSide::Both | DiffSide::Gap => (DIM, DIM),
        DiffSide::Expected => (COOL, STRONG_COOL),
        DiffSide::Got => (BAD, STRONG_BAD),
    };
    write!(out, "  {DIM}{old:>4} {new:>4} │{DIM:#} {style}{mark} {style:#}")?;
    let most = out.columns().map(|columns| columns - BEFORE_LINE);
    for (changed, text) in excerpt(&line.parts, most) {
        let style = if changed { strong } else { style };
        write!(out, "{style}{}{style:#}", plain(&text))?;
    }
    writeln!(out)
}

/// The columns before the text of a line.
const BEFORE_LINE: usize = 16;
/// The columns of an equal part of a line that are left beside a difference.
const BESIDE: usize = 16;

/// Returns the parts of a line with at most `most` columns: what is equal is cut to what stands beside a difference, and
/// then the end is cut.
fn excerpt(parts: &[(bool, String)], most: Option<usize>) -> Vec<(bool, Cow<'_, str>)> {
    let whole: usize = parts.iter().map(|(_, text)| width(text)).sum();
    let Some(most) = most.filter(|most| whole > *most) else {
        return parts.iter().map(|(changed, text)| (*changed, Cow::from(text))).collect();
    };
    let last = parts.len().saturating_sub(1);
    let cut = |(number, (changed, text)): (usize, &(bool, String))| {
        let keep = match (changed, number) {
            (false, 0) if last > 0 => Keep::End,
            (false, _) if number < last => Keep::Ends,
            _ => return (*changed, text.clone()),
        };
        (
            false,
            truncate(text, if keep == Keep::Ends { 2 * BESIDE } else { BESIDE }, keep).into_owned(),
        )
    };
    let mut left = most;
    let parts = parts.iter().enumerate().map(cut).map(|(changed, text)| {
        let shown = clip(&text, left).into_owned();
        left -= width(&shown).min(left);
        (changed, Cow::from(shown))
    });
    parts.collect()
}

/// Writes a whole report: a line for each scenario, then the output of [`findings`], then the summary.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn terminal(report: &Report, detail: Detail, out: &mut Screen<'_>) -> io::Result<()> {
    for run in &report.scenarios {
        scenario_line(out, run)?;
    }
    findings(report, detail, out)?;
    summary(report, out)
}

/// Writes the findings, grouped by cause.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn findings(report: &Report, detail: Detail, out: &mut Screen<'_>) -> io::Result<()> {
    groups(report).iter().try_for_each(|group| write_group(out, group, detail))
}

/// Writes the last lines of a test run.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn summary(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Tally { findings, errors, pending, .. } = report.totals;
    if pending > 0 {
        let files = plural(pending, "pending golden");
        writeln!(out, "\n{ODD}{files}: settle with `clitape review`{ODD:#}")?;
    }
    let style = if report.holds() { GOOD } else { BAD };
    let verdict = match (errors, findings) {
        (0, 1..) => counted(report),
        _ => verdict(&report.totals),
    };
    writeln!(out, "\n{}; {style}{verdict}{style:#}", ran(&report.totals))
}

/// Returns the time that a run took, and up to five scenarios that took longest, if there are several.
pub fn timings(report: &Report, elapsed: Duration) -> String {
    let mut slow: Vec<(Duration, &str)> =
        report.scenarios.iter().filter_map(|run| Some((run.took()?, run.name.as_str()))).collect();
    slow.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let took = format!("took {:.1} s", elapsed.as_secs_f64());
    if slow.len() < 2 {
        return took;
    }
    let slowest = slow.iter().take(SLOWEST);
    let slowest: Vec<String> = slowest
        .map(|(took, name)| format!("{} {:.1} s", plain(name), took.as_secs_f64()))
        .collect();
    format!("{took}; slowest: {}", slowest.join(", "))
}

/// Writes a line for everything that can be at stake: how often it was, and where first; then the rest, which never
/// was.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn marks(marks: &Marks, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{BOLD}at stake{BOLD:#} {DIM}(checks and replays, the first one){DIM:#}")?;
    for mark in Mark::all() {
        if let Some(stake) = marks.get(mark) {
            let (name, times) = (mark.to_string(), stake.times);
            writeln!(out, "  {name:<34} {times:>9}  {DIM}{}{DIM:#}", plain(&stake.first))?;
        } else if let Some(why) = mark.out_of_reach() {
            writeln!(out, "  {:<34} {:>9}  {DIM}{why}{DIM:#}", mark.to_string(), "-")?;
        }
    }
    let never: Vec<Mark> = marks.never().collect();
    if never.is_empty() {
        return writeln!(out, "everything that can be at stake was");
    }
    writeln!(out, "\n{BAD}never at stake: {}{BAD:#}", plural(never.len(), "kind"))?;
    for mark in never {
        writeln!(out, "  {mark}")?;
    }
    writeln!(
        out,
        "  what is never at stake can't be found; add a scenario that has it, or a plan of a scenario as [[plan]]"
    )
}

/// Writes one entry.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn write_entry(out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
    let style = entry_style(entry);
    let seconds = format!("{}.{:03}", entry.at / 1000, entry.at % 1000);
    let lane = entry.lane;
    let text = entry.headline();
    writeln!(out, "{DIM}{seconds:>9}{DIM:#}  {DIM}{lane:<9}{DIM:#}  {style}{text}{style:#}")
}

fn entry_style(entry: &Entry) -> Style {
    match (entry.lane, entry.kind.as_ref()) {
        _ if entry.is_refused() => BAD,
        (_, "diagnostic" | "unknown" | "failed") => BAD,
        (_, "notice") => ODD,
        (_, "outcome" | "final") => BOLD,
        (Lane::Read, _) => DIM,
        (Lane::Lifecycle, _) => COOL,
        (Lane::Bus, _) => WARM,
        (Lane::Telegram | Lane::Acp | Lane::Sse | Lane::Session, _) => GOOD,
    }
}

/// Writes how many lines of the input were understood, and which kinds of record were unknown.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn footer(out: &mut dyn Write, replay: &ReplaySummary) -> io::Result<()> {
    let ReplaySummary { entries, stats, masked } = replay;
    let style = if stats.unusable + stats.unknown > 0 { ODD } else { DIM };
    writeln!(
        out,
        "{style}{}, {}: {} understood, {} unknown, {} unusable, {} blank; {}{style:#}",
        plural(stats.bytes, "byte"),
        plural(stats.lines, "line"),
        stats.records,
        stats.unknown,
        stats.unusable,
        stats.blank,
        plural(*entries, "trace entry"),
    )?;
    for (kind, count) in &stats.unknown_kinds {
        writeln!(out, "{ODD}unknown: {} ×{count}{ODD:#}", plain(kind))?;
    }
    for (what, count) in [("bytes not read", stats.unread), ("bad UTF-8", stats.replaced)] {
        if count > 0 {
            writeln!(out, "{ODD}{what}: {count}{ODD:#}")?;
        }
    }
    for (rule, count) in masked.iter() {
        writeln!(out, "{DIM}masked: {rule} ×{count}{DIM:#}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clitape_judge::{FindingKind, align_texts};

    use super::*;
    use crate::report::tests::strip;

    #[test]
    fn a_finding_shows_sentence_diff_and_reproduction() {
        let kind = FindingKind::GoldenDiffers;
        let finding = Finding::new(kind, "x 1.0 bus", "it differs".into(), "clitape".into());
        let finding = finding.with_difference(None, align_texts("a\nb\n", "a\nc\n"));
        let mut out = Vec::new();
        write_finding(&mut Screen::new(&mut out, None), &finding).unwrap();
        let expect = "\nGD001 golden-differs x 1.0 bus\n  it differs\n  - expected   + came\n\
                      \x20    1    1 │   a\n\x20    2      │ - b\n\x20         2 │ + c\n\
                      \x20 reproduce: clitape\n";
        assert_eq!(strip(&out), expect);
    }

    #[test]
    fn a_scenario_without_a_chat_says_so() {
        let line = |views: &[&str]| {
            let checks = views.iter().map(|view| CheckRun::of(&format!("1.0::{view}"), Vec::new()));
            let run = ScenarioRun { name: "a".into(), pending: 0, checks: checks.collect() };
            let mut out = Vec::new();
            scenario_line(&mut out, &run).unwrap();
            strip(&out).contains(", no chat")
        };
        assert!(line(&["lifecycle", "bus", "plans"]));
        assert!(!line(&["lifecycle", "bus", "telegram-progress-slack"]));
        assert!(!line(&["subject mine"]));
    }

    #[test]
    fn the_slowest_five_scenarios_are_named() {
        let run = |(name, seconds): (&str, Option<u64>)| {
            let took = seconds.map(Duration::from_secs);
            let checks = vec![CheckRun { took, ..CheckRun::of("1.0::bus", Vec::new()) }];
            ScenarioRun { name: name.into(), pending: 0, checks }
        };
        let timings = |times: &[(&str, Option<u64>)]| {
            let runs = times.iter().copied().map(run).collect();
            timings(&Report::new("1.0", runs, Vec::new()), Duration::from_millis(2_345))
        };
        let some = |name, seconds| (name, Some(seconds));
        assert_eq!(timings(&[some("a", 1)]), "took 2.3 s");
        let six =
            ["a", "b", "c", "d", "e", "f"].into_iter().zip(1..).map(|(name, n)| some(name, n));
        let all: Vec<_> = six.chain([("unusable", None)]).collect();
        let expect = "took 2.3 s; slowest: f 6.0 s, e 5.0 s, d 4.0 s, c 3.0 s, b 2.0 s";
        assert_eq!(timings(&all), expect);
    }

    #[test]
    fn the_summary_counts_what_ran() {
        let check = |name: &str, cassettes, goldens, plans| CheckRun {
            cassettes,
            goldens,
            plans,
            replayed: plans / 4,
            ..CheckRun::of(name, Vec::new())
        };
        let checks = vec![check("1.0::bus", 0, 8, 0), check("1.0::plans", 2, 0, 128)];
        let run = ScenarioRun { name: "x".into(), pending: 0, checks };
        let mut out = Vec::new();
        summary(&Report::new("1.0", vec![run], Vec::new()), &mut out).unwrap();
        assert_eq!(
            strip(&out),
            "\n1 scenario: 2 cassettes, 8 goldens, 128 seeded plans parsed and 32 of them replayed; all held\n"
        );
    }
}
