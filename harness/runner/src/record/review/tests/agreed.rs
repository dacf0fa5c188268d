use crate::record::review::*;

#[test]
fn what_is_added_is_agreed_to_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state/clitape");
    let mut first = Agreed::read(&folder).unwrap();
    let mut second = Agreed::read(&folder).unwrap();
    first.add("ab", "one").unwrap();
    second.add("cd", "two").unwrap();
    let known = Agreed::read(&folder).unwrap();
    assert_eq!(["ab", "cd", "ef"].map(|digest| known.has(digest)), [true, true, false]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::write(folder.join(AGREED_FILE), "scenario = 1").unwrap();
    let error = Agreed::read(&folder).unwrap_err().to_string();
    assert!(error.contains(AGREED_FILE) && error.ends_with("remove the file"), "{error}");
}
