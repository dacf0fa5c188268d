//! The way to the chat server through a proxy, for systems that can't give a program a network of its own.
//!
//! The gateway gets variables for the proxy, for the authority of the run, and for shims that are loaded into Python
//! and Node, because some of their libraries read neither proxy nor authority from the environment. A program that
//! ignores all of these variables reaches the real network; only a network of its own prevents that.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use clitape_process::ProcessError;
use clitape_process::threads::ThreadDied;
use fs_err as fs;
use serde_json::json;

use super::authority::{Authority, AuthorityFiles};
use super::proxy::Proxy;
use super::refused::Refused;
use crate::chat_server::{BOT_API, ChatServer, Serve};
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
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
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
