//! Says which rules have work to do in a text, in one pass over it.
//!
//! Most rules are searched for by their patterns, all at once. A rule with a mark is searched for
//! by its mark, and the rules that find a secret by its name are searched for together once a text
//! has any such name: their patterns take long, and most texts have none of what they need.

use std::sync::{LazyLock, OnceLock};

use regex::{RegexSet, RegexSetBuilder, SetMatches};

use super::table::{SecretRule, TABLE};

/// The search for the rules of the table.
pub(super) static SEARCH: LazyLock<RuleSearch> = LazyLock::new(RuleSearch::new);

/// Bytes that the search for all patterns at once may keep of its own states. With less it forgets
/// and works them out again on text that comes near many rules.
const STATES: usize = 1 << 24;

/// The searches for many rules at once, each made when it is first needed.
pub(super) struct RuleSearch {
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
pub(super) struct Candidates<'t> {
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
    pub(super) fn candidates<'t>(&self, text: &'t str) -> Option<Candidates<'t>> {
        self.first.is_match(text).then(|| Candidates { text, found: self.first.matches(text) })
    }

    fn named_set(&self) -> &RegexSet {
        self.named_set.get_or_init(|| set(self.named.iter().map(|rule| &rule.closed.text)))
    }

    /// Where the first secret of `text` begins that may still go on where the text ends.
    pub(super) fn first_unfinished(&self, text: &str) -> Option<usize> {
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
