//! `[[target]]`: accounts to audit, as a list of targets in JSON says them.

use toml::de::DeValue;

use crate::target::{KEYS, Target, TargetEntry};

use super::{ConfigError, Reader, Value, nearest};

impl Reader<'_> {
    pub(super) fn target(&self, value: &Value<'_>) -> Result<Target, ConfigError> {
        let at = value.span().start;
        let table = self.table(value, "[target]")?;
        if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
            let error = self.error(key.span().start, format!("a target has no `{}`", key.get_ref()));
            return Err(match nearest(key.get_ref(), KEYS) {
                Some(name) => error.help(format!("did you mean `{name}`?")),
                None => error.help(format!("it has {}", KEYS.join(", "))),
            });
        }
        let text = |name: &str| table.get(name).map(|value| self.text(value, name)).transpose();
        let list = |name: &str| table.get(name).map_or(Ok(Vec::new()), |value| self.texts(value, name));
        let entry = TargetEntry {
            account: text("account")?,
            role: text("role")?,
            external_id: text("external-id")?,
            regions: list("regions")?,
            cluster_ids: list("cluster-ids")?,
        };
        Target::try_from(entry).map_err(|reason| self.error(at, reason))
    }

    /// A list of texts.
    fn texts(&self, value: &Value<'_>, name: &str) -> Result<Vec<String>, ConfigError> {
        let DeValue::Array(texts) = value.get_ref() else {
            let error = self.error(value.span().start, format!("`{name}` is a list of texts"));
            return Err(error.help(format!("write {name} = [\"…\"]")));
        };
        texts.iter().map(|text| self.text(text, name)).collect()
    }
}
