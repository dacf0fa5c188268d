//! A scenario on disk: what to record and what must come out.

pub mod bounds;
mod channel;
mod error;
mod fault;
mod host;
mod init;
mod load;
mod login;
mod model;
mod own_folder;
mod pinned;
mod record;
mod run;
mod say;
mod session;
mod setup;
mod signal;
mod step;
mod sweep;
pub mod template;
mod toml_file;
mod variant;
mod versions;
mod versions_file;
mod workspace;

pub use channel::{ChannelSpec, Chat, ChatMode, ChatProfile};
pub use error::ScenarioError;
pub use fault::{Fault, FaultError, FaultKind};
pub use host::{HostPreset, HostProfile, PLAIN};
pub use init::{InitDone, InitStep, init};
pub use load::{ChatServerSpec, Proof, Scenario};
pub use login::Login;
pub use model::{
    DeltaCut, ErrorType, Model, ModelApiError, ModelBlock, ModelContent, ModelConversation,
    ModelFailure, ModelFailureKind, ModelStopReason, ModelTurn, Pieces, SideRequest, Spare, Spot,
    StepTurns, ToolSide,
};
pub use own_folder::OwnFile;
pub use pinned::{PinnedPlan, PlanSource};
pub use record::RecordSpec;
pub use run::{DeliverySpec, RunSpec, StreamBreak, StreamBreakError};
pub use say::{
    ChosenLabels, NamedTool, SayAction, SayAnswer, SayBehavior, SayInitialize, SayStep, SayTrigger,
};
pub use session::SessionSpec;
pub use setup::{AcpClient, Setup};
pub use signal::{Exit, ExitWord, Exits, SignalName, SignalPlan, Trigger};
pub use step::{Resume, SessionStep};
pub use sweep::{SeedRange, Seeds, SweepSpec};
pub use toml_file::read_toml;
pub use variant::Variant;
pub use versions::fact_of;
pub use versions::{VersionRange, Versions};
pub use workspace::{Stray, Workspace};
