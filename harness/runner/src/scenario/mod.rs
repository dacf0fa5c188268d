//! A scenario on disk: what to record and what must come out.

pub mod bounds;
mod channel;
mod error;
mod fault;
mod load;
mod model;
mod run;
mod signal;
mod step;
pub mod template;
mod toml_file;
mod variant;
mod workspace;

pub use channel::{ChannelSpec, Chat, ChatMode, ChatProfile};
pub use error::ScenarioError;
pub use fault::{Fault, FaultError, FaultKind};
pub use load::{ChatServerSpec, Proof, RecordSpec, Scenario, StdinLine, SweepSpec};
pub use model::{
    Conversation, DeltaCut, ErrorType, Model, ModelApiError, ModelBlock, ModelContent,
    ModelFailure, ModelFailureKind, ModelStopReason, ModelTurn, Pieces, SideRequest, Spare, Spot,
    StepTurns, ToolSide,
};
pub use run::{DeliverySpec, RunSpec};
pub use signal::{Exit, ExitWord, Exits, SignalName, SignalPlan, Trigger};
pub use step::{Resume, SessionStep};
pub use toml_file::read_toml;
pub use variant::Variant;
pub use workspace::{Stray, Workspace};
