//! Confines a program with bubblewrap, on a system without Landlock. The program sees the files of the system and its
//! own files, and can write only its temporary folder. It has a network of its own, and the process ids of the machine.

use std::path::Path;
use std::process::Command;

use super::bounds::{Bounds, VisiblePath};

/// Returns the command that makes the sandbox and starts a program there in `folder`; the program and its arguments
/// are to be added.
pub(super) fn command(bwrap: &Path, bounds: &Bounds, folder: &Path) -> Command {
    let mut command = Command::new(bwrap);
    // With its own user namespace, the program can't reach files of other processes through `/proc`.
    command.args(["--unshare-user", "--unshare-ipc", "--unshare-net", "--cap-drop", "ALL"]);
    command.arg("--new-session");
    command.args(["--dev", "/dev"]);
    for place in bounds.places() {
        match place {
            VisiblePath::Link { path, target } => command.arg("--symlink").arg(target).arg(path),
            VisiblePath::Files { path, real } => {
                let is_written = bounds.write.contains(&path);
                command.arg(if is_written { "--bind" } else { "--ro-bind" }).arg(real).arg(path)
            }
        };
    }
    // The parent folders of these are in memory; the program must not write them.
    command.args(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir"]).arg(folder).arg("--");
    command
}
