//! The harness itself, in the order data takes: scenario, record, tape, replay, verdict, compare,
//! report.

pub mod compare;
pub mod files;
pub mod input;
pub mod limits;
pub mod names;
pub mod record;
pub mod replay;
pub mod report;
pub mod scenario;
pub mod secrets;
pub mod tape;
pub mod text;
pub mod verdict;
