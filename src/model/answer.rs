//! Answers of the model.

use serde::{Serialize, Serializer};

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Answer<T> {
    /// The controller does not get that far, or the decision does not exist for this kind of load balancer.
    #[default]
    NotReached,
    /// It depends on something that was not read, or on chance.
    Unknown,
    Is(T),
}

impl<T> Answer<T> {
    pub(crate) fn is_not_reached(&self) -> bool {
        matches!(self, Self::NotReached)
    }

    pub(crate) fn known(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::NotReached | Self::Unknown => None,
        }
    }
}

impl<T> From<Option<T>> for Answer<T> {
    /// Without a value the answer is unknown.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Self::Is)
    }
}

impl<T: Serialize> Serialize for Answer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Is(value) => value.serialize(serializer),
            Self::NotReached | Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}
