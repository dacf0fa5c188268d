//! The open connections of the server: which of them makes room for a new one, and when each ends.
//!
//! Every program on this machine can connect and then stay silent. A connection without a first request within a few
//! seconds is closed. When too many are open, the oldest one that has made no call with the bot's token is closed, so
//! that a bot keeps its connections even while they are idle. All sockets on which the server listens share the limit.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::state::Shared;
use crate::limits::ChatServerLimits;

/// The smallest buffer for the head of a request that hyper accepts, in bytes.
const LEAST_HEAD: usize = 8 << 10;

/// The state of a connection that its requests and the list of connections share.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// Set once the head of its first request is complete.
    has_request: AtomicBool,
    /// Set at the first request with the bot's token.
    is_of_bot: AtomicBool,
    is_tls: bool,
    end: Notify,
}

impl Connection {
    /// Marks the connection as the bot's, because a request has the bot's token.
    pub(super) fn mark_as_bot(&self) {
        self.is_of_bot.store(true, Ordering::Relaxed);
    }

    /// Returns whether the connection is encrypted.
    pub(super) fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Resets the connection.
    pub(super) fn cut(&self) {
        self.end.notify_one();
    }
}

/// The protocol on the connections of a socket.
#[derive(Debug, Clone)]
pub enum Serve {
    /// HTTP.
    Plain,
    /// HTTP over TLS, which serves the name of the Bot API too.
    Tls(Arc<ServerConfig>),
}

/// The signals and the limits that end a connection.
struct ServedConnection {
    connection: Arc<Connection>,
    closed: watch::Receiver<Instant>,
    limits: ChatServerLimits,
}

/// The open connections, the oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenConnections {
    last: u64,
    open: BTreeMap<u64, Arc<Connection>>,
}

impl OpenConnections {
    /// Adds a connection and returns its number; `None` if `most` are open and none of them can make room.
    fn add(&mut self, most: usize, is_tls: bool) -> Option<(u64, Arc<Connection>)> {
        if self.open.len() >= most {
            let makes_room = |one: &Arc<Connection>| !one.is_of_bot.load(Ordering::Relaxed);
            let oldest = self.open.iter().find(|(_, one)| makes_room(one));
            let number = oldest.map(|(number, _)| *number)?;
            self.open.remove(&number)?.cut();
        }
        self.last += 1;
        let connection = Arc::new(Connection { is_tls, ..Connection::default() });
        self.open.insert(self.last, connection.clone());
        Some((self.last, connection))
    }

    fn remove(&mut self, number: u64) {
        self.open.remove(&number);
    }
}

/// A socket on which the server listens, with its protocol.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) listener: TcpListener,
    pub(super) serve: Serve,
}

/// Accepts connections until the server stops.
pub(super) async fn accept(
    Listening { listener, serve }: Listening,
    router: Router,
    shared: Arc<Shared>,
    open: Arc<Mutex<OpenConnections>>,
) {
    let limits = shared.read(|state| state.settings.limits);
    let is_tls = matches!(serve, Serve::Tls(_));
    let open = || open.lock().unwrap_or_else(PoisonError::into_inner);
    let mut closed = shared.closings();
    let mut tasks: JoinSet<u64> = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(ended) = tasks.join_next() => {
                open().remove(without_panic(ended));
                continue;
            }
            _ = closed.changed() => {
                // Resets the connections that come while the server restarts.
                let until = *closed.borrow_and_update();
                refuse_until(&listener, until).await;
                continue;
            }
        };
        match accepted {
            Ok((socket, from)) if from.ip().is_loopback() => {
                // Without this option answers may arrive later, which is harmless.
                let _ = socket.set_nodelay(true);
                let Some((number, connection)) = open().add(limits.connections, is_tls) else {
                    shared.change(|state| {
                        state.note_refusal(&format!(
                            "more than {} connections of the bot; one is closed, raise the limit with `--max-connections`",
                            limits.connections
                        ));
                    });
                    continue;
                };
                let mut open = ServedConnection { connection, closed: shared.closings(), limits };
                let (router, shared, serve) = (router.clone(), shared.clone(), serve.clone());
                tasks.spawn(async move {
                    match serve {
                        Serve::Plain => talk(socket, |socket| socket, router, open).await,
                        Serve::Tls(config) => {
                            if let Some(stream) = shake(socket, config, &mut open, &shared).await {
                                let socket = |stream: TlsStream<TcpStream>| stream.into_inner().0;
                                talk(stream, socket, router, open).await;
                            }
                        }
                    }
                    number
                });
            }
            Ok(_) => {}
            // Too many files are open, most likely; waits until some are closed.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Returns the result of a task. A panic in it continues here, so that the server ends and its owner notices.
pub(super) fn without_panic<T: Default>(ended: Result<T, JoinError>) -> T {
    ended.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        // The task was aborted, because the server stops.
        Err(_) => T::default(),
    })
}

/// Resets new connections until this time.
async fn refuse_until(listener: &TcpListener, until: Instant) {
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(until) => return,
            accepted = listener.accept() => {
                if let Ok((socket, _)) = accepted {
                    reset(socket);
                }
            }
        }
    }
}

/// Ends a connection by a reset, without an answer.
fn reset(socket: TcpStream) {
    // Without this option the connection ends as well, but with a plain end of the stream.
    let _ = socket.set_zero_linger();
    drop(socket);
}

/// Begins TLS on a connection. A failure goes to the log, because its usual cause is a client with its own list of
/// authorities, in which the run's authority is missing.
async fn shake(
    socket: TcpStream,
    config: Arc<ServerConfig>,
    open: &mut ServedConnection,
    shared: &Shared,
) -> Option<TlsStream<TcpStream>> {
    let accepted = TlsAcceptor::from(config).accept(socket);
    let shaken = tokio::select! {
        shaken = timeout(open.limits.head_time, accepted) => shaken,
        () = open.connection.end.notified() => return None,
        _ = open.closed.changed() => return None,
    };
    match shaken {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            shared.change(|state| {
                state.note_refusal(&format!("a connection with TLS failed: {error}"));
            });
            None
        }
        Err(_) => None,
    }
}

/// Returns the settings of HTTP with the limits of a server.
pub(crate) fn http(limits: ChatServerLimits) -> http1::Builder {
    let head = usize::try_from(limits.head.get()).unwrap_or(usize::MAX);
    let mut http = http1::Builder::new();
    // In hyper, the wait for a further request counts as one for its head.
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.idle_time)
        .max_buf_size(head.max(LEAST_HEAD));
    http
}

/// Serves a connection until one of its requests cuts it, it makes room for another, or the server closes all.
async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    socket: impl FnOnce(S) -> TcpStream,
    router: Router,
    ServedConnection { connection, mut closed, limits }: ServedConnection,
) {
    let router = TowerToHyperService::new(router);
    let of_requests = connection.clone();
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        of_requests.has_request.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(of_requests.clone());
        router.call(request)
    });
    let mut served = http(limits).serve_connection(TokioIo::new(stream), service);
    let stays_silent = async {
        sleep(limits.head_time).await;
        if connection.has_request.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        // A bot may hang up at any time.
        _ = &mut served => return,
        () = connection.end.notified() => {}
        () = stays_silent => {}
        _ = closed.changed() => {}
    }
    reset(socket(served.into_parts().io.into_inner()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_without_the_token_makes_room() {
        let mut open = OpenConnections::default();
        let numbers: Vec<u64> = (0..3).map(|_| open.add(3, false).unwrap().0).collect();
        assert_eq!(numbers, [1, 2, 3]);
        open.open[&1].mark_as_bot();
        open.remove(3);
        for (expect, left) in [(4, [1, 2, 4]), (5, [1, 4, 5]), (6, [1, 5, 6])] {
            assert_eq!(open.add(3, false).unwrap().0, expect);
            assert!(open.open.keys().eq(&left), "{:?}", open.open);
        }
        open.open.values().for_each(|one| one.mark_as_bot());
        assert!(open.add(3, false).is_none());
    }

    #[tokio::test]
    #[should_panic(expected = "a call panics")]
    async fn a_panic_of_a_connection_ends_the_server() {
        let mut tasks: JoinSet<u64> = JoinSet::new();
        tasks.spawn(async { panic!("a call panics") });
        without_panic(tasks.join_next().await.unwrap());
    }
}
