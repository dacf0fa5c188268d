//! The addresses that an endpoint serves and a collector reads.

/// Which addresses may be served, or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Those of this machine only.
    #[default]
    Loopback,
    /// Any.
    Anywhere,
}
