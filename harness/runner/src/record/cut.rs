//! Cuts a scripted text into deltas, so that a recording is the same on every machine.
//!
//! A text may contain the folders of the run, whose real paths differ in length from one machine to the
//! next. So the cuts are counted in the text with the canonical paths. A cut inside a path keeps its
//! distance from the start of the path.

use clitape_recording::scenario::{DeltaCut, Model, ModelFailureKind, ModelTurn, Pieces};
use serde_json::Value;

use super::sandbox::Folders;

/// Returns the deltas of a text as JSON string literals.
///
/// A cut in UTF-16 units may leave half of a surrogate pair in a delta, which a `String` can't contain and
/// a JSON literal can.
pub(crate) fn deltas(pieces: &Pieces, cut: DeltaCut, folders: &Folders) -> Vec<String> {
    match pieces {
        Pieces::Listed(pieces) => {
            let real = |piece| Value::from(folders.expand(piece)).to_string();
            pieces.iter().map(|piece| real(piece.as_str())).collect()
        }
        Pieces::Whole(text) => whole(text, cut, folders),
    }
}

/// Describes the first failure of the script that comes after more deltas than its block has.
pub(crate) fn overrun(model: &Model) -> Option<String> {
    let turns = model.all_turns().flat_map(|(name, turns)| {
        turns.iter().enumerate().map(move |(at, turn)| (name, at + 1, turn))
    });
    let mut overruns = turns.filter_map(|(name, number, turn)| {
        let (block, wanted, found) = turn.failures().find_map(|f| overrun_in(model, turn, f))?;
        Some(format!(
            "a failure in turn {number} of `{name}` comes after {wanted} deltas of block {block}, \
             which has {found}; name fewer, or leave `deltas` out to fail after the whole block"
        ))
    });
    overruns.next()
}

/// Returns the block, the deltas before the failure, and the deltas of the block.
fn overrun_in(
    model: &Model,
    turn: &ModelTurn,
    failure: &ModelFailureKind,
) -> Option<(usize, usize, usize)> {
    let spot = failure.after()?;
    let block = turn.blocks.get(spot.block.get() - 1)?;
    let found = deltas(block.content.pieces(), model.pace(block).0, &Folders::canonical()).len();
    let wanted = spot.deltas.filter(|wanted| *wanted > found)?;
    Some((spot.block.get(), wanted, found))
}

fn whole(text: &str, cut: DeltaCut, folders: &Folders) -> Vec<String> {
    let canonical = Folders::canonical().expand(text);
    let real: Vec<u16> = folders.expand(text).encode_utf16().collect();
    let names = names(text, folders);
    let mut from = 0;
    let ends = ends(&canonical, cut).into_iter();
    ends.map(|end| {
        let to = map(&names, end);
        let literal = literal(&real[from..to]);
        from = to;
        literal
    })
    .collect()
}

/// Returns the ends of the deltas of `text` in UTF-16 units.
fn ends(text: &str, cut: DeltaCut) -> Vec<usize> {
    let total = text.encode_utf16().count();
    let mut ends: Vec<usize> = match cut {
        DeltaCut::Utf16(n) => (1..).map(|i| i * n.get()).take_while(|&end| end < total).collect(),
        DeltaCut::Chars(n) => {
            let mut at = 0;
            let after_each = text.chars().map(|c| {
                at += c.len_utf16();
                at
            });
            let every_nth = after_each.skip(n.get() - 1).step_by(n.get());
            every_nth.take_while(|&end| end < total).collect()
        }
    };
    if total > 0 {
        ends.push(total);
    }
    ends
}

/// The path of a folder in a text; its offsets are UTF-16 units.
struct FolderName {
    /// Its offset in the canonical text.
    start: usize,
    canonical: usize,
    real: usize,
}

fn names(text: &str, folders: &Folders) -> Vec<FolderName> {
    let canonical = Folders::canonical();
    let mut names = Vec::new();
    let (mut rest, mut at) = (text, 0);
    while let Some((before, folder, after)) = Folders::first_in(rest) {
        at += before.encode_utf16().count();
        let name = FolderName {
            start: at,
            canonical: canonical.path(folder).len(),
            real: folders.path(folder).len(),
        };
        at += name.canonical;
        names.push(name);
        rest = after;
    }
    names
}

/// Converts an offset in the canonical text to one in the real text.
fn map(names: &[FolderName], offset: usize) -> usize {
    let (mut canonical, mut real) = (0, 0);
    for name in names.iter().take_while(|name| name.start < offset) {
        real += name.start - canonical;
        if offset < name.start + name.canonical {
            return real + (offset - name.start).min(name.real);
        }
        canonical = name.start + name.canonical;
        real += name.real;
    }
    real + offset - canonical
}

/// Returns a JSON string literal, in which half of a surrogate pair is a `\u` escape.
fn literal(units: &[u16]) -> String {
    let mut text = String::from('"');
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(c) => {
                let quoted = Value::from(c.to_string()).to_string();
                text.push_str(&quoted[1..quoted.len() - 1]);
            }
            Err(half) => text.push_str(&format!("\\u{:04x}", half.unpaired_surrogate())),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    /// Checks the deltas with `{{project}}` at `project`, joined by bars.
    #[track_caller]
    fn check(text: &str, cut: DeltaCut, project: &str, expect: &str) {
        let folders = Folders { project: project.to_owned(), ..Folders::canonical() };
        let found = deltas(&Pieces::Whole(text.to_owned()), cut, &folders);
        let inner: Vec<_> = found.iter().map(|s| &s[1..s.len() - 1]).collect();
        assert_eq!(inner.join("|"), expect, "{text} {cut:?} {project}");
    }

    fn chars(n: usize) -> DeltaCut {
        DeltaCut::Chars(NonZeroUsize::new(n).unwrap())
    }

    fn utf16(n: usize) -> DeltaCut {
        DeltaCut::Utf16(NonZeroUsize::new(n).unwrap())
    }

    #[test]
    fn texts_are_cut_after_so_many_characters_or_units() {
        for (text, cut, expect) in [
            ("", chars(3), ""),
            ("abc", chars(3), "abc"),
            ("abcd", chars(3), "abc|d"),
            ("abcdef", chars(3), "abc|def"),
            ("a😀b😀c", chars(2), "a😀|b😀|c"),
            ("a😀b", utf16(2), r"a\ud83d|\ude00b"),
            ("😀😀", utf16(1), r"\ud83d|\ude00|\ud83d|\ude00"),
            ("😀😀", utf16(2), "😀|😀"),
            ("a\"\n\u{1}", chars(1), r#"a|\"|\n|\u0001"#),
        ] {
            check(text, cut, "/clitape/project", expect);
        }
    }

    #[test]
    fn a_cut_inside_a_folder_keeps_its_place_on_every_machine() {
        let text = "é {{project}}/a {{project}}";
        for (project, expect) in [
            ("/clitape/project", "é /clita|pe/proje|ct/a /cl|itape/pr|oject"),
            ("/tmp/clitape-1/project", "é /tmp/c|litape-1|/project/a /tm|p/clitap|e-1/project"),
            ("/p", "é /p||/a /p||"),
        ] {
            check(text, chars(8), project, expect);
        }
    }

    #[test]
    fn a_list_is_its_own_deltas() {
        let listed = Pieces::Listed(vec!["{{tmp}}".into(), String::new(), "\"".into()]);
        let found = deltas(&listed, chars(1), &Folders::canonical());
        assert_eq!(found, [r#""/clitape/tmp""#, r#""""#, r#""\"""#]);
    }

    #[test]
    fn a_failure_beyond_the_deltas_is_told() {
        let model = |deltas: &str| -> Model {
            toml::from_str(&format!(
                "cut = 8\n[[turn]]\nblock = []\n[[turn]]\n[[turn.block]]\ntext = '{{{{project}}}}'\n\
                 [[turn.failure]]\ndrop_after = {{ block = 1{deltas} }}"
            ))
            .unwrap()
        };
        assert_eq!(overrun(&model("")), None);
        assert_eq!(overrun(&model(", deltas = 2")), None);
        assert_eq!(
            overrun(&model(", deltas = 3")).unwrap(),
            "a failure in turn 2 of `main` comes after 3 deltas of block 1, which has 2; name \
             fewer, or leave `deltas` out to fail after the whole block"
        );
    }
}
