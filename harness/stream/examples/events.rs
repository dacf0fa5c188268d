//! Reads the output of `claude -p --output-format stream-json` on stdin and prints its lifecycle
//! events, one JSON object a line; then, on stderr, what was read.

use std::io::{self, Read, Write};

use clitape_stream::{OwnedEvent, Parser};

fn main() -> io::Result<()> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let mut parser = Parser::new();
    let mut bytes = vec![0; 65_536];
    loop {
        let read = stdin.read(&mut bytes)?;
        if read == 0 {
            break;
        }
        print(parser.feed(&bytes[..read]), &mut stdout)?;
    }
    let mut end = parser.finish();
    print(&mut end, &mut stdout)?;
    eprintln!("{:#?}", end.stats());
    Ok(())
}

fn print(events: impl Iterator<Item = OwnedEvent>, to: &mut impl Write) -> io::Result<()> {
    for event in events {
        serde_json::to_writer(&mut *to, &event)?;
        to.write_all(b"\n")?;
    }
    Ok(())
}
