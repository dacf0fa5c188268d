//! Writes a test run as Markdown: the totals as a table, then the findings, grouped by cause.

use std::io::{self, Write};

use clitape_judge::{Finding, FindingCommand};
use clitape_recording::text::markdown::{block, inline};
use clitape_recording::text::plural;

use super::chat_diff::chat_lines;
use super::groups::{Detail, FindingGroup, groups};
use super::model::{Report, Tally};
use super::text::{change_text, diff_text, labelled, lanes_text, mends};

/// The most bytes of findings: a summary in GitHub Actions may have 1 MiB.
const LIMIT: usize = 900_000;

/// Writes the report as Markdown. Recorded text is put in code blocks only.
///
/// # Errors
///
/// When `out` can't be written to.
pub fn markdown(report: &Report, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let Tally { scenarios, cassettes, goldens, plans, findings, errors, .. } = report.totals;
    writeln!(out, "## clitape: {}\n", verdict(&report.totals))?;
    writeln!(out, "| scenarios | cassettes | goldens | seeded plans | findings | errors |")?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|")?;
    writeln!(out, "| {scenarios} | {cassettes} | {goldens} | {plans} | {findings} | {errors} |")?;
    for trouble in report.troubles() {
        writeln!(out, "\n### A check could not be run\n")?;
        fenced(out, "text", &trouble.sentence)?;
    }
    let mut written = 0;
    let groups = groups(report);
    for (i, group) in groups.iter().enumerate() {
        let mut text = Vec::new();
        section(&mut text, group, detail)?;
        written += text.len();
        if written > LIMIT {
            let rest = groups[i..].iter().map(|group| 1 + group.others()).sum::<usize>();
            let rest = plural(rest, "more finding");
            return writeln!(out, "\nThe whole report has {rest}.");
        }
        out.write_all(&text)?;
    }
    Ok(())
}

fn verdict(totals: &Tally) -> String {
    match *totals {
        Tally { errors: 1.., .. } => "a check could not be run".to_owned(),
        Tally { findings: n @ 1.., .. } => plural(n, "finding"),
        Tally { cassettes: 0, .. } => "nothing ran".to_owned(),
        _ => "all held".to_owned(),
    }
}

fn section(out: &mut dyn Write, group: &FindingGroup<'_>, detail: Detail) -> io::Result<()> {
    let head = group.head();
    writeln!(out, "\n### {}\n", inline(&head.id.to_string()))?;
    let mut about = vec![head.place.clone(), head.sentence.clone()];
    about.extend(change_text(head));
    if let Some(also) = group.also_in() {
        let others = plural(group.others(), "more finding");
        about.push(format!("and {others}, also in: {also}"));
    }
    fenced(out, "text", &about.join("\n"))?;
    if let Some(chat) = &head.chat {
        fenced(out, "diff", &chat_lines(chat).join("\n"))?;
    }
    let is_alone = group.others() == 0 && head.chat.is_none();
    match detail {
        Detail::Lanes if !is_alone => {
            for part in group.lanes() {
                fenced(out, "text", &format!("{}\n{}", part.name, part.finding.sentence))?;
                lane(out, part.finding)?;
            }
        }
        _ if head.chat.is_none() => lane(out, head)?,
        _ => {}
    }
    let (reproduce, fix) = (&head.reproduce, group.fix());
    // A reader may paste a block of `sh`, so that it must have commands of clitape only.
    let all_own = reproduce.is_own() && fix.as_ref().is_none_or(FindingCommand::is_own);
    let language = if all_own { "sh" } else { "text" };
    match fix {
        None if all_own => fenced(out, language, reproduce.as_str()),
        fix => {
            let mut lines = vec![("reproduce", reproduce)];
            lines.extend(fix.as_ref().map(|fix| (mends(head), fix)));
            let lines = lines.into_iter();
            let lines = lines.map(|(does, line)| format!("# {}\n{line}", labelled(does, line)));
            fenced(out, language, &lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Writes the input beside the output, and the diff.
fn lane(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    for (language, lines) in [("text", lanes_text(finding)), ("diff", diff_text(finding))] {
        if !lines.is_empty() {
            fenced(out, language, &lines.join("\n"))?;
        }
    }
    Ok(())
}

fn fenced(out: &mut dyn Write, language: &str, text: &str) -> io::Result<()> {
    out.write_all(block(language, text).as_bytes())
}
