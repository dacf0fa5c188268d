//! SHA-256 as lower-case hexadecimal digits.

use std::io::{self, Read};
use std::path::Path;

use fs_err as fs;
use sha2::{Digest, Sha256};

/// Lower-case hexadecimal SHA-256, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// [`sha256`] of the file at `path`, links followed; it may be larger than memory.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n) => hash.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes in lower-case hexadecimal.
pub fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
