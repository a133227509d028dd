//! Inputs and expectations for the tests that stand in the file of each rule.
//!
//! `fires` states the defect that a rule finds. `silent` states its nearest neighbour that is right, and proves that the
//! rule was checked there: a rule that does not apply is not silent.

pub(crate) mod lint;
