//! Confines a recorded CLI: it can read the system and its own files, write its temporary folder, and
//! connect to the scripted model, as far as Landlock can enforce that. Without Landlock,
//! [`bubblewrap`] confines it to these files.

#[cfg(target_os = "linux")]
pub(super) mod bubblewrap;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cassette::Confinement;
use crate::host::HostPaths;

/// The parts of the system that the CLI and its tools may read and execute.
#[cfg(target_os = "linux")]
pub(super) const SYSTEM: [&str; 14] = [
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
    "/run/systemd/resolve",
    "/run/current-system",
];
/// Devices without data of a user.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// The way in which a CLI is confined to its temporary folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfineBy {
    /// The first way that the system supports: Landlock, bubblewrap, or no confinement.
    Any,
    /// Only this way. If the system does not support it, nothing is recorded.
    Only(Confinement),
}

impl ConfineBy {
    /// The ways to try, the best one first.
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
pub(crate) enum NotConfined {
    /// The kernel does not offer Landlock.
    #[error(
        "the CLI can't be confined by Landlock: this system does not have it (Linux 5.13 and later, \
         where it is not turned off); use `--confine auto` or `--confine bubblewrap`, or `--confine none` \
         to let it do whatever you can"
    )]
    NoLandlock,
    /// There is no `bwrap`.
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
pub(crate) struct Bounds {
    /// Files and folders that it may read and execute in addition to the system's.
    pub(crate) read: Vec<PathBuf>,
    /// Folders in which it may read, write and execute everything.
    pub(crate) write: Vec<PathBuf>,
    /// The TCP port that it may connect to.
    pub(crate) port: u16,
    /// The way in which it is confined.
    pub(crate) by: ConfineBy,
    /// The `bwrap` that clitape finds on its own PATH; the CLI's PATH may contain folders of other users.
    pub(crate) bwrap: Option<PathBuf>,
}

impl Bounds {
    /// The bounds of the CLI `program`, which runs in the temporary folder `root` and asks the model at `port`.
    pub(crate) fn new(
        program: &Path,
        root: &Path,
        port: u16,
        by: ConfineBy,
        host: &HostPaths,
    ) -> Self {
        let mut read = places(program);
        if let Some(node) = host.which("node") {
            if let Ok(real) = node.canonicalize() {
                // Node's own modules are beside the folder that its program is in.
                read.extend(real.parent().and_then(Path::parent).map(Path::to_owned));
                read.push(real);
            }
            read.push(node);
        }
        let real = |path: &PathBuf| path.canonicalize().unwrap_or(path.clone());
        let (home, temporary) = (host.home.as_ref().map(real), real(&host.temporary));
        // The CLI must not read the user's home folder or the folder for temporary files. If a program
        // is directly in one of them, the CLI may read the program and not the folder.
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

/// The files that a program may read of itself: the program and its folder, before and after its links
/// are followed. A program that npm installed may read all modules that were installed with it.
fn places(program: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let names = [Some(program.to_owned()), program.canonicalize().ok()];
    for name in names.into_iter().flatten() {
        let modules = name.ancestors().filter(|at| at.ends_with("node_modules")).last();
        let folder = modules.or(name.parent()).map(Path::to_owned);
        places.extend(folder);
        places.push(name);
    }
    places
}

#[cfg(target_os = "linux")]
pub use bubblewrap::enter;
#[cfg(target_os = "linux")]
pub(crate) use landlocked::restrict;

#[cfg(target_os = "linux")]
mod landlocked {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, NetPort, RestrictionStatus, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
        path_beneath_rules,
    };

    use super::{Bounds, DEVICES, SYSTEM};

    /// The version of Landlock whose rights are requested; an older kernel enforces the rights that it supports.
    const RIGHTS: ABI = ABI::V4;

    /// Confines this thread and the processes that it starts. Returns whether the system can do that.
    pub(crate) fn restrict(bounds: &Bounds) -> bool {
        apply(bounds).is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
    }

    fn apply(bounds: &Bounds) -> Result<RestrictionStatus, RulesetError> {
        let read = AccessFs::from_read(RIGHTS);
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
        Ruleset::default()
            .handle_access(AccessFs::from_all(RIGHTS))?
            .handle_access(AccessNet::ConnectTcp)?
            .scope(Scope::AbstractUnixSocket)?
            .scope(Scope::Signal)?
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, read))?
            .add_rules(path_beneath_rules(&bounds.read, read))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .add_rules(path_beneath_rules(&bounds.write, AccessFs::from_all(RIGHTS)))?
            .add_rule(NetPort::new(bounds.port, AccessNet::ConnectTcp))?
            .restrict_self()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_read_the_modules_it_was_installed_with() {
        for (program, folder) in [
            ("/x/lib/node_modules/.bin/claude", "/x/lib/node_modules"),
            ("/x/node_modules/a/node_modules/b/cli.js", "/x/node_modules"),
            ("/x/bin/claude", "/x/bin"),
        ] {
            let expect = [PathBuf::from(folder), PathBuf::from(program)];
            assert_eq!(places(Path::new(program)), expect);
        }
    }

    #[test]
    fn the_user_s_own_folder_is_not_read_for_a_program_in_it() {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap());
        let bounds = Bounds::new(
            &home.join("claude"),
            Path::new("/tmp/clitape-1"),
            1,
            ConfineBy::Any,
            &HostPaths::of_tests(),
        );
        assert!(bounds.read.contains(&home.join("claude")), "{bounds:?}");
        assert!(!bounds.read.iter().any(|path| home.starts_with(path)), "{bounds:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_confined_writes_its_folder_alone() {
        for (way, refusal) in [
            (Confinement::Landlock, "Permission denied"),
            (Confinement::Bubblewrap, "No such file or directory"),
        ] {
            let inside = tempfile::tempdir().unwrap();
            let outside = tempfile::tempdir().unwrap();
            fs_err::write(outside.path().join("secret"), "secret").unwrap();
            let bounds = Bounds {
                read: Vec::new(),
                write: vec![inside.path().to_owned()],
                port: 1,
                by: ConfineBy::Only(way),
                bwrap: HostPaths::of_tests().which("bwrap"),
            };
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port().to_string();
            let me = std::process::id().to_string();
            let script = "link=root; cat \"$0/secret\" 2>&1; cat /proc/$1/$link/etc/hostname; echo a > \"$0/new\"; \
                 echo a > \"$3/../new\"; echo b > inside; echo d > /dev/d; (: < /dev/tcp/127.0.0.1/$2) \
                 && echo connected; kill -0 $1 && echo signalled; ls -d /usr; echo c > /dev/null && echo null";
            let dir = inside.path().to_owned();
            let arguments =
                [outside.path().to_owned(), me.into(), port.into(), inside.path().to_owned()];
            let run = std::thread::spawn(move || {
                let mut command = match way {
                    Confinement::Landlock if !restrict(&bounds) => return None,
                    Confinement::Landlock => std::process::Command::new("/bin/bash"),
                    Confinement::Bubblewrap => {
                        let mut command = super::bubblewrap::sandboxed(&bounds)?;
                        command.arg("/bin/bash");
                        command
                    }
                };
                command.arg("-c").arg(script).args(arguments).current_dir(dir);
                Some(command.output().unwrap())
            });
            let output = run.join().unwrap();
            let is_made = |output: &std::process::Output| !output.stderr.starts_with(b"bwrap: ");
            let Some(output) = output.filter(is_made) else {
                let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
                let is_required = way == Confinement::Bubblewrap && required.contains("bwrap");
                assert!(!is_required, "bwrap can't be used, and CLITAPE_REQUIRE names it");
                // This system does not support this way.
                continue;
            };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.starts_with("cat: ") && text.contains(refusal), "{text}{errors}");
            assert!(text.ends_with("/usr\nnull\n"), "{text}{errors}");
            assert!(errors.contains(refusal), "{errors}");
            assert!(!outside.path().join("new").exists());
            assert!(!inside.path().with_file_name("new").exists());
            assert!(!Path::new("/dev/d").exists());
            let written = fs_err::read_to_string(inside.path().join("inside"));
            assert_eq!(written.unwrap(), "b\n", "{errors}");
            if way == Confinement::Bubblewrap {
                // It confines neither connections nor signals, as SECURITY.md says.
                assert!(text.contains("connected\nsignalled\n"), "{text}{errors}");
            }
        }
    }
}
