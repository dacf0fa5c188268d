//! Replays the bytes of a cassette: a plan cuts and delays them, a subject turns them into a trace.

mod acp;
mod builtin;
mod bus;
mod chat;
mod chat_view;
mod headline;
mod lifecycle;
mod live;
mod plan;
mod random;
mod session;
mod sse;
mod stuck;
mod trace;

pub use builtin::{AcpClient, Replay, Setup, replay};
pub(crate) use chat::LATENCY;
pub use chat_view::{ChatChange, ChatView, SeenMessage};
pub(crate) use headline::shortened;
pub use live::live;
pub use plan::{Cut, CutError, PLAN_FORMAT, Plan, PlanError, PlanStep};
pub use trace::{Entry, Lane};
