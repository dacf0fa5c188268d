//! Tries many recordings at a [`Subject`], with one stream of events and one result; a report only shows it.
//!
//! `clitape test`, `rig`, `proof` and `sweep` and the trials of `cargo test` are a [`run`] of a subject, which is
//! [`OwnGateway`] without another; `compare` and `drift` one of two sides, whose trials are pairs of recordings.

mod case;
pub mod overview;
mod own;
mod pool;
mod result;
mod run;
mod seed_search;
pub mod select;
mod watch;

pub use case::{CaseRun, ComparedGolden, ProofCase};
pub use own::{OwnGateway, OwnTrial};
pub(crate) use result::troubles;
pub use result::{Cause, CheckRun, JudgedShard, ScenarioRun, Tally, Trouble};
pub(crate) use run::each;
pub use run::{
    GatheredCases, LeftOut, Observing, RunEnd, Subject, SuiteOptions, SuiteRun, TrialEvent,
    TrialNote, Trials, judge_each, run,
};
pub use seed_search::{
    FailingSeed, SearchError, SearchEvent, SearchState, SeedSearch, search_fingerprint,
    search_seeds,
};
