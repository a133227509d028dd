//! The built binary.
