//! Runs as server-sent events: what a stream tells, the endpoint that serves it, and the collector
//! that reads one ([S1](crate::rules::S1), [S2](crate::rules::S2)).
//!
//! A [`SseConverter`] turns the bus events of a run into [`SseEvent`]s, a [`SseDecoder`] reads a stream
//! back, and a [`Collector`] makes `{output, error, metadata}` of what it says. These three are plain
//! state machines:
//!
//! ```
//! use clitape_gateway::sse::{SseDecoder, Collector, TurnProgress};
//!
//! let stream = b"event: output\ndata: {\"type\":\"delta\",\"content\":\"It is noon.\"}\n\n\
//!                event: tool_use\ndata: {\"name\":\"clock\",\"input\":null}\n\n\
//!                event: complete\ndata: {}\n\n";
//! let (mut decoder, mut collector) = (SseDecoder::new(), Collector::new());
//! let frames = decoder.feed(stream)?;
//! let last = frames.iter().map(|frame| collector.on(frame)).last();
//! assert_eq!(last, Some(TurnProgress::Complete));
//! let collected = collector.collected();
//! assert_eq!(collected.output, "It is noon.");
//! assert_eq!(collected.metadata.tool_calls[0].name, "clock");
//! # Ok::<_, clitape_gateway::sse::TooLong>(())
//! ```
//!
//! The feature `sse-http` adds HTTP: a `Broker` that keeps the streams, an `SseServer` that serves
//! them, and `listen` and `converse`, which collect from a URL:
//!
#![cfg_attr(feature = "sse-http", doc = "```")]
#![cfg_attr(not(feature = "sse-http"), doc = "```ignore")]
//! use std::time::Duration;
//!
//! use clitape_gateway::sse::{Broker, BrokerLimits, StreamLifetime};
//! use clitape_gateway::sse::{CollectTarget, ServerSettings, SseServer, listen};
//! use clitape_gateway::{Bus, Run, RunSettings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let broker = Broker::new(BrokerLimits::default());
//! let server = SseServer::start(ServerSettings::new("a-long-random-token"), broker.clone()).await?;
//!
//! let bus = Bus::new("run-1");
//! let mut stream = broker.open("run-1", StreamLifetime::OneRun)?;
//! stream.follow(&bus);
//! Run::start(bus, RunSettings::default(), None).finish().await;
//!
//! let mut target = CollectTarget::new(&server.url("run-1"))?;
//! target.set_token("a-long-random-token")?;
//! let collected = listen(&target, 1, Duration::from_secs(10)).await?;
//! assert!(collected.error.is_some_and(|error| error.contains("stopped")));
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "sse-http")]
pub(crate) mod broker;
#[cfg(feature = "sse-http")]
mod collect;
pub(crate) mod collector;
pub(crate) mod converter;
#[cfg(feature = "sse-http")]
mod local;
#[cfg(feature = "sse-http")]
mod server;
pub(crate) mod summary;
pub(crate) mod wire;

#[cfg(feature = "sse-http")]
pub use broker::{Broker, BrokerError, BrokerLimits, StreamFeed, StreamLifetime};
#[cfg(feature = "sse-http")]
pub use collect::{CollectError, CollectLimits, CollectTarget, converse, listen};
pub use collector::{
    Collected, CollectedCall, Collector, Metadata, ResultSummary, RetainedLimits, Snippet,
    TurnProgress,
};
pub use converter::SseConverter;
#[cfg(feature = "sse-http")]
pub use local::{LocalEndpoint, LocalReader, LocalRefusal};
#[cfg(feature = "sse-http")]
pub use server::PostedAnswer;
#[cfg(feature = "sse-http")]
pub use server::SseServer;
#[cfg(feature = "sse-http")]
pub use server::{ServeError, ServerSettings};
#[cfg(feature = "sse-http")]
pub use wire::Reach;
pub use wire::{SseDecoder, SseEvent, SseFrame, TooLong};
