//! Scans the bytes of a file, or of a recording in memory, and reports where a secret is.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;

use clitape_gateway::sanitise::{SECRET_NAME, find, is_secret_value, mask};

use super::decoded::Decoded;
use super::fake::is_fake;
use super::segments::{Segment, SegmentKind, segments};
use crate::cassette::Take;

/// A secret in a file. The secret itself is not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The file, as it is shown.
    pub file: String,
    /// The line, from 1; of a value that is split over several, the first.
    pub line: usize,
    /// The id of the rule that found it.
    pub rule: &'static str,
    /// The masked form of the secret: `***`, or its first six and last four characters.
    pub excerpt: String,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}: {}", self.file, self.line, self.rule, self.excerpt)
    }
}

/// How many hits each rule has.
pub fn by_rule<'h>(hits: impl IntoIterator<Item = &'h Hit>) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for hit in hits {
        *counts.entry(hit.rule).or_default() += 1;
    }
    counts
}

/// Texts in which no secret was found, so that a text that comes again need not be searched again. Recordings say most of
/// what they say many times.
#[derive(Debug, Default)]
pub(super) struct CleanTexts(HashSet<Vec<u8>>);

/// The most texts that are known as clean, and the most bytes of one.
const MOST_CLEAN: usize = 1 << 16;
const LONGEST_CLEAN: usize = 1 << 12;

impl CleanTexts {
    fn contains(&self, bytes: &[u8]) -> bool {
        self.0.contains(bytes)
    }

    /// Remembers the bytes of a segment, if they are few.
    fn insert(&mut self, bytes: Cow<'_, [u8]>) {
        if self.0.len() < MOST_CLEAN && bytes.len() <= LONGEST_CLEAN {
            self.0.insert(bytes.into_owned());
        }
    }
}

/// The secrets in the bytes of a file, in the order of their lines.
pub fn scan(file: &str, raw: &[u8]) -> Vec<Hit> {
    scan_with(file, raw, &mut CleanTexts::default())
}

/// The same for one of several files: strings that are in `clean` are left out, and those without a secret come to them.
pub(super) fn scan_with(file: &str, raw: &[u8], clean: &mut CleanTexts) -> Vec<Hit> {
    let mut hits = Vec::new();
    for segment in segments(raw) {
        let bytes = segment.bytes(raw);
        let is_string = segment.what == SegmentKind::String;
        if is_string && clean.contains(&bytes) {
            continue;
        }
        let before = hits.len();
        each(raw, &segment, &mut |decoded, secret| {
            let text = &decoded.text[secret.span.clone()];
            let at = segment.place(secret.source.start);
            let excerpt = mask(text).replace(char::is_control, " ");
            hits.push((at, secret.rule, excerpt));
        });
        if is_string && hits.len() == before {
            clean.insert(bytes);
        }
    }
    hits.sort();
    let (mut line, mut counted) = (1, 0);
    let hit = |(at, rule, excerpt): (usize, &'static str, String)| {
        line += raw[counted..at].iter().filter(|byte| **byte == b'\n').count();
        counted = at;
        Hit { file: file.to_owned(), line, rule, excerpt }
    };
    hits.into_iter().map(hit).collect()
}

/// The secrets in the files of a recording, and in its command lines.
pub fn scan_take(take: &Take) -> Vec<Hit> {
    let (mut hits, mut clean) = (Vec::new(), CleanTexts::default());
    for run in take.runs() {
        let argv = serde_json::Value::from(run.argv.clone()).to_string();
        let name = match run.number {
            1 => "argv".to_owned(),
            number => format!("argv of run {number}"),
        };
        hits.extend(scan_with(&name, argv.as_bytes(), &mut clean));
        for (file, bytes) in run.files {
            hits.extend(scan_with(&file.to_string(), bytes, &mut clean));
        }
    }
    hits
}

/// Letters and digits that a secret has at least, in lines that are not JSON.
const FEWEST: usize = 4;

/// How often escapes are undone: JSON in a string of JSON in a string of JSON, and one more.
const LEVELS: usize = 4;

/// A secret in a segment.
pub(super) struct Secret {
    /// Where it is in the text of the level that shows it.
    pub(super) span: Range<usize>,
    /// Where it is in the segment's own bytes.
    pub(super) source: Range<usize>,
    /// The rule that found it.
    pub(super) rule: &'static str,
}

/// Reports each secret of a segment, with the level that shows it. A secret that is found on two levels is reported once.
pub(super) fn each(raw: &[u8], segment: &Segment, report: &mut dyn FnMut(&Decoded, &Secret)) {
    let mut taken: Vec<Range<usize>> = Vec::new();
    each_level(raw, segment, &mut |level, decoded| {
        for (span, rule) in secrets_of(&decoded.text, segment.what, level) {
            let source = decoded.source_of(&span);
            if !overlaps(&taken, &source) {
                taken.push(source.clone());
                report(decoded, &Secret { span, source, rule });
            }
        }
    });
}

/// Whether a stretch shares a byte with one of `taken`.
pub(super) fn overlaps(taken: &[Range<usize>], span: &Range<usize>) -> bool {
    taken.iter().any(|other| other.start < span.end && span.start < other.end)
}

/// Gives `take` the levels of a segment's text, each with its number, from 0: in each further one JSON's escapes are undone once
/// more. A page may be one segment, so that no more than two levels are in memory at a time.
pub(super) fn each_level(raw: &[u8], segment: &Segment, take: &mut dyn FnMut(usize, &Decoded)) {
    let plain = Decoded::plain(&segment.bytes(raw));
    let mut decoded = match segment.what {
        SegmentKind::Lines => plain,
        SegmentKind::String | SegmentKind::Secret(_) => plain.unescaped().unwrap_or(plain),
    };
    take(0, &decoded);
    for level in 1..LEVELS {
        let Some(next) = decoded.unescaped() else { break };
        decoded = next;
        take(level, &decoded);
    }
}

/// The secrets in the text of a level. Fakes are none.
fn secrets_of(text: &str, what: SegmentKind, level: usize) -> Vec<(Range<usize>, &'static str)> {
    if let SegmentKind::Secret(kind) = what
        && is_secret_value(text, kind)
    {
        let is_one = level == 0 && !is_fake(text);
        return if is_one { vec![(0..text.len(), SECRET_NAME)] } else { Vec::new() };
    }
    // The text is whole: what a rule finds only because a text may be cut at its end is no secret.
    let found = find(&[text, "\n"].concat());
    let spans = found.into_iter().map(|found| {
        let span = found.bytes.start..found.bytes.end.min(text.len());
        (span, found.rule)
    });
    // Where a page has JSON in a line, the quote that ends a string may look like one that begins a value. A golden shows a
    // value that comes in pieces from its first character on.
    let is_value = |secret: &str| match what {
        SegmentKind::Lines => secret.chars().filter(|c| c.is_alphanumeric()).count() >= FEWEST,
        _ => secret.chars().count() > 1,
    };
    spans
        .filter(|(span, _)| is_value(&text[span.clone()]) && !is_fake(&text[span.clone()]))
        .collect()
}
