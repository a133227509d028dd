//! What is known of a request: the context that conditions look at.

use std::collections::HashMap;

/// The value of a context key.
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

    /// The value of a key, whose name has to be lower-case.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&ContextValue> {
        self.values.get(key)
    }

    /// The value of a single-valued key, whose name has to be lower-case. Variables take no others.
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
