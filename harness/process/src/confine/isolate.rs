//! Moves a supervisor into the namespaces in which the program under it runs.
//!
//! The network of the new namespace has the loopback device alone. Programs of the machine that are reached by a file,
//! and that would look up names or start programs for others in the machine's network, are covered by the caller.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::mount::MsFlags;
use nix::sched::CloneFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::CapabilitySet;

use super::super::isolation::{Isolation, SocketKind};
use super::super::passing::{PassingReader, pass};
use super::enter::keep_capabilities;
use super::namespaces::{bind, enter_namespaces, start_loopback};
use crate::threads;

/// The capabilities that a root in the namespaces keeps: those that the files and processes of its own need, and the
/// ports below 1024. None of them leads out of the namespaces.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Moves this process, which must have one thread, into the namespaces. `opened` gets each socket that the caller's side
/// needs.
///
/// # Errors
///
/// An error if the system does not let it. The process is then of no further use, because it may be half-way.
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

/// Answers each byte with a socket of this network: of IPv4 for 0, and of IPv6 for 1. Ends with the connection.
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
        // A port that is bound and not listened on refuses, and stays so whatever the processes of other tests inherit.
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
