//! Sizes of files for people.

/// A size in megabytes of a million bytes, rounded up to a tenth: `4.1 MB`.
pub fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_rounded_up_so_that_only_nothing_is_0() {
        for (bytes, expect) in
            [(0, "0.0 MB"), (1, "0.1 MB"), (4_100_000, "4.1 MB"), (12_345_678_901, "12345.7 MB")]
        {
            assert_eq!(megabytes(bytes), expect);
        }
    }
}
