//! `clitape collect`: what a gateway's event stream says of a turn, as one answer.

use std::io;
use std::time::Duration;

use clitape_gateway::ByteSize;
use clitape_gateway::limits::{COLLECTED_BYTES, COLLECTED_CALLS, RECONNECTS, STREAM_BYTES};
use clitape_gateway::sse::{
    CollectLimits, Collected, Kept, Reach, Target, ToolCall, converse, listen,
};

use crate::exit::Exit;
use crate::secret::secret;
use crate::terminal::{self, Terminal};

/// Collects the answer, the tool calls and the retrieved context from an event stream
#[derive(clap::Args)]
pub(crate) struct Args {
    /// An event stream; with --send, the address that makes sessions
    #[arg(value_name = "URL")]
    url: String,
    /// Send this to a session of its own, and collect the answer; again for every further turn
    #[arg(long, value_name = "TEXT")]
    send: Vec<String>,
    /// The agent that is asked
    #[arg(long, value_name = "NAME", requires = "send")]
    agent: Option<String>,
    /// Environment variable that holds the bearer token
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Turns to wait for
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "send",
        value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Seconds that a turn may take
    #[arg(long, value_name = "S", default_value_t = 120,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Bytes of the stream that are read, of all connections together
    #[arg(long, value_name = "SIZE", default_value_t = STREAM_BYTES)]
    max_stream: ByteSize,
    /// Bytes of the answer and of the calls that are kept
    #[arg(long, value_name = "SIZE", default_value_t = COLLECTED_BYTES)]
    max_output: ByteSize,
    /// Calls that are kept
    #[arg(long, value_name = "N", default_value_t = COLLECTED_CALLS)]
    max_calls: usize,
    /// Times that the stream is opened again; between two the collector waits as long as the server
    /// asks, 100 ms at least and 30 s at most
    #[arg(long, value_name = "N", default_value_t = RECONNECTS)]
    max_reconnects: u32,
    /// Collect from another machine; nothing is encrypted on the way, the token neither
    #[arg(long)]
    allow_remote: bool,
    /// Print {output, error, metadata} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let reach = if args.allow_remote { Reach::Anywhere } else { Reach::Loopback };
    let mut target = Target::within(&args.url, reach)?;
    if let Some(name) = &args.token_env {
        target.set_token(&secret(name, "the token")?)?;
    }
    target.set_limits(CollectLimits {
        stream: args.max_stream,
        kept: Kept { bytes: args.max_output, calls: args.max_calls },
        reconnects: args.max_reconnects,
    });
    let limit = Duration::from_secs(args.timeout);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
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
    let Some(error) = &collected.error else { return Ok(Exit::Ok) };
    terminal::note(format_args!("the turn failed: {error}"));
    Ok(Exit::Findings)
}

/// The answer, and below it a line for each call.
fn print(out: &mut Terminal, collected: &Collected) -> io::Result<()> {
    out.lines(&collected.output)?;
    let calls = &collected.metadata.tool_calls;
    if !calls.is_empty() {
        out.line("")?;
    }
    for ToolCall { name, input, is_error, summary, .. } in calls {
        let failed = if *is_error { ", failed" } else { "" };
        let summary = summary.as_ref();
        let found = summary.map_or(0, |summary| summary.event_ids.len());
        let found = if found > 0 { format!(", {found} found") } else { String::new() };
        let words = summary.and_then(|summary| summary.error.as_deref());
        let words = words.map(|words| format!(": {words}")).unwrap_or_default();
        out.line(format_args!("{name} {input}{found}{failed}{words}"))?;
    }
    Ok(())
}
