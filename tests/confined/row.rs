//! A row of the tables: a command, its permissions, and its ending.

use crate::place::Place;

/// A command, and its permissions beside writing in TMPDIR, which must be empty at the end.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Changes the workspace from [`Place::new`] to the one that the row needs.
    pub(crate) prepare: fn(&Place),
    /// The arguments; `{out}`, `{outside}` and `{url}` become the folders and a server's address.
    pub(crate) args: &'static [&'static str],
    /// The folders and files that it writes, relative to the folder around all of them.
    pub(crate) writes: &'static [&'static str],
    /// The programs that it starts.
    pub(crate) starts: &'static [&'static str],
    /// True if it may connect to this machine.
    pub(crate) loopback: bool,
    /// The exit code.
    pub(crate) code: i32,
    /// A part of its stdout or stderr.
    pub(crate) says: &'static str,
}

/// A command that writes no file, with an empty part of its output.
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
