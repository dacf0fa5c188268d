//! The account of the memory that other programs make a run keep, with its limit; and the memory that JSON and the
//! entries of a trace take.

pub use clitape_process::kept::{Full, Held, KeptBytes};
pub use clitape_recording::limits::{json_bytes, map_bytes, parsed_bytes};
pub use clitape_recording::trace::entry_bytes;
