//! The ways in which a gateway reaches the chat server under the address that is written into its code.
//!
//! Published gateways call `https://api.telegram.org` and have no setting for another address. The modules here make
//! the chat server answer under that name.
//!
//! | module | what it has |
//! |---|---|
//! | `authority` | an authority for one run, and the certificate of the Bot API by it |
//! | `proxy` | a proxy that leads to the chat server, and the variables and shims with which a gateway uses it |
//! | `refused` | the hosts that a gateway asked for and did not get |
//! | `sandbox` | a network of its own, in which the chat server is the only other host, with its name server |

mod authority;
mod proxy;
mod refused;
mod sandbox;

pub use crate::chat_server::BOT_API;
pub use authority::{Authority, AuthorityFiles};
pub use proxy::{Proxy, ProxyWay};
pub use refused::Refused;
pub(crate) use refused::refused_host;
pub(crate) use sandbox::{InsideServers, NetworkSandbox};
