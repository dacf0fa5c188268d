use crate::record::review::*;

fn parts(record: &str) -> BTreeMap<String, String> {
    record_digests(&toml::from_str(record).unwrap())
}

/// Checks that exactly these parts differ between two tables.
#[track_caller]
fn check(before: &str, after: &str, expect: &[&str]) {
    let (before, after) = (parts(before), parts(after));
    let keys = before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key));
    let keys: std::collections::BTreeSet<&str> = keys.map(String::as_str).collect();
    assert_eq!(keys.into_iter().collect::<Vec<_>>(), expect);
}

#[test]
fn a_digest_is_of_what_a_part_says_not_of_how_it_is_written() {
    check("prompt = 'a'\nargs = ['b']", "# c\nargs=[ \"b\" ]\nprompt = \"a\"", &[]);
    check("prompt = 'a'", "prompt = 'a'\nargs = []\nlogin = 'key'\npartial_messages = true", &[]);
    check("prompt = 'a'", "prompt = 'a'\nexit = 1\ntimeout_s = 9", &[]);
    check("then = [{ prompt = 'a' }]", "then = [{ prompt = 'a', exit = 7 }]", &[]);
    check(
        "say = [{ send = 'a', when = { calls = 1 } }]",
        "say = [{ when = { calls = 1 }, send = 'a' }]",
        &[],
    );
    check("prompt = 'a'", "prompt = 'b'", &["prompt"]);
    check("prompt = 'a'", "prompt = 'a'\npartial_messages = false", &["partial_messages"]);
    check("prompt = 'a'\nargs = ['x', 'y']", "args = ['y', 'x']", &["args", "prompt"]);
    check("then = [{ prompt = 'a' }]", "then = [{ prompt = 'b' }]", &["then"]);
}
