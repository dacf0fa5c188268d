//! A capture of stdout becomes a cassette in memory: the canonical form of a canonical form is
//! itself, the parser reads the same kinds of events in both, and the timeline adds up.

use clitape_recording::cassette::{ImportError, Take, TickKind, import};
use clitape_stream::{Event, Parser};

/// The version of captures that do not say theirs.
const VERSION: &str = "2.1.329";

/// Imports the bytes, and what came of it again.
pub fn check(bytes: &[u8]) {
    let Some(take) = take(bytes) else { return };
    let sizes = take.timeline.iter().map(|tick| match tick.kind {
        TickKind::Out(n) => n,
        _ => panic!("an import has reads alone"),
    });
    assert_eq!(sizes.sum::<u64>(), take.stdout.len() as u64);
    assert!(is_name(&take.manifest.cli.version), "{}", take.manifest.cli.version);
    assert!(is_name(&take.manifest.scenario), "{}", take.manifest.scenario);

    let again = self::take(&take.stdout).expect("what was imported can be imported");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(shown(&again.stdout), shown(&take.stdout), "the canonical form is not canonical");
    // The parser reads lines that are no JSON by the letter, with bytes that are no UTF-8 or with
    // control characters in a string. In them an id that reads like a placeholder stays as it is, and
    // is then the same as the placeholder of another id.
    if is_json_by_the_letter(bytes) || !bytes.windows(7).any(|part| part == b"0000000") {
        assert_eq!(kinds(&take.stdout), kinds(bytes));
    }
}

/// The take of a capture; `None` when it is refused.
fn take(bytes: &[u8]) -> Option<Take> {
    let scenario = "fuzzed".parse().expect("it is a name");
    match import(&scenario, bytes, &[], None) {
        Ok(take) => Some(take),
        Err(ImportError::NoVersion) => {
            let version = VERSION.parse().expect("it is a version");
            import(&scenario, bytes, &[], Some(&version)).ok()
        }
        Err(_) => None,
    }
}

/// Whether a text is one name of a file: not empty, no separator, no step upwards, nothing hidden.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    !text.is_empty() && !text.starts_with(['.', '-']) && text.chars().all(is_plain)
}

/// Whether nothing in the bytes keeps a line from being JSON that only a lenient reader takes.
fn is_json_by_the_letter(bytes: &[u8]) -> bool {
    let is_control = |byte: &u8| *byte < b' ' && *byte != b'\n';
    std::str::from_utf8(bytes).is_ok() && !bytes.iter().any(is_control)
}

/// The kinds of the events in `bytes`, in order. How often an open field of a tool's input is
/// told depends on its length, which a shorter name may change; so these are left out.
fn kinds(bytes: &[u8]) -> Vec<String> {
    let mut kinds = Vec::new();
    let mut sink = |event: Event<'_>| {
        let event = serde_json::to_value(&event).expect("events serialise");
        let kind = event["kind"].as_str().expect("an event has a kind").to_owned();
        if kind != "tool_input" {
            kinds.push(kind);
        }
    };
    let mut parser = Parser::new();
    parser.feed_with(bytes, &mut sink);
    parser.finish_with(&mut sink);
    kinds
}
