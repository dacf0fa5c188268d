//! A connection between processes of clitape that passes open files on, beside its bytes.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// A file that comes is not passed on to programs that this process starts.
#[cfg(target_os = "linux")]
const FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// No file comes on a system without a supervisor.
#[cfg(not(target_os = "linux"))]
const FLAGS: RecvFlags = RecvFlags::empty();

/// The end of a connection that reads bytes and keeps the file that came with them.
#[derive(Debug)]
pub(crate) struct PassingReader {
    pub(crate) stream: UnixStream,
    /// The last file that came.
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
