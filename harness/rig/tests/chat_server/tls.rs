//! Tests of the server under the name of the Bot API, on further sockets.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clitape_rig::chat_server::{ChatServer, Serve};
use clitape_rig::reach::{Authority, BOT_API};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use crate::client::{request, result, started};

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// A server with a socket for TLS, and a client that trusts the server's authority only.
struct Served {
    server: ChatServer,
    port: u16,
    trusts: Arc<ClientConfig>,
}

/// Returns the settings of a client that trusts these certificates.
fn trusting(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

impl Served {
    fn of(server: ChatServer) -> Self {
        let authority = Authority::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = authority.server_config(&[BOT_API]).unwrap();
        server.listen(listener, Serve::Tls(config)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = authority.write(folder.path()).unwrap();
        let trusts = trusting(CertificateDer::pem_file_iter(files.ca).unwrap().flatten());
        Self { server, port, trusts }
    }

    fn connect(&self, name: &'static str, trusts: &Arc<ClientConfig>) -> Encrypted {
        let name = ServerName::try_from(name).unwrap();
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        StreamOwned::new(ClientConnection::new(trusts.clone(), name).unwrap(), socket)
    }

    /// Makes a call on an open connection; the error is a connection that broke off.
    fn call(&self, on: &mut Encrypted, method: &str, body: &Value) -> std::io::Result<Value> {
        let path = format!("/bot{}/{method}", self.server.token());
        let (status, body) = exchange(on, BOT_API, "POST", &path, &body.to_string())?;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(answer["ok"] == true, status == 200, "{answer}");
        Ok(answer)
    }
}

/// Sends a request on a connection that stays open, and reads the answer.
fn exchange(
    on: &mut Encrypted,
    host: &str,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<(u16, String)> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    on.write_all(head.as_bytes())?;
    on.write_all(body.as_bytes())?;
    let mut answer = String::new();
    loop {
        let mut bytes = [0; 4_096];
        let read = on.read(&mut bytes)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        answer += std::str::from_utf8(&bytes[..read]).unwrap();
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        let length = head.to_ascii_lowercase();
        let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() >= length.parse().unwrap() {
            return Ok((head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned()));
        }
    }
}

#[test]
fn the_bot_api_s_own_name_is_served_in_tls() {
    let served = Served::of(started(|_| {}));
    let mut bot = served.connect(BOT_API, &served.trusts);
    // All calls use one connection.
    let text = json!({ "chat_id": 7, "text": "in TLS" });
    assert_eq!(served.call(&mut bot, "getMe", &json!({})).unwrap()["result"]["is_bot"], true);
    assert_eq!(served.call(&mut bot, "sendMessage", &text).unwrap()["result"]["text"], "in TLS");
    let found = served.call(&mut bot, "getUpdates", &json!({ "timeout": 20 })).unwrap();
    assert_eq!(found["result"][0]["message"]["text"], "hello");
    assert_eq!(bot.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    // A file of the bot is available under the same name.
    let token = served.server.token();
    let body = "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n\
                --x\r\nContent-Disposition: form-data; name=\"document\"; filename=\"a.txt\"\r\n\r\n\
                one\r\n--x--\r\n";
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let path = format!("/bot{token}/sendDocument");
    let sent = request(&served.server.url(), "POST", &path, &kind, body.as_bytes()).unwrap().json();
    let id = json!({ "file_id": sent["result"]["document"]["file_id"] });
    let file = served.call(&mut bot, "getFile", &id).unwrap();
    let path = format!("/file/bot{token}/{}", file["result"]["file_path"].as_str().unwrap());
    let content = exchange(&mut bot, BOT_API, "GET", &path, "").unwrap();
    assert_eq!(content, (200, "one".to_owned()));
    // The name is refused without TLS, and other names are refused in TLS.
    let path = format!("/bot{token}/getMe");
    let host = [("host", BOT_API)];
    assert_eq!(request(&served.server.url(), "GET", &path, &host, b"").unwrap().status, 403);
    assert_eq!(exchange(&mut bot, "evil.example", "GET", &path, "").unwrap().0, 403);
    assert_eq!(exchange(&mut bot, "api.telegram.org:443", "GET", &path, "").unwrap().0, 200);
}

#[test]
fn a_client_that_does_not_trust_the_authority_gets_nothing_and_is_noted() {
    let served = Served::of(started(|_| {}));
    for (name, trusts) in [(BOT_API, &trusting([])), ("evil.example", &served.trusts)] {
        let mut stranger = served.connect(name, trusts);
        assert!(stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").is_err(), "{name}");
    }
    // A client without TLS on the socket for TLS.
    let mut plain = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").unwrap();
    let _ = plain.read(&mut [0; 9]);
    let begin = Instant::now();
    let is_noted = |line: &String| line.starts_with("a connection with TLS failed: ");
    while served.server.log(0).iter().filter(|line| is_noted(line)).count() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", served.server.log(0));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn faults_and_restarts_break_off_connections_with_tls_too() {
    let served = Served::of(started(|settings| {
        let faults = vec!["1:reset".parse().unwrap(), "2:server-error".parse().unwrap()];
        settings.faults = clitape_rig::chat_server::Faults::Listed(faults);
    }));
    let text = json!({ "chat_id": 7, "text": "x" });
    let mut bot = served.connect(BOT_API, &served.trusts);
    assert!(served.call(&mut bot, "sendMessage", &text).is_err(), "it is reset");
    let mut bot = served.connect(BOT_API, &served.trusts);
    assert_eq!(served.call(&mut bot, "sendMessage", &text).unwrap()["error_code"], 500);
    served.server.restart(Duration::from_millis(100));
    assert!(served.call(&mut bot, "getMe", &json!({})).is_err(), "it is closed");
    let begin = Instant::now();
    let answers = || {
        let mut bot = served.connect(BOT_API, &served.trusts);
        served.call(&mut bot, "getMe", &json!({})).is_ok()
    };
    while !answers() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not come back");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn all_sockets_share_the_limit_of_connections() {
    let served = Served::of(started(|settings| settings.limits.connections = 2));
    let further = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = further.local_addr().unwrap();
    served.server.listen(further, Serve::Plain).unwrap();
    let mut strangers: Vec<TcpStream> =
        (0..2).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stranger in &mut strangers {
        // The answer proves that the server has accepted the connection.
        stranger.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
        stranger.read_exact(&mut [0; 12]).unwrap();
    }
    // The oldest connection makes room for one of another socket.
    let mut bot = served.connect(BOT_API, &served.trusts);
    served.call(&mut bot, "getMe", &json!({})).unwrap();
    let ended = strangers[0].read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert!(matches!(ended, Ok(_) | Err(ErrorKind::ConnectionReset)), "{ended:?}");
    result(&served.server, "getMe", &json!({}));
}
