//! Gives this process namespaces of its own: a file tree that has the files that a confined program may use and no others,
//! and a network that has its own loopback device alone.
//!
//! Landlock alone leaves the whole tree in sight: a program may look at any file, change the mode, the times and the
//! attributes of the user's files, and speak to programs by their sockets. In a tree of its own these files do not
//! exist, and what it may only read is mounted read-only. Landlock's rule for connections names a port and no address, so
//! that the port of the scripted model on any other machine could be reached, too.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid, pivot_root};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};

use super::bounds::{Bounds, DEVICES, VisiblePath};

/// The folder that has the machine's tree while the new one is made.
const OLD: &str = "/old";
/// The links in `/dev` that programs expect.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stder"),
];

/// Moves this process, which must have one thread, into namespaces of its own. The current folder stays the same.
///
/// # Errors
///
/// An error if the system does not let it. The process is then of no further use, because it may be half-way.
pub(super) fn enter(bounds: &Bounds) -> io::Result<()> {
    let current = std::env::current_dir()?;
    let devices =
        DEVICES.map(PathBuf::from).map(|path| VisiblePath::Files { real: path.clone(), path });
    let places = bounds.places().into_iter().chain(devices);
    let base = bounds.write.first().and_then(|folder| folder.parent());
    let base = base.ok_or(io::ErrorKind::InvalidInput)?;
    enter_namespaces(CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWNET)?;
    bind(None, Path::new("/"), MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), base, Some("tmpfs"), plain, Some("mode=0755"))?;
    let old = base.join("old");
    fs::create_dir(&old)?;
    pivot_root(base, &old)?;
    std::env::set_current_dir("/")?;
    places.into_iter().try_for_each(|place| make(&place))?;
    DEVICE_LINKS.into_iter().try_for_each(|(target, path)| symlink(target, path))?;
    umount2(OLD, MntFlags::MNT_DETACH)?;
    fs::remove_dir(OLD)?;
    make_read_only(&bounds.write)?;
    // The folder in the new tree; until now it was that of the machine's.
    std::env::set_current_dir(current)?;
    start_loopback()
}

/// Gives this process a tree of mounts and `more` namespaces of its own, in which its user and group are the same as
/// before.
pub(super) fn enter_namespaces(more: CloneFlags) -> io::Result<()> {
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | more)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Turns the loopback device on, which is the only one of a new network.
pub(super) fn start_loopback() -> io::Result<()> {
    let kernel = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    send(&kernel, &LOOPBACK_ON, SendFlags::empty())?;
    let mut answer = [0; 64];
    recv(&kernel, &mut answer, RecvFlags::empty())?;
    // The code of the error follows the header; 0 is a confirmation.
    let code = answer.get(16..20).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes);
    match code {
        Some(0) => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code.unwrap_or(-(Errno::EPROTO as i32)))),
    }
}

/// The message to the kernel's `NETLINK_ROUTE` that turns on the device with index 1, the loopback device of a new
/// network (rtnetlink(7)).
const LOOPBACK_ON: [u8; 32] = {
    const fn field<const N: usize>(message: &mut [u8; 32], at: usize, bytes: [u8; N]) {
        let mut i = 0;
        while i < N {
            message[at + i] = bytes[i];
            i += 1;
        }
    }
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_AND_CONFIRM: u16 = 1 | 4;
    const INDEX: i32 = 1;
    const UP: u32 = 1;
    let mut message = [0; 32];
    field(&mut message, 0, 32_u32.to_ne_bytes());
    field(&mut message, 4, RTM_NEWLINK.to_ne_bytes());
    field(&mut message, 6, REQUEST_AND_CONFIRM.to_ne_bytes());
    field(&mut message, 20, INDEX.to_ne_bytes());
    field(&mut message, 24, UP.to_ne_bytes());
    field(&mut message, 28, UP.to_ne_bytes());
    message
};

/// Puts a place of the machine's tree at the same path in the new one.
fn make(place: &VisiblePath) -> io::Result<()> {
    let (VisiblePath::Link { path, .. } | VisiblePath::Files { path, .. }) = place;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match place {
        VisiblePath::Link { path, target } => symlink(target, path),
        VisiblePath::Files { path, real } => {
            let real = Path::new(OLD).join(real.strip_prefix("/").unwrap_or(real));
            if real.is_dir() {
                fs::create_dir_all(path)?;
            } else if !path.exists() {
                File::create(path)?;
            }
            bind(Some(&real), path, MsFlags::MS_BIND | MsFlags::MS_REC)
        }
    }
}

/// Makes every mount read-only but those in the folders `written`.
fn make_read_only(written: &[PathBuf]) -> io::Result<()> {
    let table = fs::read("/proc/self/mountinfo")?;
    // Of two mounts at one path, the later one covers the other.
    let mounts: BTreeMap<PathBuf, MsFlags> =
        table.split(|&byte| byte == b'\n').filter_map(mounted).collect();
    for (path, flags) in mounts {
        if written.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | flags;
        match bind(None, &path, read_only) {
            // The program can't reach a path that this process can't reach.
            Err(error) if error.raw_os_error() == Some(Errno::EACCES as i32) => {}
            done => done?,
        }
    }
    Ok(())
}

/// Reads a line of `/proc/self/mountinfo`: the path of a mount, and the flags that a user namespace must not take away
/// from it.
fn mounted(line: &[u8]) -> Option<(PathBuf, MsFlags)> {
    let mut fields = line.split(|&byte| byte == b' ');
    let (path, options) = (fields.nth(4)?, fields.next()?);
    let flags = options.split(|&byte| byte == b',').filter_map(|option| match option {
        b"nosuid" => Some(MsFlags::MS_NOSUID),
        b"nodev" => Some(MsFlags::MS_NODEV),
        b"noexec" => Some(MsFlags::MS_NOEXEC),
        _ => None,
    });
    Some((PathBuf::from(OsString::from_vec(unescaped(path))), flags.collect()))
}

/// Replaces `\040` and the like, which stand for a blank, a tab, a line feed and a backslash.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let octal = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok();
        let escaped = after.get(..3).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// Mounts without a file system of its own: a bind mount, or another setting of a mount.
pub(super) fn bind(from: Option<&Path>, to: &Path, flags: MsFlags) -> io::Result<()> {
    Ok(mount(from, to, None::<&str>, flags, None::<&str>)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_mounts_has_a_path_and_flags() {
        let none = MsFlags::empty();
        for (line, expect) in [
            ("22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/a rw", Some(("/", none))),
            (
                "23 22 0:5 / /a\\040b\\134c ro,nosuid,nodev,noexec,relatime - proc proc rw",
                Some((r"/a b\c", MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC)),
            ),
            ("", None),
            ("23 22 0:5 / /a", None),
        ] {
            let found = mounted(line.as_bytes());
            let expect = expect.map(|(path, flags)| (PathBuf::from(path), flags));
            assert_eq!(found, expect, "{line}");
        }
    }
}
