//! The address of a Bot API server, checked before the token is added to it.
//!
//! A call goes to `ADDRESS/botTOKEN/METHOD`. With a query or a fragment in the address the token
//! would become a part of it: it would be logged, and the call would not be the one that was meant.

use std::net::IpAddr;

use reqwest::Url;

/// The address of Telegram's own Bot API server.
pub const TELEGRAM_SERVER: &str = "https://api.telegram.org";

/// Why an address can't be the one of a Bot API server. None of its sentences repeats a part of the
/// address that may contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no URL with a host.
    #[error(
        "the address of the Bot API server is no URL with a host; name one like {TELEGRAM_SERVER}"
    )]
    NoUrl,
    /// It is of another scheme than HTTP.
    #[error(
        "the address of the Bot API server is of `{0}`; it must begin with https://, or with \
         http:// if it is on this machine"
    )]
    Scheme(String),
    /// It has something that must not be there.
    #[error(
        "the address of the Bot API server {server} has {part}; take it away, a path is the most \
         it may have"
    )]
    Part {
        /// Scheme and host.
        server: String,
        /// What it has.
        part: &'static str,
    },
    /// The token would cross a network unencrypted.
    #[error("{0} is not this machine, and without TLS all can read the token; use https")]
    InTheClear(String),
}

/// The address without a slash at its end, and whether it is of this machine.
pub(super) fn server_address(address: &str) -> Result<(String, bool), AddressError> {
    let url = Url::parse(address).map_err(|_| AddressError::NoUrl)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme(url.scheme().to_owned()));
    }
    let host = url.host_str().ok_or(AddressError::NoUrl)?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let server = format!("{}://{host}{port}", url.scheme());
    let parts = [
        ("a user's name or password", !url.username().is_empty() || url.password().is_some()),
        ("a query (`?…`)", url.query().is_some()),
        ("a fragment (`#…`)", url.fragment().is_some()),
    ];
    if let Some((part, _)) = parts.into_iter().find(|(_, is_there)| *is_there) {
        return Err(AddressError::Part { server, part });
    }
    let bare = host.trim_matches(['[', ']']);
    let is_here = bare == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    if url.scheme() == "http" && !is_here {
        return Err(AddressError::InTheClear(server));
    }
    Ok((url.as_str().trim_end_matches('/').to_owned(), is_here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expect: Result<&str, &str>) {
        let got = server_address(address).map(|(server, _)| server);
        match (got, expect) {
            (Ok(got), Ok(expect)) => assert_eq!(got, expect, "{address}"),
            (Err(error), Err(part)) => {
                let words = error.to_string();
                assert!(words.contains(part), "{address}: {words}");
                assert!(!words.contains("secret"), "{address}: {words}");
            }
            (got, _) => panic!("{address}: {got:?}"),
        }
    }

    #[test]
    fn an_address_has_no_query_no_fragment_and_no_user() {
        check("https://api.telegram.org", Ok("https://api.telegram.org"));
        check("https://api.telegram.org/", Ok("https://api.telegram.org"));
        check("http://127.0.0.1:81/a/prefix/", Ok("http://127.0.0.1:81/a/prefix"));
        check("http://127.0.0.1:81/ok?secret=1", Err("http://127.0.0.1:81 has a query"));
        check("http://127.0.0.1:81/ok?", Err("a query"));
        check("http://127.0.0.1/#secret", Err("a fragment"));
        check("http://127.0.0.1/#", Err("a fragment"));
        check("https://u:secret@api.telegram.org/", Err("a user's name or password"));
        check("https://secret@api.telegram.org/", Err("a user's name or password"));
        check("ftp://localhost/secret", Err("of `ftp`"));
        check("file:///etc/secret", Err("of `file`"));
        check("unix:/secret", Err("of `unix`"));
        check("http://", Err("no URL with a host"));
        check("secret", Err("no URL with a host"));
        check("http://192.0.2.1/secret", Err("http://192.0.2.1 is not this machine"));
        check("http://2130706433/", Ok("http://127.0.0.1"));
    }
}
