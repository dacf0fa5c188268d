//! Replays the bytes of a cassette: a plan cuts and delays them, a subject turns them into a trace.

mod builtin;
mod chat;
mod driver;
mod faults;
mod lanes;
mod mutation;
mod plan;
mod played;
mod random;
mod request;
mod session;
mod streamed;

pub use clitape_recording::capture::{Capture, StdinLine, stdin_lines};

pub(crate) use builtin::{ParserReport, count_replays, replay_all, replay_played};
pub use builtin::{Replay, live, replay};
pub use chat::call_entry;
pub use faults::{
    AGENT_FAULTS, AgentFault, AgentFaultError, AgentFaultKind, AgentFaultRow, HostStep, MustSee,
};
pub use mutation::{Mutation, MutationKind};
pub use plan::{Cut, CutError, PLAN_FORMAT, Plan, PlanError, PlanStep};
pub(crate) use played::PlayedPlan;
pub use played::{LOG_LINES, UNKNOWN_RECORDS, says_the_same_twice};
pub use request::{PlanArg, ReplayRequest, RequestError};
pub use streamed::{CapturePieces, ReplaySummary, replay_streamed};
