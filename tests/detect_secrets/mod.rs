//! Runs `detect-secrets`, an independent scanner with its own rules, and reads its report.
//!
//! The report has only the SHA-1 of each secret. The scanner may find a part of a planted secret, or more than it, so
//! the hashes of all possible stretches are compared.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use serde_json::Value;
use sha1::{Digest as _, Sha1};

use crate::planted::Planted;

/// A SHA-1.
type Hash = [u8; 20];

/// The least bytes of a stretch that belong to a planted secret, for the stretch to count as a part of it.
const SHARED: usize = 8;

pub(crate) fn is_there() -> bool {
    let out = Command::new("detect-secrets").arg("--version").output();
    out.is_ok_and(|out| out.status.success())
}

/// Returns the hashes of all finds of detect-secrets in a folder, with all of its plugins but without asking servers
/// whether a secret is valid.
pub(crate) fn scan(dir: &Path) -> Result<HashSet<Hash>, Failed> {
    let out = Command::new("detect-secrets")
        .args(["scan", "--all-files", "--no-verify", "."])
        .current_dir(dir)
        .output()?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned().into());
    }
    let report: Value = serde_json::from_slice(&out.stdout)?;
    let files = report["results"].as_object().ok_or("a report without results")?;
    let found = files.values().flat_map(|found| found.as_array().into_iter().flatten());
    found.map(|found| hash_of(found["hashed_secret"].as_str().unwrap_or_default())).collect()
}

/// Reads a hash from its hexadecimal digits.
fn hash_of(digits: &str) -> Result<Hash, Failed> {
    let mut hash = [0; 20];
    for (at, byte) in hash.iter_mut().enumerate() {
        let digits = digits.get(2 * at..2 * at + 2).ok_or("a hash is too short")?;
        *byte = u8::from_str_radix(digits, 16)?;
    }
    Ok(hash)
}

/// Returns, for each planted secret, the hashes of all stretches of its text that share enough with it.
pub(crate) fn hashes(planted: &[Planted]) -> Vec<HashSet<Hash>> {
    planted
        .iter()
        .map(|planted| stretches(planted).map(|part| Sha1::digest(part).into()).collect())
        .collect()
}

fn stretches(planted: &Planted) -> impl Iterator<Item = &str> {
    let Planted { text, secret, .. } = planted;
    let begin = text.find(&**secret).expect("the text has the secret in it");
    let end = begin + secret.len();
    (0..=end - SHARED).flat_map(move |from| {
        (from.max(begin) + SHARED..=text.len()).map(move |to| &text[from..to])
    })
}
