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

/// Counts the `result` records of a stdout that is read in pieces.
#[derive(Debug, Default)]
pub(crate) struct Results {
    line: Vec<u8>,
    seen: u64,
}

impl Results {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.ends_with(b"\n") {
                self.seen += u64::from(is_result(&self.line));
                self.line.clear();
            }
        }
    }

    /// Returns the number of records so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }
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
    fn results_are_counted_wherever_the_reads_end() {
        let stdout = b"{\"is_error\":false,\"type\":\"result\",\"x\":\"\\ud83d\"}\n\
                       {\"type\":\"user\",\"m\":{\"type\":\"result\"}}\nnoise \"result\"\n\
                       {\"type\":\"result\"}\n";
        for size in [1, 7, 64, stdout.len()] {
            let mut results = Results::default();
            stdout.chunks(size).for_each(|piece| results.feed(piece));
            assert_eq!(results.seen(), 2, "{size}");
        }
    }

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
