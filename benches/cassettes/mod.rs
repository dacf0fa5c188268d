//! What the benchmarks measure with: the stdout of every committed cassette.

use std::path::Path;

use clitape_recording::cassette::Cassette;
use clitape_recording::scenario::Workspace;

/// Returns the stdout of every committed cassette.
pub(crate) fn cassettes() -> Vec<Vec<u8>> {
    let workspace = Workspace::at(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut all = Vec::new();
    for name in workspace.names().unwrap_or_default() {
        for version in workspace.recorded(&name).unwrap_or_default() {
            if let Ok(cassette) = Cassette::load(&workspace.cassette(&name, &version)) {
                all.push(cassette.stdout);
            }
        }
    }
    assert!(!all.is_empty(), "there is no cassette to measure with");
    all
}
