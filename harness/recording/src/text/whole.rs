//! Text that a person agrees to, with its end.

use super::MARK;
use super::plural::plural;

/// The most characters of a text that is listed as a whole.
const WHOLE: usize = 4_000;
/// The characters of each end of a longer one.
const END: usize = 1_500;

/// Lists a text below or behind its label, each line of it on a line of its own. Of a very long one the list has both
/// ends, the number of characters between them, and `place`, the file that has them.
pub fn whole(label: &str, text: &str, place: &str) -> Vec<String> {
    if text.chars().nth(WHOLE).is_none() {
        return match text.contains('\n') {
            false => vec![format!("{label}: {text}")],
            true => indented(format!("{label}:"), text),
        };
    }
    let at = |n| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let count = text.chars().count();
    let (start, end) = (&text[..at(END)], &text[at(count - END)..]);
    let mut lines = indented(format!("{label}:"), start);
    let left_out = plural(count - 2 * END, "character");
    lines.push(format!("    {MARK} ({left_out} left out here; read {place})"));
    indented_onto(&mut lines, end);
    lines
}

fn indented(head: String, text: &str) -> Vec<String> {
    let mut lines = vec![head];
    indented_onto(&mut lines, text);
    lines
}

fn indented_onto(lines: &mut Vec<String>, text: &str) {
    lines.extend(text.split('\n').map(|line| format!("    {line}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_listed_with_its_end() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(whole("a", text, "f.toml"), expect, "{text}");
        };
        check("b", &["a: b"]);
        check("b\n  c\n", &["a:", "    b", "      c", "    "]);
        let long = "ü".repeat(4_000);
        check(&long, &[&format!("a: {long}")]);
        let ends = "ü".repeat(1_497);
        check(
            &format!("bb\n{long}\ncc"),
            &[
                "a:",
                "    bb",
                &format!("    {ends}"),
                "    … (1006 characters left out here; read f.toml)",
                &format!("    {ends}"),
                "    cc",
            ],
        );
    }
}
