//! The base of every HTTP client of this crate, and what a failed request says of its cause.

use std::error::Error as _;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// Returns the builder of a client that follows no redirect, because a redirect would carry the
/// token to a server that nobody named.
pub(crate) fn builder() -> ClientBuilder {
    // The error only says that the process has chosen its cryptography already; that choice counts.
    let _ = rustls::crypto::ring::default_provider().install_default();
    ClientBuilder::new().redirect(Policy::none())
}

/// Returns the innermost cause of `error`, as the system words it. The outer causes repeat the
/// address, which may contain a token.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = "the request failed".to_owned();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_cause_is_what_is_said() {
        let client = builder().build().expect("there is a client");
        for (url, expect) in
            [("http://", "empty host"), ("api/bot1:AbC", "relative URL without a base")]
        {
            let error = client.get(url).build().expect_err("it is no URL");
            assert_eq!(root_cause(&error), expect, "{url}");
        }
    }
}
