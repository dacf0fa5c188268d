//! What stdout states, read with `serde_json` alone.
//!
//! The rules of a replay hold what the parser, the bus and the channels say against it. It shares no code with the
//! parser under test, so that a mistake of the parser can't excuse itself; where stdout leaves something open, it
//! says nothing, and the rules that would need it do not apply.

mod json;
mod lazy;
mod model;
mod reader;
mod secrets;

pub use json::{record as read_record, records, records_with};
pub use lazy::LazyStated;
pub use model::{Stated, StatedBlock, StatedCall, StatedMessage, StatedQuestion, StatedTurn};
pub use secrets::texts_in;

#[cfg(test)]
mod tests;
