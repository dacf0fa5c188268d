//! The client without a connection: its settings, the address of its server, and its reading of answers.

use super::*;
use crate::limits::BOT_API_ANSWER;

fn settings(server: &str, token: &str) -> HttpSettings {
    HttpSettings {
        server: server.to_owned(),
        token: BotToken::new(token),
        chat: "42".to_owned(),
        topic: None,
        timeout: Duration::from_secs(5),
        max_answer: BOT_API_ANSWER,
    }
}

#[test]
fn v6_a_client_needs_an_address_and_a_token() {
    use super::AddressError as A;
    use HttpSetupError as E;
    let cases = [
        ("https://api.telegram.org", "1:A", None),
        ("http://127.0.0.1:80/", "1:A-_b", None),
        ("http://[::1]:80", "1:A", None),
        ("http://localhost", "1:A", None),
        ("http://10.0.0.1", "1:A", Some(E::Address(A::InTheClear("http://10.0.0.1".into())))),
        ("ftp://localhost", "1:A", Some(E::Address(A::Scheme("ftp".into())))),
        ("api", "1:A", Some(E::Address(A::NoUrl))),
        ("http://localhost", "1A", Some(E::Token)),
        ("http://localhost", "1:A/../b", Some(E::Token)),
    ];
    for (server, token, expect) in cases {
        assert_eq!(HttpApi::new(settings(server, token)).err(), expect, "{server} {token}");
    }
}

#[test]
fn certificates_are_checked_from_1970_on() {
    for (time, expect) in [(UNIX_EPOCH - Duration::from_secs(1), false), (UNIX_EPOCH, true)] {
        assert_eq!(has_tls_at(time), expect, "{time:?}");
    }
}

#[test]
fn q2_buttons_are_an_inline_keyboard() {
    let api = HttpApi::new(settings("http://localhost", "1:AbC")).expect("there is a client");
    let button = |text: &str, data: &str| Button { text: text.to_owned(), data: data.to_owned() };
    let mut call = BotCall {
        method: BotMethod::SendMessage,
        message_id: None,
        text: "May it?".to_owned(),
        file: None,
        reply_to: None,
        buttons: vec![vec![button("Allow", "q:1:a"), button("Deny", "q:1:d")]],
        question: Some("1".to_owned()),
        is_final: false,
    };
    let keyboard = r#""reply_markup":{"inline_keyboard":[[{"text":"Allow","callback_data":"q:1:a"},{"text":"Deny","callback_data":"q:1:d"}]]}}"#;
    let text = r#""text":"May it?","parse_mode":"HTML""#;
    let (_, body) = api.body(&call).expect("it is JSON");
    assert_eq!(body, format!(r#"{{"chat_id":42,{text},{keyboard}"#));
    (call.method, call.message_id) = (BotMethod::EditMessageText, Some(7));
    let (_, body) = api.body(&call).expect("it is JSON");
    assert_eq!(body, format!(r#"{{"chat_id":42,"message_id":7,{text},{keyboard}"#));
    call.buttons.clear();
    let (_, body) = api.body(&call).expect("it is JSON");
    assert_eq!(body, format!(r#"{{"chat_id":42,"message_id":7,{text}}}"#));
}

#[test]
fn v12_a_new_message_names_its_topic_and_the_message_it_answers() {
    let check = |topic: Option<i64>, message_id: Option<i64>, reply_to, expect: &str| {
        let with_topic = HttpSettings { topic, ..settings("http://localhost", "1:AbC") };
        let api = HttpApi::new(with_topic).expect("there is a client");
        let mut call = BotCall {
            method: crate::telegram::draft::method(message_id),
            message_id,
            text: "a".to_owned(),
            file: None,
            reply_to,
            buttons: Vec::new(),
            question: None,
            is_final: false,
        };
        let (_, body) = api.body(&call).expect("it is JSON");
        assert_eq!(body, format!(r#"{{"chat_id":42,{expect}"text":"a","parse_mode":"HTML"}}"#));
        if message_id.is_none() {
            (call.method, call.file) = (BotMethod::SendDocument, Some("f".to_owned()));
            let (_, form) = api.body(&call).expect("it is a form");
            let names =
                [("message_thread_id", topic.filter(|it| *it > 1)), ("reply_parameters", reply_to)];
            for (name, value) in names {
                let part = format!("name=\"{name}\"\r\n\r\n");
                let given = form.split_once(&part).and_then(|(_, rest)| rest.split_once("\r\n"));
                let value = value.map(|value| value.to_string());
                assert_eq!(given.is_some(), value.is_some(), "{form}");
                assert!(given.is_none_or(|(given, _)| given.contains(&value.unwrap_or_default())));
            }
        }
    };
    let reply = r#""reply_parameters":{"message_id":9,"allow_sending_without_reply":true},"#;
    check(None, None, None, "");
    check(Some(55), None, None, r#""message_thread_id":55,"#);
    check(Some(55), None, Some(9), &format!(r#""message_thread_id":55,{reply}"#));
    // Telegram refuses a message that names General.
    check(Some(1), None, Some(9), reply);
    check(Some(55), Some(7), Some(9), r#""message_id":7,"#);
}

#[test]
fn q2_a_file_is_a_part_of_a_form() {
    let api = HttpApi::new(settings("http://localhost", "1:AbC")).expect("there is a client");
    let check = |file: &str, boundary: &str| {
        let call = BotCall {
            method: BotMethod::SendDocument,
            message_id: None,
            text: "<b>ä</b>".to_owned(),
            file: Some(file.to_owned()),
            reply_to: None,
            buttons: Vec::new(),
            question: Some("1".to_owned()),
            is_final: false,
        };
        let (kind, body) = api.body(&call).expect("it is a form");
        assert_eq!(kind, format!("multipart/form-data; boundary={boundary}"));
        let part = |head: &str, text: &str| {
            format!("--{boundary}\r\nContent-Disposition: form-data; name={head}\r\n\r\n{text}\r\n")
        };
        let head =
            "\"document\"; filename=\"question.txt\"\r\nContent-Type: text/plain; charset=utf-8";
        let expect = [
            part("\"chat_id\"", "42"),
            part("\"caption\"", "<b>ä</b>"),
            part("\"parse_mode\"", "HTML"),
            part(head, file),
        ];
        assert_eq!(body, format!("{}--{boundary}--\r\n", expect.concat()));
    };
    check("rm -rf x\r\n", "clitape-0");
    // No text ends a part before its time.
    check("--clitape-0--\r\nclitape-1", "clitape-2");
}

#[test]
fn v6_what_an_answer_says() {
    let api = HttpApi::new(settings("http://localhost", "1:AbC")).expect("there is a client");
    let other = |words: &str| BotApiError::Other(words.to_owned());
    let cases = [
        (
            429,
            r#"{"error_code":429,"parameters":{"retry_after":7}}"#,
            BotApiError::RetryAfter { seconds: 7 },
        ),
        (
            429,
            r#"{"error_code":429,"parameters":{"retry_after":99999}}"#,
            BotApiError::RetryAfter { seconds: 99_999 },
        ),
        (429, "<html>", BotApiError::RetryAfter { seconds: 5 }),
        (
            400,
            r#"{"error_code":400,"description":"Bad Request: message is not modified: specified"}"#,
            BotApiError::NotModified,
        ),
        (
            400,
            r#"{"error_code":400,"description":"Bad Request: chat not found"}"#,
            other("Bad Request: chat not found"),
        ),
        (
            400,
            r#"{"error_code":400,"description":"Bad Request: can't parse entities: x"}"#,
            BotApiError::Markup("Bad Request: can't parse entities: x".to_owned()),
        ),
        (404, r#"{"error_code":404,"description":"no bot1:AbC here"}"#, other("no bot*** here")),
        (403, "", other("HTTP 403")),
        (302, "", other("HTTP 302")),
        (502, "<html><h1>Bad Gateway</h1>", BotApiError::Network("HTTP 502".to_owned())),
        (
            500,
            r#"{"error_code":500,"description":"Internal Server Error"}"#,
            BotApiError::Network("Internal Server Error".to_owned()),
        ),
        (504, "", BotApiError::Lost("HTTP 504".to_owned())),
        (
            429,
            r#"{"parameters":{"retry_after":18446744073709551615}}"#,
            BotApiError::RetryAfter { seconds: u64::MAX },
        ),
        (
            429,
            r#"{"parameters":{"retry_after":1e300}}"#,
            BotApiError::RetryAfter { seconds: u64::MAX },
        ),
        (429, r#"{"parameters":{"retry_after":-1}}"#, BotApiError::RetryAfter { seconds: 5 }),
        (200, r#"{"ok":false,"description":"chat not found"}"#, other("chat not found")),
        (
            200,
            r#"{"ok":false,"error_code":429,"parameters":{"retry_after":7}}"#,
            BotApiError::RetryAfter { seconds: 7 },
        ),
    ];
    for (status, body, expect) in cases {
        let status = StatusCode::from_u16(status).expect("a status");
        assert_eq!(api.refusal(status, body), expect, "{status} {body}");
    }
}

/// A body that breaks off.
struct BrokenBody;

impl hyper::body::Body for BrokenBody {
    type Data = hyper::body::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(Some(Err(std::io::Error::other("no more of bot1:AbC"))))
    }
}

#[tokio::test]
async fn v6_of_an_answer_that_breaks_off_the_status_says_what_became_of_the_call() {
    let api = HttpApi::new(settings("http://localhost", "1:AbC")).expect("there is a client");
    for (status, expect) in [
        (200, BotApiError::Lost("no more of bot***".to_owned())),
        (400, BotApiError::Other("HTTP 400".to_owned())),
        (429, BotApiError::RetryAfter { seconds: 5 }),
        (502, BotApiError::Network("HTTP 502".to_owned())),
    ] {
        let response = hyper::Response::builder().status(status);
        let response = response.body(reqwest::Body::wrap(BrokenBody)).expect("a status");
        assert_eq!(api.answered(response.into()).await, Err(expect), "{status}");
    }
}

#[track_caller]
fn check_address(address: &str, expect: Result<&str, &str>) {
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
    check_address("https://api.telegram.org", Ok("https://api.telegram.org"));
    check_address("https://api.telegram.org/", Ok("https://api.telegram.org"));
    check_address("http://127.0.0.1:81/a/prefix/", Ok("http://127.0.0.1:81/a/prefix"));
    check_address("http://127.0.0.1:81/ok?secret=1", Err("http://127.0.0.1:81 has a query"));
    check_address("http://127.0.0.1:81/ok?", Err("a query"));
    check_address("http://127.0.0.1/#secret", Err("a fragment"));
    check_address("http://127.0.0.1/#", Err("a fragment"));
    check_address("https://u:secret@api.telegram.org/", Err("a user's name or password"));
    check_address("https://secret@api.telegram.org/", Err("a user's name or password"));
    check_address("ftp://localhost/secret", Err("of `ftp`"));
    check_address("file:///etc/secret", Err("of `file`"));
    check_address("unix:/secret", Err("of `unix`"));
    check_address("http://", Err("no URL with a host"));
    check_address("secret", Err("no URL with a host"));
    check_address("http://192.0.2.1/secret", Err("http://192.0.2.1 is not this machine"));
    check_address("http://2130706433/", Ok("http://127.0.0.1"));
}
