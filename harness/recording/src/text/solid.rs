//! Texts without blanks.

/// A text without blanks, in which two texts are compared that may be broken into lines differently.
pub fn solid(text: &str) -> String {
    solid_chars(text).collect()
}

/// The characters of a text without the blanks.
pub fn solid_chars(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}
