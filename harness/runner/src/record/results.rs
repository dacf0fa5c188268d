//! Reads the parts of the CLI's stdout that the recorder needs: `result` records and the session's id.

use std::borrow::Cow;

use serde::Deserialize;

/// The fields of a record that the recorder reads.
#[derive(Deserialize)]
struct ResultHead<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
}

fn is_result(line: &[u8]) -> bool {
    serde_json::from_slice::<ResultHead<'_>>(line).is_ok_and(|head| head.kind == "result")
}

/// Returns whether a whole stdout has a `result` record, and the id of its session.
pub(crate) fn summary(stdout: &[u8]) -> (bool, Option<String>) {
    let mut lines = stdout.split(|&byte| byte == b'\n');
    let plain = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let session = lines.clone().find_map(|line| {
        let head: ResultHead<'_> = serde_json::from_slice(line).ok()?;
        head.session_id.filter(|id| plain(id)).map(Cow::into_owned)
    });
    (lines.any(is_result), session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stdout_is_summed_up() {
        let line = |kind, id| format!("{{\"type\":\"{kind}\",\"session_id\":\"{id}\"}}\n");
        for (stdout, expect) in [
            (String::new(), (false, None)),
            (line("system", "a-1"), (false, Some("a-1".to_owned()))),
            (line("system", "../x") + &line("result", "b"), (true, Some("b".to_owned()))),
            ("{\"type\":\"result\"}".to_owned(), (true, None)),
        ] {
            assert_eq!(summary(stdout.as_bytes()), expect, "{stdout}");
        }
    }
}
