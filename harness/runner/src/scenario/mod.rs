//! A scenario on disk: what to record and what must come out.

pub mod bounds;
mod channel;
mod error;
mod fault;
mod house;
mod load;
mod model;
mod run;
mod signal;
mod step;
pub mod template;
mod variant;

pub use channel::{Channel, Chat, Mode, Profile};
pub use error::ScenarioError;
pub use fault::{Fault, FaultError, FaultKind};
pub use house::{House, Stray};
pub use load::{ChatServer, Proof, Record, Scenario, StdinLine, Sweep, read_toml};
pub use model::{
    ApiError, Block, Content, Conversation, Cut, ErrorType, Failure, FailureKind, Model, Pieces,
    Side, Spare, Spot, StepTurns, StopReason, ToolSide, Turn,
};
pub use run::{Delivery, Run};
pub use signal::{ExitWord, Exits, SignalName, SignalPlan, Trigger};
pub use step::Step;
pub use variant::Variant;
