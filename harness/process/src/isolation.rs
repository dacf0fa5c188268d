//! Runs a program in separate namespaces, which need no privilege: a network with only a loopback device, and files
//! that others cover.
//!
//! The supervisor of the program enters the namespaces before it starts the program (`confine/namespaces.rs`), and
//! passes sockets of the new network out: listening ones, so that clitape serves the program, and one more for each
//! connection that clitape makes to the program ([`NetworkDoor`]). A connection between processes of clitape passes
//! these open files on beside its bytes ([`PassingReader`], [`pass`]).

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

/// The longest time that the supervisor may take to make a socket.
const PATIENCE: Duration = Duration::from_secs(2);

/// The namespaces of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// The separate network; `None` uses the machine's.
    pub network: Option<OwnNetwork>,
    /// The files that the program sees instead of others. A missing file is not covered.
    pub covers: Vec<Cover>,
}

/// A network with only the loopback device, and the sockets that listen there before the program starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnNetwork {
    /// The addresses of sockets that take connections.
    pub tcp: Vec<SocketAddr>,
    /// The addresses of sockets that take datagrams.
    pub udp: Vec<SocketAddr>,
}

/// A file that replaces another one for the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// The path at which the program sees it.
    pub path: PathBuf,
    /// The path of the replacement.
    pub by: PathBuf,
}

/// A socket that comes from the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SocketKind {
    /// A socket of [`OwnNetwork::tcp`]; they come in their order.
    Tcp,
    /// A socket of [`OwnNetwork::udp`]; they come in their order.
    Udp,
    /// The connection of a [`NetworkDoor`].
    Door,
}

/// The sockets of a program's separate network.
#[derive(Debug, Default)]
pub struct NetworkSockets {
    /// The sockets of [`OwnNetwork::tcp`].
    pub tcp: Vec<TcpListener>,
    /// The sockets of [`OwnNetwork::udp`].
    pub udp: Vec<UdpSocket>,
    /// The maker of connections to the program.
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

/// A maker of connections to a program in a separate network.
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
    /// An error if no socket listens there, or the program's supervisor has ended.
    pub fn connect(&self, address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        let socket = self.socket(address)?;
        set_socket_timeout(&socket, Timeout::Send, Some(within))?;
        rustix::net::connect(&socket, &address)?;
        set_socket_timeout(&socket, Timeout::Send, None)?;
        Ok(socket.into())
    }

    /// Returns a new socket of the program's network.
    fn socket(&self, address: SocketAddr) -> io::Result<OwnedFd> {
        use io::{Read as _, Write as _};

        // No code here panics while it has the lock.
        let mut supervisor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        supervisor.stream.set_read_timeout(Some(PATIENCE))?;
        supervisor.stream.write_all(&[u8::from(address.is_ipv6())])?;
        supervisor.read_exact(&mut [0])?;
        supervisor.file.take().ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
    }
}

/// The error of a system that does not let a user make namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this system does not let a program have namespaces of its own: {}", self.0.desc())]
pub struct NoIsolation(pub(crate) Errno);

/// A received file is not passed on to programs that this process starts.
#[cfg(target_os = "linux")]
const FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// A system without a supervisor passes no files.
#[cfg(not(target_os = "linux"))]
const FLAGS: RecvFlags = RecvFlags::empty();

/// The end of a connection that reads bytes and keeps the file that came with them.
#[derive(Debug)]
pub(crate) struct PassingReader {
    pub(crate) stream: UnixStream,
    /// The last file that was received.
    pub(crate) file: Option<OwnedFd>,
}

impl PassingReader {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, file: None }
    }
}

impl Read for PassingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let read = recvmsg(&self.stream, &mut [IoSliceMut::new(buffer)], &mut control, FLAGS)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.file = files.last().or(self.file.take());
            }
        }
        Ok(read.bytes)
    }
}

/// Writes a short message, with an open file if there is one.
pub(crate) fn pass(
    to: &UnixStream,
    message: &[u8],
    file: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = file.as_slice();
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(to, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL)?;
    // A message of a few hundred bytes fits into the empty buffer of a connection.
    if sent < message.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_file_comes_with_a_message_and_stays_until_it_is_taken() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"passed on").unwrap();
        pass(&ours, b"one", None).unwrap();
        pass(&ours, b"two", Some(file.as_fd())).unwrap();
        drop(ours);
        let mut reader = PassingReader::new(theirs);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "onetwo");
        let mut passed = std::fs::File::from(reader.file.unwrap());
        passed.rewind().unwrap();
        assert_eq!(io::read_to_string(passed).unwrap(), "passed on");
    }
}
