//! The arrays and objects that are open while a value is passed, without recursion.

/// What is open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContainerStack {
    depth: usize,
    /// The innermost levels, the last one lowest: 1 an object, 0 an array.
    bits: u64,
}

impl ContainerStack {
    /// Whether nothing is.
    #[inline(always)]
    pub(super) fn is_closed(self) -> bool {
        self.depth == 0
    }

    /// Whether the innermost level is an object.
    #[inline(always)]
    pub(super) fn is_object(self) -> bool {
        self.bits & 1 == 1
    }

    /// Opens a level; 64 of them are put aside in `full` each time that as many are open.
    #[inline(always)]
    pub(super) fn open(&mut self, object: bool, full: &mut Vec<u64>) {
        if self.depth % 64 == 63 {
            full.push(self.bits);
        }
        self.depth += 1;
        self.bits = self.bits << 1 | u64::from(object);
    }

    /// Closes the innermost level.
    #[inline(always)]
    pub(super) fn close(&mut self, full: &mut Vec<u64>) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth % 64 == 63 {
            self.bits = full.pop().unwrap_or(0);
        }
    }
}
