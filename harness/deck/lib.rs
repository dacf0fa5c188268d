//! The harness itself, in the order data takes: scenario, record, tape, replay, verdict, report.

pub mod scenario;
pub mod tape;
