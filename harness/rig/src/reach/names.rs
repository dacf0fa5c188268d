//! The name server of a gateway's own network: the names of the Bot API and of this machine lead to loopback, and every
//! other name does not exist.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clitape_process::ProcessError;
use clitape_process::threads::HelperThread;
use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, QTYPE, RCODE, ResourceRecord, TYPE};

/// The time between two looks at whether the server shall end.
const LOOK: Duration = Duration::from_millis(50);
/// The bytes that are read of a question; a question about one name is far shorter.
const LONGEST: usize = 4096;
/// The seconds for which a program may keep an answer.
const KEPT_S: u32 = 60;

/// A name server on a separate thread. Dropping it ends the thread.
#[derive(Debug)]
pub(super) struct NameServer {
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
    pub(super) fn start(
        socket: UdpSocket,
        known: Vec<String>,
        refused: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, ProcessError> {
        socket.set_read_timeout(Some(LOOK))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let thread = HelperThread::start("names", move || {
            let mut question = [0; LONGEST];
            while !ends.load(Ordering::Relaxed) {
                // Ends the round if the time is up, or if a program that had asked is gone.
                let Ok((length, from)) = socket.recv_from(&mut question) else { continue };
                if let Some(answer) = answer(&question[..length], &known, &refused) {
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
fn answer(question: &[u8], known: &[String], refused: &impl Fn(&str)) -> Option<Vec<u8>> {
    let asked = Packet::parse(question).ok()?;
    let about = asked.questions.first()?.clone();
    let name = about.qname.to_string();
    let mut reply = Packet::new_reply(asked.id());
    let is_known = known.iter().any(|known| known.eq_ignore_ascii_case(&name));
    if is_known && about.qtype == QTYPE::TYPE(TYPE::A) {
        let address = RData::A(A::from(Ipv4Addr::LOCALHOST));
        reply.answers.push(ResourceRecord::new(about.qname.clone(), CLASS::IN, KEPT_S, address));
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
            let bytes = answer(&bytes, &known, &note).unwrap();
            let reply = Packet::parse(&bytes).unwrap();
            assert_eq!((reply.id(), reply.rcode()), (7, code), "{name}");
            assert_eq!((reply.answers.len(), reply.questions.len()), (addresses, 1), "{name}");
            assert_eq!(refused.into_inner().as_deref(), expect, "{name}");
        }
        assert_eq!(answer(b"no question", &known, &|_| ()), None);
    }
}
