//! Reads and writes files that others may have put there.
//!
//! A repository may bring a link, a FIFO or a device where a file is expected, or a file of any size.
//! A file of a workspace is therefore opened without following a link, has to be a regular
//! file, and has a limit.
//!
//! Everything that is written takes one way ([`NewFile`], [`replace`], [`NewFolder`]): a new file or folder beside the
//! place, which then takes it whole, so that a link there is replaced and never followed, and no reader, crash or full
//! disk leaves half a file. A link in place of a folder on the way is followed only where no repository can have
//! brought it.

mod error;
mod folder;
mod lock;
mod new_folder;
mod put;
mod read;
mod way;

pub use error::FileError;
pub use folder::{below, bytes, leftovers};
pub use folder::{check_folders, is_there, make_folder, remove, rename, repository};
pub use lock::lock;
pub use new_folder::NewFolder;
pub use new_folder::remove_folder;
pub use put::UNFINISHED;
pub use put::{NewFile, append, replace};
pub use read::read_below;
pub use read::{
    LARGEST, largest, open, open_named, read, read_named, read_named_text, read_text, set_largest,
};
pub use way::{CONFIG, SCENARIOS};
