//! Reads the output of `strace -f -y`: the files that a command wrote, the programs that it started, and its
//! connections.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// The system calls that change files, start programs or reach other machines.
pub(crate) const CALLS: &str = "execve,execveat,open,openat,openat2,creat,rename,renameat,\
    renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,chmod,fchmodat,\
    truncate,mknod,mknodat,utimensat,chown,lchown,fchownat,setxattr,connect,socket,bind";

/// A deed of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It wrote, created, renamed or removed this path, or tried to.
    Write(PathBuf),
    /// It started this program.
    Exec(String),
    /// It made, connected or bound a socket: the call as strace prints it.
    Net(String),
}

/// Returns the deeds in the lines of a trace. The start of the command itself is left out.
pub(crate) fn deeds(trace: &str, cwd: &Path) -> Vec<Deed> {
    let mut begun: HashMap<&str, String> = HashMap::new();
    let mut deeds = Vec::new();
    for line in trace.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(start) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(pid, start.to_owned());
            continue;
        }
        let call = match rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            Some((_, end)) => begun.remove(pid).unwrap_or_default() + end,
            None => rest.to_owned(),
        };
        deeds.extend(deed(&call, cwd));
    }
    let first = deeds.iter().position(|deed| matches!(deed, Deed::Exec(_)));
    deeds.remove(first.expect("a trace begins with the command"));
    deeds
}

/// Returns the deeds of one call.
fn deed(call: &str, cwd: &Path) -> Vec<Deed> {
    let Some((name, rest)) = call.split_once('(') else { return Vec::new() };
    let (arguments, result) = rest.rsplit_once(" = ").unwrap_or((rest, ""));
    let is_write = || {
        let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
        flags.iter().any(|flag| arguments.contains(flag))
    };
    match name {
        "execve" | "execveat" if result.starts_with('-') => Vec::new(),
        "execve" | "execveat" => paths(arguments, cwd)
            .into_iter()
            .take(1)
            .map(|path| Deed::Exec(path.display().to_string()))
            .collect(),
        "connect" | "bind" | "socket" => vec![Deed::Net(call.to_owned())],
        "open" | "openat" | "openat2" if !is_write() => Vec::new(),
        // strace prints a descriptor with the path that was opened in the end, with links followed.
        "open" | "openat" | "openat2" | "creat" => {
            let opened = result.split_once('<').and_then(|(_, path)| path.split_once('>'));
            let named = paths(arguments, cwd).into_iter().next();
            let opened = opened.map(|(path, _)| PathBuf::from(unescaped(path)));
            opened.or(named).map(Deed::Write).into_iter().collect()
        }
        // The text of a symbolic link is not written to, and a hard link leaves its file unchanged.
        "symlink" | "symlinkat" | "link" | "linkat" => {
            paths(arguments, cwd).into_iter().skip(1).map(Deed::Write).collect()
        }
        _ => paths(arguments, cwd).into_iter().map(Deed::Write).collect(),
    }
}

/// Returns the paths in the arguments of a call: each quoted text, below the folder printed before it.
fn paths(arguments: &str, cwd: &Path) -> Vec<PathBuf> {
    let (mut paths, mut rest) = (Vec::new(), arguments);
    while let Some((before, after)) = rest.split_once('"') {
        let mut end = 0;
        let bytes = after.as_bytes();
        while end < bytes.len() && bytes[end] != b'"' {
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        let end = end.min(bytes.len());
        let folder = before.rsplit_once('<').and_then(|(_, path)| path.split_once('>'));
        let folder = folder.map_or_else(|| cwd.to_owned(), |(path, _)| unescaped(path).into());
        let path = folder.join(unescaped(&after[..end]));
        paths.push(resolved(&path));
        rest = after.get(end + 1..).unwrap_or_default();
    }
    paths
}

/// Returns the path with the links among its folders followed, as far as they exist. Its last name is not followed,
/// because the calls that name it do not follow it either.
fn resolved(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain = std::fs::canonicalize(&plain).unwrap_or(plain);
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    let folder = plain.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    match (folder, plain.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => plain,
    }
}

/// Undoes the escapes of a text that strace printed.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'v') => bytes.push(0x0b),
            Some(b'f') => bytes.push(0x0c),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    match rest.peek() {
                        Some(digit @ b'0'..=b'7') => value = value * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    rest.next();
                }
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Checks that calls are read as strace prints them.
pub(crate) fn check_reading() {
    let write = |path: &str| Deed::Write(path.into());
    let connect = r#"connect(9<TCP:[5]>, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0"#;
    let bashrc = r#"openat(AT_FDCWD</w>, "a", O_WRONLY|O_TRUNC) = 3</home/jo/.bashrc>"#;
    for (call, expect) in [
        (r#"openat(AT_FDCWD</w>, "a", O_RDONLY|O_CLOEXEC) = 3</w/a>"#, vec![]),
        (r#"openat(AT_FDCWD</w>, "a", O_WRONLY|O_CREAT, 0666) = 3</w/a>"#, vec![write("/w/a")]),
        // The link is followed, and the descriptor shows its target.
        (bashrc, vec![write("/home/jo/.bashrc")]),
        (r#"openat(AT_FDCWD</w>, "../x", O_RDWR) = -1 EACCES (No)"#, vec![write("/x")]),
        (r#"openat(7</w/d>, "a b", O_RDWR) = -1 ENOENT (No)"#, vec![write("/w/d/a b")]),
        (r#"rename("/w/a", "/v/b") = 0"#, vec![write("/w/a"), write("/v/b")]),
        (
            r#"renameat2(AT_FDCWD</w>, "a", 5</v>, "b", RENAME_EXCHANGE) = 0"#,
            vec![write("/w/a"), write("/v/b")],
        ),
        (r#"symlinkat("/etc/passwd", AT_FDCWD</w>, "l") = 0"#, vec![write("/w/l")]),
        (r#"linkat(AT_FDCWD</w>, "/v/a", AT_FDCWD</w>, "l", 0) = 0"#, vec![write("/w/l")]),
        (r#"mkdir("gr\303\274n\n\"", 0777) = 0"#, vec![write("/w/grün\n\"")]),
        (r#"execve("/nowhere/sh", ["sh"], 0x7f) = -1 ENOENT (No)"#, vec![]),
        (r#"execve("/nowhere/sh", ["sh"], 0x7f) = 0"#, vec![Deed::Exec("/nowhere/sh".into())]),
        (connect, vec![Deed::Net(connect.into())]),
    ] {
        assert_eq!(deed(call, Path::new("/w")), expect, "{call}");
    }
    let trace = r#"1 execve("/bin/clitape", ["clitape"], 0x7f) = 0
2  unlink("/w/a" <unfinished ...>
1 rmdir("/w/d") = 0
2  <... unlink resumed>) = 0
"#;
    assert_eq!(deeds(trace, Path::new("/w")), [write("/w/d"), write("/w/a")]);
}
