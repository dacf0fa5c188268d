//! Compares two lanes of entries, and says in one sentence where they part.

pub(crate) mod change;
pub(crate) mod chat_diff;
pub(crate) mod context;
pub(crate) mod divergence;
#[cfg(test)]
pub(crate) mod entry_line;
pub(crate) mod final_text;
pub(crate) mod lines;
pub(crate) mod pairs;
pub(crate) mod trace_diff;
