//! Replays the bytes of a cassette: a plan cuts and delays them, a subject turns them into a trace.

mod agent_draw;
mod agent_fault;
mod builtin;
mod chat;
mod dialogue;
mod driver;
mod heard;
mod host_step;
mod lanes;
mod listener;
mod live;
mod log;
mod parsed;
mod person;
mod pieces;
mod plan;
#[cfg(test)]
mod planted_tests;
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
mod wiring;

pub use clitape_recording::capture::{Capture, StdinLine, stdin_lines};

pub use agent_fault::{
    AgentFault, AgentFaultError, AgentFaultKind, AgentFaultRow, MustSee, ROWS as AGENT_FAULTS,
};
pub use builtin::{Replay, replay};
pub(crate) use builtin::{replay_all, replay_following, replay_heard, replay_played};
pub use chat::call_entry;
pub(crate) use heard::Heard;
pub use host_step::HostStep;
pub use live::live;
pub(crate) use parsed::{parsed, parsed_in_step};
pub use pieces::CapturePieces;
pub use plan::{Cut, CutError, PLAN_FORMAT, Plan, PlanError, PlanStep};
#[cfg(test)]
pub(crate) use planted_tests::{PlantedFault, replay_planted};
pub(crate) use played::PlayedPlan;
#[cfg(test)]
pub(crate) use pulse::replay_ended;
pub(crate) use pulse::{count_of_this_thread, count_replays};
pub(crate) use random::first_of_times;
pub use request::{PlanArg, ReplayRequest, RequestError};
pub use streamed::{ReplaySummary, replay_streamed};
