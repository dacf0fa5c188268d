//! The way to the chat server through a proxy, for systems that can't give a program a network of its own.
//!
//! The gateway gets variables for the proxy, for the authority of the run, and for shims that are loaded into Python
//! and Node, because some of their libraries read neither proxy nor authority from the environment. A program that
//! ignores all of these variables reaches the real network; only a network of its own prevents that.
//!
//! The proxy is on loopback, and leads to the chat server under the name of the Bot API, and to this machine. It takes
//! `CONNECT` for connections with TLS, and whole URLs for those without. It serves this machine as well, because a
//! program may send all of its requests to its proxy. Every other host is refused with 403 and noted.

use std::convert::Infallible;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clitape_process::ProcessError;
use clitape_process::threads::{HelperThread, ThreadDied};
use fs_err as fs;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1 as client;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::{Authority as UriAuthority, PathAndQuery};
use hyper::service::service_fn;
use hyper::upgrade::{Parts, Upgraded};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::sleep;

use super::authority::{Authority, AuthorityFiles};
use super::refused::Refused;
use crate::chat_server::{BOT_API, ChatServer, Serve, http};
use crate::limits::ChatServerLimits;

/// The shims for Python and for Node, by file name.
const SHIMS: [(&str, &str); 2] = [
    ("sitecustomize.py", include_str!("shims/sitecustomize.py")),
    ("preload.cjs", include_str!("shims/preload.cjs")),
];
/// The hosts that programs reach without the proxy. `[::1]` is left out, because some versions of httpx can't read an
/// IPv6 address in this variable.
const NO_PROXY: &str = "127.0.0.1,localhost";

/// A proxy, an authority and shims for one start of a gateway. Dropping it stops the proxy.
#[derive(Debug)]
pub struct ProxyWay {
    proxy: Proxy,
    authority: AuthorityFiles,
    shims: PathBuf,
}

impl ProxyWay {
    /// Lets a chat server speak TLS, starts a proxy that leads to it, and writes the files that the gateway needs into
    /// `folder`, which must be empty. Hosts that the gateway asks for in vain are added to `refused`.
    ///
    /// # Errors
    ///
    /// An error if a file can't be written, or if the system has no port, thread or random bytes.
    pub fn start(
        folder: &Path,
        chat: &ChatServer,
        refused: &Refused,
        limits: ChatServerLimits,
    ) -> Result<Self, ProcessError> {
        let shims = folder.to_owned();
        let authority = Authority::new()?;
        let config = authority.server_config(&[BOT_API])?;
        let authority = authority.write(&shims)?;
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let bot_api = listener.local_addr()?;
        chat.listen(listener, Serve::Tls(config))?;
        let proxy = Proxy::start(bot_api, refused.clone(), limits)?;
        let places = json!({
            "name": BOT_API,
            "bot_api": bot_api.port(),
            "proxy": proxy.address().port(),
            "ca": authority.ca.to_string_lossy(),
        });
        fs::write(shims.join("reach.json"), places.to_string())?;
        for (name, text) in SHIMS {
            fs::write(shims.join(name), text)?;
        }
        Ok(Self { proxy, authority, shims })
    }

    /// Returns the variables to add to the gateway's `environment`. Values that it has for Python and Node are kept,
    /// behind the shims.
    pub fn variables(&self, environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let own = |name: &str| {
            let found = environment.iter().rfind(|(own, value)| own == name && !value.is_empty());
            found.map(|(_, value)| value.clone())
        };
        let joined = |mut first: OsString, between: &str, name: &str| {
            if let Some(others) = own(name) {
                first.push(between);
                first.push(others);
            }
            first
        };
        let proxy = OsString::from(format!("http://{}", self.proxy.address()));
        let mut variables = self.authority.variables();
        let mut set = |name: &str, value: OsString| variables.push((name.into(), value));
        for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
            set(name, proxy.clone());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            set(name, NO_PROXY.into());
        }
        let shims = self.shims.clone().into_os_string();
        set("PYTHONPATH", joined(shims, ":", "PYTHONPATH"));
        set("NODE_OPTIONS", joined(required(&self.shims), " ", "NODE_OPTIONS"));
        set("NODE_USE_ENV_PROXY", "1".into());
        variables
    }

    /// Checks that the proxy is still running.
    ///
    /// # Errors
    ///
    /// [`ThreadDied`] if its thread has ended by itself.
    pub fn check(&self) -> Result<(), ThreadDied> {
        self.proxy.check()
    }
}

/// Returns the option that loads the shim into Node, escaped for `NODE_OPTIONS`.
fn required(shims: &Path) -> OsString {
    let file =
        shims.join("preload.cjs").to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("--require \"{file}\"").into()
}

/// The port on which the Bot API serves HTTPS.
const TLS: u16 = 443;
/// The headers that are meant for the proxy, and are removed before a request goes on.
const OF_PROXY: [&str; 2] = ["proxy-connection", "proxy-authorization"];

type Body = BoxBody<Bytes, hyper::Error>;

/// A running proxy. Dropping it stops it.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: HelperThread,
}

/// The state that the connections of a proxy share.
#[derive(Debug, Clone)]
struct Ways {
    /// The address at which the chat server speaks TLS.
    bot_api: SocketAddr,
    refused: Refused,
}

impl Proxy {
    /// Starts a proxy on a separate thread. Requests for the Bot API go to `bot_api`, where the chat server speaks
    /// TLS; other hosts are added to `refused`. The limits are those of the chat server.
    ///
    /// # Errors
    ///
    /// An error if the system has no thread or no port for it.
    pub fn start(
        bot_api: SocketAddr,
        refused: Refused,
        limits: ChatServerLimits,
    ) -> Result<Self, ProcessError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let ways = Ways { bot_api, refused };
        let thread = HelperThread::start("proxy", move || {
            runtime.block_on(async {
                tokio::select! {
                    // A dropped `Proxy` closes this channel too.
                    _ = stopped => {}
                    () = accept(listener, ways, limits) => {}
                }
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { address, stop: Some(stop), thread })
    }

    /// Returns the address on which the proxy listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Checks that the proxy is still running.
    ///
    /// # Errors
    ///
    /// [`ThreadDied`] if its thread has ended by itself.
    pub fn check(&self) -> Result<(), ThreadDied> {
        self.thread.check()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Stops the thread, which the field `thread` then joins.
        drop(self.stop.take());
    }
}

/// Accepts connections until the proxy stops. A connection beyond the limit is closed at once.
async fn accept(listener: TcpListener, ways: Ways, limits: ChatServerLimits) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                if let Ok(slot) = slots.clone().try_acquire_owned() {
                    tokio::spawn(serve(socket, ways.clone(), Arc::new(slot), limits));
                }
            }
            // Too many files are open, most likely; waits until some are closed.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Serves a connection until it ends or becomes a tunnel.
async fn serve(
    socket: TcpStream,
    ways: Ways,
    slot: Arc<OwnedSemaphorePermit>,
    limits: ChatServerLimits,
) {
    // Without this option bytes may arrive later, which is harmless.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| answer(request, ways.clone(), slot.clone()));
    let served = http(limits).serve_connection(TokioIo::new(socket), service).with_upgrades();
    // A program may hang up at any time.
    let _ = served.await;
}

/// Answers a request with a tunnel, with the answer of a server of this machine, or with a refusal.
async fn answer(
    request: Request<Incoming>,
    ways: Ways,
    slot: Arc<OwnedSemaphorePermit>,
) -> Result<Response<Body>, Infallible> {
    let Some(to) = request.uri().authority().cloned() else {
        let words = "this is the proxy of a gateway under test; it takes CONNECT and whole URLs";
        return Ok(said(StatusCode::BAD_REQUEST, words));
    };
    let is_tunnel = request.method() == Method::CONNECT;
    let name = to.host().trim_start_matches('[').trim_end_matches(']');
    let socket = match name {
        name if is_loopback(name) => {
            let port = to.port_u16().unwrap_or(if is_tunnel { TLS } else { 80 });
            let name = if name.eq_ignore_ascii_case("localhost") { "127.0.0.1" } else { name };
            TcpStream::connect((name, port)).await
        }
        name if name.eq_ignore_ascii_case(BOT_API) && is_tunnel && to.port_u16() == Some(TLS) => {
            TcpStream::connect(ways.bot_api).await
        }
        name => {
            ways.refused.note(name);
            let words = format!("{name} is refused: a gateway under test reaches {BOT_API} alone");
            return Ok(said(StatusCode::FORBIDDEN, &words));
        }
    };
    let socket = match socket {
        Ok(socket) => socket,
        Err(error) => return Ok(said(StatusCode::BAD_GATEWAY, &format!("{to}: {error}"))),
    };
    // Without this option bytes may arrive later, which is harmless.
    let _ = socket.set_nodelay(true);
    if is_tunnel {
        tokio::spawn(async move {
            if let Ok(from) = hyper::upgrade::on(request).await {
                pass(from, socket).await;
            }
            drop(slot);
        });
        return Ok(Response::new(empty()));
    }
    let passed = forward(request, &to, socket).await;
    Ok(passed.unwrap_or_else(|error| said(StatusCode::BAD_GATEWAY, &format!("{to}: {error}"))))
}

/// Returns whether a host name or address means this machine.
fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Passes bytes in both directions until both ends are done. A reset by one end is passed on as a reset.
async fn pass(from: Upgraded, mut to: TcpStream) {
    let Ok(Parts { io, read_buf, .. }) = from.downcast::<TokioIo<TcpStream>>() else { return };
    let mut from = io.into_inner();
    let passed = async {
        to.write_all(&read_buf).await?;
        copy_bidirectional(&mut from, &mut to).await
    };
    if passed.await.is_err() {
        for socket in [&from, &to] {
            // Without this option the connection ends as well, but with a plain end of the stream.
            let _ = socket.set_zero_linger();
        }
    }
}

/// Sends a request to a server of this machine and returns its answer.
async fn forward(
    mut request: Request<Incoming>,
    to: &UriAuthority,
    socket: TcpStream,
) -> Result<Response<Body>, hyper::Error> {
    let (mut sender, connection) = client::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    *request.uri_mut() = path.parse().unwrap_or_default();
    let headers = request.headers_mut();
    for name in OF_PROXY {
        headers.remove(name);
    }
    if let Ok(host) = HeaderValue::from_str(to.as_str()) {
        headers.insert(HOST, host);
    }
    Ok(sender.send_request(request).await?.map(BodyExt::boxed))
}

/// Builds a response that the proxy itself gives.
fn said(status: StatusCode, words: &str) -> Response<Body> {
    let words = Full::new(Bytes::from(format!("clitape: {words}\n")));
    let mut response = Response::new(words.map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

/// Builds a body without bytes.
fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed()
}
