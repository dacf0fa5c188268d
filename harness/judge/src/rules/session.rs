//! The rules of sessions: the verdict on a transcript agrees with the transcript, and with what the CLI then did.
//!
//! The transcript is read with `serde_json` alone, and the acts of the CLI are in the lane `session`
//! (`replay/session.rs`). The verdict is careful: it gives up a session whose last message has a call without a result,
//! although the CLI resumes it with what it can use. So it may give up a session that the CLI resumes, but only for a
//! reason in the transcript; a session that it accepts must be resumed.

use clitape_recording::text::plural;
use clitape_recording::trace::{Entry, Lane};
use serde_json::Value;

use crate::case::{Broken, Case, RawTranscript, whole};

/// Returns the first run whose verdict breaks a rule.
fn any_verdict(
    case: Case<'_>,
    rule: fn(&Entry, &RawTranscript) -> Option<String>,
) -> Option<Broken<'_>> {
    let verdicts = case.lane(Lane::Session).filter(|entry| entry.kind == "verdict");
    verdicts.zip(case.transcripts()).find_map(|(verdict, transcript)| {
        let what = rule(verdict, transcript)?;
        whole(format!("run {}: {what}", number(verdict, "run")))
    })
}

/// Checks that the verdict has exactly the open calls of the transcript, and gives the session up because of them (X2,
/// H11, H12).
pub(crate) fn open_call_untold(case: Case<'_>) -> Option<Broken<'_>> {
    any_verdict(case, lacks_open_call)
}

fn lacks_open_call(verdict: &Entry, transcript: &RawTranscript) -> Option<String> {
    let told = verdict.field("orphans").and_then(Value::as_array);
    let told: Vec<&str> =
        told.into_iter().flatten().filter_map(|call| call["id"].as_str()).collect();
    if let Some(id) = transcript.open.iter().find(|id| !told.contains(&id.as_str())) {
        return Some(format!(
            "call {id} of the transcript has no result, and the verdict lacks it"
        ));
    }
    if let Some(id) = told.iter().find(|id| !transcript.open.iter().any(|open| open == *id)) {
        let what = "the last message of the transcript does not have it open";
        return Some(format!("the verdict names the open call {id}, and {what}"));
    }
    let calls = plural(told.len() as u64, "call");
    let is_passed = !told.is_empty() && is_resumable(verdict);
    is_passed
        .then(|| format!("{calls} without a result, and the verdict is that it may be resumed"))
}

/// Checks that a session may be resumed only if its transcript has an answer (X2, H10).
pub(crate) fn answer_assumed(case: Case<'_>) -> Option<Broken<'_>> {
    any_verdict(case, assumes_answer)
}

fn assumes_answer(verdict: &Entry, transcript: &RawTranscript) -> Option<String> {
    let assumes = is_resumable(verdict) && !transcript.has_answer;
    assumes.then(|| {
        "the transcript has no answer, and the verdict is that it may be resumed".to_owned()
    })
}

/// Checks that a session with an answer and without an open call is not given up (X2).
pub(crate) fn given_up_without_cause(case: Case<'_>) -> Option<Broken<'_>> {
    any_verdict(case, gives_up_without_cause)
}

fn gives_up_without_cause(verdict: &Entry, transcript: &RawTranscript) -> Option<String> {
    let is_well = transcript.has_answer && transcript.open.is_empty();
    let reason = verdict.text("reason");
    (is_well && !is_resumable(verdict)).then(|| {
        format!("the verdict is {reason}, and the transcript has an answer and no open call")
    })
}

/// Checks that the lines of subagents are counted as such (X1, H12).
pub(crate) fn sidechain_counted(case: Case<'_>) -> Option<Broken<'_>> {
    any_verdict(case, miscounts_sidechain)
}

fn miscounts_sidechain(verdict: &Entry, transcript: &RawTranscript) -> Option<String> {
    let told = verdict.field("lines").and_then(|lines| lines["sidechain"].as_u64())?;
    let came = transcript.sidechain;
    let lines = plural(came, "line");
    (told != came)
        .then(|| format!("the transcript has {lines} of subagents, and the verdict counts {told}"))
}

/// Checks that the CLI resumes a session that may be resumed by the verdict (X2, H10).
pub(crate) fn resume_failed(case: Case<'_>) -> Option<Broken<'_>> {
    let lane: Vec<&Entry> = case.lane(Lane::Session).collect();
    lane.windows(2).find_map(|pair| {
        let what = not_resumed(pair[0], pair[1])?;
        whole(format!("run {}: {what}", number(pair[1], "run")))
    })
}

fn not_resumed(verdict: &Entry, resume: &Entry) -> Option<String> {
    let is_pair = verdict.kind == "verdict" && resume.kind == "resume";
    // The run asked for another session than that of the verdict.
    if !is_pair || resume.text("how") == "unknown-id" {
        return None;
    }
    let went_on = resume.field("went_on") == Some(&Value::Bool(true));
    let words = resume.text("words");
    (is_resumable(verdict) && !went_on)
        .then(|| format!("the verdict was that it may be resumed; the CLI did not: {words}"))
}

fn is_resumable(verdict: &Entry) -> bool {
    verdict.field("resumable") == Some(&Value::Bool(true))
}

fn number(entry: &Entry, key: &str) -> u64 {
    entry.field(key).and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingKind;

    const PROMPT: &str = r#"{"type":"user","message":{"role":"user","content":"Do it."}}"#;
    const CALL: &str = r#"{"type":"assistant","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t"}]}}"#;
    const SECOND: &str = r#"{"type":"assistant","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"u"}]}}"#;
    const RESULT: &str = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}}"#;
    const TEXT: &str = r#"{"type":"assistant","message":{"role":"assistant","id":"n","content":[{"type":"text","text":"Done."}]}}"#;
    const AGENT: &str = r#"{"type":"assistant","isSidechain":true,"message":{"role":"assistant","id":"s","content":[{"type":"tool_use","id":"v"}]}}"#;

    type VerdictRule = (FindingKind, fn(&Entry, &RawTranscript) -> Option<String>);

    const VERDICT_RULES: [VerdictRule; 4] = [
        (FindingKind::OpenCallUntold, lacks_open_call),
        (FindingKind::AnswerAssumed, assumes_answer),
        (FindingKind::GivenUpWithoutCause, gives_up_without_cause),
        (FindingKind::SidechainCounted, miscounts_sidechain),
    ];

    /// Makes a verdict with these calls.
    fn verdict(resumable: bool, orphans: &[&str], sidechain: u64) -> Entry {
        let orphans: Vec<Value> =
            orphans.iter().map(|id| serde_json::json!({ "id": id })).collect();
        let data = serde_json::json!({
            "run": 1, "resumable": resumable, "reason": "because", "orphans": orphans,
            "lines": { "sidechain": sidechain },
        });
        let Value::Object(data) = data else { unreachable!("it is an object") };
        Entry::new(9, Lane::Session, "verdict", data)
    }

    #[test]
    fn sn002_to_sn005_a_verdict_is_true_of_its_transcript() {
        let check = |lines: &[&str], verdict: Entry, expect: &[(FindingKind, &str)]| {
            let transcript = RawTranscript::read(lines.join("\n").as_bytes());
            let broken = VERDICT_RULES.iter().filter_map(|(kind, rule)| {
                rule(&verdict, &transcript).map(|sentence| (*kind, sentence))
            });
            let expect: Vec<_> =
                expect.iter().map(|(kind, what)| (*kind, (*what).to_owned())).collect();
            assert_eq!(broken.collect::<Vec<_>>(), expect, "{lines:?}");
        };
        check(&[PROMPT, CALL], verdict(false, &["t"], 0), &[]);
        check(&[PROMPT, CALL, SECOND, RESULT], verdict(false, &["u"], 0), &[]);
        check(&[PROMPT, CALL, RESULT, SECOND], verdict(false, &["u"], 0), &[]);
        check(&[PROMPT, CALL, PROMPT, TEXT, AGENT], verdict(true, &[], 1), &[]);
        check(&[PROMPT, AGENT], verdict(false, &[], 1), &[]);
        let lacks = "call u of the transcript has no result, and the verdict lacks it";
        let untold = (FindingKind::OpenCallUntold, lacks);
        check(&[PROMPT, CALL, SECOND], verdict(false, &["t"], 0), &[untold]);
        let passed = "1 call without a result, and the verdict is that it may be resumed";
        let untold = (FindingKind::OpenCallUntold, passed);
        check(&[PROMPT, CALL], verdict(true, &["t"], 0), &[untold]);
        let names = "the verdict names the open call t, and the last message of the transcript \
                     does not have it open";
        let untold = (FindingKind::OpenCallUntold, names);
        let cause = "the verdict is because, and the transcript has an answer and no open call";
        let cause = (FindingKind::GivenUpWithoutCause, cause);
        check(&[PROMPT, CALL, PROMPT, TEXT], verdict(false, &["t"], 0), &[untold, cause]);
        let assumed = "the transcript has no answer, and the verdict is that it may be resumed";
        check(&[PROMPT], verdict(true, &[], 0), &[(FindingKind::AnswerAssumed, assumed)]);
        let counted = "the transcript has 1 line of subagents, and the verdict counts 0";
        let counted = (FindingKind::SidechainCounted, counted);
        check(&[PROMPT, TEXT, AGENT], verdict(true, &[], 0), &[counted]);
    }

    #[test]
    fn sn001_what_may_be_resumed_is_resumed() {
        let check = |resumable, how: &str, went_on, expect: Option<&str>| {
            let data = serde_json::json!({
                "run": 2, "how": how, "went_on": went_on, "words": "No conversation found",
            });
            let Value::Object(data) = data else { unreachable!("it is an object") };
            let resume = Entry::new(9, Lane::Session, "resume", data);
            let broken = not_resumed(&verdict(resumable, &[], 0), &resume);
            assert_eq!(broken.as_deref(), expect, "{resumable} {how} {went_on}");
        };
        let failed =
            "the verdict was that it may be resumed; the CLI did not: No conversation found";
        check(true, "id", true, None);
        check(true, "id", false, Some(failed));
        check(true, "unknown-id", false, None);
        check(false, "id", true, None);
        check(false, "id", false, None);
    }
}
