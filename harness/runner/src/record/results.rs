//! Reads the parts of the CLI's stdout that the recorder needs: `result` records and the session's id.

use std::borrow::Cow;

use serde::Deserialize;

/// The fields of a record that the recorder reads.
#[derive(Deserialize)]
struct RecordFields<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
}

/// Returns whether a whole stdout has a `result` record, and the session's id, which is that of the first `init`
/// record, because a line before it may come from a tool server, which can write to the same pipe.
pub(crate) fn summary(stdout: &[u8]) -> (bool, Option<String>) {
    let plain = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let (mut is_answered, mut session) = (false, None);
    for line in stdout.split(|&byte| byte == b'\n') {
        let Ok(head) = serde_json::from_slice::<RecordFields<'_>>(line) else { continue };
        is_answered |= head.kind == "result";
        if session.is_none() && head.kind == "system" && head.subtype.as_deref() == Some("init") {
            session = head.session_id.filter(|id| plain(id)).map(Cow::into_owned);
        }
    }
    (is_answered, session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stdout_is_summed_up() {
        let result = "{\"type\":\"result\",\"session_id\":\"b\"}\n".to_owned();
        let system = |subtype, id| {
            format!("{{\"type\":\"system\",\"subtype\":\"{subtype}\",\"session_id\":\"{id}\"}}\n")
        };
        for (stdout, expect) in [
            (String::new(), (false, None)),
            (system("init", "a-1"), (false, Some("a-1"))),
            (system("x", "transcript") + &system("init", "a-1") + &result, (true, Some("a-1"))),
            (system("init", "../x") + &system("init", "b"), (false, Some("b"))),
            (result, (true, None)),
        ] {
            let expect = (expect.0, expect.1.map(str::to_owned));
            assert_eq!(summary(stdout.as_bytes()), expect, "{stdout}");
        }
    }
}
