//! Runs as server-sent events: what a stream tells, and what is collected of it (S1, S2).
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

mod converter;
mod decode;
mod event;
mod gather;
mod summary;

pub use converter::Converter;
pub use decode::{Decoder, Frame, TooLong};
pub use event::SseEvent;
pub use gather::{Collected, Gather, Metadata, Progress, Snippet, Summary, ToolCall};
