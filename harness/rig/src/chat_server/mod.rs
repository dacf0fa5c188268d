//! The Bot API on loopback, with the limits and the faults of the field.
