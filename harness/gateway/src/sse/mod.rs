//! Runs as server-sent events: what a stream tells, the endpoint that serves it, and the collector
//! that reads one (S1, S2).
//!
//! A [`Converter`] turns the bus events of a run into [`SseEvent`]s, a [`Decoder`] reads a stream
//! back, and a [`Gather`] makes `{output, error, metadata}` of what it says. These three are plain
//! state machines:
//!
//! ```
//! use clitape_gateway::sse::{Decoder, Gather, Progress};
//!
//! let stream = b"event: output\ndata: {\"type\":\"delta\",\"content\":\"It is noon.\"}\n\n\
//!                event: tool_use\ndata: {\"name\":\"clock\",\"input\":null}\n\n\
//!                event: complete\ndata: {}\n\n";
//! let (mut decoder, mut gather) = (Decoder::new(), Gather::new());
//! let frames = decoder.feed(stream)?;
//! let last = frames.iter().map(|frame| gather.on(frame)).last();
//! assert_eq!(last, Some(Progress::Complete));
//! let collected = gather.collected();
//! assert_eq!(collected.output, "It is noon.");
//! assert_eq!(collected.metadata.tool_calls[0].name, "clock");
//! # Ok::<_, clitape_gateway::sse::TooLong>(())
//! ```
//!
//! The feature `sse-http` adds what talks HTTP: a `Hub` that holds the streams, a `Server` for them,
//! and `listen` and `converse`, which collect from a URL:
//!
#![cfg_attr(feature = "sse-http", doc = "```")]
#![cfg_attr(not(feature = "sse-http"), doc = "```ignore")]
//! use std::time::Duration;
//!
//! use clitape_gateway::sse::{Hub, Life, Limits, Server, ServerSettings, Target, listen};
//! use clitape_gateway::{Bus, Run, RunSettings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let hub = Hub::new(Limits::default());
//! let server = Server::start(ServerSettings::new("a-long-random-token"), hub.clone()).await?;
//!
//! let bus = Bus::new("run-1");
//! let mut stream = hub.open("run-1", Life::OneRun)?;
//! stream.follow(&bus);
//! Run::start(bus, RunSettings::default(), None).finish().await;
//!
//! let mut target = Target::new(&server.url("run-1"))?;
//! target.set_token("a-long-random-token")?;
//! let collected = listen(&target, 1, Duration::from_secs(10)).await?;
//! assert!(collected.error.is_some_and(|error| error.contains("stopped")));
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "sse-http")]
mod collect;
mod converter;
mod decode;
mod event;
mod gather;
#[cfg(feature = "sse-http")]
mod hub;
#[cfg(feature = "sse-http")]
mod server;
mod summary;

#[cfg(feature = "sse-http")]
pub use collect::{CollectError, CollectLimits, Target, converse, listen};
pub use converter::Converter;
pub use decode::{Decoder, Frame, TooLong};
pub use event::SseEvent;
pub use gather::{Collected, Gather, Kept, Metadata, Progress, Snippet, Summary, ToolCall};
#[cfg(feature = "sse-http")]
pub use hub::{Feed, Hub, HubError, Life, Limits};
#[cfg(feature = "sse-http")]
pub use server::{ServeError, Server, ServerSettings};

/// Which addresses may be served, or read.
#[cfg(feature = "sse-http")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Those of this machine only.
    #[default]
    Loopback,
    /// Any.
    Anywhere,
}
