//! The event bus of a gateway: the file `{bus}`, to which the gateway or a hook in it appends JSON lines.
//!
//! ```json
//! {"chat":7000002,"kind":"tool","phase":"start","id":"toolu_01","name":"Read","args":{"file_path":"a.txt"}}
//! {"chat":7000002,"kind":"tool","phase":"result","id":"toolu_01","name":"Read"}
//! ```
//!
//! `chat` is the number of the chat, as a number or a string. Lines of other kinds show that the bus is connected.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use crate::observation::BusEvent;

/// The most bytes of the file that are read; what follows is left out.
const MOST: u64 = 64 * 1024 * 1024;
/// The longest argument that is kept of a call.
const LONGEST_ARGUMENTS: usize = 64 * 1024;

/// Reads the events of all chats. A file that is not there has none; a line that is no object with a chat is left out.
pub(crate) fn read(path: &Path) -> io::Result<HashMap<i64, Vec<BusEvent>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    let mut chats: HashMap<i64, Vec<BusEvent>> = HashMap::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        if let Some((chat, event)) = serde_json::from_slice(line).ok().and_then(|line| event(&line))
        {
            chats.entry(chat).or_default().push(event);
        }
    }
    Ok(chats)
}

/// The chat and the event of a line.
fn event(line: &Map<String, Value>) -> Option<(i64, BusEvent)> {
    let chat = line.get("chat")?;
    let chat = chat.as_i64().or_else(|| chat.as_str()?.parse().ok())?;
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    let args = line.get("args").cloned();
    let event = BusEvent {
        kind: text("kind")?,
        phase: text("phase"),
        id: text("id"),
        name: text("name"),
        args: args.filter(|args| args.to_string().len() <= LONGEST_ARGUMENTS),
    };
    Some((chat, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_events_of_each_chat_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bus");
        assert!(read(&path).unwrap().is_empty());
        let lines = "{\"chat\":7,\"kind\":\"tool\",\"phase\":\"start\",\"id\":\"t\",\"name\":\"Read\",\"args\":{}}\n\
                     no json\n{\"kind\":\"tool\"}\n[]\n{\"chat\":\"-8\",\"kind\":\"text\"}\n{\"chat\":7,\"ki";
        std::fs::write(&path, lines).unwrap();
        let chats = read(&path).unwrap();
        assert_eq!((chats.len(), chats[&7].len(), chats[&-8].len()), (2, 1, 1));
        let event = &chats[&7][0];
        assert_eq!((event.kind.as_str(), event.phase.as_deref()), ("tool", Some("start")));
        assert_eq!(event.args, Some(serde_json::json!({})));
        assert_eq!(chats[&-8][0].name, None);
    }
}
