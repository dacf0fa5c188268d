//! The way of a gateway to the chat server at one start: its servers, and the variables and files that a program needs
//! for it.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clitape_process::threads::ThreadDied;
use clitape_process::{Cover, Isolation, NetworkDoor, NetworkSockets, OwnNetwork, ProcessError};

use super::packages::Packages;
use super::spec::{ChatReach, Front, GatewaySpec};
use crate::chat_server::ChatServer;
use crate::limits::ChatServerLimits;
use crate::reach::{InsideServers, NetworkSandbox, ProxyWay, Refused};

/// Returns the ways to try, the best one first. A gateway that gets `{bot_api}` (`has_address`) needs only that; others
/// get a network of their own, or a proxy on systems without such networks.
pub(super) fn ways(spec: &GatewaySpec, has_address: bool) -> &'static [ChatReach] {
    match (spec.reach, spec.front) {
        (_, Front::Editor) | (Some(ChatReach::Address), _) => &[ChatReach::Address],
        (Some(ChatReach::Sandbox), _) => &[ChatReach::Sandbox],
        (Some(ChatReach::Proxy), _) => &[ChatReach::Proxy],
        (None, Front::Chat) if has_address => &[ChatReach::Address],
        (None, Front::Chat) => &[ChatReach::Sandbox, ChatReach::Proxy],
    }
}

/// A way to the chat server, before the gateway starts.
pub(super) enum Way {
    Sandbox(NetworkSandbox),
    Proxy(ProxyWay),
    Address,
}

/// The servers that live as long as the gateway runs.
#[derive(Debug)]
pub(super) enum Serving {
    Inside(InsideServers),
    Proxy(ProxyWay),
    Nothing,
}

impl Way {
    /// Makes a way, with its files in `folder`. Hosts that the gateway asks for in vain are added to `refused`.
    pub(super) fn new(
        reach: ChatReach,
        folder: &Path,
        chat: Option<&ChatServer>,
        refused: &Refused,
        limits: ChatServerLimits,
    ) -> Result<Self, ProcessError> {
        Ok(match (reach, chat) {
            (ChatReach::Sandbox, Some(chat)) => {
                Self::Sandbox(NetworkSandbox::new(folder, chat.address())?)
            }
            (ChatReach::Proxy, Some(chat)) => {
                Self::Proxy(ProxyWay::start(folder, chat, refused, limits)?)
            }
            _ => Self::Address,
        })
    }

    /// Returns the variables that lead the gateway to the chat server and make it trust the authority of the run.
    /// `environment` is its environment without them.
    pub(super) fn variables(
        &self,
        environment: &[(OsString, OsString)],
    ) -> Vec<(OsString, OsString)> {
        match self {
            Self::Sandbox(sandbox) => sandbox.authority.variables(),
            Self::Proxy(proxy) => proxy.variables(environment),
            Self::Address => Vec::new(),
        }
    }

    /// Returns the namespaces, with an empty network, for a program of the gateway that runs before the gateway starts.
    pub(super) fn quiet(&self) -> Option<Isolation> {
        let network = Some(OwnNetwork::default());
        matches!(self, Self::Sandbox(_)).then(|| Isolation { network, covers: Vec::new() })
    }

    /// Returns the namespaces of the gateway, in which `covers` replace the CLIs that its SDK brings.
    pub(super) fn isolation(
        &mut self,
        packages: &Packages,
        covers: Vec<Cover>,
    ) -> Option<Isolation> {
        let mut isolation = match self {
            Self::Sandbox(sandbox) => {
                sandbox.trust_in(&packages.python);
                sandbox.isolation.clone()
            }
            _ if covers.is_empty() => return None,
            _ => Isolation::default(),
        };
        isolation.covers.extend(covers);
        Some(isolation)
    }

    /// Serves the gateway, which has just started with these sockets.
    pub(super) fn serve(
        self,
        sockets: NetworkSockets,
        chat: Option<&ChatServer>,
        refused: &Refused,
    ) -> Result<Serving, ProcessError> {
        Ok(match (self, chat) {
            (Self::Sandbox(sandbox), Some(chat)) => {
                Serving::Inside(sandbox.serve(sockets, chat, refused)?)
            }
            (Self::Proxy(proxy), _) => Serving::Proxy(proxy),
            _ => Serving::Nothing,
        })
    }
}

impl Serving {
    /// Checks that clitape's own thread is still running.
    pub(super) fn check(&self) -> Result<(), ThreadDied> {
        match self {
            Self::Proxy(proxy) => proxy.check(),
            Self::Inside(_) | Self::Nothing => Ok(()),
        }
    }

    /// Returns the way to the ports of a gateway in a network of its own.
    pub(super) fn door(&self) -> Option<Arc<NetworkDoor>> {
        match self {
            Self::Inside(inside) => inside.door.clone(),
            Self::Proxy(_) | Self::Nothing => None,
        }
    }
}
