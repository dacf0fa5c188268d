//! The answers of a Bot API server: whatever they are, what the client makes of them never has the
//! token in it, and a run ends in time, calls one at a time and never calls before it may.
//!
//! An input has one answer a line, `STATUS BODY`. After the last of them each call goes well.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use clitape_gateway::telegram::fuzzing::Answers;
use clitape_gateway::telegram::{
    BotApi, BotApiError, BotCall, CallFuture, DraftMode, SentMessage, Telegram, TelegramSettings,
};
use clitape_gateway::{Bus, Channel, Delivery, Run, RunSettings};
use clitape_stream::Parser;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

/// What the agent prints: a thought, a tool and an answer.
const STDOUT: &[u8] = include_bytes!("../seeds/stream/tool");
/// The token that must appear nowhere.
const TOKEN: &str = "987654:AbC-dEf_gHi";
/// The longest text of an error: the sentence, and at most 200 characters of the server's own.
const WORDS_LIMIT: usize = 400;
/// Answers that are looked at, and calls that they may lead to.
const ANSWERS_LIMIT: usize = 48;
const CALLS_LIMIT: usize = 400;
/// How long a run may go on after the agent's end, and what it keeps of a `retry_after`.
const PATIENCE: Duration = Duration::from_secs(600);
const LONGEST_WAIT: u64 = 86_400;

/// What the server gives, and what became of the calls.
struct Server {
    answers: Mutex<VecDeque<Result<SentMessage, BotApiError>>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    calls: usize,
    is_busy: bool,
    not_before: Option<Instant>,
    /// Numbers of the messages that it says are there.
    messages: Vec<i64>,
}

/// Reads each answer, and lets a run meet them all.
pub fn check(bytes: &[u8]) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime in memory").block_on(run(bytes));
}

async fn run(bytes: &[u8]) {
    static CLIENT: OnceLock<Answers> = OnceLock::new();
    let client = CLIENT.get_or_init(|| Answers::new(TOKEN));
    let mut answers = VecDeque::new();
    for line in bytes.split(|&byte| byte == b'\n').take(ANSWERS_LIMIT) {
        let at = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
        let status = std::str::from_utf8(&line[..at]).ok().and_then(|text| text.parse().ok());
        let Some(status) = status.filter(|status| (100..1000).contains(status)) else { continue };
        let body = line.get(at + 1..).unwrap_or_default();
        let answer = client.read(status, body.to_owned()).await;
        check_answer(status, body, &answer);
        answers.push_back(answer);
    }
    let modes = [DraftMode::Off, DraftMode::Partial, DraftMode::Block, DraftMode::Progress];
    let mode = modes[super::numbers(bytes)() % modes.len()];
    check_run(answers, mode).await;
}

/// What holds for what the client makes of one answer.
fn check_answer(status: u16, body: &[u8], answer: &Result<SentMessage, BotApiError>) {
    let json: Value = serde_json::from_str(&String::from_utf8_lossy(body)).unwrap_or_default();
    let code = json["error_code"].as_u64().unwrap_or(status.into());
    match answer {
        Ok(SentMessage { message_id }) => {
            assert!((200..300).contains(&status), "{status} is no success");
            assert_eq!(json["result"]["message_id"].as_i64(), Some(*message_id));
            assert_ne!(json["ok"], Value::Bool(false));
        }
        Err(error) => {
            let text = format!("{error} {error:?}");
            assert!(!text.contains(TOKEN), "{text}");
            assert!(error.to_string().chars().count() <= WORDS_LIMIT, "{text}");
            if let BotApiError::RetryAfter { .. } = error {
                assert_eq!(code, 429);
            }
        }
    }
}

/// A run of an agent in a chat whose server gives these answers.
async fn check_run(answers: VecDeque<Result<SentMessage, BotApiError>>, mode: DraftMode) {
    let server = Arc::new(Server { answers: Mutex::new(answers), seen: Mutex::default() });
    let settings = TelegramSettings { mode, ..TelegramSettings::default() };
    let channel: Box<dyn Channel> = Box::new(Telegram::new(settings, server.clone()));
    let mut run = Run::start(Bus::new("run-1"), RunSettings::default(), [channel]);
    let mut parser = Parser::new();
    for line in STDOUT.split_inclusive(|&byte| byte == b'\n') {
        sleep(Duration::from_millis(700)).await;
        parser.feed_with(line, &mut |event| run.on_event(&event));
    }
    parser.finish_with(&mut |event| run.on_event(&event));
    let report = timeout(PATIENCE, run.finish()).await.expect("a run ends in time");
    let calls = server.seen().calls;
    sleep(Duration::from_secs(100_000)).await;
    let seen = server.seen();
    assert_eq!(seen.calls, calls, "it is called after the run's end");
    assert!(calls <= CALLS_LIMIT, "{calls} calls");
    match &report.channels[0].final_delivered {
        Delivery::Sent { message_ids } => {
            assert!(message_ids.iter().all(|id| seen.messages.contains(id)), "{message_ids:?}");
        }
        Delivery::AlreadyShown { message_id } => assert!(seen.messages.contains(message_id)),
        Delivery::Failed { reason } => assert!(!reason.contains(TOKEN), "{reason}"),
        Delivery::Nobody | Delivery::ByTool => panic!("there is a person and no tool of theirs"),
    }
}

impl Server {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BotApi for Server {
    fn call(&self, call: BotCall) -> CallFuture<'_> {
        let mut seen = self.seen();
        assert!(!seen.is_busy, "two calls are under way");
        let now = Instant::now();
        assert!(seen.not_before.is_none_or(|until| now >= until), "it calls before it may");
        (seen.is_busy, seen.not_before) = (true, None);
        seen.calls += 1;
        let next_id = i64::try_from(seen.calls).unwrap_or(i64::MAX);
        drop(seen);
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move {
            sleep(Duration::from_millis(80)).await;
            let answer = answer
                .unwrap_or(Ok(SentMessage { message_id: call.message_id.unwrap_or(next_id) }));
            let mut seen = self.seen();
            seen.is_busy = false;
            match &answer {
                Ok(sent) => seen.messages.push(sent.message_id),
                Err(BotApiError::RetryAfter { seconds }) => {
                    let wait = Duration::from_secs((*seconds).min(LONGEST_WAIT));
                    seen.not_before = Some(Instant::now() + wait);
                }
                // The message says so already, so that it is there.
                Err(BotApiError::NotModified) => seen.messages.extend(call.message_id),
                Err(_) => {}
            }
            answer
        })
    }
}
