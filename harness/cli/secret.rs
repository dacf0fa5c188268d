//! The secrets of the environment, whose values are left out of every error.

use std::env::{self, VarError};

use anyhow::bail;

/// Returns the value of the variable `name`, which contains `what`. It is an error if the variable is empty or not set;
/// the error has only its name.
pub(crate) fn secret(name: &str, what: &str) -> anyhow::Result<String> {
    match env::var(name) {
        Ok(value) if value.is_empty() => bail!("{name} is empty; set it to {what}"),
        Ok(value) => Ok(value),
        Err(VarError::NotPresent) => bail!("can't read {what}; set {name} in the environment"),
        Err(VarError::NotUnicode(_)) => bail!("{what} in {name} is not UTF-8; set it again"),
    }
}
