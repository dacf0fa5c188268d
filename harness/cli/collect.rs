//! `clitape collect`: reads a gateway's event stream until a turn is over and prints its answer.

use std::io;
use std::time::Duration;

use anyhow::bail;
use clitape_gateway::ByteSize;
use clitape_gateway::limits::{
    COLLECTED_ANSWER, COLLECTED_BYTES, COLLECTED_CALLS, RECONNECT_CEILING, RECONNECT_FLOOR,
    RECONNECTS, STREAM_BYTES, STREAM_EVENT,
};
use clitape_gateway::sse::{
    CollectLimits, CollectTarget, Collected, CollectedCall, Reach, RetainedLimits, converse, listen,
};
use clitape_process::threads::client_runtime;

use crate::exit::ExitStatus;
use crate::input::secret;
use crate::terminal::{self, Terminal};

/// Collects the answer, the tool calls and the retrieved context from an event stream
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The address of an event stream; with --send, the address that creates sessions
    #[arg(value_name = "URL")]
    url: String,
    /// Send this text to a new session and collect the answer; give it again for each further turn
    #[arg(long, value_name = "TEXT")]
    send: Vec<String>,
    /// The agent of the new session
    #[arg(long, value_name = "NAME", requires = "send")]
    agent: Option<String>,
    /// Environment variable that holds the bearer token
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Turns to wait for
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "send",
        value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Allow another machine; nothing is encrypted, not even the token
    #[arg(long)]
    allow_remote: bool,
    /// Print {output, error, metadata} as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: CollectLimitArgs,
}

/// The limits on what the gateway sends and how long it takes.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct CollectLimitArgs {
    /// Seconds that a turn may take
    #[arg(long, value_name = "S", default_value_t = 120,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Bytes of the stream that are read from all connections together
    #[arg(long, value_name = "SIZE", default_value_t = STREAM_BYTES)]
    max_stream: ByteSize,
    /// Bytes that one event may have
    #[arg(long, value_name = "SIZE", default_value_t = STREAM_EVENT)]
    max_event: ByteSize,
    /// Bytes that an answer to a message or to a new session may have
    #[arg(long, value_name = "SIZE", default_value_t = COLLECTED_ANSWER)]
    max_answer: ByteSize,
    /// Bytes of the answer and of the calls that are kept
    #[arg(long, value_name = "SIZE", default_value_t = COLLECTED_BYTES)]
    max_output: ByteSize,
    /// Calls that are kept
    #[arg(long, value_name = "N", default_value_t = COLLECTED_CALLS)]
    max_calls: usize,
    /// Times that the stream is opened again
    #[arg(long, value_name = "N", default_value_t = RECONNECTS)]
    max_reconnects: u32,
    /// The least milliseconds to wait before it is opened again, whatever the server asks for
    #[arg(long, value_name = "MS", default_value_t = ms(RECONNECT_FLOOR),
        value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    retry_min: u64,
    /// The most milliseconds to wait before it is opened again, whatever the server asks for
    #[arg(long, value_name = "MS", default_value_t = ms(RECONNECT_CEILING),
        value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    retry_max: u64,
}

/// Returns a time in milliseconds, for the default of an option.
fn ms(time: Duration) -> u64 {
    time.as_secs() * 1_000 + u64::from(time.subsec_millis())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let reach = if args.allow_remote { Reach::Anywhere } else { Reach::Loopback };
    let mut target = CollectTarget::within(&args.url, reach)?;
    if let Some(name) = &args.token_env {
        target.set_token(&secret(name, "the token")?)?;
    }
    let limits = &args.limits;
    if limits.retry_min > limits.retry_max {
        bail!(
            "`--retry-min` is more than `--retry-max`; write a smaller `--retry-min`, or raise `--retry-max`"
        );
    }
    target.set_limits(CollectLimits {
        stream: limits.max_stream,
        event: limits.max_event,
        answer: limits.max_answer,
        retained: RetainedLimits { bytes: limits.max_output, calls: limits.max_calls },
        reconnects: limits.max_reconnects,
        retry_min: Duration::from_millis(limits.retry_min),
        retry_max: Duration::from_millis(limits.retry_max),
    });
    let limit = Duration::from_secs(limits.timeout);
    let runtime = client_runtime()?;
    let collected = runtime.block_on(async {
        if args.send.is_empty() {
            listen(&target, args.turns, limit).await
        } else {
            converse(&target, args.agent.as_deref(), &args.send, limit).await
        }
    })?;
    let mut out = terminal::stdout();
    if args.json {
        out.json(&serde_json::to_string(&collected)?)?;
    } else {
        print(&mut out, &collected)?;
    }
    let Some(error) = &collected.error else { return Ok(ExitStatus::Ok) };
    terminal::note(format_args!("the turn failed: {error}"));
    Ok(ExitStatus::Findings)
}

/// Prints the answer, and below it a line for each call.
fn print(out: &mut Terminal, collected: &Collected) -> io::Result<()> {
    out.lines(&collected.output)?;
    let calls = &collected.metadata.tool_calls;
    if !calls.is_empty() {
        out.line("")?;
    }
    for CollectedCall { name, input, is_error, summary, .. } in calls {
        let failed = if *is_error { ", failed" } else { "" };
        let summary = summary.as_ref();
        let found = summary.map_or(0, |summary| summary.event_ids.len());
        let found = if found > 0 { format!(", {found} found") } else { String::new() };
        let words = summary.and_then(|summary| summary.error.as_deref());
        let words = words.map(|words| format!(": {words}")).unwrap_or_default();
        let input = input.get();
        out.line(format_args!("{name} {input}{found}{failed}{words}"))?;
    }
    Ok(())
}
