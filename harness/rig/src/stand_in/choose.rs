//! Chooses the cassette of a turn: the one that the environment names, the next of a queue, the one that a marker in
//! the prompt names, or the one whose scenario has this prompt.
//!
//! A host may end the process and start another one for the same session; then the cassette is cut at a later turn, or a
//! further run of it is played.

use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use clitape_judge::observation::MARK;
use clitape_recording::cassette::{Cassette, Tick, TickKind};
use clitape_recording::names::{CliVersion, ScenarioName};
use clitape_recording::scenario::{Workspace, read_toml};
use clitape_recording::text::{Keep, truncate};
use clitape_recording::wire::WireLine;
use fs_err as fs;
use nix::fcntl::{Flock, FlockArg};
use serde::Deserialize;

use super::log::{PlayedSession, played_session};
use super::process::StandInError;
use super::settings::Settings;

/// The characters of a prompt that an error quotes.
const PROMPT: usize = 160;

/// Returns the run of a cassette with this number, counted from 1, and the bytes of stdout of the runs before it; the
/// last run if it has fewer.
pub(super) fn from_run(mut cassette: Cassette, number: usize) -> (Cassette, u64) {
    let mut runs = std::mem::take(&mut cassette.further);
    let Some(at) = number.min(runs.len() + 1).checked_sub(2) else { return (cassette, 0) };
    let left_out =
        cassette.stdout.len() + runs[..at].iter().map(|run| run.stdout.len()).sum::<usize>();
    let run = runs.swap_remove(at);
    // The transcript after a run begins with the lines of the runs before it, which another process has written.
    let before = at.checked_sub(1).map_or(&cassette.transcript, |before| &runs[before].transcript);
    let lines = run.transcript.strip_prefix(&before[..]).unwrap_or(&run.transcript).to_vec();
    cassette.manifest.exit = Some(run.facts.exit);
    let cassette = Cassette {
        stdout: run.stdout,
        timeline: run.timeline,
        stderr: run.stderr,
        transcript: lines,
        stdin: Vec::new(),
        ..cassette
    };
    (cassette, left_out as u64)
}

/// The beginning and the end of a marker in a prompt.
const MARKER: (&str, &str) = (MARK, "]]");

/// Returns the workspace that the environment names, or else the nearest one.
fn workspace(settings: &Settings) -> Result<Workspace, StandInError> {
    if let Some(root) = &settings.root {
        return Ok(Workspace::named(root));
    }
    let here = std::env::current_dir()?;
    Workspace::above(&here).ok_or(StandInError::NoWorkspace(here))
}

/// Returns the name in the last marker of a prompt, `NAME` or `NAME/VERSION`. The last one counts, because gateways put
/// earlier messages in front of a prompt.
pub(super) fn marker(prompt: &str) -> Option<&str> {
    whole_marker(prompt).map(|marker| marker.split_once('#').map_or(marker, |(name, _)| name))
}

/// Returns the number of the turn in the last marker of a prompt, such as 2 for `[[clitape:NAME#2]]`; `None` if it
/// names none.
fn marked_turn(prompt: &str) -> Option<usize> {
    whole_marker(prompt).and_then(|marker| marker.split_once('#')?.1.parse().ok())
}

/// Returns the text within the last marker of a prompt.
fn whole_marker(prompt: &str) -> Option<&str> {
    let (_, after) = prompt.rsplit_once(MARKER.0)?;
    after.split_once(MARKER.1).map(|(marker, _)| marker.trim())
}

/// Returns whether a marker names this cassette.
pub(super) fn names(marker: &str, cassette: &Cassette) -> bool {
    let (name, version) = marker.split_once('/').map_or((marker, None), |(n, v)| (n, Some(v)));
    cassette.manifest.scenario == *name
        && version.is_none_or(|version| *cassette.version() == *version)
}

/// Returns the cassette for a prompt, and the number of its turn or run that comes next, if that is known. `resumed` is
/// the session that the process continues.
pub(super) fn choose(
    settings: &Settings,
    prompt: &str,
    is_live: bool,
    resumed: Option<&str>,
) -> Result<(Cassette, Option<usize>), StandInError> {
    let turn = marked_turn(prompt);
    if let Some(named) = &settings.cassette {
        return Ok((named_cassette(settings, named)?, turn));
    }
    if let Some(queue) = &settings.queue {
        return Ok((named_cassette(settings, &take(queue)?)?, turn));
    }
    if let Some(named) = marker(prompt) {
        return Ok((by_name(settings, named)?, turn));
    }
    if let Some(found) = resumed.and_then(|session| of_session(settings, session)) {
        return Ok(found);
    }
    let workspace = workspace(settings)?;
    let name = by_prompt(settings, &workspace, prompt, is_live)?;
    Ok((by_name(settings, &name)?, turn))
}

/// Returns the cassette that a session of this run has played, and its next turn, if it has one.
fn of_session(settings: &Settings, session_id: &str) -> Option<(Cassette, Option<usize>)> {
    let PlayedSession { cassette, turns } = played_session(settings.log.as_deref()?, session_id)?;
    let cassette = by_name(settings, &cassette).ok()?;
    let goes_on = !cassette.further.is_empty() || count_messages(&cassette.stdin) > turns;
    goes_on.then_some((cassette, Some(turns + 1)))
}

/// Finds a cassette by its folder or its name.
fn named_cassette(settings: &Settings, named: &str) -> Result<Cassette, StandInError> {
    let folder = Path::new(named);
    match folder.join("cassette.toml").is_file() {
        true => Ok(Cassette::load(folder)?),
        false => by_name(settings, named),
    }
}

/// Finds a cassette by `NAME` or `NAME/VERSION`.
fn by_name(settings: &Settings, named: &str) -> Result<Cassette, StandInError> {
    let (name, version) = match named.split_once('/') {
        Some((name, version)) => (name, Some(version)),
        None => (named, settings.version.as_deref()),
    };
    let (workspace, scenario) = (workspace(settings)?, name.parse::<ScenarioName>()?);
    let recorded = workspace.recorded(&scenario).unwrap_or_default();
    let found = match version {
        Some(version) => recorded.iter().find(|known| ***known == *version),
        None => recorded.iter().max_by(|a, b| a.by_number(b)),
    };
    let Some(version) = found else {
        let known = match &recorded[..] {
            [] => format!(
                "record it, or check the name and the folder {}",
                workspace.cassettes().display()
            ),
            known => {
                let known: Vec<&str> = known.iter().map(CliVersion::as_str).collect();
                format!("there are {}", known.join(", "))
            }
        };
        let wanted =
            version.map_or_else(|| "any CLI".to_owned(), |version| format!("CLI {version}"));
        return Err(StandInError::NotRecorded { scenario: name.to_owned(), wanted, known });
    };
    Ok(Cassette::find(&workspace, &scenario, version)?)
}

/// A scenario with its prompt.
#[derive(Deserialize)]
struct Prompt {
    record: Option<Record>,
}

#[derive(Deserialize)]
struct Record {
    prompt: Option<String>,
}

/// Finds the scenario whose prompt is contained in this prompt. The longest one wins; of equal ones, the one that was
/// recorded in the form in which this host runs the CLI.
fn by_prompt(
    settings: &Settings,
    workspace: &Workspace,
    prompt: &str,
    is_live: bool,
) -> Result<String, StandInError> {
    let mut best: Option<(usize, bool, String)> = None;
    for name in workspace.recorded_names()? {
        let path = workspace.scenario(&name).join("scenario.toml");
        let Ok(Prompt { record: Some(Record { prompt: Some(own) }) }) = read_toml(&path) else {
            continue;
        };
        if own.is_empty() || !prompt.contains(&own) {
            continue;
        }
        let recorded = workspace.recorded(&name)?;
        let version = match &settings.version {
            Some(version) => recorded.iter().find(|known| ***known == **version),
            None => recorded.iter().max_by(|a, b| a.by_number(b)),
        };
        let Some(version) = version else { continue };
        let has_stdin = workspace.cassette(&name, version).join("stdin.jsonl").is_file();
        let rank = (own.len(), has_stdin == is_live);
        if best.as_ref().is_none_or(|(length, fits, _)| rank > (*length, *fits)) {
            best = Some((rank.0, rank.1, name.to_string()));
        }
    }
    best.map(|(_, _, name)| name).ok_or_else(|| {
        let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        StandInError::NoCassette(truncate(&prompt, PROMPT, Keep::Start).into_owned())
    })
}

/// Removes the first line of a queue and returns it, under a lock, because several processes may do so at once.
fn take(queue: &Path) -> Result<String, StandInError> {
    let file = fs::OpenOptions::new().read(true).write(true).open(queue)?;
    let (file, _) = file.into_parts();
    let mut file = Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, error)| std::io::Error::from(error))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let mut lines = text.lines();
    let first = lines.find(|line| !line.trim().is_empty());
    let Some(first) = first else { return Err(StandInError::QueueEmpty(queue.to_owned())) };
    let rest: String = lines.flat_map(|line| [line, "\n"]).collect();
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(rest.as_bytes())?;
    Ok(first.trim().to_owned())
}

/// Returns the version of the CLI for a start without a cassette: the one that the environment names, or else the
/// newest that is recorded.
pub(super) fn version(settings: &Settings) -> Option<String> {
    if let Some(version) = &settings.version {
        return Some(version.clone());
    }
    if let Some((_, version)) = settings.cassette.as_ref().and_then(|named| named.rsplit_once('/'))
    {
        return Some(version.to_owned());
    }
    let workspace = workspace(settings).ok()?;
    let names = match &settings.cassette {
        Some(named) => vec![named.parse().ok()?],
        None => workspace.recorded_names().ok()?,
    };
    let versions = names.iter().filter_map(|name| workspace.recorded(name).ok()).flatten();
    versions.max_by(CliVersion::by_number).map(|version| version.to_string())
}

/// Returns the recorded CLI's answer to `initialize`, from the first live cassette of this version.
pub(super) fn initialize_answer(settings: &Settings) -> Option<serde_json::Value> {
    let workspace = workspace(settings).ok()?;
    let version: CliVersion = version(settings)?.parse().ok()?;
    for name in workspace.recorded_names().ok()? {
        let folder: PathBuf = workspace.cassette(&name, &version);
        if !folder.join("stdin.jsonl").is_file() {
            continue;
        }
        let Ok(stdout) = clitape_recording::files::read(&folder.join("stdout.jsonl")) else {
            continue;
        };
        let first = stdout.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let Some(WireLine::Response(response)) = WireLine::read(first) else { continue };
        let answer = response.result().map(|result| result.value()).unwrap_or_default();
        if answer["commands"].is_array() {
            return Some(answer);
        }
    }
    None
}

/// Returns the cassette from the host's message number `turn` on, counted from 1, and the bytes of stdout before it;
/// the whole cassette if it has no such message.
///
/// The transcript is empty, because the earlier process has written the lines before.
pub(super) fn from_turn(cassette: Cassette, turn: usize) -> (Cassette, u64) {
    let lines: Vec<&[u8]> = cassette.stdin.split_inclusive(|&byte| byte == b'\n').collect();
    let messages = (1_u64..).zip(&lines).filter(|(_, line)| is_message(line));
    let Some(first) = turn.checked_sub(2).and_then(|skipped| messages.skip(1).nth(skipped)) else {
        return (cassette, 0);
    };
    let Some((from, timeline)) = timeline_from(&cassette.timeline, first.0) else {
        return (cassette, 0);
    };
    let at = usize::try_from(from).unwrap_or(usize::MAX).min(cassette.stdout.len());
    let written = usize::try_from(first.0).unwrap_or(usize::MAX).saturating_sub(1);
    let cassette = Cassette {
        stdout: cassette.stdout[at..].to_vec(),
        stdin: lines[written..].concat(),
        timeline,
        stderr: Vec::new(),
        transcript: Vec::new(),
        ..cassette
    };
    (cassette, from)
}

/// Returns the number of messages in the lines of a host.
fn count_messages(stdin: &[u8]) -> usize {
    stdin.split(|&byte| byte == b'\n').filter(is_message).count()
}

/// Returns whether a line of a host is a message.
fn is_message(line: &&[u8]) -> bool {
    matches!(WireLine::read(line), Some(WireLine::Message(_)))
}

/// Returns the bytes of stdout before a line of stdin, and the timeline from that line on.
fn timeline_from(timeline: &[Tick], first: u64) -> Option<(u64, Vec<Tick>)> {
    let mut read = 0;
    let mut from = None;
    let mut rest = Vec::new();
    for tick in timeline {
        let before = read;
        if let TickKind::Out(bytes) = tick.kind {
            read += bytes;
        }
        match (from, &tick.kind) {
            (None, TickKind::In { line, offset }) if *line == first => {
                let offset = offset.unwrap_or(before);
                from = Some(offset);
                rest.push(Tick { after_ms: 0, kind: TickKind::In { line: 1, offset: Some(0) } });
                if before > offset {
                    rest.push(Tick { after_ms: 0, kind: TickKind::Out(before - offset) });
                }
            }
            // The cassette has no earlier stderr any more.
            (None, _) | (Some(_), TickKind::Err(_)) => {}
            (Some(from), TickKind::In { line, offset }) => {
                let offset = offset.map(|offset| offset.saturating_sub(from));
                let kind = TickKind::In { line: line.saturating_sub(first) + 1, offset };
                rest.push(Tick { after_ms: tick.after_ms, kind });
            }
            (Some(_), _) => rest.push(tick.clone()),
        }
    }
    from.map(|from| (from, rest))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clitape_recording::cassette::Exit;

    use super::*;

    #[test]
    fn a_marker_is_found_anywhere() {
        for (prompt, expect) in [
            ("[[clitape:three-tools]]", Some("three-tools")),
            ("```json\n{}\n```\n\nHi [[clitape:a/2.1.329]] there", Some("a/2.1.329")),
            ("[[clitape:first]] and [[clitape:last]]", Some("last")),
            ("[[clitape:open", None),
            ("nothing", None),
        ] {
            assert_eq!(marker(prompt), expect);
        }
    }

    #[test]
    fn the_newest_version_is_the_one_with_the_highest_numbers() {
        let mut versions: [CliVersion; 4] =
            ["2.1.332", "1.0.128", "2.1.99", "2.1.148"].map(|text| text.parse().unwrap());
        versions.sort_by(CliVersion::by_number);
        assert_eq!(versions, ["1.0.128", "2.1.99", "2.1.148", "2.1.332"]);
    }

    #[test]
    fn a_further_run_is_played_by_its_number() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let whole = Cassette::load(&root.join("cassettes/resume-twice/2.1.332")).unwrap();
        let runs: Vec<Vec<u8>> = whole.outputs().map(<[u8]>::to_vec).collect();
        for (number, index) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2)] {
            let (run, left_out) = from_run(whole.clone(), number);
            assert!(run.stdout == runs[index] && run.stdin.is_empty(), "{number}");
            assert_eq!(left_out, runs[..index].iter().map(|run| run.len() as u64).sum::<u64>());
            let exit = if index == 0 { Exit::Signal(9) } else { Exit::Code(0) };
            assert_eq!(run.manifest.exit, Some(exit), "{number}");
            let lines = run.transcript.iter().filter(|&&byte| byte == b'\n').count();
            assert!((1..20).contains(&lines), "only those of run {number}: {lines}");
        }
    }

    /// Cuts `live-multi-turn` at a turn, and compares the lines of the host and the results that are left; also checks
    /// that the timeline covers every byte.
    fn check(turn: usize, lines: usize, results: usize) {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let whole = Cassette::load(&root.join("cassettes/live-multi-turn/2.1.332")).unwrap();
        let bytes = whole.stdout.len() as u64;
        let (cassette, left_out) = from_turn(whole, turn);
        assert_eq!(left_out + cassette.stdout.len() as u64, bytes);
        let stdout = String::from_utf8(cassette.stdout).unwrap();
        let out = cassette.timeline.iter().filter_map(|tick| match tick.kind {
            TickKind::Out(bytes) => Some(bytes),
            _ => None,
        });
        assert_eq!(out.sum::<u64>(), stdout.len() as u64);
        let written = String::from_utf8(cassette.stdin).unwrap();
        let found = (written.lines().count(), stdout.matches(r#""type":"result""#).count());
        assert_eq!(found, (lines, results), "{written}");
    }

    #[test]
    fn a_cassette_is_cut_before_a_message() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let stdin = root.join("cassettes/live-multi-turn/2.1.332/stdin.jsonl");
        let all = fs_err::read_to_string(stdin).unwrap().lines().count();
        check(1, all, 2);
        check(2, 3, 1);
        check(3, all, 2);
    }
}
