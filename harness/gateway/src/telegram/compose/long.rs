//! Drafts of long turns.

use super::lines::tests::{forget_looks, written};
use super::*;

#[tokio::test(start_paused = true)]
async fn a_draft_looks_at_as_many_lines_whatever_there_is_of_a_row() {
    /// The lines that a draft looks at when there are so many equal ones, and one more has come.
    fn looked_at(lines: usize) -> usize {
        let mut compositor = Compositor::new(TelegramSettings::default());
        for _ in 0..lines {
            compositor.start("a", "Bash: a", None);
            compositor.last_draft();
        }
        forget_looks(&mut compositor.lines);
        compositor.start("a", "Bash: a", None);
        compositor.draft();
        written(&compositor.lines)
    }
    let few = looked_at(100);
    assert!(few < 20, "{few}");
    assert_eq!(looked_at(1_600), few);
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_that_is_taken_back_looks_as_one_that_never_had_more() {
    let long = "long words ".repeat(10_000);
    let draft = |texts: &[&str]| {
        let mut compositor = Compositor::new(TelegramSettings::default());
        for text in texts {
            compositor.text(TextLane::Answer, text);
        }
        assert_eq!(compositor.seen[0], texts[texts.len() - 1].len());
        compositor.draft()
    };
    for left in [&long[..99_000], &long[..50_000], &long[..300]] {
        let again = format!("{left}and more");
        assert_eq!(draft(&[&long, left, &again]), draft(&[&again]), "{}", left.len());
    }
}
