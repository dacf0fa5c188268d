//! The subjects of `clitape.toml`: starts a gateway, talks to it, and finds out when it is done.
//!
//! 1. [`Subjects`] reads the file, and `like` gives a subject the keys of another. [`GatewaySpec`] has the settings of
//!    a gateway, and [`Conditions`] the differences from a run as it was recorded.
//! 2. `fit` decides which cassettes a gateway gets; `dialogue` has the acts of the recorded person.
//! 3. `review` lists the programs that a subject runs, for the person who has to agree. `prepare` installs the packages
//!    of the gateway; `boot` starts the gateway in a temporary folder, with the stand-in as its `claude` and a chat
//!    server, by a `way` to it. `packages` finds the folders of its libraries, and `bundled` the CLIs in them;
//!    `ready_url` asks a URL whether it is ready, and `patience` gives up a gateway that does not work.
//! 4. `persons` has the persons and their chats, `first` does the acts before the first prompt, and `part` is the part
//!    of a chat that belongs to one run. `run` plays many cassettes at one start, `queue` has the state that they
//!    share, `drive` plays one of them in a chat, and `agent` one in an editor. `log` reads the log of the stand-in,
//!    `answers` the answers of the recorded host, and `bus` the events of the gateway's event bus.
//! 5. `suite` plays all cassettes that fit and makes findings; `golden` compares a chat with the accepted ones. `check`
//!    is a short look at a subject, with `hints` for the usual mistakes; `in_vain` collects the requests that a gateway
//!    made in vain. `both` compares the chats of two gateways.
//! 6. `parser` compares the entries of a foreign parser with those of clitape's own; `replay` judges the chat that a
//!    program prints for a cassette's files. `call` calls such programs for each cassette, and `lasting` keeps a parser
//!    that reads one after another. `difference` adds the differing lines of two traces to a finding.

mod agent;
mod answers;
mod boot;
mod both;
mod bundled;
mod bus;
mod call;
mod check;
mod conditions;
mod config;
mod dialogue;
mod difference;
mod drive;
mod error;
mod first;
mod fit;
mod golden;
mod hints;
mod in_vain;
mod lasting;
mod like;
mod log;
mod names;
mod output_log;
mod packages;
mod page;
mod parser;
mod part;
mod patience;
mod persons;
mod placeholders;
mod prepare;
mod queue;
mod ready_url;
mod replay;
mod review;
mod run;
mod spec;
mod suite;
mod way;

pub use both::compare_gateways;
pub use check::{CheckLine, check};
pub use conditions::{Conditions, Printing};
pub use config::{FILE, RANGES, Subjects};
pub use drive::{DriveResult, Job};
pub use error::SubjectError;
pub use fit::Misfit;
pub use in_vain::InVain;
pub use output_log::OutputLog;
pub use page::page_of_run;
pub use parser::{NamedParser, test_parser};
pub use prepare::RigHost;
pub use replay::{NamedReplay, test_replay};
pub use review::review;
pub use run::{ClaudeStarts, RunEvent};
pub use spec::{
    CallSpec, ChatKind, ChatReach, Chats, FirstStep, Front, GatewaySpec, HostKind, InstallSpec,
    NamedGateway, ParserSpec, PressLabels, Ready, ReadySign, ReplaySpec, Started, Starts, Subject,
    SubjectKind, Writers,
};
pub use suite::{GatewaySelection, SubjectOptions, SubjectSuite, select, test};
