//! A program in namespaces of its own, which it needs no privilege for: a network that has a loopback device and nothing
//! else, and files that are covered by others.
//!
//! The supervisor of the program enters the namespaces before it starts the program (`confine/isolate.rs`), and passes
//! sockets of the new network out: those that listen there, so that clitape serves the program, and one more for each
//! connection that clitape makes to the program ([`NetworkDoor`]).

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use serde::{Deserialize, Serialize};

use super::passing::PassingReader;

/// The longest time that the supervisor may take to make a socket.
const PATIENCE: Duration = Duration::from_secs(2);

/// The namespaces of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// The network of its own; without one it has the machine's.
    pub network: Option<OwnNetwork>,
    /// The files that it sees in the place of others. A file that does not exist is not covered.
    pub covers: Vec<Cover>,
}

/// A network that has the loopback device alone, and what listens there before the program starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnNetwork {
    /// The addresses of sockets that take connections.
    pub tcp: Vec<SocketAddr>,
    /// The addresses of sockets that take datagrams.
    pub udp: Vec<SocketAddr>,
}

/// A file that stands in the place of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// The path at which the program sees it.
    pub path: PathBuf,
    /// The file.
    pub by: PathBuf,
}

/// A socket that comes from the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SocketKind {
    /// A socket of [`OwnNetwork::tcp`]; they come in their order.
    Tcp,
    /// A socket of [`OwnNetwork::udp`], in their order too.
    Udp,
    /// The connection of a [`NetworkDoor`].
    Door,
}

/// The sockets of a program's own network.
#[derive(Debug, Default)]
pub struct NetworkSockets {
    /// Those of [`OwnNetwork::tcp`].
    pub tcp: Vec<TcpListener>,
    /// Those of [`OwnNetwork::udp`].
    pub udp: Vec<UdpSocket>,
    /// The way in.
    pub door: Option<NetworkDoor>,
}

impl NetworkSockets {
    pub(crate) fn add(&mut self, opened: SocketKind, file: OwnedFd) {
        match opened {
            SocketKind::Tcp => self.tcp.push(file.into()),
            SocketKind::Udp => self.udp.push(file.into()),
            SocketKind::Door => self.door = Some(NetworkDoor::new(file.into())),
        }
    }
}

/// Makes connections to a program in a network of its own.
#[derive(Debug)]
pub struct NetworkDoor(Mutex<PassingReader>);

impl NetworkDoor {
    fn new(supervisor: UnixStream) -> Self {
        Self(Mutex::new(PassingReader::new(supervisor)))
    }

    /// Connects to an address of the program's network, within a time.
    ///
    /// # Errors
    ///
    /// An error if nothing listens there, or the program's supervisor has ended.
    pub fn connect(&self, address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        let socket = self.socket(address)?;
        set_socket_timeout(&socket, Timeout::Send, Some(within))?;
        rustix::net::connect(&socket, &address)?;
        set_socket_timeout(&socket, Timeout::Send, None)?;
        Ok(socket.into())
    }

    /// A new socket of the program's network.
    fn socket(&self, address: SocketAddr) -> io::Result<OwnedFd> {
        use io::{Read as _, Write as _};

        // Nothing here panics while it has the lock.
        let mut supervisor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        supervisor.stream.set_read_timeout(Some(PATIENCE))?;
        supervisor.stream.write_all(&[u8::from(address.is_ipv6())])?;
        supervisor.read_exact(&mut [0])?;
        supervisor.file.take().ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
    }
}

/// The system does not let a user make namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this system does not let a program have namespaces of its own: {}", self.0.desc())]
pub struct NoIsolation(pub(crate) Errno);
