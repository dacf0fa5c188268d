//! A scenario on disk: what to record and what must come out.

mod house;
mod load;
mod model;
pub mod template;

pub use house::House;
pub use load::{
    Channel, ChannelKind, Mode, Record, Run, Scenario, ScenarioError, StdinLine, Sweep, read_toml,
};
pub use model::{Block, Content, Conversation, Cut, Model, Pieces, Side, Spare, StopReason, Turn};
