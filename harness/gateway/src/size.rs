//! Numbers of bytes as people write them: `64MiB`.

use std::fmt;
use std::str::FromStr;

/// A number of bytes. It reads and writes `512`, `64KiB`, `64MiB` and `2GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

/// The units, the largest first.
const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];

/// Why a word is no number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no size; write a number of bytes from 1 to 1024GiB, such as 512KiB, 64MiB or 2GiB"
)]
pub struct SizeError(String);

impl ByteSize {
    /// The largest size that is accepted.
    const MOST: u64 = 1 << 40;

    /// Makes a size of `n` bytes.
    pub const fn bytes(n: u64) -> Self {
        Self(n)
    }

    /// Makes a size of `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// Makes a size of `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether `n` bytes are more than this.
    pub fn is_below(self, n: usize) -> bool {
        u64::try_from(n).map_or(true, |n| n > self.0)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |&&(_, shift): &&(&str, u32)| self.0 > 0 && self.0.trailing_zeros() >= shift;
        match UNITS.iter().find(whole) {
            Some((unit, shift)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl FromStr for ByteSize {
    type Err = SizeError;

    fn from_str(word: &str) -> Result<Self, SizeError> {
        let unit = UNITS.iter().find_map(|(unit, shift)| Some((word.strip_suffix(unit)?, *shift)));
        let (digits, shift) = unit.unwrap_or((word.strip_suffix('B').unwrap_or(word), 0));
        let number = digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+'));
        let bytes = number.and_then(|n| n.checked_mul(1 << shift));
        let bytes = bytes.filter(|n| (1..=Self::MOST).contains(n));
        bytes.map(Self).ok_or_else(|| SizeError(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_reads_as_it_is_written() {
        for (size, word) in [
            (ByteSize::bytes(1), "1B"),
            (ByteSize::bytes(1_500), "1500B"),
            (ByteSize::kib(3), "3KiB"),
            (ByteSize::mib(64), "64MiB"),
            (ByteSize::mib(2_048), "2GiB"),
        ] {
            assert_eq!(size.to_string(), word);
            assert_eq!(word.parse(), Ok(size));
        }
        assert_eq!("4096".parse(), Ok(ByteSize::kib(4)));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for word in
            ["", "0", "-1", "+1", "1MB", "1.5MiB", "MiB", "1025GiB", "18446744073709551615GiB"]
        {
            let error = word.parse::<ByteSize>().unwrap_err().to_string();
            assert!(error.contains("from 1 to 1024GiB"), "{error}");
        }
    }
}
