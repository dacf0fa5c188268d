//! One row of the tables: a command, what it may do, and how it ends.

use crate::place::Place;

/// What a command may do beside writing in TMPDIR, which is empty in the end.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Makes the workspace different from [`workspace`].
    pub(crate) prepare: fn(&Place),
    /// The arguments; `{out}`, `{outside}` and `{url}` become the folders and a server's address.
    pub(crate) args: &'static [&'static str],
    /// What it writes: these folders and files, relative to the folder around all of them.
    pub(crate) writes: &'static [&'static str],
    /// The programs that it starts.
    pub(crate) starts: &'static [&'static str],
    /// Whether it may talk to this machine.
    pub(crate) loopback: bool,
    /// How it ends.
    pub(crate) code: i32,
    /// What it says on stdout or stderr.
    pub(crate) says: &'static str,
}

/// A command that writes nothing and says nothing in particular.
pub(crate) const QUIET: Row = Row {
    name: "",
    prepare: |_| {},
    args: &[],
    writes: &[],
    starts: &[],
    loopback: false,
    code: 0,
    says: "",
};
