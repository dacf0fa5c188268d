//! Bot API servers that answer without end, or what no server of Telegram's answers.

use std::io;
use std::net::SocketAddr;

use clitape_gateway::telegram::{BotApi as _, BotApiError, BotCall, BotMethod};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::client;

/// A server that answers `head`, and then `piece` again and again until nobody reads.
async fn server(head: String, piece: Vec<u8>) -> (SocketAddr, JoinHandle<usize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = socket.read(&mut request).await;
        let mut sent = 0;
        let _: io::Result<()> = answer(&mut socket, &head, &piece, &mut sent).await;
        sent
    });
    (address, task)
}

async fn answer(
    socket: &mut TcpStream,
    head: &str,
    piece: &[u8],
    sent: &mut usize,
) -> io::Result<()> {
    socket.write_all(head.as_bytes()).await?;
    loop {
        socket.write_all(piece).await?;
        *sent += piece.len();
        if piece.len() < 64 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

async fn call(address: SocketAddr) -> BotApiError {
    let call = BotCall {
        method: BotMethod::SendMessage,
        message_id: None,
        text: "x".to_owned(),
        file: None,
        reply_to: None,
        buttons: Vec::new(),
        question: None,
        is_final: true,
    };
    client(&format!("http://{address}")).call(call).await.unwrap_err()
}

#[tokio::test]
async fn an_answer_without_end_is_read_to_its_limit() {
    let words = |status: u16| {
        format!(
            "the answer (HTTP {status}) is longer than 1MiB, the most that `--api-max-answer` allows"
        )
    };
    for (status, expect) in [
        (200, BotApiError::Lost(words(200))),
        (400, BotApiError::Other(words(400))),
        (429, BotApiError::RetryAfter { seconds: 5 }),
        (502, BotApiError::Network(words(502))),
        (504, BotApiError::Lost(words(504))),
    ] {
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n\r\n");
        let (address, task) = server(head, vec![b' '; 64 << 10]).await;
        assert_eq!(call(address).await, expect, "{status}");
        // What fills the sockets in between is all that was sent beside it.
        let sent = task.await.unwrap();
        assert!(sent < 64 << 20, "{sent}");
    }
}

#[tokio::test]
async fn an_answer_that_trickles_is_given_up_in_time() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n".to_owned();
    let (address, _task) = server(head, vec![b' ']).await;
    let late = "none came in 0.4 s, the most that `--api-timeout` allows";
    assert_eq!(call(address).await, BotApiError::Lost(late.to_owned()));
}

#[tokio::test]
async fn a_refusal_with_status_200_keeps_its_description() {
    let body = r#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (address, _task) = server(head, Vec::new()).await;
    let expect = BotApiError::Other("Bad Request: chat not found".to_owned());
    assert_eq!(call(address).await, expect);
}

#[tokio::test]
async fn an_answer_that_repeats_the_token_is_masked() {
    for echo in
        ["123456%3AAbC-secret_token", "MTIzNDU2OkFiQy1zZWNyZXRfdG9rZW4=", "123456:AbC-secret_token"]
    {
        let body = format!(r#"{{"ok":false,"error_code":404,"description":"<{echo}>"}}"#);
        let head = format!("HTTP/1.1 404 X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let (address, _task) = server(head, Vec::new()).await;
        let BotApiError::Other(words) = call(address).await else { panic!("another error") };
        assert!(words.starts_with("<***"), "{words}");
    }
}
