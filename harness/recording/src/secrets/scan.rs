//! Scans the bytes of a file, of a folder, or of a recording in memory, and reports the places of secrets. On disk it
//! reads regular files only, and follows no links.
//!
//! A file is split into texts in which a secret is whole ([`segments`]). JSON's escapes are undone in them, and the
//! place of each byte stays known ([`Decoded`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use clitape_gateway::sanitise::{
    NameKind, ObjectSays, SECRET_NAME, find, flag_kind, is_secret_value, mask,
};
use clitape_stream::tree::{JsonBody, JsonNode};
use fs_err as fs;
use serde::Deserialize;
use walkdir::WalkDir;

use super::fake::is_fake;
use crate::cassette::canon::texts::{self, Texts};
use crate::cassette::{Cassette, Take, render_timeline};
use crate::files::{self, FileError};
use crate::names::{CassetteFile, CassettePart};

/// The place of a secret in a file, without the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The file, as messages show it.
    pub file: String,
    /// The number of the line, from 1; for a value that is split over several lines, the first.
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

/// Counts the hits of each rule.
pub fn by_rule<'h>(hits: impl IntoIterator<Item = &'h Hit>) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for hit in hits {
        *counts.entry(hit.rule).or_default() += 1;
    }
    counts
}

/// The texts without a secret, so that a repeated text is not searched again. Most texts of a recording come many
/// times.
#[derive(Debug, Default)]
struct CleanTexts(HashSet<Vec<u8>>);

/// The largest number of clean texts, and the largest size of one in bytes.
const MOST_CLEAN: usize = 1 << 16;
const LONGEST_CLEAN: usize = 1 << 12;

impl CleanTexts {
    fn contains(&self, bytes: &[u8]) -> bool {
        self.0.contains(bytes)
    }

    /// Adds the bytes of a segment, if they are few.
    fn insert(&mut self, bytes: Cow<'_, [u8]>) {
        if self.0.len() < MOST_CLEAN && bytes.len() <= LONGEST_CLEAN {
            self.0.insert(bytes.into_owned());
        }
    }
}

/// Finds the secrets in the bytes of a file, in the order of their lines.
pub fn scan(file: &str, raw: &[u8]) -> Vec<Hit> {
    scan_with(file, raw, &mut CleanTexts::default())
}

/// Finds the secrets in one of several files: strings in `clean` are skipped, and new strings without a secret are
/// added to it.
fn scan_with(file: &str, raw: &[u8], clean: &mut CleanTexts) -> Vec<Hit> {
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

/// Finds the secrets in the files of a recording, and in its command lines.
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

/// The fewest letters and digits of a secret in lines that are not JSON.
const FEWEST: usize = 4;

/// The number of levels of escapes that are undone: JSON in a string of JSON in a string of JSON, and one more.
const LEVELS: usize = 4;

/// A secret in a segment.
pub(super) struct Secret {
    /// The range in the text of the level that shows it.
    pub(super) span: Range<usize>,
    /// The range in the segment's own bytes.
    pub(super) source: Range<usize>,
    /// The id of the rule that found it.
    pub(super) rule: &'static str,
}

/// Reports each secret of a segment, with the level that shows it. A secret on two levels is reported once.
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

/// Returns whether a range shares a byte with one of `taken`.
pub(super) fn overlaps(taken: &[Range<usize>], span: &Range<usize>) -> bool {
    taken.iter().any(|other| other.start < span.end && span.start < other.end)
}

/// Gives `take` the levels of a segment's text, each with its number, from 0; each further level has one more layer of
/// JSON's escapes undone. A page may be one segment, so that at most two levels are in memory at a time.
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

/// Finds the secrets in the text of a level, without fakes.
fn secrets_of(text: &str, what: SegmentKind, level: usize) -> Vec<(Range<usize>, &'static str)> {
    if let SegmentKind::Secret(kind) = what
        && is_secret_value(text, kind)
    {
        let is_one = level == 0 && !is_fake(text);
        return if is_one { vec![(0..text.len(), SECRET_NAME)] } else { Vec::new() };
    }
    // The text is complete: a match that depends on a possible cut at its end is no secret.
    let found = find(&[text, "\n"].concat());
    let spans = found.into_iter().map(|found| {
        let span = found.bytes.start..found.bytes.end.min(text.len());
        (span, found.rule)
    });
    // In a line of a page with JSON, the quote that ends a string may look like one that begins a value. A golden shows
    // a streamed value from its first character on.
    let is_value = |secret: &str| match what {
        SegmentKind::Lines => secret.chars().filter(|c| c.is_alphanumeric()).count() >= FEWEST,
        _ => secret.chars().count() > 1,
    };
    spans
        .filter(|(span, _)| is_value(&text[span.clone()]) && !is_fake(&text[span.clone()]))
        .collect()
}

/// The result of a scan of files.
#[derive(Debug, Default)]
pub struct Scanned {
    /// The secrets that are not allowed.
    pub hits: Vec<Hit>,
    /// The secrets that the `cassette.toml` of their cassette allows.
    pub allowed: Vec<Hit>,
    /// The number of files that were read.
    pub files: u64,
    /// The files that were skipped, with the reasons.
    pub skipped: Vec<(PathBuf, String)>,
    /// The strings without a secret in the files so far.
    clean: CleanTexts,
}

/// Scans a file, or all files of a folder except Git's own.
///
/// # Errors
///
/// When a file or a folder can't be read.
pub fn scan_path(path: &Path, scanned: &mut Scanned) -> io::Result<()> {
    let is_git = |name: &std::ffi::OsStr| name == ".git";
    let walk = WalkDir::new(path).follow_root_links(false).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || !is_git(entry.file_name())) {
        let entry = entry?;
        let kind = entry.file_type();
        if kind.is_dir() {
            continue;
        }
        if !kind.is_file() {
            let why = if kind.is_symlink() { "it is a link" } else { "it is no regular file" };
            scanned.skipped.push((entry.into_path(), why.to_owned()));
            continue;
        }
        let bytes = match files::read(entry.path()) {
            Ok(bytes) => bytes,
            // Another process has moved or removed it since it was listed.
            Err(error) if error.is_not_found() => continue,
            Err(error @ FileError::Read { .. }) => return Err(error.into()),
            Err(error) => {
                scanned.skipped.push((entry.into_path(), error.to_string()));
                continue;
            }
        };
        let file = entry.path().display().to_string();
        let hits = scan_with(&file, &bytes, &mut scanned.clean);
        let allowed = if hits.is_empty() { Vec::new() } else { allowed_for(entry.path()) };
        let (allowed, hits) =
            hits.into_iter().partition(|hit| allowed.iter().any(|r| r == hit.rule));
        scanned.hits.extend::<Vec<_>>(hits);
        scanned.allowed.extend::<Vec<_>>(allowed);
        scanned.files += 1;
    }
    Ok(())
}

/// Scans a file that the user names by `path`, such as a pipe, to its end.
///
/// # Errors
///
/// [`FileError`] if it can't be read.
pub fn scan_named(path: &Path, scanned: &mut Scanned) -> Result<(), FileError> {
    let bytes = files::read_named(path)?;
    let file = path.display().to_string();
    scanned.hits.extend(scan_with(&file, &bytes, &mut scanned.clean));
    scanned.files += 1;
    Ok(())
}

/// Scans the files of a loaded cassette; the secrets that its `cassette.toml` allows are left out.
///
/// Comments in `cassette.toml` are ignored, because loading drops them.
///
/// # Errors
///
/// When the manifest can't be written as TOML, from which it was read.
pub fn scan_loaded(cassette: &Cassette) -> io::Result<Vec<Hit>> {
    let shown = |name: &str| cassette.dir.join(name).display().to_string();
    let manifest = toml::to_string(&cassette.manifest).map_err(io::Error::other)?;
    let mut clean = CleanTexts::default();
    let mut scan = |name: &str, bytes: &[u8]| scan_with(&shown(name), bytes, &mut clean);
    let mut hits = scan("cassette.toml", manifest.as_bytes());
    for run in cassette.runs() {
        let timeline = CassetteFile::new(CassettePart::Timeline, run.number);
        let ticks = render_timeline(run.timeline);
        hits.extend(scan(&timeline.to_string(), ticks.as_bytes()));
        for (file, bytes) in run.files {
            hits.extend(scan(&file.to_string(), bytes));
        }
    }
    hits.retain(|hit| !cassette.manifest.allowed_secrets.iter().any(|rule| rule == hit.rule));
    Ok(hits)
}

/// Scans the goldens of a scenario, whose cassettes allow the rules `allowed`, and adds the results to `scanned`.
/// Returns their secrets.
///
/// # Errors
///
/// When a file can't be read.
pub fn scan_goldens(
    scenario: &Path,
    allowed: &[String],
    scanned: &mut Scanned,
) -> io::Result<Vec<Hit>> {
    let before = scanned.hits.len();
    let dir = scenario.join("golden");
    if dir.is_dir() {
        scan_path(&dir, scanned)?;
    }
    let mut hits = scanned.hits.split_off(before);
    hits.retain(|hit| !allowed.iter().any(|rule| rule == hit.rule));
    Ok(hits)
}

/// Returns the rules that the `cassette.toml` of a folder allows. A missing or invalid file allows none, so that no
/// secret is left out.
pub fn allowed_in(cassette: &Path) -> Vec<String> {
    #[derive(Deserialize)]
    struct AllowedSecrets {
        #[serde(default)]
        allowed_secrets: Vec<String>,
    }
    let text = files::read_text(&cassette.join("cassette.toml")).ok();
    let head = text.and_then(|text| toml::from_str::<AllowedSecrets>(&text).ok());
    head.map(|head| head.allowed_secrets).unwrap_or_default()
}

/// Returns the rules that are allowed in a file: those of its cassette, or, for a golden, those of the cassettes of its
/// scenario.
fn allowed_for(file: &Path) -> Vec<String> {
    let Some(dir) = file.parent() else { return Vec::new() };
    let own = allowed_in(dir);
    let scenario = dir.parent().filter(|_| dir.ends_with("golden"));
    let Some((scenario, root)) =
        scenario.and_then(|of| Some((of.file_name()?, of.parent()?.parent()?)))
    else {
        return own;
    };
    let cassettes = fs::read_dir(root.join("cassettes").join(scenario)).into_iter().flatten();
    own.into_iter().chain(cassettes.flatten().flat_map(|entry| allowed_in(&entry.path()))).collect()
}

/// A text of a file.
#[derive(Debug)]
pub(super) struct Segment {
    /// The places its bytes come from, in order.
    pub(super) pieces: Vec<Range<usize>>,
    /// The kind of the text.
    what: SegmentKind,
}

impl Segment {
    /// Returns the bytes of the text.
    pub(super) fn bytes<'r>(&self, raw: &'r [u8]) -> Cow<'r, [u8]> {
        match &self.pieces[..] {
            [piece] => Cow::Borrowed(&raw[piece.clone()]),
            pieces => Cow::Owned(pieces.iter().flat_map(|p| &raw[p.clone()]).copied().collect()),
        }
    }

    /// Returns the offset in the file of the byte `at` of [`Segment::bytes`].
    pub(super) fn place(&self, at: usize) -> usize {
        let mut before = 0;
        for piece in &self.pieces {
            if at < before + piece.len() {
                return piece.start + at - before;
            }
            before += piece.len();
        }
        self.pieces.last().map_or(0, |piece| piece.end)
    }
}

/// The kind of a [`Segment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentKind {
    /// Lines that are not JSON.
    Lines,
    /// The text between the quotes of a JSON string, or of several that continue each other.
    String,
    /// A JSON string or number under a secret name of this kind, which is a secret as a whole.
    Secret(NameKind),
}

/// Splits a file into its texts, in the order of their first bytes.
pub(super) fn segments(raw: &[u8]) -> Vec<Segment> {
    let (mut found, mut texts) = (Vec::new(), Texts::default());
    for line in texts::lines(raw) {
        let node = JsonNode::read(raw, &line);
        let Some(node) = node.filter(|node| !matches!(node.body, JsonBody::Other)) else {
            add_line(&mut found, &line);
            continue;
        };
        let mut joined = texts.join(raw, &node);
        joined.sort_by_key(|span| span.start);
        SegmentWalk { raw, joined: &joined, found: &mut found }.value(&node, None);
    }
    let strings = texts.all.into_iter();
    found.extend(strings.map(|text| Segment { pieces: text.pieces, what: SegmentKind::String }));
    found.sort_by_key(|segment| segment.pieces.first().map_or(0, |piece| piece.start));
    found
}

/// Adds a line to the text of the lines before it, because a key may span several.
fn add_line(found: &mut Vec<Segment>, line: &Range<usize>) {
    let last = found.last_mut().filter(|last| last.what == SegmentKind::Lines);
    match last.and_then(|last| last.pieces.last_mut()).filter(|piece| piece.end + 1 == line.start) {
        Some(piece) => piece.end = line.end,
        None => found.push(Segment { pieces: vec![line.clone()], what: SegmentKind::Lines }),
    }
}

struct SegmentWalk<'r> {
    raw: &'r [u8],
    /// The strings of the line that belong to a block of a message.
    joined: &'r [Range<usize>],
    found: &'r mut Vec<Segment>,
}

impl<'r> SegmentWalk<'r> {
    fn value(&mut self, node: &JsonNode, secret: Option<NameKind>) {
        match &node.body {
            JsonBody::Object(members) => {
                let texts = members.iter().map(|(name, value)| (&**name, self.text(value)));
                let says = ObjectSays::of(texts);
                let mut end = node.span.start + 1;
                for (name, value) in members {
                    self.key(end..value.span.start);
                    end = value.span.end;
                    self.value(value, says.kind(name, secret));
                }
            }
            JsonBody::Array(items) => {
                let mut before = None;
                for item in items {
                    self.value(item, secret.or_else(|| before.and_then(flag_kind)));
                    before = self.text(item);
                }
            }
            JsonBody::String => {
                if let Some(span) = node.interior() {
                    self.add(span, secret.map_or(SegmentKind::String, SegmentKind::Secret));
                }
            }
            JsonBody::Other => match (self.raw[node.span.start], secret) {
                // The value nests deeper than the walk goes.
                (b'{' | b'[', _) => self.add(node.span.clone(), SegmentKind::String),
                (b'0'..=b'9' | b'-', Some(kind)) if self.is_plain_number(&node.span) => {
                    self.add(node.span.clone(), SegmentKind::Secret(kind));
                }
                _ => {}
            },
        }
    }

    /// Returns the bytes between the quotes of a string, if they are UTF-8.
    fn text(&self, node: &JsonNode) -> Option<&'r str> {
        let span = node.interior().filter(|_| matches!(node.body, JsonBody::String))?;
        str::from_utf8(&self.raw[span]).ok()
    }

    /// Returns whether a number has digits only; the fake of a number with an exponent would not be a number.
    fn is_plain_number(&self, span: &Range<usize>) -> bool {
        self.raw[span.clone()].iter().all(|b| b.is_ascii_digit() || b".-".contains(b))
    }

    /// Reads the key in `gap`, the bytes between a value and the one before it.
    fn key(&mut self, gap: Range<usize>) {
        let bytes = &self.raw[gap.clone()];
        let quote = |b: &u8| *b == b'"';
        if let (Some(first), Some(last)) =
            (bytes.iter().position(quote), bytes.iter().rposition(quote))
        {
            self.add(gap.start + first + 1..gap.start + last.max(first + 1), SegmentKind::String);
        }
    }

    fn add(&mut self, span: Range<usize>, what: SegmentKind) {
        let is_joined = self.joined.binary_search_by_key(&span.start, |s| s.start).is_ok();
        // A text in which no rule can match is skipped.
        if !is_joined && (span.len() >= SHORTEST || what != SegmentKind::String) && !span.is_empty()
        {
            self.found.push(Segment { pieces: vec![span], what });
        }
    }
}

/// The length in bytes below which a text can't contain a secret such as `token=a1b2`.
const SHORTEST: usize = 7;

/// A text made from a stretch of bytes.
#[derive(Debug)]
pub(super) struct Decoded {
    /// The text.
    pub(super) text: String,
    /// The places where the text continues behind a character whose bytes differ from the source: the offsets in the
    /// text and in the source, in order. The bytes up to the next place are those of the source.
    resumptions: Vec<(usize, usize)>,
}

impl Decoded {
    /// Returns the text of `bytes` unchanged; bytes that are not UTF-8 become U+FFFD.
    fn plain(bytes: &[u8]) -> Self {
        if let Ok(text) = str::from_utf8(bytes) {
            return Self { text: text.to_owned(), resumptions: Vec::new() };
        }
        let (mut text, mut resumptions, mut at) = (String::new(), Vec::new(), 0);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            at += chunk.valid().len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                resumptions.push((text.len(), at));
            }
        }
        Self { text, resumptions }
    }

    /// Returns the text with one level of JSON's escapes undone; `None` if it has none.
    ///
    /// The text may be a whole JSON value or the content of a string, because a backslash can only be part of a string.
    /// A backslash that begins no escape stays.
    fn unescaped(&self) -> Option<Self> {
        if !self.text.contains('\\') {
            return None;
        }
        let (mut text, mut resumptions) = (String::with_capacity(self.text.len()), Vec::new());
        let mut own = self.resumptions.iter().peekable();
        let mut at = 0;
        loop {
            let found = next_escape(&self.text[at..]);
            let end = found.map_or(self.text.len(), |(begin, ..)| at + begin);
            while let Some((place, source)) = own.next_if(|(place, _)| *place <= end) {
                resumptions.push((text.len() + place - at, *source));
            }
            text.push_str(&self.text[at..end]);
            let Some((_, c, length)) = found else { break };
            text.push(c);
            at = end + length;
            // The entries up to here are covered by the source offset.
            while own.next_if(|(place, _)| *place <= at).is_some() {}
            resumptions.push((text.len(), self.source(at)));
        }
        Some(Self { text, resumptions })
    }

    /// Returns the range in the source of a range of characters in the text.
    pub(super) fn source_of(&self, span: &Range<usize>) -> Range<usize> {
        self.source(span.start)..self.source(span.end)
    }

    fn source(&self, at: usize) -> usize {
        let before = self.resumptions.partition_point(|(place, _)| *place <= at);
        let last = before.checked_sub(1).map(|last| self.resumptions[last]);
        last.map_or(at, |(place, source)| source + (at - place))
    }
}

/// Finds the first escape in `text`: its place, its character and its length.
fn next_escape(text: &str) -> Option<(usize, char, usize)> {
    text.match_indices('\\').find_map(|(at, _)| {
        let (c, length) = escape(&text[at..])?;
        Some((at, c, length))
    })
}

/// Returns the character of the escape at the start of `text`, and the escape's length.
fn escape(text: &str) -> Option<(char, usize)> {
    let kind = *text.strip_prefix('\\')?.as_bytes().first()?;
    let c = match kind {
        b'"' | b'\\' | b'/' => char::from(kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let high = unit(text)?;
            let low = || unit(text.get(6..)?).filter(|low| (0xDC00..0xE000).contains(low));
            return match (high, low) {
                (0xD800..0xDC00, low) => {
                    Some(low().map_or((char::REPLACEMENT_CHARACTER, 6), |low| {
                        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                        (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                    }))
                }
                _ => Some((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)),
            };
        }
        _ => return None,
    };
    Some((c, 2))
}

/// Returns the number of `\uXXXX` at the start of `text`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Undoes one level, and compares the text and the source of `of` in it.
    fn check(source: &[u8], expect: &str, of: &str, from: &str) {
        let plain = Decoded::plain(source);
        check_decoded(&plain.unescaped().unwrap_or(plain), source, expect, of, from);
    }

    fn check_decoded(decoded: &Decoded, source: &[u8], expect: &str, of: &str, from: &str) {
        assert_eq!(decoded.text, expect);
        let at = decoded.text.find(of).unwrap();
        let span = decoded.source_of(&(at..at + of.len()));
        assert_eq!(String::from_utf8_lossy(&source[span]), from);
    }

    #[test]
    fn escapes_are_undone_and_places_stay_known() {
        check(b"plain", "plain", "lai", "lai");
        check(br#"a\n\"b\" c"#, "a\n\"b\" c", "b", "b");
        check(br"x\u0041\u00e9y", "xA\u{e9}y", "A\u{e9}", r"\u0041\u00e9");
        check(br"\ud83d\udd11!", "\u{1f511}!", "\u{1f511}", r"\ud83d\udd11");
        check(br"\ud83d!", "\u{fffd}!", "!", "!");
        check(br"C:\x \u12", r"C:\x \u12", r"\x", r"\x");
        check(b"a\xffb", "a\u{fffd}b", "b", "b");
        check("é\\tz".as_bytes(), "é\tz", "é\tz", "é\\tz");
    }

    #[test]
    fn places_stay_known_in_json_in_a_string_of_json() {
        let check_twice = |source: &[u8], expect: &str, of: &str, from: &str| {
            let twice = Decoded::plain(source).unescaped().and_then(|once| once.unescaped());
            check_decoded(&twice.unwrap(), source, expect, of, from);
        };
        check_twice(br#"{\"a\":\"x\\ty\"} z"#, "{\"a\":\"x\ty\"} z", "y", "y");
        check_twice(br#"{\"a\":\"x\\ty\"} z"#, "{\"a\":\"x\ty\"} z", "\t", r"\\t");
        check_twice(br#"\n{\\"b\\n"#, "\n{\"b\n", "{", "{");
        check_twice(b"a\xff\\\\u0041b\\n", "a\u{fffd}Ab\n", "A", r"\\u0041");
        check_twice(b"a\xff\\\\u0041b\\n", "a\u{fffd}Ab\n", "b\n", r"b\n");
    }
}
