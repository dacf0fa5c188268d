//! The guard in front of all paths: it refuses requests that a web page of another site makes a browser send.
//!
//! A browser on this machine reaches the server, and may show a page of any site. The browser's own headers give such a
//! request away: `Origin`, or `Sec-Fetch-Site` if it sends no `Origin`. A site whose name leads to 127.0.0.1 (DNS
//! rebinding) gives itself away by its name in `Host`. The guard covers every path, so that a new one needs no check.
//!
//! The name of the Bot API is accepted on connections with TLS only, whose certificate no browser trusts.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::answer::ApiError;
use super::call::Reply;
use super::connections::Connection;
use super::response::answered;
use super::settings::BOT_API;
use super::shared::Shared;
use super::words::{WORD, cut};

/// Answers a request that may come from another site's page with 403, and passes on all others.
pub(super) async fn guard(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>();
    let is_tls = connection.is_some_and(|connection| connection.is_tls());
    let Err(words) = check(request.uri(), request.headers(), is_tls) else {
        return next.run(request).await;
    };
    shared.change(|state| state.note_refusal(&words));
    answered(Reply::of(&Err(ApiError::new(403, format!("Forbidden: {words}")))))
}

/// Checks the target and the origin of a request; the error says what to do.
fn check(uri: &Uri, headers: &HeaderMap, is_tls: bool) -> Result<(), String> {
    let texts = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    let hosts: Vec<&str> =
        texts(header::HOST).chain(uri.authority().map(Authority::as_str)).collect();
    if hosts.is_empty() {
        return Err("the request names no host; send the header `Host: 127.0.0.1`".to_owned());
    }
    if let Some(foreign) = hosts.iter().find(|host| !(is_local(host) || is_tls && is_bot_api(host)))
    {
        return Err(format!(
            "the request is for the host `{}`, and the chat server serves this machine alone; use \
             http://127.0.0.1 with its port",
            cut(foreign, WORD)
        ));
    }
    let is_own = |origin: &str| {
        let host = origin.strip_prefix("http://");
        host.is_some_and(|host| hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
    };
    if let Some(foreign) = texts(header::ORIGIN).find(|origin| !is_own(origin)) {
        return Err(format!(
            "the request comes from a web page of `{}`; call the chat server from a program, which sends no `Origin`",
            cut(foreign, WORD)
        ));
    }
    // Browsers send this header with every request to this machine, even with those without an `Origin`, such as links
    // and images. Other programs do not send it.
    let sites = &mut headers.get_all("sec-fetch-site").iter();
    if sites.any(|site| site != "same-origin" && site != "none") {
        return Err("the request comes from another web page; call the chat server from a program, or type its \
                    address in the browser"
            .to_owned());
    }
    Ok(())
}

/// Returns whether a host, with or without a port, is this machine.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let has_user = authority.as_str().contains('@');
    !has_user
        && (name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback()))
}

/// Returns whether a host, with or without a port, is that of the Bot API.
fn is_bot_api(host: &str) -> bool {
    let name = host.strip_suffix(":443").unwrap_or(host);
    name.eq_ignore_ascii_case(BOT_API)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_this_machine_or_foreign() {
        let check = |host: &str, expect: bool| assert_eq!(is_local(host), expect, "{host}");
        for host in [
            "127.0.0.1",
            "127.0.0.1:8081",
            "localhost:1",
            "LocalHost",
            "[::1]:80",
            "[::1]",
            "127.9.9.9:1",
        ] {
            check(host, true);
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8081",
            "127.0.0.1.evil.example:80",
            "127.0.0.1@evil.example",
            "evil@127.0.0.1",
            "localhost.evil.example",
            "0.0.0.0:80",
            "10.0.0.1",
            "[::2]:80",
            "[::ffff:10.0.0.1]",
            "a b",
        ] {
            check(host, false);
        }
    }

    #[test]
    fn the_host_of_the_bot_api_has_one_name() {
        for (host, expect) in [
            ("api.telegram.org", true),
            ("API.Telegram.org:443", true),
            ("api.telegram.org:80", false),
            ("api.telegram.org.evil.example", false),
            ("user@api.telegram.org", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(is_bot_api(host), expect, "{host}");
        }
    }
}
