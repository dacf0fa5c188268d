//! The part of a growing text that may be shown: all that can't become part of a secret any more.
//!
//! A text is cut where it ends by chance, so a rule's pattern, which needs the whole secret and at
//! times what follows it, has not matched yet. From each pattern another one is derived that matches
//! its *beginnings* at the end of a text: whatever some continuation could complete. Rules that are
//! `complete_only` have none, see `rules.toml`.

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Capture, Hir, HirKind, Look, Repetition};

use super::patterns::NAME;

/// Derives from `pattern` the pattern of its unfinished matches. It matches where a secret has begun
/// and, to the end of the text, may still go on; its group is that beginning of the secret.
///
/// With `prefix_first` a secret has begun when its fixed prefix is whole: prefixes such as `lsv2_` begin
/// like words do.
pub(super) fn unfinished(pattern: &str, prefix_first: bool) -> Result<String, String> {
    let hir = read(pattern)?;
    let hir = if has_secret(&hir) { hir } else { capture(hir) };
    let begun = if prefix_first { begun_after_prefix } else { begun };
    let open = open(&hir, begun).ok_or("a secret must not be empty, nor its group be repeated")?;
    Ok(Hir::concat(vec![open, Hir::look(Look::End)]).to_string())
}

/// The texts that the secrets of `pattern` begin with, where the pattern says so; a beginning shorter
/// than two bytes does not count.
pub(super) fn beginnings(pattern: &str) -> Result<Vec<String>, String> {
    let hir = read(pattern)?;
    let mut groups = Vec::new();
    collect_groups(&hir, &mut groups);
    let mut extractor = Extractor::new();
    extractor.limit_class(FEW);
    let mut all = Vec::new();
    for group in if groups.is_empty() { vec![&hir] } else { groups } {
        let literals = extractor.extract(group);
        let texts = literals.literals().into_iter().flatten();
        all.extend(texts.filter_map(|text| String::from_utf8(text.as_bytes().to_vec()).ok()));
    }
    all.retain(|text| text.len() > 1);
    Ok(all)
}

/// Reads a pattern; what is left of its groups are secrets.
fn read(pattern: &str) -> Result<Hir, String> {
    Ok(without_name(regex_syntax::parse(pattern).map_err(|error| error.to_string())?))
}

/// `hir` without the group of the name.
fn without_name(hir: Hir) -> Hir {
    if !has_secret(&hir) {
        return hir;
    }
    match hir.into_kind() {
        HirKind::Capture(group) if group.name.as_deref() == Some(NAME) => *group.sub,
        HirKind::Capture(group) => {
            let sub = Box::new(without_name(*group.sub));
            Hir::capture(Capture { sub, ..group })
        }
        HirKind::Repetition(rep) => {
            let sub = Box::new(without_name(*rep.sub));
            Hir::repetition(Repetition { sub, ..rep })
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(without_name).collect()),
        HirKind::Alternation(ways) => {
            Hir::alternation(ways.into_iter().map(without_name).collect())
        }
        _ => Hir::fail(),
    }
}

/// Ways of one character that are written out, as in `[srp]k_`; a larger class is left as a class.
const FEW: usize = 6;

fn collect_groups<'h>(hir: &'h Hir, groups: &mut Vec<&'h Hir>) {
    match hir.kind() {
        HirKind::Capture(group) => groups.push(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|part| collect_groups(part, groups));
        }
        HirKind::Repetition(rep) => collect_groups(&rep.sub, groups),
        _ => {}
    }
}

/// `hir` up to somewhere in its secret, or up to anywhere behind it.
fn open(hir: &Hir, secret: fn(&Hir) -> Option<Hir>) -> Option<Hir> {
    match hir.kind() {
        HirKind::Capture(group) => secret(&group.sub).map(capture),
        HirKind::Alternation(ways) => {
            let open: Option<Vec<Hir>> =
                ways.iter().filter(|way| has_secret(way)).map(|way| open(way, secret)).collect();
            Some(Hir::alternation(open?))
        }
        HirKind::Concat(parts) => {
            let at = parts.iter().position(has_secret)?;
            let mut ways = Vec::new();
            if let Some(behind) = begun_parts(&parts[at + 1..]) {
                ways.push(Hir::concat(vec![parts[at].clone(), repeat(behind, Some(1))]));
            }
            ways.push(open(&parts[at], secret)?);
            let mut whole: Vec<Hir> = parts[..at].to_vec();
            whole.push(Hir::alternation(ways));
            Some(Hir::concat(whole))
        }
        _ => None,
    }
}

/// The beginnings of what `hir` matches that have its whole fixed prefix.
fn begun_after_prefix(hir: &Hir) -> Option<Hir> {
    match hir.kind() {
        _ if is_fixed(hir) => Some(hir.clone()),
        HirKind::Alternation(ways) => {
            let ways: Option<Vec<Hir>> = ways.iter().map(begun_after_prefix).collect();
            Some(Hir::alternation(ways?))
        }
        HirKind::Concat(parts) => {
            let (first, rest) = parts.split_first()?;
            if is_fixed(first) {
                let behind = begun_after_prefix(&Hir::concat(rest.to_vec()))?;
                return Some(Hir::concat(vec![first.clone(), behind]));
            }
            let begun = begun_after_prefix(first)?;
            let behind = begun_parts(rest).map(|more| Hir::concat(vec![first.clone(), more]));
            Some(Hir::alternation(behind.into_iter().chain([begun]).collect()))
        }
        _ => begun(hir),
    }
}

/// Returns whether `hir` is one of a few fixed texts.
fn is_fixed(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Look(_) | HirKind::Empty => true,
        HirKind::Class(_) => Extractor::new().limit_class(FEW).extract(hir).is_exact(),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_fixed),
        _ => false,
    }
}

/// All beginnings of what `hir` matches, the whole among them, save the empty one. What a look-around
/// at the end of the text will see is not known yet, so it counts as passed.
fn begun(hir: &Hir) -> Option<Hir> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            text.chars().rev().fold(None, |rest, c| {
                let mut bytes = [0; 4];
                let c = Hir::literal(c.encode_utf8(&mut bytes).as_bytes().to_vec());
                let rest = rest.map_or_else(Hir::empty, |rest| repeat(rest, Some(1)));
                Some(Hir::concat(vec![c, rest]))
            })
        }
        HirKind::Class(_) => Some(hir.clone()),
        HirKind::Repetition(rep) => {
            let more = repeat((*rep.sub).clone(), rep.max.map(|max| max.saturating_sub(1)));
            Some(Hir::concat(vec![more, begun(&rep.sub)?]))
        }
        HirKind::Capture(group) => begun(&group.sub),
        HirKind::Concat(parts) => begun_parts(parts),
        HirKind::Alternation(ways) => {
            let ways: Vec<Hir> = ways.iter().filter_map(begun).collect();
            (!ways.is_empty()).then(|| Hir::alternation(ways))
        }
    }
}

fn begun_parts(parts: &[Hir]) -> Option<Hir> {
    parts.iter().rev().fold(None, |rest, part| {
        let behind = rest.map(|rest| Hir::concat(vec![part.clone(), rest]));
        let ways: Vec<Hir> = behind.into_iter().chain(begun(part)).collect();
        (!ways.is_empty()).then(|| Hir::alternation(ways))
    })
}

fn repeat(sub: Hir, max: Option<u32>) -> Hir {
    Hir::repetition(Repetition { min: 0, max, greedy: true, sub: Box::new(sub) })
}

fn capture(sub: Hir) -> Hir {
    Hir::capture(Capture { index: 1, name: None, sub: Box::new(sub) })
}

fn has_secret(hir: &Hir) -> bool {
    hir.properties().explicit_captures_len() > 0
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// Where the beginning of a secret stands in `text`.
    fn check(pattern: &str, text: &str, expect: Option<&str>) {
        let open = Regex::new(&unfinished(pattern, false).unwrap()).unwrap();
        let found = open.captures(text);
        let begun = found.as_ref().and_then(|found| found.iter().skip(1).flatten().next());
        assert_eq!(begun.map(|begun| begun.as_str()), expect, "{pattern} on {text}");
    }

    #[test]
    fn a_pattern_says_what_its_secrets_begin_with() {
        let check = |pattern: &str, expect: &[&str]| {
            assert_eq!(beginnings(pattern).unwrap(), expect, "{pattern}");
        };
        check(r"\b([sr]k_live_[a-z]{7,}|a[0-9]{2})", &["rk_live_", "sk_live_"]);
        check("key=([a-z]+)", &[]);
        check("AKIA[A-Z0-9]{16}", &["AKIA"]);
    }

    #[test]
    fn b2_a_beginning_is_what_may_go_on() {
        check("sk-[a-z]{3,}", "a s", Some("s"));
        check("sk-[a-z]{3,}", "a sk-abcdef", Some("sk-abcdef"));
        check("sk-[a-z]{3,}", "a sk-abcdef.", None);
        check("sk-[a-z]{3}", "sk-abcd", None);
        // What comes before the secret is none.
        check("key=(a+)", "key=", None);
        check("key=(a+)", "key=aa", Some("aa"));
        // What comes behind it decides.
        check("://(a+)@b", "://aa", Some("aa"));
        check("://(a+)@b", "://aa@", Some("aa"));
        check("://(a+)@b", "://aac", None);
        check(r"x=(?:'([^']+)'|([a-z]+))", "x='a b", Some("a b"));
        check(r"(?:ab){2}é", "aba", Some("aba"));
        check(r"(A[0-9]{2}(?-u:\b)|A[0-9]\z)", "A12", Some("A12"));
    }
}
