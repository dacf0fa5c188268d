//! Tests of the proxy way with programs in Python and Node: they reach the chat server under the name of the Bot API,
//! this machine, and no other host. Without Python or Node, its part is left out; it fails instead if `CLITAPE_REQUIRE`
//! names `python3` or `node`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what can't be done fails the test"
)]

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clitape_rig::chat_server::{ChatServer, ChatServerSettings, PaceLimits};
use clitape_rig::limits::ChatServerLimits;
use clitape_rig::reach::{Proxy, ProxyWay, Refused};
use tempfile::TempDir;

/// A chat server, the proxy way to it, and a server of this machine that answers `here`.
struct Way {
    chat: ChatServer,
    refused: Refused,
    way: ProxyWay,
    here: SocketAddr,
    folder: TempDir,
}

/// Starts a server that answers each request with `here` until the test ends.
fn here() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 4_096]);
            let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\nhere";
            let _ = socket.write_all(answer.as_bytes());
        }
    });
    address
}

impl Way {
    fn new() -> Self {
        let settings = ChatServerSettings {
            latency: Duration::from_millis(5),
            pace: PaceLimits::None,
            ..ChatServerSettings::default()
        };
        let chat = ChatServer::start(settings, Arc::default()).unwrap();
        let (refused, folder) = (Refused::default(), tempfile::tempdir().unwrap());
        let limits = ChatServerLimits::DEFAULT;
        let reach = folder.path().join("a \"reach\" \\ folder");
        std::fs::create_dir(&reach).unwrap();
        let way = ProxyWay::start(&reach, &chat, &refused, limits).unwrap();
        Self { chat, refused, way, here: here(), folder }
    }

    /// Runs a program with the variables of the way, and returns its output.
    fn run(&self, program: &str, arguments: &[&str], own: &[(&str, &str)]) -> String {
        let own: Vec<(OsString, OsString)> =
            own.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.folder.path())
            .env("API", format!("https://api.telegram.org/bot{}", self.chat.token()))
            .env("HERE", format!("http://{}/", self.here))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(self.way.variables(&own))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
        assert!(output.status.success(), "{program}: {err}");
        String::from_utf8(out).unwrap() + &err
    }
}

/// Returns whether the machine has a program of this name; panics without one that `CLITAPE_REQUIRE` names.
fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let required = std::env::var("CLITAPE_REQUIRE").unwrap_or_default();
    assert!(is_there || !required.contains(program), "CLITAPE_REQUIRE names {program}");
    is_there
}

/// Sends a request to an address and returns the first line of the answer and the last.
fn raw(address: SocketAddr, request: &str) -> (String, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = socket.read_to_string(&mut answer);
    let lines = || answer.trim_end().lines();
    (lines().next().unwrap_or_default().into(), lines().last().unwrap_or_default().into())
}

#[test]
fn the_proxy_leads_to_this_machine_and_refuses_all_other_hosts() {
    let (refused, here) = (Refused::default(), here());
    let limits = ChatServerLimits::DEFAULT;
    let proxy = Proxy::start(here, refused.clone(), limits).unwrap();
    let tunnelled = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    let port = here.port();
    for (line, status, last) in [
        // The proxy leads the name of the Bot API to the address that it was given for it.
        ("CONNECT api.telegram.org:443", 200, "here"),
        (&format!("CONNECT 127.0.0.1:{port}"), 200, "here"),
        (&format!("CONNECT localhost:{port}"), 200, "here"),
        (&format!("GET http://127.0.0.1:{port}/x"), 200, "here"),
        (&format!("GET http://localhost:{port}"), 200, "here"),
        ("CONNECT 127.0.0.1:1", 502, "refused"),
        ("CONNECT pypi.org:443", 403, "clitape: pypi.org is refused: a gateway under test reaches"),
        ("CONNECT 192.0.2.1:443", 403, "192.0.2.1 is refused"),
        ("CONNECT [2001:db8::1]:443", 403, "2001:db8::1 is refused"),
        ("CONNECT api.telegram.org:80", 403, "api.telegram.org is refused"),
        ("CONNECT api.telegram.org.evil.example:443", 403, "evil.example is refused"),
        ("GET http://pypi.org/", 403, "pypi.org is refused"),
        ("GET http://api.telegram.org/bot1:a/getMe", 403, "api.telegram.org is refused"),
        ("GET /", 400, "takes CONNECT and whole URLs"),
    ] {
        let request = format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let is_tunnel = line.starts_with("CONNECT") && status == 200;
        let request = if is_tunnel { request + tunnelled } else { request };
        let (first, end) = raw(proxy.address(), &request);
        assert!(first.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {first}");
        assert!(end.contains(last), "{line}: {end}");
    }
    let found = refused.sentences();
    assert!(found.contains(&"it asked for pypi.org 2 times: refused".to_owned()), "{found:?}");
    assert_eq!(found.len(), 5, "{found:?}");
    let head = format!("GET http://127.0.0.1/ HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(200 << 10));
    assert!(raw(proxy.address(), &head).0.starts_with("HTTP/1.1 431"), "a head has a limit");
    proxy.check().unwrap();
}

const PYTHON: &str = r#"
import asyncio, http.client, json, os, socket, ssl, sys, urllib.request
API, HERE = os.environ["API"], os.environ["HERE"]
HOST, PATH = "api.telegram.org", API.split("telegram.org")[1] + "/getMe"

def by_urllib(proxies):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    return json.load(opener.open(API + "/getMe", timeout=30))["ok"]

def by_hand(host):
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # as with a list of authorities of its own
    socket_ = empty.wrap_socket(socket.create_connection((host, 443), 30), server_hostname=HOST)
    socket_.sendall(f"GET {PATH} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    return b'"ok":true' in b"".join(iter(lambda: socket_.recv(4096), b""))

async def by_asyncio(host):
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    reader, writer = await asyncio.open_connection(host, 443, ssl=empty, server_hostname=HOST)
    writer.write(f"GET {PATH} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    return b'"ok":true' in await reader.read()

def no(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return type(error).__name__

looked_up = socket.getaddrinfo(HOST, 443, type=socket.SOCK_STREAM)[0][4][0]
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("with the proxy", by_urllib(None))
print("without", by_urllib({}))
print("by hand", by_hand(HOST), by_hand(looked_up), by_hand(socket.gethostbyname(HOST)))
print("asyncio", asyncio.run(by_asyncio(HOST)), asyncio.run(by_asyncio(looked_up)))
print("here", urllib.request.urlopen(HERE, timeout=30).read().decode())
print("own name", no(socket.gethostbyname, socket.gethostname()))
print("name", no(socket.create_connection, ("one.example", 443), 30))
print("address", no(socket.create_connection, ("192.0.2.1", 443), 30))
print("address 6", no(socket.socket(socket.AF_INET6).connect, ("2001:db8::1", 443)))
print("number", socket.socket().connect_ex(("192.0.2.2", 80)))
print("lookups", no(socket.gethostbyname, "two.example"), no(socket.gethostbyname_ex, b"two.example"), no(socket.gethostbyaddr, "192.0.2.3"))
print("asyncio", no(asyncio.run, asyncio.wait_for(by_asyncio("three.example"), 30)))
print("packet", no(udp.sendto, b"x", ("192.0.2.4", 53)), no(udp.sendmsg, [b"x"], [], 0, ("192.0.2.4", 53)))
print("proxy", no(urllib.request.urlopen, "https://four.example/"))
"#;

#[test]
fn python_reaches_the_chat_server_and_nothing_else() {
    if !has("python3") {
        return;
    }
    let way = Way::new();
    let printed = way.run("python3", &["-c", PYTHON], &[]);
    let expect = "with the proxy True\nwithout True\nby hand True True True\nasyncio True True\n\
                  here here\nown name 127.0.0.1\nname gaierror\naddress ConnectionRefusedError\n\
                  address 6 ConnectionRefusedError\nnumber 111\nlookups gaierror gaierror herror\n\
                  asyncio gaierror\npacket ConnectionRefusedError ConnectionRefusedError\n\
                  proxy URLError\n";
    assert_eq!(printed, expect, "{:?}", way.chat.log(0));
    assert_eq!(
        way.refused.hosts().into_iter().map(|(host, _)| host).collect::<Vec<_>>(),
        [
            "192.0.2.1",
            "192.0.2.2",
            "192.0.2.4",
            "2001:db8::1",
            "four.example",
            "one.example",
            "three.example",
            "two.example"
        ]
    );
    way.way.check().unwrap();
}

const NODE: &str = r#"
const dgram = require('node:dgram'), dns = require('node:dns'), https = require('node:https');
const net = require('node:net'), os = require('node:os'), tls = require('node:tls');
const { API, HERE } = process.env;
const no = (promise) => promise.then(String, (error) => error.code ?? error.cause?.code ?? error.message);
const ended = (socket) => new Promise((done, failed) => {
  let text = '';
  socket.on('data', (data) => (text += data)).on('end', () => done(text)).on('error', failed);
});
const get = (url, options = {}) => new Promise((done, failed) => {
  https.get(url, options, (answer) => ended(answer).then((text) => done(JSON.parse(text).ok))).on('error', failed);
});
const byHand = async (host) => {
  const socket = tls.connect({ host, port: 443, servername: 'api.telegram.org' });
  socket.write(`GET ${new URL(API).pathname}/getMe HTTP/1.1\r\nHost: api.telegram.org\r\nConnection: close\r\n\r\n`);
  return (await ended(socket)).includes('"ok":true');
};
const send = (host) => new Promise((done, failed) => {
  dgram.createSocket('udp4').send('x', 53, host, (error) => (error ? failed(error) : done()));
});
const lookup = (host) => new Promise((done, failed) => {
  dns.lookup(host, (error, address) => (error ? failed(error) : done(address)));
});
(async () => {
  const say = (...words) => console.log(...words);
  const roots = tls.rootCertificates.slice(0, 1);
  say('fetch', (await (await fetch(`${API}/getMe`)).json()).ok);
  say('https', await get(`${API}/getMe`), await get(`${API}/getMe`, { ca: roots, agent: new https.Agent({ ca: roots }) }));
  say('by hand', await byHand('api.telegram.org'), await byHand(await lookup('api.telegram.org')));
  say('here', await (await fetch(HERE)).text());
  say('own name', await no(lookup(os.hostname())));
  say('name', await no(fetch('https://one.example/')), await no(get('https://one.example/')));
  say('address', await no(fetch('https://192.0.2.1/')), await no(ended(net.connect(443, '192.0.2.1'))));
  say('address 6', await no(ended(net.connect({ port: 443, host: '2001:db8::1' }))));
  say('lookups', await no(lookup('two.example')), await no(dns.promises.lookup('two.example')),
    await no(dns.promises.resolve4('two.example')), await no(new dns.promises.Resolver().resolveTxt('two.example')),
    await no(require('node:util').promisify(dns.lookup)('two.example')));
  say('packet', await no(send('192.0.2.4')));
  const { default: esm, lookup: named } = await import('node:dns');
  say('modules', named === dns.lookup, esm === dns);
  process.exit();
})();
"#;

#[test]
fn node_reaches_the_chat_server_and_nothing_else() {
    if !has("node") {
        return;
    }
    let way = Way::new();
    let printed = way.run("node", &["-e", NODE], &[]);
    let expect = "fetch true\nhttps true true\nby hand true true\nhere here\nown name 127.0.0.1\n\
                  name ENOTFOUND ENOTFOUND\naddress ECONNREFUSED ECONNREFUSED\n\
                  address 6 ECONNREFUSED\n\
                  lookups ENOTFOUND ENOTFOUND ENOTFOUND ENOTFOUND ENOTFOUND\n\
                  packet ENETUNREACH\nmodules true true\n";
    assert_eq!(printed, expect, "{:?}", way.chat.log(0));
    assert_eq!(
        way.refused.hosts().into_iter().map(|(host, _)| host).collect::<Vec<_>>(),
        ["192.0.2.1", "192.0.2.4", "2001:db8::1", "one.example", "two.example"]
    );
}

#[test]
fn the_gateway_s_own_modules_and_options_stay() {
    if !has("python3") || !has("node") {
        return;
    }
    let way = Way::new();
    let write = |file: &str, text: &str| {
        let path = way.folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let file = write("own modules/sitecustomize.py", "import builtins; builtins.OWN = 'own'");
    let folder = Path::new(&file).parent().unwrap().to_str().unwrap();
    let script = "import socket; print(OWN, socket.getaddrinfo.__module__ != 'socket')";
    let printed = way.run("python3", &["-c", script], &[("PYTHONPATH", folder)]);
    assert_eq!(printed, "own True\n");
    let file = write("own.cjs", "globalThis.OWN = 'own';");
    let script = "console.log(OWN, require('net').Socket.prototype.connect.name)";
    let options = format!("--require {file} --max-http-header-size=9000");
    let printed = way.run("node", &["-e", script], &[("NODE_OPTIONS", &options)]);
    assert!(printed.starts_with("own "), "{printed}");
    // A module that programs use if it exists, and that would bypass the shims.
    let script = "import uvloop, asyncio; uvloop.install(); print(type(asyncio.new_event_loop()))";
    let printed = way.run("python3", &["-c", script], &[]);
    assert!(printed.contains("asyncio"), "{printed}");
}

#[test]
fn a_connection_that_is_reset_is_reset_through_the_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        // Closing a socket with unread bytes resets the connection.
        let (socket, _) = listener.accept().unwrap();
        socket.peek(&mut [0]).unwrap();
    });
    let limits = ChatServerLimits::DEFAULT;
    let proxy = Proxy::start(here(), Refused::default(), limits).unwrap();
    let mut socket = TcpStream::connect(proxy.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(socket, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    socket.write_all(b"x").unwrap();
    let error = socket.read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    server.join().unwrap();
}
