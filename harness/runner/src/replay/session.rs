//! The lane `session`: what a gateway would have said of the session on disk after each run of a
//! cassette, what the CLI then did with it, and where the two disagree.
//!
//! | kind | data |
//! |---|---|
//! | `verdict` | run, and the verdict of [`clitape_gateway::session`] on the transcript it left |
//! | `resume` | run, how it was resumed, whether the CLI `went_on`, under the `same` id or a `new` one, its status and words, and what became of the calls that were open: `dropped`, `answered` or `open` in what the model was sent |
//! | `disagreement` | run, and a sentence |
//!
//! A scenario with `[session]` says what the gateway knows of the session, so that there is more to see:
//!
//! | kind | data |
//! |---|---|
//! | `place` | the folder in which the gateway looks for transcripts |
//! | `stored` | run, the `provider` of the session, whether it was `kept`, and how often its transcript was `looked` for |
//! | `settings` | run, and the sentence about the settings that changed before it |
//! | `reseed` | run, and the first `message` of the session that takes the place of the one it left, with a history of at most `limit` characters, or why it is `refused` one |

use std::ffi::OsStr;

use clitape_gateway::session::fingerprint::difference;
use clitape_gateway::session::gate::{BoundSession, SessionRetention, flushed};
use clitape_gateway::session::{
    Invalidation, Orphan, Resumability, Transcript, config_dir, reseed, resumability, slug,
    transcript,
};
use clitape_recording::cassette::canon::MachineFolder;
use clitape_recording::cassette::{Cassette, Exit, FurtherRun, Resume};
use clitape_recording::scenario::SessionSpec;
use clitape_recording::trace::{Entry, Lane, object};
use clitape_stream::{Event, Parser, RunStatus};
use serde_json::{Value, json};

use super::builtin::Replay;
use super::driver::in_virtual_time;

impl Replay {
    /// Adds the lane `session` at the replay's end: the session is looked at when the run is over. A
    /// cassette of one run has none. `spec` is what the scenario says of the session.
    pub fn add_session(&mut self, cassette: &Cassette, spec: Option<&SessionSpec>) {
        let over = self.entries.last().map_or(0, |entry| entry.at);
        self.entries.extend(entries(cassette, spec, over));
        let further = cassette.further.iter().map(|run| &run.transcript);
        let transcripts = [&cassette.transcript].into_iter().chain(further);
        self.own_mut().transcripts = transcripts.cloned().collect();
    }
}

fn entries(cassette: &Cassette, spec: Option<&SessionSpec>, at: u64) -> Vec<Entry> {
    let mut entries = Vec::new();
    if cassette.further.is_empty() {
        return entries;
    }
    let mut add = |kind: &'static str, data: Value| {
        entries.push(Entry::new(at, Lane::Session, kind, object(data)));
    };
    let told = |run: usize, verdict: &Resumability| {
        let mut data = json!({ "run": run });
        if let (Some(data), Ok(Value::Object(said))) =
            (data.as_object_mut(), serde_json::to_value(verdict))
        {
            data.extend(said);
        }
        data
    };
    let mut before = judged(&cassette.transcript);
    let mut session = said(&cassette.stdout).session;
    if let Some(spec) = spec {
        add("place", json!({ "folder": place(spec) }));
    }
    add("verdict", told(1, &before));
    if let Some(spec) = spec {
        add("stored", stored(spec, 1, session.as_deref(), &before));
        if let Some(data) = reseeded(spec, 1, &cassette.transcript, &before) {
            add("reseed", data);
        }
    }
    for (number, run) in (2..).zip(&cassette.further) {
        if run.facts.resume == Resume::UnknownId {
            before = Resumability::not_found();
        }
        let settings = spec.and_then(|spec| spec.fingerprints.get(number - 2..number));
        if let Some([old, new]) = settings {
            let sentence = difference(old, new).to_string();
            add("settings", json!({ "run": number, "sentence": sentence }));
        }
        let said = said(&run.stdout);
        let went_on = !run.history.is_empty();
        let mut data = json!({
            "run": number,
            "how": run.facts.resume,
            "went_on": went_on,
            "session": match &said.session {
                None => "none",
                id if *id == session => "same",
                Some(_) => "new",
            },
            "exit": match run.facts.exit {
                Exit::Code(code) => Value::from(code),
                Exit::Signal(signal) => Value::from(format!("SIG{signal}")),
            },
            "status": said.status,
            "words": if run.stdout.is_empty() { stderr(run) } else { said.words },
        });
        let fates = before.orphans.iter().map(|orphan| fate(orphan, &run.history));
        if went_on && !before.orphans.is_empty() {
            data["calls"] = fates.collect();
        }
        add("resume", data);
        if let Some(sentence) = disagreement(&before, went_on) {
            add("disagreement", json!({ "run": number, "sentence": sentence }));
        }
        before = judged(&run.transcript);
        add("verdict", told(number, &before));
        session = said.session.or(session);
        if let Some(spec) = spec {
            add("stored", stored(spec, number, session.as_deref(), &before));
            if let Some(data) = reseeded(spec, number, &run.transcript, &before) {
                add("reseed", data);
            }
        }
    }
    entries
}

/// The folder in which the gateway looks for the transcripts of the project (X1).
fn place(spec: &SessionSpec) -> Option<String> {
    let [project, home] = [MachineFolder::Project, MachineFolder::Home].map(MachineFolder::path);
    let config =
        config_dir(spec.claude_config_dir.as_deref().map(OsStr::new), Some(OsStr::new(home)))?;
    let slug = slug(spec.working_folder.as_deref().unwrap_or(project));
    Some(config.join("projects").join(slug).to_string_lossy().into_owned())
}

/// Returns the gateway's decision to keep the session after a run (X3).
fn stored(spec: &SessionSpec, run: usize, id: Option<&str>, verdict: &Resumability) -> Value {
    let id = spec.id.as_deref().or(id).unwrap_or_default().to_owned();
    let session = BoundSession { binding: (), id };
    let mut looked = 0;
    let probe = |_: &str| {
        looked += 1;
        std::future::ready(verdict.rules.has_assistant)
    };
    let retention = in_virtual_time(flushed(&spec.provider, session, probe));
    let kept = matches!(retention, SessionRetention::Retained(_));
    json!({ "run": run, "provider": spec.provider, "kept": kept, "looked": looked })
}

/// Returns the first message of the session that replaces the one in a transcript (X5).
fn reseeded(spec: &SessionSpec, run: usize, bytes: &[u8], verdict: &Resumability) -> Option<Value> {
    let message = spec.message.as_deref()?;
    let said = kept(bytes);
    let given_up = Invalidation::of(verdict.reason);
    let limit = reseed::limit(spec.model_tokens);
    Some(match reseed::prelude(&said, given_up, &spec.provider, limit, message) {
        Ok(told) => json!({ "run": run, "limit": limit, "message": told }),
        Err(refused) => json!({ "run": run, "refused": refused.to_string() }),
    })
}

/// The verdict on a transcript of the cassette; it has none when the CLI kept none.
fn judged(bytes: &[u8]) -> Resumability {
    if bytes.is_empty() { Resumability::not_found() } else { resumability(&kept(bytes)) }
}

/// Reads the CLI's transcript.
#[allow(clippy::expect_used, reason = "bytes in memory can always be read")]
fn kept(bytes: &[u8]) -> Transcript {
    transcript::read(bytes).expect("bytes in memory can always be read")
}

/// The CLI's words on stderr, if it had any.
fn stderr(run: &FurtherRun) -> Option<String> {
    let text = String::from_utf8_lossy(&run.stderr).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The end of a run according to its stdout.
#[derive(Default)]
struct StdoutSummary {
    session: Option<String>,
    status: Option<RunStatus>,
    words: Option<String>,
}

fn said(stdout: &[u8]) -> StdoutSummary {
    let mut said = StdoutSummary::default();
    let mut sink = |event: Event<'_>| match event {
        Event::Session { session_id, .. } => said.session = Some(session_id.into_owned()),
        Event::Outcome(outcome) => {
            let outcome = outcome.into_owned();
            let words = outcome.error.map_or(outcome.text, |error| error.message);
            said.status = Some(outcome.status);
            said.words = Some(words);
            said.session = outcome.session_id.or(said.session.take());
        }
        _ => {}
    };
    let mut parser = Parser::new();
    parser.feed_with(stdout, &mut sink);
    parser.finish_with(&mut sink);
    said
}

/// The state of an open call in the messages that the model gets on resume.
fn fate(orphan: &Orphan, history: &[u8]) -> Value {
    let lines = history.split(|&byte| byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let blocks: Vec<Value> = messages
        .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default())
        .collect();
    let has = |key: &str| blocks.iter().any(|block| block[key] == *orphan.id);
    let answer = blocks.iter().find(|block| block["tool_use_id"] == *orphan.id);
    let fate = match (has("id"), answer) {
        (false, _) => "dropped",
        (true, Some(_)) => "answered",
        (true, None) => "open",
    };
    json!({ "id": orphan.id, "fate": fate, "answer": answer.map(|block| &block["content"]) })
}

/// Where the rules and the CLI are not of one mind.
fn disagreement(verdict: &Resumability, went_on: bool) -> Option<String> {
    let reason = verdict.reason.as_str();
    match (verdict.resumable, went_on) {
        (true, true) | (false, false) => None,
        (true, false) => Some(format!(
            "the rules take the session for one that can go on ({reason}); the CLI did not resume it"
        )),
        (false, true) => Some(format!(
            "the rules give the session up ({reason}); the CLI went on with what it could use of it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x2_a_call_is_dropped_answered_or_open_in_what_the_model_is_sent() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t"}]}"#;
        let result =
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"?"}]}"#;
        let transcript = format!(
            "{}\n",
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash"}]}}"#
        );
        let verdict = judged(transcript.as_bytes());
        for (history, expect) in [
            ("{}".to_owned(), json!({"id": "t", "fate": "dropped", "answer": null})),
            (call.to_owned(), json!({"id": "t", "fate": "open", "answer": null})),
            (format!("{call}\n{result}\n"), json!({"id": "t", "fate": "answered", "answer": "?"})),
        ] {
            assert_eq!(fate(&verdict.orphans[0], history.as_bytes()), expect);
        }
    }

    #[test]
    fn x3_a_session_is_stored_once_its_transcript_shows_an_answer() {
        let answered = judged(
            b"{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n",
        );
        let check = |provider: &str, verdict: &Resumability, kept: bool, looked: usize| {
            let spec = SessionSpec { provider: provider.to_owned(), ..SessionSpec::default() };
            let expect = json!({ "run": 1, "provider": provider, "kept": kept, "looked": looked });
            assert_eq!(stored(&spec, 1, Some("s"), verdict), expect);
            // An id that is a path is looked for nowhere.
            let spec = SessionSpec { id: Some("a/s".to_owned()), ..spec };
            let is_other = provider != "claude-cli";
            assert_eq!(stored(&spec, 1, Some("s"), verdict)["kept"], is_other, "{provider}");
        };
        check("claude-cli", &answered, true, 1);
        check("claude-cli", &Resumability::not_found(), false, 3);
        check("codex-cli", &Resumability::not_found(), true, 0);
    }

    #[test]
    fn x5_a_new_session_is_told_what_was_said_in_one_that_is_given_up() {
        let check = |lines: &str, provider: &str, key: &str, expect: &str| {
            let (provider, message) = (provider.to_owned(), Some("Go on.".to_owned()));
            let spec = SessionSpec { provider, message, ..SessionSpec::default() };
            let verdict = judged(lines.as_bytes());
            let data = reseeded(&spec, 1, lines.as_bytes(), &verdict).unwrap();
            assert!(data[key].as_str().unwrap().contains(expect), "{data}");
        };
        let asked = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Hi\"}}\n";
        let answer =
            "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n";
        check(asked, "claude-cli", "message", "User: Hi\n</conversation_history>");
        check(asked, "claude-cli", "message", "\nGo on.\n");
        check(asked, "wrapped-cli", "refused", "the new session is not");
        check(answer, "claude-cli", "refused", "the session may be resumed");
        let silent = reseeded(&SessionSpec::default(), 1, asked.as_bytes(), &judged(b""));
        assert_eq!(silent, None);
    }

    #[test]
    fn x1_the_folder_of_the_transcripts_hangs_on_the_environment() {
        let own =
            SessionSpec { claude_config_dir: Some("/srv/agent".into()), ..SessionSpec::default() };
        assert_eq!(place(&own).as_deref(), Some("/srv/agent/projects/-clitape-project"));
        let long =
            SessionSpec { working_folder: Some("/é".repeat(101)), ..SessionSpec::default() };
        let slug = format!("/clitape/home/.claude/projects/{}-", "-".repeat(200));
        assert!(place(&long).is_some_and(|place| place.starts_with(&slug)));
        let usual = place(&SessionSpec::default());
        assert_eq!(usual.as_deref(), Some("/clitape/home/.claude/projects/-clitape-project"));
    }

    #[test]
    fn x2_rules_and_cli_disagree_when_one_goes_on_alone() {
        let (found, missing) = (judged(b"{}\n"), judged(b""));
        assert_eq!((found.reason.as_str(), missing.reason.as_str()), ("empty", "not-found"));
        assert_eq!(disagreement(&missing, false), None);
        let sentence = disagreement(&missing, true).unwrap();
        assert!(sentence.contains("give the session up (not-found)"), "{sentence}");
    }
}
