//! Prints a long transcript of a session.

use std::io::{self, Write};

use serde_json::json;

/// Prints a transcript of about this many bytes: a prompt, a call, its result and an answer, again and again.
pub(crate) fn print_transcript(bytes: usize, out: &mut dyn Write) -> io::Result<()> {
    let (mut printed, mut lines) = (0, 0);
    while printed < bytes {
        let turn = lines / 4;
        let call = format!("toolu_{turn}");
        let said = |block| json!({ "id": format!("msg_{lines}"), "role": "assistant", "content": [block] });
        let (kind, message) = match lines % 4 {
            0 => ("user", json!({ "role": "user", "content": format!("What is in file {turn}?") })),
            1 => {
                let input = json!({ "command": format!("cat {turn}.txt") });
                let block =
                    json!({ "type": "tool_use", "id": call, "name": "Bash", "input": input });
                ("assistant", said(block))
            }
            2 => {
                let result = json!({ "type": "tool_result", "tool_use_id": call, "content": "words ".repeat(50) });
                ("user", json!({ "role": "user", "content": [result] }))
            }
            _ => (
                "assistant",
                said(
                    json!({ "type": "text", "text": format!("These are the words of file {turn}.") }),
                ),
            ),
        };
        let parent = (lines > 0).then(|| format!("line-{}", lines - 1));
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "type": kind, "message": message,
            "uuid": format!("line-{lines}"), "sessionId": "00000000-0000-4000-8000-000000000001",
        });
        let line = format!("{line}\n");
        out.write_all(line.as_bytes())?;
        printed += line.len();
        lines += 1;
    }
    Ok(())
}
