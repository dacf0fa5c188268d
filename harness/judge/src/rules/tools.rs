//! The rules of tools: a person reads which tools run, and with which argument. A secret that only the input or the
//! result of a call has is on no bus and in no channel, not even its beginning while the input streams.

use std::collections::BTreeSet;

use clitape_gateway::sanitise;
use clitape_recording::facts::{ToolFacts, texts_in};
use clitape_recording::trace::Lane;

use crate::case::{Broken, Case, by, by_index, whole};
use crate::words::{letters, quoted, seconds};

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
            text.lines().any(|line| {
                let is_own = own.contains(&line);
                (is_own || has_sign(line)) && names(line, tool) || is_own && explains(line)
            })
        })
    };
    if tools.is_empty()
        || tools.iter().any(is_told)
        || took(case) < QUICK_TURN_MS + waits_ms(case)
        || case.calls().any(|(_, entry)| BREAKS.contains(&entry.text("answer")))
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

/// Returns the duration of the turns in ms: by the stand-in's times, else from the first call of the subject to the
/// last.
fn took(case: Case<'_>) -> u64 {
    let times: Option<Vec<u64>> = case
        .played()
        .map(|(number, _)| case.times(number))
        .map(|times| times.and_then(|times| Some(times.ended_ms?.saturating_sub(times.began_ms))))
        .collect();
    times.map_or_else(
        || {
            let at = |entry: Option<(usize, &clitape_recording::trace::Entry)>| {
                entry.map_or(0, |(_, entry)| entry.at)
            };
            at(case.calls().last()).saturating_sub(at(case.calls().next()))
        },
        |times| times.into_iter().sum(),
    )
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

/// Returns whether a line of the subject names the tool or its work.
fn names(line: &str, tool: &ToolFacts) -> bool {
    let line = line.to_lowercase();
    let letters_of_line = letters(&line);
    let own = tool.name.rsplit("__").next().unwrap_or(&tool.name);
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

/// Checks that no line of a tool shows an existing argument as empty.
pub(crate) fn arguments_empty(case: Case<'_>) -> Option<Broken<'_>> {
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
    case.chat().versions().filter(|version| has_nothing(version.plain_text())).find_map(|version| {
        let is_empty = |line: &&str| is_empty_call(&line.to_lowercase(), &names);
        let is_own = |line: &&str| !case.own_lines(line).is_empty();
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
    })
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
        let mut versions = case.chat().versions();
        let version = versions.find(|version| version.plain_text().contains(secret))?;
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
