//! Reads and writes files in places where a repository may have put others.
//!
//! A repository may bring a link, a FIFO or a device where a file is expected, or a file of any size. A file of a
//! workspace is therefore opened without following a link, has to be a regular file, and has a limit.
//!
//! Every write goes one way ([`NewFile`], [`replace`], [`NewFolder`]): a new file or folder beside the place is moved
//! there when it is complete, so that a link at the place is replaced rather than followed, and no reader, crash or
//! full disk leaves half a file. A link in place of a folder on the way is followed only where no repository can have
//! brought it.

mod folder;
mod put;
mod read;
mod way;

pub use folder::{
    NewFolder, below, bytes, check_folders, is_there, leftovers, lock, make_folder, remove,
    remove_folder, rename, repository,
};
pub use put::{NewFile, UNFINISHED, UNFINISHED_CASSETTE, append, replace};
pub use read::{
    LARGEST, largest, open, open_named, read, read_below, read_named, read_named_text, read_text,
    set_largest,
};
pub use way::{CONFIG, FileError, SCENARIOS};
