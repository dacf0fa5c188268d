//! Asks a URL whether a gateway is ready.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clitape_process::NetworkDoor;
use clitape_process::threads::{NoMoreThreads, start};

/// The time between two requests.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest wait of one request for the connection, and for each part of the answer.
const TRY: Duration = Duration::from_millis(500);

/// Requests a URL again and again on a separate thread, because the look-up of a name, or an answer that comes byte
/// by byte, may take longer than its caller can wait. Dropping it ends the thread.
#[derive(Debug)]
pub(super) struct UrlWatch {
    has_answered: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl UrlWatch {
    /// Starts to request a URL of this machine, or of the separate network into which `door` leads.
    pub(super) fn start(
        url: String,
        door: Option<Arc<NetworkDoor>>,
    ) -> Result<Self, NoMoreThreads> {
        let watch = Self { has_answered: Arc::default(), is_over: Arc::default() };
        let (has_answered, is_over) = (watch.has_answered.clone(), watch.is_over.clone());
        let ask = move || {
            while !is_over.load(Ordering::Relaxed) && !has_answered.load(Ordering::Relaxed) {
                let connect = |address| match &door {
                    Some(door) => door.connect(address, TRY),
                    None => TcpStream::connect_timeout(&address, TRY),
                };
                match answers(&url, connect) {
                    true => has_answered.store(true, Ordering::Relaxed),
                    false => std::thread::sleep(PAUSE),
                }
            }
        };
        start("ready-url", ask)?;
        Ok(watch)
    }

    /// Returns whether the URL has answered with a status below 400.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }
}

impl Drop for UrlWatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Returns whether a GET of an `http://` URL is answered with a status below 400.
fn answers(url: &str, connect: impl Fn(SocketAddr) -> io::Result<TcpStream>) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let with_port =
        if address.contains(':') { address.to_owned() } else { format!("{address}:80") };
    let status = || -> Option<u16> {
        let socket = with_port.to_socket_addrs().ok()?.next()?;
        let mut stream = connect(socket).ok()?;
        stream.set_read_timeout(Some(TRY)).ok()?;
        stream.set_write_timeout(Some(TRY)).ok()?;
        let request =
            format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).ok()?;
        std::str::from_utf8(&head).ok()?.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
    };
    status().is_some_and(|status| status < 400)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_url_answers_below_400() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/health", server.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            for status in ["404 Not Found", "200 OK"] {
                let (mut stream, _) = server.accept().unwrap();
                // The client closes the connection as soon as it has the status.
                let _ = stream.read(&mut [0; 512]).unwrap();
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).unwrap();
            }
        });
        let connect = |address: SocketAddr| TcpStream::connect(address);
        assert!(!answers(&url, connect));
        let (watch, begin) = (UrlWatch::start(url, None).unwrap(), Instant::now());
        while !watch.has_answered() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::sleep(PAUSE);
        }
        answering.join().unwrap();
        assert!(!answers("https://127.0.0.1/", connect));
    }
}
