//! The subjects of `clitape.toml`: starts a gateway, talks to it, and finds out when it is done.
//!
//! 1. [`Subjects`] reads the file. [`GatewaySpec`] has the settings of a gateway, and [`Conditions`] the differences
//!    from a run as it was recorded.
//! 2. `dialogue` has the acts of the recorded person, and decides which cassettes a gateway gets.
//! 3. `review` lists the programs that a subject runs, for the person who has to agree. `prepare` installs the packages
//!    of the gateway; `boot` starts the gateway in a temporary folder, with the stand-in as its `claude` and a chat
//!    server. `packages` finds the folders of its libraries and the CLIs in them, and `patience` gives up a gateway
//!    that does not work.
//! 4. `persons` has the persons, their chats, and the part of a chat that belongs to one run. `run` plays many
//!    cassettes at one start, `queue` has the state that they share, `drive` plays one of them in a chat, and `agent`
//!    one in an editor. `log` reads the log of the stand-in, and `bus` the events of the gateway's event bus.
//!    `interlude` kills a gateway in the midst of a cassette and starts it again, or lets the person do more (`deed`).
//! 5. `suite` plays all cassettes that fit, and `finding` makes the findings; `golden` compares a chat with the accepted
//!    ones. `check` is a short look at a subject, with hints for the usual mistakes. `both` compares the chats of two
//!    gateways.
//! 6. `parser` compares the entries of a foreign parser with those of clitape's own; `replay` judges the chat that a
//!    program prints for a cassette's files. `call` calls such programs for each cassette, and `lasting` keeps a parser
//!    that reads one after another.

mod agent;
mod boot;
mod both;
mod bus;
mod call;
mod check;
mod config;
mod deed;
mod dialogue;
mod drive;
mod error;
mod finding;
mod folder_state;
mod golden;
mod interlude;
mod lasting;
mod log;
mod packages;
mod parser;
mod patience;
mod persons;
mod prepare;
mod queue;
mod replay;
mod review;
mod run;
mod spec;
mod suite;

pub use both::compare_gateways;
pub use call::CalledCassette;
pub use check::{CheckLine, check};
pub use config::{FILE, RANGES, Subjects};
pub use dialogue::Misfit;
pub use drive::{DriveResult, Job, seen_run, seen_runs};
pub use error::SubjectError;
pub use parser::ParserSubject;
pub use prepare::{OutputLog, RigHost};
pub use replay::ReplaySubject;
pub use review::review;
pub use run::{ClaudeStarts, InVain, RunEvent};
pub use spec::{
    AtOnce, CallSpec, ChatKind, ChatReach, Chats, Conditions, FirstStep, Front, GatewaySpec,
    HostKind, InstallSpec, NamedGateway, ParserSpec, PressLabels, Printing, Ready, ReadySign,
    ReplaySpec, Started, Starts, SubjectKind, SubjectSpec, Writers,
};
pub use suite::{GatewaySubject, select};
