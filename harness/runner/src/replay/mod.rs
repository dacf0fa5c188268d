//! Replays the bytes of a cassette: a plan cuts and delays them, a subject turns them into a trace.

mod agent_draw;
mod agent_fault;
mod builtin;
mod chat;
mod cuts;
mod dialogue;
mod driver;
mod host_step;
mod lanes;
mod listener;
mod live;
mod log;
mod person;
mod pieces;
mod plan;
mod played;
mod pulse;
mod random;
mod request;
mod session;
mod setup;
mod stream_reading;
mod streamed;
mod stuck;
mod turns;
mod virtual_time;

pub use clitape_recording::capture::{Capture, StdinLine, stdin_lines};

pub use agent_fault::{
    AgentFault, AgentFaultError, AgentFaultKind, AgentFaultRow, MustSee, ROWS as AGENT_FAULTS,
};
pub use builtin::{Replay, replay};
pub(crate) use builtin::{replay_all, replay_played};
pub use chat::call_entry;
pub(crate) use cuts::ParserReport;
pub use host_step::HostStep;
pub use live::live;
pub use pieces::CapturePieces;
pub use plan::{Cut, CutError, PLAN_FORMAT, Plan, PlanError, PlanStep};
pub(crate) use played::PlayedPlan;
pub(crate) use pulse::count_replays;
pub use request::{PlanArg, ReplayRequest, RequestError};
pub use streamed::{ReplaySummary, replay_streamed};
