//! Makes a schema of the records in the cassettes, and checks stream-json against it.
//!
//! The CLI publishes no schema of its stream. [`observe`] makes one from the recordings of a workspace: each kind of
//! record, each field with its types, how often it was there and since which version. [`conform()`] checks any
//! stream-json against it.

mod conform;
mod schema;
mod shape;
#[cfg(test)]
mod tests;

use std::io;

use clitape_recording::cassette::{Cassette, CassetteError, Origin};
use clitape_recording::facts::records;
use clitape_recording::scenario::Workspace;
pub use conform::{Conformance, New, Wrong, conform};
use serde_json::Value;
use shape::Shape;
pub(crate) use shape::{Inside, JsonType, Tag};

/// The reason why the recordings of a workspace can't be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// A folder can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A cassette can't be read.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
}

/// Makes the schema of all records that the CLI itself printed in the recordings of a workspace. Captures that were
/// imported or edited by hand are left out, as are lines that are not records.
///
/// # Errors
///
/// [`ObserveError`] when a folder or a cassette can't be read.
pub fn observe(workspace: &Workspace) -> Result<Value, ObserveError> {
    let mut shape = Shape::default();
    for name in workspace.recorded_names()? {
        for version in workspace.recorded(&name)? {
            let cassette = Cassette::find(workspace, &name, &version)?;
            if cassette.manifest.origin != Origin::Recorded {
                continue;
            }
            for stdout in cassette.outputs() {
                let typed = records(stdout).filter(|record| record["type"].is_string());
                typed.for_each(|record| shape.add(&record, &version));
            }
        }
    }
    Ok(schema::document(&shape))
}
