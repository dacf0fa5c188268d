//! A replay in real time, into a real chat.
//!
//! The same channel that a replay drives in virtual time makes its calls to a server of the
//! caller's choice; the server's answers, waits it asks for included, are its own.

use std::sync::Arc;
use std::time::Duration;

use clitape_gateway::limits::ChatLimits;
use clitape_gateway::telegram::{BotApi, Telegram, TelegramSettings};
use clitape_gateway::{Bus, Channel, Conversation, RunReport, RunSettings, Turn};
use clitape_recording::capture::Capture;
use clitape_recording::scenario::Setup;
use clitape_stream::Parser;

use super::dialogue::Action;
use super::plan::Plan;
use super::setup::{chat_settings, run_id, settings};
use super::turns::given_up;

/// Plays `capture` as `plan` says, `speed` times as fast, and makes the chat's calls with `api`, which is
/// waited for as long as `limits` say.
///
/// Works on the current tokio runtime, which must have IO and a clock that runs. A setup without a
/// chat makes no calls. Returns a report for each turn.
pub async fn live(
    capture: Capture<'_>,
    plan: &Plan,
    setup: Setup,
    api: Arc<dyn BotApi>,
    speed: f64,
    limits: ChatLimits,
) -> Vec<RunReport> {
    let channel = move || {
        let chat = setup.channel?;
        let settings = TelegramSettings { limits, ..chat_settings(chat) };
        Some(Box::new(Telegram::new(settings, api.clone())) as Box<dyn Channel>)
    };
    let settings = RunSettings { final_message: limits.final_message, ..settings(setup) };
    let mut run = Conversation::new(settings, move |turn| Turn {
        bus: Bus::new(run_id(turn)),
        channels: channel().into_iter().collect(),
        delivered: Box::new(|_| ()),
    });
    let played = plan.played(capture);
    let mut parser = Parser::with_limits(played.limits());
    for (after_ms, action) in played.plan.actions(played.capture()) {
        let pause = Duration::from_millis(after_ms).div_f64(speed);
        tokio::select! {
            biased;
            () = tokio::time::sleep(pause) => {}
            // The gateway has given the agent up.
            () = given_up(&mut run) => break,
        }
        match action {
            Action::Print(piece) => {
                run.on_bytes();
                parser.feed_with(piece, &mut |event| run.on_event(&event));
            }
            Action::Write(line) => parser.feed_stdin_with(&line, &mut |event| run.on_event(&event)),
        }
    }
    parser.finish_with(&mut |event| run.on_event(&event));
    run.finish().await
}
