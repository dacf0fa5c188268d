//! Every limit on what a gateway, an agent, a bot or a web page sends to clitape, with its default.
//!
//! `docs/limits.md` lists them with what happens at each; `tests/commands/limits.rs` compares the page with
//! these values.

use clitape_gateway::ByteSize;

/// Bytes of memory that all other programs of a run can make clitape keep.
pub const KEPT: ByteSize = ByteSize::mib(256);
