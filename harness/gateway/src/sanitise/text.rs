//! Finds the secrets of a text, writes it without them, and counts them by rule.
//!
//! One pass over the text finds the rules that have work to do in it. Most rules are searched for by
//! their patterns, all at once. A rule with a mark is searched for by its mark, and the rules that find
//! a secret by its name are searched for together once a text has any such name: their patterns take
//! long, and most texts have none of what they need.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, RegexSet, RegexSetBuilder, SetMatches};

use super::table::{MaskMethod, NAME, NameKind, SecretRule, TABLE};
use super::value::ValueInText;

/// Secrets of fewer characters are masked whole.
const SHORT: usize = 18;
/// The mask of a secret that is hidden as a whole.
pub(super) const NOTHING: &str = "***";
/// The mask of the lines of a key.
const LINES: &str = "…redacted…";
/// Masking may bring a name and a masked value together that a rule takes anew. That settles at
/// once or twice; the limit is there so that a rule can't make it go on for ever.
const PASSES: usize = 8;

/// A secret in a text, and the rule that found it.
struct SecretSpan {
    bytes: Range<usize>,
    id: &'static str,
    how: MaskMethod,
}

/// A secret that [`find`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMatch {
    /// Where it is in the text, in bytes.
    pub bytes: Range<usize>,
    /// The id of the rule that found it.
    pub rule: &'static str,
}

/// Finds the secrets in `text` that [`redact`] would mask, in order; bulk such as the data of an image
/// is none. What is masked already and `$VAR` references are not found.
///
/// Secrets that reach to the end of a text are found only where their shape alone says so: follow the
/// text with a line break when it is whole.
pub fn find(text: &str) -> Vec<SecretMatch> {
    let spans = spans(text).into_iter().filter(|span| span.how != MaskMethod::Size);
    spans.map(|span| SecretMatch { bytes: span.bytes, rule: span.id }).collect()
}

/// The ids of the rules by which [`find`] finds secrets.
pub fn rule_ids() -> impl Iterator<Item = &'static str> {
    TABLE.rules.iter().filter(|rule| rule.how != MaskMethod::Size).map(|rule| rule.id.as_str())
}

/// Returns the number of bytes at the start of `secret` that only say what kind of secret it is, such
/// as `ghp_`.
pub fn prefix_length(secret: &str) -> usize {
    let prefixes = TABLE.prefixes().iter();
    prefixes
        .filter(|prefix| secret.starts_with(prefix.as_str()))
        .map(String::len)
        .max()
        .unwrap_or(0)
}

/// Returns whether `value`, which is under a secret name of this kind, is a secret itself: it is not
/// empty, not masked, and does not only stand for a secret.
pub fn is_secret_value(value: &str, kind: NameKind) -> bool {
    !value.is_empty()
        && !is_masked(value, MaskMethod::Ends)
        && ValueInText::of_json(value, kind).is_secret()
}

/// Masks the secrets in `text` and counts them in `masked` ([B2](crate::rules::B2)). What is masked
/// already stays as it is, so that a text may pass more than once. `$VAR` references stay.
pub fn redact<'t>(text: &'t str, masked: &mut Masked) -> Cow<'t, str> {
    let mut out = Cow::Borrowed(text);
    for _ in 0..PASSES {
        let spans = spans(&out);
        if spans.is_empty() {
            break;
        }
        out = Cow::Owned(write(&out, &spans, out.len(), masked));
    }
    out
}

/// Masks the secrets in `text` ([B2](crate::rules::B2)), see [`redact`].
pub fn redact_text(text: &str) -> Cow<'_, str> {
    redact(text, &mut Masked::default())
}

/// Returns the part of a `text` that may be shown while it still grows at its end
/// ([B2](crate::rules::B2)): its secrets are masked, and all that could still become part of one is
/// held back. That is a word that may be the beginning of a token, a value behind a secret name, flag
/// or header, a key that is not closed. A secret that only the text behind it gives away, such as a
/// password in `echo … | sudo -S`, is shown until that follows: to hold it back would hold back nearly
/// all text.
///
/// The shown part of a longer text begins with that of a shorter one. Only where the two conflict, in
/// texts in which one secret contains another, secrecy wins.
pub fn redact_open(text: &str) -> Cow<'_, str> {
    open(text, &mut Masked::default())
}

/// [`redact_open`], counting.
pub(super) fn open<'t>(text: &'t str, masked: &mut Masked) -> Cow<'t, str> {
    let mut end = SEARCH.first_unfinished(text).unwrap_or(text.len());
    let mut spans = spans(text);
    // A secret that is whole but reaches into what is held back waits with it.
    while let Some(last) = spans.pop_if(|span| span.bytes.end > end) {
        end = end.min(last.bytes.start);
    }
    if spans.is_empty() {
        Cow::Borrowed(&text[..end])
    } else {
        Cow::Owned(write(text, &spans, end, masked))
    }
}

/// The secrets of `text` in order; those that touch each other's text are one.
fn spans(text: &str) -> Vec<SecretSpan> {
    let mut found = Vec::new();
    let candidates = SEARCH.candidates(text);
    for rule in candidates.iter().flat_map(|candidates| candidates.rules()) {
        let secrets =
            rule.closed.regex().captures_iter(text).filter_map(|found| secret(rule, text, &found));
        found.extend(secrets.map(|bytes| SecretSpan { bytes, id: &rule.id, how: rule.how }));
    }
    found.sort_by_key(|span| (span.bytes.start, std::cmp::Reverse(span.bytes.end)));
    let mut spans: Vec<SecretSpan> = Vec::with_capacity(found.len());
    for span in found {
        match spans.last_mut().filter(|last| span.bytes.start < last.bytes.end) {
            Some(last) => last.bytes.end = last.bytes.end.max(span.bytes.end),
            None => spans.push(span),
        }
    }
    spans.retain(|span| !is_masked(&text[span.bytes.clone()], span.how));
    spans
}

/// Where the secret of a match of `rule` is, if it is one.
fn secret(rule: &SecretRule, text: &str, found: &Captures<'_>) -> Option<Range<usize>> {
    let name = found.name(NAME);
    let groups = found.iter().skip(1).flatten().filter(|group| Some(*group) != name);
    let bytes =
        groups.map(|group| group.range()).next().unwrap_or_else(|| found.get_match().range());
    if bytes.is_empty() || bytes.len() < rule.least {
        return None;
    }
    let kind = match name.map(|name| name.as_str()) {
        Some(name) => {
            let kind = TABLE.kind(name)?;
            let is_weak = rule.judge == Some(NameKind::Weak);
            // `KEY` and `pass` alone are words of any text.
            if is_weak && kind == NameKind::Weak && !name.contains('_') {
                return None;
            }
            Some(match (rule.judge, kind) {
                (Some(NameKind::Weak), _) => NameKind::Weak,
                (Some(NameKind::Chosen), NameKind::Made) => NameKind::Chosen,
                _ => kind,
            })
        }
        None => rule.judge,
    };
    let (before, behind) = (&text[..bytes.start], &text[bytes.end..]);
    let secret = &text[bytes.clone()];
    // A placeholder may have the prefix of a token.
    let kept = if name.is_none() { prefix_length(secret) } else { 0 };
    let value = ValueInText {
        text: &secret[kept..],
        kind,
        before: before.chars().next_back(),
        // A rule that is `late` has seen what follows.
        after: behind.chars().next().or(rule.late.then_some('\n')),
    };
    (rule.how != MaskMethod::Ends || value.is_secret()).then_some(bytes)
}

/// `text` up to the byte `end`, with a mask in the place of each of `spans`.
fn write(text: &str, spans: &[SecretSpan], end: usize, masked: &mut Masked) -> String {
    let mut out = String::with_capacity(end);
    let mut at = 0;
    for span in spans {
        let secret = &text[span.bytes.clone()];
        out.push_str(&text[at..span.bytes.start]);
        match span.how {
            MaskMethod::Ends => out.push_str(&mask(secret)),
            MaskMethod::Pem => out.push_str(&hide_lines(secret)),
            MaskMethod::Size => out.push_str(&format!("({} bytes)", decoded_size(secret))),
        }
        masked.add(span.id);
        at = span.bytes.end;
    }
    out.push_str(&text[at..end]);
    out
}

/// Returns the mask of a secret: `***`, or the first six and the last four characters of a long one.
pub fn mask(secret: &str) -> String {
    let count = secret.chars().count();
    if is_masked(secret, MaskMethod::Ends) {
        secret.to_owned()
    } else if count < SHORT {
        NOTHING.to_owned()
    } else {
        let head: String = secret.chars().take(6).collect();
        let tail: String = secret.chars().skip(count - 4).collect();
        format!("{head}…{tail}")
    }
}

/// Returns the mask between the first and the last line of a key; JSON escapes its newlines.
fn hide_lines(body: &str) -> String {
    let newline = match body {
        body if body.contains('\n') => "\n",
        body if body.contains("\\n") => "\\n",
        _ => "",
    };
    format!("{newline}{LINES}{newline}")
}

/// Bytes that `base64` decodes to.
pub(super) fn decoded_size(base64: &str) -> usize {
    let digits = base64.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=').count();
    digits * 3 / 4
}

/// Returns whether `text` is a mask already.
fn is_masked(text: &str, how: MaskMethod) -> bool {
    match how {
        MaskMethod::Ends => {
            text == NOTHING || (text.chars().count() == 11 && text.chars().nth(6) == Some('…'))
        }
        MaskMethod::Pem => text == hide_lines(text),
        MaskMethod::Size => false,
    }
}

/// The search for the rules of the table.
static SEARCH: LazyLock<RuleSearch> = LazyLock::new(RuleSearch::new);

/// Bytes that the search for all patterns at once may keep of its own states. With less it forgets
/// and works them out again on text that comes near many rules.
const STATES: usize = 1 << 24;

/// The searches for many rules at once, each made when it is first needed.
struct RuleSearch {
    /// The marks or patterns of the rules that need no name, and behind them what matches a name.
    first: RegexSet,
    /// The rules of the first search in its order.
    unnamed: Vec<&'static SecretRule>,
    named: Vec<&'static SecretRule>,
    named_set: OnceLock<RegexSet>,
    /// The same for text that still grows: rules without a mark and without a name, and those with
    /// a name.
    open_unmarked: OnceLock<OpenSet>,
    open_named: OnceLock<OpenSet>,
}

/// A search for matches that may still go on where the text ends.
struct OpenSet {
    rules: Vec<&'static SecretRule>,
    set: RegexSet,
}

/// The rules that may find something in a text.
struct Candidates<'t> {
    text: &'t str,
    found: SetMatches,
}

impl RuleSearch {
    fn new() -> Self {
        let (named, unnamed): (Vec<_>, Vec<_>) = TABLE.rules.iter().partition(|rule| rule.is_named);
        let first = unnamed.iter().map(|rule| rule.mark.as_ref().unwrap_or(&rule.closed.text));
        Self {
            first: set(first.chain([&TABLE.name])),
            unnamed,
            named,
            named_set: OnceLock::new(),
            open_unmarked: OnceLock::new(),
            open_named: OnceLock::new(),
        }
    }

    /// The rules that may find something in `text`; `None` where it is clean, which takes less time
    /// to tell.
    fn candidates<'t>(&self, text: &'t str) -> Option<Candidates<'t>> {
        self.first.is_match(text).then(|| Candidates { text, found: self.first.matches(text) })
    }

    fn named_set(&self) -> &RegexSet {
        self.named_set.get_or_init(|| set(self.named.iter().map(|rule| &rule.closed.text)))
    }

    /// Where the first secret of `text` begins that may still go on where the text ends.
    fn first_unfinished(&self, text: &str) -> Option<usize> {
        let rules = self.unnamed.iter().filter(|rule| rule.mark.is_none());
        let unmarked = self.open_unmarked.get_or_init(|| OpenSet::new(rules));
        let mut begun: Vec<usize> = unmarked.begun(text).collect();
        if let Some(candidates) = self.candidates(text) {
            let marked = candidates.unnamed().filter(|rule| rule.mark.is_some());
            begun.extend(marked.filter_map(|rule| begun_at(rule, text)));
            if candidates.has_name() {
                let named = self.open_named.get_or_init(|| OpenSet::new(self.named.iter()));
                begun.extend(named.begun(text));
            }
        }
        begun.into_iter().min()
    }
}

impl Candidates<'_> {
    fn unnamed(&self) -> impl Iterator<Item = &'static SecretRule> {
        self.found.iter().filter_map(|index| SEARCH.unnamed.get(index).copied())
    }

    fn has_name(&self) -> bool {
        self.found.matched(SEARCH.unnamed.len())
    }

    /// The rules, in the order of the table.
    pub(super) fn rules(&self) -> Vec<&'static SecretRule> {
        let mut rules: Vec<_> = self.unnamed().collect();
        if self.has_name() {
            rules.extend(
                SEARCH.named_set().matches(self.text).iter().map(|index| SEARCH.named[index]),
            );
        }
        rules.sort_by_key(|rule| rule.at);
        rules
    }
}

impl OpenSet {
    fn new<'r>(rules: impl Iterator<Item = &'r &'static SecretRule>) -> Self {
        let rules: Vec<_> = rules.filter(|rule| rule.unfinished().is_some()).copied().collect();
        let set =
            set(rules.iter().filter_map(|rule| rule.unfinished()).map(|pattern| &pattern.text));
        Self { rules, set }
    }

    fn begun(&self, text: &str) -> impl Iterator<Item = usize> {
        self.set.matches(text).into_iter().filter_map(|index| begun_at(self.rules[index], text))
    }
}

/// Where a secret of `rule` begins that may still go on where the text ends.
fn begun_at(rule: &SecretRule, text: &str) -> Option<usize> {
    let found = rule.unfinished()?.regex().captures(text)?;
    found.iter().skip(1).flatten().next().map(|begun| begun.start())
}

#[allow(clippy::expect_used, reason = "a test compiles every pattern")]
fn set<'p>(patterns: impl Iterator<Item = &'p String>) -> RegexSet {
    let set = RegexSetBuilder::new(patterns).size_limit(STATES).dfa_size_limit(STATES).build();
    set.expect("a test compiles every pattern")
}

/// Counts what was masked, by the id of the rule that found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masked(BTreeMap<&'static str, u64>);

impl Masked {
    /// The ids of the rules that masked something, in alphabetical order, and how often each did.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(id, count)| (*id, *count))
    }

    /// The number of masks of all rules.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Counts what another one counted, too.
    pub fn extend(&mut self, other: &Self) {
        for (id, count) in other.iter() {
            *self.0.entry(id).or_default() += count;
        }
    }

    /// Counts one more for the rule `id`.
    pub(super) fn add(&mut self, id: &'static str) {
        *self.0.entry(id).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b2_a_prefix_says_what_kind_of_secret_it_is() {
        for (secret, length) in [("ghp_madeUp", 4), ("madeUp", 0), ("", 0)] {
            assert_eq!(prefix_length(secret), length, "{secret}");
        }
    }
}
