//! Removes a folder that another program has filled: however deep it is, whatever its modes are, and without following a
//! link.
//!
//! A folder in a folder is moved up to the root before its own turn comes, so that no path gets long and two folders are
//! open at most.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Removes a folder with its content. A folder that does not exist is not an error.
pub(super) fn remove_tree(root: &Path) -> io::Result<()> {
    let folder = match opened(CWD, root) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let mut moved = 0;
    loop {
        let names = names(&folder)?;
        if names.is_empty() {
            return Ok(unlinkat(CWD, root, AtFlags::REMOVEDIR)?);
        }
        for name in names {
            if unlinkat(&folder, &name, AtFlags::empty()).is_ok() {
                continue;
            }
            let below = opened(&folder, &name)?;
            for child in self::names(&below)? {
                if unlinkat(&below, &child, AtFlags::empty()).is_err() {
                    // A folder that can't be written can't be moved.
                    opened(&below, &child)?;
                    move_up(&below, &child, &folder, &mut moved)?;
                }
            }
            unlinkat(&folder, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Moves a folder into `root`, under a name that nothing there has.
fn move_up(from: &OwnedFd, name: &CString, root: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match renameat(from, name, root, format!("moved-{moved}")) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            other => return Ok(other?),
        }
    }
}

/// Opens a folder, which is not a link, and lets its owner do everything with it.
fn opened(at: impl AsFd, name: impl rustix::path::Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;

        let place = openat(&at, name, flags | OFlags::PATH, Mode::empty())?;
        if Mode::from_raw_mode(fstat(&place)?.st_mode).contains(Mode::RWXU) {
            return openat(&place, c".", flags, Mode::empty());
        }
        // The file that is open has no other name that can't be a link by now.
        rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
        openat(&place, c".", flags, Mode::empty())
    }
    #[cfg(not(target_os = "linux"))]
    {
        // An error means that it has to be opened as it is.
        let _ = rustix::fs::chmodat(&at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW);
        openat(&at, name, flags, Mode::empty())
    }
}

/// The names in a folder.
fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let entries = Dir::read_from(folder)?;
    let names = entries.filter_map(|entry| match entry {
        Ok(entry) => {
            let name = entry.file_name();
            (name != c"." && name != c"..").then(|| Ok(name.to_owned()))
        }
        Err(error) => Some(Err(error.into())),
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_deep_folder_goes_and_what_its_links_lead_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [root, outside] = ["root", "outside"].map(|name| dir.path().join(name));
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::create_dir_all(root.join("moved-1/x")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        symlink(&outside, root.join("a/b/link")).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        let mut folder = opened(CWD, &root).unwrap();
        // Its path is longer than any that the system takes.
        for _ in 0..5_000 {
            rustix::fs::mkdirat(&folder, c"d", Mode::RWXU).unwrap();
            folder = opened(&folder, c"d").unwrap();
        }
        let closed = fs::Permissions::from_mode(0o0);
        fs::set_permissions(root.join("a/b/c"), closed.clone()).unwrap();
        fs::set_permissions(root.join("a/b"), closed.clone()).unwrap();
        let open = fs::metadata(&outside).unwrap().permissions();
        fs::set_permissions(&root, closed).unwrap();
        remove_tree(&root).unwrap();
        assert!(!root.exists() && outside.join("kept").exists());
        assert_eq!(fs::metadata(&outside).unwrap().permissions(), open);
        remove_tree(&root).unwrap();
        symlink(&outside, &root).unwrap();
        assert!(remove_tree(&root).is_err() && outside.join("kept").exists());
    }
}
