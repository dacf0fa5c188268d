//! Replaces the secrets of a recording by fakes, in all its files at once.
//!
//! A secret that a rule finds in one place is replaced in every other place, too. Each letter or digit is replaced by
//! one letter or digit, so that JSON stays valid on every level of escapes, also if a value is split over deltas.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fake::{Fakes, is_fake};
use super::scan::{Decoded, Hit, Segment, each, each_level, overlaps, scan_take, segments};
use crate::cassette::canon::Canonical;
use crate::cassette::canon::texts::{ByteEdit, splice};
use crate::cassette::{Take, moved};
use crate::names::CassettePart;

/// The errors of a recording that can't be redacted.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// A secret is still found after all replacements.
    #[error(
        "{0} is still found after all secrets were replaced; nothing was written; this is a bug of \
         clitape, please report the rule"
    )]
    Left(Hit),
}

/// The number of passes over all files. A replaced value may reveal another one around it, which takes one or two
/// passes.
const PASSES: usize = 6;

/// Replaces the secrets in all files of a recording, and counts them by rule in its manifest.
///
/// The hashes of stdout before replacements are then removed, because a short secret could be guessed with them.
///
/// # Errors
///
/// [`RedactError`] if a secret is left; the recording must then not be written.
pub fn redact(take: &mut Take) -> Result<(), RedactError> {
    let mut fakes = Fakes::default();
    let mut counts = BTreeMap::new();
    for _ in 0..PASSES {
        let mut found = 0;
        for_each_file(take, &mut |bytes| {
            found += collect(bytes, &mut fakes);
            None
        });
        if found == 0 {
            break;
        }
        for_each_file(take, &mut |bytes| {
            let replaced = replace(bytes, &mut fakes);
            for (rule, count) in &replaced.counts {
                *counts.entry(rule.clone()).or_default() += count;
            }
            Some(replaced)
        });
    }
    if let Some(hit) = scan_take(take).into_iter().next() {
        return Err(RedactError::Left(hit));
    }
    if !counts.is_empty() {
        take.manifest.sha256.clear();
    }
    take.manifest.redacted = counts;
    Ok(())
}

/// The result of a step of [`redact`] for a file: its new bytes, or `None`.
type RedactStep<'s> = &'s mut dyn FnMut(&[u8]) -> Option<Canonical>;

/// Gives each command line and each file of a recording to `step`, and updates the sizes in the timelines.
fn for_each_file(take: &mut Take, step: RedactStep<'_>) {
    for run in take.runs_mut() {
        argv(run.argv, step);
        let (mut out, mut err) = (None, None);
        for (file, bytes) in run.files {
            let Some(replaced) = step(bytes) else { continue };
            bytes.clone_from(&replaced.bytes);
            match file.part() {
                CassettePart::Stdout => out = Some(replaced),
                CassettePart::Stderr => err = Some(replaced),
                _ => {}
            }
        }
        if let (Some(out), Some(err)) = (out, err) {
            *run.timeline = moved(run.timeline, &out, &err);
        }
    }
}

#[allow(clippy::expect_used, reason = "the state is impossible")]
fn argv(argv: &mut Vec<String>, step: RedactStep<'_>) {
    let line = serde_json::to_vec(argv).expect("a list of texts serialises");
    let words = step(&line).and_then(|replaced| serde_json::from_slice(&replaced.bytes).ok());
    if let Some(words) = words {
        *argv = words;
    }
}

/// Makes a fake for each secret of a file, and for the long words of a secret with several; returns the number of
/// secrets.
fn collect(raw: &[u8], fakes: &mut Fakes) -> usize {
    let mut found = 0;
    for segment in segments(raw) {
        each(raw, &segment, &mut |decoded, secret| {
            let text = &decoded.text[secret.span.clone()];
            fakes.of(text, secret.rule);
            let in_word = |c: char| c.is_alphanumeric() || "_-+/.~".contains(c);
            for word in text.split(|c| !in_word(c)).filter(|word| *word != text) {
                if word.len() >= LONG && is_telling(word) && !is_fake(word) {
                    fakes.of(word, secret.rule);
                }
            }
            found += 1;
        });
    }
    found
}

/// Replaces the secrets of a file by fakes.
fn replace(raw: &[u8], fakes: &mut Fakes) -> Canonical {
    let mut edits = Vec::new();
    for segment in segments(raw) {
        let mut taken: Vec<Range<usize>> = Vec::new();
        each(raw, &segment, &mut |decoded, secret| {
            let fake = fakes.of(&decoded.text[secret.span.clone()], secret.rule);
            put(&segment, decoded, &secret.span, &fake.text, fake.rule, &mut edits);
            taken.push(secret.source.clone());
        });
        each_level(raw, &segment, &mut |_, decoded| {
            for (secret, fake) in fakes.all().filter(|(secret, _)| is_telling(secret)) {
                for (at, _) in decoded.text.match_indices(secret) {
                    let span = at..at + secret.len();
                    let source = decoded.source_of(&span);
                    if is_whole(&decoded.text, &span) && !overlaps(&taken, &source) {
                        put(&segment, decoded, &span, &fake.text, fake.rule, &mut edits);
                        taken.push(source);
                    }
                }
            }
        });
    }
    splice(raw, edits)
}

/// The length from which a secret is searched inside of words too.
const LONG: usize = 16;

/// Returns whether a secret is unlikely enough in other text to be replaced everywhere: `hunter2` is, `test` and
/// `authentication` are not.
fn is_telling(secret: &str) -> bool {
    let has_digit = secret.contains(|c: char| c.is_ascii_digit());
    let has_letter = secret.contains(char::is_alphabetic);
    match secret.chars().count() {
        7.. if has_digit && has_letter => true,
        12.. if secret.contains(' ') => true,
        20.. => true,
        _ => false,
    }
}

/// Returns whether the text at `span` is a whole word; a long secret may be a part of one.
fn is_whole(text: &str, span: &Range<usize>) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_inside =
        is_word(text[..span.start].chars().next_back()) || is_word(text[span.end..].chars().next());
    !is_inside || span.len() >= LONG
}

/// Adds the edits that replace the secret at `span` of a level by a fake.
fn put(
    segment: &Segment,
    decoded: &Decoded,
    span: &Range<usize>,
    fake: &str,
    rule: &'static str,
    edits: &mut Vec<ByteEdit>,
) {
    let mut rule = Some(rule);
    let secret = &decoded.text[span.clone()];
    let first = edits.len();
    for ((offset, old), new) in secret.char_indices().zip(fake.chars()) {
        if old == new {
            continue;
        }
        let start = span.start + offset;
        let source = decoded.source_of(&(start..start + old.len_utf8()));
        let start = segment.place(source.start);
        let place = start..start + source.len();
        let mut bytes = [0; 4];
        let with = new.encode_utf8(&mut bytes).as_bytes();
        match edits[first..].last_mut().filter(|edit| edit.span.end == place.start) {
            Some(edit) => {
                edit.span.end = place.end;
                edit.with.extend_from_slice(with);
            }
            None => edits.push(ByteEdit { span: place, with: with.to_vec(), rule: rule.take() }),
        }
    }
}
