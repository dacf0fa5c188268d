//! One run of the CLI on the page: what it was asked, the waterfall, the scrubber and the events.

use std::fmt::Write as _;

use super::escape::html;
use super::waterfall::{seconds, waterfall};
use crate::suite::CaseRun;

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

/// Draws it; `place` is its place among all runs of the page, from 0, and `alone` says that its
/// scenario has no other.
pub(super) fn run(place: usize, run: &CaseRun, alone: bool) -> String {
    let mut out = format!("<section class=\"run\" data-run=\"{place}\" tabindex=\"-1\">\n");
    if !alone {
        let how = run.resumed().unwrap_or("begins the session");
        let _ = writeln!(out, "<h3>Run {} <small>{how}</small></h3>", run.number);
    }
    if let Some(prompt) = run.prompt() {
        let _ = writeln!(out, "<p class=\"asked\"><b>Prompt</b> <q>{}</q></p>", html(prompt));
    }
    out.push_str(&waterfall(&run.entries));
    out.push_str(SCRUBBER);
    events(&mut out, run);
    out.push_str("</section>\n");
    out
}

/// Every event, so that it can be read without the script.
fn events(out: &mut String, run: &CaseRun) {
    out.push_str(
        "<details class=\"events\" open><summary>Events</summary>\n<div class=\"lanes js-only\">\
         </div>\n<div class=\"scroll\"><table><thead><tr><th>time</th><th>lane</th><th>event</th>\
         </tr></thead><tbody>\n",
    );
    for (number, entry) in run.entries.iter().enumerate() {
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
