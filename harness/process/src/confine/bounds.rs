//! The files, folders and devices to which a CLI is confined, and the ways to do that.

use std::path::{Path, PathBuf};

use clitape_recording::cassette::Confinement;
use serde::{Deserialize, Serialize};

use crate::host::HostPaths;

/// The parts of the system that the CLI and its tools may read and execute.
#[cfg(target_os = "linux")]
pub(super) const SYSTEM: [&str; 15] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/proc",
    "/sys",
    "/nix/store",
    "/gnu/store",
    // The folder has a socket through which any program can have names looked up.
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/current-system",
];
/// The devices without data of a user. Terminals are left out, because output to a terminal, or input put into it,
/// would reach the user's.
#[cfg(target_os = "linux")]
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The way in which a CLI is confined to its temporary folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfineBy {
    /// The first way that the system supports: Landlock, bubblewrap, or no confinement.
    Any,
    /// Only this way. If the system does not support it, nothing is recorded.
    Only(Confinement),
}

impl ConfineBy {
    /// Returns the ways to try, the best one first.
    #[cfg(target_os = "linux")]
    pub(crate) fn ways(self) -> &'static [Confinement] {
        match self {
            Self::Any => &[Confinement::Landlock, Confinement::Bubblewrap],
            Self::Only(Confinement::Landlock) => &[Confinement::Landlock],
            Self::Only(Confinement::Bubblewrap) => &[Confinement::Bubblewrap],
        }
    }
}

/// The reason why a CLI could not be confined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum NotConfined {
    /// The kernel does not offer Landlock.
    #[error(
        "the CLI can't be confined by Landlock: this system does not have it (Linux 5.13 and later, \
         where it is not turned off); use `--confine auto` or `--confine bubblewrap`, or `--confine none` \
         to let it do whatever you can"
    )]
    NoLandlock,
    /// The program `bwrap` is missing.
    #[error(
        "the CLI can't be confined by bubblewrap: there is no `bwrap` on PATH; install the package \
         bubblewrap, or use `--confine auto`, or `--confine none` to let it do whatever you can"
    )]
    NoBubblewrap,
    /// `bwrap` can't make a sandbox and printed this message.
    #[error(
        "the CLI can't be confined by bubblewrap: {0}; let bwrap make user namespaces on this system, or use \
         `--confine auto`, or `--confine none` to let it do whatever you can"
    )]
    Bubblewrap(String),
    /// This system has no supervisor for the CLI.
    #[error(
        "the CLI can't be confined on this system, which is not Linux; use `--confine auto`, or \
         `--confine none` to let it do whatever you can"
    )]
    NoSupervisor,
}

/// The files, folders and port to which a program is confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Files and folders that it may read and execute in addition to the system's.
    pub(crate) read: Vec<PathBuf>,
    /// Folders in which it may read, write and execute everything.
    pub(crate) write: Vec<PathBuf>,
    /// The TCP port that it may connect to; `None` forbids all.
    pub(crate) port: Option<u16>,
    /// The way in which it is confined.
    pub(crate) by: ConfineBy,
    /// The `bwrap` that clitape finds on its own PATH; the CLI's PATH may contain folders of other users.
    pub(crate) bwrap: Option<PathBuf>,
}

impl Bounds {
    /// Makes the bounds of the CLI `program`, which runs in the temporary folder `root` and asks a model at `port`.
    pub fn new(
        program: &Path,
        root: &Path,
        port: Option<u16>,
        by: ConfineBy,
        host: &HostPaths,
    ) -> Self {
        let mut read = places(program);
        if let Some(node) = host.which("node") {
            if let Ok(real) = node.canonicalize() {
                // Node's own modules and libraries are beside the folder that its program is in.
                read.extend(real.parent().and_then(Path::parent).map(|place| place.join("lib")));
                read.push(real);
            }
            read.push(node);
        }
        let real = |path: &PathBuf| path.canonicalize().unwrap_or(path.clone());
        let (home, temporary) = (host.home.as_ref().map(real), real(&host.temporary));
        // The CLI must not read the user's home folder or the folder for temporary files. If a program is directly in
        // one of them, the CLI may read the program but not the folder.
        read.retain(|path| {
            path != Path::new("/")
                && !temporary.starts_with(path)
                && !home.as_ref().is_some_and(|home| home.starts_with(path))
        });
        read.sort();
        read.dedup();
        Self { read, write: vec![root.to_owned()], port, by, bwrap: host.which("bwrap") }
    }
}

/// A path of the machine's file tree that a confined program sees unchanged.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VisiblePath {
    /// A file, or a folder with its content; `real` is the path without links.
    Files { path: PathBuf, real: PathBuf },
    /// A link to a file that the program may read, because it looks for files beside the target.
    Link { path: PathBuf, target: PathBuf },
}

#[cfg(target_os = "linux")]
impl Bounds {
    /// Returns the paths that the program may read or write, the system's first and the writable ones last. Missing
    /// paths are left out, and so are those inside another one.
    pub(super) fn places(&self) -> Vec<VisiblePath> {
        let mut places: Vec<VisiblePath> = Vec::new();
        let mut bound: Vec<&Path> = Vec::new();
        for path in SYSTEM.iter().map(Path::new).chain(self.read.iter().map(PathBuf::as_path)) {
            let Ok(real) = path.canonicalize() else { continue };
            if bound.iter().any(|above| path.starts_with(above)) {
                continue;
            }
            bound.push(path);
            let path = path.to_owned();
            places.push(match path.is_symlink() && real.is_file() {
                true => VisiblePath::Link { path, target: real },
                false => VisiblePath::Files { path, real },
            });
        }
        let written = self.write.iter().filter_map(|path| Some((path, path.canonicalize().ok()?)));
        places.extend(written.map(|(path, real)| VisiblePath::Files { path: path.clone(), real }));
        places
    }
}

/// Returns the files of its own that a program may read: the program, before and after its links are followed, and the
/// modules that were installed with it, or its package. Other files in its folder may be a person's, such as a project.
fn places(program: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let names = [Some(program.to_owned()), program.canonicalize().ok()];
    for name in names.into_iter().flatten() {
        let modules = name.ancestors().filter(|at| at.ends_with("node_modules")).last();
        let package = || name.parent().filter(|folder| is_package(folder));
        places.extend(modules.or_else(package).map(Path::to_owned));
        places.push(name);
    }
    places
}

/// Returns whether a folder is the unpacked package of the CLI.
fn is_package(folder: &Path) -> bool {
    let text = std::fs::read(folder.join("package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    package["name"] == "@anthropic-ai/claude-code"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_read_the_modules_it_was_installed_with() {
        for (program, folder) in [
            ("/x/lib/node_modules/.bin/claude", Some("/x/lib/node_modules")),
            ("/x/node_modules/a/node_modules/b/cli.js", Some("/x/node_modules")),
            ("/x/bin/claude", None),
        ] {
            let expect: Vec<_> = folder.into_iter().chain([program]).map(PathBuf::from).collect();
            assert_eq!(places(Path::new(program)), expect);
        }
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        for (name, is_read) in [("@anthropic-ai/claude-code", true), ("mine", false)] {
            std::fs::write(folder.join("package.json"), format!(r#"{{"name":"{name}"}}"#)).unwrap();
            assert_eq!(places(&folder.join("cli.js")).contains(&folder), is_read, "{name}");
        }
    }

    #[test]
    fn the_user_s_own_folder_is_not_read_for_a_program_in_it() {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap());
        let bounds = Bounds::new(
            &home.join("claude"),
            Path::new("/tmp/clitape-1"),
            None,
            ConfineBy::Any,
            &HostPaths::of_tests(),
        );
        assert!(bounds.read.contains(&home.join("claude")), "{bounds:?}");
        assert!(!bounds.read.iter().any(|path| home.starts_with(path)), "{bounds:?}");
    }
}
