//! Tries many recordings at a [`Subject`], with one stream of events and one result; a report only shows it.
//!
//! `clitape test`, `rig`, `proof` and `sweep` are a [`run`] of a subject, which is [`OwnGateway`] without another.
//! `compare` and `drift` share its events and its pool of threads, and the trials of `cargo test` its checks.

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
pub use own::{Loaded, OwnGateway, OwnTrial, load};
pub use pool::{Progress, in_order_noting};
pub use result::{Cause, CheckRun, JudgedShard, ScenarioRun, Tally, Trouble};
pub(crate) use run::each;
pub use run::{
    GatheredCases, LeftOut, Observing, RunEnd, Subject, SuiteOptions, SuiteRun, TrialEvent, Trials,
    run,
};
pub use seed_search::{
    FailingSeed, SearchError, SearchEvent, SearchState, SeedSearch, search_fingerprint,
    search_seeds,
};
pub use watch::judge_within;
