//! Confines a recorded CLI: it can read the system and its own files, write its temporary folder, and connect to the
//! scripted model.
//!
//! [`enter()`] is the process that confines itself and then becomes the CLI. It takes on Landlock, together with
//! separate [`namespaces`] if the system lets a user make them: a file tree without the user's files, and a network
//! without the machine's. Without Landlock, bubblewrap makes the namespaces. Both ways have a filter of [`syscalls`]
//! and no capabilities. SECURITY.md lists the refusals and the remaining risks of each way.

mod bounds;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod syscalls;

pub use bounds::{Bounds, ConfineBy, NotConfined};
#[cfg(target_os = "linux")]
pub use enter::enter;
#[cfg(target_os = "linux")]
pub(crate) use enter::{Confined, EnterFailure, start};
#[cfg(target_os = "linux")]
pub(crate) use namespaces::isolate;
