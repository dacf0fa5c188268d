//! Confines what is recorded: it reads the system and itself, writes its temporary folder, and
//! connects to the scripted model, as far as Landlock can hold it to that.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::claude::{Claude, node};

/// What of the system the CLI and its tools may read and execute.
const SYSTEM: [&str; 14] = [
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
/// Devices that hold nothing of anybody.
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

/// Where a program is confined to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// Files and folders it may read and execute, beside the system's.
    pub(crate) read: Vec<PathBuf>,
    /// Folders it may do anything in.
    pub(crate) write: Vec<PathBuf>,
    /// The port it may connect to.
    pub(crate) port: u16,
}

impl Bounds {
    /// The bounds of a CLI that runs in the temporary folder `root` and asks the model at `port`.
    pub(crate) fn new(claude: &Claude, root: &Path, port: u16) -> Self {
        let mut read = places(&claude.program);
        // Node's own modules lie beside the folder that its program is in.
        let node = node().and_then(|node| node.canonicalize().ok());
        read.extend(node.iter().filter_map(|node| node.parent()?.parent()).map(Path::to_owned));
        read.extend(node.clone());
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let home = home.map(|home| home.canonicalize().unwrap_or(home));
        let temporary = std::env::temp_dir();
        let temporary = temporary.canonicalize().unwrap_or(temporary);
        // The user's own folder, and the one in which other programs leave files, are what is kept
        // from the CLI, so a program that lies right there is alone what it may read.
        read.retain(|path| {
            path != Path::new("/")
                && !temporary.starts_with(path)
                && !home.as_ref().is_some_and(|home| home.starts_with(path))
        });
        read.sort();
        read.dedup();
        Self { read, write: vec![root.to_owned()], port }
    }
}

/// What a program may read of itself: its file and the folder that this is in, by every name it has;
/// of a program of npm's, all modules that were installed with it.
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
pub(crate) use landlocked::restrict;

/// Confines this thread and what it starts; nothing where the system can't.
#[cfg(not(target_os = "linux"))]
pub(crate) fn restrict(_bounds: &Bounds) -> Option<crate::cassette::Confinement> {
    None
}

#[cfg(target_os = "linux")]
mod landlocked {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, NetPort, RestrictionStatus, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
        path_beneath_rules,
    };

    use super::{Bounds, DEVICES, SYSTEM};
    use crate::cassette::Confinement;

    /// The version of Landlock whose rights are asked for; older systems hold to those they know.
    const RIGHTS: ABI = ABI::V4;

    /// Confines this thread and what it starts; nothing where the system can't.
    pub(crate) fn restrict(bounds: &Bounds) -> Option<Confinement> {
        let status = apply(bounds).ok()?;
        (status.ruleset != RulesetStatus::NotEnforced).then_some(Confinement::Landlock)
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
        let claude = Claude {
            program: home.join("claude"),
            version: "1.0.0".parse().unwrap(),
            sha256: String::new(),
        };
        let bounds = Bounds::new(&claude, Path::new("/tmp/clitape-1"), 1);
        assert!(bounds.read.contains(&home.join("claude")), "{bounds:?}");
        assert!(!bounds.read.iter().any(|path| home.starts_with(path)), "{bounds:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_confined_writes_its_folder_alone() {
        let inside = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        fs_err::write(&secret, "secret").unwrap();
        let bounds = Bounds { read: Vec::new(), write: vec![inside.path().to_owned()], port: 1 };
        let script = "cat \"$0/secret\" 2>&1; echo a > \"$0/new\"; echo b > inside; kill -0 $1; \
             (: < /dev/tcp/127.0.0.1/$2); ls -d /usr; echo c > /dev/null && echo null";
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let dir = inside.path().to_owned();
        let folder = outside.path().to_owned();
        let me = std::process::id().to_string();
        let run = std::thread::spawn(move || {
            let confined = restrict(&bounds);
            let mut command = std::process::Command::new("/bin/bash");
            command.args(["-c", script]).arg(folder).args([me, port]).current_dir(dir);
            (confined, command.output().unwrap())
        });
        let (confined, output) = run.join().unwrap();
        if confined.is_none() {
            // This system has no Landlock; nothing can be held to it.
            return;
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("secret\nsecret") && text.contains("Permission denied"), "{text}");
        assert!(text.ends_with("/usr\nnull\n"), "{text}{errors}");
        assert!(!outside.path().join("new").exists());
        assert_eq!(fs_err::read_to_string(inside.path().join("inside")).unwrap(), "b\n");
        assert!(errors.contains("Permission denied"), "{errors}");
    }
}
