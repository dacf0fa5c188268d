//! Tests of a confined CLI: its confinement by Landlock and by bubblewrap, as far as this system has them, and that the
//! rest of its behaviour is unchanged. A shell script replaces the CLI.

#![cfg(target_os = "linux")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Command;

use crate::common::project::{Project, RESULT, text, ways};
use crate::common::{has_program, on_terminal, put_program, root};

#[test]
fn a_confined_cli_ends_as_it_ends() {
    let ways: Vec<&str> = ways().into_iter().chain(["none"]).collect();
    // Signal 34 has no name, so `record.exit` can't name it; the error says so.
    for (end, exit) in [
        ("exit 7", "7"),
        ("exit 143", "143"),
        ("kill -TERM $$", "'SIGTERM'"),
        ("kill -INT -- -$$; sleep 600", "'SIGINT'"),
        ("kill -34 $$", "the CLI was ended by signal 34,"),
    ] {
        for way in &ways {
            let project = Project::new(&format!("trap - INT; {RESULT}; {end}"));
            let path = project.path().join("scenarios/slow/scenario.toml");
            let is_error = exit.contains(' ');
            if !is_error {
                let toml = fs::read_to_string(&path).unwrap();
                fs::write(&path, format!("{toml}exit = {exit}\n")).unwrap();
            }
            let output =
                project.record().args(["--yes", "--force", "--confine", way]).output().unwrap();
            let told = format!("{way}: {end}: {}", text(&output));
            assert_eq!(output.status.success(), !is_error, "{told}");
            assert!(!is_error || told.contains(exit), "{told}");
            project.wait_for_silence(&told);
        }
    }
}

#[test]
fn a_confined_cli_writes_its_folder_and_keeps_its_environment() {
    let script = "cat ../../../secret; echo x > ../../../new; cat /etc/hostname >/dev/null; \
                  echo y > \"$HOME/y\"; cat \"$HOME/y\"; ls /proc/self/fd | tail -n +5; \
                  tr '\\0' '\\n' </proc/$$/environ | grep -c PWD=;";
    let project = Project::new(&format!("{script} {RESULT}"));
    fs::write(project.path().join("secret"), "a secret\n").unwrap();
    let record = |way: &str| {
        let output =
            project.record().args(["--yes", "--force", "--confine", way]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let read = |name| fs::read_to_string(project.cassette().join(name)).unwrap();
        (read("stdout.jsonl"), read("cassette.toml"))
    };
    let ways = ways();
    let (open, manifest) = record("none");
    assert!(open.starts_with("a secret\ny\n"), "{open}");
    assert!(!manifest.contains("confined"), "{manifest}");
    fs::remove_file(project.path().join("new")).unwrap();
    for way in &ways {
        let (stdout, manifest) = record(way);
        assert!(manifest.contains(&format!("confined = \"{way}\"")), "{manifest}");
        assert_eq!(stdout, open.replace("a secret\n", ""), "{way}: files and environment");
        assert!(!project.path().join("new").exists(), "{way}");
    }
    let (_, manifest) = record("auto");
    let best = ways.first().map(|way| format!("confined = \"{way}\""));
    assert_eq!(manifest.contains("confined"), best.is_some(), "{manifest}");
    assert!(manifest.contains(&best.unwrap_or_default()), "{manifest}");
}

#[test]
fn a_way_that_is_not_there_records_nothing() {
    let project = Project::with_version(": > \"${0%/*}/asked\"; echo 9.9.9", RESULT);
    let broken = project.path().join("bin");
    fs::create_dir(&broken).unwrap();
    let bwrap = broken.join("bwrap");
    fs::write(&bwrap, "#!/bin/sh\necho 'bwrap: no \nnamespaces' >&2; exit 1\n").unwrap();
    fs::set_permissions(&bwrap, fs::Permissions::from_mode(0o755)).unwrap();
    let none = project.path().join("none");
    for (path, why) in [
        (&none, "there is no `bwrap` on PATH; install the package bubblewrap"),
        (&broken, "bubblewrap: bwrap: no namespaces; let bwrap make user namespaces"),
    ] {
        let record = |way: &str| {
            let mut command = project.record();
            command.args(["--yes", "--confine", way]).env("PATH", path).output().unwrap()
        };
        let told = text(&record("bubblewrap"));
        assert!(told.starts_with("exit status: 4") && told.contains(why), "{told}");
        assert!(!project.cassette().exists(), "{told}");
        assert!(!project.path().join("asked").exists(), "it was asked for its version unconfined");
        let output = record("auto");
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(
            fs::read_to_string(project.cassette().join("stderr.txt")).unwrap_or_default(),
            ""
        );
        fs::remove_dir_all(project.cassette()).unwrap();
    }
}

/// The ways to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Unconfined,
    Bubblewrap,
    /// Landlock on a system where users can't make namespaces.
    Landlock,
    /// Landlock within new namespaces.
    Namespaces,
}

use Way::{Bubblewrap, Landlock, Namespaces, Unconfined};

/// The attempts of `confinement/probe.py`, each with the ways in which it succeeds; in all other ways it is refused.
/// For an unconfined program, only the rows that name that way are checked, because many systems refuse the others to
/// every program. SECURITY.md has this table in words.
const ATTEMPTS: [(&str, &[Way]); 54] = [
    ("write a file outside", &[Unconfined]),
    ("read a file outside", &[Unconfined]),
    ("read a file by clitape's root", &[Unconfined]),
    ("look at a file outside", &[Unconfined, Landlock]),
    ("list a folder outside", &[Unconfined]),
    ("watch a folder outside", &[Unconfined, Landlock]),
    ("change the mode outside", &[Unconfined, Landlock]),
    ("change the mode of what it reads", &[Unconfined, Landlock]),
    ("change the mode of an open file", &[Unconfined, Landlock]),
    ("change the owner outside", &[Unconfined, Landlock]),
    ("change the times outside", &[Unconfined, Landlock]),
    ("set an attribute outside", &[Unconfined, Landlock]),
    ("cut a file outside", &[Unconfined]),
    ("move a file outside", &[Unconfined]),
    ("reach a socket outside by its path", &[Unconfined, Landlock]),
    ("reach a socket without a path", &[Unconfined]),
    ("open the terminal", &[]),
    ("type into the terminal", &[]),
    ("type into a terminal by number", &[]),
    ("read an open file of the shell", &[]),
    ("make a device", &[]),
    ("see the network of the machine", &[Unconfined, Landlock]),
    ("connect by TCP", &[Unconfined]),
    ("connect by MPTCP", &[]),
    ("connect by fast open", &[]),
    ("connect by a fast message", &[]),
    ("make a UDP socket", &[Unconfined]),
    ("make an ICMP socket", &[]),
    ("make a raw socket", &[]),
    ("make a netlink socket", &[Unconfined]),
    ("make a socket of a virtual machine", &[]),
    ("make a socket of the kernel's ciphers", &[]),
    ("make a socket by another ABI", &[]),
    ("start a ring of requests", &[]),
    ("make shared memory that stays", &[]),
    ("make a queue that stays", &[]),
    ("make a semaphore that stays", &[]),
    ("add a key", &[]),
    ("signal clitape", &[Unconfined, Bubblewrap]),
    ("trace clitape", &[]),
    ("read the environment of clitape", &[Unconfined]),
    ("list the folder that clitape is in", &[Unconfined]),
    ("see the open files of clitape", &[Unconfined]),
    ("set the priority of clitape", &[Unconfined]),
    ("set the priority of the user", &[Unconfined]),
    ("choose the processor of clitape", &[Unconfined]),
    ("limit clitape", &[Unconfined]),
    ("mount", &[]),
    ("write a file of its own", &[Unconfined, Bubblewrap, Landlock, Namespaces]),
    ("change mode and times of its own", &[Unconfined, Bubblewrap, Landlock, Namespaces]),
    ("connect to the model", &[Unconfined, Bubblewrap, Landlock, Namespaces]),
    ("use a socket of its own", &[Unconfined, Bubblewrap, Landlock, Namespaces]),
    ("set the priority of itself", &[Unconfined, Bubblewrap, Landlock, Namespaces]),
    ("limit itself", &[Unconfined, Bubblewrap, Landlock, Namespaces]),
];

/// The version of Linux from which on Landlock alone refuses an attempt.
const REFUSED_SINCE: [(&str, (u32, u32)); 4] = [
    ("cut a file outside", (6, 2)),
    ("connect by TCP", (6, 7)),
    ("reach a socket without a path", (6, 12)),
    ("signal clitape", (6, 12)),
];

/// Returns whether Landlock refuses an attempt on this kernel.
fn is_refused_here(attempt: &str) -> bool {
    let release = nix::sys::utsname::uname().unwrap().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(|number| number.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    REFUSED_SINCE.iter().all(|(name, since)| *name != attempt || version >= *since)
}

/// Runs the probe as a recorded CLI, on a terminal like that of a person's shell, and returns the outcomes by name and
/// the text on the terminal.
fn probe(way: &str, without_namespaces: bool) -> (BTreeMap<String, String>, String) {
    let project = Project::new("");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "a secret\n").unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let _by_path = UnixListener::bind(outside.path().join("socket")).unwrap();
    let name = SocketAddr::from_abstract_name(format!("clitape-test-{port}")).unwrap();
    let _by_name = UnixListener::bind_addr(&name).unwrap();
    let workspace = project.path().join("scenarios/slow/workspace");
    let source = root().join("tests/commands/confinement");
    fs::copy(source.join("probe.py"), workspace.join("probe.py")).unwrap();
    let claude = project.path().join("claude");
    let script = format!(
        "#!/bin/bash\nif [ \"$1\" = --version ]; then echo 9.9.9; exit; fi\n\
         {PYTHON} probe.py {} $PPID {port} $ANTHROPIC_BASE_URL {}\n{RESULT}\n",
        outside.path().display(),
        claude.display(),
    );
    put_program(&claude, &script);
    let shell = "tty > \"$0\"; exec 9<\"$1\"; shift; \"$@\"; echo \"ended: $?\"; \
                 read -r -t 1 line; echo \"typed: <$line>\"";
    let record = project.record();
    let mut command = Command::new("bash");
    command.args(["-c", shell]).arg(workspace.join("terminal"));
    command.arg(outside.path().join("secret"));
    if without_namespaces {
        command.args(["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/"]);
    }
    command.arg(record.get_program()).args(record.get_args());
    command.args(["--yes", "--confine", way]).current_dir(project.path());
    command.envs(record.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = on_terminal("", &command).output().unwrap();
    let told = format!("{way}: {}", text(&output));
    assert!(told.contains("ended: 0"), "{told}");
    let stdout = fs::read_to_string(project.cassette().join("stdout.jsonl")).unwrap();
    let stderr = fs::read_to_string(project.cassette().join("stderr.txt")).unwrap_or_default();
    let outcomes = stdout.lines().filter_map(|line| line.rsplit_once(": "));
    let outcomes = outcomes.map(|(name, outcome)| (name.to_owned(), outcome.to_owned())).collect();
    (outcomes, told + &stderr)
}

/// The Python of the system, because a confined program does not see one in a person's home folder.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn a_confined_program_does_what_the_table_says_and_no_more() {
    if !has_program("python3") || !Path::new(PYTHON).exists() {
        return;
    }
    let succeeds = |program: &str, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
    };
    let mounting = "mount -t tmpfs none /proc/self";
    let has_namespaces =
        succeeds("unshare", &["--user", "--map-root-user", "--mount", "sh", "-c", mounting]);
    let nested = ["--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "true"];
    let mut runs = vec![("none", false, Unconfined)];
    for way in ways() {
        runs.push((
            way,
            false,
            match way {
                "bubblewrap" => Bubblewrap,
                _ if has_namespaces => Namespaces,
                _ => Landlock,
            },
        ));
        if way == "landlock" && succeeds("bwrap", &nested) {
            runs.push((way, true, Landlock));
        }
    }
    for (name, without_namespaces, way) in runs {
        let (outcomes, told) = probe(name, without_namespaces);
        // Root may type into any terminal that it can open.
        assert!(way == Unconfined || told.contains("typed: <>"), "{way:?}: {told}");
        for (attempt, done) in ATTEMPTS {
            let is_done = done.contains(&way);
            let is_known = match way {
                Unconfined => is_done,
                Bubblewrap => true,
                Landlock | Namespaces => is_done || is_refused_here(attempt),
            };
            let expect = if is_done { "done" } else { "refused" };
            let outcome = outcomes.get(attempt).map(String::as_str);
            assert!(
                !is_known || outcome == Some(expect),
                "{way:?}: {attempt}: {outcome:?}: {told}"
            );
        }
        assert_eq!(outcomes.len(), ATTEMPTS.len(), "{told}");
    }
}
#[test]
fn security_has_the_table_of_attempts() {
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let mut listed = Vec::new();
    let is_row = |line: &&str| line.contains("| refused |") || line.contains("| possible |");
    for row in page.lines().filter(is_row) {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let [_, namespaces, landlock, bubblewrap, tried] = cells[..] else { panic!("{row}") };
        for attempt in tried.split('`').skip(1).step_by(2) {
            let known = ATTEMPTS.iter().find(|(name, _)| *name == attempt);
            let (_, ways) = known.unwrap_or_else(|| panic!("SECURITY.md: nothing tries {attempt}"));
            for (way, cell) in
                [(Namespaces, namespaces), (Landlock, landlock), (Bubblewrap, bubblewrap)]
            {
                let is_possible = cell.trim_matches('*') == "possible";
                assert_eq!(is_possible, ways.contains(&way), "SECURITY.md: {attempt}: {way:?}");
            }
            listed.push(attempt);
        }
    }
    listed.sort_unstable();
    let mut tried = ATTEMPTS.map(|(attempt, _)| attempt);
    tried.sort_unstable();
    assert_eq!(listed, tried, "SECURITY.md lists each attempt once");
}
