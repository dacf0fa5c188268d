//! The settings of the endpoint, and the reasons for which it can't be served.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::sync::mpsc;

use super::answers::PostedAnswer;
use super::reach::Reach;
use crate::limits::{CONNECTIONS, CONNECTIONS_WAITING, REQUEST_HEAD};

/// The settings of the endpoint.
#[derive(Clone)]
pub struct ServerSettings {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Which addresses may be listened on.
    pub reach: Reach,
    /// The token that a request must bear, as `Authorization: Bearer TOKEN`; visible ASCII
    /// characters.
    pub token: String,
    /// The longest silence; after it a comment is sent, so that no proxy closes the connection.
    pub heartbeat: Duration,
    /// Connections at a time; one more is answered 503 with `Retry-After: 1`.
    pub connections: usize,
    /// Connections at a time whose request has not come yet. One more takes the place of the oldest,
    /// which is answered 503 with `Retry-After: 1`: who says nothing locks no reader out.
    pub waiting: usize,
    /// The time that the head of a request may take to come.
    pub head_time: Duration,
    /// Where answers to questions go ([Q11](crate::rules::Q11)); without it the endpoint takes none.
    pub answers: Option<mpsc::Sender<PostedAnswer>>,
}

/// The token is shown as `***`.
impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings")
            .field("address", &self.address)
            .field("reach", &self.reach)
            .field("token", &"***")
            .field("heartbeat", &self.heartbeat)
            .field("connections", &self.connections)
            .field("waiting", &self.waiting)
            .field("head_time", &self.head_time)
            .field("answers", &self.answers.is_some())
            .finish()
    }
}

impl ServerSettings {
    /// Listens on a free port of 127.0.0.1, and is never silent for more than 15 s. Has 1,024
    /// connections at a time, 128 of them waiting for their request, for 3 s at most
    /// ([`crate::limits`]).
    pub fn new(token: impl Into<String>) -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            reach: Reach::Loopback,
            token: token.into(),
            heartbeat: Duration::from_secs(15),
            connections: CONNECTIONS,
            waiting: CONNECTIONS_WAITING,
            head_time: REQUEST_HEAD,
            answers: None,
        }
    }
}

/// Why the endpoint can't be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Others than this machine could read the runs.
    #[error(
        "{0} can be reached from other machines, and what is sent there is not encrypted; listen \
         on 127.0.0.1, or set `reach` to `Reach::Anywhere` if that is what you want"
    )]
    NotLoopback(SocketAddr),
    /// The token is empty, or has characters that a header can't contain.
    #[error(
        "the token is empty or has characters that a header can't hold; take a long random word \
         of letters and digits"
    )]
    Token,
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}; choose another port, or 0 for a free one")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The words of the system.
        source: std::io::Error,
    },
}
