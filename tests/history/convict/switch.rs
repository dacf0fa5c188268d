//! The switches of the bugs. The code of the workspace has none: the copy has another file in the place of this one.

/// Turns on the bug of a number, and every other one off; 0 is none.
pub(crate) fn turn_on(_number: usize) {}
