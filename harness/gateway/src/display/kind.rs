//! What a tool does, for clients that draw an icon of their own.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// What a tool does, in the words of the Agent Client Protocol's `ToolKind`
/// ([A1](crate::rules::A1)).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, Display, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it, and the protocol defines them")]
#[non_exhaustive]
pub enum ToolCategory {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

impl ToolCategory {
    /// Returns the word of the protocol: `switch_mode`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
