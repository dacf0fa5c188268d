//! Moves this process into separate namespaces: a file tree with only the files that a confined program may use, and a
//! network with only a loopback device.
//!
//! Landlock alone leaves the whole tree visible: a program may look at any file, change the mode, the times and the
//! attributes of the user's files, and talk to programs through their sockets. In a separate tree these files do not
//! exist, and read-only files are mounted read-only. Landlock's rule for connections names a port and no address, so
//! that the port of the scripted model on any other machine could be reached, too.
//!
//! A supervisor moves into such namespaces as well ([`isolate`]) if the program under it is a gateway with a separate
//! network. The caller covers the files through which the program could reach programs of the machine that would look
//! up names or start programs in the machine's network.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid, pivot_root};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket, socket_with,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

use super::super::isolation::{Isolation, PassingReader, SocketKind, pass};
use super::bounds::{Bounds, DEVICES, VisiblePath};
use crate::threads;

/// The folder with the machine's tree while the new one is made.
const OLD: &str = "/old";
/// The links in `/dev` that programs expect.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stder"),
];

/// Moves this process, which must have one thread, into separate namespaces. The current folder stays the same.
///
/// # Errors
///
/// An error if the system does not allow it. The process is then unusable, because it may be in between.
pub(super) fn enter_tree(bounds: &Bounds) -> io::Result<()> {
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

/// Gives this process a separate tree of mounts and the namespaces `more`, in which its user and group are the same as
/// before.
fn enter_namespaces(more: CloneFlags) -> io::Result<()> {
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | more)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Turns the loopback device on, which is the only one of a new network.
fn start_loopback() -> io::Result<()> {
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

/// Makes every mount read-only except for those in the folders `written`.
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

/// Reads a line of `/proc/self/mountinfo`: the path of a mount, and the flags that a user namespace must not remove.
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

/// Decodes `\040` and the like, which encode a blank, a tab, a line feed and a backslash.
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

/// Makes a mount without a file system: a bind mount, or a change of a mount's flags.
fn bind(from: Option<&Path>, to: &Path, flags: MsFlags) -> io::Result<()> {
    Ok(mount(from, to, None::<&str>, flags, None::<&str>)?)
}

/// The capabilities that a root in the namespaces keeps: those for its own files and processes, and for the ports below
/// 1024. None of them reaches out of the namespaces.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Moves this process, which must have one thread, into the namespaces. `opened` gets each socket that the caller's
/// side needs.
///
/// # Errors
///
/// An error if the system does not allow it. The process is then unusable, because it may be in between.
pub(crate) fn isolate(
    isolation: &Isolation,
    mut opened: impl FnMut(SocketKind, &dyn AsFd) -> io::Result<()>,
) -> io::Result<()> {
    let network = match isolation.network {
        Some(_) => CloneFlags::CLONE_NEWNET,
        None => CloneFlags::empty(),
    };
    enter_namespaces(network)?;
    bind(None, Path::new("/"), MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    for cover in isolation.covers.iter().filter(|cover| cover.path.exists()) {
        bind(Some(&cover.by), &cover.path, MsFlags::MS_BIND)?;
    }
    if let Some(network) = &isolation.network {
        start_loopback()?;
        for address in &network.tcp {
            opened(SocketKind::Tcp, &TcpListener::bind(address)?)?;
        }
        for address in &network.udp {
            opened(SocketKind::Udp, &UdpSocket::bind(address)?)?;
        }
        let (ours, theirs) = UnixStream::pair()?;
        opened(SocketKind::Door, &theirs)?;
        threads::start("door", move || hand_out(ours))?;
    }
    keep_capabilities(KEPT)
}

/// Gives up all other capabilities, in this process and in all that it starts.
pub(super) fn keep_capabilities(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    let has = capabilities(None)?;
    let kept = kept.intersection(has.permitted);
    let inheritable = kept.intersection(has.inheritable);
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable };
    Ok(set_capabilities(None, sets)?)
}

/// Answers each byte with a socket of this network: of IPv4 for 0, and of IPv6 for 1. It ends with the connection.
fn hand_out(caller: UnixStream) {
    use std::io::Read as _;

    let mut asked = PassingReader::new(caller);
    let mut version = [0];
    while asked.read_exact(&mut version).is_ok() {
        let family = if version == [0] { AddressFamily::INET } else { AddressFamily::INET6 };
        let made = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let made = made.as_ref().ok().map(AsFd::as_fd);
        if pass(&asked.stream, &version, made).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use super::super::super::isolation::NetworkSockets;
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

    #[test]
    fn a_door_hands_out_sockets() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let handing = std::thread::spawn(move || hand_out(theirs));
        let mut sockets = NetworkSockets::default();
        sockets.add(SocketKind::Door, ours.into());
        let door = sockets.door.take().unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = server.local_addr().unwrap();
        let limit = Duration::from_secs(60);
        for _ in 0..3 {
            let near = door.connect(address, limit).unwrap();
            let (far, _) = server.accept().unwrap();
            assert_eq!(near.local_addr().unwrap(), far.peer_addr().unwrap());
        }
        // A bound port without a listener refuses connections, whatever the processes of other tests inherit.
        let closed =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .unwrap();
        rustix::net::bind(&closed, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let unheard = SocketAddr::try_from(rustix::net::getsockname(&closed).unwrap()).unwrap();
        let refused = door.connect(unheard, limit).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        drop(door);
        handing.join().unwrap();
    }
}
