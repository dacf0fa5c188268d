//! The seal of `cassette.toml`: its first line is the SHA-256 of all that follows, so that an edited file is damaged like any
//! other file of a cassette.

use super::hash::sha256;

const BEGIN: &str = "seal = \"";
const END: &str = "\"\n";
/// The digits of a hash that a sentence shows.
const SHOWN: usize = 12;

/// The text of a manifest with its seal.
pub fn sealed(text: &str) -> String {
    format!("{BEGIN}{}{END}{text}", sha256(text.as_bytes()))
}

/// The text behind the seal.
///
/// # Errors
///
/// What is wrong, in a sentence.
pub(super) fn unsealed(text: &str) -> Result<&str, String> {
    let split = text.strip_prefix(BEGIN).and_then(|rest| rest.split_once(END));
    let (seal, rest) = split.ok_or("its first line is no seal")?;
    let own = sha256(rest.as_bytes());
    let short = |hash: &str| -> String { hash.chars().take(SHOWN).collect() };
    match own == seal {
        true => Ok(rest),
        false if rest.contains('\r') => Err("its lines end with CR and LF".to_owned()),
        false => Err(format!(
            "its seal is {}…, and what follows has {}…, so that it was edited",
            short(seal),
            short(&own)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        match (unsealed(text), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{found}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn a_text_that_was_edited_does_not_fit_its_seal() {
        let text = sealed("format = 2\na = 'b'\n");
        check(&text, Ok("format = 2\na = 'b'\n"));
        check(&text.replace('b', "c"), Err("it was edited"));
        check(&(text.clone() + "\n"), Err("it was edited"));
        check(&text.replace('\n', "\r\n"), Err("no seal"));
        check(&text.replace("2\n", "2\r\n"), Err("CR and LF"));
        check("format = 2\n", Err("no seal"));
        check("", Err("no seal"));
    }
}
