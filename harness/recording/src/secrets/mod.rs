//! Finds secrets in files, and replaces them in a recording before it is written.
//!
//! The rules of the sanitiser (`clitape_gateway::sanitise`) decide what a secret is. This
//! module brings a file into texts in which a secret is whole: each string of a JSON line,
//! and the joined deltas of a block of a message. It undoes JSON's escapes as often as there are any
//! so that a secret in JSON inside a string of JSON is found too, and so that its place in
//! the file stays known. `scan` reports what is found in a file or folder without showing it, and
//! `redact` puts values in the place of secrets that say what they are (`fake`).

mod fake;
mod redact;
mod scan;

pub use redact::{RedactError, redact};
pub use scan::{
    Hit, Scanned, allowed_in, by_rule, scan, scan_goldens, scan_loaded, scan_named, scan_path,
    scan_take,
};

/// The ids of all rules, for `--allow-secrets`.
pub fn rule_ids() -> Vec<&'static str> {
    let rules = clitape_gateway::sanitise::rule_ids();
    rules.chain([clitape_gateway::sanitise::SECRET_NAME]).collect()
}
