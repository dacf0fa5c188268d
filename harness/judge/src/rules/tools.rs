//! The rules of tools: a person reads which tools run, and with which argument. A secret that only the input or the
//! result of a call has is on no bus and in no channel, not even its beginning while the input streams.

use std::collections::BTreeSet;

use clitape_gateway::sanitise;
use clitape_recording::chat::SeenMessage;
use clitape_recording::facts::{ToolFacts, ToolOutcome, texts_in};
use clitape_recording::text::{quoted, solid};
use clitape_recording::trace::Lane;

use super::answer;
use crate::case::{Broken, Case, by, by_index, whole};
use crate::observation::PlayedTurn;
use crate::words::{letters, seconds};

/// The duration of a turn below which it may end before a draft can show its tools, in ms.
const QUICK_TURN_MS: u64 = 4_000;
/// The faults of the server after which a gateway may give its draft up, so that no text is there twice.
const BREAKS: [&str; 6] = ["lost-reply", "hang", "server-error", "bad-gateway", "reset", "restart"];
/// The number of letters that are enough to recognise a tool's argument.
const ARGUMENT: usize = 8;
/// The words for the work of a tool, where a gateway does not write its name.
const WORDS: [(&str, &[&str]); 14] = [
    ("Bash", &["command", "shell", "terminal", "exec"]),
    ("Edit", &["edit", "chang", "modif", "updat"]),
    ("MultiEdit", &["edit", "chang", "modif", "updat"]),
    ("Write", &["writ", "creat"]),
    ("Read", &["read", "open", "view"]),
    ("Grep", &["search", "find", "grep"]),
    ("Glob", &["search", "find", "glob", "files"]),
    ("WebFetch", &["fetch", "web", "download"]),
    ("WebSearch", &["search", "web"]),
    ("web_search", &["search", "web"]),
    ("Task", &["agent", "task", "helper"]),
    ("Agent", &["agent", "task", "helper"]),
    ("TodoWrite", &["todo", "task", "plan"]),
    ("AskUserQuestion", &["question", "ask", "answer"]),
];
/// The forms in which programs print a missing argument.
const NOTHING: [&str; 5] = ["{}", "undefined", "null", "none", "[object object]"];

/// Checks that a person reads in the chat that tools ran, if the subject shows tools.
pub(crate) fn untold(case: Case<'_>) -> Option<Broken<'_>> {
    if !case.traits.shows_tools {
        return None;
    }
    let tools: Vec<&ToolFacts> = case.played().flat_map(|(_, turn)| &turn.tools).collect();
    let is_told = |tool: &&ToolFacts| {
        case.shown().any(|(_, entry)| {
            let text = entry.plain_text();
            let own = case.own_lines(&text);
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let is_told = |line: &&str| {
                let is_own = own.contains(line);
                (is_own || has_sign(line)) && names(line, tool) || is_own && explains(line)
            };
            // A sign and a word may have the command below them.
            let is_below = |two: &[&str]| has_sign(two[0]) && is_of_input(two[1], tool);
            lines.iter().any(is_told) || lines.windows(2).any(is_below)
        })
    };
    if tools.is_empty()
        || tools.iter().any(is_told)
        || took(case) < QUICK_TURN_MS + waits_ms(case)
        || case.calls().any(|(_, entry)| BREAKS.contains(&entry.text("answer")))
        // Where nothing of the answer is left, that is the fault.
        || answer::missing(case).is_some()
    {
        return None;
    }
    let first = tools.first()?;
    let on = first.main_argument.as_deref().map(quoted).unwrap_or_default();
    let times = match tools.len() {
        1 => "a tool".to_owned(),
        several => format!("{several} tools"),
    };
    whole(format!(
        "claude called {times}, the first was {} {on}, and no message of the chat ever said so",
        first.name
    ))
}

/// Returns the total time for which the server asked to wait, in ms; no draft can change then.
fn waits_ms(case: Case<'_>) -> u64 {
    case.calls().filter_map(|(_, entry)| entry.wait_s()).sum::<u64>() * 1_000
}

/// Returns the duration of the longest turn with a tool in ms: by the stand-in's times, else from the first call of the
/// subject to the last.
fn took(case: Case<'_>) -> u64 {
    let times: Option<Vec<u64>> = case
        .played()
        .filter(|(_, turn)| !turn.tools.is_empty())
        .map(|(number, _)| case.times(number))
        .map(|times| times.and_then(|times| awake_ms(case, times)))
        .collect();
    times.map_or_else(
        || {
            let at = |entry: Option<(usize, &clitape_recording::trace::Entry)>| {
                entry.map_or(0, |(_, entry)| entry.at)
            };
            at(case.calls().last()).saturating_sub(at(case.calls().next()))
        },
        |times| times.into_iter().max().unwrap_or(0),
    )
}

/// Returns the duration of a turn in ms, without the time before the first call of a subject that calls before the turn
/// ends, and without the time after its last call: on a loaded machine the subject and the stand-in wait for a processor, so
/// that there was no time for a draft. `None` if the turn has no end.
fn awake_ms(case: Case<'_>, times: PlayedTurn) -> Option<u64> {
    let ended = times.ended_ms?;
    let calls = || case.calls().map(|(_, entry)| entry.at);
    let first = calls().find(|at| (times.began_ms..ended).contains(at));
    let Some(first) = first else { return Some(ended.saturating_sub(times.began_ms)) };
    let last = calls().filter(|at| (first..ended).contains(at)).last().unwrap_or(first);
    let is_over = !calls().any(|at| at >= ended);
    Some(if is_over { last } else { ended }.saturating_sub(first))
}

/// Returns whether a text in the input of a call has this line.
fn is_of_input(line: &str, tool: &ToolFacts) -> bool {
    let shown = letters(line);
    shown.chars().count() >= ARGUMENT && has_text(tool, &shown)
}

/// Returns whether a line with a pictogram has the argument of a tool's call.
pub(super) fn is_line_of(line: &str, tool: &ToolFacts) -> bool {
    let has_argument = |argument: String| letters(line).contains(&argument);
    has_sign(line) && known_argument(tool).is_some_and(has_argument)
}

/// The words of a mere status.
const STATUS: [&str; 7] =
    ["working", "thinking", "running", "processing", "loading", "please wait", "one moment"];

/// Returns whether a line begins with a pictogram, as lines of tools do.
fn has_sign(line: &str) -> bool {
    line.trim_start().chars().next().is_some_and(|sign| !sign.is_ascii() && !sign.is_alphanumeric())
}

/// Returns whether a line begins with a pictogram and has more than a status: a command described in words, such as `🛠️
/// list files -> run wc`, has neither the tool's name nor its argument.
fn explains(line: &str) -> bool {
    let words = line.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    let line = line.to_lowercase();
    has_sign(&line) && words.count() > 1 && !STATUS.iter().any(|status| line.contains(status))
}

/// Returns whether a line of the subject names the tool or its work, or has a text of its input, such as the
/// description of a command.
fn names(line: &str, tool: &ToolFacts) -> bool {
    let line = line.to_lowercase();
    let letters_of_line = letters(&line);
    if is_of_input(&line, tool) {
        return true;
    }
    let own = own_name(tool);
    let words =
        WORDS.iter().find(|(name, _)| *name == tool.name).map_or(&[][..], |(_, words)| words);
    let argument = tool.main_argument.as_deref().and_then(|argument| {
        let end = argument.rsplit('/').next().unwrap_or(argument);
        let text = letters(end);
        let cut = text.char_indices().nth(ARGUMENT).map_or(text.len(), |(at, _)| at);
        (cut >= 3).then(|| text[..cut].to_owned())
    });
    letters_of_line.contains(&letters(own))
        || words.iter().any(|word| line.contains(word))
        || argument.is_some_and(|argument| letters_of_line.contains(&argument))
}

/// Checks that no line of a tool shows an existing argument as empty, or stays at the beginning of its JSON.
pub(crate) fn arguments_empty(case: Case<'_>) -> Option<Broken<'_>> {
    shown_empty(case).or_else(|| broken_off(case))
}

/// The characters of JSON from which a line may be cut on purpose.
const CUT_JSON: usize = 20;

/// Finds a line that has only the first characters of the JSON of a call, if no line has the argument of any such call.
fn broken_off(case: Case<'_>) -> Option<Broken<'_>> {
    let is_shown = |argument: &String| {
        case.chat().ever_seen().any(|version| version.letters().contains(argument.as_str()))
    };
    let calls: Vec<(&str, String, bool)> = case
        .played()
        .flat_map(|(_, turn)| &turn.tools)
        .filter_map(|tool| {
            let (argument, input) = (known_argument(tool)?, tool.input.as_ref()?);
            Some((own_name(tool), solid(&input.to_string()), is_shown(&argument)))
        })
        .collect();
    let broken = |line: &str| {
        let json = &line[line.find("{\"")?..];
        let is_short = json.chars().count() < CUT_JSON && !json.ends_with(['…', '.', '}']);
        let json = solid(json);
        let is_of = |(name, input, _): &&(&str, String, bool)| {
            line.contains(*name) && input.starts_with(&json)
        };
        let its: Vec<_> = calls.iter().filter(|_| is_short).filter(is_of).collect();
        its.iter().all(|(_, _, is_shown)| !is_shown).then_some(its.first()?.0)
    };
    // In a quick turn the answer may come before a draft with the rest.
    let is_slow = took(case) >= QUICK_TURN_MS + waits_ms(case);
    case.chat().ever_seen().filter(|_| is_slow).find_map(|version| {
        let mut lines = version.plain_text().lines().map(str::trim_end);
        let (line, name) = lines.find_map(|line| Some((line, broken(line)?)))?;
        let (at, line) = (seconds(version.at), quoted(line));
        let what = format!("the input of {name} breaks off, and no line has the rest");
        by_index(case, version.entry, format!("at {at} the person reads {line}: {what}"))
    })
}

/// Finds a line of a tool that shows an existing argument as empty.
fn shown_empty(case: Case<'_>) -> Option<Broken<'_>> {
    let tools = case.played().flat_map(|(_, turn)| &turn.tools);
    let names: BTreeSet<String> = tools
        .filter(|tool| tool.main_argument.is_some())
        .map(|tool| tool.name.to_lowercase())
        .collect();
    let has_nothing = |text: &str| {
        let is_in = |nothing: &&str| {
            let (text, nothing) = (text.as_bytes(), nothing.as_bytes());
            text.windows(nothing.len()).any(|part| part.eq_ignore_ascii_case(nothing))
        };
        NOTHING.iter().any(is_in)
    };
    case.chat().ever_seen().filter(|version| has_nothing(version.plain_text())).find_map(
        |version| {
            let is_empty = |line: &&str| is_empty_call(&line.to_lowercase(), &names);
            // The name of a tool alone may be in a word of the model, as "read" is in "bread".
            let is_own = |line: &&str| has_sign(line) || !case.own_lines(line).is_empty();
            let line = version.plain_text().lines().filter(is_empty).find(is_own)?;
            by_index(
                case,
                version.entry,
                format!(
                    "at {} the person reads {}: the tool's input is shown as empty, and it is not",
                    seconds(version.at),
                    quoted(line)
                ),
            )
        },
    )
}

/// The signs with which a line says that its call is done.
const DONE: [char; 4] = ['✅', '✔', '☑', '🟢'];
/// The parts of words with which it says the opposite.
const FAILED_WORDS: [&str; 5] = ["fail", "error", "denied", "refused", "exit"];

/// Checks that no line says of a call that failed that it is done.
pub(crate) fn failure_shown_done(case: Case<'_>) -> Option<Broken<'_>> {
    let turns = || case.played().map(|(_, turn)| turn);
    let asked: BTreeSet<&str> = turns()
        .flat_map(|turn| &turn.questions)
        .filter_map(|question| question.call.as_deref())
        .collect();
    let tools: Vec<&ToolFacts> = turns().flat_map(|turn| &turn.tools).collect();
    let failed = tools.iter().filter(|tool| tool.outcome == Some(ToolOutcome::Failed));
    let failed = failed.filter(|tool| !asked.contains(tool.id.as_str())).filter_map(|tool| {
        let argument = known_argument(tool)?;
        (tools.iter().filter(|other| has_text(other, &argument)).count() == 1)
            .then_some((tool, argument))
    });
    let failed: Vec<(&&ToolFacts, String)> = failed.collect();
    let says_done = |line: &str| {
        let lower = line.to_lowercase();
        line.trim_start().starts_with(DONE) && !FAILED_WORDS.iter().any(|word| lower.contains(word))
    };
    case.chat().ever_seen().filter(|_| !failed.is_empty()).find_map(|version| {
        version.plain_text().lines().filter(|line| says_done(line)).find_map(|line| {
            let shown = letters(line);
            let (tool, _) = failed.iter().find(|(_, argument)| shown.contains(argument))?;
            let (at, name, line) = (seconds(version.at), &tool.name, quoted(line));
            let sentence =
                format!("at {at} the person reads {line}, and this call of {name} failed");
            by_index(case, version.entry, sentence)
        })
    })
}

/// Checks that no line with the name of a tool has an argument that only calls of other tools have, and that the calls of
/// one tool are not all shown with the argument of one of them.
pub(crate) fn argument_of_another(case: Case<'_>) -> Option<Broken<'_>> {
    let tools: Vec<&ToolFacts> = case.played().flat_map(|(_, turn)| &turn.tools).collect();
    let arguments: Vec<(&str, String)> =
        tools.iter().filter_map(|tool| Some((own_name(tool), known_argument(tool)?))).collect();
    let of_other_tool = |version: &SeenMessage| {
        version.plain_text().lines().filter(|line| has_sign(line)).find_map(|line| {
            let named = named_first(line, &tools)?;
            let (name, shown) = (own_name(named), letters(line));
            let is_of_name = |argument: &str| {
                let of_name = tools.iter().filter(|tool| own_name(tool) == name);
                of_name.into_iter().any(|tool| has_text(tool, argument))
            };
            let (other, _) = arguments.iter().find(|(other, argument)| {
                *other != name && shown.contains(argument) && !is_of_name(argument)
            })?;
            if case.is_recorded(&shown) {
                return None;
            }
            let line = quoted(line);
            Some(format!("{line}: no call of {name} has this argument, and one of {other} has"))
        })
    };
    let mut seen = case.chat().ever_seen().filter(|_| !arguments.is_empty());
    seen.find_map(|version| {
        let what = of_other_tool(version).or_else(|| argument_of_all(case, &tools, version))?;
        let at = seconds(version.at);
        by_index(case, version.entry, format!("at {at} the person reads {what}"))
    })
}

/// Finds a tool of which a message has a line for each call, all with the argument that only one call has. Nothing is
/// said where a line ever has the argument of another call.
fn argument_of_all(case: Case<'_>, tools: &[&ToolFacts], version: &SeenMessage) -> Option<String> {
    tools.iter().find_map(|tool| {
        let (name, argument) = (own_name(tool), known_argument(tool)?);
        let is_of_name = |other: &&&ToolFacts| own_name(other) == name;
        let calls: Vec<&ToolFacts> = tools.iter().filter(is_of_name).copied().collect();
        let is_named = |line: &&str| {
            has_sign(line) && named_first(line, tools).is_some_and(|it| own_name(it) == name)
        };
        let named: Vec<&str> = version.plain_text().lines().filter(is_named).collect();
        let is_one_for_all = calls.len() > 1
            && named.len() == calls.len()
            && calls.iter().filter(|call| has_text(call, &argument)).count() == 1
            && named.iter().all(|line| letters(line).contains(&argument));
        let mut others = calls.iter().filter_map(|call| known_argument(call));
        let is_shown = |other: &String| {
            let mut lines =
                case.chat().ever_seen().flat_map(|version| version.plain_text().lines());
            lines.any(|line| is_named(&line) && letters(line).contains(other.as_str()))
        };
        let other = others.find(|other| *other != argument).filter(|_| is_one_for_all)?;
        (!is_shown(&other)).then(|| {
            let (line, times) = (quoted(named[0]), named.len());
            format!("{line} {times} times: only one of {times} calls of {name} has this argument")
        })
    })
}

/// Returns the tool whose name a line has first. The longest counts, because one name may begin with another.
fn named_first<'t>(line: &str, tools: &[&'t ToolFacts]) -> Option<&'t ToolFacts> {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_named = |tool: &&&ToolFacts| {
        let name = own_name(tool);
        let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            && is_end(&line[name.len()..])
    };
    tools.iter().filter(is_named).max_by_key(|tool| own_name(tool).len()).copied()
}

/// Returns the name of a tool without that of its server.
fn own_name(tool: &ToolFacts) -> &str {
    tool.name.rsplit("__").next().unwrap_or(&tool.name)
}

/// Returns whether a text in the input of a call has these letters.
fn has_text(tool: &ToolFacts, words: &str) -> bool {
    tool.input.iter().flat_map(texts_in).any(|text| letters(text).contains(words))
}

/// Returns the letters at the start of a tool's main argument, or of the name of a file, if they are enough to recognise
/// it.
fn known_argument(tool: &ToolFacts) -> Option<String> {
    let argument = tool.main_argument.as_deref()?;
    let is_path = !argument.contains(char::is_whitespace);
    let name = argument.rsplit('/').next().filter(|_| is_path);
    let text = letters(name.unwrap_or(argument));
    let end = text.char_indices().nth(2 * ARGUMENT).map_or(text.len(), |(at, _)| at);
    (text.chars().count() >= ARGUMENT).then(|| text[..end].to_owned())
}

/// Returns whether a line in lower case has the name of a tool and then an empty argument.
fn is_empty_call(line: &str, names: &BTreeSet<String>) -> bool {
    let is_end = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    let is_empty = |after: &str| {
        let after = after.trim_start_matches([':', ' ', '(', '`', '*', '\u{2014}', '-']);
        NOTHING.iter().any(|nothing| after.strip_prefix(nothing).is_some_and(is_end))
    };
    NOTHING.iter().any(|nothing| line.contains(nothing))
        && names
            .iter()
            .any(|name| line.match_indices(name).any(|(at, _)| is_empty(&line[at + name.len()..])))
}

/// The characters of a secret with which a mask may begin.
const MASK_START: usize = 6;

/// Checks that no secret of a call is on the bus or in a channel (B2).
pub(crate) fn secret_told(case: Case<'_>) -> Option<Broken<'_>> {
    let secrets = case.facts.secrets();
    let mut told =
        case.entries.iter().filter(|entry| is_told(entry.lane)).filter(|_| !secrets.is_empty());
    told.find_map(|entry| {
        let texts: Vec<&str> = entry.data.values().flat_map(texts_in).collect();
        let is_open = entry.text("phase") == "update";
        let is_in = |secret: &&String| {
            texts
                .iter()
                .any(|text| text.contains(secret.as_str()) || is_open && begins(text, secret))
        };
        let excerpt = sanitise::mask(secrets.iter().find(is_in)?);
        by(entry, format!("a secret that only a tool has seen is here: {excerpt}"))
    })
}

/// Checks that no secret of a call is ever shown in the chat.
pub(crate) fn secret_shown(case: Case<'_>) -> Option<Broken<'_>> {
    case.facts.secrets().iter().find_map(|secret| {
        let mut seen = case.chat().ever_seen();
        let version = seen.find(|version| version.texts().any(|text| text.contains(secret)))?;
        let kept: String = secret.chars().take(4).collect();
        let (at, length) = (seconds(version.at), secret.chars().count());
        let what = format!("the secret {kept}… ({length} characters), which only a tool has seen");
        by_index(case, version.entry, format!("at {at} the person reads {what}"))
    })
}

/// Returns whether a text ends with more of a secret's beginning than its mask shows.
fn begins(text: &str, secret: &str) -> bool {
    let ends = secret.char_indices().map(|(at, _)| at).skip(MASK_START + 1);
    ends.into_iter().any(|end| text.ends_with(&secret[..end]))
}

fn is_told(lane: Lane) -> bool {
    match lane {
        Lane::Bus | Lane::Telegram | Lane::Acp | Lane::Sse => true,
        Lane::Read | Lane::Lifecycle | Lane::Session => false,
    }
}
