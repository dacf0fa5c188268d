//! A scenario on disk: the input of a recording, and the expected output.

pub mod bounds;
mod error;
mod load;
mod model;
mod plans;
mod record;
mod say;
mod setup;
mod starter;
pub mod template;
mod versions;
mod workspace;

pub use error::{ScenarioError, read_toml};
pub use load::{ChatServerSpec, Proof, Scenario};
pub use model::{
    CacheTokens, DeltaCut, ErrorType, Model, ModelApiError, ModelBlock, ModelContent,
    ModelConversation, ModelFailure, ModelFailureKind, ModelStopReason, ModelTurn, Pieces,
    SideRequest, Spare, Spot, StepTurns, ToolSide,
};
pub use plans::{
    Fault, FaultError, FaultKind, PinnedPlan, PlanSource, SeedRange, Seeds, SweepSpec,
};
pub use record::{
    Exit, ExitWord, Exits, HostPreset, HostProfile, Login, PLAIN, RecordSpec, Resume, SessionStep,
    SignalName, SignalPlan, Trigger,
};
pub use say::{
    ChosenLabels, NamedTool, SayAction, SayAnswer, SayBehavior, SayInitialize, SayStep, SayTrigger,
};
pub use setup::{
    AcpClient, ChannelSpec, Chat, ChatMode, ChatProfile, DeliverySpec, RunSpec, SessionSpec, Setup,
    StreamBreak, StreamBreakError, Variant,
};
pub use starter::{Starter, StarterFile};
pub use template::{InitDone, InitPlan, InitStep, init};
pub use versions::{VersionRange, Versions, fact_of};
pub use workspace::{OwnFile, Stray, Workspace};
