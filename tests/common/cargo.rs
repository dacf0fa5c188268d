//! Cargo, called by a test.

use std::env;
use std::process::Command;

/// Makes a call of cargo without its facts about the package of this test: build scripts of dependencies run again where
/// they differ, and what depends on them is built a second time.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new("cargo");
    for (name, _) in env::vars_os() {
        let of_test = ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"];
        if of_test.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}
