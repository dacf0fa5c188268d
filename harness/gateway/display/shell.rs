//! Says what a shell command does, in a few words: `list files in /tmp -> run wc`.
//!
//! A table names the commands that have words of their own. A command that nothing in the table
//! knows is shown as it stands.

use super::detail::clip;
use super::words::{Stage, stages};
use crate::sanitise::redact_text;

/// Characters of the whole summary, and of a command shown as it stands.
const LIMIT: usize = 120;
/// Characters of one argument.
const ARGUMENT_LIMIT: usize = 60;
/// Stages such as `cd x` at the front that are taken off.
const PREAMBLE_LIMIT: usize = 4;

/// What is said of a command.
enum Say {
    /// Always the same.
    This(&'static str),
    /// With its arguments, and without: `show T`, `show text`.
    Of(&'static str, &'static str),
    /// Words before the first and between the two arguments: `copy A to B`.
    Two(&'static str, &'static str),
    /// By its first argument, which is a verb; then what is said of any other verb.
    Verb(&'static [(&'static str, &'static str)]),
    /// A pattern, then where.
    Search,
    /// `find`.
    Find,
    /// `head` and `tail`: which lines.
    Lines(&'static str),
    /// `sed`.
    Sed,
    /// The address among its arguments.
    Fetch,
    /// A script after `-c` or `-e`.
    Inline,
}

const GIT: &[(&str, &str)] = &[
    ("status", "check git status"),
    ("diff", "check git diff"),
    ("log", "view git history"),
    ("show", "show git object"),
    ("branch", "list git branches"),
    ("checkout", "switch git branch"),
    ("switch", "switch git branch"),
    ("commit", "create git commit"),
    ("pull", "pull git changes"),
    ("push", "push git changes"),
    ("fetch", "fetch git changes"),
    ("merge", "merge git changes"),
    ("rebase", "rebase git branch"),
    ("add", "stage git changes"),
    ("restore", "restore git files"),
    ("reset", "reset git branch"),
    ("stash", "stash git changes"),
    ("clone", "clone git repository"),
];

const PACKAGES: &[(&str, &str)] = &[
    ("install", "install dependencies"),
    ("i", "install dependencies"),
    ("ci", "install dependencies"),
    ("add", "add dependencies"),
    ("test", "run tests"),
    ("t", "run tests"),
    ("build", "run build"),
    ("start", "start app"),
    ("lint", "run lint"),
];

const TABLE: &[(&[&str], Say)] = &[
    (&["ls"], Say::Of("list files in ", "list files")),
    (&["cat", "bat", "less", "more"], Say::Of("show ", "show text")),
    (&["head"], Say::Lines("first")),
    (&["tail"], Say::Lines("last")),
    (&["grep", "egrep", "fgrep", "rg"], Say::Search),
    (&["find"], Say::Find),
    (&["sed"], Say::Sed),
    (&["echo", "printf"], Say::This("print text")),
    (&["pwd"], Say::This("show the current folder")),
    (&["cp"], Say::Two("copy ", " to ")),
    (&["mv"], Say::Two("move ", " to ")),
    (&["rm", "rmdir"], Say::Of("remove ", "remove files")),
    (&["mkdir"], Say::Of("create folder ", "create a folder")),
    (&["touch"], Say::Of("create file ", "create a file")),
    (&["curl", "wget"], Say::Fetch),
    (&["git"], Say::Verb(GIT)),
    (&["npm", "pnpm", "yarn", "bun"], Say::Verb(PACKAGES)),
    (&["node", "python", "python3", "ruby", "php", "perl"], Say::Inline),
];

/// What `command` does, or the command itself on one line, without its secrets.
pub(super) fn explain(command: &str) -> String {
    let command = redact_text(command.trim());
    clip(
        &summary(&command)
            .unwrap_or_else(|| command.split_whitespace().collect::<Vec<_>>().join(" ")),
        LIMIT,
    )
}

fn summary(command: &str) -> Option<String> {
    let mut stages = stages(command)?;
    if let [only] = stages.as_slice()
        && let Some(script) = wrapped(only)
    {
        return summary(script);
    }
    let mut folder = None;
    let is_preamble = |stage: &Stage| {
        let first = stage.pipe[0][0].as_str();
        stage.pipe.len() == 1 && ["cd", "set", "export", "unset"].contains(&first)
    };
    let count = stages.iter().take(PREAMBLE_LIMIT).take_while(|s| is_preamble(s)).count();
    // `cd x` alone is told as it stands.
    if count < stages.len() {
        for stage in stages.drain(..count) {
            if stage.pipe[0][0] == "cd" {
                folder = stage.pipe[0].get(1).cloned();
            }
        }
    }
    let told: Vec<Told> = stages.iter().map(tell_stage).collect();
    if told.iter().all(|told| told.is_generic) {
        return None;
    }
    let words: Vec<String> = told.into_iter().map(|told| told.words).collect();
    let place = folder.map_or_else(String::new, |folder| format!(" (in {})", argument(&folder)));
    Some(format!("{}{place}", words.join(" → ")))
}

/// The script in `bash -lc '…'`.
fn wrapped(stage: &Stage) -> Option<&str> {
    match stage.pipe.as_slice() {
        [words] => match words.as_slice() {
            [bin, option, script]
                if ["bash", "sh", "zsh"].contains(&bin.as_str())
                    && ["-c", "-lc", "-ec"].contains(&option.as_str()) =>
            {
                Some(script)
            }
            _ => None,
        },
        _ => None,
    }
}

/// What is said of a command, and whether it is only its name.
struct Told {
    words: String,
    is_generic: bool,
}

fn tell_stage(stage: &Stage) -> Told {
    let mut told: Vec<Told> = stage.pipe.iter().map(|words| tell(words)).collect();
    let is_generic = told.iter().all(|told| told.is_generic);
    let last = if told.len() > 1 { told.pop() } else { None };
    let hidden = told.len().saturating_sub(1);
    let mut words = told.swap_remove(0).words;
    if let Some(last) = last {
        words = format!("{words} -> {}", last.words);
    }
    if hidden > 0 {
        words = format!("{words} (+{hidden} step{})", if hidden == 1 { "" } else { "s" });
    }
    if let Some(file) = &stage.output {
        words = format!("{words} to {}", argument(file));
    }
    Told { words, is_generic }
}

fn tell(words: &[String]) -> Told {
    let (path, args) = words.split_first().map_or(("", words), |(b, a)| (b.as_str(), a));
    let bin = path.rsplit('/').next().unwrap_or(path);
    let say = TABLE.iter().find(|(names, _)| names.contains(&bin));
    match say.and_then(|(_, say)| phrase(say, bin, args)) {
        Some(words) => Told { words, is_generic: false },
        None => Told { words: run(bin, args), is_generic: true },
    }
}

fn run(bin: &str, args: &[String]) -> String {
    let is_plain = |a: &&String| {
        a.len() <= 48 && a.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c))
    };
    match args.first().filter(|a| !a.starts_with('-')).filter(is_plain) {
        Some(arg) => format!("run {bin} {arg}"),
        None => format!("run {bin}"),
    }
}

fn phrase(say: &Say, bin: &str, args: &[String]) -> Option<String> {
    let plain: Vec<&str> = plain(args);
    let joined = || plain.iter().map(|a| argument(a)).collect::<Vec<_>>().join(" ");
    Some(match say {
        Say::This(words) => (*words).to_owned(),
        Say::Of(_, without) if plain.is_empty() => (*without).to_owned(),
        Say::Of(with, _) => format!("{with}{}", joined()),
        Say::Two(before, between) => {
            let (to, from) = plain.split_last().filter(|(_, from)| !from.is_empty())?;
            let from: Vec<String> = from.iter().map(|a| argument(a)).collect();
            format!("{before}{}{between}{}", from.join(" "), argument(to))
        }
        Say::Verb(verbs) => verb(verbs, args)?,
        Say::Search => search(args)?,
        Say::Find => find(args),
        Say::Lines(which) => lines(which, args),
        Say::Sed => sed(args)?,
        Say::Fetch => {
            let is_address = |a: &&&String| a.contains("://") || a.starts_with("localhost");
            format!("fetch {}", argument(args.iter().find(|a| is_address(&a))?))
        }
        Say::Inline => {
            let is_script = |a: &String| a == "-c" || a == "-e";
            args.iter().any(is_script).then(|| format!("run {bin} inline script"))?
        }
    })
}

fn plain(args: &[String]) -> Vec<&str> {
    let is_plain = |a: &&str| !a.starts_with('-');
    args.iter().map(String::as_str).filter(is_plain).collect()
}

fn argument(text: &str) -> String {
    clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), ARGUMENT_LIMIT)
}

fn verb(verbs: &[(&str, &str)], args: &[String]) -> Option<String> {
    let mut args = args.iter().map(String::as_str);
    let verb = loop {
        match args.next()? {
            // The options of git that take a value.
            "-C" | "-c" => drop(args.next()),
            option if option.starts_with('-') => {}
            verb => break verb,
        }
    };
    match (verb, args.next()) {
        ("run", Some(script)) => Some(format!("run {}", argument(script))),
        _ => verbs.iter().find(|(name, _)| *name == verb).map(|(_, words)| (*words).to_owned()),
    }
}

fn search(args: &[String]) -> Option<String> {
    const WITH_VALUE: [&str; 10] = ["-A", "-B", "-C", "-m", "-f", "-g", "-t", "-T", "-d", "--glob"];
    let mut plain = Vec::new();
    let mut pattern = None;
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "-e" | "--regexp" => pattern = args.next(),
            _ if WITH_VALUE.contains(&arg) => drop(args.next()),
            _ if arg.starts_with('-') && arg.len() > 1 => {}
            _ if pattern.is_none() => pattern = Some(arg),
            _ => plain.push(argument(arg)),
        }
    }
    let pattern = argument(pattern?);
    Some(match plain.is_empty() {
        true => format!("search \"{pattern}\""),
        false => format!("search \"{pattern}\" in {}", plain.join(" ")),
    })
}

fn find(args: &[String]) -> String {
    let name = (args.iter().position(|a| a == "-name" || a == "-iname"))
        .and_then(|at| args.get(at + 1))
        .map_or_else(String::new, |name| format!(" named \"{}\"", argument(name)));
    let place = args.first().filter(|a| !a.starts_with('-'));
    let place = place.map_or_else(String::new, |place| format!(" in {}", argument(place)));
    format!("find files{name}{place}")
}

fn lines(which: &str, args: &[String]) -> String {
    let mut count = "10".to_owned();
    let mut file = None;
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg.strip_prefix('-') {
            Some("n" | "c" | "-lines") => count = args.next().unwrap_or_default().to_owned(),
            Some(option) => {
                let digits = option.trim_start_matches(['n', '-', '=']);
                if digits.starts_with(|c: char| c.is_ascii_digit()) {
                    count = digits.to_owned();
                }
            }
            None => file = Some(arg),
        }
    }
    match file {
        Some(file) => format!("show {which} {count} lines of {}", argument(file)),
        None => format!("show {which} {count} lines"),
    }
}

fn sed(args: &[String]) -> Option<String> {
    let has = |option: &str| args.iter().any(|a| a.starts_with(option));
    let (script, files) = plain(args).split_first().map(|(s, f)| (*s, f.to_vec()))?;
    let file = argument(files.first()?);
    let range = script.strip_suffix('p').map(|range| range.replace(',', "-"));
    match range {
        Some(range) if has("-n") => Some(format!("show lines {range} of {file}")),
        _ if has("-i") => Some(format!("edit {file}")),
        _ => None,
    }
}
