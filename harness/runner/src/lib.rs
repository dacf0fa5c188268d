//! The harness itself, in the order data takes: scenario, record, cassette, replay, check, compare,
//! report.

pub mod cassette;
pub mod check;
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
pub mod text;
