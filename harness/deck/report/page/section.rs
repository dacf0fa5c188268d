//! One scenario on the page: the scrubber's frame, and everything that stands there without it.

use std::fmt::Write as _;

use super::escape::html;
use super::found::found;
use super::frame::badge;
use super::waterfall::{seconds, waterfall};
use crate::report::Told;
use crate::report::proof::{Case, Compared};
use crate::tape::{Exit, Origin};
use crate::verdict::Kind;

/// Lines of a golden that are shown; more are told by their number.
const GOLDEN_LINES: usize = 200;

/// Draws it.
pub(super) fn section(number: usize, case: &Case) -> String {
    let mut out = format!(
        "<section class=\"case\" data-case=\"{number}\" tabindex=\"-1\">\n<h2>{} <small>{} · claude \
         {}</small></h2>\n<p>{}",
        html(&case.title),
        html(&case.name),
        html(case.version()),
        html(&case.about),
    );
    if !case.tracks.is_empty() {
        let _ = write!(out, " Guards {}.", html(&case.tracks.join(", ")));
    }
    out.push_str("</p>\n");
    verdicts(&mut out, case);
    out.push_str(&waterfall(&case.entries));
    out.push_str(SCRUBBER);
    events(&mut out, case);
    goldens(&mut out, &case.goldens);
    invariants(&mut out, case);
    provenance(&mut out, case);
    out.push_str("</section>\n");
    out
}

/// What the script fills; without it nothing is there to see.
const SCRUBBER: &str = "<div class=\"scrubber js-only\">\n\
    <div class=\"controls\"><button class=\"back\" title=\"one event back (←)\">◀</button>\
    <button class=\"play\" title=\"play or stop (space)\">▶ play</button>\
    <button class=\"on\" title=\"one event on (→)\">▶</button>\
    <input class=\"time\" type=\"range\" min=\"0\" value=\"0\" aria-label=\"virtual time\">\
    <output class=\"clock\"></output></div>\n\
    <div class=\"panes\"><div class=\"phone\" aria-live=\"off\"><div class=\"chat\"></div></div>\n\
    <div class=\"detail\"><h3 class=\"what\"></h3><pre class=\"entry\"></pre>\
    <h3 class=\"which\"></h3><pre class=\"record\"></pre></div></div>\n</div>\n";

fn verdicts(out: &mut String, case: &Case) {
    let invariants = case.invariants();
    let held = invariants.iter().filter(|(_, broken)| broken.is_none()).count();
    let all_goldens = case.goldens.iter().all(|golden| golden.finding.is_none());
    let _ = writeln!(
        out,
        "<p class=\"verdicts\">{} {} {}",
        badge(all_goldens && !case.goldens.is_empty(), &case.goldens_word()),
        badge(case.diverging().is_none() && case.plans > 0, &case.sweep_word()),
        badge(held == invariants.len(), &format!("{} invariants, {held} held", invariants.len())),
    );
    if case.manifest.origin != Origin::Recorded {
        let word = format!("{}: not recorded by clitape", origin(case.manifest.origin));
        out.push_str(&badge(false, &word));
    }
    out.push_str("</p>\n");
    if let Some(finding) = case.diverging() {
        out.push_str(&found(&Told::from(finding)));
    }
}

/// Every event, so that it can be read without the script.
fn events(out: &mut String, case: &Case) {
    out.push_str(
        "<details class=\"events\" open><summary>Events</summary>\n<div class=\"lanes js-only\">\
         </div>\n<div class=\"scroll\"><table><thead><tr><th>time</th><th>lane</th><th>event</th>\
         </tr></thead><tbody>\n",
    );
    for (number, entry) in case.entries.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr data-entry=\"{number}\" class=\"{lane}\"><td>{}</td><td>{lane}</td><td>{}</td></tr>",
            seconds(entry.at),
            html(&entry.headline()),
            lane = entry.lane,
        );
    }
    out.push_str("</tbody></table></div></details>\n");
}

fn goldens(out: &mut String, goldens: &[Compared]) {
    out.push_str("<h3>Goldens</h3>\n");
    for Compared { view, path, text, finding } in goldens {
        let word = if finding.is_some() { "differs" } else { "held" };
        let open = if finding.is_some() { " open" } else { "" };
        let _ = writeln!(
            out,
            "<details{open}><summary>{} {} <small>{}</small></summary>",
            badge(finding.is_none(), word),
            html(view),
            html(path)
        );
        if let Some(finding) = finding {
            out.push_str(&found(&Told::from(finding)));
        }
        if let Some(text) = text {
            let lines: Vec<&str> = text.lines().collect();
            let shown = lines.iter().take(GOLDEN_LINES).map(|line| html(line) + "\n");
            let _ = write!(out, "<pre class=\"golden\">{}", shown.collect::<String>());
            if lines.len() > GOLDEN_LINES {
                let _ = write!(out, "… {} more lines", lines.len() - GOLDEN_LINES);
            }
            out.push_str("</pre>\n");
        }
        out.push_str("</details>\n");
    }
}

fn invariants(out: &mut String, case: &Case) {
    out.push_str(
        "<h3>Invariants</h3>\n<p class=\"note\">Held in every channel, paced and under every \
         plan.</p>\n<table class=\"invariants\"><tbody>\n",
    );
    for (kind, broken) in case.invariants() {
        let verdict = badge(broken.is_none(), if broken.is_none() { "held" } else { "broken" });
        let sentence = broken.map_or_else(|| must(kind).to_owned(), |found| found.sentence.clone());
        let kind = html(&kind.to_string());
        let _ =
            writeln!(out, "<tr><td>{verdict}</td><td>{kind}</td><td>{}</td></tr>", html(&sentence));
    }
    out.push_str("</tbody></table>\n");
}

/// What an invariant demands.
pub(super) fn must(kind: Kind) -> &'static str {
    match kind {
        Kind::LineLost => "Every line of stdout is accounted for.",
        Kind::ToolUnbalanced => "Every tool call starts once and ends once, in this order.",
        Kind::BusBroken => "The bus counts without gaps; the run starts first and ends once, last.",
        Kind::EditAfterFinal => "No edit comes once the final text is in the chat.",
        Kind::FinalNotOnce => {
            "The final text reaches the chat exactly once; never in a silent run."
        }
        Kind::SecondMessage => "The draft is one message, edited forward.",
        Kind::TooFast => "Calls of the draft keep a second apart.",
        Kind::ToldAfterSend => {
            "Once the agent has sent its message with a tool, the draft shows nothing more."
        }
        Kind::SilentRunTold => "Nothing of a silent run reaches the chat.",
        Kind::CallbackFailed => "No callback of the channel fails or is given up.",
        Kind::CalledTooEarly => {
            "No call comes before the time that the chat's server asked to wait is over."
        }
        _ => "",
    }
}

fn provenance(out: &mut String, case: &Case) {
    let manifest = &case.manifest;
    let cli = &manifest.cli;
    let redactions: Vec<String> =
        manifest.canonical.iter().map(|(rule, count)| format!("{rule} ×{count}")).collect();
    let exit = match manifest.exit {
        None => "not known".to_owned(),
        Some(Exit::Code(code)) => format!("code {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
    };
    let counts = manifest.counts;
    let or_unknown = |text: String| if text.is_empty() { "not known".to_owned() } else { text };
    let hash = |name: &str| manifest.sha256.get(name).cloned().unwrap_or_default();
    let rows = [
        ("Origin", origin(manifest.origin).to_owned()),
        ("CLI", format!("claude {}", cli.version)),
        ("Command line", or_unknown(cli.argv.join(" "))),
        ("Platform", or_unknown(cli.platform.clone())),
        ("Date", cli.date.clone()),
        ("Exit", exit),
        ("Size", format!("{} bytes, {} lines, {} reads", counts.bytes, counts.lines, counts.reads)),
        ("SHA-256 of raw stdout", or_unknown(hash("raw-stdout"))),
        ("SHA-256 of stdout.jsonl", or_unknown(hash("stdout.jsonl"))),
        ("Replaced, by rule", redactions.join(", ")),
        ("Shown here", format!("whole lines, as goldens are made: {}", case.command)),
    ];
    out.push_str("<h3>Provenance</h3>\n<dl class=\"provenance\">\n");
    for (name, value) in rows {
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", html(&value));
    }
    out.push_str("</dl>\n");
}

/// How the bytes came to be, for people.
pub(crate) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Recorded => "recorded from the real CLI",
        Origin::Imported => "imported from a capture made elsewhere",
        Origin::Composed => "composed from parts of recordings",
        Origin::Edited => "recorded, then edited by hand",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::invariants;

    #[test]
    fn every_invariant_says_what_it_demands() {
        for kind in invariants() {
            assert!(!must(kind).is_empty(), "{kind} has no sentence");
        }
    }
}
