//! A replay in real time, into a real chat.
//!
//! The same channel that a replay drives in virtual time makes its calls to a server of the
//! caller's choice; the server's answers, waits it asks for included, are its own.

use std::sync::Arc;
use std::time::Duration;

use clitape_gateway::telegram::{BotApi, Telegram};
use clitape_gateway::{Bus, Channel, Run, RunReport};
use clitape_stream::Parser;

use super::builtin::{RUN_ID, Setup, chat_settings, settings};
use super::plan::Plan;

/// Plays `stdout` as `plan` says, `speed` times as fast, and makes the chat's calls with `api`.
///
/// Works on the current tokio runtime, which must have IO and a clock that runs. A setup without a
/// chat makes no calls.
pub async fn live(
    stdout: &[u8],
    plan: &Plan,
    setup: Setup,
    api: Arc<dyn BotApi>,
    speed: f64,
) -> RunReport {
    let channel = setup
        .channel
        .map(|chat| Box::new(Telegram::new(chat_settings(chat), api)) as Box<dyn Channel>);
    let mut run = Run::start(Bus::new(RUN_ID), settings(setup.run), channel);
    let mut parser = Parser::new();
    for (after_ms, piece) in plan.pieces(stdout) {
        let pause = Duration::from_millis(after_ms).div_f64(speed);
        tokio::select! {
            biased;
            () = tokio::time::sleep(pause) => {}
            // The gateway has given the agent up.
            () = run.stalled() => break,
        }
        run.on_bytes();
        parser.feed_with(piece, &mut |event| run.on_event(&event));
    }
    parser.finish_with(&mut |event| run.on_event(&event));
    run.finish().await
}
