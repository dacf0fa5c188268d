//! `like` and `at`: lets a subject take the keys of another, and have keys for one version only.
//!
//! ```toml
//! [subject.mine-quiet]
//! like = "mine"
//! values = { mode = "off" }
//!
//! [subject.mine.at."2.0"]
//! env = { NEW_SWITCH = "1" }
//! ```

use std::collections::BTreeSet;

use toml::{Table, Value};

/// The keys whose tables are merged row by row; for all others the nearest value counts.
const BY_ROW: [&str; 4] = ["env", "files", "values", "except"];

/// Returns all keys of a subject: those of the subject that it is like, overridden by its own, and both by those of the
/// version.
///
/// # Errors
///
/// A sentence if it is like itself, or like a subject that does not exist.
pub(super) fn keys(subjects: &Table, name: &str, version: Option<&str>) -> Result<Table, String> {
    let mut keys = Table::new();
    for name in line(subjects, name)?.iter().rev() {
        let mut own = table(subjects, name);
        own.remove("like");
        let versions = own.remove("at");
        put_over(&mut keys, own);
        let of_version = version.and_then(|version| versions?.get(version)?.as_table().cloned());
        put_over(&mut keys, of_version.unwrap_or_default());
    }
    Ok(keys)
}

/// Returns the versions for which a subject has keys of their own.
///
/// # Errors
///
/// Those of [`keys`].
pub(super) fn versions(subjects: &Table, name: &str) -> Result<BTreeSet<String>, String> {
    let mut versions = BTreeSet::new();
    for name in line(subjects, name)? {
        let own = table(subjects, name);
        let at = own.get("at").and_then(Value::as_table);
        versions.extend(at.into_iter().flat_map(|at| at.keys().cloned()));
    }
    Ok(versions)
}

/// Returns a subject, the one that it is like, and so on.
fn line<'a>(subjects: &'a Table, name: &'a str) -> Result<Vec<&'a str>, String> {
    let mut line = vec![name];
    let mut last = name;
    while let Some(next) = subjects.get(last).and_then(|keys| keys.get("like")?.as_str()) {
        if !subjects.contains_key(next) {
            return Err(format!("there is no subject `{next}`"));
        }
        if line.contains(&next) {
            return Err(format!("`{next}` is like itself: {} → {next}", line.join(" → ")));
        }
        line.push(next);
        last = next;
    }
    Ok(line)
}

fn table(subjects: &Table, name: &str) -> Table {
    subjects.get(name).and_then(Value::as_table).cloned().unwrap_or_default()
}

fn put_over(keys: &mut Table, over: Table) {
    for (key, value) in over {
        match (keys.get_mut(&key), value) {
            (Some(Value::Table(rows)), Value::Table(more)) if BY_ROW.contains(&key.as_str()) => {
                rows.extend(more);
            }
            (_, value) => drop(keys.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects() -> Table {
        let text = "[a]\nkind = 'gateway'\nidle_s = 5\nvalues = { mode = 'progress', reply = 'off' }\n\
                    [a.at.2]\nvalues = { mode = 'partial' }\nidle_s = 9\n\
                    [b]\nlike = 'a'\nvalues = { reply = 'first' }\n\
                    [c]\nlike = 'b'\nvalues = { mode = 'off' }\n[x]\nlike = 'y'\n[y]\nlike = 'x'\n[z]\nlike = 'none'\n";
        text.parse().unwrap()
    }

    #[test]
    fn the_nearest_value_counts_and_rows_are_kept() {
        let subjects = subjects();
        let check = |name: &str, version: Option<&str>, values: [&str; 2], idle_s: i64| {
            let keys = keys(&subjects, name, version).unwrap();
            let value = |key: &str| keys["values"][key].as_str().unwrap().to_owned();
            assert_eq!([value("mode"), value("reply")], values, "{name} {version:?}");
            assert_eq!(keys["idle_s"].as_integer(), Some(idle_s), "{name} {version:?}");
            assert!(!keys.contains_key("like") && !keys.contains_key("at"));
        };
        check("a", None, ["progress", "off"], 5);
        check("a", Some("2"), ["partial", "off"], 9);
        check("b", Some("1"), ["progress", "first"], 5);
        check("b", Some("2"), ["partial", "first"], 9);
        // A subject's own key counts more than the key of another for a version.
        check("c", Some("2"), ["off", "first"], 9);
        assert_eq!(versions(&subjects, "c").unwrap().into_iter().collect::<Vec<_>>(), ["2"]);
    }

    #[test]
    fn a_subject_is_like_one_that_there_is_and_not_like_itself() {
        let subjects = subjects();
        assert_eq!(keys(&subjects, "z", None).unwrap_err(), "there is no subject `none`");
        assert_eq!(keys(&subjects, "x", None).unwrap_err(), "`x` is like itself: x → y → x");
    }
}
