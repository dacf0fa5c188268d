//! Finds secrets in files, and replaces them in a recording before it is written.
//!
//! The rules of the sanitiser (`clitape_gateway::sanitise`) define the secrets. This module splits a file into texts in
//! which a secret is whole: each string of a JSON line, and the joined deltas of a block of a message. It undoes all
//! levels of JSON's escapes, so that a secret in JSON inside a string of JSON is found too, and tracks its place in the
//! file. `scan` reports the secrets of a file or folder in masked form, and `redact` replaces them by recognisable
//! fakes (`fake`).

mod fake;
mod redact;
mod scan;

pub use redact::{RedactError, redact};
pub use scan::{
    Hit, Scanned, allowed_in, by_rule, scan, scan_goldens, scan_loaded, scan_named, scan_path,
    scan_take,
};

/// Returns the ids of all rules, for `--allow-secrets`.
pub fn rule_ids() -> Vec<&'static str> {
    let rules = clitape_gateway::sanitise::rule_ids();
    rules.chain([clitape_gateway::sanitise::SECRET_NAME]).collect()
}
