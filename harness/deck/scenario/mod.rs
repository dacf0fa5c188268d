//! A scenario on disk: what to record and what must come out.

mod load;

pub use load::{
    Channel, ChannelKind, Mode, Record, Run, Scenario, ScenarioError, StdinLine, Sweep, read_toml,
};
