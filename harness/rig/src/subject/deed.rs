//! The texts that a person writes beyond the recorded ones, and the state of those that wait for an effect.

use std::time::Duration;

/// The characters of a long prompt.
const LONG: usize = 9_000;
/// The most characters of a message, at which a client splits a longer one.
const MESSAGE: usize = 4_096;
/// The messages of a long prompt.
pub(crate) const PARTS: usize = LONG.div_ceil(MESSAGE);
/// The text that fills a message.
const FILL: &str = "the tape runs, the recorder counts each beat, and nothing of it is lost; ";

/// The state of an answer that is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextAnswer {
    /// The person writes it soon, or waits for its effect.
    Open,
    /// `claude` went on, so that it was the answer.
    Taken,
}

/// An answer to a question that the person wrote in place of a press. Times count from the first message.
#[derive(Debug, Clone)]
pub(crate) struct WrittenAnswer {
    pub(crate) text: String,
    /// The time at which it was written.
    pub(crate) at: Duration,
    /// The time until which it had no effect.
    pub(crate) until: Duration,
    /// The bytes that `claude` had printed when it was written.
    pub(crate) printed: u64,
    /// True if `claude` went on without a press.
    pub(crate) is_taken: bool,
    /// True once the person does not wait any more.
    pub(crate) is_over: bool,
}

/// Returns the words at the beginning and at the end of a part of a long prompt, by which it is found again.
pub(crate) fn part_marks(number: usize) -> [String; 2] {
    ["begins", "ends"].map(|what| format!("part {number} of {PARTS} {what}"))
}

/// Returns the messages of a prompt of 9,000 characters, each framed and as long as a client lets it be.
pub(crate) fn long_prompt(prompt: &str, framed: &dyn Fn(&str) -> String) -> Vec<String> {
    let part = |number: usize| {
        let [begin, end] = part_marks(number);
        let lead = if number == 1 { format!("{prompt}\n") } else { String::new() };
        let text = |fill: &str| framed(&format!("{lead}({begin}) {fill}\n({end})"));
        let length = MESSAGE.min(LONG - (number - 1) * MESSAGE);
        let room = length.saturating_sub(text("").chars().count());
        text(&FILL.chars().cycle().take(room).collect::<String>())
    };
    (1..=PARTS).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_is_split_as_clients_split_it() {
        let parts = long_prompt("Größe?", &|text| format!("@bot {text} [[clitape:x/1.0]]"));
        let lengths: Vec<usize> = parts.iter().map(|part| part.chars().count()).collect();
        assert_eq!(lengths, [4_096, 4_096, 808]);
        for (number, part) in (1..).zip(&parts) {
            assert!(part.starts_with("@bot ") && part.ends_with("[[clitape:x/1.0]]"), "{part}");
            assert!(part_marks(number).iter().all(|mark| part.contains(mark)), "{part}");
        }
        assert!(parts[0].contains("Größe?") && !parts[1].contains("Größe?"));
    }
}
