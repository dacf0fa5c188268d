//! A scenario on disk: what to record and what must come out.

mod house;
mod load;
mod model;
mod run;
mod signal;
pub mod template;

pub use house::House;
pub use load::{Channel, Mode, Record, Scenario, ScenarioError, StdinLine, Sweep, read_toml};
pub use model::{
    ApiError, Block, Content, Conversation, Cut, ErrorType, Failure, FailureKind, Model, Pieces,
    Side, Spare, Spot, StopReason, ToolSide, Turn,
};
pub use run::{Delivery, Run};
pub use signal::{ExitWord, Exits, SignalName, SignalPlan, Trigger};
