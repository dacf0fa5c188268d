//! Tests of the addresses and tokens that commands take: bad ones are refused, and tokens are not printed.

#![cfg(unix)]
#![allow(clippy::expect_used, reason = "a test that can't be set up fails")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::common::{clitape, root};

/// Runs the command with a variable, and returns its exit code and all of its output.
fn run(args: &[&str], variable: (&str, &OsStr)) -> (i32, String) {
    let mut command = clitape();
    command.current_dir(root()).args(args).env(variable.0, variable.1);
    let output = command.output().expect("the command runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_token_that_is_no_text_is_printed_nowhere() {
    let token = OsStr::from_bytes(b"\xffhidden:1\xfe");
    let telegram = ["--telegram-api", "http://127.0.0.1:9", "--chat", "1"];
    let replay = [&["replay", "cassettes/plain-text/2.1.329"][..], &telegram].concat();
    for (args, name) in [
        (replay, "TELEGRAM_BOT_TOKEN"),
        (vec!["collect", "http://127.0.0.1:9/", "--token-env", "MY_TOKEN"], "MY_TOKEN"),
    ] {
        let (code, said) = run(&args, (name, token));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(&format!("in {name} is not UTF-8")), "{said}");
        for part in ["hidden", "xFF", "xff", "%FF", "\u{fffd}"] {
            assert!(!said.contains(part), "{said}");
        }
    }
}

#[test]
fn an_address_with_a_query_or_a_fragment_is_refused() {
    for (address, part) in [
        ("http://127.0.0.1:9/ok?x=1", "http://127.0.0.1:9 has a query"),
        ("http://127.0.0.1:9/#f", "http://127.0.0.1:9 has a fragment"),
        ("http://me:hidden@127.0.0.1:9/", "a user's name or password"),
        ("ftp://127.0.0.1/", "is of `ftp`"),
    ] {
        let cassette = "cassettes/plain-text/2.1.329";
        let args = ["replay", cassette, "--telegram-api", address, "--chat", "1"];
        let token = ("TELEGRAM_BOT_TOKEN", OsStr::new("1:secret"));
        let (code, said) = run(&args, token);
        assert!(code == 2 && said.contains(part), "{address}: {code} {said}");
        assert!(!said.contains("hidden") && !said.contains("secret"), "{said}");
    }
}
