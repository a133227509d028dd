//! Documents in step.
