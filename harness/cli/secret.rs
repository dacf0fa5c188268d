//! Secrets of the environment, which no error repeats.

use std::env::{self, VarError};

use anyhow::bail;

/// The value of the variable `name`, which holds `what` and is not empty; an error names the variable
/// only.
pub(crate) fn secret(name: &str, what: &str) -> anyhow::Result<String> {
    match env::var(name) {
        Ok(value) if value.is_empty() => bail!("{name} is empty; set it to {what}"),
        Ok(value) => Ok(value),
        Err(VarError::NotPresent) => bail!("can't read {what}; set {name} in the environment"),
        Err(VarError::NotUnicode(_)) => bail!("{what} in {name} is not UTF-8; set it again"),
    }
}
