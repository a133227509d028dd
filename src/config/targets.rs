//! `[[target]]`: accounts to audit, with the same fields as a list of targets in JSON.

use toml::de::DeValue;

use crate::target::{KEYS, Target, TargetEntry};

use super::{ConfigError, ConfigReader, TomlValue};

impl ConfigReader<'_> {
    pub(super) fn target(&self, value: &TomlValue<'_>) -> Result<Target, ConfigError> {
        let at = value.span().start;
        let table = self.table(value, "[target]")?;
        self.reject_unknown_keys(table, "target", &KEYS)?;
        let text = |name: &str| table.get(name).map(|value| self.text(value, name)).transpose();
        let list = |name: &str| table.get(name).map_or(Ok(Vec::new()), |value| self.texts(value, name));
        let one_or_many = |name: &str| match table.get(name).map(|value| (value, value.get_ref())) {
            Some((value, DeValue::String(_))) => Ok(vec![self.text(value, name)?]),
            _ => list(name),
        };
        let entry = TargetEntry {
            account: text("account")?,
            role: text("role")?,
            external_id: text("external-id")?,
            regions: list("regions")?,
            cluster_ids: list("cluster-ids")?,
            kube_context: one_or_many("kube-context")?,
            kubernetes: one_or_many("kubernetes")?,
        };
        Target::try_from(entry).map_err(|invalid| self.error(at, invalid.to_string()))
    }

    /// A list of strings.
    fn texts(&self, value: &TomlValue<'_>, name: &str) -> Result<Vec<String>, ConfigError> {
        let DeValue::Array(texts) = value.get_ref() else {
            let error = self.error(value.span().start, format!("`{name}` must be a list of strings"));
            return Err(error.help(format!("write {name} = [\"…\"]")));
        };
        texts.iter().map(|text| self.text(text, name)).collect()
    }
}
