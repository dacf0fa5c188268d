//! Ways in which a gateway reaches the chat server under the address that is written into it.
//!
//! Published gateways call `https://api.telegram.org` and have no setting for another address. Here is what makes the
//! chat server answer for that name.
//!
//! | module | what it has |
//! |---|---|
//! | `authority` | an authority for one run, and the certificate of the Bot API by it |
//! | `refused` | the hosts that a gateway asked for and did not get |

mod authority;
mod refused;

pub use crate::chat_server::BOT_API;
pub use authority::{Authority, AuthorityFiles};
pub use refused::Refused;
