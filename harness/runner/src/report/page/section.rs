//! One scenario on the page: its verdicts, its runs, and what they were held against.

use std::fmt::Write as _;

use super::escape::html;
use super::found::found;
use super::frame::badge;
use super::provenance::{origin, provenance};
use super::run::run;
use crate::cassette::Origin;
use crate::check::FindingKind;
use crate::suite::{Case, ComparedGolden};
use crate::text::plural;

/// Lines of a golden that are shown; more are told by their number.
const GOLDEN_LINES: usize = 200;

/// Draws it; `place` is the place of its first run among all runs of the page, from 0.
pub(super) fn section(place: usize, case: &Case) -> String {
    let mut out = format!(
        "<section class=\"case\">\n<h2>{} <small>{} · claude {}</small></h2>\n<p>{}",
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
    for (place, of) in (place..).zip(&case.runs) {
        out.push_str(&run(place, of, case.runs.len() == 1));
    }
    goldens(&mut out, &case.goldens);
    invariants(&mut out, case);
    provenance(&mut out, case);
    out.push_str("</section>\n");
    out
}

fn verdicts(out: &mut String, case: &Case) {
    let invariants = case.invariants();
    let held = invariants.iter().filter(|(_, broken)| broken.is_none()).count();
    let all_goldens = case.goldens.iter().all(|golden| golden.finding.is_none());
    let _ = writeln!(
        out,
        "<p class=\"verdicts\">{} {} {}",
        badge(all_goldens && !case.goldens.is_empty(), &case.goldens_word()),
        badge(case.diverging().is_none() && case.plans > 0, &case.sweep_word()),
        badge(
            held == invariants.len(),
            &format!("{}, {held} held", plural(invariants.len(), "invariant"))
        ),
    );
    if case.manifest.origin != Origin::Recorded {
        let word = format!("{}: not recorded by clitape", origin(case.manifest.origin));
        out.push_str(&badge(false, &word));
    }
    out.push_str("</p>\n");
    if let Some(finding) = case.diverging() {
        out.push_str(&found(finding));
    }
}

fn goldens(out: &mut String, goldens: &[ComparedGolden]) {
    out.push_str("<h3>Goldens</h3>\n");
    for ComparedGolden { view, path, text, finding } in goldens {
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
            out.push_str(&found(finding));
        }
        if let Some(text) = text {
            let lines: Vec<&str> = text.lines().collect();
            let shown = lines.iter().take(GOLDEN_LINES).map(|line| html(line) + "\n");
            let _ = write!(out, "<pre class=\"golden\">{}", shown.collect::<String>());
            if lines.len() > GOLDEN_LINES {
                let _ = write!(out, "… {}", plural(lines.len() - GOLDEN_LINES, "more line"));
            }
            out.push_str("</pre>\n");
        }
        out.push_str("</details>\n");
    }
}

fn invariants(out: &mut String, case: &Case) {
    let further = match case.runs.len() {
        1 => "",
        _ => "; further runs paced, in one chat",
    };
    let _ = writeln!(
        out,
        "<h3>Invariants</h3>\n<p class=\"note\">Held in every channel, paced and under every \
         plan{further}.</p>\n<table class=\"invariants\"><tbody>",
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
pub(super) fn must(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::LineLost => "Every line of stdout is accounted for.",
        FindingKind::ToolUnbalanced => "Every tool call starts once and ends once, in this order.",
        FindingKind::BusBroken => {
            "The bus counts without gaps; the run starts first and ends once, last."
        }
        FindingKind::EditAfterFinal => "No edit comes once the final text is in the chat.",
        FindingKind::FinalNotOnce => {
            "The final text reaches the chat exactly once; never in a silent run."
        }
        FindingKind::SecondMessage => "The draft is one message, edited forward.",
        FindingKind::TooFast => "Calls of the draft keep a second apart.",
        FindingKind::ToldAfterSend => {
            "Once the agent has sent its message with a tool, the draft shows nothing more."
        }
        FindingKind::SilentRunTold => "Nothing of a silent run reaches the chat.",
        FindingKind::CallbackFailed => "No callback of the channel fails or is given up.",
        FindingKind::CalledTooEarly => {
            "No call comes before the time that the chat's server asked to wait is over."
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::invariants;

    #[test]
    fn every_invariant_says_what_it_demands() {
        for kind in invariants() {
            assert!(!must(kind).is_empty(), "{kind} has no sentence");
        }
    }
}
