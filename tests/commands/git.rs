//! Tests of git in a repository whose configuration names a program wherever it can: no command runs one of them.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use clitape_process::{Checkout, InstallLimits};

use crate::common::{check, clitape, files, put_program, workspace};

/// An id that no object of the repository has.
const MISSING: &str = "1111111111111111111111111111111111111111";

/// The files of a program that cargo builds quickly.
const CRATE: [(&str, &str); 3] = [
    (
        "Cargo.toml",
        "[package]\nname = \"clitape\"\nversion = \"1.0.0\"\n[[bin]]\nname = \"clitape\"\npath = \"main.rs\"\n",
    ),
    ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"clitape\"\nversion = \"1.0.0\"\n"),
    ("main.rs", "fn main() { println!(\"{{}}\"); }\n"),
];

/// The attributes of the repository, each with a filter that `CONFIG` names.
const ATTRIBUTES: &str = "*.toml filter=clean diff=driver\n*.snap filter=process diff=text\n\
                          *.rs filter=smudge\n*.jsonl filter=user\n";

/// The configuration of the repository, in which `{NAME}` is a program that leaves the file NAME.
const CONFIG: &str = r#"
[core]
    fsmonitor = "{fsmonitor}"
    hooksPath = .git/own-hooks
    pager = "{pager}"
    sshCommand = "{ssh}"
    askPass = "{askpass}"
    editor = "{editor}"
    alternateRefsCommand = "{alternates}"
[filter "clean"]
    clean = "{clean}; cat"
    required = true
[filter "process"]
    process = "{process}"
    clean = "{process-clean}; cat"
[filter "smudge"]
    smudge = "{smudge}; cat"
    clean = "{smudge-clean}; cat"
[include]
    path = more-config
[hook "configured"]
    event = post-index-change
    event = post-checkout
    event = reference-transaction
    command = "{configured-hook}"
[diff]
    external = "{external}"
[diff "driver"]
    command = "{driver}"
[diff "text"]
    textconv = "{textconv}"
[pager]
    diff = "{pager}"
    log = "{pager}"
[alias]
    diff = "!{alias}"
    ls-files = "!{alias}"
    rev-parse = "!{alias}"
[log]
    showSignature = true
[gpg]
    program = "PROGRAMS/gpg"
[credential]
    helper = "!{credential}"
[uploadpack]
    packObjectsHook = "PROGRAMS/packing"
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[extensions]
    partialClone = origin
[remote "origin"]
    url = "ext::PROGRAMS/ext"
    promisor = true
[remote "near"]
    url = "PROGRAMS"
    promisor = true
    uploadpack = "{uploadpack};"
[remote "ssh"]
    url = ssh://127.0.0.1/repository
    promisor = true
[remote "web"]
    url = http://ADDRESS/repository
    promisor = true
"#;

/// A repository with that configuration, and the folder in which its programs leave their files.
struct Hostile {
    repository: tempfile::TempDir,
    programs: tempfile::TempDir,
    /// The address of a server that leaves the file `connection` at a connection.
    web: SocketAddr,
}

/// Runs git as a person who trusts the repository.
fn git(program: &Path, dir: &Path, args: &[&str], stdin: &str) -> (bool, String) {
    let who = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"];
    let mut command = Command::new(program);
    command.current_dir(dir).args(who).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

impl Hostile {
    fn new(program: &Path) -> Self {
        let (repository, programs) = (workspace(&["plain-text"]), tempfile::tempdir().unwrap());
        let web = TcpListener::bind("127.0.0.1:0").unwrap();
        let hostile = Self { repository, programs, web: web.local_addr().unwrap() };
        let connection = hostile.markers().join("connection");
        std::thread::spawn(move || {
            for _ in web.incoming() {
                // The folder is gone when the test has ended.
                let _ = fs::write(&connection, "");
            }
        });
        let root = hostile.root();
        let git = |args: &[&str], stdin: &str| {
            let (done, said) = git(program, root, args, stdin);
            assert!(done, "{args:?}: {said}");
            said
        };
        for (name, text) in CRATE {
            fs::write(root.join(name), text).unwrap();
        }
        fs::write(root.join(".gitattributes"), ATTRIBUTES).unwrap();
        git(&["init", "--quiet", "--initial-branch", "main"], "");
        git(&["add", "."], "");
        // A repository within the repository, with its own configuration.
        let inner = root.join("scenarios/plain-text/workspace/inner");
        fs::create_dir(&inner).unwrap();
        let inner_git = |args: &[&str]| assert!(self::git(program, &inner, args, "").0, "{args:?}");
        inner_git(&["init", "--quiet"]);
        inner_git(&["commit", "--quiet", "--allow-empty", "--message", "inner"]);
        git(&["add", "scenarios/plain-text/workspace/inner"], "");
        // A commit that claims to be signed.
        let tree = git(&["write-tree"], "");
        let commit = format!(
            "tree {tree}\nauthor a <a@example.org> 1 +0000\ncommitter a <a@example.org> 1 +0000\n\
             gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\nfirst\n"
        );
        let commit = git(&["hash-object", "-t", "commit", "-w", "--stdin"], &commit);
        git(&["update-ref", "refs/heads/main", &commit], "");

        let hook = format!("#!/bin/sh\n{}\n", hostile.program("hook"));
        for name in ["post-index-change", "post-checkout", "reference-transaction"] {
            for folder in ["hooks", "own-hooks"] {
                put_program(&root.join(".git").join(folder).join(name), &hook);
            }
        }
        let monitor = hostile.configured("[core]\n    fsmonitor = \"{inner-fsmonitor}\"\n");
        fs::write(inner.join(".git/config"), monitor).unwrap();
        for name in ["gpg", "packing", "ext"] {
            let script = format!("#!/bin/sh\n{}\n", hostile.program(name));
            put_program(&hostile.programs.path().join("bin").join(name), &script);
        }
        let included = "[filter \"a.b\"]\n    clean = \"{included}; cat\"\n";
        fs::write(root.join(".git/more-config"), hostile.configured(included)).unwrap();
        fs::write(root.join(".git/info/attributes"), "*.lock filter=a.b\n").unwrap();
        let user = "[filter \"user\"]\n    clean = \"{user}; cat\"\n    smudge = \"{user}; cat\"\n";
        fs::write(hostile.user_config(), hostile.configured(user)).unwrap();
        let mut config =
            fs::OpenOptions::new().append(true).open(root.join(".git/config")).unwrap();
        config.write_all(hostile.configured(CONFIG).as_bytes()).unwrap();
        hostile
    }

    fn root(&self) -> &Path {
        self.repository.path()
    }

    /// Returns a command that leaves a file of this name.
    fn program(&self, name: &str) -> String {
        format!("touch {}/{name}", self.markers().display())
    }

    fn markers(&self) -> PathBuf {
        let folder = self.programs.path().join("markers");
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn user_config(&self) -> PathBuf {
        self.programs.path().join("user-config")
    }

    /// Returns the configuration with its programs filled in.
    fn configured(&self, text: &str) -> String {
        let (first, rest) = text.split_once('{').unwrap();
        let mut config = first.to_owned();
        for part in rest.split('{') {
            let (name, after) = part.split_once('}').unwrap();
            config += &self.program(name);
            config += after;
        }
        let programs = self.programs.path().join("bin").display().to_string();
        config.replace("PROGRAMS", &programs).replace("ADDRESS", &self.web.to_string())
    }

    /// Returns the names of the programs that have run, and forgets them.
    fn has_run(&self) -> BTreeSet<String> {
        let mut ran = BTreeSet::new();
        for path in files(&self.markers(), "") {
            ran.insert(path.file_name().unwrap().to_string_lossy().into_owned());
            fs::remove_file(path).unwrap();
        }
        ran
    }

    /// Gives every file a new time, so that git has to read it.
    fn touch(&self) {
        let now = SystemTime::now() + Duration::from_secs(3_600);
        for path in files(self.root(), "") {
            fs::File::open(path).unwrap().set_modified(now).unwrap();
        }
    }
}

/// Returns the different versions of git on this machine.
fn gits() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let mut known = BTreeSet::new();
    programs.filter(|git| git.canonicalize().is_ok_and(|real| known.insert(real))).collect()
}

/// Returns `PATH` with the folder of a program first.
fn path_with(program: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = program.parent().map(Path::to_owned);
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn git_runs_nothing_that_the_repository_names() {
    for git in gits() {
        let hostile = Hostile::new(&git);
        let root = hostile.root();
        // The programs run if a person calls git.
        hostile.touch();
        for args in [&["status"][..], &["diff"], &["log", "-1"], &["cat-file", "-e", MISSING]] {
            let mut command = Command::new(&git);
            command.env("GIT_CONFIG_GLOBAL", hostile.user_config()).current_dir(root).args(args);
            command.output().unwrap();
        }
        let ran = hostile.has_run();
        let expect = ["clean", "smudge-clean", "process", "user", "included", "fsmonitor"];
        let further = ["inner-fsmonitor", "gpg", "ext", "uploadpack", "ssh", "connection"];
        for name in expect.iter().chain(&further) {
            assert!(ran.contains(*name), "{}: `{name}` is not among {ran:?}", git.display());
        }

        put_program(&hostile.programs.path().join("claude"), "#!/bin/sh\necho 2.1.332\n");
        let cli = hostile.programs.path().join("claude").display().to_string();
        let out = hostile.programs.path().join("out").display().to_string();
        let missing = format!("--changed={MISSING}");
        // Without a change no program runs; a revision is built, and differs.
        for (code, args) in [
            (4, &["list", "--changed"][..]),
            (2, &["list", &missing]),
            (4, &["test", "--changed=HEAD"]),
            (4, &["sweep", "--changed", "--seeds", "1"]),
            (4, &["proof", "--changed", "--no-png", "--out", &out]),
            (4, &["record", "--changed", "--yes", "--claude", &cli]),
            (4, &["drift", "--from", "2.1.329", "--to", "2.1.332", "--changed"]),
            (4, &["compare", "this", "git:HEAD", "--changed", "--out", &out]),
            (3, &["compare", "this", "git:HEAD", "--out", &out]),
            (2, &["compare", "this", &format!("git:{MISSING}"), "--out", &out]),
        ] {
            hostile.touch();
            let mut command = clitape();
            command.current_dir(root).args(args).env("PATH", path_with(&git));
            command.env("GIT_CONFIG_GLOBAL", hostile.user_config());
            // Only `git config` obeys this variable.
            command.env("GIT_CONFIG", "/dev/null");
            command.env("XDG_CACHE_HOME", hostile.programs.path().join("cache"));
            let output = command.stdin(Stdio::null()).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            let ran = hostile.has_run();
            assert!(ran.is_empty(), "{} {args:?} ran {ran:?}: {said}", git.display());
            assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        }
        hostile.touch();
        let checkout = Checkout {
            repository: root.to_owned(),
            revision: "main".to_owned(),
            build_id: String::new(),
            cache: hostile.programs.path().join("checkouts"),
            build: Vec::new(),
            environment: Vec::new(),
        };
        let stop = AtomicBool::new(false);
        let made = checkout.run(InstallLimits::default(), &stop, &mut |_| ()).unwrap();
        assert!(made.join("scenarios/plain-text/scenario.toml").is_file());
        assert_eq!(hostile.has_run(), BTreeSet::new());
    }
}

/// Makes a repository with one commit, in which one file has changed since.
fn changed() -> tempfile::TempDir {
    let dir = workspace(&["plain-text", "bash-count"]);
    for args in
        [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "--message", "first"]]
    {
        assert!(git(Path::new("git"), dir.path(), args, "").0, "{args:?}");
    }
    fs::write(dir.path().join("scenarios/plain-text/notes.md"), "new").unwrap();
    dir
}

#[test]
fn changes_are_those_of_the_folder_that_has_the_repository() {
    let (dir, other) = (changed(), changed());
    fs::remove_file(other.path().join("scenarios/plain-text/notes.md")).unwrap();
    let list = |variables: &[(&str, PathBuf)]| {
        let mut command = clitape();
        command.current_dir(dir.path().join("scenarios")).args(["list", "--changed"]);
        let output = command.envs(variables.iter().map(|(name, value)| (name, value))).output();
        let listed = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(listed.contains("\nplain-text ") && !listed.contains("bash-count"), "{listed}");
    };
    list(&[]);
    // The variables that git sets for the hooks of another repository.
    let others = other.path().join(".git");
    list(&[("GIT_DIR", others.clone()), ("GIT_INDEX_FILE", others.join("index"))]);
    let elsewhere = other.path().to_str().unwrap();
    assert!(git(Path::new("git"), dir.path(), &["config", "core.worktree", elsewhere], "").0);
    list(&[]);
}

#[test]
fn a_filter_that_cannot_be_turned_off_is_an_error() {
    let dir = changed();
    let config = "[filter \"a=b\"]\nclean = cat\n";
    let mut file =
        fs::OpenOptions::new().append(true).open(dir.path().join(".git/config")).unwrap();
    file.write_all(config.as_bytes()).unwrap();
    let error = "git's configuration has `filter.a=b`, which can't be turned off";
    check(dir.path(), &["list", "--changed"], 2, &[], &[error, "rename it"]);
}
