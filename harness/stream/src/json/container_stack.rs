//! Tracks the open arrays and objects while a value is skipped, without recursion.

/// The open containers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContainerStack {
    depth: usize,
    /// Kinds of the innermost levels, the last one in the lowest bit: 1 is an object, 0 an array.
    bits: u64,
}

impl ContainerStack {
    /// Returns whether all containers are closed.
    #[inline(always)]
    pub(super) fn is_closed(self) -> bool {
        self.depth == 0
    }

    /// Returns whether the innermost container is an object.
    #[inline(always)]
    pub(super) fn is_object(self) -> bool {
        self.bits & 1 == 1
    }

    /// Opens a container. Every 64 levels, the bits of the outer levels move to `full`.
    #[inline(always)]
    pub(super) fn open(&mut self, object: bool, full: &mut Vec<u64>) {
        if self.depth % 64 == 63 {
            full.push(self.bits);
        }
        self.depth += 1;
        self.bits = self.bits << 1 | u64::from(object);
    }

    /// Closes the innermost container.
    #[inline(always)]
    pub(super) fn close(&mut self, full: &mut Vec<u64>) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth % 64 == 63 {
            self.bits = full.pop().unwrap_or(0);
        }
    }
}
