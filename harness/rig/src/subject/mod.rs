//! The gateways of `clitape.toml`: how to start them, to talk to them, and to know that they are done.
//!
//! 1. [`Subjects`] reads the file, `like` gives a subject the keys of another; [`GatewaySpec`] are the settings of a gateway.
//!    [`Conditions`] are what is not as it was recorded.
//! 2. `fit` says which cassettes a gateway can be given, `dialogue` what the recorded person did.
//! 3. `review` lists what a subject runs, for the person who is asked. `prepare` installs what the gateway needs; `boot` starts the gateway in a temporary folder, with the
//!    stand-in as its `claude` and a chat server, by a `way` to it. `packages` finds the folders of its libraries, and `bundled`
//!    the CLIs in them; `ready_url` asks a URL whether it is ready, and `patience` gives up a gateway that does nothing.
//! 4. `persons` says who writes and in which chats, `first` does what comes before the first prompt, and `part` is the
//!    part of a chat that belongs to one run. `run` plays many cassettes at one start, `queue` is what they know of
//!    each other, `drive` plays one of them in a chat, and `agent` one in an editor; `log`
//!    reads what the stand-in did, `answers` what the recorded host answered, `bus` what the gateway's event bus said.
//! 5. `suite` plays all that fit and makes findings of what was seen; `golden` compares it with what was accepted
//!    before. `check` is a short look at a subject, with `hints` for the usual mistakes; `in_vain` is what a gateway asked for
//!    and did not get.
//!    `both` compares the chats of two gateways.
//! 6. `parser` compares the entries of a foreign parser with those of clitape's own; `replay` judges the chat that a
//!    program prints of a cassette's files. `call` calls such programs for each cassette, `lasting` keeps a
//!    parser that reads one after the other. `difference` adds to a finding what a subject makes as long as it likes.

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
pub use replay::{NamedReplay, ReplayOptions, ReplaySuite, test_replay};
pub use review::review;
pub use run::{ClaudeStarts, RunEvent};
pub use spec::{
    CallSpec, ChatKind, ChatReach, Chats, FirstStep, Front, GatewaySpec, HostKind, InstallSpec,
    NamedGateway, ParserSpec, PressLabels, Ready, ReadySign, ReplaySpec, Started, Starts, Subject,
    SubjectKind, Writers,
};
pub use suite::{GatewaySelection, LeftOut, SubjectOptions, SubjectSuite, by_reason, select, test};
