//! Known context of a request, against which conditions are evaluated.

use std::collections::HashMap;

/// Value of a context key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextValue {
    /// A single-valued key.
    One(String),
    /// A multivalued key.
    Many(Vec<String>),
}

/// The context of a request. Key names are not case-sensitive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub(super) values: HashMap<String, ContextValue>,
}

impl Context {
    /// Sets a key.
    pub fn insert(&mut self, key: &str, value: ContextValue) {
        self.values.insert(key.to_ascii_lowercase(), value);
    }

    /// Value of a key, whose name must be lower-case.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&ContextValue> {
        self.values.get(key)
    }

    /// Value of a single-valued key, whose name must be lower-case. Variables do not accept multivalued keys.
    #[must_use]
    pub fn single(&self, key: &str) -> Option<&str> {
        match self.values.get(key) {
            Some(ContextValue::One(value)) => Some(value),
            _ => None,
        }
    }
}

impl<K: AsRef<str>, V: Into<String>> FromIterator<(K, V)> for Context {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut context = Self::default();
        for (key, value) in pairs {
            context.insert(key.as_ref(), ContextValue::One(value.into()));
        }
        context
    }
}
