//! X1: where a transcript lies, and what is refused.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::*;

#[test]
pub(crate) fn x1_a_working_folder_has_a_slug() {
    // The CLI's hash is signed and written without its sign: that of the first is -931632369.
    let [negative, positive] =
        [format!("/{}", "a".repeat(250)), format!("/srv/{}", "bé😀/".repeat(60))];
    let of_positive = format!("-srv-{}", "b----".repeat(39));
    for (path, expect) in [
        ("/w/ws.dir_1", "-w-ws-dir-1".to_owned()),
        ("/home/é", "-home--".to_owned()),
        ("/home/e\u{301}", "-home-e-".to_owned()),
        // UTF-16 units count.
        ("/😀", "---".to_owned()),
        ("", String::new()),
        (&format!("/{}", "a".repeat(199)), format!("-{}", "a".repeat(199))),
        (&negative, format!("-{}-feo44x", "a".repeat(199))),
        (&positive, format!("{of_positive}-z7d0xz")),
    ] {
        assert_eq!(slug(path), expect, "{path}");
    }
}

#[test]
pub(crate) fn r145309_the_config_folder_of_the_environment_counts() {
    let check = |config: Option<&str>, home: Option<&str>, expect: Option<&str>| {
        let found = config_dir(config.map(OsStr::new), home.map(OsStr::new));
        assert_eq!(found, expect.map(PathBuf::from));
    };
    check(Some("/c"), Some("/h"), Some("/c"));
    check(Some(""), Some("/h"), Some("/h/.claude"));
    check(None, Some("/h"), Some("/h/.claude"));
    check(None, Some(""), None);
    check(None, None, None);
}

#[test]
pub(crate) fn x1_ids_that_look_like_paths_are_refused_before_the_disk_is_touched() {
    let nowhere = Path::new("/no/such/folder");
    for id in ["", "  ", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", ".hidden", "c:x"]
    {
        let refused = locate(nowhere, nowhere, id);
        assert!(matches!(refused, Err(LocateError::Id(_))), "{id:?}: {refused:?}");
    }
    assert!(matches!(locate(nowhere, nowhere, "s"), Err(LocateError::NotFound(_))));
}

#[cfg(unix)]
#[test]
pub(crate) fn x1_links_out_of_the_projects_folder_are_refused() {
    use std::os::unix::fs::symlink;

    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (config, cwd) = (dir.join("config"), dir.join("work"));
    let real = dir.canonicalize().unwrap();
    let slug = slug(real.join("work").to_str().unwrap());
    let project = config.join("projects").join(slug);
    std::fs::create_dir_all(&project).unwrap();
    std::fs::create_dir_all(&cwd).unwrap();
    std::fs::write(project.join("here.jsonl"), "").unwrap();
    std::fs::write(dir.join("secret"), "").unwrap();
    std::fs::create_dir(project.join("folder.jsonl")).unwrap();
    symlink("here.jsonl", project.join("inside.jsonl")).unwrap();
    symlink(dir.join("secret"), project.join("outside.jsonl")).unwrap();
    symlink("nothing", project.join("dangling.jsonl")).unwrap();
    symlink(&cwd, dir.join("way")).unwrap();
    for (id, expect) in [
        ("here", "found"),
        ("inside", "found"),
        ("outside", "outside"),
        ("folder", "outside"),
        ("dangling", "not found"),
        ("gone", "not found"),
    ] {
        // The slug is that of the real folder, however one got there.
        for way in [&cwd, &dir.join("way")] {
            let told = match locate(&config, way, id) {
                Ok(path) => {
                    assert_eq!(path, project.canonicalize().unwrap().join("here.jsonl"));
                    "found"
                }
                Err(LocateError::Outside(_)) => "outside",
                Err(LocateError::NotFound(_)) => "not found",
                Err(other) => panic!("{other}"),
            };
            assert_eq!(told, expect, "{id}");
        }
    }
}

/// A folder's name with a letter and its accent apart: versions differ in how they spell it.
#[test]
pub(crate) fn x1_a_folder_is_found_in_either_spelling() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().canonicalize().unwrap().join("cafe\u{301}");
    std::fs::create_dir(&work).unwrap();
    let spelled = work.to_str().unwrap();
    for (id, cwd) in [("new", spelled.to_owned()), ("old", spelled.replace("e\u{301}", "é"))] {
        let project = dir.path().join("projects").join(slug(&cwd));
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(project.join(format!("{id}.jsonl")), "").unwrap();
        assert!(locate(dir.path(), &work, id).is_ok(), "{id}");
    }
    assert!(matches!(locate(dir.path(), &work, "none"), Err(LocateError::NotFound(_))));
}
