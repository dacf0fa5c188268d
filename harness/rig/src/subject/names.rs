//! Finds the nearest of several names, for messages about a misspelt one.

use clitape_recording::text::distance;

/// The most letters by which a misspelt name may differ.
const MOST_WRONG: usize = 3;

/// Returns `did you mean X?` for the known name that is most like `name`, if one is near enough.
pub(crate) fn suggestion<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let near = known.into_iter().map(|other| (distance(name, other), other)).min()?;
    let is_like = near.0 <= MOST_WRONG && near.0 < name.chars().count();
    is_like.then(|| format!("did you mean `{}`?", near.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let known = ["command", "env", "ready", "warm_up"];
        for (name, expect) in [
            ("comand", Some("did you mean `command`?")),
            ("warmup", Some("did you mean `warm_up`?")),
            ("enviroment", None),
            ("x", None),
        ] {
            assert_eq!(suggestion(name, known).as_deref(), expect, "{name}");
        }
    }
}
