//! A network of a gateway's own, in which the chat server is `api.telegram.org` and the only other host.
//!
//! The gateway starts in namespaces of its own ([`Isolation`]). There the chat server listens on port 443 of loopback
//! with a certificate of the run's authority, and on the port of its own address without TLS. A name server answers all
//! look-ups: the names of the Bot API and of this machine lead to loopback, and every other name does not exist. Files
//! from which programs read names and authorities are covered by others: `/etc/hosts`, and the lists of authorities of
//! the system and of certifi.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clitape_process::threads::HelperThread;
use clitape_process::{Cover, Isolation, NetworkDoor, NetworkSockets, OwnNetwork, ProcessError};
use clitape_recording::files;
use rustls::ServerConfig;
use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, QTYPE, RCODE, ResourceRecord, TYPE};

use super::authority::{Authority, AuthorityFiles, BUNDLES};
use super::{BOT_API, Refused};
use crate::chat_server::{ChatServer, Serve};

/// The lists of authorities that certifi brings, in a folder of Python packages. pip has its own copy.
const CERTIFI: [&str; 2] = ["certifi/cacert.pem", "pip/_vendor/certifi/cacert.pem"];
/// The sockets of services that look names up or start programs on request. They are covered, because they work in the
/// machine's network.
const SERVICES: [&str; 9] = [
    "/run/nscd/socket",
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/avahi-daemon/socket",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/snapd.socket",
];

/// The network of a gateway that has not started yet.
#[derive(Debug)]
pub(crate) struct NetworkSandbox {
    /// The namespaces and the covered files.
    pub(crate) isolation: Isolation,
    /// The files that make a program trust the run's authority.
    pub(crate) authority: AuthorityFiles,
    certificate: Arc<ServerConfig>,
    /// The host names that lead to loopback.
    known: Vec<String>,
}

/// The servers in a gateway's own network. Dropping it ends the name server.
#[derive(Debug)]
pub(crate) struct InsideServers {
    /// The way from outside to the ports on which the gateway itself listens.
    pub(crate) door: Option<Arc<NetworkDoor>>,
    _names: Option<NameServer>,
}

impl NetworkSandbox {
    /// Writes the files of a network into `folder`. Inside, the chat server has the address `plain` too, without TLS.
    ///
    /// # Errors
    ///
    /// An error if a file can't be written, or if the system has no random bytes for the authority.
    pub(crate) fn new(folder: &Path, plain: SocketAddr) -> io::Result<Self> {
        let made = Authority::new()?;
        let certificate = made.server_config(&[BOT_API])?;
        let authority = made.write(folder)?;
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
        let known = ["localhost", BOT_API].into_iter().map(str::to_owned).chain(host);
        let known: Vec<String> = known.collect();
        let hosts = format!("127.0.0.1 {}\n::1 localhost\n", known.join(" "));
        let look_ups =
            look_ups(&files::read_text(Path::new("/etc/nsswitch.conf")).unwrap_or_default());
        let mut covers = Vec::new();
        for (path, text) in [
            ("/etc/hosts", hosts.as_str()),
            ("/etc/resolv.conf", "nameserver 127.0.0.1\n"),
            ("/etc/nsswitch.conf", &look_ups),
        ] {
            let name = path.rsplit('/').next().unwrap_or(path);
            covers.push(Cover { path: path.into(), by: written(folder, name, text)? });
        }
        let nothing = written(folder, "nothing", "")?;
        let cover = |by: &PathBuf| {
            let by = by.clone();
            move |path: &str| Cover { path: path.into(), by: by.clone() }
        };
        covers.extend(SERVICES.into_iter().map(cover(&nothing)));
        covers.extend(BUNDLES.into_iter().map(cover(&authority.bundle)));
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let network = OwnNetwork { tcp: vec![loopback(443), plain], udp: vec![loopback(53)] };
        let isolation = Isolation { network: Some(network), covers };
        Ok(Self { isolation, authority, certificate, known })
    }

    /// Makes the Pythons that import from these folders trust the authority.
    pub(crate) fn trust_in(&mut self, python: &[PathBuf]) {
        let lists = python.iter().flat_map(|folder| CERTIFI.map(|list| folder.join(list)));
        let lists = lists.map(|path| Cover { path, by: self.authority.bundle.clone() });
        self.isolation.covers.extend(lists);
    }

    /// Lets the chat server and a name server serve the gateway's network. Names that lead nowhere are added to
    /// `refused`.
    ///
    /// # Errors
    ///
    /// An error if no more threads can be started, or if the thread of the chat server has ended.
    pub(crate) fn serve(
        &self,
        sockets: NetworkSockets,
        chat: &ChatServer,
        refused: &Refused,
    ) -> Result<InsideServers, ProcessError> {
        let ways = [Serve::Tls(self.certificate.clone()), Serve::Plain];
        for (listener, serve) in sockets.tcp.into_iter().zip(ways) {
            chat.listen(listener, serve)?;
        }
        let door = sockets.door.map(Arc::new);
        if let Some(door) = &door {
            chat.post_through(door.clone());
        }
        let names = sockets.udp.into_iter().next().map(|socket| {
            let refused = refused.clone();
            NameServer::start(socket, self.known.clone(), move |name| refused.note(name))
        });
        Ok(InsideServers { door, _names: names.transpose()? })
    }
}

/// Writes a file of the network and returns its path.
fn written(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    files::replace(&path, text).map_err(io::Error::from)?;
    Ok(path)
}

/// Returns the machine's `nsswitch.conf`, changed so that hosts are looked up in `/etc/hosts` and by the name server
/// alone. Other sources ask a service of the machine, which uses the machine's network.
fn look_ups(machine: &str) -> String {
    let others = machine.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
    others.chain(["hosts: files dns"]).flat_map(|line| [line, "\n"]).collect()
}

/// The time between two looks at whether the server shall end.
const LOOK: Duration = Duration::from_millis(50);
/// The bytes that are read of a question; a question about one name is far shorter.
const LONGEST_LOOK_UP: usize = 4096;
/// The seconds for which a program may keep an answer.
const NAME_KEPT_S: u32 = 60;

/// A name server on a separate thread. Dropping it ends the thread.
#[derive(Debug)]
struct NameServer {
    is_over: Arc<AtomicBool>,
    /// Joins the thread when it is dropped, which is after `drop` has set `is_over`.
    _thread: HelperThread,
}

impl NameServer {
    /// Starts to answer the questions that come to a socket. Names in `known` lead to 127.0.0.1; `refused` is called
    /// with every other name.
    ///
    /// # Errors
    ///
    /// An error if no more threads can be started.
    fn start(
        socket: UdpSocket,
        known: Vec<String>,
        refused: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, ProcessError> {
        socket.set_read_timeout(Some(LOOK))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let thread = HelperThread::start("names", move || {
            let mut question = [0; LONGEST_LOOK_UP];
            while !ends.load(Ordering::Relaxed) {
                // Ends the round if the time is up, or if a program that had asked is gone.
                let Ok((length, from)) = socket.recv_from(&mut question) else { continue };
                if let Some(answer) = answer_look_up(&question[..length], &known, &refused) {
                    // A failure needs no handling: a program without an answer asks again.
                    let _ = socket.send_to(&answer, from);
                }
            }
        })?;
        Ok(Self { is_over, _thread: thread })
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Returns the answer to a question; `None` for bytes that contain no question.
fn answer_look_up(question: &[u8], known: &[String], refused: &impl Fn(&str)) -> Option<Vec<u8>> {
    let asked = Packet::parse(question).ok()?;
    let about = asked.questions.first()?.clone();
    let name = about.qname.to_string();
    let mut reply = Packet::new_reply(asked.id());
    let is_known = known.iter().any(|known| known.eq_ignore_ascii_case(&name));
    if is_known && about.qtype == QTYPE::TYPE(TYPE::A) {
        let address = RData::A(A::from(Ipv4Addr::LOCALHOST));
        reply.answers.push(ResourceRecord::new(
            about.qname.clone(),
            CLASS::IN,
            NAME_KEPT_S,
            address,
        ));
    }
    if !is_known {
        // Programs ask for both kinds of addresses of a name, so one of the two is reported.
        if about.qtype != QTYPE::TYPE(TYPE::AAAA) {
            refused(&name);
        }
        *reply.rcode_mut() = RCODE::NameError;
    }
    reply.questions.push(about);
    reply.build_bytes_vec().ok()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use simple_dns::{Name, QCLASS, Question};

    use super::*;

    #[test]
    fn hosts_are_looked_up_in_the_own_network() {
        for (machine, expect) in [
            ("", "hosts: files dns\n"),
            (
                "passwd: files sss\nhosts: files resolve [!UNAVAIL=return] dns\nrpc: db\n",
                "passwd: files sss\nrpc: db\nhosts: files dns\n",
            ),
        ] {
            assert_eq!(look_ups(machine), expect);
        }
    }

    #[test]
    fn known_names_lead_here_and_others_nowhere() {
        let known = ["api.telegram.org".to_owned(), "localhost".to_owned()];
        for (name, kind, addresses, code, expect) in [
            ("api.telegram.org", TYPE::A, 1, RCODE::NoError, None),
            ("API.Telegram.org", TYPE::A, 1, RCODE::NoError, None),
            ("api.telegram.org", TYPE::AAAA, 0, RCODE::NoError, None),
            ("localhost", TYPE::A, 1, RCODE::NoError, None),
            ("pypi.org", TYPE::A, 0, RCODE::NameError, Some("pypi.org")),
            ("pypi.org", TYPE::AAAA, 0, RCODE::NameError, None),
        ] {
            let mut packet = Packet::new_query(7);
            let (kind, class) = (QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN));
            packet.questions.push(Question::new(Name::new(name).unwrap(), kind, class, false));
            let refused = RefCell::new(None);
            let bytes = packet.build_bytes_vec().unwrap();
            let note = |name: &str| *refused.borrow_mut() = Some(name.to_owned());
            let bytes = answer_look_up(&bytes, &known, &note).unwrap();
            let reply = Packet::parse(&bytes).unwrap();
            assert_eq!((reply.id(), reply.rcode()), (7, code), "{name}");
            assert_eq!((reply.answers.len(), reply.questions.len()), (addresses, 1), "{name}");
            assert_eq!(refused.into_inner().as_deref(), expect, "{name}");
        }
        assert_eq!(answer_look_up(b"no question", &known, &|_| ()), None);
    }
}
